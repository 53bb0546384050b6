import sys
import threading
import time

import pytest

from warmfleet.errors import StackError, ToolMissingError
from warmfleet.provider.process import last_line, run_program

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_output_input_and_status():
    script = "import sys; print(sys.stdin.read().upper()); sys.exit('reason')"
    ended = run_program([sys.executable, "-c", script], timeout_s=30, stdin="given")
    assert (ended.status, ended.stdout, ended.stderr) == (1, "GIVEN\n", "reason\n")


def test_large_input_and_output_do_not_block():
    script = "import sys; sys.stdout.write(sys.stdin.read())"
    text = "x" * 1_000_000
    ended = run_program([sys.executable, "-c", script], timeout_s=30, stdin=text)
    assert ended.stdout == text


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(ToolMissingError, match="no-such-program is not on PATH"):
        run_program(["no-such-program"], timeout_s=1)


def test_the_time_limit_ends_it():
    began = time.monotonic()
    with pytest.raises(StackError, match="did not end within its time limit"):
        run_program(SLEEP, timeout_s=0.1)
    assert time.monotonic() - began < 10


def test_a_cancel_ends_it():
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    with pytest.raises(StackError, match="cancelled while running"):
        run_program(SLEEP, timeout_s=60, cancelled=cancelled)


def test_nothing_starts_after_a_cancel():
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(StackError, match="cancelled before"):
        run_program(["no-such-program"], timeout_s=60, cancelled=cancelled)


def test_what_must_not_be_left_half_done_runs_to_its_end(tmp_path):
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    script = f"import time; time.sleep(1); open({str(tmp_path / 'done')!r}, 'w')"
    argv = [sys.executable, "-c", script]
    assert run_program(argv, timeout_s=60, cancelled=cancelled, whole=True).status == 0
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize(
    ("text", "line"), [("", "no message"), ("a\nError: b \n\n", "Error: b"), ("\n", "no message")]
)
def test_last_line(text, line):
    assert line == last_line(text)
