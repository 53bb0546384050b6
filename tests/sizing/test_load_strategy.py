"""Ways of reading weights: what each takes of disk and memory, and which is taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warmfleet.catalog.gpu import find_gpu
from warmfleet.catalog.load_strategy import load_strategies
from warmfleet.sizing.load_strategy import LoadJob, choose_load, peak_host_bytes

GB = 10**9
JOB = LoadJob("vllm", "safetensors", 15 * GB, 1, find_gpu("RTX 4090"), 3.0)

JOBS = st.builds(
    LoadJob,
    engine=st.just("vllm"),
    format=st.just("safetensors"),
    files_bytes=st.integers(10**8, 10**12),
    ranks=st.sampled_from([1, 2, 4, 8]),
    gpu=st.sampled_from([None, find_gpu("T4"), find_gpu("H100 SXM5 80GB")]),
    disk_gb_s=st.floats(0.1, 40),
    host_bytes=st.none() | st.integers(10**8, 4 * 10**12),
    files=st.none() | st.integers(1, 200),
)


@pytest.mark.parametrize(
    ("what", "job", "taken", "seconds"),
    [
        ("sequential reading beats mapping", JOB, "prefetch", 15 / 2.85),
        ("no memory for the files", replace(JOB, host_bytes=8 * GB), "streamer", 15 / 2.91),
        ("no memory for a buffer", replace(JOB, host_bytes=2 * GB), "direct", 15 / 1.95),
        ("a slow disk is the same to all but mmap", replace(JOB, disk_gb_s=0.5), "prefetch", 31.6),
        ("no memory at all", replace(JOB, host_bytes=10**6), "direct", 15 / 1.95),
        ("ranks share a copy of the files", replace(JOB, ranks=4, disk_gb_s=29), "prefetch", 2.08),
        (
            "one file is read ahead by one rank alone",
            replace(JOB, files_bytes=30 * GB, ranks=4, disk_gb_s=29, files=1),
            "direct",
            30 / 7.0,
        ),
        (
            "two files by two of the ranks",
            replace(JOB, files_bytes=30 * GB, ranks=4, disk_gb_s=29, files=2),
            "prefetch",
            30 / 7.2,
        ),
        ("GGUF", replace(JOB, engine="llamacpp", format="gguf"), "direct", 15 / 2.7),
        ("torch files", replace(JOB, format="pytorch"), "mmap", 15 / 1.05),
    ],
)
def test_what_is_taken(what, job, taken, seconds) -> None:
    found = choose_load(job)

    assert found.load.id == taken, what
    assert found.load.cold_s == pytest.approx(seconds, rel=0.01)
    others = [row for row in load_strategies(job.engine) if job.format in row.formats]
    assert len(found.refused) == len(others) - 1


def test_a_streamer_keeps_the_checkpoint_on_each_of_several_ranks() -> None:
    """As 140 GB became 560 on four ranks in vllm issue 44430, and 218 GB ended the host."""
    streamer = next(row for row in load_strategies("vllm") if row.id == "streamer")

    assert peak_host_bytes(streamer, 140 * GB, 1) == 4 * GB
    assert peak_host_bytes(streamer, 140 * GB, 4) == (560 + 16) * GB
    scout = LoadJob("vllm", "safetensors", 218 * GB, 4, None, 2.0, host_bytes=800 * GB)
    assert choose_load(scout).load.id == "prefetch"


def test_a_file_larger_than_memory_is_never_mapped() -> None:
    """Issue 40988 of vLLM: an hour of pages that are thrown out before they are used."""
    found = choose_load(replace(JOB, files_bytes=805 * GB, ranks=8, host_bytes=128 * GB))

    assert found.load.id == "direct"
    said = {row.load.id: row.reason for row in found.refused}
    assert said["mmap"] == "takes 809.0 GB of host memory (681.0 missing)"
    assert said["prefetch"] == said["mmap"]


def test_each_refusal_has_a_reason_and_the_choice_its_arithmetic() -> None:
    found = choose_load(JOB)

    assert found.reason == (
        "15.0 GB at 2.8 GB/s from a disk of 3 GB/s; within a tenth of the fastest, and simpler"
    )
    assert {row.load.id: row.reason for row in found.refused} == {
        "mmap": "14.3 s, 9.0 s longer",
        "direct": "7.7 s, 2.4 s longer",
        "streamer": "5.2 s, no more than a tenth faster, and needs another package",
    }


@given(JOBS, st.floats(1, 10))
def test_a_faster_disk_never_loads_more_slowly(job: LoadJob, factor: float) -> None:
    fast = choose_load(replace(job, disk_gb_s=job.disk_gb_s * factor))

    # The simplest within a tenth is taken, so a choice may be a tenth slower than another.
    assert fast.load.cold_s <= choose_load(job).load.cold_s * 1.1 + 1e-9


@given(JOBS, st.floats(1, 10))
def test_more_bytes_never_load_faster_nor_in_less_memory(job: LoadJob, factor: float) -> None:
    for row in load_strategies("vllm"):
        small = peak_host_bytes(row, job.files_bytes, job.ranks)
        assert small <= peak_host_bytes(row, int(job.files_bytes * factor), job.ranks)
    larger = replace(job, files_bytes=int(job.files_bytes * factor))
    assert choose_load(job).load.cold_s <= choose_load(larger).load.cold_s * 1.1 + 1e-9


@given(JOBS)
def test_what_is_taken_fits_wherever_one_does(job: LoadJob) -> None:
    found = choose_load(job)
    loads = [found.load, *(row.load for row in found.refused)]

    if job.host_bytes is not None and any(r.peak_host_bytes <= job.host_bytes for r in loads):
        assert found.load.peak_host_bytes <= job.host_bytes
    assert all(load.hot_s <= load.cold_s for load in loads)
