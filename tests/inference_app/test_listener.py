"""What a listener gives to the connections that it accepts."""

import socket

import aiohttp
from starlette.responses import PlainTextResponse

from inference_app.listener import Listener
from inference_app.settings import AddressSettings


async def test_answers_leave_at_once() -> None:
    """Nagle's algorithm would hold the first event back until the header is acknowledged."""
    listener = Listener(PlainTextResponse("here"), keep_alive_s=75, grace_s=1)
    await listener.open(AddressSettings(host="127.0.0.1", port=0))
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{listener.port}/") as response,
        ):
            assert await response.text() == "here"
            (connection,) = listener._server.server_state.connections
            accepted = connection.transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    finally:
        listener.stop_accepting()
        await listener.closed()
