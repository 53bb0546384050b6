from testinfra.host import Host

CHAT = "/srv/warmfleet/models/chat"


def test_current_moved_to_the_second_revision(host: Host) -> None:
    assert "second revision" in host.check_output(f"head -c 40 {CHAT}/current/tiny.gguf")


def test_the_first_revision_stays_for_the_way_back(host: Host) -> None:
    revisions = [name for name in host.check_output(f"ls -A {CHAT}").split() if name != "current"]
    assert len(revisions) == 2
    for revision in revisions:
        assert host.file(f"{CHAT}/{revision}/.verified").exists


def test_the_other_model_stands_beside_it(host: Host) -> None:
    summary = host.check_output("head -c 40 /srv/warmfleet/models/summary/current/tiny.gguf")
    assert "first revision" in summary


def test_the_other_root_has_the_other_group(host: Host) -> None:
    weights = host.file("/srv/other/models/chat/current/tiny.gguf")
    assert (weights.group, weights.mode) == ("daemon", 0o640)
