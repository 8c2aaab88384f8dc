"""The processes that `make run` starts, each as `python -m naiply.processes NAME`.

Their parent, naiply.development, keeps one end of a pipe that is their standard input. When it is
gone, however it went, the pipe ends and they end themselves.
"""

import os
import signal
import socket
import sys
import threading
import warnings

import uvicorn
from celery.platforms import SecurityWarning

from naiply.celery import app

GRACE_SECONDS = 3


def follow_parent() -> None:
    """Asks this process to end when its parent is gone."""

    def wait() -> None:
        # Not sys.stdin, whose lock would be held here for ever, and so in the processes that a
        # worker forks.
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def serve_site(listener: socket.socket) -> None:
    uvicorn.Server(
        uvicorn.Config(
            "naiply.asgi:application",
            lifespan="on",
            ws="none",
            # Forwarded addresses are believed from nobody; NAIPLY_HTTPS_HEADER is Django's affair.
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_level="warning",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    ).run(sockets=[listener])


def work() -> None:
    # A newcomer in a container is root; the jobs are our own, and JSON is all that they accept.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    app.worker_main(
        [
            "--quiet", "worker", "--beat", "--concurrency", "1", "--loglevel", "WARNING",
            # Talk between workers; there is one, and the file broker carries it badly.
            "--without-gossip", "--without-mingle", "--without-heartbeat",
        ]
    )  # fmt: skip


if __name__ == "__main__":
    follow_parent()
    if sys.argv[1] == "web":
        serve_site(socket.socket(fileno=int(sys.argv[2])))
    else:
        work()
