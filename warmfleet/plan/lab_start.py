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
    seconds = {
        "process_start": (rates.process_start,) * 3,
        "imports": (rates.imports,) * 3,
        "engine_start": (rates.engine_start,) * 3,
        "weights": (cold_s, cold_s, hot_s),
        "engine_init": (rates.engine_init,) * 3,
        "first_forward": (rates.first_forward,) * 3,
    }
    return Start(
        tuple(
            PhasePlan(name=name, first_s=first, reboot_s=reboot, restart_s=again, basis="measured")
            for name, (first, reboot, again) in seconds.items()
        ),
        rates.ready,
        rates.source,
    )
