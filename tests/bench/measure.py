"""How a figure is taken, and how it is written down."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report: what was measured, beside what, and what the design asks for."""

    what: str
    measured: str
    beside: str
    ratio: float
    target: str
    is_met: bool


def seconds(job: Callable[[], object], *, runs: int = 1) -> float:
    """The median wall time of some runs."""
    times = []
    for _ in range(runs):
        gc.collect()
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def worst_sql_milliseconds(jobs: Sequence[Callable[[], object]], *, runs: int = 5) -> float:
    """The time that the slowest of some jobs spends in its queries, each taken at its median."""
    return max(statistics.median(_sql_seconds(job) for _ in range(runs)) for job in jobs) * 1000


def _sql_seconds(job: Callable[[], object]) -> float:
    spent = 0.0

    def take_time(execute, sql, params, many, context):
        nonlocal spent
        begin = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            spent += time.perf_counter() - begin

    with connection.execute_wrapper(take_time):
        job()
    return spent


def report(figures: list[Figure], *, size: str) -> str:
    """The figures as a page of Markdown."""
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench` (`ARGS=--full`: the full sizes, `ARGS=--write`: write this page).",
        "Absolute times belong to the machine named below; the ratios travel.",
        "",
        f"- {datetime.now(UTC):%Y-%m-%d}, {size} size",
        f"- {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"PostgreSQL {connection.pg_version // 10000}.{connection.pg_version % 10000}",
        "",
        "| what | measured | beside | ratio | target | met |",
        "|---|---|---|---|---|---|",
        *(
            f"| {figure.what} | {figure.measured} | {figure.beside} | {figure.ratio:.2f} "
            f"| {figure.target} | {'yes' if figure.is_met else '**no**'} |"
            for figure in figures
        ),
    ]
    return "\n".join(lines) + "\n"
