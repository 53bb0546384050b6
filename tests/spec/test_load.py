from pathlib import Path

import pytest
from pydantic import ValidationError

from inference_app.problems import nearest
from warmfleet.errors import SpecError
from warmfleet.spec.document import read_document
from warmfleet.spec.load import load_spec, located, parse_spec
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.placement import BaremetalPlacement

BASE = Path(__file__).parent / "cases" / "base.yaml"


def test_a_spec_cannot_be_changed() -> None:
    spec = load_spec(BASE)

    with pytest.raises(ValidationError, match="frozen"):
        spec.name = "other"


def test_defaults_are_filled() -> None:
    spec = load_spec(BASE)

    assert spec.slo.first_request.factor == 1.2
    assert spec.models[0].precision == "auto"
    assert spec.models[0].engine.kind == "auto"


@pytest.mark.parametrize("written", ["fake", "{kind: fake}", "{kind: fake, options: {speed: 9}}"])
def test_an_engine_is_a_name_or_a_mapping(written: str, tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(BASE.read_text().replace("task: chat", f"task: chat\n    engine: {written}"))

    engine = load_spec(path).models[0].engine

    assert engine.kind == "fake"
    assert engine.options == ({"speed": 9} if "speed" in written else {})


def test_yaml_that_means_something_else_in_yaml_1_1_is_text(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text("a: 22:30\nb: 2026-11-30\nc: 010\nd: yes\ne: 1_000\nf: 0x10\n")

    assert read_document(path).value == {
        "a": "22:30", "b": "2026-11-30", "c": "010", "d": "yes", "e": "1_000", "f": "0x10",
    }  # fmt: skip


def test_anchors_and_merges_work(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    text = BASE.read_text()
    text = text.replace("- {name: web,", "- &web {name: web,")
    batch = text[text.index("    - {name: batch") : text.index("users:")]
    path.write_text(text.replace(batch, "    - {<<: *web, name: other, stream: false}\n"))

    web, other = load_spec(path).traffic.callers

    assert (web.stream, other.stream) == (True, False)
    assert other.prompt_tokens == web.prompt_tokens


def test_located_finds_the_line_of_a_field() -> None:
    document = read_document(BASE)

    assert located(document, "users[1].where: found 'X'").startswith(f"{BASE}:15: users[1].where:")
    assert located(document, "traffic.callers: too much").startswith(f"{BASE}:10: ")


def test_nearest_names_what_is_alike_and_nothing_else() -> None:
    assert nearest("GUANGZHOU", ["guangzhou", "hangzhou"]) == "; did you mean 'guangzhou'?"
    assert nearest("x", ["guangzhou"]) == ""


def test_a_dumped_spec_loads_to_the_same() -> None:
    spec = load_spec(BASE)

    assert FleetSpec.model_validate_json(spec.model_dump_json()) == spec


def test_errors_are_spec_errors_for_parsed_documents_too() -> None:
    document = read_document(BASE)
    document.value["name"] = 5

    with pytest.raises(SpecError, match="2: name: found 5; needed text"):
        parse_spec(document)


def test_a_spec_that_is_all_brackets_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("[" * 3000)
    with pytest.raises(SpecError, match=r"deep\.yaml: nested too deeply; needed a spec") as caught:
        load_spec(path)
    assert "\n" not in str(caught.value)


def test_a_thousand_leased_servers_are_read_and_an_error_in_them_is_placed(tmp_path: Path) -> None:
    servers = "".join(
        f"    - {{name: gpu-{number}, address: 10.1.{number // 250}.{number % 250 + 1},\n"
        f"       host_key: SHA256:{'a' * 43}, ssh: {{user: ops, become: true}},\n"
        f"       contract: {{gpu: 1 x RTX 4090, ram: 64 GB, nvme: [{{size: 500 GB}}]}}}}\n"
        for number in range(1000)
    )
    text, _, _ = BASE.read_text().partition("placement:")
    path = tmp_path / "test.yaml"
    path.write_text(f"{text}placement:\n  kind: baremetal\n  servers:\n{servers}")

    spec = load_spec(path)

    assert isinstance(spec.placement, BaremetalPlacement)
    assert len(spec.placement.servers) == 1000
    lines = path.read_text().splitlines()
    broken = next(index for index, line in enumerate(lines) if "gpu-998," in line)
    lines[broken] = lines[broken].replace("10.1.3", "10.1")
    path.write_text("\n".join(lines))
    with pytest.raises(SpecError, match=rf":{broken + 1}: placement.servers\[998\].address: found"):
        load_spec(path)
