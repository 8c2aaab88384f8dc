from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template
from django.utils.translation import override

from leaderboards.templatetags.numbers import (
    change,
    decimals,
    direction,
    machine,
    percent,
    points,
    rating,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1199.5, "1,200"),
        (1200.5, "1,200"),  # half to even, as the board's generated columns round
        (1201.5, "1,202"),
        (1802.897, "1,803"),
        (0.0, "0"),
        (-0.4, "0"),
        (-6.0, "−6"),
        (-1252.0, "−1,252"),
        (12500, "12,500"),
    ],
)
def test_rating_is_a_whole_number(value, shown):
    assert rating(value) == shown


@pytest.mark.parametrize(
    ("value", "shown", "way"),
    [
        (0.0, "0", "same"),
        (-0.0, "0", "same"),
        (0.04, "0", "same"),
        (-0.04, "0", "same"),
        (-0.05, "−0.1", "down"),
        (0.897, "+0.9", "up"),
        (16.0, "+16.0", "up"),
        (-29.0909, "−29.1", "down"),
        (1234.56, "+1,234.6", "up"),
    ],
)
def test_change_has_a_sign_and_one_decimal(value, shown, way):
    assert change(value) == shown
    assert direction(value) == way


@pytest.mark.parametrize(
    ("value", "shown", "words"),
    [
        (0.0, "0", "no change"),
        (-0.04, "0", "no change"),
        (12.25, "+12.2", "up 12.2"),
        (-0.897, "−0.9", "down 0.9"),
    ],
)
def test_change_is_said_in_words_too(value, shown, words):
    html = Template('{% include "includes/change.html" %}').render(Context({"value": value}))

    assert f"{shown}</span>" in html
    assert f'<span class="visually-hidden">{words}</span>' in html


def test_numbers_follow_the_language():
    with override("es"):
        assert rating(1500) == "1\u00a0500"
        assert rating(-1500) == "−1\u00a0500"
        assert change(1234.5) == "+1\u00a0234,5"
        assert decimals(2.875, 2) == "2,88"
        assert machine(1234567) == "1234567"


def test_percent_is_whole():
    assert percent(0.2402530733520421) == "24"
    assert percent(1.0) == "100"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("71.00", "71"), ("7.50", "7.5"), ("-12.25", "−12.25"), ("0.00", "0"), ("1200.00", "1,200")],
)
def test_points_have_the_decimals_they_need(value, shown):
    assert points(Decimal(value)) == shown


def test_floatformat_touches_nothing():
    """It rounds halves up, and would show another whole number than the board."""
    folders = [*settings.TEMPLATES[0]["DIRS"], settings.BASE_DIR / "leaderboards"]
    used = [
        str(path)
        for folder in folders
        for path in Path(folder).rglob("*.html")
        if "floatformat" in path.read_text()
    ]

    assert used == []


@pytest.mark.parametrize(
    ("language", "whole", "large", "decimal", "moved"),
    [
        ("en", "1,500", "12,500", "1,234.5", "−1,234.6"),
        ("es", "1\u00a0500", "12\u00a0500", "1\u00a0234,5", "−1\u00a0234,6"),
        ("ca", "1.500", "12.500", "1.234,5", "−1.234,6"),
        ("gl", "1.500", "12.500", "1.234,5", "−1.234,6"),
        ("eu", "1.500", "12.500", "1.234,5", "−1.234,6"),
    ],
)
def test_numbers_are_written_as_each_language_does(language, whole, large, decimal, moved):
    with override(language):
        assert rating(1500) == whole
        assert rating(12500) == large
        assert decimals(1234.5, 1) == decimal
        assert change(-1234.56) == moved
        assert change(0) == "0"
        assert points(Decimal("71.50")) == f"71{decimal[-2]}5"
        assert machine(12500) == "12500"
