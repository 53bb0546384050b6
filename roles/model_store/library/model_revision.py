#!/usr/bin/python
"""Inspect and publish verified model revisions: ROOT/NAME/REVISION/FILE and ROOT/NAME/current."""

import grp
import hashlib
import os
import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: model_revision
short_description: Inspect and publish verified model revisions
description:
  - A revision is visible only once its file was read back from this disk with the right SHA-256.
  - Its C(.verified) marker holds that SHA-256, and size and time of change of the file, so that
    neither later runs nor the service need to read the weights to know that they are the same.
options:
  root: {description: Folder of all models., type: path, required: true}
  action:
    description:
      - C(inspect) only reads. What lies aside counts as free: it is the copy, or makes room for it.
      - C(sweep) removes what copies that were cut off left.
      - C(publish) verifies what was copied and makes it visible.
    type: str
    choices: [inspect, sweep, publish]
    required: true
  models:
    description: Models with name, revision, file_name, sha256 and size_bytes.
    type: list
    elements: dict
    required: true
  group: {description: Group that may read the published files., type: str}
author: [The Warmfleet authors]
"""

MARKER = ".verified"
CHUNK_BYTES = 4 * 1024 * 1024


class RevisionError(Exception):
    """A revision cannot be published; the message names what was found and what is needed."""


class Revision:
    """One version of one model below ``root``."""

    def __init__(self, root: Path, model: dict):
        self.model = model
        self.file_name = model["file_name"]
        self.sha256 = model["sha256"]
        self.size_bytes = int(model["size_bytes"])
        self.folder = root / model["name"] / model["revision"]
        self.staging = self.folder.with_name(f".staging-{model['revision']}")
        self.link = self.folder.with_name("current")

    def is_verified(self) -> bool:
        """Return whether the marker is of this SHA-256 and of the file as it is now."""
        try:
            marked = (self.folder / MARKER).read_text()
            status = (self.folder / self.file_name).stat()
        except OSError:
            return False
        return marked == self._stamp(status) and status.st_size == self.size_bytes

    def is_current(self) -> bool:
        """Return whether ``current`` points to this revision and it is verified."""
        points_here = self.link.is_symlink() and os.readlink(self.link) == self.folder.name
        return points_here and self.is_verified()

    def staged(self) -> dict[Path, int]:
        """Return sizes of what lies aside, in bytes: the whole copy, or what is left of others.

        Others are of any revision of the model: the one that is wanted may have changed since.
        """
        folders = [path for path in self.folder.parent.glob(".staging-*") if path.is_dir()]
        return {path: path.stat().st_size for folder in folders for path in folder.iterdir()}

    def drafts(self) -> list[Path]:
        """Return what copies that were cut off left."""
        whole = (self.staging / self.file_name, self.size_bytes)
        return [path for path, size in self.staged().items() if (path, size) != whole]

    def sweep(self) -> None:
        """Remove them."""
        for draft in self.drafts():
            draft.unlink()
            if draft.parent != self.staging and not any(draft.parent.iterdir()):
                draft.parent.rmdir()

    def publish(self, gid: int) -> None:
        """Verify the copy in the staging folder and rename that folder to the revision's name.

        Raises:
            RevisionError: the copy is missing, or its size, format or SHA-256 is wrong. The copy is
                removed then: it would only be in the way of the next one.
        """
        copy = self.staging / self.file_name
        try:
            self._verify(copy)
        except RevisionError:
            shutil.rmtree(self.staging, ignore_errors=True)
            raise
        marker = self.staging / MARKER
        marker.write_text(self._stamp(copy.stat()))
        for path, mode in ((copy, 0o640), (marker, 0o640), (self.staging, 0o750)):
            os.chown(path, -1, gid)
            path.chmod(mode)
        _flush(copy, marker, self.staging)
        if self.folder.exists():
            # Present but not verified: its marker or file was tampered with. An engine that runs
            # keeps the file it has open.
            shutil.rmtree(self.folder)
        self.staging.rename(self.folder)
        _flush(self.folder.parent)

    def make_current(self) -> None:
        """Point ``current`` here by a rename: a reader sees the old target or the new one."""
        draft = self.link.with_name(".current-new")
        draft.unlink(missing_ok=True)
        draft.symlink_to(self.folder.name)
        draft.rename(self.link)
        _flush(self.link.parent)

    def _stamp(self, status: os.stat_result) -> str:
        return f"{self.sha256} {status.st_size} {status.st_mtime_ns}\n"

    def _verify(self, path: Path) -> None:
        what = f"{self.model['name']} {self.model['revision']}, {self.file_name}"
        again = "; nothing was published; check source, size_bytes and sha256 in model_store_models"
        if not path.is_file():
            raise RevisionError(f"{what}: found no copy at {path}; needed: the file{again}")
        size = path.stat().st_size
        if size != self.size_bytes:
            raise RevisionError(f"{what}: found {size} bytes; needed: {self.size_bytes}{again}")
        if not _has_safe_format(path):
            raise RevisionError(
                f"{what}: found no GGUF or safetensors header; needed: one of them{again}"
            )
        found = _sha256(path)
        if found != self.sha256:
            raise RevisionError(f"{what}: found sha256 {found}; needed: {self.sha256}{again}")


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "required": True},
            "action": {"type": "str", "choices": ["inspect", "sweep", "publish"], "required": True},
            "models": {"type": "list", "elements": "dict", "required": True},
            "group": {"type": "str"},
        },
        required_if=[("action", "publish", ["group"])],
        supports_check_mode=True,
    )
    root = Path(module.params["root"])
    revisions = [Revision(root, model) for model in module.params["models"]]
    before = _report(revisions)
    pending = [revision for revision in revisions if not revision.is_current()]
    drafts = [draft for revision in revisions for draft in revision.drafts()]
    if module.params["action"] == "sweep":
        for revision in revisions if not module.check_mode else ():
            revision.sweep()
        module.exit_json(changed=bool(drafts))
    changed = module.params["action"] == "publish" and bool(pending)
    if changed and not module.check_mode:
        try:
            gid = grp.getgrnam(module.params["group"]).gr_gid
            for revision in pending:
                if not revision.is_verified():
                    revision.publish(gid)
                revision.make_current()
        except KeyError:
            module.fail_json(
                msg=f"found no group {module.params['group']}; needed: the one named by "
                "model_store_group; run host_baseline first"
            )
        except (RevisionError, OSError) as error:
            module.fail_json(msg=str(error))
    module.exit_json(
        changed=changed,
        revisions=before if module.check_mode else _report(revisions),
        # What lies aside is the copy, or makes room for it.
        free_bytes=_free_bytes(root) + sum(sum(each.staged().values()) for each in pending),
    )


def _report(revisions):
    return [
        {
            "folder": str(revision.folder),
            "staging": str(revision.staging),
            "verified": revision.is_verified(),
            "current": revision.is_current(),
        }
        for revision in revisions
    ]


def _free_bytes(path: Path) -> int:
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def _has_safe_format(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(9)
    if path.suffix == ".gguf":
        return head.startswith(b"GGUF")
    # safetensors: the length of a JSON header as eight bytes, then the header.
    header_bytes = int.from_bytes(head[:8], "little")
    return head[8:] == b"{" and 0 < header_bytes <= path.stat().st_size - 8


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _flush(*paths: Path) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


if __name__ == "__main__":
    main()
