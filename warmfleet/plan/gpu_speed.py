"""How long requests take on cards, by the roofline."""

from msgspec import Struct

from warmfleet.sizing.roofline import Roofline

__all__ = ["RooflineSpeed"]


class RooflineSpeed(Struct, frozen=True):
    """Speed of one replica, for warm-up and timeouts; seconds."""

    roofline: Roofline

    @property
    def source(self) -> str:
        """Where the figures come from."""
        return "roofline, calibrated on catalog/data/speed_anchors.yaml"

    def request_s(self, prompt_tokens: int, output_tokens: int, concurrency: int = 1) -> float:
        """Time of one request when ``concurrency`` like it start together.

        Their prompts are read one after another, their answers share each step.
        """
        step = self.roofline.decode_step_s(concurrency, prompt_tokens + output_tokens / 2)
        prompts = concurrency * self.roofline.prefill_s(prompt_tokens)
        return prompts / self.roofline.pipeline_parallel + output_tokens * step
