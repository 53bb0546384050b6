"""The shell scripts that make calls, on machines made of fake programs."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
NEEDED = ("cat", "dirname", "grep", "paste", "printf", "sh", "tr", "true")


class Machine:
    """A PATH with nothing but a few real tools and what the test adds."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.calls = folder / "calls"
        for name in NEEDED:
            (self.bin / name).symlink_to(
                next(p for p in map(Path, (f"/usr/bin/{name}", f"/bin/{name}")) if p.exists())
            )

    def add(self, name: str, body: str = "") -> None:
        """Add a program that notes its arguments and then runs ``body``."""
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.calls}\n{body}\n')
        path.chmod(0o755)

    def user(self, uid: int) -> None:
        self.add("id", f"case $1 in -u|-g) echo {uid} ;; *) echo somebody ;; esac")

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", *command],
            env={"PATH": str(self.bin), **variables},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def script(self, name: str, path: str) -> str:
        """Copy a script with a ``path`` of the real machine replaced by one of this."""
        folder = self.bin.parent / "tools"
        folder.mkdir(exist_ok=True)
        text = (TOOLS / name).read_text()
        assert path in text
        (folder / name).write_text(text.replace(path, str(folder / Path(path).name)))
        return str(folder / name)

    def called(self, name: str) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line for line in lines if line.split()[0] == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def system(machine: Machine, purpose: str = "up") -> subprocess.CompletedProcess[str]:
    return machine.run(machine.script("system.sh", "/usr/sbin/policy-rc.d"), purpose, CI="true")


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


def test_nothing_missing_installs_nothing(machine: Machine) -> None:
    machine.add("dpkg-query", "echo installed")
    machine.add("apt-get")
    done = system(machine)
    assert done.returncode == 0
    assert "none missing" in done.stderr
    assert machine.called("apt-get") == []


def test_only_what_is_missing_is_installed(machine: Machine) -> None:
    machine.user(1000)
    machine.add("dpkg-query", 'case $3 in podman) echo "" ;; *) echo installed ;; esac')
    machine.add("apt-get")
    machine.add("sudo", "cat > /dev/null")
    done = system(machine)
    assert done.returncode == 0, done.stderr
    assert "Debian packages    podman\n" in done.stderr
    commands = [line for line in machine.called("sudo") if "apt-get" in line]
    assert commands[0].endswith("apt-get -q update")
    assert commands[1].endswith("install podman")
    # Told not to start services, and the machine is left without our policy.
    assert machine.called("sudo")[0].startswith("sudo tee ")
    assert machine.called("sudo")[-1].startswith("sudo rm -f ")


def test_the_proxys_tests_need_nginx_and_up_does_not(machine: Machine) -> None:
    machine.add("dpkg-query", 'case $3 in nginx) echo "" ;; *) echo installed ;; esac')
    assert "none missing" in system(machine, "up").stderr
    assert "nginx" in system(machine, "test").stderr.splitlines()[1]


@pytest.mark.parametrize("package", ["iproute2", "procps"])
def test_programs_that_a_small_system_lacks_are_installed(machine: Machine, package: str) -> None:
    machine.add("dpkg-query", f'case $3 in {package}) echo "" ;; *) echo installed ;; esac')
    assert f"Debian packages    {package}\n" in system(machine).stderr


def test_neither_root_nor_sudo_is_one_line(machine: Machine) -> None:
    machine.user(1000)
    machine.add("dpkg-query", 'case $3 in podman) echo "" ;; *) echo installed ;; esac')
    machine.add("apt-get")
    done = system(machine)
    assert done.returncode == 1
    assert last_line(done) == (
        "error: not root and no sudo; needed to install podman; run as root or install sudo"
    )


def test_another_system_is_one_line(machine: Machine) -> None:
    done = system(machine)
    assert done.returncode == 1
    assert last_line(done).startswith("error: no apt-get; needed: Debian 12 with python3-venv ")


