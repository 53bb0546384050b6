"""What tests of several files ask a replica with."""

from collections.abc import AsyncIterator

import openai
import pytest

from tests.inference_app.support import ReplicaProcess


@pytest.fixture
async def client(replica: ReplicaProcess) -> AsyncIterator[openai.AsyncOpenAI]:
    """Return the official client of the replica that the test's file has."""
    async with openai.AsyncOpenAI(
        base_url=f"{replica.base}/v1", api_key="unused", max_retries=0
    ) as client:
        yield client
