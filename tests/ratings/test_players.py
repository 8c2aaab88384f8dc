"""Whom a source's ids mean, and the players that are made for ids nobody knew."""

import re

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from ratings.models import Bot, Player, PlayerAlias, User
from ratings.names import LONGEST_HANDLE, fold, skeleton, validate_handle
from ratings.players import create_bot, create_players, find_players
from tests.ratings.builders import (
    count_rows,
    duel,
    make_source,
    open_game,
    ratings_of,
    record,
    today,
)

pytestmark = pytest.mark.django_db

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.fixture
def source():
    return make_source()


def create(source, *player_ids):
    create_players(source, {fold(player_id): player_id for player_id in player_ids})


def handles(source):
    """Every handle by the id that the source knows it by."""
    return dict(
        PlayerAlias.objects.filter(source=source).values_list("external_id", "player__handle")
    )


def test_players_are_found_by_the_sources_own_ids_however_they_are_written(source):
    create(source, "ana", "bego\u00f1a")

    found = find_players(source, ["ANA", "BEGON\u0303A", "lola"])

    assert found.keys() == {"ana", "bego\u00f1a"}
    assert found["ana"].id == Player.objects.get(handle="ana").pk
    assert (found["ana"].is_bot, found["ana"].status, found["ana"].owner_id) == (
        False,
        "active",
        None,
    )
    assert found["ana"].may_play


def test_players_of_another_source_are_not_found(source):
    create(source, "ana")

    assert find_players(make_source("mesa-2"), ["ana"]) == {}


@pytest.mark.parametrize(
    ("status", "may_play"),
    [
        ("active", True),
        ("retired", True),
        ("hidden", True),
        ("frozen", False),
        ("anonymised", False),
    ],
)
def test_player_may_play_unless_frozen_or_anonymised(source, status, may_play):
    create(source, "ana")
    Player.objects.update(status=status)

    assert find_players(source, ["ana"])["ana"].may_play is may_play


def test_new_player_is_an_active_person_with_his_id_as_handle_and_name(source):
    create(source, "Ana")

    player = Player.objects.get()
    assert (player.handle, player.name, player.handle_key) == ("Ana", "Ana", "ana")
    assert player.handle_skeleton == skeleton("Ana")
    assert (player.is_bot, player.status, player.owner) == (False, "active", None)
    alias = PlayerAlias.objects.get()
    assert (alias.source, alias.external_id, alias.key) == (source, "Ana", "ana")
    player.full_clean()


@pytest.mark.parametrize(
    ("player_id", "handle", "name"),
    [
        ("user:42", "user-42", "user:42"),
        ("as de oros", "as-de-oros", "as de oros"),
        ("</script><b>", "script-b", "</script><b>"),
        ("007", "007", "007"),
    ],
)
def test_new_player_with_an_id_that_is_no_handle_gets_one_near_to_it(
    source, player_id, handle, name
):
    create(source, player_id)

    player = Player.objects.get()
    assert (player.handle, player.name) == (handle, name)
    assert handles(source) == {player_id: handle}


@pytest.mark.parametrize("player_id", [FAMILY, "admin", "..", "ana@example.org", "\u0410dmin"])
def test_new_player_with_an_id_that_nobody_may_be_called_is_a_numbered_player(source, player_id):
    create(source, player_id)

    player = Player.objects.get()
    assert re.fullmatch(r"player-\d{4}", player.handle)
    assert "@" not in player.name
    player.full_clean()


def test_new_player_whose_handle_is_taken_by_another_source_gets_another_one(source):
    other = make_source("mesa-2")
    create(source, "ana")

    create(other, "ana")

    assert Player.objects.count() == 2
    assert handles(source) == {"ana": "ana"}
    assert re.fullmatch(r"ana-\d{4}", handles(other)["ana"])


