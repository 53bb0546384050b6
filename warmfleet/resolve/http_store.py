"""Files behind HTTP, read by ranges, so that only headers of weights travel."""

import re
import time
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

import httpx2

from warmfleet.resolve.store import Chunk, SourceMissingError, SourceUnreachableError

__all__ = ["HttpStore"]

_ATTEMPTS: Final = 3
_RETRY_S: Final = 0.5
_MOST_REDIRECTS: Final = 5
_SLOWEST_BYTES_S: Final = 64 * 1024
"""A body that comes faster than this has more time than the limit: an index may be 10 MB."""

_WITHOUT_RANGES: Final = 16 * 1024 * 1024
"""Read through, where a server gives only whole files."""

_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_SHA256: Final = re.compile(r'(?:W/)?"?([0-9a-f]{64})"?')
_REVISION: Final = re.compile(r"[0-9a-f]{40}")


class _AgainError(Exception):
    """This may go better the next time."""


class HttpStore:
    """Files below one base URL.

    Reads are repeated after a fault, each bounded in time; redirects are followed a few times, and
    not from TLS to none. ``token`` goes to the host of the base URL and to no other.
    """

    def __init__(
        self,
        base: str,
        *,
        token: str | None = None,
        limit_s: float = 30.0,
        silence_s: float = 10.0,
    ) -> None:
        self._base = base.rstrip("/")
        self._limit_s = limit_s
        self._client = httpx2.Client(
            headers={"Accept-Encoding": "identity"}
            | ({"Authorization": f"Bearer {token}"} if token else {}),
            timeout=httpx2.Timeout(silence_s, connect=min(5.0, silence_s)),
            follow_redirects=True,
            max_redirects=_MOST_REDIRECTS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def read(self, path: str, *, start: int, length: int) -> Chunk:
        """Return a part of a file; see ``Store.read``."""
        url = f"{self._base}/{quote(path)}" if path else self._base
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_RETRY_S * attempt)
            try:
                return self._read(url, start, length)
            except httpx2.TooManyRedirects as error:
                msg = f"{url}: found more than {_MOST_REDIRECTS} redirects"
                raise SourceUnreachableError(msg) from error
            except (httpx2.HTTPError, httpx2.InvalidURL, _AgainError) as error:
                reason = str(error) or type(error).__name__
        msg = f"{url}: {reason} ({_ATTEMPTS} tries)"
        raise SourceUnreachableError(msg)

    def _read(self, url: str, start: int, length: int) -> Chunk:
        until = time.monotonic() + self._limit_s
        headers = {"Range": f"bytes={start}-{start + length - 1}"}
        with self._client.stream("GET", url, headers=headers) as response:
            _must_be_secure(url, response)
            first, size = _placed(url, response, start)
            last = min(start + length, size) if size is not None else start + length
            if first < start and last > _WITHOUT_RANGES:
                msg = f"{url}: found a server without ranged reads; needed one with them"
                raise ValueError(msg)
            data = self._body(response, last - first, until)
        if size is None:  # only now, and only if it is all
            if len(data) > last - first:
                msg = f"{url}: found no Content-Length; needed the size of the file"
                raise ValueError(msg)
            size = first + len(data)
        elif len(data) < last - first:
            msg = f"found {len(data)} bytes; needed {last - first}, as its headers say"
            raise _AgainError(msg)
        answers = [*response.history, response]
        return Chunk(
            data=data[start - first : last - first],
            size=size,
            sha256=_header(answers, "x-linked-etag", _SHA256),
            revision=_header(answers, "x-repo-commit", _REVISION),
        )

    def _body(self, response: httpx2.Response, wanted: int, until: float) -> bytes:
        parts: list[bytes] = []
        held = 0
        for part in response.iter_raw():
            if time.monotonic() > until + held / _SLOWEST_BYTES_S:
                msg = f"found {held} bytes in {self._limit_s:g} s; needed {wanted}"
                raise _AgainError(msg)
            parts.append(part)
            held += len(part)
            if held > wanted:
                break
        return b"".join(parts)


def _must_be_secure(url: str, response: httpx2.Response) -> None:
    hops = [str(answer.url) for answer in (*response.history, response)]
    if url.startswith("https:") and any(hop.startswith("http:") for hop in hops):
        msg = f"{url}: found a redirect to a URL without TLS; needed https"
        raise SourceUnreachableError(msg)


def _placed(url: str, response: httpx2.Response, start: int) -> tuple[int, int | None]:
    """Return where the body begins in the file, and the size of the file if it is known."""
    status = response.status_code
    if status in {404, 410}:
        raise SourceMissingError(url)
    if status in {401, 403}:
        msg = f"{url}: found HTTP status {status}"
        raise SourceUnreachableError(msg)
    if status in {408, 425, 429} or status >= 500:
        msg = f"found HTTP status {status}"
        raise _AgainError(msg)
    if status == 206:
        placed = _RANGE.fullmatch(response.headers.get("content-range", ""))
        if placed is None or int(placed[1]) != start:
            found = response.headers.get("content-range", "none")[:60]
            msg = f"{url}: found Content-Range {found}; needed one from byte {start}, with the size"
            raise ValueError(msg)
        return start, int(placed[3])
    if status == 416 and start == 0:
        return 0, 0
    if status != 200:
        msg = f"{url}: found HTTP status {status}; needed 200 or 206"
        raise ValueError(msg)
    stated = response.headers.get("content-length", "")
    return 0, int(stated) if stated.isdecimal() else None


def _header(answers: list[httpx2.Response], name: str, form: re.Pattern[str]) -> str | None:
    """Return a header of the first answer that has it: the hub states it before it redirects."""
    for answer in answers:
        if found := form.fullmatch(answer.headers.get(name, "")):
            return found[form.groups]
    return None
