"""Shape of a transformer: what its memory and its work follow from. All sizes count elements."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["Architecture", "Experts", "LatentAttention"]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class LatentAttention(_Shape):
    """Multi-head latent attention: the cache holds a compressed vector and a rotary key a token."""

    kv_rank: int = Field(gt=0, description="kv_lora_rank")
    rope_dim: int = Field(gt=0, description="qk_rope_head_dim")
    nope_dim: int | None = Field(default=None, gt=0, description="qk_nope_head_dim")
    value_dim: int | None = Field(default=None, gt=0, description="v_head_dim")
    query_rank: int | None = Field(default=None, gt=0, description="q_lora_rank; None: full rank")


class Experts(_Shape):
    """Mixture of experts: each token uses a few of the feed-forward blocks."""

    count: int = Field(gt=0, description="routed experts of a layer")
    per_token: int = Field(gt=0)
    intermediate: int = Field(gt=0, description="width of one expert")
    shared_intermediate: int = Field(default=0, ge=0, description="width that every token uses")
    layers: int = Field(gt=0, description="layers that have experts; the rest are dense")


class Architecture(_Shape):
    """What is needed to size a model; from a config, a file's header, or the catalog."""

    family: str = Field(min_length=1, description="model_type or general.architecture, as found")
    parameters: int = Field(gt=0, description="of the text model")
    active_parameters: int = Field(gt=0, description="used for one token")
    other_parameters: int = Field(default=0, ge=0, description="vision, audio: always 16 bit")
    layers: int = Field(gt=0)
    hidden: int = Field(gt=0)
    heads: int = Field(gt=0)
    kv_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    intermediate: int = Field(gt=0, description="width of a dense feed-forward block")
    vocabulary: int = Field(gt=0)
    tied_embeddings: bool = Field(description="input and output embedding are one tensor")
    max_context: int = Field(gt=0, description="tokens the model was trained for")
    full_attention_layers: int = Field(
        ge=0, description="layers whose cache grows with the whole context"
    )
    sliding_window: int | None = Field(
        default=None, gt=0, description="tokens that the windowed layers keep"
    )
    windowed_layers: int = Field(
        default=0, ge=0, description="layers with a window; the rest of all keep no cache"
    )
    latent: LatentAttention | None = None
    experts: Experts | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for holds, said in (
            (self.heads % self.kv_heads == 0, "the KV heads must share the heads evenly"),
            (self.active_parameters <= self.parameters, "no more parameters active than there are"),
            (
                self.full_attention_layers + self.windowed_layers <= self.layers,
                "no more layers with a cache than there are layers",
            ),
            (
                not self.windowed_layers or self.sliding_window is not None,
                "layers with a window need its length",
            ),
            (
                self.experts is None or self.experts.layers <= self.layers,
                "no more layers with experts than there are layers",
            ),
        ):
            if not holds:
                raise ValueError(said)
        return self
