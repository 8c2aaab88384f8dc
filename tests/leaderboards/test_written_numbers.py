from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from leaderboards.templatetags.numbers import decimals, rating
from leaderboards.written_numbers import WrittenNumber, read_number


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [
        ("en", "1200", 1200),
        ("en", "1,200", 1200),
        ("en", "1,234.5", 1234.5),
        ("en", "1.234,5", 1234.5),
        ("en", "1.234", 1.234),
        ("en", "8.333", 8.333),
        ("en", "1234,5", 1234.5),
        ("en", "0,125", 0.125),
        ("en", "1,234,567.25", 1234567.25),
        ("es", "1.200", 1200),
        ("es", "1.234,5", 1234.5),
        ("es", "1,234.5", 1234.5),
        ("es", "1\u00a0234,5", 1234.5),
        ("es", "1\u202f234,5", 1234.5),
        ("es", "1 234", 1234),
        ("es", "8,333", 8.333),
        ("es", "25.5", 25.5),
        ("es", "1.234.567", 1234567),
        ("en", "\u2212100", -100),
        ("es", "\u22121.000", -1000),
        ("en", "-1,000", -1000),
        ("en", "+16", 16),
        ("en", " 1200 ", 1200),
        ("en", "1'200", 1200),
        ("en", ".5", 0.5),
        ("es", ",5", 0.5),
        ("en", "12.", 12),
    ],
)
def test_numbers_are_read_as_people_write_them(language, text, number):
    with override(language):
        assert read_number(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "", "abc", "1e400", "1e3", "inf", "nan", "0x10", "1,2,3", "1.2.3", "1,23,456", "12,34.5",
        "1..2", "--1", "1-", ".", ",", "-", "+", "\u0661\u0662", "\u00b2", "1_000", "1/2", "12 %",
        "<b>1</b>", "1,234,56.7", "NULL",
    ],
)  # fmt: skip
def test_what_is_no_number_is_none(text):
    assert read_number(text) is None


@given(
    language=st.sampled_from(["en", "es", "ca", "gl", "eu"]),
    hundredths=st.integers(-99_999_999, 99_999_999),
)
def test_what_the_site_writes_is_read_back(language, hundredths):
    number = Decimal(hundredths) / 100

    with override(language):
        assert read_number(decimals(number, 2)) == float(number)
        assert read_number(rating(number)) == round(number)


@given(text=st.text(max_size=40))
def test_no_text_breaks_it(text):
    number = read_number(text)

    assert number is None or abs(number) < 1e40


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "“x” is not a number. Write it like 1,234.5."),
        ("5001", "5,001 does not fit: give −1,000 to 5,000."),
        ("-1001", "−1,001 does not fit: give −1,000 to 5,000."),
    ],
)
def test_field_says_kindly_what_would_be_right(text, words):
    field = WrittenNumber(lowest=-1000, highest=5000)

    with pytest.raises(ValidationError) as caught:
        field.clean(text)

    assert caught.value.messages == [words]


def test_bounds_are_allowed_but_where_more_is_asked():
    closed = WrittenNumber(lowest=-1000, highest=5000)
    above = WrittenNumber(lowest=0, highest=25 / 3, above=True, places=4)

    assert (closed.clean("-1000"), closed.clean("5000"), closed.clean("")) == (-1000, 5000, None)
    assert above.clean("8.3333") == 8.3333
    with pytest.raises(ValidationError, match=r"give more than 0, 8\.3333 at most"):
        above.clean("0")
    with pytest.raises(ValidationError, match=r"8\.3340 does not fit"):
        above.clean("8.334")


def test_refusal_shows_the_number_as_it_was_read():
    """In Spanish 8.333 is eight thousand and more: the reader has to see that."""
    field = WrittenNumber(lowest=0, highest=25 / 3, above=True, places=4)

    with override("es"), pytest.raises(ValidationError) as caught:
        field.clean("8.333")

    with override("es"):
        assert decimals(8333, 4) in caught.value.messages[0]
