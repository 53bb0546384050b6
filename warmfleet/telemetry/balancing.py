"""What a gateway's balancing knows of each replica."""

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from warmfleet.errors import HostUnreachableError
from warmfleet.inventory.service import GATEWAY_ADMIN_PORT
from warmfleet.telemetry.tunnel import Tunnel

__all__ = ["BalancedReplica", "read_balancing"]

_LOOPBACK = "127.0.0.1"


class BalancedReplica(BaseModel):
    """One model on one host, as a gateway sees it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    """Of the host."""
    model: str
    ready: bool
    """The last probe found it warm."""
    drained: bool
    """An operator took its host out."""
    in_flight: int
    """Requests that this gateway has under way there."""

    @property
    def serves(self) -> bool:
        """True when it gets new requests."""
        return self.ready and not self.drained


_Replicas = TypeAdapter(list[BalancedReplica])


def read_balancing(tunnel: Tunnel) -> list[BalancedReplica]:
    """Ask the gateway at the other end of the tunnel.

    Raises:
        HostUnreachableError: its proxy does not run, or is older than this question.
    """
    _, answer = tunnel.get_json(_LOOPBACK, GATEWAY_ADMIN_PORT, "/replicas")
    try:
        return _Replicas.validate_python(answer)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"host {tunnel.host}: the list of its replicas is not readable: {first['msg']}"
        raise HostUnreachableError(msg) from error
