"""The folder `.local`: what this checkout makes for itself and git never sees.

It holds the embedded database, the queue of the file broker, collected static files and the
secrets of the development mode. NAIPLY_LOCAL_FOLDER moves it, for a read-only installation.
"""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

PROJECT_FOLDER = Path(__file__).resolve().parent.parent


def local_folder() -> Path:
    """The folder, made if it is missing. OSError where that is not possible."""
    folder = Path(os.environ.get("NAIPLY_LOCAL_FOLDER") or PROJECT_FOLDER / ".local").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def kept_secret(name: str, *, length: int) -> str:
    """The secret kept under this name, made at random the first time; only we may read the file."""
    path = local_folder() / name
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    # Written whole under another name, then linked: a second process that starts at the same
    # moment finds either no file or a complete one, and both end up with the same secret.
    handle, draft = tempfile.mkstemp(dir=path.parent)  # mode 600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(length)[:length])
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        Path(draft).unlink()
    return path.read_text().strip()
