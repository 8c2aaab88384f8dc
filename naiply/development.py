"""`make run`: the whole site from nothing, in one terminal, until Ctrl-C.

Starts the embedded database, brings its tables up to date, loads the demo and runs the web server
and the background worker. With DATABASE_URL set it does the same for production, without the
embedded database, the demo and the staff sign-in.
"""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

import django
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management import call_command, get_commands
from django.db import connection

from naiply import catalogs, embedded
from naiply.celery import app
from naiply.local import PROJECT_FOLDER, kept_secret, local_folder
from naiply.settings import EMBEDDED_DATABASE, env

HOST = "127.0.0.1"
STAFF_NAME = "staff"
START_SECONDS = 60
END_SECONDS = 12


class CannotRun(Exception):
    """One line for the terminal: what is wrong and what to do."""


def main() -> int:
    """Runs until a signal or until a process dies, and returns the exit code."""
    # Both signals become KeyboardInterrupt, which unwinds whatever step we are in.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            try:
                run(stack)
            finally:
                # A second Ctrl-C must not leave half of it running.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        say("Ended. The data is kept.")
        return 0
    except (CannotRun, embedded.EmbeddedError) as error:
        print(error, file=sys.stderr)
        return 1


def run(stack: ExitStack) -> None:
    is_development = not env.is_production
    children_lock = stack.enter_context(only_run_of_this_folder())
    listener = stack.enter_context(taken_port(env.port))
    if EMBEDDED_DATABASE:
        with step("Starting the database"):
            embedded.start(EMBEDDED_DATABASE)
        stack.callback(end_database)
    with step("Compiling the translations"):
        catalogs.compile_catalogs()
    django.setup()
    with step("Bringing the tables up to date"):
        call_command("migrate", verbosity=0, interactive=False)
    if env.is_production:
        with step("Collecting the static files"):
            call_command("collectstatic", verbosity=0, interactive=False)
    if env.demo and "load_demo" in get_commands():
        call_command("load_demo")  # shows its own progress
    staff = staff_sign_in() if is_development else None
    connection.close()

    children: dict[str, subprocess.Popen[bytes]] = {}
    stack.callback(end_children, children)
    with step("Starting the web server and the worker"):
        children["web server"] = start_child("web", listener, keep_open=[children_lock])
        children["worker"] = start_child("worker", keep_open=[children_lock])
        listener.close()
        address = f"http://{HOST}:{env.port}"
        wait_for_answer(address, children)
    if env.demo and not apps.get_model("ratings", "VerifyRun").objects.exists():
        # Else the page that shows what was found would be empty until the first night.
        app.send_task("ratings.tasks.check_games")
    connection.close()
    say(f"\nNaiply is at {address}/")
    if staff:
        say(f"Staff sign-in: {address}/admin/  {staff}")
    say("Ctrl-C ends it.")
    while True:
        check_alive(children)
        time.sleep(0.3)


# Steps that can be refused.


@contextmanager
def only_run_of_this_folder() -> Iterator[TextIO]:
    """Makes sure that nothing of another run is alive, and yields the lock that children keep.

    The first lock is the parent's: taken means that the site runs. The second is inherited by the
    children: taken means that a parent was killed and they are still ending.
    """
    with (
        (local_folder() / "run.lock").open("w") as run_lock,
        (local_folder() / "children.lock").open("w") as children_lock,
    ):
        if not lock(run_lock, seconds=0):
            raise CannotRun("Naiply already runs from this folder: use that one, or end it first.")
        if not lock(children_lock, seconds=0):
            with step("Waiting for the rest of a killed run to end"):
                if not lock(children_lock, seconds=END_SECONDS):
                    raise CannotRun("Processes of a killed run are still alive: end them first.")
        yield children_lock


def lock(file: TextIO, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.1)
        else:
            return True


@contextmanager
def taken_port(port: int) -> Iterator[socket.socket]:
    """The socket that the web server will listen on, taken early so that nobody else gets it."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with listener:
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise CannotRun(
                f"Port {port} cannot be used ({error.strerror}): end the program that has it, or "
                f"choose another as in: make run PORT={port + 1 if port < 65535 else port - 1}"
            ) from None
        yield listener


def staff_sign_in() -> str:
    """Makes the superuser of the demo if it is missing; says how to sign in."""
    users = get_user_model().objects
    password = kept_secret("staff-password", length=16)
    user = users.filter(username=STAFF_NAME).first()
    if user is None:
        user = users.create_superuser(username=STAFF_NAME, password=password)
    shown = password if user.check_password(password) else "as you changed it"
    return f"name: {STAFF_NAME}  password: {shown}"


# The two processes.


def start_child(
    name: str, listener: socket.socket | None = None, *, keep_open: list[TextIO]
) -> subprocess.Popen[bytes]:
    handles = [file.fileno() for file in (listener, *keep_open) if file is not None]
    arguments = [str(listener.fileno())] if listener else []
    return subprocess.Popen(
        [sys.executable, "-m", "naiply.processes", name, *arguments],
        cwd=PROJECT_FOLDER,
        stdin=subprocess.PIPE,  # they end when it does, see naiply.processes
        pass_fds=handles,
        start_new_session=True,  # the terminal's Ctrl-C is for us, who end them in order
    )


def wait_for_answer(address: str, children: dict[str, subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        check_alive(children)
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=1):  # noqa: S310
                return
        except (OSError, urllib.error.URLError):
            if time.monotonic() > deadline:
                raise CannotRun(f"{address} did not answer in {START_SECONDS} seconds.") from None
            time.sleep(0.1)


def check_alive(children: dict[str, subprocess.Popen[bytes]]) -> None:
    for name, child in children.items():
        code = child.poll()
        if code is not None:
            raise CannotRun(f"The {name} ended by itself (exit code {code}); the rest ends too.")


def end_children(children: dict[str, subprocess.Popen[bytes]]) -> None:
    say("\nEnding")
    for child in children.values():
        if child.poll() is None:
            child.terminate()
    deadline = time.monotonic() + END_SECONDS
    for name, child in children.items():
        try:
            child.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            say(f"The {name} does not end; killing it.")
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if child.stdin:
            child.stdin.close()


def end_database() -> None:
    connection.close()
    if EMBEDDED_DATABASE:
        embedded.stop(EMBEDDED_DATABASE)


# What the terminal shows.


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Says what is being done, and how long it took."""
    print(f"{text} ...", end="", flush=True)
    started = time.monotonic()
    try:
        yield
    except BaseException:
        print(flush=True)
        raise
    say(f" {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "naiply.settings")
    sys.exit(main())