def test_a_failed_install_leaves_no_policy(machine: Machine) -> None:
    machine.user(1000)
    machine.add("dpkg-query", 'case $3 in podman) echo "" ;; *) echo installed ;; esac')
    machine.add("apt-get")
    machine.add("sudo", 'cat > /dev/null; case "$*" in *recommends*) exit 100 ;; esac')
    done = system(machine)
    assert done.returncode == 1
    assert last_line(done) == "error: apt-get install failed (above)"
    assert machine.called("sudo")[-1].startswith("sudo rm -f ")


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM"])
def test_a_signal_leaves_no_policy(machine: Machine, name: str) -> None:
    machine.user(0)
    machine.add("dpkg-query", 'case $3 in podman) echo "" ;; *) echo installed ;; esac')
    for real in ("chmod", "cp", "kill", "rm", "tee"):
        (machine.bin / real).symlink_to(f"/bin/{real}")
    policy, seen = machine.bin.parent / "tools" / "policy-rc.d", machine.bin.parent / "seen"
    machine.add("apt-get", f"[ -x {policy} ] && cp {policy} {seen}; kill -s {name} $PPID")
    done = system(machine)
    assert done.returncode == 128 + signal.Signals[f"SIG{name}"]
    assert len(machine.called("apt-get")) == 1
    assert seen.read_text().endswith("\nexit 101\n")
    assert not policy.exists()

    # Nothing can be done about SIGKILL then; the next run finds what it left.
    seen.rename(policy)
    machine.add("dpkg-query", "echo installed")
    assert system(machine).returncode == 0
    assert not policy.exists()


def test_a_policy_of_somebody_else_stays(machine: Machine) -> None:
    machine.user(0)
    machine.add("dpkg-query", 'case $3 in podman) echo "" ;; *) echo installed ;; esac')
    machine.add("apt-get")
    for real in ("env", "rm"):
        (machine.bin / real).symlink_to(f"/usr/bin/{real}")
    path = machine.script("system.sh", "/usr/sbin/policy-rc.d")
    policy = Path(path).with_name("policy-rc.d")
    policy.write_text("#!/bin/sh\nexit 104\n")
    assert machine.run(path, "up", CI="true").returncode == 0
    assert policy.read_text() == "#!/bin/sh\nexit 104\n"


def test_root_runs_a_command_as_it_is(machine: Machine) -> None:
    machine.user(0)
    machine.add("podman", "exit 7")
    done = machine.run(str(TOOLS / "as_root.sh"), "podman", "a b")
    assert done.returncode == 7
    assert machine.called("podman") == ["podman a b"]
    assert machine.called("sudo") == []


def test_a_user_runs_it_through_sudo_and_keeps_the_files(machine: Machine) -> None:
    machine.user(1000)
    machine.add("sudo", 'case "$*" in *podman*) exit 7 ;; esac')
    done = machine.run(str(TOOLS / "as_root.sh"), "podman", "ps")
    assert done.returncode == 7
    first, *rest = machine.called("sudo")
    assert first.endswith("podman ps")
    assert ":/usr/sbin:/sbin " in first
    if TOOLS.stat().st_uid == os.geteuid():
        assert [line for line in rest if "chown -h 1000:1000" in line] == rest != []


def test_a_user_without_sudo_is_told(machine: Machine) -> None:
    machine.user(1000)
    done = machine.run(str(TOOLS / "as_root.sh"), "podman", "ps")
    assert done.returncode == 1
    assert "podman needs root" in last_line(done)


def test_an_old_python_is_told(machine: Machine) -> None:
    machine.add("python3", "exit 1")
    done = machine.run(machine.script("venv.sh", "/usr/bin/python3"))
    assert done.returncode == 1
    assert last_line(done).startswith("error: no Python 3.11 or newer with venv on PATH;")


# Stands for Python: suits, tells its version, makes an environment of itself with a uv in it.
PYTHON = """\
case "$*" in
  --version) echo "Python ${FAKE_VERSION:-3.11.2}" ;;
  "-m venv --clear .venv") rm -rf .venv; mkdir -p .venv/bin
    cp "$0" .venv/bin/python; cp "$0" .venv/bin/uv ;;
esac
"""


def test_an_environment_is_made_anew_where_it_moved_and_for_another_python(
    machine: Machine, tmp_path: Path
) -> None:
    machine.add("python3", PYTHON)
    for real in ("cp", "mkdir", "rm", "sha256sum"):
        (machine.bin / real).symlink_to(f"/usr/bin/{real}")
    checkout = tmp_path / "first"
    (checkout / "tools").mkdir(parents=True)
    shutil.copy(TOOLS / "venv.sh", checkout / "tools")
    for name in ("requirements.lock", "pyproject.toml"):
        (checkout / name).write_text("a==1\n")

    def made(**variables: str) -> int:
        before = len(machine.called("python3"))
        done = machine.run(str(checkout / "tools" / "venv.sh"), **variables)
        assert done.returncode == 0, done.stderr
        return len([line for line in machine.called("python3")[before:] if "-m venv" in line])

    assert (made(), made()) == (1, 0)
    (checkout / "requirements.lock").write_text("a==2\n")
    assert made() == 0, "other packages need no other environment"
    checkout = checkout.rename(tmp_path / "second")
    assert (made(), made()) == (1, 0)
    assert (made(FAKE_VERSION="3.11.9"), made(FAKE_VERSION="3.11.9")) == (1, 0)
