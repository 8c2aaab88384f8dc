#!/usr/bin/env python
"""Django's command line. In development it starts the embedded database if need be."""

import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line

from naiply import embedded

# Whoever checks a download needs nothing but this program and the file.
WITHOUT_DATABASE = "replay_download"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "naiply.settings")
    kind = settings.EMBEDDED_DATABASE
    if kind is None or sys.argv[1:2] == [WITHOUT_DATABASE]:
        execute_from_command_line(sys.argv)
        return
    # The commands work whether or not `make run` is going: whoever leaves last stops the server.
    try:
        embedded.start(kind)
    except embedded.EmbeddedError as error:
        sys.exit(str(error))
    try:
        execute_from_command_line(sys.argv)
    finally:
        embedded.stop(kind)


if __name__ == "__main__":
    main()
