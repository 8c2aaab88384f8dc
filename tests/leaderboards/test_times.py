from datetime import UTC, datetime

import pytest
from django.utils.formats import date_format
from django.utils.translation import override

from leaderboards.templatetags.times import (
    MONTHS_IN_A_DATE,
    day,
    moment,
    plain_day,
    short_day,
)


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (datetime(2026, 11, 29, 18, tzinfo=UTC), "29 Nov 2026, 19:00 CET"),
        (datetime(2026, 7, 6, 20, 30, tzinfo=UTC), "6 Jul 2026, 22:30 CEST"),
    ],
)
def test_moment_is_madrids_with_the_zone_named(at, shown):
    assert f">{shown}</time>" in moment(at)
    assert f'datetime="{at:%Y-%m-%dT%H:%M:%S}Z"' in moment(at)


def test_day_is_that_of_madrid():
    assert ">1 Aug 2026</time>" in day(datetime(2026, 7, 31, 22, tzinfo=UTC))


def test_short_day_is_that_of_madrid_for_machines_too():
    late = datetime(2026, 7, 31, 22, tzinfo=UTC)

    assert short_day(late) == '<time datetime="2026-08-01">1 Aug 2026</time>'


def test_moment_for_machines_has_seconds_only():
    assert 'datetime="2026-07-31T22:00:59Z"' in moment(
        datetime(2026, 7, 31, 22, 0, 59, 123456, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("language", "in_full", "in_short"),
    [
        ("en", "2 Aug 2026, 14:00 CEST", "2 Aug 2026"),
        ("es", "2 de agosto de 2026, 14:00 CEST", "2 ago 2026"),
        ("ca", "2 d’agost de 2026, 14:00 CEST", "2 ago. 2026"),
        ("gl", "2 de agosto de 2026, 14:00 CEST", "2 ago 2026"),
        ("eu", "2026/08/02, 14:00 CEST", "2026/08/02"),
    ],
)
def test_date_is_written_as_the_language_does(language, in_full, in_short):
    at = datetime(2026, 8, 2, 12, tzinfo=UTC)

    with override(language):
        assert f">{in_full}</time>" in moment(at)
        assert f">{in_short}</time>" in short_day(at)
        assert plain_day(at) == in_short


@pytest.mark.parametrize(
    ("language", "months"),
    [
        ("es", ["de enero", "de febrero", "de marzo", "de abril"]),
        ("ca", ["de gener", "de febrer", "de març", "d’abril"]),
        ("gl", ["de xaneiro", "de febreiro", "de marzo", "de abril"]),
        ("eu", ["urtarrilaren", "otsailaren", "martxoaren", "apirilaren"]),
    ],
)
def test_month_stands_in_a_date_as_the_language_wants(language, months):
    with override(language):
        assert [str(month) for month in MONTHS_IN_A_DATE[:4]] == months
        assert len({str(month) for month in MONTHS_IN_A_DATE}) == 12


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("ca", "2 d’agost de 2026"),
        ("gl", "2 de agosto de 2026"),
        ("es", "2 de agosto de 2026"),
        ("eu", "2026/08/02"),
    ],
)
def test_date_of_django_itself_is_written_as_the_language_does(language, shown):
    with override(language):
        assert date_format(datetime(2026, 8, 2)) == shown
