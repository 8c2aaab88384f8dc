"""Great ties: the same board as without segments, however they are cut, made and removed."""

import random
from datetime import timedelta

import pytest

from ratings import history, standings
from ratings.decay import apply_decay
from ratings.ledger import segments
from ratings.models import Rating, System, TieSegment
from ratings.players import create_bot
from ratings.standings import Board, Kind
from tests.ratings.builders import MONDAY, NOW, draw, duel, make_source, open_game, record

pytestmark = pytest.mark.django_db

WALK = 8


@pytest.fixture(autouse=True)
def short_walks(monkeypatch):
    """Ties count as great from nine players on, so that a small board has some."""
    monkeypatch.setattr(segments, "LONGEST_WALK", WALK)
    monkeypatch.setattr(segments, "SEGMENT", WALK // 2)
    monkeypatch.setattr(standings, "LONGEST_WALK", WALK)


@pytest.fixture
def source():
    source = make_source()
    for number in range(10):
        create_bot(handle=f"bot-{number}", name=f"bot-{number}", source=source)
    return source


def newcomers(count: int, first: int = 0) -> list:
    """Matches of two who never played before: draws leave both at 1200, wins at 1216 and 1184."""
    reports = []
    for number in range(first, first + count):
        make = draw if number % 3 else duel
        reports.append(make(f"p{number}", f"bot-{number}" if number < 10 else f"q{number}"))
    return reports


def assert_pages_are_right(game):
    for system in System:
        for kind in Kind:
            board = Board(game, system, kind, page_size=5)
            listed = Rating.objects.filter(game=game, is_listed=True)
            if kind != Kind.EVERYONE:
                listed = listed.filter(is_bot=kind == Kind.BOTS)
            expected = sorted(
                listed, key=lambda r, b=board: (-b.shown(r), -b.exact(r), r.player_id)
            )

            found = [
                row
                for number in range(1, board.page(1).count + 1)
                for row in board.page(number).rows
            ]

            assert [row.rating.pk for row in found] == [rating.pk for rating in expected]
            assert [row.rank for row in found] == [
                1 + sum(board.shown(other) > row.shown for other in expected) for row in found
            ]


def test_pages_with_great_ties_list_everybody_once(source):
    game = open_game()

    record(*newcomers(60), source=source)

    assert set(TieSegment.objects.values_list("system", "shown")) == {
        ("elo", 1184), ("elo", 1200), ("elo", 1216),
        ("openskill", 1456), ("openskill", 1519), ("openskill", 1582),
    }  # fmt: skip
    assert_pages_are_right(game)
    assert history.verify(game).differences == []


def test_segments_follow_every_change_one_by_one(source):
    game = open_game()
    rng = random.Random(5)
    record(*newcomers(30), source=source)

    for step in range(40):
        one, other = rng.sample(range(30), 2)
        make = draw if step % 2 else duel
        record(make(f"p{one}", f"p{other}", NOW - timedelta(minutes=40 - step)), source=source)
        record(*newcomers(1, first=100 + step), source=source)
        assert history.verify(game).differences == []

    assert TieSegment.objects.exists()
    assert_pages_are_right(game)


def test_segment_that_grew_too_long_is_cut_again(source):
    game = open_game()

    for first in range(0, 120, 6):
        record(*newcomers(6, first=first), source=source)

    longest = max(row.people + row.bots for row in TieSegment.objects.all())
    assert longest <= WALK
    assert_pages_are_right(game)


def test_tie_that_shrank_has_no_segments(source):
    game = open_game()
    record(*newcomers(24), source=source)
    assert TieSegment.objects.filter(system="elo", shown=1200).exists()

    record(
        *[
            duel(f"p{number}", f"bot-{number}" if number < 10 else f"q{number}")
            for number in range(24)
            if number % 3
        ],
        source=source,
    )

    assert not TieSegment.objects.filter(system="elo", shown=1200).exists()
    assert history.verify(game).differences == []


def test_decay_cuts_the_ties_it_moves(source):
    game = open_game()
    record(*newcomers(60), source=source)

    apply_decay(MONDAY + timedelta(days=70), games=[game])

    assert set(TieSegment.objects.filter(system="openskill").values_list("shown", flat=True)) != {
        1456, 1519, 1582,
    }  # fmt: skip
    assert_pages_are_right(game)
    assert history.verify(game).differences == []


def test_verify_finds_a_segment_that_miscounts(source):
    game = open_game()
    record(*newcomers(60), source=source)
    segment = TieSegment.objects.order_by("pk").first()
    TieSegment.objects.filter(pk=segment.pk).update(people=segment.people + 1)

    found = history.verify(game)

    assert found.count == 2  # beside its players, and beside the count of the whole tie
    assert all(f"the tie at elo {segment.shown}" in it for it in found.differences)
