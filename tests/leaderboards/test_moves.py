from datetime import timedelta
from fractions import Fraction

import pytest
from django.utils import timezone

from leaderboards.moves import read_week
from ratings import history
from ratings.decay import apply_decay
from ratings.models import Correction, GameState, Participation, Rating
from ratings.systems.openskill import displayed_rating
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, duel, record

DAY = timedelta(days=1)


def play(source, *when_and_whom, at=NOW):
    """Ana's duels, each recorded when it was played: the last ones of `at`."""
    for days_ago, rival, has_won in when_and_whom:
        pair = ("ana", rival) if has_won else (rival, "ana")
        played_at = at - days_ago * DAY
        record(duel(*pair, at=played_at), source=source, at=played_at)


def week_of(game, at=NOW, handle="ana"):
    rating = Rating.objects.get(game=game, player__handle=handle)
    return read_week(rating, GameState.objects.get(game=game), at), rating


def parts_of(game, since):
    """Ana's rated ledger rows since a moment: the sums match by match."""
    rows = Participation.objects.filter(
        game=game, player__handle="ana", played_at__gte=since, elo_after__isnull=False
    )
    elos = sum((Fraction(row.elo_after) - Fraction(row.elo_before) for row in rows), Fraction())
    openskills = sum(
        (
            Fraction(displayed_rating(row.mu_after, row.sigma_after))
            - Fraction(displayed_rating(row.mu_before, row.sigma_before))
            for row in rows
        ),
        Fraction(),
    )
    return elos, openskills


def test_parts_add_up_to_the_last_bit(brisca, source):
    play(source, *[(30 - n * 0.7, f"j{n % 5}", n % 3 > 0) for n in range(42)])

    week, rating = week_of(brisca)

    elos, openskills = parts_of(brisca, NOW - 7 * DAY)
    assert week.elo.now == Fraction(rating.elo)
    assert week.openskill.now == Fraction(rating.openskill)
    assert week.elo.matches == elos
    assert week.openskill.matches == openskills
    assert week.elo.decay == week.elo.afterwards == week.openskill.afterwards == 0
    assert week.matches == 9


def test_decay_before_the_first_match_back_is_decay(brisca, source):
    play(source, (34, "pepe", True), (0.1, "pepe", False))
    apply_decay(NOW)

    week, rating = week_of(brisca)

    _elos, openskills = parts_of(brisca, NOW - 7 * DAY)
    last = Participation.objects.filter(player__handle="ana").latest("played_at")
    assert week.elo.decay == 0
    assert week.openskill.decay < 0
    assert week.openskill.matches == openskills
    assert week.openskill.now == Fraction(rating.openskill)
    before_last = Fraction(displayed_rating(last.mu_before, last.sigma_before))
    assert week.openskill.before + week.openskill.decay == before_last


def test_decay_of_one_who_stays_away_is_all_there_is(brisca, source):
    play(source, *[(60 + n, f"j{n}", n % 2 > 0) for n in range(15, 0, -1)])
    apply_decay(NOW)

    week, rating = week_of(brisca)

    assert (week.matches, week.afterwards) == (0, 0)
    assert week.elo.change == 0
    assert week.openskill.change == week.openskill.decay
    assert float(week.openskill.decay) == pytest.approx(-24 * 3 * 0.26 * 7 / 30)
    assert week.openskill.now == Fraction(rating.openskill)


def test_newcomer_comes_from_the_start(brisca, source):
    play(source, (1, "pepe", True))

    week, _rating = week_of(brisca)

    assert week.elo.before == 1200
    assert week.openskill.before == 1500


def test_late_match_has_its_own_line(brisca, source):
    play(source, (20, "quin", True), (2, "pepe", True))
    record(duel("ana", "eva", at=NOW - 3 * DAY), source=source, at=NOW)

    week, rating = week_of(brisca)

    late = Participation.objects.get(player__handle="ana", match__players__len=2,
                                     played_at=NOW - 3 * DAY)  # fmt: skip
    assert (week.matches, week.afterwards) == (1, 1)
    assert float(week.elo.afterwards) == pytest.approx(late.elo_after - late.elo_before)
    assert float(week.openskill.afterwards) == pytest.approx(
        displayed_rating(late.mu_after, late.sigma_after)
        - displayed_rating(late.mu_before, late.sigma_before)
    )
    assert week.elo.now == Fraction(rating.elo)


def test_corrections_of_the_week_are_counted_and_the_sum_still_holds(brisca, source):
    play(source, (20, "quin", True), (3, "pepe", True), (2, "eva", True))
    old = Participation.objects.filter(player__handle="ana").earliest("played_at")
    history.void_matches([old.match_id], by=None, reason="test_match")

    rating = Rating.objects.get(game=brisca, player__handle="ana")
    week = read_week(rating, GameState.objects.get(game=brisca), Correction.objects.get().made_at)

    assert week.corrected == 1
    assert week.elo.now == Fraction(rating.elo)


def test_page_shows_the_account(client, brisca, source):
    now = timezone.now()
    record(duel("ana", "pepe", at=now - DAY), source=source, at=now - DAY)

    page = parse(client.get("/players/ana/brisca/"))

    rows = page.one("section", class_="week").rows()
    assert [row[0] for row in rows[1:]] == [
        "1 match", "0 late or corrected matches", "Decay", "Now", "Change in all",
    ]  # fmt: skip
    assert rows[0][1:] == ["1,200.0", "1,500.0"]
    assert rows[1][1] == "+16.0 up 16.0"
    assert rows[4][1] == "1,216.0"
