"""Request bodies, read whole and within bounds before anything else is done with a request."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]

# A sender who is a little over the limit sees our answer only once everything is sent, so some of
# the rest is read and thrown away; one who never ends is cut off.
DISCARDED_BYTES = 1024 * 1024
DISCARDING_SECONDS = 2


class BodyRefused(Exception):
    """The body does not come in: `status` and the text are the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class SenderLeft(Exception):
    """The connection was closed before the body was complete: there is nobody to answer."""


async def read_body(scope: Message, receive: Receive, *, limit: int, seconds: float) -> bytes:
    """The whole body, of `limit` bytes at most, which has to arrive within `seconds`.

    A body without a length (chunked) is counted as it comes. Raises BodyRefused (413, 408) and
    SenderLeft.
    """
    if declared_length(scope) > limit:
        if not waits_for_permission(scope):
            await discard(receive)
        raise BodyRefused(413, f"The body is too large: {limit} bytes are accepted here.")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise SenderLeft
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                is_complete = not message.get("more_body", False)
                if size > limit:
                    break
                if is_complete:
                    return b"".join(parts)
    except TimeoutError:
        raise BodyRefused(408, f"The body did not arrive within {seconds:g} seconds.") from None
    parts.clear()
    if not is_complete:
        await discard(receive)
    raise BodyRefused(413, f"The body is too large: {limit} bytes are accepted here.")


def declared_length(scope: Message) -> int:
    """What Content-Length says, or 0 where there is none; the server has checked that it counts."""
    text = header(scope, b"content-length")
    return int(text) if text.isdigit() else 0


def waits_for_permission(scope: Message) -> bool:
    """Whether the sender asked before sending, so that refusing costs neither side the transfer."""
    return header(scope, b"expect").lower() == b"100-continue"


def header(scope: Message, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


async def discard(receive: Receive) -> None:
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARDING_SECONDS):
            while size < DISCARDED_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                size += len(message.get("body", b""))


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that hands out the body already read, then what comes after it."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
