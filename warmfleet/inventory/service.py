"""Settings of a service on a host, and the revision that names them."""

import hashlib
import json
from pathlib import Path

from inference_app.settings import (
    AddressSettings,
    EngineSettings,
    LimitSettings,
    ModelSettings,
    ServiceSettings,
    TimeoutSettings,
    TlsSettings,
    WarmupSettings,
)
from warmfleet.plan.models import ModelPlan, TimeoutChain
from warmfleet.stack.outputs import HostOutput

__all__ = ["ADMIN_PORT", "GATEWAY_ADMIN_PORT", "MODEL_ROOT", "TRAFFIC_PORT", "service_settings"]

TRAFFIC_PORT = 8000
"""Port of a host's first service; the next ones count up."""

ADMIN_PORT = 9100
"""Like it, for health and metrics."""

GATEWAY_ADMIN_PORT = 9180
"""Port on a gateway's loopback that tells what its balancing knows of each replica."""

MODEL_ROOT = Path("/srv/warmfleet/models")
_STATE_ROOT = Path("/var/lib/warmfleet")
_TLS = TlsSettings(
    certificate=Path("/etc/warmfleet/inference/tls/replica.pem"),
    key=Path("/etc/warmfleet/inference/tls/replica.key"),
    client_ca=Path("/etc/warmfleet/inference/tls/client_ca.pem"),
)
_PER_HOST = {"traffic", "admin", "tls"}


def service_settings(
    model: ModelPlan, timeouts: TimeoutChain, host: HostOutput, index: int, release: str
) -> ServiceSettings:
    """Return the settings of the host's service number ``index``.

    The revision covers weights, code (``release``) and settings, but not where and for
    whom a host listens: replicas that serve the same thing show the same revision.
    """
    settings = ServiceSettings(
        revision="",
        model=ModelSettings(
            name=model.name,
            # The revision's own folder, not "current": a restart before a deploy is through
            # must load what the running settings were proven with.
            path=MODEL_ROOT / model.name / model.revision / model.file_name,
            size_bytes=model.size_bytes,
            sha256=model.sha256,
        ),
        engine=EngineSettings.model_validate(model.engine.model_dump(mode="json")),
        traffic=AddressSettings(host=host.private_address, port=TRAFFIC_PORT + index),
        admin=AddressSettings(host=host.private_address, port=ADMIN_PORT + index),
        tls=_TLS,
        warmup=WarmupSettings.model_validate(model.warmup.model_dump(mode="json")),
        limits=LimitSettings.model_validate(model.limits.model_dump(mode="json")),
        timeouts=TimeoutSettings(
            generation_s=timeouts.generation_s,
            keep_alive_s=timeouts.service_keepalive_s,
            probe_interval_s=timeouts.probe_interval_s,
            drain_s=timeouts.drain_s,
        ),
        state_dir=_STATE_ROOT / model.name,
    )
    return settings.model_copy(update={"revision": _revision(settings, release)})


def _revision(settings: ServiceSettings, release: str) -> str:
    shared = settings.model_dump(mode="json", exclude={"revision", *_PER_HOST})
    identity = {"release": release, "settings": shared}  # the weights' sha256 is in the settings
    encoded = json.dumps(identity, sort_keys=True).encode()
    return hashlib.sha256(encoded).hexdigest()[:12]
