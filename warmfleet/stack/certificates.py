"""Private authorities and the certificates that they sign; pure functions over keys and times."""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = [
    "RENEW_BEFORE",
    "Purpose",
    "issue_authority",
    "issue_certificate",
    "still_serves",
    "still_signs",
]

RENEW_BEFORE = timedelta(days=30)
"""A certificate that ends sooner is made again."""

_AUTHORITY_LIFE = timedelta(days=3650)
_LIFE = timedelta(days=397)  # some clients refuse a server certificate that lives longer
_SKEW = timedelta(hours=1)  # clocks of clients that run behind


class Purpose(Enum):
    """Which end of a connection a certificate is good for; never both."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


def issue_authority(key: EllipticCurvePrivateKey, title: str, now: datetime) -> x509.Certificate:
    """Return a self-signed certificate that may sign for servers and clients, no other authority.

    One that is issued again with the same key and title verifies what the former has signed, and
    the reverse, so it may be put in place host by host.
    """
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        _builder(now, _AUTHORITY_LIFE)
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def issue_certificate(
    key: EllipticCurvePrivateKey,
    purpose: Purpose,
    names: Sequence[str],
    authority: x509.Certificate,
    authority_key: EllipticCurvePrivateKey,
    now: datetime,
) -> x509.Certificate:
    """Return a certificate for ``names`` (DNS names and IP addresses), signed by the authority."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        _builder(now, _LIFE)
        .subject_name(subject)
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose.value]), critical=False)
        .add_extension(x509.SubjectAlternativeName(list(map(_name, names))), critical=False)
        .add_extension(issuer, critical=False)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def still_signs(authority: x509.Certificate, key: EllipticCurvePrivateKey, now: datetime) -> bool:
    """Tell whether the authority is this key's and outlives a certificate signed now."""
    return (
        authority.public_key() == key.public_key() and authority.not_valid_after_utc > now + _LIFE
    )


def still_serves(
    certificate: x509.Certificate,
    key: EllipticCurvePrivateKey,
    names: Sequence[str],
    authority: x509.Certificate,
    now: datetime,
) -> bool:
    """Tell whether a certificate is this key's, for these names, signed and not ending."""
    try:
        certificate.verify_directly_issued_by(authority)
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return (
        set(held) == set(map(_name, names))
        and certificate.public_key() == key.public_key()
        and certificate.not_valid_after_utc > now + RENEW_BEFORE
    )


def _builder(now: datetime, life: timedelta) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + life)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
