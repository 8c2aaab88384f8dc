"""Chooses the mode of the settings for the tests.

Loaded by pytest's `-p` option (pyproject.toml) because pytest-django reads the settings before any
conftest.py. A SECRET_KEY or the like of the surrounding shell is none of the tests' business.
"""

import os

os.environ["NAIPLY_MODE"] = "test"
for name in (
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "DEBUG",
    "LANGUAGE_CODE",
    "NAIPLY_HTTPS_HEADER",
    "REDIS_URL",
    "SECRET_KEY",
    "STATIC_ROOT",
    "THREADS",
):
    os.environ.pop(name, None)
