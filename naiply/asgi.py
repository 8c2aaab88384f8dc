"""The server's entry: one ASGI function in front of Django's WSGI application.

Django's own ASGI handler makes a thread for each request and, with persistent connections, a
database connection too; pages run two to four times faster in a fixed pool of threads. Event
streams will join this function beside the pages, without taking a thread.

A request gets a thread only once its whole body is here: eight unfinished POSTs would otherwise
hold eight threads and stop the site.
"""

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Awaitable, Callable

from a2wsgi import WSGIMiddleware
from a2wsgi.wsgi_typing import WSGIApp
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connections
from django.utils.translation import override

from naiply.bodies import (
    BodyRefused,
    Message,
    Receive,
    SenderLeft,
    declared_length,
    read_body,
    replay,
)
from naiply.catalogs import compile_catalogs

type Send = Callable[[Message], Awaitable[None]]

PAGE_BODY_BYTES = 256 * 1024
UPLOAD_BODY_BYTES = 20 * 1024 * 1024
UPLOADS_AT_ONCE = 4  # keeps the bodies in memory under 80 MB, whoever sends them
BODY_SECONDS = 10


class Site:
    """The ASGI application: a WSGI application behind bounds, with its pool of threads."""

    def __init__(self, pages: WSGIApp, *, threads: int, body_seconds: float = BODY_SECONDS) -> None:
        self.threads = threads
        self.body_seconds = body_seconds
        # A queue without bounds between thread and socket. With a bound, a reader who takes his
        # time over a large file keeps a thread, and one who leaves in the middle keeps it for
        # ever. What the site sends is small.
        self.pages = WSGIMiddleware(pages, workers=threads, send_queue_size=0)
        self.uploads = asyncio.Semaphore(UPLOADS_AT_ONCE)
        prefixes = "|".join(re.escape(code) for code, _ in settings.LANGUAGES)
        self.upload_path = re.compile(rf"/(?:(?:{prefixes})/)?admin/")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        elif scope["path"] == "/healthz":
            await answer_health(scope, send)
        else:
            await self.answer_page(scope, receive, send)

    async def live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(self.close)
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return

    def close(self) -> None:
        """Closes each thread's database connection, then ends the threads."""
        # Every job waits for the others, so that each thread gets one.
        barrier = threading.Barrier(self.threads)

        def close_connections() -> None:
            # Broken where a thread is busy with a page that outlasted the server's patience.
            with contextlib.suppress(threading.BrokenBarrierError):
                barrier.wait(timeout=5)
            connections.close_all()

        for _ in range(self.threads):
            self.pages.executor.submit(close_connections)
        self.pages.executor.shutdown()

    async def answer_page(self, scope: Message, receive: Receive, send: Send) -> None:
        # Only a declared length opens the large limit: browsers always declare a form's.
        is_upload = declared_length(scope) > PAGE_BODY_BYTES and self.upload_path.match(
            scope["path"]
        )
        try:
            if not is_upload:
                await self.pass_on(scope, receive, send, limit=PAGE_BODY_BYTES)
            elif self.uploads.locked():
                raise BodyRefused(503, "Other uploads are on their way; try again in a minute.")
            else:
                async with self.uploads:
                    await self.pass_on(scope, receive, send, limit=UPLOAD_BODY_BYTES)
        except BodyRefused as refusal:
            await answer(send, refusal.status, str(refusal), close=True)
        except SenderLeft:
            return

    async def pass_on(self, scope: Message, receive: Receive, send: Send, *, limit: int) -> None:
        body = await read_body(scope, receive, limit=limit, seconds=self.body_seconds)
        await self.pages(prepared_for_wsgi(scope, body), replay(body, receive), send)


def prepared_for_wsgi(scope: Message, body: bytes) -> Message:
    """The request as the WSGI side can take it.

    Its length is always declared (WSGI knows no other body). Headers with an underscore are
    dropped: WSGI cannot tell X_Forwarded_Proto, which a proxy lets through, from the header that
    the proxy sets.
    """
    replaced = (b"content-length", b"transfer-encoding")
    headers = [pair for pair in scope["headers"] if pair[0] not in replaced and b"_" not in pair[0]]
    if body:
        headers.append((b"content-length", str(len(body)).encode()))
    return {**scope, "headers": headers}


async def answer_health(scope: Message, send: Send) -> None:
    """Says that the process lives, even when every thread is busy and whatever the Host."""
    if scope["method"] in ("GET", "HEAD"):
        await answer(send, 200, "ok", is_head=scope["method"] == "HEAD")
    else:
        await answer(send, 405, "Use GET.", close=True)


async def answer(
    send: Send, status: int, text: str, *, is_head: bool = False, close: bool = False
) -> None:
    body = f"{text}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if close:
        headers.append((b"connection", b"close"))  # part of the body may still be unread
    if status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else body})


def load_translations() -> None:
    """Compiles and reads every catalog before the first reader comes.

    Django would read each at its first use, and a file damaged by then would end in errors.
    """
    compile_catalogs()
    for language, _name in settings.LANGUAGES:
        with override(language):
            pass


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "naiply.settings")
pages = get_wsgi_application()  # makes the apps ready, whose catalogs are read too
load_translations()
application = Site(pages, threads=settings.THREADS)
