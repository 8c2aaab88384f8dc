"""Numbers as people write them into a form, in the habits of the language they read."""

from __future__ import annotations

import re

from django import forms
from django.core.exceptions import ValidationError
from django.utils.formats import get_format
from django.utils.translation import gettext

from leaderboards.templatetags.numbers import decimals

LONGEST = 30

# What people and the site itself put between groups of three digits: blanks of any width.
BLANKS = re.compile(r"[\s\u00a0\u2007\u2009\u202f]+")
MINUSES = str.maketrans("\u2212\u2013\u2010\u2011\uff0d", "-----")
APOSTROPHES = str.maketrans("", "", "'\u2019")

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")


def read_number(text: str) -> float | None:
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
    return float(text) if NUMBER.fullmatch(text) else None


class WrittenNumber(forms.CharField):
    """A number between two bounds, both allowed but where `above` is set: then more than that."""

    def __init__(
        self, *, lowest: float, highest: float, above: bool = False, places: int = 0, **kwargs
    ) -> None:
        self.lowest, self.highest, self.above, self.places = lowest, highest, above, places
        super().__init__(max_length=LONGEST, required=False, **kwargs)

    def clean(self, value: str) -> float | None:
        text = super().clean(value)
        if not text:
            return None
        number = read_number(text)
        if number is None:
            raise ValidationError(
                gettext("“%(text)s” is not a number. Write it like %(example)s.")
                % {"text": text, "example": decimals(1234.5, 1)},
                code="not_a_number",
            )
        is_low = number <= self.lowest if self.above else number < self.lowest
        if is_low or number > self.highest:
            raise ValidationError(self._bounds(number), code="out_of_bounds")
        return number

    def _bounds(self, number: float) -> str:
        words = {
            "number": decimals(number, self.places),
            "lowest": decimals(self.lowest, 0),
            "highest": decimals(self.highest, self.places),
        }
        if self.above:
            return (
                gettext("%(number)s does not fit: give more than %(lowest)s, %(highest)s at most.")
                % words
            )
        return gettext("%(number)s does not fit: give %(lowest)s to %(highest)s.") % words
