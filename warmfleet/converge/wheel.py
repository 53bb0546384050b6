"""The wheel that a host installs: the service of this very installation, and nothing else.

It is written here instead of by a build tool because it must be the same, byte for byte, for the
same service: the release on a host is named by its hash, and a host redeploys when that changes.
The project's own wheel also holds the control side and all roles, so an edited role would restart
every replica. An installed Warmfleet has no build tool and no sources either; this needs neither.
"""

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path

from warmfleet.errors import ToolMissingError

__all__ = ["EXTRAS", "VERSION_LABEL", "ServiceWheel"]

EXTRAS = ("service", "llamacpp")
"""What a host needs beside the base."""

VERSION_LABEL = "service"
"""Local version label: tells this wheel from the project's full one of the same version."""

_PACKAGE = "inference_app"
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can hold; a wheel must not show a clock


class ServiceWheel:
    """Bytes of the wheel, its file name, and the requirement that installs it."""

    def __init__(self) -> None:
        about = metadata("warmfleet")
        public = about["Version"].partition("+")[0]
        self.version = f"{public}+{VERSION_LABEL}"
        self.file_name = f"warmfleet-{self.version}-py3-none-any.whl"
        self.requirement = f"warmfleet[{','.join(EXTRAS)}]=={public}"
        self._requires_python = about["Requires-Python"]
        self._requires = sorted(_wanted_requirements(about.get_all("Requires-Dist") or []))

    def content(self) -> bytes:
        """Return the wheel file.

        Raises:
            ToolMissingError: this installation has no service package.
        """
        info = f"warmfleet-{self.version}.dist-info"
        files = dict(_package_files())
        files[f"{info}/METADATA"] = self._metadata().encode()
        files[f"{info}/WHEEL"] = (
            b"Wheel-Version: 1.0\nGenerator: warmfleet\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        record = f"{info}/RECORD"
        files[record] = _record(files, record).encode()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in files.items():
                entry = zipfile.ZipInfo(name, _EPOCH)
                entry.external_attr = 0o644 << 16
                # Stored: another zlib compresses to other bytes, which would be another release.
                entry.compress_type = zipfile.ZIP_STORED
                archive.writestr(entry, data)
        return buffer.getvalue()

    def _metadata(self) -> str:
        lines = ["Metadata-Version: 2.1", "Name: warmfleet", f"Version: {self.version}"]
        lines.append("Summary: The inference service of Warmfleet, without its control side")
        lines.append(f"Requires-Python: {self._requires_python}")
        lines += [f"Provides-Extra: {extra}" for extra in EXTRAS]
        lines += [f"Requires-Dist: {requirement}" for requirement in self._requires]
        return "\n".join(lines) + "\n"


def _wanted_requirements(all_requirements: list[str]) -> Iterator[str]:
    for text in all_requirements:
        extra = _EXTRA.search(text)
        if extra is None or extra[1] in EXTRAS:
            yield text


def _package_files() -> Iterator[tuple[str, bytes]]:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        msg = f"package {_PACKAGE} is not installed beside warmfleet; reinstall warmfleet"
        raise ToolMissingError(msg)
    root = Path(spec.origin).parent
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if not path.is_file() or "__pycache__" in relative.parts or path.suffix == ".md":
            continue  # a reworded README is no new release
        yield f"{_PACKAGE}/{relative.as_posix()}", path.read_bytes()


def _record(files: dict[str, bytes], record: str) -> str:
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{record},,"]) + "\n"
