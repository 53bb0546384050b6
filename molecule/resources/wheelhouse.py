"""Write the wheelhouse of this checkout as JSON: ``python wheelhouse.py FILE``."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from warmfleet.converge.wheelhouse import ensure_wheelhouse
from warmfleet.project import Project

project = Project(Path(__file__).resolve().parents[2] / "stacks")
wheelhouse = ensure_wheelhouse(project, lambda line: print(line, file=sys.stderr))  # noqa: T201
Path(sys.argv[1]).write_text(json.dumps(asdict(wheelhouse), default=str))
