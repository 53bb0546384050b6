"""Rows of measured memory, and what the planner, the naive formula and "times 1.2" make of them."""

import math
import re
from dataclasses import dataclass

from warmfleet.catalog.gpu import Gpu, find_gpu, gpus
from warmfleet.catalog.models import Model
from warmfleet.catalog.names import find_model, precision_in
from warmfleet.errors import NameUnknownError
from warmfleet.sizing.precision import Precision, find_precision

GIB = 2**30
MIB = 2**20
RULE_OF_THUMB = 1.2
"""What calculators multiply the weights with for everything else."""

_SAME_TOTAL = 0.015
"""Cards differ by more, and one card by less from driver to driver."""

Row = dict[str, str]


@dataclass(frozen=True)
class Sized:
    """A measured value and three predictions of it."""

    metric: str
    group: str
    label: str
    truth: float
    planner: float
    naive: float
    rule_of_thumb: float


@dataclass(frozen=True)
class NotSized:
    """A measured value that nothing was predicted for, and why."""

    metric: str
    label: str
    reason: str


Outcome = Sized | NotSized


class CannotSizeError(ValueError):
    """A row says too little, or speaks of what the planner does not model."""


@dataclass(frozen=True)
class Subject:
    """The model of a row and the number format of its weights."""

    model: Model
    precision: Precision

    @property
    def naive_bytes(self) -> float:
        """Parameters times the nominal bytes of the format: 2, 1 or a half."""
        shape = self.model.architecture
        return shape.parameters * nominal_bits(self.precision) / 8

    @property
    def group(self) -> str:
        """The format as the table shows it."""
        if self.precision.gguf:
            return "GGUF"
        groups = {"fp8": "fp8, int8", "int8": "fp8, int8", "nf4": "bitsandbytes", "mxfp4": "mxfp4"}
        four = {"awq", "gptq", "w4a16", "gptq8", "awq-g32"}
        return groups.get(self.precision.id, "AWQ, GPTQ" if self.precision.id in four else "16 bit")


def subject_of(name: str, setting: str, *, parameters: float | None = None) -> Subject:
    """Return model and precision of a row.

    Raises:
        CannotSizeError: the name is no model's, or the format is not known.
    """
    try:
        model = find_model(name, parameters=parameters)
    except NameUnknownError as error:
        msg = "model not in the catalog"
        raise CannotSizeError(msg) from error
    unsaid = setting in {"", "gguf"}
    said = precision_in(name) if unsaid else precision_in(setting)
    if said is None and setting:
        msg = "mixture chosen tensor by tensor, or not named"
        raise CannotSizeError(msg)
    # Engines cast what was published in more than 16 bit.
    found = said or model.precision
    return Subject(model, find_precision("bf16" if found == "fp32" else found))


def nominal_bits(precision: Precision) -> float:
    """Return the bits that the name of a format says: 16, 8 or 4."""
    if precision.id in {"bf16", "fp16", "f16"}:
        return 16.0
    digit = re.search(r"\d", precision.id)
    bits = {"awq": 4, "gptq": 4, "gptq8": 8, "awq-g32": 4, "experts_int8": 8}
    return float(bits.get(precision.id) or (digit and digit.group()) or 16)


def gpu_of(name: str, *, total_gib: float | None = None) -> Gpu:
    """Return the card of a row: one of the catalog, or one of as many GB as its name says.

    Args:
        name: as the row has it.
        total_gib: memory that a program had, where it was printed.

    Raises:
        CannotSizeError: the row says neither card nor memory.
    """
    text = re.sub(r"^\d+x | class\b|\(.*?\)", "", name).strip()
    if text and "+" not in text:
        try:
            gpu = find_gpu(text)
        except NameUnknownError:
            pass
        else:
            return gpu.model_copy(update={"cuda_total_gib": total_gib or gpu.cuda_total_gib})
    if not text and total_gib is not None:
        for gpu in gpus():
            if abs(gpu.cuda_total_gib / total_gib - 1) < _SAME_TOTAL:
                return gpu.model_copy(update={"cuda_total_gib": total_gib})
    found = re.search(r"(\d+) ?GB", name)
    if (found is None and total_gib is None) or "+" in name:
        msg = "card not stated or not in the catalog"
        raise CannotSizeError(msg)
    memory = int(found[1]) if found else round(total_gib or 0)
    return Gpu(
        id="stated",
        name=text,
        vendor="AMD" if "AMD" in name else "NVIDIA",
        memory_gb=memory,
        nvml_total_gib=memory,
        cuda_total_gib=total_gib or 0.985 * memory,
        cuda_total_is="derived",
        form="PCIe",
        source="size in the row",
    )


def number(row: Row, column: str) -> float | None:
    """Return a number of a row; None: not stated."""
    try:
        found = float(row.get(column, ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None
