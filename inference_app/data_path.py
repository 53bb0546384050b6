"""What every request goes through on its way to the engine and back."""

from collections.abc import Mapping
from dataclasses import dataclass

from inference_app.admission import Admission
from inference_app.engine_client import EngineClient
from inference_app.metrics import ServiceMetrics
from inference_app.quarantine import Quarantine
from inference_app.settings import ServiceSettings

__all__ = ["DataPath"]


@dataclass(frozen=True)
class DataPath:
    """One replica's, once its engine runs.

    Attributes:
        settings: of the service.
        engine: answers.
        engine_fields: what every generation is sent with.
        admission: lets requests in and hands out the engine's slots.
        quarantine: keeps out what ended an engine.
        metrics: counts.
    """

    settings: ServiceSettings
    engine: EngineClient
    engine_fields: Mapping[str, object]
    admission: Admission
    quarantine: Quarantine
    metrics: ServiceMetrics
