"""How much memory is left, by what the kernel writes."""

from pathlib import Path

import pytest

from inference_app.memory import MemoryGuard

_GIB = 1024**3


def _host(root: Path, *, available_kb: int, group: dict[str, str] | None = None) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(
        f"MemTotal:  65536000 kB\nMemAvailable: {available_kb} kB\nHugePages_Total:       0\n"
    )
    lines = "12:memory:/old\n0::/system.slice/a.service\n"
    (root / "proc/self/cgroup").write_text(lines)
    if group is not None:
        folder = root / "sys/fs/cgroup/system.slice/a.service"
        folder.mkdir(parents=True)
        for name, text in group.items():
            (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("group", "left"),
    [
        (None, 8 * _GIB),
        ({"memory.max": "max\n", "memory.current": "5"}, 8 * _GIB),
        (
            {
                "memory.max": f"{4 * _GIB}\n",
                "memory.current": f"{3 * _GIB}\n",
                "memory.stat": f"anon 1\nfile {3 * _GIB}\nshmem {_GIB}\n"
                f"inactive_file {_GIB}\nactive_file {_GIB}\n",
            },
            3 * _GIB,
        ),
        ({"memory.max": f"{4 * _GIB}", "memory.current": f"{4 * _GIB}"}, 0),
    ],
)
def test_what_is_left_is_the_least_of_host_and_group(
    tmp_path: Path, group: dict[str, str] | None, left: int
) -> None:
    _host(tmp_path, available_kb=8 * 1024 * 1024, group=group)
    assert MemoryGuard(1, root=tmp_path).available() == left


@pytest.mark.parametrize("place", ["", "system.slice"])
def test_a_limit_may_be_of_what_the_group_is_in(tmp_path: Path, place: str) -> None:
    group = {"memory.max": "max", "memory.current": "5"}
    _host(tmp_path, available_kb=8 * 1024 * 1024, group=group)
    outer = tmp_path / "sys/fs/cgroup" / place
    (outer / "memory.max").write_text(f"{2 * _GIB}\n")
    (outer / "memory.current").write_text(f"{_GIB}\n")
    assert MemoryGuard(1, root=tmp_path).available() == _GIB


def test_a_container_may_see_its_own_group_as_the_first(tmp_path: Path) -> None:
    _host(tmp_path, available_kb=8 * 1024 * 1024)  # its path, of the host, is not there
    mounted = tmp_path / "sys/fs/cgroup"
    mounted.mkdir(parents=True)
    (mounted / "memory.max").write_text(f"{2 * _GIB}\n")
    (mounted / "memory.current").write_text(f"{_GIB}\n")
    assert MemoryGuard(1, root=tmp_path).available() == _GIB


def test_it_looks_four_times_a_second_at_most(tmp_path: Path) -> None:
    now = 0.0
    _host(tmp_path, available_kb=1024)
    guard = MemoryGuard(2 * 1024 * 1024, root=tmp_path, now=lambda: now)
    assert guard()
    (tmp_path / "proc/meminfo").write_text("MemAvailable: 4096 kB\n")
    now = 0.2
    assert guard()
    now = 0.3
    assert not guard()


def test_where_nothing_tells_it_is_never_short(tmp_path: Path) -> None:
    assert not MemoryGuard(2**62, root=tmp_path)()
    assert not MemoryGuard(0)()


def test_this_machine_tells() -> None:
    assert 0 < MemoryGuard(1).available() < float("inf")
