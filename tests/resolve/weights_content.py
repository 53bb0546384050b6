"""Small weights: a model of two layers in safetensors files, and in GGUF."""

import json
import math
import struct
from typing import Any

from tests.inference_app.gguf_files import entry, gguf, tensor, text

__all__ = [
    "CONFIG",
    "PARAMETERS",
    "gguf_model",
    "repository",
    "safetensors",
    "sparse_safetensors",
    "tensors",
]

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 16,
    "vocab_size": 32,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
PARAMETERS = 32 * 8 + 2 * (8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 16 + 2 * 8) + 8


class Sparse:
    """Content of a file whose data are zeros, which no memory has to hold."""

    def __init__(self, head: bytes, data: int) -> None:
        self._head = head
        self._size = len(head) + data

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, end, _ = part.indices(self._size)
        held = self._head[start:end]
        return held + bytes(end - start - len(held))


def tensors(config: dict[str, Any] = CONFIG) -> dict[str, list[int]]:
    """Return the shape of each tensor of a model."""
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    narrow = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden]}
    shapes["model.norm.weight"] = [hidden]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        shapes |= {
            f"{at}.self_attn.q_proj.weight": [hidden, hidden],
            f"{at}.self_attn.k_proj.weight": [narrow, hidden],
            f"{at}.self_attn.v_proj.weight": [narrow, hidden],
            f"{at}.self_attn.o_proj.weight": [hidden, hidden],
            f"{at}.mlp.gate_proj.weight": [wide, hidden],
            f"{at}.mlp.up_proj.weight": [wide, hidden],
            f"{at}.mlp.down_proj.weight": [hidden, wide],
            f"{at}.input_layernorm.weight": [hidden],
            f"{at}.post_attention_layernorm.weight": [hidden],
        }
    return shapes


def sparse_safetensors(shapes: dict[str, list[int]], *, pad: int = 0) -> Sparse:
    """Return a file of BF16 tensors; ``pad`` more bytes of header make it a long one."""
    header: dict[str, Any] = {"__metadata__": {"pad": "x" * pad}}
    end = 0
    for name, shape in shapes.items():
        size = 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    raw = json.dumps(header).encode()
    return Sparse(struct.pack("<Q", len(raw)) + raw, end)


def safetensors(shapes: dict[str, list[int]], *, pad: int = 0) -> bytes:
    """Return such a file, whole."""
    return sparse_safetensors(shapes, pad=pad)[:]


def repository(*, pad: int = 0) -> dict[str, bytes]:
    """Return the files of the model in two parts, by name."""
    shapes = list(tensors().items())
    parts = {
        "model-00001-of-00002.safetensors": dict(shapes[:9]),
        "model-00002-of-00002.safetensors": dict(shapes[9:]),
    }
    weight_map = {name: file for file, part in parts.items() for name in part}
    return {
        "config.json": json.dumps(CONFIG).encode(),
        "model.safetensors.index.json": json.dumps({"weight_map": weight_map}).encode(),
        **{file: safetensors(part, pad=pad) for file, part in parts.items()},
    }


def gguf_model(*, tokens: int = 0) -> bytes:
    """Return a GGUF file of a model with one tensor, and a tokenizer of so many texts."""
    numbers = {
        "block_count": 2,
        "embedding_length": 32,
        "feed_forward_length": 64,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "context_length": 128,
    }
    vocabulary = struct.pack("<IQ", 8, tokens) + text(b"token") * tokens
    entries = (
        entry(b"general.architecture", 8, text(b"llama")),
        entry(b"general.name", 8, text(b"Tiny")),
        entry(b"general.file_type", 4, struct.pack("<I", 3)),
        entry(b"tokenizer.ggml.tokens", 9, vocabulary),
        *(
            entry(f"llama.{name}".encode(), 4, struct.pack("<I", value))
            for name, value in numbers.items()
        ),
    )
    return gguf(entries=entries, tensors=(tensor(b"token_embd.weight", (32, 2)),), data_bytes=40)
