"""Routes the engine's calls to the resource that their type names."""

import asyncio
import json
from collections.abc import Mapping
from typing import Final

from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.provider import (
    CheckFailure,
    CheckRequest,
    CheckResponse,
    ConfigureRequest,
    ConfigureResponse,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    DiffRequest,
    DiffResponse,
    GetSchemaRequest,
    GetSchemaResponse,
    PropertyDiff,
    PropertyDiffKind,
    Provider,
    ReadRequest,
    ReadResponse,
    UpdateRequest,
    UpdateResponse,
)

import warmfleet
from warmfleet.errors import StackError
from warmfleet.provider.backend import Backend
from warmfleet.provider.bandwidth_contract import BandwidthContract
from warmfleet.provider.codec import decode, encode, secret_names
from warmfleet.provider.lab_host import LabHost
from warmfleet.provider.lab_network import LabNetwork
from warmfleet.provider.resource import Change, Resource

__all__ = ["PACKAGE", "WarmfleetProvider"]

PACKAGE: Final = "warmfleet"

_KINDS = {
    ("add", False): PropertyDiffKind.ADD,
    ("add", True): PropertyDiffKind.ADD_REPLACE,
    ("delete", False): PropertyDiffKind.DELETE,
    ("delete", True): PropertyDiffKind.DELETE_REPLACE,
    ("update", False): PropertyDiffKind.UPDATE,
    ("update", True): PropertyDiffKind.UPDATE_REPLACE,
}


class WarmfleetProvider(Provider):
    """The provider ``warmfleet``; all of the world is behind ``backend``."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        resources: list[Resource] = [LabNetwork(backend), LabHost(backend), BandwidthContract()]
        self._resources = {resource.kind: resource for resource in resources}

    async def get_schema(self, request: GetSchemaRequest) -> GetSchemaResponse:  # noqa: ARG002
        """Return the package schema."""
        schema = {
            "name": PACKAGE,
            "version": warmfleet.__version__,
            "resources": {token: res.schema() for token, res in self._resources.items()},
        }
        return GetSchemaResponse(json.dumps(schema))

    async def configure(self, request: ConfigureRequest) -> ConfigureResponse:  # noqa: ARG002
        """Say what we understand: secrets and previews, not output values."""
        # Output values are declined because the SDK's decoder raises on those that are unknown.
        return ConfigureResponse(accept_secrets=True, supports_preview=True)

    async def check(self, request: CheckRequest) -> CheckResponse:
        """Collect every failure of the inputs."""
        resource, news = self._resource(request.type), decode(request.new_inputs)
        failures = await asyncio.to_thread(resource.check, news)
        return CheckResponse(
            inputs=request.new_inputs,
            failures=[CheckFailure(failure.property, failure.reason) for failure in failures],
        )

    async def diff(self, request: DiffRequest) -> DiffResponse:
        """Name what differs, property by property, and what of it replaces."""
        resource = self._resource(request.type)
        changes = [
            change
            for change in resource.diff(decode(request.old_state), decode(request.new_inputs))
            if change.property not in request.ignore_changes
        ]
        return DiffResponse(
            changes=bool(changes),
            replaces=[change.property for change in changes if change.replaces],
            diffs=[change.property for change in changes],
            detailed_diff={change.property: _property_diff(change) for change in changes},
            # Names, addresses and ports are the environment's own: old and new cannot coexist.
            delete_before_replace=True,
        )

    async def create(self, request: CreateRequest) -> CreateResponse:
        """Make the resource, or say what would be made."""
        resource, news = self._resource(request.type), decode(request.properties)
        secrets = resource.secrets | secret_names(request.properties)
        if request.preview:
            return CreateResponse(properties=encode(resource.preview(news), secrets))
        state = await asyncio.to_thread(resource.create, news)
        return CreateResponse(resource.identity(news), encode(state, secrets))

    async def read(self, request: ReadRequest) -> ReadResponse:
        """Return the resource as found; an empty ID says that it is gone."""
        resource, state = self._resource(request.type), decode(request.properties)
        found = await asyncio.to_thread(resource.read, request.resource_id, state)
        if found is None:
            return ReadResponse(resource_id="")
        secrets = resource.secrets | secret_names(request.properties)
        return ReadResponse(request.resource_id, encode(found, secrets), request.inputs)

    async def update(self, request: UpdateRequest) -> UpdateResponse:
        """Change the resource, or say what it would be."""
        resource, olds, news = self._resource(request.type), *map(decode, _both(request))
        secrets = resource.secrets | secret_names(request.olds) | secret_names(request.news)
        if request.preview:
            return UpdateResponse(encode({**olds, **news}, secrets))
        state = await asyncio.to_thread(resource.update, olds, news)
        return UpdateResponse(encode(state, secrets))

    async def delete(self, request: DeleteRequest) -> None:
        """Remove the resource."""
        resource = self._resource(request.type)
        await asyncio.to_thread(resource.delete, request.resource_id)

    async def cancel(self) -> None:
        """End the steps that run."""
        self._backend.cancel()

    def _resource(self, token: str) -> Resource:
        # A child of a component has its parents' types before its own: "A$B".
        kind = token.rsplit("$", 1)[-1]
        if kind not in self._resources:
            msg = f"provider {PACKAGE} {warmfleet.__version__} has no resource type {kind}"
            raise StackError(msg)
        return self._resources[kind]


def _both(request: UpdateRequest) -> tuple[Mapping[str, PropertyValue], ...]:
    return request.olds, request.news


def _property_diff(change: Change) -> PropertyDiff:
    return PropertyDiff(_KINDS[change.kind, change.replaces], input_diff=change.is_input)
