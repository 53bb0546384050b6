import hashlib

from testinfra.host import Host

CHAT = "/srv/warmfleet/models/chat"


def test_current_points_to_the_verified_revision(host: Host) -> None:
    revision = host.file(f"{CHAT}/current").linked_to.rsplit("/", 1)[-1]
    weights = host.file(f"{CHAT}/current/tiny.gguf")
    digest = hashlib.sha256(weights.content).hexdigest()
    assert digest.startswith(revision)
    assert host.file(f"{CHAT}/{revision}/.verified").content_string.split()[0] == digest


def test_the_link_is_relative_so_that_the_folder_can_move(host: Host) -> None:
    assert "/" not in host.check_output(f"readlink {CHAT}/current")


def test_weights_are_for_the_group_alone(host: Host) -> None:
    weights = host.file(f"{CHAT}/current/tiny.gguf")
    assert (weights.user, weights.group, weights.mode) == ("root", "warmfleet", 0o640)
    folder = host.file("/srv/warmfleet/models")
    assert (folder.user, folder.group, folder.mode) == ("root", "warmfleet", 0o750)


def test_nothing_is_left_aside(host: Host) -> None:
    names = host.check_output(f"ls -A {CHAT}").split()
    assert len(names) == 2
    assert "current" in names
    assert host.check_output("ls -A /srv/warmfleet/models").split() == ["chat"]
