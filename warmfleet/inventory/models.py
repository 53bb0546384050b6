"""Role inputs as types: a field that a role does not have fails here, not on a host.

Field names are variable names of the roles (``roles/*/meta/argument_specs.yml``); times are in
seconds, sizes in bytes.
"""

from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from inference_app.settings import ServiceSettings

__all__ = [
    "Connection",
    "GatewayInputs",
    "HostInputs",
    "Port",
    "ProxyReplica",
    "Release",
    "ReplicaInputs",
    "ServiceModel",
    "StoredModel",
]

Seconds = int | float
"""Whole seconds stay integers: nginx does not read ``60.0s``."""


class Release(Protocol):
    """The wheels that the service is installed from."""

    @property
    def path(self) -> Path:
        """Folder on the control machine."""

    @property
    def digest(self) -> str:
        """Name of the release on hosts."""

    @property
    def requirement(self) -> str:
        """What pip installs."""


class _Inputs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Connection(_Inputs):
    """How Ansible reaches a host: by the environment's key, and only if the pinned one answers."""

    ansible_host: str
    ansible_port: int
    ansible_user: str
    ansible_become: bool
    ansible_ssh_private_key_file: str
    ansible_ssh_common_args: str
    # Mitogen's own words for ServerAliveInterval and ServerAliveCountMax: it ignores those of ssh.
    mitogen_ssh_keepalive_interval: int
    mitogen_ssh_keepalive_count: int
    # Discovery costs a round trip a host and warns when another Python appears.
    ansible_python_interpreter: str = "/usr/bin/python3"


class Port(_Inputs):
    """What a host lets in."""

    name: str
    port: int
    sources: list[str] | None = Field(
        default=None, description="addresses that may come; None: anybody, empty: nobody"
    )


class HostInputs(_Inputs):
    """Variables of every host."""

    host_baseline_ports: list[Port]


class StoredModel(_Inputs):
    """Weights that a host keeps."""

    name: str
    revision: str
    file_name: str
    sha256: str
    size_bytes: int
    source: str = Field(description="file on the control machine")


class ServiceModel(_Inputs):
    """One service on a host."""

    name: str
    settings: ServiceSettings
    start_timeout_s: Seconds
    stop_timeout_s: Seconds


class ReplicaInputs(_Inputs):
    """Variables of a host that serves models."""

    model_store_root: str
    model_store_models: list[StoredModel]
    inference_service_models: list[ServiceModel]
    inference_service_wheelhouse: str
    inference_service_requirement: str
    inference_service_release: str
    inference_service_gateways: list[str]
    inference_service_gateway_admin_port: int
    inference_service_floor: int


class ProxyReplica(_Inputs):
    """One service as the proxy sees it."""

    name: str
    model: str
    address: str
    port: int
    admin_port: int
    server_name: str = Field(description="name in its certificate")


class GatewayInputs(_Inputs):
    """Variables of a host that clients connect to; its secrets come by lookup."""

    edge_proxy_listen_port: int
    edge_proxy_admin_port: int
    edge_proxy_server_names: list[str]
    edge_proxy_replicas: list[ProxyReplica]
    edge_proxy_read_timeout_s: Seconds
    edge_proxy_send_timeout_s: Seconds
    edge_proxy_connect_timeout_s: Seconds
    edge_proxy_keepalive_s: Seconds
    edge_proxy_client_keepalive_s: Seconds
    edge_proxy_backend_keepalive_s: Seconds
    edge_proxy_generation_s: Seconds
    edge_proxy_probe_interval_s: Seconds
    edge_proxy_queue_timeout_s: Seconds
    edge_proxy_queue_size: int
    edge_proxy_max_body_bytes: int
