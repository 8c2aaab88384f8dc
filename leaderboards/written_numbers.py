"""Numbers as people write them into a form, in the habits of the language they read."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from leaderboards.templatetags.numbers import decimals
from ratings.written_numbers import read_decimal

LONGEST = 30


def read_number(text: str) -> float | None:
    """The number that the text stands for in the reader's language; None where it is none."""
    number = read_decimal(text)
    return None if number is None else float(number)


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
