"""What number a text stands for, in the habits of the language its writer reads."""

from __future__ import annotations

import re
from decimal import Decimal

from django.utils.formats import get_format

# What people and the site itself put between groups of three digits: blanks of any width.
BLANKS = re.compile(r"[\s\u00a0\u2007\u2009\u202f]+")
MINUSES = str.maketrans("\u2212\u2013\u2010\u2011\uff0d", "-----")
APOSTROPHES = str.maketrans("", "", "'\u2019")

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")


def read_decimal(text: str) -> Decimal | None:
    """The number that the text stands for in the reader's language; None where it is none.

    Of a point and a comma the last is the decimal sign, and one that comes twice groups digits.
    Only a single one that could be either is read by the language: 1.234 is more than a thousand
    where decimals have a comma, and little more than one elsewhere.
    """
    text = BLANKS.sub("", text.translate(MINUSES).translate(APOSTROPHES))
    points, commas = text.count("."), text.count(",")
    if points and commas:
        decimal = max(".,", key=text.rfind)
    elif points + commas == 1:
        decimal = get_format("DECIMAL_SEPARATOR")
    else:
        decimal = "," if points else "."
    if decimal == ",":
        text = text.translate(str.maketrans(",.", ".,"))
    # From here on a point is decimal and a comma groups, or would: 1,5 cannot be grouped digits.
    whole, point, fraction = text.partition(".")
    if GROUPS.fullmatch(whole):
        text = whole.replace(",", "") + point + fraction
    elif commas + points == 1:
        text = text.replace(",", ".")
    return Decimal(text) if NUMBER.fullmatch(text) else None
