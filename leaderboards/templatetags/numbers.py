"""Numbers as people read them, in the reader's language.

Ratings are stored exactly and rounded only here, by Python's round (half to even, as the board's
generated columns do). `floatformat` rounds halves up and is not for ratings.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

MINUS = "\u2212"


@register.filter
def rating(value: float) -> str:
    """A rating as the whole number that is shown of it."""
    return _signed(round(value), 0)


@register.filter
def decimals(value: float, places: int) -> str:
    """A number with so many decimals, such as sigma or an expected score."""
    return _signed(round(value, places), places)


@register.filter
def percent(value: float) -> str:
    """A share, 0 to 1, in whole per cent."""
    return _signed(round(value * 100), 0)


@register.filter
def change(value: float, places: int = 1) -> str:
    """A change of a rating with its sign; 0 for none, and for what would show as none."""
    rounded = round(value, places)
    if rounded == 0:
        return "0"
    return ("+" if rounded > 0 else "") + _signed(rounded, places)


@register.filter
def direction(value: float) -> str:
    """up, down or same: the way a change goes as it is shown."""
    rounded = round(value, 1)
    return "up" if rounded > 0 else "down" if rounded < 0 else "same"


@register.filter
def size(value: float) -> str:
    """A change without its sign, for a sentence that says which way it went."""
    return _signed(abs(round(value, 1)), 1)


@register.filter
def points(value: Decimal) -> str:
    """The points of a match, with as many decimals as they have."""
    places = max(0, -int(value.normalize().as_tuple().exponent))
    return _signed(value, places)


@register.filter
def machine(value: Any) -> SafeString:
    """A whole number for a URL or an attribute: digits only, whatever the language."""
    return mark_safe(str(int(value)))  # noqa: S308 - nothing but digits and a sign


def _signed(value: float | Decimal | Fraction, places: int) -> str:
    if isinstance(value, Fraction):
        value = float(value)
    text = number_format(abs(value), decimal_pos=places, use_l10n=True, force_grouping=True)
    return MINUS + text if value < 0 else text
