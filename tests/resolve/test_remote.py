"""Facts of weights on a hub, behind a URL, in a bucket and in a folder, all of them small."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.resolve.weights_content import (
    CONFIG,
    PARAMETERS,
    gguf_model,
    repository,
    safetensors,
)
from tests.resolve.weights_server import WeightsServer
from warmfleet.catalog.load import load_catalog
from warmfleet.errors import SourceError, SpecError
from warmfleet.resolve.model_facts import FileFacts, ModelFacts
from warmfleet.resolve.model_source import resolve_model
from warmfleet.spec.sources import (
    HubSourceSpec,
    PathSourceSpec,
    S3SourceSpec,
    SourceSpec,
    UrlSourceSpec,
)

AT = "models[0].source"
HUB = HubSourceSpec(hf="acme/tiny-llama")
PLACE = "/acme/tiny-llama/resolve/main"
SIZES = [len(content) for name, content in repository().items() if name.endswith("safetensors")]


def _resolve(source: SourceSpec, root: Path = Path(), *, refresh: bool = False) -> ModelFacts:
    return resolve_model(AT, source, load_catalog(), root=root, known=(), refresh=refresh)


def _serve(server: WeightsServer, place: str, files: dict[str, bytes]) -> None:
    server.files |= {f"{place}/{name}": content for name, content in files.items()}


def _must_be_tiny(found: ModelFacts) -> None:
    assert found.architecture.parameters == PARAMETERS
    assert found.tensor_bytes == 2 * PARAMETERS
    assert (found.format, found.precision) == ("safetensors", "bf16")
    assert found.size_bytes == sum(SIZES)


@pytest.fixture
def hub(server: WeightsServer, monkeypatch: pytest.MonkeyPatch) -> WeightsServer:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    return server


def test_a_repository_of_the_hub(hub: WeightsServer) -> None:
    _serve(hub, PLACE, repository())
    hub.headers |= {"X-Linked-Etag": f'"{"a" * 64}"', "X-Repo-Commit": "b" * 40}

    found = _resolve(HUB)

    _must_be_tiny(found)
    assert (found.name, found.revision) == ("acme/tiny-llama", "b" * 40)
    assert found.files == tuple(
        FileFacts(path=f"model-0000{part}-of-00002.safetensors", size_bytes=size, sha256="a" * 64)
        for part, size in enumerate(SIZES, start=1)
    )
    assert found.found_in == {
        "architecture": "config.json",
        "parameters": "headers of the weights",
        "precision": "config.json",
        "files": "headers of the weights",
    }
    assert ModelFacts.model_validate(found.model_dump(mode="json")) == found


def test_a_long_header_is_read_in_two_parts(hub: WeightsServer) -> None:
    files = repository(pad=300_000)
    _serve(hub, PLACE, files)

    assert _resolve(HUB).architecture.parameters == PARAMETERS


def test_a_revision_with_a_slash_is_one_part_of_the_address(hub: WeightsServer) -> None:
    _serve(hub, "/acme/tiny-llama/resolve/refs%2Fpr%2F1", repository())

    _must_be_tiny(_resolve(HUB.model_copy(update={"revision": "refs/pr/1"})))


@pytest.mark.parametrize("kept", ["variable", "file"])
def test_a_token_is_sent_to_the_hub_and_kept_nowhere(
    hub: WeightsServer,
    kept: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    _serve(hub, PLACE, repository())
    if kept == "variable":
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
    else:
        (tmp_path / "token").write_text("hf_secret\n")
        monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))

    found = _resolve(HUB)

    assert {request.headers["Authorization"] for request in hub.requests} == {"Bearer hf_secret"}
    assert "hf_secret" not in caplog.text + found.model_dump_json()


def test_a_mirror_gets_no_token(server: WeightsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    _serve(server, f"/hub{PLACE}", repository())

    _must_be_tiny(_resolve(HUB.model_copy(update={"mirror": f"{server.url}/hub/"})))

    assert all("Authorization" not in request.headers for request in server.requests)


def test_only_heads_travel(hub: WeightsServer) -> None:
    large = safetensors({"model.embed_tokens.weight": [1_000_000, 8]})
    _serve(hub, PLACE, {"config.json": repository()["config.json"], "model.safetensors": large})

    assert _resolve(HUB).size_bytes == len(large) > 16_000_000
    assert hub.sent < 300_000


def test_a_gguf_file_of_the_hub(hub: WeightsServer) -> None:
    content = gguf_model(tokens=100_000)
    _serve(hub, PLACE, {"q/tiny.Q4_1.gguf": content})

    found = _resolve(HUB.model_copy(update={"file": "q/tiny.Q4_1.gguf"}))

    assert (found.format, found.precision, found.name) == ("gguf", "q4_1", "acme/tiny-llama")
    assert (found.architecture.layers, found.architecture.max_context) == (2, 128)
    assert found.files == (FileFacts(path="q/tiny.Q4_1.gguf", size_bytes=len(content)),)


def test_a_folder_behind_a_url(server: WeightsServer) -> None:
    _serve(server, "/models/tiny", repository())

    found = _resolve(UrlSourceSpec(url=f"{server.url}/models/tiny/"))

    _must_be_tiny(found)
    assert found.name == "tiny"


def test_a_file_behind_a_url(server: WeightsServer) -> None:
    _serve(server, "/models", {"tiny.gguf": gguf_model()})

    assert _resolve(UrlSourceSpec(url=f"{server.url}/models/tiny.gguf")).precision == "q4_1"


def test_a_bucket(
    server: WeightsServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "verysecret")
    _serve(server, "/weights/llms/tiny", repository())

    found = _resolve(S3SourceSpec(s3="s3://weights/llms/tiny", endpoint=server.url, region="eu-1"))

    _must_be_tiny(found)
    signed = {request.headers["authorization"] for request in server.requests}
    assert all("AKIAEXAMPLE" in sign and "/eu-1/s3/aws4_request" in sign for sign in signed)
    assert "verysecret" not in caplog.text + found.model_dump_json()


def test_a_public_bucket_by_the_environment(
    server: WeightsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    _serve(server, "/weights", {"tiny.gguf": gguf_model()})

    assert _resolve(S3SourceSpec(s3="s3://weights/tiny.gguf")).precision == "q4_1"
    assert all("authorization" not in request.headers for request in server.requests)


@pytest.mark.parametrize(
    ("status", "said"),
    [(403, "Server returned non-2xx status code: 403 Forbidden"), (None, "error sending request")],
)
def test_a_bucket_that_cannot_be_read_is_told_without_the_servers_page(
    server: WeightsServer, monkeypatch: pytest.MonkeyPatch, status: int | None, said: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "verysecret")
    page = b"<Error><AWSAccessKeyId>AKIAEXAMPLE</AWSAccessKeyId></Error>"

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status or 500)
        handler.send_header("Content-Length", str(len(page)))
        handler.end_headers()
        handler.wfile.write(page)

    server.answers["/weights/tiny/config.json"] = answer
    if status is None:
        server.stop()

    with pytest.raises(SourceError) as caught:
        _resolve(S3SourceSpec(s3="s3://weights/tiny", endpoint=server.url))

    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{AT}: s3://weights/tiny: ")
    assert "AKIA" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_of_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    for name, content in repository().items():
        (folder / name).write_bytes(content)

    _must_be_tiny(_resolve(PathSourceSpec(path="tiny"), tmp_path))


def test_a_file_of_this_machine_has_its_hash(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").write_bytes(gguf_model())

    found = _resolve(PathSourceSpec(path="own.gguf"), tmp_path)

    assert found.name == "Tiny"
    assert found.files[0].sha256 is not None
    assert found.size_bytes == len(gguf_model())


def test_weights_for_pytorch_are_sized_and_not_opened(hub: WeightsServer) -> None:
    config = json.dumps(CONFIG | {"torch_dtype": "float16"}).encode()
    _serve(hub, PLACE, {"config.json": config, "pytorch_model.bin": b"\x80\x02" * 500})

    found = _resolve(HUB)

    assert (found.format, found.size_bytes, found.precision) == ("pytorch", 1000, "fp16")
    assert found.architecture.parameters == PARAMETERS


def _changed(name: str, content: bytes | None) -> dict[str, bytes]:
    files = repository()
    if content is None:
        del files[name]
    else:
        files[name] = content
    return files


FIRST = "model-00001-of-00002.safetensors"


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}
INDEX = "model.safetensors.index.json"
OR_A_FILE = "needed weights with config.json, or a .gguf file by its name"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, f"found no URL/config.json; {OR_A_FILE}"),
        (
            _changed("config.json", b"<html>"),
            "config.json: not JSON: Expecting value (line 1, column 1)",
        ),
        (
            _changed("config.json", b'{"model_type": "llama"}'),
            "config.json: num_hidden_layers: missing; needed a whole number above zero (or "
            "n_layer, n_layers, num_layers)",
        ),
        (
            _changed(INDEX, b'{"weight_map": {"a": "../x"}}'),
            f"{INDEX}: weight_map.a: found '../x'; needed a file beside the index",
        ),
        (_changed(FIRST, None), f"found no URL/{FIRST}; {OR_A_FILE}"),
        (
            _changed(FIRST, LFS),
            f"{FIRST}: found a header of {int.from_bytes(LFS[:8], 'little')} bytes; needed 2 to "
            f"{len(LFS) - 8} (a safetensors file)",
        ),
        (
            _changed(FIRST, repository()[FIRST][:-1]),
            f"{FIRST}: found 1679 bytes of data; needed 1680, as the header says",
        ),
        (_changed(FIRST, b""), f"{FIRST}: found a file of 0 bytes; needed a safetensors file"),
        (
            _changed(FIRST, safetensors({"other": [1]})),
            f"{INDEX}: found model.embed_tokens.weight in {FIRST}, which has no such tensor; "
            "needed files and index of one model",
        ),
        (
            _changed("config.json", json.dumps(CONFIG | {"num_hidden_layers": 3}).encode()),
            "config.json: num_hidden_layers: found 3, but the weights have 2 layers; needed both "
            "of one model",
        ),
        (
            _changed("config.json", json.dumps(CONFIG | {"quantization_config": AWQ}).encode()),
            "config.json: quantization_config: found awq, but the weights are not packed; needed "
            "both of one model",
        ),
        (
            {
                "config.json": repository()["config.json"],
                "model.safetensors": repository()[FIRST].replace(b'"BF16"', b'"I16" '),
            },
            "config.json: quantization_config: missing, but the weights are packed; needed both "
            "of one model",
        ),
        (
            {"config.json": repository()["config.json"]},
            "found config.json and no weights; needed model.safetensors, or the name of a GGUF "
            "file",
        ),
    ],
)
def test_a_wrong_repository_is_told_in_full(
    hub: WeightsServer, files: dict[str, bytes], said: str
) -> None:
    _serve(hub, PLACE, files)

    with pytest.raises(SpecError) as caught:
        _resolve(HUB)

    assert str(caught.value) == f"{AT}: {said}".replace("URL", f"{hub.url}{PLACE}")


@pytest.fixture
def nobody(hub: WeightsServer) -> None:
    hub.stop()


@pytest.mark.usefixtures("nobody")
def test_without_a_network_the_catalog_answers_and_says_so() -> None:
    repack = HubSourceSpec(hf="acme/Qwen2.5-7B-Instruct-AWQ")

    found = _resolve(repack)

    assert (found.precision, found.files) == ("awq", ())
    assert found.architecture.parameters == 7_615_616_512
    assert found.found_in["architecture"].startswith("catalog (not reached: http://127.0.0.1:")
    asked_again = _resolve(HubSourceSpec(hf="Qwen/Qwen2.5-7B-Instruct"), refresh=True)
    assert asked_again.found_in["precision"].startswith("catalog (not reached: ")


@pytest.mark.usefixtures("nobody")
def test_without_a_network_a_model_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(SourceError) as caught:
        _resolve(HUB)

    said = str(caught.value)
    assert said.startswith(f"{AT}: http://127.0.0.1:")
    assert said.endswith("(3 tries); needed a source that can be read (HF_TOKEN, AWS_*: who asks)")
    assert "\n" not in said


@pytest.mark.usefixtures("hub")
def test_a_repository_that_is_not_there_gets_the_nearest_name() -> None:
    with pytest.raises(SpecError, match=r"; did you mean 'Qwen/Qwen2\.5-7B-Instruct'\?$"):
        _resolve(HubSourceSpec(hf="Qwen/Qwen2.5-7B-Instrct"))


def test_nobody_is_asked_when_the_hubs_own_switch_says_so(
    hub: WeightsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    found = _resolve(HubSourceSpec(hf="acme/Qwen2.5-7B-Instruct-GGUF"))

    assert (found.format, hub.requests) == ("gguf", [])
    assert "HF_HUB_OFFLINE is set" in found.found_in["architecture"]
