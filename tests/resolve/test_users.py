"""Users from a table or from logs: counted by place, nothing dropped in silence, nobody kept."""

import gzip
from pathlib import Path

import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet

from warmfleet.catalog.load import load_catalog
from warmfleet.errors import SpecError
from warmfleet.plan.lock import check_any_lock, dump_plan, plan_environment, write_lock
from warmfleet.project import Project
from warmfleet.resolve import log_reader
from warmfleet.resolve.users import count_users, locate_users
from warmfleet.spec.load import load_spec
from warmfleet.spec.users import LoggedUsersSpec, TabledUsersSpec

CATALOG = load_catalog()
LINE = '{} - - [30/Nov/2026:08:00:00 +0800] "POST /v1/chat HTTP/1.1" 200 512 "-" "curl/8"\n'
NETWORKS = {
    "1.2.4.0/24": ("CN", "GD"),
    "1.2.5.0/24": ("CN", "BJ"),
    "1.2.6.0/24": ("CN", None),
    "8.8.8.0/24": ("US", "CA"),
    "5.5.5.0/24": ("AD", None),  # Andorra, which the catalog does not know
    "9.9.9.0/24": ("HK", None),
    "2001:200::/32": ("JP", None),
}
LOG = {
    "1.2.4.1": 40, "1.2.4.2": 10, "1.2.5.1": 25, "1.2.6.1": 15, "8.8.8.8": 5, "9.9.9.9": 3,
    "2001:200::1": 2, "5.5.5.5": 4, "10.0.0.7": 30, "100.64.0.9": 1, "7.7.7.7": 6,
    "not-an-address": 2,
}  # fmt: skip


def _database(folder: Path, networks: dict[str, tuple[str, str | None]] = NETWORKS) -> str:
    writer = MMDBWriter(ip_version=6, ipv4_compatible=True, database_type="GeoLite2-City")
    for network, (country, part) in networks.items():
        record: dict[str, object] = {"country": {"iso_code": country}}
        if part:
            record["subdivisions"] = [{"iso_code": part}]
        writer.insert_network(IPSet([network]), record)
    writer.to_db_file(str(folder / "city.mmdb"))
    return "city.mmdb"


def _log(folder: Path, name: str = "access.log", counts: dict[str, int] = LOG) -> str:
    lines = "".join(LINE.format(address) * count for address, count in counts.items())
    raw = lines.encode()
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return name


def _count(folder: Path, users: TabledUsersSpec | LoggedUsersSpec, said: list[str] | None = None):
    tell = (said if said is not None else []).append
    return count_users(users, CATALOG, root=folder, known=None, refresh=False, progress=tell)


def _logged(folder: Path, log: str = "access.log"):
    return _count(folder, LoggedUsersSpec(access_log=log, geoip="city.mmdb"))


@pytest.mark.parametrize("name", ["access.log", "access.log.1.gz"])
def test_a_log_is_counted_by_place_and_the_rest_is_told(name: str, tmp_path: Path) -> None:
    _database(tmp_path)
    _log(tmp_path, name)

    found = _logged(tmp_path, name)

    # 75 in Guangdong and Beijing, 15 of mainland China spread over them, 10 abroad.
    assert {row.where: round(row.share, 6) for row in found.shares} == {
        "CN-GD": 0.6, "CN-BJ": 0.3, "US": 0.05, "CN-HK": 0.03, "JP": 0.02,
    }  # fmt: skip
    assert found.counted == {
        "requests": 143, "located": 85, "unreadable": 2, "private": 31, "unknown": 6,
        "elsewhere": 4, "no province": 15,
    }  # fmt: skip
    assert sum(count for name, count in found.counted.items() if name != "requests") == 143
    assert any("AD 4" in line for line in found.told)


def test_no_address_is_in_what_is_kept(tmp_path: Path) -> None:
    _database(tmp_path)
    _log(tmp_path)

    kept = _logged(tmp_path).model_dump_json()

    assert not [address for address in LOG if address in kept]


def test_a_pattern_takes_all_logs_that_it_matches(tmp_path: Path) -> None:
    _database(tmp_path)
    _log(tmp_path, "access.log", {"1.2.4.1": 1})
    _log(tmp_path, "access.log.1.gz", {"1.2.5.1": 3})

    found = _logged(tmp_path, "access.log*")

    assert {row.where: row.share for row in found.shares} == {"CN-BJ": 0.75, "CN-GD": 0.25}


