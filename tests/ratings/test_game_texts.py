"""The catalogs hold the very words that the rows of the games do."""

import pytest
from django.utils.translation import override

from ratings.game_texts import GAME_TEXTS
from ratings.models import Game


def test_catalogs_hold_the_words_of_the_rows(db):
    rows = {game.slug: (game.name, game.description) for game in Game.objects.all()}

    with override("en"):
        assert rows == {slug: (str(n), str(d)) for slug, (n, d) in GAME_TEXTS.items()}


@pytest.mark.parametrize("language", ["es", "ca", "gl", "eu"])
def test_every_game_is_described_in_every_language(db, language):
    games = list(Game.objects.all())

    with override(language):
        shown = {game.display_description for game in games}

    assert len(shown) == 5
    assert shown.isdisjoint({game.description for game in games})


def test_words_that_staff_wrote_are_shown_as_they_are(db):
    game = Game(slug="mus", name="Mus", description="Bids, and bluffs.")

    with override("es"):
        assert (game.display_name, game.display_description) == ("Mus", "Bids, and bluffs.")


def test_name_that_is_also_a_word_of_the_site_is_not_translated_as_that(db):
    with override("es"):
        assert Game(slug="match", name="match").display_name == "match"


def test_game_without_words_has_its_slug(db):
    game = Game(slug="mus")

    assert (game.display_name, game.display_description) == ("mus", "")
