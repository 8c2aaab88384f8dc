"""The name of the rules and of the mathematics library."""

import os
import re
import subprocess
import sys
from hashlib import blake2b
from math import exp, inf, nextafter
from pathlib import Path
from struct import pack

import pytest

from ratings.systems import engine as engine_module
from ratings.systems.engine import RULES, engine

PROJECT_FOLDER = Path(__file__).resolve().parents[3]


def test_engine_form():
    assert re.fullmatch(r"1-[0-9a-f]{12}", engine())
    assert engine().startswith(f"{RULES}-")


def test_engine_in_another_process():
    """Stored names are compared by processes that never met."""
    command = [sys.executable, "-c", "from ratings.systems.engine import engine; print(engine())"]
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(PROJECT_FOLDER)}

    printed = subprocess.run(
        command, env=environment, cwd=PROJECT_FOLDER, check=True, capture_output=True, text=True
    ).stdout

    assert printed.strip() == engine()


def test_engine_of_these_rules():
    """A changed recipe would look like another mathematics library on every machine."""
    digest = blake2b(digest_size=6)
    for step in range(2000):
        digest.update(pack("<d", exp(-step / 37.0)))
        digest.update(pack("<d", 10.0 ** ((step - 1000) / 173.0)))

    assert engine() == f"1-{digest.hexdigest()}"


@pytest.mark.parametrize("wrong_at", [0.0, -1.0, -1999 / 37.0])
def test_engine_of_another_library(monkeypatch, wrong_at):
    """One last bit of one exp is enough."""

    def other_exp(x):
        return nextafter(exp(x), inf) if x == wrong_at else exp(x)

    monkeypatch.setattr(engine_module, "exp", other_exp)

    assert engine.__wrapped__() != engine()