def test_same_id_of_another_source_is_another_person_with_his_own_rating(source):
    brisca = open_game("brisca")
    other = make_source("mesa-2")

    record(duel("ana", "pepa", today(10)), source=source)
    record(duel("pepa", "ana", today(11)), source=other)

    elos = {handle: row["elo"] for handle, row in ratings_of(brisca).items()}
    assert elos == {
        "ana": 1216.0,
        "pepa": 1184.0,
        handles(other)["pepa"]: 1216.0,
        handles(other)["ana"]: 1184.0,
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("MagnuI", "Magnul"),
        ("pepa_4", "\u0440epa_4"),
        ("pepa0", "pepaO"),
        ("corner", "comer"),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_new_players_who_look_alike_do_not_get_the_same_skeleton(source, one, other, together):
    if together:
        create(source, one, other)
    else:
        create(source, one)
        create(source, other)

    found = handles(source)
    assert found.keys() == {one, other}
    assert len({skeleton(handle) for handle in found.values()}) == 2
    assert one in found.values() or (together and other in found.values())
    for player in Player.objects.all():
        player.full_clean()


def test_handle_that_differs_from_anothers_in_case_only_is_not_given_twice(source):
    create(source, "Ana")

    create(make_source("mesa-2"), "ANA")

    assert Player.objects.count() == 2
    assert Player.objects.filter(handle_key="ana").count() == 1


def test_new_players_with_one_suggestion_each_get_a_handle_of_their_own(source):
    ids = ["a b", "a,b", "a;b", "a/b", "a-b"]

    create(source, *ids)

    found = handles(source)
    assert found.keys() == set(ids)
    assert len(set(found.values())) == 5
    assert all(re.fullmatch(r"a-b(-\d{4})?", handle) for handle in found.values())


def test_new_player_finds_a_handle_where_all_of_four_digits_are_taken(source):
    names = ["ana", *(f"ana-{number:04}" for number in range(10_000))]
    Player.objects.bulk_create(
        Player(handle=name, handle_key=name, handle_skeleton=skeleton(name), name=name)
        for name in names
    )

    create(source, "ana")

    assert re.fullmatch(r"ana-\d{5}", handles(source)["ana"])


def test_new_players_with_one_long_beginning_all_get_a_handle(source):
    beginning = "x" * LONGEST_HANDLE

    create(source, *(f"{beginning}-{number}" for number in range(500)))

    found = set(handles(source).values())
    assert len(found) == 500
    assert set(map(len, found)) == {LONGEST_HANDLE}


def test_new_player_with_the_longest_key_finds_room_for_digits(source):
    ligatures = "\ufdfa" * 13 + "abcd"  # 238 letters once written out
    validate_handle(ligatures)
    create(source, ligatures)

    create(make_source("mesa-2"), ligatures)

    handle = Player.objects.latest("id").handle
    assert re.fullmatch(r"player-\d{4}", handle)


def test_players_that_are_known_already_are_not_made_again(source):
    create(source, "ana")
    before = count_rows()

    create(source, "ANA")

    assert count_rows() == before


def test_bot_is_made_with_its_author_and_is_known_to_the_source_by_its_handle(source):
    author = User.objects.create(username="author")

    bot = create_bot(
        handle="bot-trueno", name="Trueno", difficulty="hard", author=author, source=source
    )

    assert (bot.player.is_bot, bot.player.owner, bot.is_house) == (True, author, False)
    assert (bot.difficulty, bot.player.name) == ("hard", "Trueno")
    assert find_players(source, ["BOT-trueno"])["bot-trueno"].is_bot


def test_bot_without_an_author_is_a_house_bot():
    bot = create_bot(handle="bot-trueno", name="Trueno")

    assert (bot.is_house, bot.player.owner, bot.difficulty) == (True, None, "")
    assert not PlayerAlias.objects.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"handle": "admin"},
        {"handle": "bot/1"},
        {"handle": "BOT-1"},
        {"handle": "b0t-1"},
        {"name": ""},
        {"name": "bot@example.org"},
        {"difficulty": "impossible"},
    ],
    ids=str,
)
def test_bot_that_is_not_valid_is_refused_and_nothing_is_made(source, fields):
    create_bot(handle="bot-1", name="bot-1")
    before = count_rows()

    with pytest.raises(ValidationError), transaction.atomic():
        create_bot(**({"handle": "bot-2", "name": "bot-2", "source": source} | fields))

    assert count_rows() == before


def test_bot_whose_id_the_source_has_given_to_another_is_refused_and_nothing_is_made(source):
    create(source, "admin")
    PlayerAlias.objects.update(key="bot-1", external_id="bot-1")
    before = count_rows()

    with pytest.raises(IntegrityError), transaction.atomic():
        create_bot(handle="bot-1", name="bot-1", source=source)

    assert count_rows() == before
    assert not Bot.objects.exists()
