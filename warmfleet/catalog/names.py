"""Find the catalog's model behind the name of a repack, a fine-tune or a file."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from inference_app.problems import nearest
from warmfleet.catalog.llm import llms
from warmfleet.catalog.models import Model
from warmfleet.errors import NameUnknownError

__all__ = ["find_model", "precision_in"]

_PRECISIONS: Final = (
    (r"mxfp4", "mxfp4"),
    (r"nvfp4|fp4", "nvfp4"),
    (r"experts.?int8", "experts_int8"),
    (r"gptq.*(int8|8.?bit)", "gptq8"),
    (r"gptq", "gptq"),
    (r"awq", "awq"),
    (r"w4a16|int4|4.?bit.*marlin", "w4a16"),
    (r"w8a8|w8a16|int8", "int8"),
    (r"fp8|f8_e4m3|float8", "fp8"),
    (r"bnb|bitsandbytes|nf4|4.?bit", "nf4"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16", "fp16"),
    (r"fp32|float32", "fp32"),
)
_GGUF: Final = re.compile(
    r"(?<![a-z0-9])(?:ud-)?"
    r"(iq[1-4]_(?:xxs|xs|s|m|nl)|q8_0(?=_r8)|q[2-8]_(?:k(?:_(?:xl|[sml]))?|[01])|f16|f32)"
    r"(?![a-z0-9])(?!_r4)"
)
"""What llama.cpp calls a mixture; ``_R4`` is a fork's, and says nothing of most tensors."""
_GGUF_AS: Final = {
    "q2_k_m": "q2_k",
    "q2_k_l": "q2_k",
    "q3_k": "q3_k_m",
    "q4_k": "q4_k_m",
    "q5_k": "q5_k_m",
    "q6_k_l": "q6_k",
    "q8_k": "q8_0",
}

_TUNING_WORDS = """
    instruct it chat base hf preview pt sft dpo meta thinking en 4k 8k 32k 128k fp8 bf16
    v0.1 v0.2 v0.3 v1 v1.0 v1.5 v2.0
"""
_SHAPING_WORDS = """
    vl vision audio omni moe lite mini nano tiny small medium large xl next ultra super nemo
    nemotron minitron mamba llava plus air flash scout maverick pixtral vit clip
"""
_TUNING: Final = frozenset(_TUNING_WORDS.split())
"""Words of catalog names that say nothing about the shape."""
_SHAPING: Final = frozenset(_SHAPING_WORDS.split())
"""Words that make another shape of it, so that both names must have them or neither."""

_SIZE = re.compile(r"(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])")
_MONTH = re.compile(r"2[3-6](0[1-9]|1[0-2])")
_VERSION = re.compile(r"\d{1,2}(\.\d+)?")
_NEAR_SIZE = 0.25
_NEAR_COUNT = 0.02


def find_model(name: str, *, parameters: float | None = None) -> Model:
    """Return the model whose shape this name has.

    A name is taken as its words. A model fits when all words of one of its own names that bear on
    the shape are in it, and no word that makes another shape; the one with most words counts:
    ``RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic`` and ``Meta_Llama_3.1_8b_it.gguf`` are found so.

    Args:
        name: of a repository, a file, or a ``general.name``.
        parameters: as printed beside it; they choose the size where the name says none, and a
            model of another size does not fit.

    Raises:
        NameUnknownError: no model fits; the nearest name is named.
    """
    for model in llms():
        if name.lower() in {known.lower() for known in (model.id, *model.names)}:
            return model
    for words in _readings(name):
        if (longest := _longest(words, parameters)) is not None:
            return longest
    known = {name: model for model in llms() for name in (model.id, *model.names)}
    short = {known_name.rpartition("/")[2]: known_name for known_name in known}
    hint = nearest(name.rpartition("/")[2], short) or "; a name has family and size, as in Qwen3-8B"
    msg = f"no model {name!r} in the catalog{hint}"
    raise NameUnknownError(msg)


def precision_in(name: str) -> str | None:
    """Return the number format that a name of weights or a setting speaks of; None: of none."""
    text = name.lower()
    for written, meant in ((" - medium", "_m"), (" - small", "_s"), (" - large", "_l")):
        text = text.replace(written, meant)
    if (found := _GGUF.search(text)) is not None:
        kind = found.group(1).removesuffix("_xl")
        return _GGUF_AS.get(kind, kind)
    for pattern, precision in _PRECISIONS:
        if re.search(pattern, text):
            return precision
    return None


def _longest(words: tuple[str, ...], parameters: float | None) -> Model | None:
    said = frozenset(words)
    sizes = {word for word in words if _SIZE.fullmatch(word)}
    best, most = None, 0
    for family, key, model in _keys():
        unsaid = key - said
        size_only = parameters is not None and not sizes and all(map(_SIZE.fullmatch, unsaid))
        if (unsaid and not size_only) or (said ^ key) & _SHAPING or len(key & said) <= most:
            continue
        if _version(words, family) in {None, *key} and _agrees(model, sizes - key, parameters):
            best, most = model, len(key & said)
    return best


def _version(words: tuple[str, ...], family: str) -> str | None:
    """Return the number that follows a family's name: another one is another shape."""
    following = words[words.index(family) + 1 :] if family in words else ()
    return following[0] if following and _VERSION.fullmatch(following[0]) else None


@cache
def _keys() -> tuple[tuple[str, frozenset[str], Model], ...]:
    """Return of each name its first word, the words that bear on the shape, and the model."""
    keys = []
    for model in llms():
        for name in (model.id, *model.names):
            words = [word for word in next(_readings(name)) if not _says_nothing(word)]
            keys.append((words[0], frozenset(words), model))
    return tuple(keys)


def _says_nothing(word: str) -> bool:
    return word in _TUNING or _MONTH.fullmatch(word) is not None


def _readings(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a name: ``Qwen2___5 7B`` and ``qwen-2.5-7b`` have the same.

    A line between digits may be a point, as in ``Qwen-1_8B``, or not, as in ``Llama_3_8B``.
    """
    text = re.sub(r"\(.*?\)", " ", name.lower()).rpartition("/")[2].removesuffix(".gguf")
    text = re.sub(r"(?<![a-z0-9])(ud-)?(i?q\d_\w+|(int|fp|bf|nf|nvfp|mxfp|f)\d+)", " ", text)
    for pointed in (re.sub(r"(?<![.\d])(\d+)_+(?=\d)", r"\1.", text), text):
        parts = re.split(r"[^a-z0-9.]+", pointed)
        # A word of letters that a number follows is a family: qwen2.5, qwq32b, but not r1 or v3.
        split = (re.sub(r"^([a-z]{2,})(?=\d)", r"\1 ", part).split() for part in parts)
        yield tuple(word.strip(".") for words in split for word in words if word.strip("."))


def _agrees(model: Model, sizes: Iterable[str], parameters: float | None) -> bool:
    """Tell whether sizes in a name, or a printed count, are those of the model."""
    shape = model.architecture
    text, table = shape.parameters, shape.vocabulary * shape.hidden
    whole = text + shape.other_parameters
    if parameters is not None:
        # A file may hold the output embedding that the published model shares with the input's.
        return any(
            abs(parameters / known - 1) < _NEAR_COUNT for known in (text, whole, text + table)
        )
    return all(abs(_count(size) / whole - 1) <= _NEAR_SIZE for size in sizes)


def _count(size: str) -> float:
    times, number, unit = re.findall(r"(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])", size)[0]
    return int(times or 1) * float(number) * (1e9 if unit == "b" else 1e6)
