"""Files in S3-compatible storage."""

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from obstore import get
from obstore.exceptions import BaseError
from obstore.store import S3Store

from warmfleet.resolve.store import Chunk, SourceMissingError, SourceUnreachableError
from warmfleet.spec.sources import S3SourceSpec

if TYPE_CHECKING:
    from obstore.store import S3Config

__all__ = ["BucketStore"]

# Where credentials come from; without any of them requests are not signed, as for public buckets.
_CREDENTIALS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)


class BucketStore:
    """Files below a prefix of a bucket; reads are repeated after a fault, each bounded in time.

    Endpoint, region and credentials come from the spec, else from the environment (AWS_*), which
    the client reads by itself: no secret passes through here.
    """

    def __init__(self, source: S3SourceSpec, folder: str, *, limit_s: float = 30.0) -> None:
        bucket, _, prefix = folder.removeprefix("s3://").partition("/")
        self._url = folder
        self._prefix = prefix
        endpoint = source.endpoint or os.environ.get("AWS_ENDPOINT_URL")
        chosen: S3Config = {}
        if endpoint:
            chosen["endpoint"] = endpoint
        if source.region:
            chosen["region"] = source.region
        self._store = S3Store(
            bucket,
            config=chosen,
            skip_signature=not any(os.environ.get(name) for name in _CREDENTIALS),
            client_options={
                "timeout": timedelta(seconds=limit_s),
                "connect_timeout": timedelta(seconds=min(5.0, limit_s)),
                # Specs allow it for loopback alone.
                "allow_http": bool(endpoint and endpoint.startswith("http:")),
            },
            retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=2 * limit_s)},
        )

    def read(self, path: str, *, start: int, length: int) -> Chunk:
        """Return a part of a file; see ``Store.read``."""
        key = "/".join(part for part in (self._prefix, path) if part)
        try:
            found = get(self._store, key, options={"range": (start, start + length)})
            return Chunk(bytes(found.bytes()), int(found.meta["size"]))
        except FileNotFoundError as error:
            raise SourceMissingError(f"{self._url}/{path}".rstrip("/")) from error
        except (BaseError, OSError, ValueError) as error:
            # Without the client's account of its tries before, and the server's page after it.
            reason = str(error).partition(" - ")[2].partition("<")[0].splitlines() or ["no answer"]
            msg = f"{self._url}: {reason[0].strip(' :')[:120]}"
            raise SourceUnreachableError(msg) from error
