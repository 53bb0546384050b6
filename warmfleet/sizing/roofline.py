"""How long a step takes: what limits it is the slower of reading memory and of computing."""

from msgspec import Struct

from warmfleet.sizing.card_speed import CardSpeed
from warmfleet.sizing.work import Work

__all__ = ["CALIBRATED", "Efficiency", "Roofline"]

_ACTIVATION_BYTES = 2

_STEP_TOKENS = 2048
"""Prompt tokens that vLLM reads in one step by default (vllm/engine/arg_utils.py)."""


class Efficiency(Struct, frozen=True):
    """What engines reach of a maker's figures; how near it comes is in ``sizing.accuracy``.

    Attributes:
        bandwidth: share of the memory bandwidth that a decode step reaches.
        compute: share of the dense operations that a prompt reaches.
        step_s: fixed cost of a step: scheduler, sampler, kernel launches.
        expert_layer_s: fixed cost of a layer with experts: choosing, sorting and small products.
        stream_s: cost of a stream in a step on the CPU side: sampling, detokenising, sending.
        request_s: fixed cost of a request before its first token: HTTP, tokenising.
        nvlink: share of the link that an all-reduce reaches over NVLink.
        nvlink_reduce_s: latency of one all-reduce over NVLink.
        pcie: share of the link that an all-reduce reaches over PCIe, through the host's memory.
        pcie_reduce_s: latency of one all-reduce over PCIe.
    """

    bandwidth: float
    compute: float
    step_s: float
    expert_layer_s: float
    stream_s: float
    request_s: float
    nvlink: float
    nvlink_reduce_s: float
    pcie: float
    pcie_reduce_s: float


CALIBRATED = Efficiency(
    bandwidth=0.77,
    compute=0.65,
    step_s=0.0012,
    expert_layer_s=0.00006,
    stream_s=0.00005,
    request_s=0.015,
    nvlink=0.6,
    nvlink_reduce_s=0.000012,
    pcie=0.22,
    pcie_reduce_s=0.00006,
)


class Roofline(Struct, frozen=True):
    """Times of one replica: a model on ``tensor_parallel`` x ``pipeline_parallel`` cards. Seconds.

    Streams that run at a time share each step (continuous batching). With a pipeline each stage
    works on a part of them, so a step over all has the time of one stage's share, once a stage.
    """

    work: Work
    card: CardSpeed
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    efficiency: Efficiency = CALIBRATED

    def decode_step_s(self, streams: float, context: float) -> float:
        """Time in which each of the streams gets one token, at a mean context.

        ``max((weights + streams x cache) / bandwidth, streams x operations / compute)`` and the
        fixed costs; weights, cache and operations are divided over the tensor-parallel cards, the
        cache over no more than its heads.
        """
        share = streams / self.pipeline_parallel
        shards = min(self.tensor_parallel, self.work.kv_shards)
        cache = share * self.work.kv_read(context) / shards / self._bytes_per_s
        computing = share * self.work.token_flops(context) / self._flops_per_s
        slower = max(self._weights_s(share) + cache, computing)
        return slower + self._fixed_s(share) + streams * self.efficiency.stream_s

    def prefill_s(self, prompt_tokens: float) -> float:
        """Time to read one prompt: its operations, but no less than one pass over the weights."""
        computing = self.work.prompt_flops(prompt_tokens) / self._flops_per_s
        return max(self._weights_s(prompt_tokens), computing) + self._fixed_s(prompt_tokens)

    def prompt_share_s(self, prompt_tokens: float) -> float:
        """Time that a prompt takes of a busy replica.

        Short prompts share a step, of so many tokens as the engine reads at a time, so each bears
        its part of the pass over the weights and of the fixed costs.
        """
        share = min(1.0, prompt_tokens / _STEP_TOKENS)
        computing = self.work.prompt_flops(prompt_tokens) / self._flops_per_s
        fixed = self._fixed_s(max(prompt_tokens, _STEP_TOKENS)) * share
        return (max(self._weights_s(_STEP_TOKENS) * share, computing) + fixed) / (
            self.pipeline_parallel
        )

    def request_s(self, prompt_tokens: float, output_tokens: float, streams: float) -> float:
        """Time that one request takes of a replica which runs so many of its kind at all times.

        ``output x step / streams + prompt``: steps are shared, prompts are read beside them.
        """
        step = self.decode_step_s(streams, prompt_tokens + output_tokens / 2)
        return output_tokens * step / streams + self.prompt_share_s(prompt_tokens)

    def output_tokens_per_s(
        self, prompt_tokens: float, output_tokens: float, streams: float
    ) -> float:
        """Answer tokens a second while so many requests run at all times."""
        return output_tokens / self.request_s(prompt_tokens, output_tokens, streams)

    @property
    def _bytes_per_s(self) -> float:
        return self.card.bandwidth_gb_s * 1e9 * self.efficiency.bandwidth

    @property
    def _flops_per_s(self) -> float:
        return self.card.tflops * 1e12 * self.efficiency.compute * self.tensor_parallel

    def _weights_s(self, tokens: float) -> float:
        read = self.work.dense_bytes + self.work.experts_read(tokens)
        return read / self.tensor_parallel / self._bytes_per_s

    def _fixed_s(self, tokens: float) -> float:
        """Scheduler, layers with experts, and all-reduces between tensor-parallel cards.

        There are two a layer; a ring sends ``2 (n - 1) / n`` of the 16-bit activations over each
        link, one way.
        """
        cards, known = self.tensor_parallel, self.efficiency
        steps = (
            self.pipeline_parallel * known.step_s + self.work.expert_layers * known.expert_layer_s
        )
        if cards == 1:
            return steps
        sent = 2 * (cards - 1) / cards * tokens * self.work.hidden * _ACTIVATION_BYTES
        if self.card.nvlink_gb_s:
            latency, link = known.nvlink_reduce_s, self.card.nvlink_gb_s * known.nvlink
        else:
            latency, link = known.pcie_reduce_s, self.card.pcie_gb_s * known.pcie
        return steps + 2 * self.work.layers * (latency + sent / (link / 2 * 1e9))
