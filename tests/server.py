"""Serves an ASGI application over real HTTP, in a thread of the test."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


@contextmanager
def serve(application) -> Iterator[str]:
    """Runs uvicorn on a free port inside the block, and yields the address."""
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            lifespan="on",
            ws="none",
            proxy_headers=False,
            log_level="warning",
            timeout_graceful_shutdown=2,
        )
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # It listens already: a request sent before the server is up simply waits for it.
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=15)
    assert not thread.is_alive()
