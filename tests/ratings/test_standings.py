"""Boards: pages, ranks, neighbours, percentiles and the distribution."""

import random
from collections import Counter
from itertools import groupby, pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratings import history, ledger
from ratings.ledger import checks, segments
from ratings.models import Player, Rating, TieSegment
from ratings.standings import PAGE_SIZE, Board, Row, Standing, leaders, standings_of
from ratings.systems.openskill import displayed_rating
from tests.ratings.builders import (
    NOW,
    draw,
    duel,
    fill_board,
    make_source,
    open_game,
    record,
    seat,
    today,
)

pytestmark = pytest.mark.django_db

SYSTEMS = ["elo", "openskill"]
KINDS = ["everyone", "people", "bots"]


@pytest.fixture
def brisca():
    return open_game("brisca")


def expected_rows(board: Board) -> list[tuple[int, int, int]]:
    """(rank, shown number, player) of a whole board, by the plainest means there are."""
    kept = [
        rating
        for rating in Rating.objects.filter(game=board.game)
        if rating.is_listed
        and (board.kind == "everyone" or rating.is_bot == (board.kind == "bots"))
    ]
    kept.sort(key=lambda rating: rating.player_id)
    kept.sort(key=lambda rating: value_of(rating, board.system), reverse=True)
    numbers = [round(value_of(rating, board.system)) for rating in kept]
    return [
        (1 + sum(other > number for other in numbers), number, rating.player_id)
        for rating, number in zip(kept, numbers, strict=True)
    ]


def value_of(rating, system):
    return rating.elo if system == "elo" else displayed_rating(rating.mu, rating.sigma)


def plain(rows: list[Row]) -> list[tuple[int, int, int]]:
    return [(row.rank, row.shown, row.rating.player_id) for row in rows]


def walk(board: Board) -> list[tuple[int, int, int]]:
    """The rows of every page, one after the other."""
    rows = []
    number = 1
    while True:
        page = board.page(number)
        rows += plain(page.rows)
        if not page.has_next:
            return rows
        number += 1


def random_seats(game, seed, count):
    """Players in clusters, so that there are ties of every kind, also below zero."""
    choice = random.Random(seed)
    seats = []
    for _ in range(count):
        elo = choice.choice(
            [1200.0, 1200.4, 1199.6, 1200.5, -37.25, -0.3, 0.2, choice.gauss(1200, 300)]
        )
        seats.append(
            seat(
                game,
                elo,
                mu=choice.choice([25.0, 24.5, -70.0, choice.gauss(25, 4)]),
                sigma=choice.choice([2.75, 8.0, 25 / 3]),
                is_bot=choice.random() < 0.3,
                is_listed=choice.random() < 0.9,
            )
        )
    return seats


# Ranks


def test_equal_numbers_share_a_rank_and_the_next_skips(brisca):
    fill_board(brisca, *(seat(brisca, elo) for elo in (1216.0, 1250.0, 1184.0, 1216.0)))

    rows = Board(brisca).page().rows

    assert [(row.rank, row.shown) for row in rows] == [(1, 1250), (2, 1216), (2, 1216), (4, 1184)]
    tied = [row.rating.player_id for row in rows[1:3]]
    assert tied == sorted(tied)


def test_rank_goes_by_the_number_shown_and_order_by_the_exact_one(brisca):
    fill_board(
        brisca,
        seat(brisca, 1215.6, handle="low"),
        seat(brisca, 1216.4, handle="high"),
        seat(brisca, 1216.5, handle="even"),  # shows 1216: half to even
        seat(brisca, 1216.6, handle="above"),
    )

    rows = Board(brisca).page().rows

    assert [(row.rank, row.shown, row.rating.player.handle) for row in rows] == [
        (1, 1217, "above"),
        (2, 1216, "even"),
        (2, 1216, "high"),
        (2, 1216, "low"),
    ]


def test_people_and_bots_are_ranked_among_themselves(brisca):
    tute = open_game("tute")
    fill_board(
        brisca,
        seat(brisca, 1300.0, handle="ana"),
        seat(brisca, 1250.0, handle="pepa"),
        seat(brisca, 1500.0, is_bot=True, handle="bot-1"),
        seat(brisca, 1280.0, is_bot=True, handle="bot-2"),
    )
    fill_board(tute, seat(tute, 1900.0, handle="other-game"))

    boards = {
        kind: [
            (row.rank, row.rating.player.handle) for row in Board(brisca, "elo", kind).page().rows
        ]
        for kind in KINDS
    }

    assert boards == {
        "everyone": [(1, "bot-1"), (2, "ana"), (3, "bot-2"), (4, "pepa")],
        "people": [(1, "ana"), (2, "pepa")],
        "bots": [(1, "bot-1"), (2, "bot-2")],
    }


