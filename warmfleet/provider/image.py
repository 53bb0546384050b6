"""The container image of a lab host: a small Debian with systemd and SSH.

It is built on this machine from the machine's own apt mirror (``image_build.sh`` is the recipe), so
nothing but a package mirror is needed. ``python -m warmfleet.provider.image`` builds it by hand.
"""

import errno
import fcntl
import hashlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from warmfleet.errors import (
    DiskFullError,
    PermissionNeededError,
    StackError,
    ToolMissingError,
    WarmfleetError,
)
from warmfleet.provider.apt_sources import RELEASE, AptSource, read_sources
from warmfleet.space import require_space

__all__ = ["IMAGE_NAME", "ensure_image", "image_tag", "main"]

IMAGE_NAME = "localhost/warmfleet-host"

_PREFIX = "host image: "
_RECIPE = Path(__file__).with_name("image_build.sh")
_CACHE = Path("/var/cache/warmfleet")
_WORK = "image-build"
_NEEDED_BYTES = 1_000_000_000
"""The packed root file system and podman's copies of it."""
_LIMIT_S = 900.0
_FULL = "no space left on device"
_PROGRAMS = {"podman": "podman", "debootstrap": "debootstrap", "unshare": "util-linux"}
_CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_LOCAL_CAS = Path("/usr/local/share/ca-certificates")
# A mirror behind a proxy, or a snapshot whose dates have passed, must work inside hosts as well.
_APT_SETTINGS = (
    "Acquire::http::Proxy",
    "Acquire::https::Proxy",
    "Acquire::Check-Date",
    "Acquire::Check-Valid-Until",
)
_DEBOOTSTRAP_PHASES = {
    "I: Retrieving": "downloading packages",
    "I: Extracting": "extracting the base system",
    "I: Unpacking": "unpacking packages",
    "I: Configuring": "configuring packages",
}

_log = logging.getLogger(__name__)


def image_tag() -> str:
    """Return the image's full name; its tag is a hash of the recipe."""
    recipe = hashlib.sha256(RELEASE.encode() + _RECIPE.read_bytes())
    return f"{IMAGE_NAME}:{recipe.hexdigest()[:12]}"


def ensure_image(progress: Callable[[str], None]) -> str:
    """Build the image when it is absent and return its name; ``progress`` gets one line a step.

    A build that is killed leaves nothing that counts as an image; two builds at once wait for one
    another. Takes one to three minutes, 15 at most, and no time when the image is there. A user
    with sudo that asks for no password is served too.

    Raises:
        PermissionNeededError: neither root nor such a user.
        ToolMissingError: podman or debootstrap is not installed.
        StackError: no usable apt source, or the build failed or hung; names the cause and the log.
        DiskFullError: no room for it, before or while it is built.
    """
    if os.geteuid() != 0:
        return _ensure_with_sudo(progress)
    _require_programs()
    tag = image_tag()
    if _exists(tag):
        _sweep()
        return tag
    with _locked(progress):
        if not _exists(tag):
            _build(tag, read_sources(), progress)
    return tag


def main() -> int:
    """Build the image, with progress on stderr; print its name."""
    try:
        tag = ensure_image(lambda line: print(_PREFIX + line, file=sys.stderr, flush=True))  # noqa: T201
    except WarmfleetError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_status
    print(tag)  # noqa: T201 - a command's result
    return 0


def _ensure_with_sudo(progress: Callable[[str], None]) -> str:
    sudo = ["sudo", "--non-interactive", "--preserve-env"]
    if (
        shutil.which("sudo") is None
        or subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode
    ):
        msg = (
            f"building lab hosts needs root, and this is user {os.geteuid()} without passwordless "
            "sudo; run as root, or run `sudo -v` first"
        )
        raise PermissionNeededError(msg)
    # A user's PATH lacks the sbin folders, where debootstrap is; -B leaves no files of root's.
    command = [*sudo, "env", f"PATH={os.environ['PATH']}:/usr/sbin:/sbin"]
    command += [sys.executable, "-B", "-m", "warmfleet.provider.image"]
    last = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as build:
        for line in build.stderr or ():
            last = line.strip()
            if last.startswith(_PREFIX):
                progress(last.removeprefix(_PREFIX))
        tag = build.stdout.read().strip() if build.stdout else ""
    if build.returncode:
        raise StackError(last.removeprefix("error: ") or "the build with sudo failed")
    return tag


def _require_programs() -> None:
    missing = {package for name, package in _PROGRAMS.items() if shutil.which(name) is None}
    if missing:
        packages = " ".join(sorted(missing))
        msg = f"not installed: {packages}; run 'make system' or: apt-get install {packages}"
        raise ToolMissingError(msg)


def _exists(tag: str) -> bool:
    found = subprocess.run(
        ["podman", "image", "exists", tag], capture_output=True, text=True, check=False
    )
    if found.returncode not in {0, 1}:
        msg = f"podman does not work on this machine: {_last_line(found.stderr)}"
        raise StackError(msg)
    return found.returncode == 0


