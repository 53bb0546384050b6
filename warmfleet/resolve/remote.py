"""Facts of weights that are elsewhere: on a hub, behind a URL, in a bucket."""

from warmfleet.resolve.http_store import HttpStore
from warmfleet.resolve.hub import hub_store
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.resolve.s3_store import BucketStore
from warmfleet.resolve.weights_files import parted, read_weights
from warmfleet.spec.sources import HubSourceSpec, S3SourceSpec, UrlSourceSpec

__all__ = ["remote_facts"]


def remote_facts(source: HubSourceSpec | UrlSourceSpec | S3SourceSpec) -> ModelFacts:
    """Read what files elsewhere say of a model; only their headers travel.

    Raises:
        SourceMissingError, SourceUnreachableError: as the store says.
        ValueError: a file is wrong.
    """
    if isinstance(source, HubSourceSpec):
        with hub_store(source) as store:
            return read_weights(store, source.file or "").of(source, source.hf)
    if isinstance(source, S3SourceSpec):
        folder, file = parted(source.s3)
        return read_weights(BucketStore(source, folder), file).of(source, _name(source.s3))
    folder, file = parted(source.url)
    with HttpStore(folder) as store:
        return read_weights(store, file).of(source, _name(source.url))


def _name(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]
