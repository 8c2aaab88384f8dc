"""Status, names, owners and kinds of players: boards stay true, and nobody else's numbers move."""

from threading import Thread

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.forms.models import model_to_dict

from ratings import history
from ratings.models import (
    Bot,
    BotVersion,
    CorrectionReason,
    ForgottenName,
    FormerHandle,
    Game,
    Match,
    Participation,
    Player,
    PlayerAlias,
    PlayerStatus,
    Rating,
    System,
    User,
)
from ratings.players import create_bot, create_players, find_by_handle, find_players
from ratings.recording import Answer, record_matches
from ratings.roster import (
    add_alias,
    anonymise_player,
    change_kind,
    change_owner,
    freeze_player,
    hide_player,
    reactivate_player,
    release_version,
    rename_player,
    retire_player,
)
from ratings.standings import Board, Kind
from tests.ratings.builders import (
    NOW,
    counts_of,
    draw,
    duel,
    everything_of,
    ledger_of,
    make_report,
    make_source,
    open_game,
    ratings_of,
    record,
    team,
    today,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def brisca():
    return open_game("brisca")


@pytest.fixture
def source():
    return make_source()


@pytest.fixture
def season(brisca, source):
    """Two games among ana, pepa_4, lola and bot-trueno; lola in Brisca alone."""
    open_game("tute")
    create_bot(handle="bot-trueno", name="Trueno", source=source)
    record(
        duel("ana", "pepa_4", today(10), external_id="m1"),
        duel("lola", "ana", today(11), external_id="m2"),
        duel("bot-trueno", "pepa_4", today(12), external_id="m3"),
        draw("ana", "bot-trueno", today(13), game="tute", external_id="m4"),
        duel("pepa_4", "ana", today(14), game="tute", external_id="m5"),
        source=source,
    )


def player(handle):
    return Player.objects.get(handle=handle)


def numbers_of_others(handle):
    """Every byte of every ledger row and rating but this player's own rating, by ids."""
    pk = player(handle).pk
    return (
        list(Participation.objects.order_by("pk").values()),
        list(Rating.objects.exclude(player=pk).order_by("pk").values()),
        list(Match.objects.order_by("pk").values()),
        list(Player.objects.exclude(pk=pk).order_by("pk").values()),
    )


def board(game, kind=Kind.EVERYONE, system=System.ELO):
    return [row.rating.player.handle for row in Board(game, system, kind).page(1).rows]


def versions():
    return {game.slug: game.state.version for game in Game.objects.select_related("state")}


def assert_all_clean():
    for game in Game.objects.all():
        assert history.verify(game).differences == []


OFF = [
    (retire_player, PlayerStatus.RETIRED),
    (freeze_player, PlayerStatus.FROZEN),
    (hide_player, PlayerStatus.HIDDEN),
    (anonymise_player, PlayerStatus.ANONYMISED),
]


@pytest.mark.parametrize(("change", "status"), OFF)
def test_player_of_any_other_status_is_on_no_board_and_nobody_elses_numbers_move(
    season, brisca, change, status
):
    ana = player("ana")
    before = numbers_of_others("ana")
    own = list(Rating.objects.filter(player=ana).order_by("pk").values())

    change(player=ana)

    assert ana.status == player(ana.handle).status == status
    assert numbers_of_others(ana.handle) == before
    assert list(Rating.objects.filter(player=ana).order_by("pk").values()) == [
        row | {"is_listed": False} for row in own
    ]
    assert board(brisca) == ["lola", "bot-trueno", "pepa_4"]
    assert sum(counts_of(brisca).values()) == 2 * 3
    assert_all_clean()


@pytest.mark.parametrize("change", [retire_player, freeze_player, hide_player])
def test_reactivated_player_stands_where_he_stood(season, brisca, change):
    before = [everything_of(game) for game in Game.objects.all()]
    change(player=player("ana"))
    assert [everything_of(game) for game in Game.objects.all()] != before

    reactivate_player(player=player("ana"))

    assert [everything_of(game) for game in Game.objects.all()] == before
    assert_all_clean()


@pytest.mark.parametrize(("change", "status"), OFF)
def test_change_of_status_is_announced_by_the_games_that_show_him_alone(season, change, status):
    before = versions()

    change(player=player("lola"))

    assert versions() == before | {"brisca": before["brisca"] + 1}


def test_same_status_again_is_no_change(season):
    retire_player(player=player("ana"))
    before = versions()

    retire_player(player=player("ana"))

    assert versions() == before


def is_waiting_for_a_lock():
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_player_who_retires_during_his_first_match_in_another_game_is_not_listed_there(
    season, source
):
    lola = player("lola")

    def retire():
        retire_player(player=lola)
        connection.close()

    retiring = Thread(target=retire, daemon=True)

    with transaction.atomic():
        record(duel("lola", "ana", today(15), game="tute"), source=source)
        retiring.start()
        while retiring.is_alive() and not is_waiting_for_a_lock():
            retiring.join(timeout=0.01)
    retiring.join(timeout=60)

    assert not retiring.is_alive()
    assert not Rating.objects.filter(player=lola, is_listed=True).exists()
    assert_all_clean()


@pytest.mark.parametrize("change", [retire_player, hide_player])
def test_player_who_is_off_may_play_on_and_stays_off_until_reactivated(
    season, brisca, source, change
):
    change(player=player("ana"))

    record(duel("ana", "lola", today(15)), source=source)

    assert "ana" not in board(brisca)
    assert Rating.objects.get(player__handle="ana", game=brisca).matches == 3
    assert_all_clean()

    reactivate_player(player=player("ana"))

    assert "ana" in board(brisca)
    assert_all_clean()


def test_first_match_in_another_game_does_not_list_a_retired_player(season, source):
    retire_player(player=player("lola"))

    record(duel("lola", "ana", today(15), game="tute"), source=source)

    assert board(Game.objects.get(slug="tute")) == ["pepa_4", "bot-trueno", "ana"]
    assert_all_clean()


def test_reports_with_a_frozen_player_are_refused_until_that_ends(season, source):
    freeze_player(player=player("ana"))
    report = duel("ana", "lola", today(15))

    [refused] = record_matches([report], source=source, at=NOW)
    reactivate_player(player=player("ana"))
    [taken] = record_matches([report], source=source, at=NOW)

    assert (refused.answer, taken.answer) == (Answer.REFUSED, Answer.RECORDED)


def test_callers_object_shows_what_was_stored_and_a_stale_one_overwrites_nothing(season):
    stale = player("ana")
    rename_player(player=player("ana"), name="Ana la de copas")

    retire_player(player=stale)

    assert model_to_dict(stale) == model_to_dict(player("ana"))
    assert stale.name == "Ana la de copas"


def test_ranks_agree_for_every_visible_player_when_others_between_them_are_gone(source):
    """BL-047: the rank on the profile and on the board come to the same."""
    names = [f"p{number:02}" for number in range(40)]
    games = [open_game(slug) for slug in Game.objects.values_list("slug", flat=True)]
    for game in games:
        size = game.min_players
        for start in range(0, 41 - size):
            seats = [
                team(name, place=place)
                for place, name in enumerate(names[start : start + size], start=1)
            ]
            record(make_report(seats, game=game.slug, at=today(9)), source=source)
    for name, (change, _status) in zip(names[5::7], [*OFF, OFF[0]], strict=True):
        change(player=player(name))

    for game in games:
        for system in System.values:
            shown = Board(game, system)
            rows = shown.page(1).rows
            assert len(rows) == 35
            numbers = sorted((shown.shown(row.rating) for row in rows), reverse=True)
            for row in rows:
                standing = shown.standing(row.rating)
                assert row.rank == standing.rank == numbers.index(row.shown) + 1
                assert standing.listed == 35
    assert_all_clean()


# Names


def test_renamed_player_keeps_rating_history_and_the_sources_id(season, brisca, source):
    """BL-131: the server sends the old id for a day, and then the id that it keeps for good."""
    pepa = player("pepa_4")
    rating = Rating.objects.filter(player=pepa, game=brisca).values().get()

    rename_player(player=pepa, handle="pepa_mus", name="Pepa Mus")
    add_alias(player=pepa, source=source, external_id="uid-77")
    record(duel("pepa_4", "lola", today(15)), source=source)
    record(duel("uid-77", "lola", today(16)), source=source)

    after = Rating.objects.filter(player=pepa, game=brisca).get()
    assert after.pk == rating["id"]
    assert after.matches == rating["won"] + rating["drawn"] + rating["lost"] + 2
    assert Player.objects.count() == 4
    assert find_by_handle("pepa_4") == (pepa, False)
    assert find_by_handle("PEPA_mus") == (pepa, True)
    opponents = Participation.objects.filter(match__external_id="m1").exclude(player=pepa)
    [line] = opponents.get().match.participations.filter(player=pepa)
    assert line.player.name == "Pepa Mus"
    assert_all_clean()


def test_rename_changes_no_number_and_is_announced(season):
    before = (numbers_of_others("pepa_4"), versions())

    rename_player(player=player("pepa_4"), handle="pepa_mus")

    assert numbers_of_others("pepa_mus") == before[0]
    assert versions() == before[1] | {slug: before[1][slug] + 1 for slug in ("brisca", "tute")}


@pytest.mark.parametrize("handle", ["pepa_4", "PEPA_4", "\u0440epa_4"])
def test_former_handle_is_given_to_nobody_else(season, source, handle):
    rename_player(player=player("pepa_4"), handle="pepa_mus")

    with pytest.raises(ValidationError, match="is taken"):
        rename_player(player=player("ana"), handle=handle)
    with pytest.raises(ValidationError, match="is taken"):
        create_bot(handle=handle, name="Bot")
    other = make_source("mesa-2")
    create_players(other, {handle.casefold(): handle})

    assert player("ana").handle == "ana"
    newcomer = PlayerAlias.objects.get(source=other).player
    assert newcomer.handle.startswith(handle + "-")
    assert find_by_handle("pepa_4").player == player("pepa_mus")


def test_player_may_take_a_former_handle_back(season):
    pepa = player("pepa_4")
    rename_player(player=pepa, handle="pepa_mus")

    rename_player(player=pepa, handle="pepa_4")

    assert find_by_handle("pepa_4") == (pepa, True)
    assert find_by_handle("pepa_mus") == (pepa, False)
    assert [former.handle for former in FormerHandle.objects.all()] == ["pepa_mus"]


def test_player_may_go_through_handles_that_look_alike_and_all_lead_to_him(season):
    pepa = player("pepa_4")
    handles = ["pepa0", "x-1", "pepaO", "y-1", "pepa0", "z-1"]

    for handle in handles:
        rename_player(player=pepa, handle=handle)

    former = {"pepa_4", "pepa0", "x-1", "pepaO", "y-1"}
    assert {each.handle for each in FormerHandle.objects.all()} == former
    assert {find_by_handle(handle).player for handle in (*former, "z-1")} == {pepa}
    with pytest.raises(ValidationError, match="is taken"):
        rename_player(player=player("ana"), handle="PEPA0")


def test_handle_in_another_case_is_the_same_handle(season):
    rename_player(player=player("pepa_4"), handle="Pepa_4")

    assert find_by_handle("pepa_4").is_current
    assert not FormerHandle.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"handle": "ana"}, "handle"),
        ({"handle": "ANA"}, "handle"),
        ({"handle": "bot-truen0"}, "handle"),
        ({"handle": "admin"}, "handle"),
        ({"handle": ""}, "handle"),
        ({"handle": "a/b"}, "handle"),
        ({"name": " "}, "name"),
        ({"name": "ana@example.org"}, "name"),
    ],
    ids=str,
)
def test_rename_that_may_not_be_is_refused_and_changes_nothing(season, fields, field):
    pepa = player("pepa_4")
    before = (list(Player.objects.order_by("pk").values()), versions())

    with pytest.raises(ValidationError) as refusal:
        rename_player(player=pepa, **fields)

    assert refusal.value.message_dict.keys() == {field}
    assert (list(Player.objects.order_by("pk").values()), versions()) == before
    assert pepa.handle == "pepa_4"
    assert not FormerHandle.objects.exists()


