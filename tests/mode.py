"""Chooses the mode of the settings for the tests.

Loaded by pytest's `-p` option (pyproject.toml) because pytest-django reads the settings before any
conftest.py. A SECRET_KEY or the like of the surrounding shell is none of the tests' business.
"""

import os

OURS = (
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "DEBUG",
    "LANGUAGE_CODE",
    "NAIPLY_HTTPS_HEADER",
    "REDIS_URL",
    "SECRET_KEY",
    "STATIC_ROOT",
    "THREADS",
)

for name in OURS:
    os.environ.pop(name, None)
os.environ["NAIPLY_MODE"] = "test"


def bare_environment() -> dict[str, str]:
    """The environment without anything that the settings read, for a process that starts anew."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in (*OURS, "DATABASE_URL", "DEMO", "PORT") and not name.startswith("NAIPLY_")
    }
