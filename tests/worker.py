"""A real Celery worker in a process of its own, on the database of the test."""

import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

import kombu
from django.db import connection

from naiply.celery import app
from tests.mode import bare_environment

PROJECT_FOLDER = Path(__file__).resolve().parent.parent
SECONDS = 30


class Worker:
    """Context manager: the worker runs inside the block. `run` is what tests call.

    `folder` is empty and the worker's own; with `redis_url` the jobs travel through Redis, else
    through files in that folder.
    """

    def __init__(self, *, folder: Path, redis_url: str | None = None) -> None:
        self.folder = folder
        self.redis_url = redis_url
        self.log: list[str] = []
        self.lines: queue.Queue[str] = queue.Queue()

    def __enter__(self):
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "celery", "-A", "naiply", "worker",
                "--concurrency", "1", "--loglevel", "INFO",
                "--without-gossip", "--without-mingle", "--without-heartbeat",
            ],
            cwd=PROJECT_FOLDER, env=environment_of_subprocess(self.folder, self.redis_url),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self._wait_for("ready.")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.process.wait()
            self.reader.join()

    def run(self, task_name: str, *args, **kwargs) -> None:
        """Sends the task, and returns when the worker has done it; fails when the task does."""
        with self._connection() as broker:
            task_id = app.send_task(task_name, args, kwargs, connection=broker).id
        line = self._wait_for(f"[{task_id}] succeeded", f"[{task_id}] raised", "unregistered")
        assert "succeeded" in line, "".join(self.log)

    def wait_for_success(self, *, of: int) -> None:
        """Returns when so many jobs more are done; fails when one of them does."""
        for _job in range(of):
            line = self._wait_for("] succeeded", "] raised", "unregistered")
            assert "succeeded" in line, "".join(self.log)

    def _connection(self) -> kombu.Connection:
        if self.redis_url:
            return kombu.Connection(self.redis_url)
        queue_folder = str(self.folder / "celery" / "queue")
        options = {
            "data_folder_in": queue_folder,
            "data_folder_out": queue_folder,
            "control_folder": str(self.folder / "celery" / "control"),
        }
        return kombu.Connection("filesystem://", transport_options=options)

    def _read(self) -> None:
        with self.process.stdout as output:
            for line in output:
                self.log.append(line)
                self.lines.put(line)
        self.lines.put("")

    def _wait_for(self, *texts: str) -> str:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                line = ""
            if not line:
                raise AssertionError(
                    f"No {' or '.join(texts)} from the worker:\n" + "".join(self.log)
                )
            if any(text in line for text in texts):
                return line


def environment_of_subprocess(folder: Path, redis_url: str | None = None) -> dict[str, str]:
    """The environment of a process that works on this test's database and on nothing else of ours.

    It runs in the test mode, so that it needs neither SECRET_KEY nor ALLOWED_HOSTS, and keeps its
    files in `folder`.
    """
    variables = bare_environment() | {
        "NAIPLY_MODE": "test",
        "NAIPLY_LOCAL_FOLDER": str(folder),
        "DATABASE_URL": database_url(),
    }
    return variables | ({"REDIS_URL": redis_url} if redis_url else {})


def database_url() -> str:
    """The address of the database that this test uses."""
    settings = connection.settings_dict
    user = quote(settings["USER"], safe="")
    password = f":{quote(settings['PASSWORD'], safe='')}" if settings["PASSWORD"] else ""
    port = f":{settings['PORT']}" if settings["PORT"] else ""
    host = settings["HOST"] or ""
    folder = settings.get("OPTIONS", {}).get("host", "")  # of a Unix socket
    query = f"?host={quote(folder, safe='')}" if folder else ""
    name = quote(settings["NAME"], safe="")
    return f"postgresql://{user}{password}@{host}{port}/{name}{query}"
