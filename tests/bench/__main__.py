"""Runs the benchmarks on a database of their own and prints, or writes, the report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
import psycopg
from django.core.management import call_command
from django.db import connection

from naiply import embedded

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
DATABASE = "naiply_bench"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the sizes that the design names")
    parser.add_argument("--write", action="store_true", help=f"write docs/{PAGE.name}")
    parser.add_argument("--only", default="", help="only the benchmarks whose name holds this")
    options = parser.parse_args()

    with own_database():
        # Not before Django knows its database.
        from tests.bench import cases, data, measure

        figures = []
        for case in cases.ALL:
            if options.only in case.__name__:
                print(f"{case.__name__} ...", file=sys.stderr, flush=True)
                data.empty()
                figures.extend(case(full=options.full))
        text = measure.report(figures, size="full" if options.full else "small")
    print(text)
    if options.write:
        PAGE.write_text(text)


@contextmanager
def own_database() -> Iterator[None]:
    """An empty database on the durable server of `make run`, which may be running beside."""
    os.environ["NAIPLY_MODE"] = "development"
    address = embedded.start("development")
    server = psycopg.connect(address, autocommit=True)
    try:
        server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {DATABASE}")
        os.environ["DATABASE_URL"] = address.replace(f"/{embedded.DATABASE_NAME}?", f"/{DATABASE}?")
        os.environ["DJANGO_SETTINGS_MODULE"] = "naiply.settings"
        django.setup()
        call_command("migrate", verbosity=0)
        yield
    finally:
        connection.close()
        server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        server.close()
        embedded.stop("development")


if __name__ == "__main__":
    main()