# Anonymous


@pytest.fixture
def seventeen(brisca, source):
    """player_17 with 40 matches against five others, one of them of the same account."""
    account = User.objects.create(username="account-17")
    create_players(source, {"player_17": "player_17", "bot-17": "bot-17"})
    change_owner(player=player("player_17"), owner=account)
    change_owner(player=player("bot-17"), owner=account)
    others = ["ana", "pepa_4", "lola", "bot-17"]
    for number in range(40):
        pair = ["player_17", others[number % 4]]
        winner, loser = pair if number % 3 else reversed(pair)
        record(duel(winner, loser, today(1, number), external_id=f"m{number}"), source=source)
    rename_player(player=player("player_17"), handle="diecisiete", name="El Diecisiete")
    return player("diecisiete")


def everywhere(text):
    """The tables of the whole database with a row that holds a text."""
    found = []
    for table in connection.introspection.table_names():
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM {table} AS row WHERE row::text ILIKE %s",  # noqa: S608
                [f"%{text}%"],
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found


def test_anonymised_player_leaves_no_name_anywhere(seventeen):
    LogEntry.objects.create(
        user=seventeen.owner,
        content_type=ContentType.objects.get_for_model(Player),
        object_id=str(seventeen.pk),
        object_repr="El Diecisiete",
        action_flag=CHANGE,
        change_message="player_17",
    )
    assert everywhere("diecisiete")
    assert everywhere("player_17")

    anonymise_player(player=seventeen)

    assert everywhere("diecisiete") == []
    assert everywhere("player_17") == []
    assert seventeen.owner is None
    assert seventeen.display_name == "deleted player"
    assert find_by_handle("diecisiete") is None
    assert find_by_handle("player_17") is None
    assert ForgottenName.objects.filter(player=seventeen).count() == 5


