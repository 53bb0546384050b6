"""The start of the lab's replica: phases as its own ledgers measured them."""

from warmfleet.catalog.models import StartRates
from warmfleet.plan.cold_start import Start
from warmfleet.plan.start_models import PhasePlan

__all__ = ["lab_start"]


def lab_start(rates: StartRates, weights_bytes: int) -> Start:
    """Return the measured phases; the embedded engine compiles nothing that could be kept."""
    cold_s, hot_s = (
        weights_bytes / (rate * 1e9) for rate in (rates.cold_gb_per_s, rates.hot_gb_per_s)
    )
    return Start(
        (
            PhasePlan.even("process_start", rates.process_start, "measured"),
            PhasePlan.even("imports", rates.imports, "measured"),
            PhasePlan.even("engine_start", rates.engine_start, "measured"),
            PhasePlan(
                name="weights", first_s=cold_s, reboot_s=cold_s, restart_s=hot_s, basis="measured"
            ),
            PhasePlan.even("engine_init", rates.engine_init, "measured"),
            PhasePlan.even("first_forward", rates.first_forward, "measured"),
        ),
        rates.ready,
        rates.source,
    )
