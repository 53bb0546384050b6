"""A project: the folder with ``Pulumi.yaml``, its specs and plans, and its private state."""

import contextlib
import os
import re
import secrets
from pathlib import Path

from msgspec import Struct

from warmfleet.errors import ProjectNotFoundError
from warmfleet.private_files import private_folder, write_private_once

__all__ = ["PROJECT_VARIABLE", "Project"]

PROJECT_VARIABLE = "WARMFLEET_PROJECT"
"""Names the project folder when it is neither the current folder nor ``./stacks``."""

_ENVIRONMENT_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


class Project(Struct, frozen=True):
    """Paths of one project; ``root`` is the folder with ``Pulumi.yaml``."""

    root: Path

    @classmethod
    def find(cls) -> "Project":
        """Return the project of ``WARMFLEET_PROJECT``, else of the current folder or ``./stacks``.

        Raises:
            ProjectNotFoundError: none of them has a ``Pulumi.yaml``.
        """
        named = os.environ.get(PROJECT_VARIABLE)
        candidates = [Path(named)] if named else [Path.cwd(), Path.cwd() / "stacks"]
        for folder in candidates:
            with contextlib.suppress(OSError):  # of a name that no file system takes
                if (folder / "Pulumi.yaml").is_file():
                    return cls(folder.resolve())
        looked = ", ".join(str(folder) for folder in candidates)
        msg = f"no Pulumi.yaml in {looked}; run in a project folder or set {PROJECT_VARIABLE}"
        raise ProjectNotFoundError(msg)

    def spec_file(self, environment: str) -> Path:
        """Return ``specs/ENV.yaml``; ProjectNotFoundError names the environments there are."""
        folder = self.root / "specs"
        path = folder / f"{environment}.yaml"
        if _ENVIRONMENT_NAME.fullmatch(environment) and path.is_file():
            return path
        from inference_app.problems import nearest, shown  # pydantic: help must not wait for it

        known = self.environments()
        hint = nearest(environment, known) or f" (environments: {', '.join(known) or 'none'})"
        msg = f"no environment {shown(environment)} in {folder}{hint}"
        raise ProjectNotFoundError(msg)

    def plan_file(self, environment: str) -> Path:
        """Return ``plans/ENV.json``, the lock, whether it exists or not."""
        return self.root / "plans" / f"{environment}.json"

    def environments(self) -> list[str]:
        """Return the names of all environments that have a spec."""
        return sorted(
            path.stem
            for path in (self.root / "specs").glob("*.yaml")
            if _ENVIRONMENT_NAME.fullmatch(path.stem) and path.is_file()
        )

    @property
    def state(self) -> Path:
        """Private folder (mode 0700) for what must not be committed; made when missing."""
        return private_folder(self.root / ".warmfleet")

    def environment_state(self, environment: str) -> Path:
        """Private folder of one environment: keys, certificates, logs."""
        return private_folder(self.state / environment)

    def pulumi_environment(self) -> dict[str, str]:
        """Return the variables that every ``pulumi`` command of this project needs.

        A backend or passphrase that the caller's environment already names wins: teams keep their
        state elsewhere. Otherwise the state is files in the private folder, encrypted with a
        passphrase that is made once.
        """
        # Beside each file the backend would keep one of its attributes, which nobody needs and
        # which it does not write in one step: cut short by a kill, the state is not read any more.
        backend = f"file://{private_folder(self.state / 'backend')}?metadata=skip"
        wanted = {
            "PULUMI_HOME": str(private_folder(self.state / "pulumi")),
            "PULUMI_BACKEND_URL": backend,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        if "PULUMI_CONFIG_PASSPHRASE" not in os.environ:
            wanted["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(self._passphrase_file())
        variables = {name: os.environ.get(name, value) for name, value in wanted.items()}
        # Never the caller's: its environment may name another project than this one.
        return variables | {PROJECT_VARIABLE: str(self.root)}

    def _passphrase_file(self) -> Path:
        path = self.state / "passphrase"
        if not path.exists():
            write_private_once(path, secrets.token_urlsafe(32))
        return path
