"""Far more than a replica can take: ``benchmarks/overload.py`` has the ten thousand."""

from pathlib import Path

from tests.inference_app.overload import flood
from tests.inference_app.support import replica_process, settings_document

_MIB = 1024 * 1024


async def test_each_of_many_requests_is_answered_or_told_when_to_come_back(tmp_path: Path) -> None:
    document = settings_document(tmp_path, tokens_per_s=500)
    document["limits"]["max_in_flight"] = 8
    with replica_process(tmp_path, document) as replica:
        replica.wait_ready()
        await flood(replica.base, count=100, at_once=50, tokens=4)  # what it needs once
        before = _resident_bytes(replica.process.pid)
        seen = await flood(replica.base, count=400, at_once=50, tokens=4)
        grown = _resident_bytes(replica.process.pid) - before
        assert seen.odd == []
        assert set(seen.statuses) <= {200, 429, 503}
        assert seen.statuses.total() == 400
        assert seen.statuses[200] > 0
        assert seen.statuses[429] > 0
        assert grown < 8 * _MIB, grown
        assert replica.stop() == 0
        assert "Traceback" not in replica.log()


def _resident_bytes(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096
