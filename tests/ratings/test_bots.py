import pytest

from ratings.bots import BANDS, Span, read_spans
from ratings.models import Difficulty, Game, Rating
from ratings.players import create_bot
from tests.ratings.builders import NOW, fill_board, make_source, open_game, seat


@pytest.fixture
def source(db):
    return make_source()


def rated_bot(source, handle, *, difficulty, **ratings):
    """A bot with an (Elo, matches, listed) in each game that is named."""
    bot = create_bot(handle=handle, name=handle, difficulty=difficulty, source=source)
    for slug, (elo, matches, is_listed) in ratings.items():
        Rating.objects.create(
            player=bot.player, game=open_game(slug), elo=elo, mu=25, sigma_settled=3, sigma=3,
            won=matches, peak_elo=elo, peak_at=NOW, last_played_at=NOW, is_bot=True,
            is_listed=is_listed,
        )  # fmt: skip
    return bot


def test_span_is_of_established_listed_bots_over_all_games(source, django_assert_num_queries):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(950.6, 10, True), tute=(1099, 40, True))
    rated_bot(source, "bot-b", difficulty="easy", brisca=(1020, 12, True), tute=(500, 9, True))
    rated_bot(source, "bot-c", difficulty="easy", brisca=(2000, 99, False))
    rated_bot(source, "bot-d", difficulty="hard", brisca=(1500, 30, True))
    rated_bot(source, "bot-e", difficulty="", brisca=(3000, 30, True))
    fill_board(open_game("cinquillo"), seat(open_game("cinquillo"), 9000, handle="ana"))

    games = list(Game.objects.all())
    with django_assert_num_queries(1):
        spans = read_spans(games)

    assert spans == {"easy": Span(951, 1099, 2), "hard": Span(1500, 1500, 1)}


def test_threshold_is_that_of_the_mark(source, monkeypatch):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(950, 11, True))

    monkeypatch.setattr("ratings.bots.PROVISIONAL_BELOW", 12)

    assert read_spans(Game.objects.all()) == {}


def test_only_the_games_that_are_asked_for_count(source):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(950, 11, True), tute=(800, 11, True))

    assert read_spans(Game.objects.filter(slug="brisca")) == {"easy": Span(950, 950, 1)}


def test_every_difficulty_has_a_band_and_they_rise():
    assert list(BANDS) == list(Difficulty)
    edges = [edge for difficulty in Difficulty for edge in BANDS[difficulty]]
    assert edges == sorted(edges)
