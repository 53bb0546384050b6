"""What one replica holds in memory."""

import math

from warmfleet.catalog.models import Engine, LabHosts, Model, Weights
from warmfleet.plan.choice import Choice

__all__ = ["choose_replica_memory", "kv_bytes_per_token"]

_MB = 10**6

_KEY_AND_VALUE = 2
_LOGIT_BYTES = 4


def choose_replica_memory(
    model: Model, weights: Weights, engine: Engine, hosts: LabHosts, *, context: int, slots: int
) -> Choice[int]:
    """Choose the memory limit (MB) of a replica's host: what is loaded, times a margin."""
    parts = {
        "weights_mb": weights.size_bytes / _MB,
        "kv_mb": kv_bytes_per_token(model, engine) * context * slots / _MB,
        "output_buffer_mb": model.architecture.vocabulary
        * engine.batch_tokens
        * _LOGIT_BYTES
        / _MB,
        "engine_process_mb": float(engine.process_mb),
        "service_mb": float(hosts.service_mb),
        "system_mb": float(hosts.system_mb),
    }
    used = sum(parts.values())
    steps = math.ceil(round(used * hosts.memory_margin / hosts.memory_step_mb, 9))
    return Choice(
        steps * hosts.memory_step_mb,
        f"weights {parts['weights_mb']:.0f} + cache {parts['kv_mb']:.0f} (for {slots} requests of "
        f"{context} tokens) + rest = {used:.0f} MB, times {hosts.memory_margin:g}, in steps of "
        f"{hosts.memory_step_mb} MB",
        {**parts, "kv_bytes_per_token": kv_bytes_per_token(model, engine)},
        f"{model.source}; {engine.source}; {hosts.source}",
    )


def kv_bytes_per_token(model: Model, engine: Engine) -> int:
    """Return the bytes that the cache of one token takes over all layers."""
    shape = model.architecture
    values = _KEY_AND_VALUE * shape.layers * shape.kv_heads * shape.head_dim
    return values * engine.kv_bytes_per_value