def test_rank_is_the_same_wherever_it_is_asked(brisca):
    """Of 40 players, of whom five are off the board."""
    numbers = [1500.0 - 7.5 * (number // 2) for number in range(40)]
    fill_board(
        brisca,
        *(
            seat(brisca, elo, mu=elo / 50, sigma=5.0, is_listed=number % 8 != 3)
            for number, elo in enumerate(numbers)
        ),
    )

    for system in SYSTEMS:
        board = Board(brisca, system)
        rows = board.page().rows
        assert len(rows) == 35
        together = standings_of([row.rating for row in rows])
        for row in rows:
            assert board.standing(row.rating).rank == row.rank
            assert together[row.rating.pk, system] == board.standing(row.rating)
            assert row in board.around(row.rating)
            assert board.rank_at(row.shown) == row.rank


def test_rating_that_is_not_listed_has_no_rank_and_no_neighbours(brisca):
    fill_board(brisca, seat(brisca, 1300.0, is_listed=False), *(seat(brisca) for _ in range(3)))
    hidden = Rating.objects.get(is_listed=False)

    board = Board(brisca)
    assert not board.lists(hidden)
    assert board.standing(hidden) is None
    assert board.around(hidden) == []
    assert board.standing_at(hidden.elo_shown) == Standing(rank=1, listed=3, below=3)


@pytest.mark.parametrize(("kind", "is_bot"), [("people", True), ("bots", False)])
def test_rating_of_the_other_kind_has_no_rank_and_no_neighbours(brisca, kind, is_bot):
    fill_board(brisca, seat(brisca), seat(brisca, is_bot=True), seat(brisca, is_bot=True))
    rating = Rating.objects.filter(is_bot=is_bot).first()

    board = Board(brisca, "elo", kind)
    assert board.standing(rating) is None
    assert board.around(rating) == []


def test_share_of_those_below_leaves_out_oneself_and_those_level(brisca):
    fill_board(brisca, *(seat(brisca, elo) for elo in (1250.0, 1216.0, 1216.0, 1184.0, -3.0)))

    board = Board(brisca)
    standings = [board.standing(row.rating) for row in board.page().rows]

    assert [(standing.rank, standing.below) for standing in standings] == [
        (1, 4),
        (2, 2),
        (2, 2),
        (4, 1),
        (5, 0),
    ]
    assert [standing.better_than for standing in standings] == [1.0, 0.5, 0.5, 0.25, 0.0]


def test_share_of_those_below_is_unknown_of_somebody_alone(brisca):
    fill_board(brisca, seat(brisca))

    assert Board(brisca).standing(Rating.objects.get()).better_than is None


# Pages


def test_board_of_nobody_has_one_empty_page(brisca):
    for system in SYSTEMS:
        board = Board(brisca, system)
        for number in (-1, 1, 7):
            page = board.page(number)
            assert (page.rows, page.number, page.count, page.listed) == ([], 1, 1, 0)
            assert not page.has_next
            assert not page.has_previous
        assert board.listed() == 0
        assert board.distribution(100) == []
        assert board.standing_at(1200) == Standing(rank=1, listed=0, below=0)
        assert board.standing_at(1200).better_than is None
    assert leaders(3) == {}
    assert standings_of([]) == {}


@pytest.mark.parametrize(
    ("asked", "given"),
    [(-(10**30), 1), (-1, 1), (0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (10**9, 3), (10**30, 3)],
)
def test_page_beyond_either_end_is_the_nearest(brisca, asked, given):
    fill_board(brisca, *(seat(brisca, 1000.0 + number) for number in range(2 * PAGE_SIZE + 1)))

    page = Board(brisca).page(asked)

    assert (page.number, page.count, page.listed) == (given, 3, 2 * PAGE_SIZE + 1)
    assert type(page.number) is int
    assert (page.has_previous, page.has_next) == (given > 1, given < 3)
    assert len(page.rows) == (1 if given == 3 else PAGE_SIZE)
    assert page.rows[0].rank == 1 + (given - 1) * PAGE_SIZE


@pytest.mark.parametrize("count", [1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 2 * PAGE_SIZE])
def test_pages_are_as_many_as_are_needed(brisca, count):
    fill_board(brisca, *(seat(brisca) for _ in range(count)))

    board = Board(brisca)
    pages = -(-count // PAGE_SIZE)
    assert board.page(pages).count == pages
    assert not board.page(pages).has_next
    assert len(walk(board)) == count


def test_pages_of_a_tie_show_everyone_once_in_one_order(brisca):
    """300 newcomers with a draw each: all level in both systems."""
    source = make_source()
    record(
        *(draw(f"a{number}", f"b{number}") for number in range(150)),
        source=source,
    )

    for system, shown in (("elo", 1200), ("openskill", 1519)):
        walks = [walk(Board(brisca, system)) for _ in range(3)]
        assert walks[0] == walks[1] == walks[2]
        assert {(rank, number) for rank, number, _ in walks[0]} == {(1, shown)}
        players = [player for *_, player in walks[0]]
        assert players == sorted(Player.objects.values_list("id", flat=True))
        assert len(players) == 300


def test_page_on_which_a_rank_begins_is_named(brisca):
    fill_board(brisca, *(seat(brisca, 1000.0 + number) for number in range(12)))
    board = Board(brisca, page_size=5)

    assert [board.page_of(rank) for rank in (-3, 0, 1, 5, 6, 10, 11, 12)] == [
        1,
        1,
        1,
        1,
        2,
        2,
        3,
        3,
    ]
    for number in (1, 2, 3):
        for row in board.page(number).rows:
            assert board.page_of(row.rank) == number


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "count"), [(0, 1), (1, 7), (2, 40), (3, 110)])
def test_board_equals_one_made_by_the_plainest_means(brisca, system, kind, seed, count):
    other = open_game("tute")
    fill_board(brisca, *random_seats(brisca, seed, count))
    fill_board(other, *random_seats(other, seed + 100, 20))
    board = Board(brisca, system, kind, page_size=7)
    expected = expected_rows(board)
    numbers = [number for _, number, _ in expected]

    assert board.listed() == len(expected)
    assert walk(board) == expected
    assert walk(Board(brisca, system, kind)) == expected
    for place, (rank, number, player) in enumerate(expected):
        rating = Rating.objects.get(game=brisca, player=player)
        assert board.standing(rating) == Standing(
            rank, len(expected), sum(other < number for other in numbers)
        )
        for window in (1, 4, 5):
            start = max(0, min(place - window // 2, len(expected) - window))
            assert plain(board.around(rating, window)) == expected[start : start + window]
    for width in (1, 10, 100, 333):
        bins = board.distribution(width)
        assert {bin_.start: bin_.count for bin_ in bins if bin_.count} == dict(
            Counter(number // width * width for number in numbers)
        )
        assert all(one.end == other.start for one, other in pairwise(bins))
        assert all(bin_.end - bin_.start == width for bin_ in bins)
        assert not bins or (bins[0].count and bins[-1].count)


# Neighbours


@pytest.mark.parametrize(
    ("rank", "shown"),
    [
        (1, [1, 2, 3, 4, 5]),
        (2, [1, 2, 3, 4, 5]),
        (3, [1, 2, 3, 4, 5]),
        (4, [2, 3, 4, 5, 6]),
        (8, [6, 7, 8, 9, 10]),
        (9, [6, 7, 8, 9, 10]),
        (10, [6, 7, 8, 9, 10]),
    ],
)
def test_window_around_a_player_is_full_at_the_edges_too(brisca, rank, shown):
    fill_board(brisca, *(seat(brisca, 1300.0 - number) for number in range(1, 11)))
    rating = Rating.objects.get(elo=1300.0 - rank)

    rows = Board(brisca).around(rating, window=5)

    assert [row.rank for row in rows] == shown
    assert rating.player_id in [row.rating.player_id for row in rows]


def test_window_that_is_wider_than_the_board_is_the_board(brisca):
    fill_board(brisca, *(seat(brisca, 1300.0 - number) for number in range(3)))

    rows = Board(brisca).around(Rating.objects.first(), window=5)

    assert [row.rank for row in rows] == [1, 2, 3]


# Great ties


@pytest.fixture
def short_walks(monkeypatch):
    """Ties count as great from nine players on, so that a few make what takes thousands."""
    monkeypatch.setattr("ratings.standings.LONGEST_WALK", 8)
    monkeypatch.setattr(checks, "LONGEST_WALK", 8)
    monkeypatch.setattr(segments, "LONGEST_WALK", 8)
    monkeypatch.setattr(segments, "SEGMENT", 4)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_board_of_great_ties_equals_one_made_by_the_plainest_means(
    brisca, short_walks, system, kind, seed
):
    fill_board(brisca, *random_seats(brisca, seed, 200))
    board = Board(brisca, system, kind, page_size=3)

    assert TieSegment.objects.filter(system=system).count() > 10
    assert walk(board) == expected_rows(board)


@pytest.mark.parametrize("seed", range(3))
def test_great_ties_are_kept_through_results_of_every_kind(brisca, short_walks, seed):
    """Everyone starts level, and leaves the tie and comes to another as results come in."""
    source = make_source()
    choice = random.Random(seed)
    players = [f"p{number}" for number in range(60)]
    record(
        *(draw(one, other) for one, other in zip(players[::2], players[1::2], strict=True)),
        source=source,
    )
    assert segment_sizes("elo", 1200) == [4] * 15

    for _ in range(12):
        pairs = choice.sample(players, 10)
        reports = [
            choice.choice([draw, duel])(
                one, other, choice.choice([NOW, today(choice.randrange(20))])
            )
            for one, other in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        record(*reports, source=source)
        assert history.verify(brisca).differences == []

    assert sum(segment_sizes("elo", 1200)) < 60
    for system in SYSTEMS:
        board = Board(brisca, system, page_size=3)
        assert walk(board) == expected_rows(board)


def segment_sizes(system, shown):
    found = TieSegment.objects.filter(system=system, shown=shown)
    return [row.people + row.bots for row in found.order_by("-from_exact", "from_player")]


def test_great_tie_is_cut_as_it_grows_and_put_together_as_it_shrinks(brisca, short_walks):
    source = make_source()
    sizes = []
    for number in range(0, 24, 2):
        record(draw(f"p{number:02}", f"p{number + 1:02}"), source=source)
        sizes.append(segment_sizes("elo", 1200))
    for number in range(0, 22, 2):
        record(duel(f"p{number:02}", f"p{number + 1:02}"), source=source)
        sizes.append(segment_sizes("elo", 1200))
        assert history.verify(brisca).differences == []

    assert sizes[3:5] == [[], [4, 4, 2]]  # 8 players, and 10
    assert max(max(cut, default=0) for cut in sizes) <= 8
    assert sum(sizes[11]) == 24
    assert sizes[-2] != []  # 4 players
    assert sizes[-1] == []  # 2 players


@pytest.mark.parametrize("column", ["people", "bots"])
def test_segment_of_a_great_tie_that_counts_wrong_is_found(brisca, short_walks, column):
    fill_board(brisca, *(seat(brisca, is_bot=number % 2 == 0) for number in range(20)))
    segment = TieSegment.objects.filter(system="elo").order_by("id")[2]

    TieSegment.objects.filter(pk=segment.pk).update(**{column: 7})

    people, bots = (7, 2) if column == "people" else (2, 7)
    assert list(ledger.read_wrong_segments(brisca)) == [
        f"the tie at elo 1200 from ({segment.from_exact}, {segment.from_player}) counts "
        f"{people} people and {bots} bots, there are 2 and 2",
        "the tie at elo 1200 counts 25 of 20 players in its segments",
    ]


@pytest.mark.parametrize("place", [0, 1, 4])
def test_segment_of_a_great_tie_that_is_missing_is_found(brisca, short_walks, place):
    fill_board(brisca, *(seat(brisca) for _ in range(20)))
    assert list(ledger.read_wrong_segments(brisca)) == []

    TieSegment.objects.filter(system="elo").order_by("-from_exact", "from_player")[place].delete()

    assert (
        "the tie at elo 1200 counts 16 of 20 players in its segments"
        in ledger.read_wrong_segments(brisca)
    )


def test_segments_of_a_great_tie_that_are_all_missing_are_found(brisca, short_walks):
    fill_board(brisca, *(seat(brisca) for _ in range(20)))

    TieSegment.objects.filter(system="elo").delete()

    assert list(ledger.read_wrong_segments(brisca)) == [
        "the tie at elo 1200 counts 0 of 20 players in its segments"
    ]


def test_verify_looks_at_the_segments_of_great_ties(brisca, short_walks):
    record(*(draw(f"a{number}", f"b{number}") for number in range(10)), source=make_source())
    assert history.verify(brisca).differences == []

    TieSegment.objects.filter(system="elo").delete()

    assert history.verify(brisca).differences == [
        "the tie at elo 1200 counts 0 of 20 players in its segments"
    ]


def test_tie_of_thousands_is_walked_page_by_page(brisca):
    """With no constant changed: 9,000 who show 1200, and others above and below."""
    fill_board(
        brisca,
        *(seat(brisca, 1200 + number % 7 / 100, is_bot=number % 3 == 0) for number in range(9000)),
        *(seat(brisca, 1100.0 + number) for number in range(200)),
    )

    for kind in KINDS:
        board = Board(brisca, "elo", kind)
        expected = quick_rows(board)
        last = board.page(10**6).number
        assert last == -(-len(expected) // PAGE_SIZE)
        for number in {1, 2, 3, last // 3, last // 2, last - 2, last - 1, last}:
            start = (number - 1) * PAGE_SIZE
            assert plain(board.page(number).rows) == expected[start : start + PAGE_SIZE]


def quick_rows(board):
    """As `expected_rows`, in time that grows with the players and not with their square."""
    ratings = Rating.objects.filter(game=board.game)
    if board.kind != "everyone":
        ratings = ratings.filter(is_bot=board.kind == "bots")
    ordered = sorted(ratings.values_list("elo", "player_id"), key=lambda row: (-row[0], row[1]))
    rows = []
    for number, tied in groupby(ordered, key=lambda row: round(row[0])):
        rank = len(rows) + 1
        rows += [(rank, number, player) for _, player in tied]
    return rows


# Several games at once


def test_leaders_are_the_first_of_every_elo_board_with_their_ranks(brisca):
    tute, cinquillo = open_game("tute"), open_game("cinquillo")
    fill_board(
        brisca,
        seat(brisca, 1250.0, handle="a"),
        seat(brisca, 1216.2, handle="b"),
        seat(brisca, 1216.4, handle="c"),
        seat(brisca, 1184.0, handle="d"),
        seat(brisca, 1999.0, handle="hidden", is_listed=False),
    )
    fill_board(tute, seat(tute, -4.0, handle="e", is_bot=True))

    found = leaders(3)

    assert {
        game: [(row.rank, row.shown, row.rating.player.handle) for row in rows]
        for game, rows in found.items()
    } == {
        brisca.pk: [(1, 1250, "a"), (2, 1216, "c"), (2, 1216, "b")],
        tute.pk: [(1, -4, "e")],
    }
    assert cinquillo.pk not in found


def test_standings_of_ratings_in_several_games_come_in_one_query(brisca):
    tute = open_game("tute")
    fill_board(brisca, *random_seats(brisca, 8, 40))
    fill_board(tute, *random_seats(tute, 9, 40))
    ratings = list(Rating.objects.filter(is_listed=True))

    with CaptureQueriesContext(connection) as queries:
        found = standings_of(ratings)

    assert len(queries) == 1
    assert len(found) == 2 * len(ratings)
    for rating in ratings:
        for system in SYSTEMS:
            assert found[rating.pk, system] == Board(rating.game, system).standing(rating)


@pytest.mark.parametrize("count", [1, 30, 200])
def test_board_costs_the_same_queries_however_many_are_on_it(brisca, count):
    fill_board(brisca, *(seat(brisca, 1000.0 + number // 3) for number in range(count)))
    board = Board(brisca)
    rating = Rating.objects.order_by("elo").first()
    costs = []
    for read in (
        lambda: board.page(),
        lambda: board.page(10**6),
        lambda: board.standing(rating),
        lambda: board.around(rating),
        lambda: board.distribution(50),
        lambda: board.listed(),
        lambda: [row.rating.player.name for row in board.page().rows],
        lambda: [row.rating.player.name for rows in leaders(5).values() for row in rows],
    ):
        with CaptureQueriesContext(connection) as queries:
            read()
        costs.append(len(queries))

    assert costs == [3, 3, 1, 3, 1, 1, 3, 2]
