"""What is known of one model and its weights; what goes into the lock."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from warmfleet.catalog.architecture import Architecture
from warmfleet.spec.sources import SourceSpec

__all__ = ["FileFacts", "ModelFacts", "WeightsFormat"]

WeightsFormat = Literal["gguf", "safetensors", "pytorch"]


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FileFacts(_Facts):
    """One file of the weights."""

    path: str = Field(description="as the source names it")
    size_bytes: int = Field(gt=0)
    sha256: str | None = Field(
        default=None, pattern=r"^[0-9a-f]{64}$", description="where the source states it"
    )


class ModelFacts(_Facts):
    """Shape, precision and files of one model of the spec."""

    source: SourceSpec = Field(description="as the spec says it: other facts for another source")
    name: str = Field(min_length=1, description="of the model, OWNER/NAME where it is known")
    revision: str | None = Field(default=None, description="commit that the source gave")
    format: WeightsFormat
    architecture: Architecture
    precision: str = Field(description="of the weights in the source, as warmfleet.sizing names it")
    group_size: int | None = Field(
        default=None, gt=0, description="weights that share a scale, where the source states it"
    )
    tasks: tuple[str, ...] = Field(default=(), description="that the model was made for, if known")
    files: tuple[FileFacts, ...] = Field(default=(), description="none: only the catalog answered")
    tensor_bytes: int | None = Field(
        default=None, gt=0, description="of all tensors, from their headers"
    )
    found_in: dict[str, str] = Field(
        description="where each fact came from, for example architecture: config.json"
    )

    @property
    def size_bytes(self) -> int | None:
        """Size of all files; None when the source did not tell it."""
        return sum(file.size_bytes for file in self.files) or None
