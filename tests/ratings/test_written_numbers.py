from decimal import Decimal

import pytest
from django.utils.translation import override

from ratings.written_numbers import read_decimal


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [
        ("en", "71.5", "71.5"),
        ("en", "71,5", "71.5"),
        ("es", "71,5", "71.5"),
        ("es", "71.5", "71.5"),
        ("es", "1.234", "1234"),
        ("en", "1.234", "1.234"),
        ("eu", "\u221212,30", "-12.30"),
        ("en", "0.1000000000000000000001", "0.1000000000000000000001"),
    ],
)
def test_decimals_are_read_exactly(language, text, number):
    with override(language):
        assert read_decimal(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "abc", "1e3", "Infinity", "NaN", "1,2,3", "\u0661"])
def test_what_is_no_decimal_is_none(text):
    assert read_decimal(text) is None
