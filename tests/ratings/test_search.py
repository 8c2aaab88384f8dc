import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from ratings.models import Player, PlayerStatus
from ratings.names import search_key
from ratings.players import create_bot, create_players
from ratings.roster import rename_player
from tests.ratings.builders import make_source


@pytest.fixture
def find(db):
    """A function that makes players of these ids known, and one that says who is found."""
    source = make_source()

    def make_and_find(*ids):
        create_players(source, {id.casefold(): id for id in ids})
        return lambda text: [player.handle for player in Player.objects.found_by(text)]

    return make_and_find


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        (("as-de-oros",), " as de oros"),
        (("Begoña", "BEGOÑA"), " begona"),
        (("lluís_2", "Lluís  Segon"), " lluis 2 segon"),
        (("STRASSE", "Straße"), " strasse"),
        (("이름",), " 이름"),
        (("\u0301",), ""),
    ],
)
def test_search_key_holds_each_word_once_without_case_and_accents(texts, key):
    assert search_key(*texts) == key


@pytest.mark.parametrize("text", ["nunez", "NUÑEZ", "Nuñez", "nun\u0303ez", " ｎｕｎｅｚ "])
def test_accents_and_case_do_not_matter(find, text):
    found = find("Nuñez", "nunca", "ana")

    assert found(text) == ["Nuñez"]


def test_best_come_first(find):
    found = find("sota", "as-sota", "sota-de-bastos", "una-resota", "ana")

    assert found("sota") == ["sota", "sota-de-bastos", "as-sota", "una-resota"]


@pytest.mark.parametrize("text", ["so", "s"])
def test_few_letters_are_sought_at_the_beginning_of_words(find, text):
    found = find("sota", "as-sota", "resota")

    assert found(text) == ["sota", "as-sota"]


@pytest.mark.parametrize("text", ["", "  ", "-", "\u0301", "%", "_", "a%a", "sota\\", "x" * 5000])
def test_what_no_name_holds_finds_nobody(find, text):
    found = find("sota", "ana")

    assert found(text) == []


def test_new_name_is_found_and_the_old_one_not(db):
    bot = create_bot(handle="bot-rayo", name="Rayo")

    rename_player(player=bot.player, name="Trueno")

    assert [player.name for player in Player.objects.found_by("true")] == ["Trueno"]
    assert list(Player.objects.found_by("bot-rayo")) == [bot.player]
    assert not Player.objects.found_by("rayo x").exists()


def test_refused_name_is_not_found(db):
    bot = create_bot(handle="bot-rayo", name="Rayo")

    with pytest.raises(ValidationError):
        rename_player(player=bot.player, name="tru\u200beno")

    assert not Player.objects.found_by("true").exists()


def test_players_without_a_profile_are_left_out(find):
    found = find("sota-1", "sota-2", "sota-3")
    Player.objects.filter(handle="sota-1").update(status=PlayerStatus.HIDDEN)
    Player.objects.filter(handle="sota-2").update(status=PlayerStatus.ANONYMISED)

    assert found("sota") == ["sota-1", "sota-2", "sota-3"]
    assert [p.handle for p in Player.objects.with_profile().found_by("sota")] == ["sota-3"]


@pytest.mark.parametrize("text", ["sota", "so"])
def test_search_goes_through_its_index(find, text):
    find("sota")
    query = Player.objects.found_by(text)

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
    assert "player_search" in query.explain()
