"""Which rules, on which mathematics library, computed a number.

IEEE 754 fixes +, -, *, / and sqrt to the last bit, but not exp and pow. Where two machines agree
on this name they agree on every rating; where they do not, only to about 1e-9.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from math import exp
from struct import pack

RULES = 1
"""Grows with every change of a rule or of the order of arithmetic."""


@cache
def engine() -> str:
    """The rules' version and a digest of fixed exp and pow results, such as `1-3f9c0a21d4e8`."""
    digest = blake2b(digest_size=6)
    for step in range(2000):
        digest.update(pack("<dd", exp(-step / 37.0), 10.0 ** ((step - 1000) / 173.0)))
    return f"{RULES}-{digest.hexdigest()}"