@contextmanager
def _locked(progress: Callable[[str], None]) -> Iterator[None]:
    _CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (_CACHE / "image.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another build")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep() -> None:
    """Remove what a build left that was killed when the image was there already."""
    work = _CACHE / _WORK
    if work.exists():
        with _locked(_log.info):
            shutil.rmtree(work, ignore_errors=True)


def _build(tag: str, sources: list[AptSource], progress: Callable[[str], None]) -> None:
    work = _CACHE / _WORK
    deadline = time.monotonic() + _LIMIT_S
    # Under the lock, whatever is here was left by a build that was killed.
    shutil.rmtree(work, ignore_errors=True)
    try:
        work.mkdir(mode=0o700)
        require_space(work, _NEEDED_BYTES, "host image")
        _write_inputs(work, sources)
        _run_recipe(work, sources[0].uri, progress, deadline)
        progress("importing into podman")
        _import(work / "rootfs.tar", tag, deadline)
    except OSError as error:
        if error.errno == errno.ENOSPC:  # the log's disk is the same
            raise _full(work) from error
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_inputs(work: Path, sources: list[AptSource]) -> None:
    (work / "sources.list").write_text("".join(f"{source}\n" for source in sources))
    settings = ['Acquire::Retries "3";', *_apt_settings()]
    (work / "apt.conf").write_text("".join(f"{line}\n" for line in settings))
    if _CA_BUNDLE.is_file():
        shutil.copyfile(_CA_BUNDLE, work / _CA_BUNDLE.name)
    if authorities := sorted(_LOCAL_CAS.glob("*.crt")):
        (work / "ca").mkdir()
        for path in authorities:
            shutil.copyfile(path, work / "ca" / path.name)


def _apt_settings() -> list[str]:
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False)
    return [line for line in dump.stdout.splitlines() if line.split(" ")[0] in _APT_SETTINGS]


def _run_recipe(work: Path, mirror: str, progress: Callable[[str], None], deadline: float) -> None:
    log_file = _log_file()
    # kill-child: what is in the namespaces ends with unshare, whatever its process group.
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command += ["sh", str(_RECIPE), str(work), RELEASE, mirror]
    seen: set[str] = set()
    errors: list[str] = []
    with (
        log_file.open("w", encoding="utf-8", buffering=1) as log,
        _bounded(command, deadline) as build,
    ):
        for line in build.stdout or ():
            log.write(line)
            if (phase := _phase(line)) and phase not in seen:
                seen.add(phase)
                progress(phase)
            if line.startswith(("E: ", "Err:")):
                errors.append(line.strip())
    if build.returncode != 0:
        if _FULL in log_file.read_text(encoding="utf-8").lower():
            raise _full(work)
        cause = errors[0] if errors else _last_line(log_file.read_text(encoding="utf-8"))
        msg = f"building the host image from {mirror} failed: {cause}; see {log_file}, then retry"
        raise StackError(msg)


def _log_file() -> Path:
    return _CACHE / "image-build.log"


@contextmanager
def _bounded(
    command: list[str], deadline: float, variables: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a process group of its own that ends at the deadline or with us."""
    expired = threading.Event()
    with subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command],
        env={**os.environ, **(variables or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    ) as process:

        def expire() -> None:
            expired.set()
            os.killpg(process.pid, signal.SIGKILL)

        limit = threading.Timer(max(0.0, deadline - time.monotonic()), expire)
        limit.start()
        try:
            yield process
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            limit.cancel()
    if expired.is_set():
        msg = f"the host image was not built within {_LIMIT_S:g} s; see {_log_file()}, then retry"
        raise StackError(msg)


def _phase(line: str) -> str | None:
    if line.startswith("step: "):
        return line.removeprefix("step: ").strip()
    return next(
        (text for start, text in _DEBOOTSTRAP_PHASES.items() if line.startswith(start)), None
    )


def _import(archive: Path, tag: str, deadline: float) -> None:
    changes = ['CMD ["/sbin/init"]', "STOPSIGNAL SIGRTMIN+3"]
    command = ["podman", "import", "--quiet"]
    command += [argument for change in changes for argument in ("--change", change)]
    # What it puts aside is removed with the rest, however it ends.
    variables = {"TMPDIR": str(archive.parent)}
    with _bounded([*command, str(archive), tag], deadline, variables) as podman:
        printed = podman.stdout.read() if podman.stdout else ""
    _log.debug("podman import: %s", printed.strip())
    if podman.returncode != 0:
        if _FULL in printed.lower():
            raise _full(archive.parent)
        msg = f"podman could not import the host image: {_last_line(printed)}"
        raise StackError(msg)


def _full(work: Path) -> DiskFullError:
    msg = (
        f"host image: no space is left on the disk of {work.parent}, or of podman's storage; "
        f"needed: {_NEEDED_BYTES / 1e6:.0f} MB on each; make room there and run it again"
    )
    return DiskFullError(msg)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "no message"


if __name__ == "__main__":
    sys.exit(main())
