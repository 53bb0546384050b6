"""Limits of time that something else dictates: a client library, a network in front, a policy."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from warmfleet.spec.fields import Positive, SpecModel
from warmfleet.spec.units import Duration

__all__ = ["TimeoutsSpec"]

_Limit = Annotated[Duration, Positive] | None


class TimeoutsSpec(SpecModel):
    """What is said here is kept; everything else of the chain follows from it and from speed."""

    client: _Limit = Field(default=None, description="that clients wait for a whole answer")
    client_idle: _Limit = Field(
        default=None,
        description="that clients, or a CDN in front, keep idle connections; 90 s if absent",
    )
    client_keepalive: _Limit = Field(
        default=None, description="that the proxy keeps idle connections of clients"
    )
    queue: _Limit = Field(
        default=None, description="that requests wait at the proxy while no replica is ready"
    )
    proxy_read: _Limit = Field(default=None, description="silence borne from a replica")
    proxy_send: _Limit = Field(default=None, description="stall borne while sending to a replica")
    proxy_connect: _Limit = Field(default=None, description="for a connection to a replica")
    proxy_keepalive: _Limit = Field(
        default=None, description="that the proxy keeps idle connections to replicas"
    )
    service_keepalive: _Limit = Field(
        default=None, description="that replicas keep idle connections of the proxy"
    )
    generation: _Limit = Field(default=None, description="that one answer may be worked on")
    drain: _Limit = Field(
        default=None, description="for work in flight when a replica is asked to stop"
    )
    systemd_start: _Limit = Field(default=None, description="from process start to ready")
    systemd_stop: _Limit = Field(default=None, description="from asking to killing")

    @property
    def asked(self) -> Mapping[str, float]:
        """Seconds by field of the plan's chain, of what is said."""
        said = {name: getattr(self, name) for name in type(self).model_fields}
        return {f"{name}_s": limit.seconds for name, limit in said.items() if limit is not None}
