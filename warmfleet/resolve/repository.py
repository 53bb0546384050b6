"""Facts of the weights in a folder of files: config.json and the headers of the weights."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from msgspec import Struct

from inference_app.problems import read_json
from warmfleet.resolve.hf_config import TensorCounts, parse_config
from warmfleet.resolve.model_facts import FileFacts
from warmfleet.resolve.quantization import UNSTATED, WeightsPrecision
from warmfleet.resolve.safetensors import (
    HEAD_BYTES,
    Tensor,
    header_bytes,
    parse_header,
    parse_index,
)
from warmfleet.resolve.source_facts import SourceFacts, file_facts, named
from warmfleet.resolve.store import Chunk, SourceMissingError, Store
from warmfleet.resolve.tensor_counts import Counted, count_tensors

__all__ = ["read_repository"]

_CONFIG: Final = "config.json"
_SINGLE: Final = "model.safetensors"
_INDEX: Final = "model.safetensors.index.json"
_PYTORCH: Final = "pytorch_model.bin"
_HEADERS: Final = "headers of the weights"

_UNPACKED: Final = {"bf16", "fp16", "fp32"}
_ONE_BYTE: Final = {"fp8", "int8", "experts_int8"}
"""A value of these is a parameter too."""

_CONFIG_BYTES: Final = 4 * 1024 * 1024
_INDEX_BYTES: Final = 64 * 1024 * 1024
_FIRST_BYTES: Final = 256 * 1024
"""Holds the headers of most files whole."""

_AT_A_TIME: Final = 8


def read_repository(store: Store, file: str = "") -> SourceFacts:
    """Read config.json and the headers of all files of weights, or of the one that is named.

    Raises:
        SourceMissingError, SourceUnreachableError: as the store says.
        ValueError: a file is wrong, or there are no weights; its path is named.
    """
    raw = _whole(store, _CONFIG, _CONFIG_BYTES)
    with named(_CONFIG):
        config = read_json(raw.data)
    names = {file: set[str]()} if file else _weights(store)
    if names is None:
        return _pytorch(store, config, raw.revision)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        headers = list(pool.map(lambda name: _header(store, name), sorted(names)))
    _must_agree(names, headers)
    tensors = [tensor for header in headers for tensor in header.tensors]
    counted: list[Counted] = []

    def count(layers: int, tied: bool) -> TensorCounts | None:
        counted.append(count_tensors(tensors, layers=layers, tied=tied))
        return counted[0].counts

    with named(_CONFIG):
        found = parse_config(config, count)
    stated, measured = found.precision, counted[0]
    _must_be_packed_as_said(stated, measured)
    if 0 < measured.layers < found.architecture.layers:
        msg = (
            f"{_CONFIG}: num_hidden_layers: found {found.architecture.layers}, but the weights "
            f"have {measured.layers} layers; needed both of one model"
        )
        raise ValueError(msg)
    return SourceFacts(
        format="safetensors",
        architecture=found.architecture,
        precision=stated.id if stated else measured.precision or UNSTATED,
        files=tuple(header.file for header in headers),
        group_size=stated.group_size if stated else None,
        tensor_bytes=measured.size_bytes,
        revision=raw.revision,
        found_in={
            "architecture": _CONFIG,
            "parameters": _HEADERS if measured.counts else f"shape in {_CONFIG}",
            "precision": _CONFIG if stated or not measured.precision else _HEADERS,
            "files": _HEADERS,
        },
    )


class _Header(Struct, frozen=True):
    file: FileFacts
    tensors: list[Tensor]


def _weights(store: Store) -> dict[str, set[str]] | None:
    """Return the tensors of each file by the index, none of a single file; None: no safetensors."""
    try:
        raw = _whole(store, _INDEX, _INDEX_BYTES).data
    except SourceMissingError:
        return {_SINGLE: set()} if _is_there(store, _SINGLE) else None
    with named(_INDEX):
        return parse_index(raw)


def _pytorch(store: Store, config: Any, revision: str | None) -> SourceFacts:
    """Size weights in PyTorch's own format, which is not opened: it may run code."""
    try:
        raw = _whole(store, f"{_PYTORCH}.index.json", _INDEX_BYTES).data
        with named(f"{_PYTORCH}.index.json"):
            names = sorted(parse_index(raw))
    except SourceMissingError:
        names = [_PYTORCH]
    try:
        files = [(name, store.read(name, start=0, length=1)) for name in names]
    except SourceMissingError as error:
        msg = f"found {_CONFIG} and no weights; needed {_SINGLE}, or the name of a GGUF file"
        raise ValueError(msg) from error
    with named(_CONFIG):
        found = parse_config(config)
    return SourceFacts(
        format="pytorch",
        architecture=found.architecture,
        precision=found.precision.id if found.precision else UNSTATED,
        files=tuple(file_facts(name, chunk) for name, chunk in files),
        revision=revision,
        found_in={
            "architecture": _CONFIG,
            "parameters": f"shape in {_CONFIG}",
            "precision": _CONFIG,
            "files": "sizes of the files",
        },
    )


def _header(store: Store, name: str) -> _Header:
    chunk = store.read(name, start=0, length=_FIRST_BYTES)
    with named(name):
        length = header_bytes(chunk.data, chunk.size)
        raw = chunk.data[HEAD_BYTES : HEAD_BYTES + length]
        if len(raw) < length:
            more = store.read(name, start=HEAD_BYTES + len(raw), length=length - len(raw))
            raw += more.data
        return _Header(file_facts(name, chunk), parse_header(raw, chunk.size))


def _must_agree(names: dict[str, set[str]], headers: list[_Header]) -> None:
    for header in headers:
        path = header.file.path
        missing = names[path] - {tensor.name for tensor in header.tensors}
        if missing:
            msg = f"{_INDEX}: found {min(missing)} in {path}, which has no such tensor"
            raise ValueError(f"{msg}; needed files and index of one model")


def _must_be_packed_as_said(stated: WeightsPrecision | None, measured: Counted) -> None:
    """Refuse a config that is not that of the weights: both sizes and speed would be wrong."""
    packed = measured.counts is None
    if packed and (stated is None or stated.id in _UNPACKED):
        msg = f"{_CONFIG}: quantization_config: missing, but the weights are packed; needed both"
        raise ValueError(f"{msg} of one model")
    if not packed and stated is not None and stated.id not in {*_UNPACKED, *_ONE_BYTE}:
        msg = f"{_CONFIG}: quantization_config: found {stated.id}, but the weights are not packed"
        raise ValueError(f"{msg}; needed both of one model")


def _whole(store: Store, path: str, most: int) -> Chunk:
    chunk = store.read(path, start=0, length=most)
    if chunk.size > most:
        msg = f"{path}: found {chunk.size} bytes; needed at most {most}"
        raise ValueError(msg)
    return chunk


def _is_there(store: Store, path: str) -> bool:
    try:
        store.read(path, start=0, length=1)
    except SourceMissingError:
        return False
    return True