def test_opponents_of_an_anonymised_player_keep_every_byte_also_through_a_rebuild(
    seventeen, brisca
):
    """BL-133."""
    before = numbers_of_others("diecisiete")
    assert Match.objects.filter(reason="same_owner").count() == 10

    anonymise_player(player=seventeen)

    assert numbers_of_others(seventeen.handle) == before
    assert_all_clean()

    history.rerate_whole_game("brisca")

    assert numbers_of_others(seventeen.handle) == before
    assert_all_clean()


def test_match_of_an_anonymised_player_can_still_be_voided_and_restored(seventeen, brisca):
    anonymise_player(player=seventeen)
    before = everything_of(brisca)
    [match] = Match.objects.filter(external_id="m6").values_list("pk", flat=True)

    history.void_matches([match], by=None, reason=CorrectionReason.MISTAKE)

    assert Match.objects.get(pk=match).status == "void"
    assert_all_clean()

    history.restore_matches([match], by=None, reason=CorrectionReason.MISTAKE)

    assert everything_of(brisca) == before
    assert_all_clean()


@pytest.mark.parametrize("player_id", ["player_17", "PLAYER_17"])
def test_report_with_a_forgotten_id_is_refused_and_makes_nobody(seventeen, source, player_id):
    anonymise_player(player=seventeen)
    players = Player.objects.count()

    [receipt] = record_matches([duel(player_id, "ana")], source=source, at=NOW)

    assert receipt.answer == Answer.REFUSED
    assert "may not play" in receipt.problems[0]
    assert Player.objects.count() == players
    assert find_players(source, [player_id]).keys() == {"player_17"}


