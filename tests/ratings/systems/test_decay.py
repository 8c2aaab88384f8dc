"""Decay: a function of time, of Mondays 00:00 UTC after thirty days."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.systems.decay import (
    GRACE,
    STEP,
    current_monday,
    monday,
    sigma_at,
    steps,
    steps_of,
    weeks,
)
from ratings.systems.openskill import Parameters, displayed_rating
from tests.ratings.systems.strategies import STARTING_SIGMA, repeatable, sigmas

MADRID = ZoneInfo("Europe/Madrid")
MICROSECOND = timedelta(microseconds=1)
LAST = datetime(2026, 9, 1, 12, tzinfo=UTC)  # A Tuesday; thirty days later is Thursday, October 1.
moments = st.datetimes(datetime(1950, 1, 1), datetime(2080, 1, 1), timezones=st.just(UTC))


def utc(*numbers):
    return datetime(*numbers, tzinfo=UTC)


def test_step():
    assert STEP.hex() == (0.26 * 7 / 30).hex()
    assert pytest.approx(0.060666666666666667, rel=1e-15) == STEP
    assert timedelta(days=30) == GRACE


@pytest.mark.parametrize(
    ("at", "count"),
    [
        (utc(1970, 1, 5), 0),
        (utc(1970, 1, 5) - MICROSECOND, -1),
        (utc(1970, 1, 12) - MICROSECOND, 0),
        (utc(1970, 1, 12), 1),
        (utc(1969, 12, 29), -1),
        (utc(2026, 10, 5), 2961),
    ],
)
def test_weeks_count_mondays(at, count):
    assert weeks(at) == count


def test_monday_of_a_week():
    assert monday(0) == utc(1970, 1, 5)
    assert monday(2961) == utc(2026, 10, 5)
    assert monday(-1) == utc(1969, 12, 29)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (utc(2026, 10, 5), utc(2026, 10, 5)),
        (utc(2026, 10, 5) - MICROSECOND, utc(2026, 9, 28)),
        (utc(2026, 10, 11, 23, 59, 59), utc(2026, 10, 5)),
        # In Madrid it is Monday already, in UTC it is not; and the other way round.
        (datetime(2026, 10, 5, 1, 30, tzinfo=MADRID), utc(2026, 9, 28)),
        (datetime(2026, 10, 4, 22, tzinfo=timezone(timedelta(hours=-5))), utc(2026, 10, 5)),
    ],
)
def test_current_monday(at, expected):
    assert current_monday(at) == expected
    assert current_monday(at).utcoffset() == timedelta(0)


def test_current_monday_of_now():
    before = datetime.now(UTC)

    found = current_monday()

    assert found.weekday() == 0
    assert found <= datetime.now(UTC)
    assert before - found < timedelta(days=7)


@repeatable
@given(moments)
def test_current_monday_is_the_last_one(at):
    found = current_monday(at)

    assert found <= at < found + timedelta(days=7)
    assert (found.weekday(), found.hour, found.minute, found.second) == (0, 0, 0, 0)
    assert found.microsecond == 0


@pytest.mark.parametrize(
    ("at", "count"),
    [
        (LAST, 0),
        (LAST - timedelta(days=100), 0),
        (LAST + GRACE, 0),
        (utc(2026, 10, 5) - MICROSECOND, 0),
        (utc(2026, 10, 5), 1),
        (utc(2026, 10, 5) + MICROSECOND, 1),
        (utc(2026, 10, 12) - MICROSECOND, 1),
        (utc(2026, 10, 12), 2),
        (utc(2027, 10, 4), 53),
    ],
)
def test_steps_at_the_edges_of_a_week(at, count):
    assert steps(LAST, at) == count


@pytest.mark.parametrize(
    ("last", "count"),
    [
        # Thirty days before Monday, October 5, 2026 is Saturday, September 5.
        (utc(2026, 9, 5) - MICROSECOND, 1),
        (utc(2026, 9, 5), 0),
        (utc(2026, 9, 5) + MICROSECOND, 0),
    ],
)
def test_steps_where_the_grace_ends_on_a_monday(last, count):
    assert steps(last, utc(2026, 10, 5)) == count
    assert steps(last, utc(2026, 10, 12)) == count + 1


@repeatable
@given(moments, moments)
def test_steps_count_mondays_one_by_one(last, other):
    at = last + (other - last) / 50  # Not more than a few years.

    count = 0
    day = datetime(last.year, last.month, last.day, tzinfo=UTC)
    while day <= at:
        count += day.weekday() == 0 and last + GRACE < day
        day += timedelta(days=1)
    assert steps(last, at) == count


def test_steps_before_1970():
    assert steps(utc(1950, 1, 24), utc(1951, 1, 24)) == 48


@repeatable
@given(
    moments,
    st.timedeltas(GRACE, timedelta(days=2000)),
    st.timedeltas(timedelta(0), timedelta(days=2000)),
)
def test_steps_are_additive_in_time(last, pause, more):
    at = last + pause

    assert steps(last, at + more) == steps(last, at) + weeks(at + more) - weeks(at)


@pytest.mark.parametrize(
    ("last", "at"),
    [
        # The grace ends on the Sunday before, half an hour before midnight UTC. Thirty days on
        # the wall are an hour more: the clock goes back on October 25.
        (datetime(2026, 10, 3, 1, 30, tzinfo=MADRID), datetime(2026, 11, 2, 1, tzinfo=MADRID)),
        # And in spring, on March 29, an hour less.
        (datetime(2026, 3, 7, 1, 30, tzinfo=MADRID), datetime(2026, 4, 6, 2, tzinfo=MADRID)),
    ],
)
def test_steps_across_a_change_of_the_clock(last, at):
    in_utc = steps(last.astimezone(UTC), at.astimezone(UTC))

    assert steps(last, at) == in_utc
    assert steps(last, at.astimezone(UTC)) == in_utc
    assert steps(last.astimezone(UTC), at) == in_utc


@repeatable
@given(moments, moments)
def test_steps_in_any_zone(last, at):
    zones = (ZoneInfo("Europe/Madrid"), ZoneInfo("America/Mexico_City"), ZoneInfo("Asia/Kolkata"))

    assert {
        steps(last.astimezone(zone), at.astimezone(other)) for zone in zones for other in zones
    } == {steps(last, at)}


def test_steps_of_a_time_without_zone():
    with pytest.raises(TypeError):
        steps(LAST.replace(tzinfo=None), LAST)


@pytest.mark.parametrize(
    ("at", "sigma", "displayed"),
    [
        (utc(2026, 10, 4, 23, 59), 2.9, 2011.20),
        (utc(2026, 10, 5), 2.960667, 2006.83),
        (utc(2026, 10, 26), 3.142667, 1993.73),
        (utc(2026, 11, 1, 23, 59), 3.142667, 1993.73),
        (utc(2026, 11, 2), 3.203333, 1989.36),
        (utc(2026, 11, 3), 3.203333, 1989.36),
    ],
)
def test_sigma_at_of_public_reports(at, sigma, displayed):
    """BL-067, BL-069, BL-075: whenever and however often it is asked, DST or not."""
    now = sigma_at(2.9, LAST, at)

    assert now == pytest.approx(sigma, rel=0, abs=1e-6)
    assert displayed_rating(30.0, now) == pytest.approx(displayed, rel=0, abs=0.01)


def test_sigma_at_every_minute_from_october_to_november():
    """BL-067: five steps, each on a Monday 00:00 UTC, on the days around the clock change too."""
    at = datetime(2026, 10, 1, tzinfo=MADRID).astimezone(UTC)
    risen_at = []
    sigma = 2.9
    while at < utc(2026, 11, 3):
        now = sigma_at(2.9, LAST, at.astimezone(MADRID))
        if now != sigma:
            risen_at.append(at)
            sigma = now
        at += timedelta(minutes=1)

    assert risen_at == [
        utc(2026, 10, 5), utc(2026, 10, 12), utc(2026, 10, 19), utc(2026, 10, 26), utc(2026, 11, 2)
    ]  # fmt: skip
    assert sigma.hex() == (2.9 + 5 * STEP).hex()


def test_sigma_at_for_the_same_monday_again():
    """BL-071: one step, however often and in whatever zone it is computed."""
    at = utc(2026, 10, 12)

    once = sigma_at(2.9, LAST, at) - sigma_at(2.9, LAST, at - timedelta(days=7))

    assert once == pytest.approx(0.060667, rel=0, abs=1e-6)
    assert {sigma_at(2.9, LAST, at), sigma_at(2.9, LAST, at.astimezone(MADRID))} == {2.9 + 2 * STEP}


@pytest.mark.parametrize(("settled", "weeks_away"), [(8.30, 1), (8.30, 52), (STARTING_SIGMA, 52)])
def test_sigma_at_never_above_the_start(settled, weeks_away):
    """BL-073: not even by the last bit."""
    at = utc(2026, 10, 5) + timedelta(weeks=weeks_away - 1)

    now = sigma_at(settled, LAST, at)

    assert now == 25 / 3
    assert displayed_rating(26.0, now) == pytest.approx(1524.00, rel=0, abs=1e-9)


def test_sigma_at_before_the_first_step():
    assert sigma_at(2.9, LAST, utc(2026, 10, 4)) == 2.9
    assert sigma_at(2.9, LAST, utc(2020, 1, 1)) == 2.9


def test_sigma_at_with_other_start():
    parameters = Parameters(sigma=3.0)

    assert sigma_at(2.9, LAST, utc(2026, 10, 5), parameters) == 2.9 + STEP
    assert sigma_at(2.9, LAST, utc(2026, 10, 12), parameters) == 3.0


@repeatable
@given(sigmas, moments, moments, moments)
def test_sigma_at_only_grows(sigma, last, first, second):
    earlier, later = sorted([first, second])

    assert sigma <= sigma_at(sigma, last, earlier) <= sigma_at(sigma, last, later) <= 25 / 3


@repeatable
@given(sigmas, moments, st.integers(0, 200))
def test_sigma_at_after_so_many_mondays(sigma, last, count):
    at = monday(weeks(last + GRACE) + count)
    expected = min(25 / 3, sigma + count * (0.26 * 7 / 30))

    assert sigma_at(sigma, last, at + timedelta(days=3)).hex() == expected.hex()


@given(
    st.floats(1, 8.3),
    st.datetimes(datetime(2025, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC)),
    st.integers(0, 100),
    st.integers(0, 200),
)
def test_steps_are_the_mondays_on_which_sigma_grows(sigma, last, gap, days):
    after = last + timedelta(days=gap)
    until = after + timedelta(days=days)

    found = dict(steps_of(sigma, last, after, until))

    mondays = [monday(week) for week in range(weeks(after) + 1, weeks(until) + 1)]
    values = [sigma_at(sigma, last, at) for at in mondays]
    before = [sigma_at(sigma, last, after), *values]
    assert found == {
        at: value for at, value, old in zip(mondays, values, before, strict=False) if value != old
    }
