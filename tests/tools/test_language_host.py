"""The small language host under the real engine, with a program and a plugin of the test's own."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """\
import os
import sys
from pathlib import Path

import pulumi
from helper import double

class Part(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("trivial:index:Part", name)
        self.register_outputs({})

Part("first")
pulumi.export("answer", double(pulumi.Config().require_int("half")))
pulumi.export("secret", pulumi.Config().require_secret("token"))
pulumi.export("folder", os.getcwd())
pulumi.export("interpreter", sys.executable)
"""
# Not a policy pack yet: what counts here is that the host starts it and carries its output.
PACK = """\
raise RuntimeError("told by the pack")
"""


class Stack:
    """One stack of a program in a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "program"
        self.folder.mkdir()
        (folder / "backend").mkdir()
        (self.folder / "Pulumi.yaml").write_text("name: trivial\nruntime: python\n")
        (self.folder / "__main__.py").write_text(PROGRAM)
        (self.folder / "helper.py").write_text("def double(x):\n    return 2 * x\n")
        path = f"{ROOT / '.tools/bin'}:{ROOT / '.venv/bin'}:{os.environ['PATH']}"
        self.environment = os.environ | {
            "PATH": path,
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}",
            "PULUMI_CONFIG_PASSPHRASE": "of this test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }

    def pulumi(self, *arguments: str, fails: bool = False) -> str:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        output = done.stdout + done.stderr
        assert (done.returncode != 0) is fails, output
        return output


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    stack = Stack(tmp_path_factory.mktemp("language-host"))
    stack.pulumi("stack", "init", "dev")
    stack.pulumi("config", "set", "half", "21")
    stack.pulumi("config", "set", "--secret", "token", "canary-7f3a")
    return stack


def test_a_program_goes_up_and_stays(stack: Stack) -> None:
    first = stack.pulumi("up", "--yes")
    assert "+ 2 created" in first
    assert "canary-7f3a" not in first
    outputs = json.loads(stack.pulumi("stack", "output", "--json"))
    assert outputs["answer"] == 42
    assert outputs["secret"] == "[secret]"
    assert outputs["folder"] == str(stack.folder)
    assert outputs["interpreter"] == str(ROOT / ".venv/bin/python")
    again = stack.pulumi("up", "--yes")
    assert "2 unchanged" in again
    # What the host prints itself would show up as messages of the stack.
    assert "Traceback" not in first + again
    assert "2 unchanged" in stack.pulumi("refresh", "--yes")


def test_a_plugin_in_python_is_run_and_heard(stack: Stack) -> None:
    pack = stack.folder.parent / "policy"
    pack.mkdir()
    (pack / "PulumiPolicy.yaml").write_text("runtime: python\n")
    (pack / "__main__.py").write_text(PACK)
    output = stack.pulumi("preview", "--policy-pack", str(pack), fails=True)
    assert "RuntimeError: told by the pack" in output
    assert "exit status 1" in output


def test_an_error_of_the_program_reaches_the_user(stack: Stack) -> None:
    stack.pulumi("config", "rm", "half")
    output = stack.pulumi("preview", fails=True)
    assert "Missing required configuration variable 'trivial:half'" in output
    stack.pulumi("config", "set", "half", "21")


def test_destroy_leaves_nothing_and_no_host_behind(stack: Stack) -> None:
    assert "deleted" in stack.pulumi("destroy", "--yes")
    assert json.loads(stack.pulumi("stack", "export"))["deployment"].get("resources", []) == []
    mine = str(stack.folder)
    running = [
        entry.name
        for entry in Path("/proc").glob("[0-9]*")
        if _cwd(entry) == mine and "pulumi_language_python" in _command(entry)
    ]
    assert running == []


def _cwd(entry: Path) -> str:
    try:
        return os.readlink(entry / "cwd")
    except OSError:
        return ""


def _command(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_text()
    except OSError:
        return ""
