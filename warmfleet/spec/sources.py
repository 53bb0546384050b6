"""Where the weights of a model come from; the field that only one kind has tells them apart."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Discriminator, Field, Tag

from inference_app.problems import shown
from warmfleet.spec.fields import SpecModel, bound, checked

__all__ = [
    "HubSourceSpec",
    "PackageSourceSpec",
    "PathSourceSpec",
    "S3SourceSpec",
    "SourceSpec",
    "UrlSourceSpec",
]

_URL = "https://HOST/PATH, without a user, a query or a fragment"
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
"""Without TLS only here: a test's server, or a tunnel's end."""


def _is_pinned(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9][\w.-]*==[A-Za-z0-9][\w.!+-]*", text, re.ASCII) is not None


def _stays_inside(text: str) -> bool:
    path = PurePosixPath(text)
    parts = "\0" not in text and "\\" not in text and path.parts
    return bool(parts) and not path.is_absolute() and ".." not in path.parts


def _is_gguf(text: str) -> bool:
    return _stays_inside(text) and text.endswith(".gguf")


def _is_path(text: str) -> bool:
    return "\0" not in text


def _is_repository(text: str) -> bool:
    # As the hub checks names: no '..', no '--', no '.git' at the end.
    name = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
    plain = ".." not in text and "--" not in text and not text.endswith(".git")
    return plain and re.fullmatch(rf"{name}/{name}", text) is not None


def _is_revision(text: str) -> bool:
    return ".." not in text and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]*", text) is not None


def _url(text: str) -> str:
    """Refuse also what may hold a secret, and do not repeat it: specs and locks are committed."""
    try:
        parts = urlsplit(text)
        port_is_number = parts.port != -1
    except ValueError:
        raise bound(f"found {shown(text)}; needed {_URL}") from None
    for secret, what in ((parts.username or parts.password, "user"), (parts.query, "query")):
        if secret:
            raise bound(f"found a URL with a {what}; needed {_URL}")
    secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    plain = text.isascii() and text.isprintable() and " " not in text and not parts.fragment
    if not (secure and plain and parts.hostname and port_is_number):
        raise bound(f"found {shown(text)}; needed {_URL}")
    return text


def _is_bucket(text: str) -> bool:
    found = re.fullmatch(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([^\0\\?#]*))?", text)
    return found is not None and ".." not in text and "//" not in (found[2] or "")


_Url = Annotated[str, Field(max_length=1024), AfterValidator(_url)]
_File = Annotated[str, Field(max_length=255)]


class PackageSourceSpec(SpecModel):
    """Weights inside a Python package."""

    package: Annotated[str, checked(_is_pinned, "a pinned package, NAME==VERSION")] = Field(
        description="Python package that holds the weights, NAME==VERSION"
    )
    file: Annotated[_File, checked(_stays_inside, "a path inside the package, without '..'")] = (
        Field(description="path of the file inside the package")
    )


class PathSourceSpec(SpecModel):
    """Weights on this machine."""

    path: Annotated[str, checked(_is_path, "a path, without a zero byte")] = Field(
        description="file, or folder with config.json, on the control machine; absolute or "
        "relative to the project folder",
        min_length=1,
        max_length=1024,
    )


class HubSourceSpec(SpecModel):
    """Weights in a repository of the Hugging Face hub, or of a mirror with its layout."""

    hf: Annotated[
        str,
        Field(max_length=193),
        checked(_is_repository, "a repository, OWNER/NAME"),
    ] = Field(description="repository, OWNER/NAME")
    revision: Annotated[
        str, Field(max_length=255), checked(_is_revision, "a branch, a tag or a commit")
    ] = Field(default="main", description="branch, tag or commit")
    file: (
        Annotated[_File, checked(_is_gguf, "a .gguf file inside the repository, without '..'")]
        | None
    ) = Field(default=None, description="one GGUF file of several; config.json decides if absent")
    mirror: _Url | None = Field(
        default=None, description="base URL of a mirror; HF_ENDPOINT, else the hub itself if absent"
    )


class UrlSourceSpec(SpecModel):
    """Weights behind a URL."""

    url: _Url = Field(
        description="a .gguf or .safetensors file, or a folder with config.json; https"
    )


class S3SourceSpec(SpecModel):
    """Weights in S3-compatible storage; credentials come from the environment (AWS_*)."""

    s3: Annotated[
        str, Field(max_length=1024), checked(_is_bucket, "s3://BUCKET/PREFIX, without '..'")
    ] = Field(description="a .gguf file, or a prefix with config.json: s3://BUCKET/PREFIX")
    endpoint: _Url | None = Field(
        default=None, description="of the storage; AWS_ENDPOINT_URL, else AWS itself if absent"
    )
    region: (
        Annotated[str, Field(max_length=63), checked(str.isprintable, "the name of a region")]
        | None
    ) = Field(default=None, description="of the bucket; AWS_REGION if absent")


# Tags are no field names: an error's place must not mistake one for a field.
_TAGS = {
    "path": "on this machine",
    "hf": "on a hub",
    "url": "behind a URL",
    "s3": "in a bucket",
    "package": "in a package",
}


def _kind(found: Any) -> str:
    fields = found if isinstance(found, dict) else getattr(type(found), "model_fields", {})
    return next((tag for field, tag in _TAGS.items() if field in fields), _TAGS["package"])


SourceSpec = Annotated[
    Annotated[PackageSourceSpec, Tag("in a package")]
    | Annotated[PathSourceSpec, Tag("on this machine")]
    | Annotated[HubSourceSpec, Tag("on a hub")]
    | Annotated[UrlSourceSpec, Tag("behind a URL")]
    | Annotated[S3SourceSpec, Tag("in a bucket")],
    Discriminator(_kind),
]
"""Any of the kinds."""