def test_same_report_again_is_known_after_its_player_was_anonymised(seventeen, source):
    anonymise_player(player=seventeen)

    [again] = record_matches(
        [duel("player_17", "pepa_4", today(1, 1), external_id="m1")], source=source, at=NOW
    )
    [other] = record_matches(
        [duel("pepa_4", "player_17", today(1, 1), external_id="m1")], source=source, at=NOW
    )

    assert (again.answer, other.answer) == (Answer.REPEATED, Answer.CONFLICT)


@pytest.mark.parametrize("handle", ["diecisiete", "player_17", "Player_l7"])
def test_handle_of_an_anonymised_player_is_given_to_nobody(seventeen, handle):
    anonymise_player(player=seventeen)

    with pytest.raises(ValidationError, match="is taken"):
        rename_player(player=player("ana"), handle=handle)
    other = make_source("mesa-2")
    create_players(other, {handle.casefold(): handle})

    assert PlayerAlias.objects.get(source=other).player.handle.startswith(handle + "-")


def test_same_id_of_another_source_is_another_person_and_may_play(seventeen):
    anonymise_player(player=seventeen)

    record(duel("player_17", "ana", today(15)), source=make_source("mesa-2"))

    assert_all_clean()


@pytest.mark.parametrize(
    "change",
    [
        reactivate_player,
        retire_player,
        lambda player: rename_player(player=player, name="Ana"),
        lambda player: change_owner(player=player, owner=User.objects.get()),
        lambda player: change_kind(player=player, is_bot=True),
        lambda player: add_alias(player=player, source=make_source("s-2"), external_id="x"),
        anonymise_player,
    ],
    ids=["reactivate", "retire", "rename", "own", "make a bot", "join", "anonymise"],
)
def test_nothing_of_an_anonymised_player_can_be_changed(seventeen, change):
    anonymise_player(player=seventeen)
    before = Player.objects.filter(pk=seventeen.pk).values().get()

    with pytest.raises(ValidationError, match="deleted"):
        change(player=seventeen)

    assert Player.objects.filter(pk=seventeen.pk).values().get() == before
    assert not seventeen.aliases.exists()


