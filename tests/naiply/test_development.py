"""`make run`, as the process that it starts, with an embedded database of its own."""

import contextlib
import fcntl
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from naiply import development, embedded
from naiply.local import PROJECT_FOLDER
from tests.mode import bare_environment

SECONDS = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the runs of a test keep everything, the database included."""
    monkeypatch.setenv("NAIPLY_LOCAL_FOLDER", str(tmp_path / "local"))
    yield tmp_path / "local"
    embedded.remove("development")


@pytest.fixture
def start(folder):
    """A function that starts a run. Whatever a failed test leaves of them is killed."""
    runs = []

    def start_run(port):
        runs.append(Run(folder, port))
        return runs[-1]

    yield start_run
    for run in runs:
        run.kill()


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Run:
    """A run in a process of its own; what it prints is kept line by line."""

    def __init__(self, folder, port):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "naiply.development"],
            cwd=PROJECT_FOLDER,
            env=bare_environment()
            | {
                "NAIPLY_LOCAL_FOLDER": str(folder),
                "PORT": str(port),
                "DEMO": "0",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = queue.Queue()
        self.output = ""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with self.process.stdout as output:
            for line in output:
                self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, text):
        """Returns once a line holds the text."""
        while True:
            line = self.lines.get(timeout=SECONDS)
            assert line is not None, f"{text} was never printed:\n{self.output}"
            self.output += line
            if text in line:
                return

    def wait_for_end(self):
        """Returns the exit code, once nobody of the run can print any more."""
        code = self.process.wait(timeout=SECONDS)
        self.reader.join(timeout=SECONDS)
        assert not self.reader.is_alive(), "a process of the run is still alive"
        while (line := self.lines.get()) is not None:
            self.output += line
        return code

    def kill(self):
        for pid in (*self.children().values(), self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def children(self):
        """The process ids of the web server and the worker, by name."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().split(b"\0")
                parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == self.process.pid and b"naiply.processes" in command:
                found[command[3].decode()] = int(process.name)
        return found


def is_serving(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as response:
        return response.read() == b"ready\n"


def staff_sign_in(output):
    return re.search(r"name: (\S+)  password: (\S{16})$", output, re.MULTILINE).groups()


def test_run_serves_until_interrupted_and_can_start_again(start, port):
    first = start(port)
    first.wait_for("Ctrl-C ends it")
    assert is_serving(port)
    assert f"Naiply is at http://127.0.0.1:{port}/\n" in first.output
    assert "Traceback" not in first.output

    # A second one from the same folder, whatever its port, would run the weekly job twice.
    second = start(port)
    assert second.wait_for_end() == 1
    assert second.output == (
        "Naiply already runs from this folder: use that one, or end it first.\n"
    )

    first.process.send_signal(signal.SIGINT)
    assert first.wait_for_end() == 0
    assert first.output.endswith("Ended. The data is kept.\n")
    assert "Warning" not in first.output

    again = start(port)
    again.wait_for("Ctrl-C ends it")
    assert staff_sign_in(again.output) == staff_sign_in(first.output)
    again.process.send_signal(signal.SIGTERM)
    assert again.wait_for_end() == 0


def test_run_after_a_killed_one_and_the_death_of_a_child(start, port):
    killed = start(port)
    killed.wait_for("Ctrl-C ends it")
    killed.process.kill()

    # The children notice, and the next run waits for them: the port and the jobs are theirs.
    run = start(port)
    run.wait_for("Ctrl-C ends it")
    assert is_serving(port)
    killed.wait_for_end()

    os.kill(run.children()["web"], signal.SIGKILL)
    assert run.wait_for_end() == 1
    assert "The web server ended by itself (exit code -9); the rest ends too.\n" in run.output


def test_run_does_not_start_beside_what_is_left_of_another(folder, monkeypatch):
    monkeypatch.setattr(development, "END_SECONDS", 0.2)
    folder.mkdir()
    with (folder / "children.lock").open("w") as left_over:
        fcntl.flock(left_over, fcntl.LOCK_EX)

        with (
            pytest.raises(development.CannotRun, match="still alive"),
            development.only_run_of_this_folder(),
        ):
            pytest.fail("it started")


def test_taken_port_is_one_line(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        run = start(port)

        assert run.wait_for_end() == 1
    assert run.output == (
        f"Port {port} cannot be used (Address already in use): end the program that has it, or "
        f"choose another as in: make run PORT={port + 1}\n"
    )


def test_folder_that_cannot_be_written_is_one_line(tmp_path, port):
    (tmp_path / "file").touch()

    run = Run(tmp_path / "file" / "local", port)

    assert run.wait_for_end() == 1
    assert run.output.startswith("Cannot write to ")
    assert run.output.count("\n") == 1
