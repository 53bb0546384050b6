"""Mutual TLS of both ports: who has no certificate of the gateways' authority gets no answer."""

import ssl
from asyncio.sslproto import SSLProtocol
from typing import Final

from inference_app.errors import SettingsError
from inference_app.settings import TlsSettings

__all__ = ["server_context"]

# asyncio gives each TLS connection a buffer of 256 KiB, and no public way to say less. A thousand
# streams would hold 256 MiB in it; a record has no more than 16 KiB.
_BUFFER_BYTES: Final = 32 * 1024


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of a listener.

    Raises:
        SettingsError: a file is missing, or is not what its name says.
    """
    SSLProtocol.max_size = _BUFFER_BYTES
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.num_tickets = 0  # the gateway keeps connections and resumes none
    for name, path in settings:
        try:
            path.read_bytes()
        except OSError as error:
            msg = f"tls.{name} {path}: {error.strerror}"
            raise SettingsError(msg) from error
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except ssl.SSLError as error:
        msg = f"tls.certificate {settings.certificate} and tls.key {settings.key}: {_cause(error)}"
        raise SettingsError(msg) from error
    try:
        context.load_verify_locations(settings.client_ca)
    except ssl.SSLError as error:
        msg = f"tls.client_ca {settings.client_ca}: {_cause(error)}"
        raise SettingsError(msg) from error
    return context


def _cause(error: ssl.SSLError) -> str:
    reason = (error.reason or "unreadable").lower().replace("_", " ")
    return f"{reason}; needed: PEM files that belong together"