def test_many_addresses_are_counted_in_batches(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(log_reader, "_BATCH", 3)
    _database(tmp_path)
    _log(tmp_path)

    assert _logged(tmp_path).counted["located"] == 85


def test_a_long_log_tells_how_far_it_is(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(log_reader, "_QUIET_S", 0.0)
    monkeypatch.setattr(log_reader, "_EVERY", 10)
    said: list[str] = []
    _database(tmp_path)
    _log(tmp_path)

    _count(tmp_path, LoggedUsersSpec(access_log="access.log", geoip="city.mmdb"), said)

    assert said
    assert all(line.startswith("access log: ") for line in said)


def test_a_table_is_counted_by_its_column(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("where,requests\nCN-GD,30\nSG,60\nCN-GD,10\n")

    found = _count(tmp_path, TabledUsersSpec(csv="users.csv"))

    assert {row.where: row.share for row in found.shares} == {"SG": 0.6, "CN-GD": 0.4}
    users = locate_users(found.source, found, CATALOG)
    assert [(user.place.id, user.fraction) for user in users] == [("SG", 0.6), ("CN-GD", 0.4)]


BAD_TABLES = {
    "where,share\nCN-GD,60%\nSG,30%\n": "shares add up to 90%; needed 100%, or a column of users",
    "where,share\nCN-GD,0.6\nSG,0.4\n": "line 2: share: found '0.6'; needed a percentage",
    "where,users\nCN-GD,ten\n": "line 2: users: found 'ten'; needed a number, zero or more",
    "where,users\nCN-GD,nan\n": "line 2: users: found 'nan'; needed a number, zero or more",
    "where,users\nCN-XX,1\n": "line 2: where: found 'CN-XX', which the catalog does not know",
    "where,users\nHK,1\n": "found 'HK', which the catalog does not know; did you mean 'CN-HK'?",
    "where,users\nUS-CA,1\n": "'US-CA', which the catalog does not know; did you mean 'US'?",
    "where,users\nGuangdong,1\n": "which the catalog does not know; did you mean 'CN-GD'?",
    "where,users\nCN-GD,0\n": "found no users; needed at least one row with more than zero",
    "place,users\nCN-GD,1\n": "columns place, users; needed where, and one of share, users",
    "where,users,share\n": "found the columns where, users, share; needed where, and one of",
    "": "found the columns none; needed where",
}  # fmt: skip


@pytest.mark.parametrize(("content", "said"), BAD_TABLES.items())
def test_a_table_that_is_none_is_refused_in_one_line(
    content: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "users.csv").write_text(content)

    with pytest.raises(SpecError) as caught:
        _count(tmp_path, TabledUsersSpec(csv="users.csv"))

    assert str(caught.value).startswith("users.csv: users.csv")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("log", "networks", "said"),
    [
        (None, NETWORKS, "users.access_log: access.log: No such file"),
        (b"", NETWORKS, "found no line of the combined format in 0"),
        (b"hello\n", NETWORKS, "found no line of the combined format in 1"),
        (b"\x1f\x8bjunk", NETWORKS, "users.access_log: access.log: not a whole gzip file"),
        (LINE.format("10.1.2.3").encode(), NETWORKS, "found no address whose place is known in 1"),
        (LINE.format("1.2.4.1").encode(), {"1.2.4.0/24": ("CN", None)},
         "users.geoip: city.mmdb: found no province of any address in mainland China"),
        (LINE.format("1.2.4.1").encode(), None, "users.geoip: city.mmdb: No such file"),
    ],
)  # fmt: skip
def test_logs_that_say_nothing_are_refused_in_one_line(
    log: bytes | None, networks, said: str, tmp_path: Path
) -> None:
    if networks:
        _database(tmp_path, networks)
    if log is not None:
        (tmp_path / "access.log").write_bytes(log)

    with pytest.raises(SpecError) as caught:
        _logged(tmp_path)

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "city.mmdb").write_bytes(b"not a database")
    _log(tmp_path)

    with pytest.raises(SpecError, match=r"^users\.geoip: city\.mmdb: .*needed a MaxMind database"):
        _logged(tmp_path)


def test_a_pattern_that_matches_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^users\.access_log: logs/\*: found no file; needed "):
        _logged(tmp_path, "logs/*")


SPEC = """\
apiVersion: warmfleet/v1
name: own
models:
  - {name: chat, source: {hf: Qwen/Qwen2.5-7B-Instruct}, task: chat, context: 4k, max_output: 512}
traffic:
  callers:
    - {name: app, peak_qps: 1, prompt_tokens: 500, output_tokens: 200, stream: true}
users: {access_log: access.log, geoip: city.mmdb}
placement: {kind: baremetal}
"""


def test_the_lock_answers_when_the_log_is_gone_until_it_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: warmfleet\n")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "own.yaml").write_text(SPEC)
    _database(tmp_path)
    _log(tmp_path)
    project = Project(tmp_path)
    first = plan_environment(project, "own")
    write_lock(first, project.plan_file("own"))
    (tmp_path / "access.log").unlink()

    assert dump_plan(check_any_lock(project, "own")) == dump_plan(first)
    counted = next(row for row in first.decisions if row.field.startswith("counted_users."))
    assert (counted.field, counted.value) == ("counted_users.counted.requests", 143)
    assert "31 (21.68%) come from addresses that are not of the internet" in counted.reason
    with pytest.raises(SpecError, match=r"own\.yaml:8: users\.access_log: "):
        plan_environment(project, "own", refresh=True)
    _log(tmp_path, counts={"8.8.8.8": 9})
    again = plan_environment(project, "own", refresh=True)
    assert [row.where for row in again.counted_users.shares] == ["US"]
    assert (first.sites[0].icp_filing, again.sites[0].icp_filing) == (True, False)


@pytest.mark.parametrize(
    ("users", "said"),
    [
        ("{access_log: a.log}", "users.geoip: missing"),
        ("{csv: a.csv, geoip: b.mmdb}", "users.geoip: "),
        ("{file: a.csv}", "users.csv: missing"),
        ("{csv: 5}", "users.csv: found 5; needed text"),
        ("[]", "users: found an empty list; needed at least 1 entry"),
        ("5", "users: found 5; needed "),
    ],
)
def test_a_source_that_is_none_is_refused(users: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(SPEC.replace("{access_log: access.log, geoip: city.mmdb}", users))

    with pytest.raises(SpecError) as caught:
        load_spec(path)

    assert any(line.partition(":8: ")[2].startswith(said) for line in str(caught.value).split("\n"))