def test_two_who_share_former_names_in_their_lives_can_both_be_anonymised(season, source):
    """A former handle and an id of the source may be the same text: each is forgotten once."""
    anonymise_player(player=player("ana"))
    anonymise_player(player=player("pepa_4"))

    assert ForgottenName.objects.count() == 6
    assert_all_clean()


# Owners, kinds, ids, versions


def test_new_owner_answers_for_the_matches_from_now_on(season, brisca, source):
    account = User.objects.create(username="account")
    before = (ledger_of(brisca), ratings_of(brisca))

    change_owner(player=player("ana"), owner=account)
    change_owner(player=player("lola"), owner=account)
    [receipt] = record(duel("ana", "lola", today(15)), source=source)

    assert receipt.reason == "same_owner"
    after = ledger_of(brisca)
    assert {key: after[key] for key in before[0]} == before[0]
    assert ratings_of(brisca) == before[1]
    assert_all_clean()

    change_owner(player=player("lola"), owner=None)

    assert Match.objects.get(pk=receipt.match_id).reason == "same_owner"
    assert_all_clean()


def test_bot_that_gets_an_author_is_no_house_bot(season):
    trueno = player("bot-trueno")

    change_owner(player=trueno, owner=User.objects.create(username="author"))
    owned = Bot.objects.get().is_house
    change_owner(player=trueno, owner=None)

    assert (owned, Bot.objects.get().is_house) == (False, True)


def test_person_who_turns_out_a_bot_moves_to_the_board_of_bots(season, brisca):
    before = (everything_of(brisca), numbers_of_others("lola"))

    change_kind(player=player("lola"), is_bot=True)

    assert board(brisca, Kind.BOTS) == ["lola", "bot-trueno"]
    assert board(brisca, Kind.PEOPLE) == ["ana", "pepa_4"]
    assert numbers_of_others("lola") == before[1]
    assert Bot.objects.get(player__handle="lola").is_house
    assert_all_clean()

    change_kind(player=player("lola"), is_bot=False)

    assert everything_of(brisca) == before[0]
    assert_all_clean()


def test_alias_of_the_player_himself_is_left_as_it_is(season, source):
    ana = player("ana")

    alias = add_alias(player=ana, source=source, external_id=" ANA ")

    assert alias == ana.aliases.get()
    assert alias.external_id == "ana"


@pytest.mark.parametrize("external_id", ["pepa_4", "PEPA_4", "", "a\u200bb"])
def test_alias_that_is_somebody_elses_or_unusable_is_refused(season, source, external_id):
    before = list(PlayerAlias.objects.order_by("pk").values())

    with pytest.raises(ValidationError):
        add_alias(player=player("ana"), source=source, external_id=external_id)

    assert list(PlayerAlias.objects.order_by("pk").values()) == before


def test_alias_of_an_anonymised_player_is_refused(seventeen, source):
    anonymise_player(player=seventeen)

    with pytest.raises(ValidationError, match="somebody else"):
        add_alias(player=player("ana"), source=source, external_id="player_17")

    assert not PlayerAlias.objects.filter(key="player_17").exists()


def test_version_is_released_once_and_announced(season):
    bot = Bot.objects.get()
    before = versions()

    release_version(bot=bot, label=" 2.0 ", released_at=today(9))
    with pytest.raises(ValidationError):
        release_version(bot=bot, label="2.0")

    [version] = BotVersion.objects.all()
    assert (version.label, version.released_at) == ("2.0", today(9))
    assert versions() == before | {slug: before[slug] + 1 for slug in ("brisca", "tute")}
