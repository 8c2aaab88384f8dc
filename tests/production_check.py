"""`manage.py check --deploy` with production settings, for `make lint`.

Some of Django's checks ask the server for its version, so there has to be one: DATABASE_URL where
that is set, else the embedded test server.
"""

import os
import secrets
import subprocess
import sys

from naiply import embedded
from tests.mode import bare_environment


def main() -> int:
    database_url = os.environ.get("DATABASE_URL") or embedded.start("test")
    try:
        return subprocess.run(
            [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
            env=bare_environment()
            | {
                "DATABASE_URL": database_url,
                "SECRET_KEY": secrets.token_urlsafe(50),
                "ALLOWED_HOSTS": "naiply.test",
            },
            check=False,
        ).returncode
    finally:
        embedded.stop("test")


if __name__ == "__main__":
    sys.exit(main())
