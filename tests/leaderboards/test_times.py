from datetime import UTC, datetime

import pytest
from django.utils.translation import override

from leaderboards.templatetags.times import day, moment, short_day


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


def test_month_follows_the_language():
    with override("es"):
        assert ">1 ago 2026</time>" in day(datetime(2026, 8, 1, 12, tzinfo=UTC))
