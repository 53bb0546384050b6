"""Printed figures of llama.cpp: the size of a file and of its cache."""

import re

from _sizing_rows import GIB, MIB, RULE_OF_THUMB, CannotSizeError, Row, Sized, number, subject_of

from warmfleet.catalog.architecture import Architecture
from warmfleet.sizing.kv_cache import kv_bytes
from warmfleet.sizing.llamacpp import cache_window
from warmfleet.sizing.precision import PRECISIONS
from warmfleet.sizing.weights import weights_bytes

_NAIVE_BYTES = 2
_AS_GGUF = {"bf16": "f16", "fp16": "f16"}
_NEW_CACHE = 13194
"""The pull request of ggml-org/llama.cpp from which layers with a window keep no more than it, and
encoders nothing; issues have numbers of the same sequence and tell how old an engine was."""


def weights(row: Row) -> Sized | None:
    """The whole file: what is on the GPU and on the host together."""
    truth = number(row, "file_size_gib")
    if truth is None:
        return None
    parameters = (number(row, "params_b") or 0) * 1e9 or None
    subject = subject_of(row["model"], row["quant"], parameters=parameters)
    shape = _as_in_file(subject.model.architecture, parameters)
    precision = PRECISIONS[_AS_GGUF.get(subject.precision.id, subject.precision.id)]
    naive = subject.naive_bytes / GIB
    planner = weights_bytes(shape, precision) / GIB
    return Sized(
        "llamacpp_weights",
        subject.precision.id,
        row["model"],
        truth,
        planner,
        naive,
        naive * RULE_OF_THUMB,
    )


def kv(row: Row) -> Sized | None:
    """The cache of all layers."""
    truth, context = number(row, "kv_mib"), number(row, "ctx")
    if truth is None:
        return None
    if context is None:
        msg = "context not stated"
        raise CannotSizeError(msg)
    parameters = (number(row, "params_b") or 0) * 1e9 or None
    # The cache does not depend on the mixture of the weights.
    subject = subject_of(row["model"], "", parameters=parameters)
    shape, tokens = subject.model.architecture, int(context)
    new = _is_new(row["source"])
    if not shape.full_attention_layers and not new:
        shape = shape.model_copy(update={"full_attention_layers": shape.layers})
    keys, _, values = row["kv_type"].partition("/")
    if shape.sliding_window is not None:
        kept = cache_window(shape.sliding_window, batch=int(number(row, "n_ubatch") or 512))
        shape = shape.model_copy(update={"sliding_window": kept})
    planner = kv_bytes(
        shape,
        tokens,
        kv_dtype=keys,
        value_dtype=values or None,
        windows=new,
        latent=not values,  # with it there is one cache, and one type
    )
    naive = 2 * shape.layers * shape.kv_heads * shape.head_dim * _NAIVE_BYTES * tokens
    return Sized(
        "llamacpp_kv",
        subject.model.architecture.family,
        row["model"],
        truth,
        planner / MIB,
        naive / MIB,
        naive / MIB * RULE_OF_THUMB,
    )


def _as_in_file(shape: Architecture, parameters: float | None) -> Architecture:
    """Return the shape with the parameters that the file has, such as a table of its own."""
    table = shape.vocabulary * shape.hidden
    if parameters is None or not shape.tied_embeddings:
        return shape
    if abs(parameters / (shape.parameters + table) - 1) > abs(parameters / shape.parameters - 1):
        return shape
    return shape.model_copy(
        update={"tied_embeddings": False, "parameters": shape.parameters + table}
    )


def _is_new(source: str) -> bool:
    found = re.search(r"ggml-org/llama\.cpp/(?:issues|pull)/(\d+)", source)
    return found is not None and int(found[1]) > _NEW_CACHE
