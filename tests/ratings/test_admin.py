"""The admin: what staff may see and change, what nobody may, and what a list costs."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratings import history
from ratings.admin import MatchAdmin, tables
from ratings.models import (
    Bot,
    BotVersion,
    Game,
    GameState,
    Match,
    Participation,
    Player,
    PlayerAlias,
    PointsCount,
    Rating,
    Source,
    TieSegment,
    User,
)
from ratings.names import search_key
from ratings.players import create_bot
from ratings.roster import rename_player
from tests.ratings.builders import (
    MONDAY,
    NOW,
    count_rows,
    duel,
    make_report,
    make_source,
    open_game,
    ratings_of,
    record,
    team,
)

pytestmark = pytest.mark.django_db

REGISTERED = (Bot, Game, Match, Player, Rating, Source, User)
SCRIPT = "</script><img src=x onerror=alert(1)>"


def url(model, page, *args):
    return reverse(f"admin:ratings_{model._meta.model_name}_{page}", args=args)


def queries_of(client, address):
    """How many queries a page takes, after whatever is cached for longer is."""
    assert client.get(address).status_code == 200
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in queries]


@pytest.fixture
def source():
    return make_source()


@pytest.fixture
def brisca(source):
    game = open_game()
    record(duel("ana", "pepa_4", external_id="m-1001"), source=source)
    return game


# Who gets in, and to what


@pytest.mark.parametrize("model", REGISTERED)
def test_staff_see_every_list_and_every_row(admin_client, brisca, source, model):
    create_bot(handle="bot-rayo", name="Rayo", source=source)
    row = model.objects.latest("pk")

    listed = admin_client.get(url(model, "changelist"))
    shown = admin_client.get(url(model, "change", row.pk))

    assert listed.status_code == shown.status_code == 200


@pytest.mark.parametrize("model", REGISTERED)
def test_others_are_sent_to_sign_in(client, model):
    client.force_login(User.objects.create_user("somebody"))

    answer = client.get(url(model, "changelist"))

    assert answer.status_code == 302
    assert answer.url.startswith(reverse("admin:login"))


@pytest.mark.parametrize("model", [Participation, PointsCount, TieSegment, GameState])
def test_bookkeeping_has_no_page_of_its_own(model):
    assert not admin.site.is_registered(model)


# What nobody may do


@pytest.mark.parametrize("model", REGISTERED)
def test_nothing_can_be_deleted(admin_client, brisca, source, model):
    """Neither with the page, nor with the list's action, which would bypass the history."""
    create_bot(handle="bot-rayo", name="Rayo", source=source)
    row = model.objects.latest("pk")
    rows = count_rows()

    one = admin_client.post(url(model, "delete", row.pk), {"post": "yes"})
    many = admin_client.post(
        url(model, "changelist"),
        {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"},
    )
    page = admin_client.get(url(model, "changelist"))

    assert one.status_code == 403
    assert many.status_code in (200, 302, 403)
    assert count_rows() == rows
    assert "delete_selected" not in page.text


@pytest.mark.parametrize("model", [Match, Rating])
def test_what_is_recorded_can_be_neither_added_nor_changed(admin_client, brisca, model):
    row = model.objects.latest("pk")
    before = (model.objects.values().get(pk=row.pk), count_rows())

    added = admin_client.post(url(model, "add"), {})
    changed = admin_client.post(
        url(model, "change", row.pk), {"status": "void", "elo": "3000", "won": "99"}
    )

    assert (added.status_code, changed.status_code) == (403, 403)
    assert (model.objects.values().get(pk=row.pk), count_rows()) == before


def test_ledger_of_a_match_cannot_be_changed_through_its_page(admin_client, brisca):
    match = Match.objects.get()
    before = list(Participation.objects.values().order_by("pk"))
    row = before[0]["id"]

    answer = admin_client.post(
        url(Match, "change", match.pk),
        {
            "participations-TOTAL_FORMS": 1,
            "participations-INITIAL_FORMS": 1,
            "participations-0-id": row,
            "participations-0-match": match.pk,
            "participations-0-place": 2,
            "participations-0-DELETE": "on",
        },
    )

    assert answer.status_code == 403
    assert list(Participation.objects.values().order_by("pk")) == before


def test_person_cannot_be_added_by_hand(admin_client):
    assert admin_client.get(url(Player, "add")).status_code == 403


# Lists


def fill(source, numbers):
    """For each number a match between new people, a bot with a version, a source, an account."""
    for number in numbers:
        owner = User.objects.create_user(f"user-{number}")
        reports = [duel(f"p{number}", f"q{number}", NOW + timedelta(minutes=number))]
        record(*reports, source=source, at=NOW + timedelta(days=1))
        Player.objects.filter(handle=f"p{number}").update(owner=owner)
        create_bot(handle=f"bot-{number}", name=f"Bot {number}", author=owner, source=source)
        make_source(f"mesa-{number}0")


@pytest.mark.parametrize("model", [Bot, Match, Player, Rating, Source, User])
def test_list_costs_the_same_with_one_row_and_with_thirty(admin_client, source, model):
    open_game()
    fill(source, [1])
    one = queries_of(admin_client, url(model, "changelist"))
    fill(source, range(2, 31))
    assert model.objects.count() >= 30

    thirty = queries_of(admin_client, url(model, "changelist"))

    assert len(thirty) == len(one)


def test_list_of_games_costs_the_same_with_more_games(admin_client):
    few = queries_of(admin_client, url(Game, "changelist"))
    for number in range(30):
        Game.objects.create(slug=f"mus-{number}", name=f"Mus {number}", shapes=["solo"])

    many = queries_of(admin_client, url(Game, "changelist"))

    assert len(many) == len(few)


@pytest.mark.parametrize("model", [Bot, Match, Player, Rating])
def test_list_of_a_large_table_counts_only_so_far(admin_client, source, model, monkeypatch):
    open_game()
    fill(source, range(12))
    monkeypatch.setattr(tables, "MOST_LISTED", 5)

    queries = queries_of(admin_client, url(model, "changelist"))
    page = admin_client.get(url(model, "changelist"))

    counts = [query for query in queries if "COUNT(" in query and "ratings_" in query]
    assert len(counts) == 1
    assert "LIMIT 5" in counts[0]
    assert page.context["cl"].result_count == 5
    assert "At most 5 are listed" in page.text


def test_far_page_of_a_large_table_is_not_there(admin_client, brisca, source, monkeypatch):
    record(*[duel("ana", "pepa_4") for _match in range(5)], source=source)
    monkeypatch.setattr(MatchAdmin, "list_per_page", 2)
    monkeypatch.setattr(tables, "MOST_LISTED", 4)

    last = admin_client.get(url(Match, "changelist"), {"p": 2})
    answer = admin_client.get(url(Match, "changelist"), {"p": 3})

    assert len(last.context["cl"].result_list) == 2

    assert answer.status_code == 302
    assert answer.url == url(Match, "changelist") + "?e=1"


@pytest.mark.parametrize(
    ("term", "found"),
    [("m-1001", ["m-1001"]), (" m-1001 ", ["m-1001"]), ("m-100", []), ("M-1001", [])],
)
def test_match_is_found_by_its_whole_external_id(admin_client, brisca, source, term, found):
    record(duel("ana", "pepa_4", external_id="m-1002"), source=source)

    answer = admin_client.get(url(Match, "changelist"), {"q": term})

    assert [match.external_id for match in answer.context["cl"].result_list] == found


def test_search_for_a_match_uses_the_index(admin_client, brisca, source):
    record(*[duel("ana", "pepa_4") for _match in range(300)], source=source)
    address = url(Match, "changelist") + "?q=m-1001"
    [query] = [
        query
        for query in queries_of(admin_client, address)
        if "ORDER BY" in query and 'FROM "ratings_match"' in query
    ]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ratings_match")
        cursor.execute(f"EXPLAIN {query}")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "match_once_per_source" in plan


def test_matches_are_filtered(admin_client, brisca, source):
    record(
        duel("ana", "pepa_4", external_id="m-1003", termination="friendly"),
        duel("ana", "pepa_4", external_id="m-1004", game="tute"),
        source=source,
    )

    def listed(**parameters):
        answer = admin_client.get(url(Match, "changelist"), parameters)
        return [match.external_id for match in answer.context["cl"].result_list]

    assert listed(game__id__exact=brisca.pk) == ["m-1003", "m-1001"]
    assert listed(status__exact="rated") == ["m-1004", "m-1001"]
    assert listed(reason__exact="friendly") == ["m-1003"]
    assert listed(source__id__exact=source.pk) == ["m-1004", "m-1003", "m-1001"]


@pytest.mark.parametrize("term", ["PEPA", "epa_4", "triána"])
def test_player_is_found_by_part_of_handle_or_name(admin_client, brisca, term):
    rename_player(player=Player.objects.get(handle="pepa_4"), name="La Pepa de Triana")

    answer = admin_client.get(url(Player, "changelist"), {"q": term})

    assert [player.handle for player in answer.context["cl"].result_list] == ["pepa_4"]


def test_rating_is_found_by_the_beginning_of_a_handle(admin_client, brisca):
    answer = admin_client.get(url(Rating, "changelist"), {"q": "PEP"})

    assert [rating.player.handle for rating in answer.context["cl"].result_list] == ["pepa_4"]


def test_names_are_shown_as_text(admin_client, brisca):
    Player.objects.update(name=SCRIPT)
    match, player = Match.objects.get(), Player.objects.first()

    pages = [
        url(Player, "changelist"),
        url(Player, "change", player.pk),
        url(Rating, "changelist"),
        url(Match, "change", match.pk),
    ]

    for page in pages:
        text = admin_client.get(page).text
        assert SCRIPT not in text
        assert "&lt;img src=x onerror=alert(1)&gt;" in text


# Matches


def test_match_shows_its_ledger_and_its_report(admin_client, brisca):
    match = Match.objects.get()

    text = admin_client.get(url(Match, "change", match.pk)).text

    assert "1,216.0" in text
    assert "1,184.0" in text
    assert "&quot;game&quot;: &quot;brisca&quot;" in text
    assert '<input type="text"' not in text.partition('id="match_form"')[2]
    assert 'name="_save"' not in text


def test_match_page_costs_the_same_for_two_players_and_for_ten(admin_client, source):
    open_game("siete-y-media")
    players = [f"p{number}" for number in range(12)]
    record(
        make_report(
            [team(player, place=1) for player in players[:2]],
            external_id="two",
            game="siete-y-media",
        ),
        make_report(
            [team(player, place=1) for player in players[2:]],
            external_id="ten",
            game="siete-y-media",
        ),
        source=source,
    )

    two, ten = (
        queries_of(admin_client, url(Match, "change", Match.objects.get(external_id=name).pk))
        for name in ("two", "ten")
    )

    assert len(two) == len(ten)


# Games


GAME = {
    "name": "Mus",
    "slug": "mus",
    "position": "6",
    "min_players": "2",
    "max_players": "4",
    "shapes": "solo,2v2",
    "places_by": "total-score",
    "idle_days": "",
    "play_url": "",
}


def test_new_game_can_be_played_at_once(admin_client, source):
    answer = admin_client.post(url(Game, "add"), GAME)

    assert answer.status_code == 302
    mus = Game.objects.get(slug="mus")
    assert (mus.shapes, mus.idle_days, mus.state.version) == (["solo", "2v2"], None, 0)
    record(duel("ana", "pepa_4", game="mus"), source=source)
    assert history.verify(mus).is_clean


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"slug": "brisca"}, "slug"),
        ({"shapes": "3x3"}, "shapes"),
        ({"shapes": ""}, "shapes"),
        ({"min_players": "5"}, "__all__"),
        ({"min_players": "1"}, "__all__"),
        ({"idle_days": "-1"}, "idle_days"),
        ({"play_url": "javascript:alert(1)"}, "play_url"),
    ],
)
def test_game_that_makes_no_sense_is_refused(admin_client, changes, field):
    rows = count_rows()

    answer = admin_client.post(url(Game, "add"), GAME | changes)

    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [field]
    assert count_rows() == rows


def test_idle_days_take_effect_at_once(admin_client, brisca, source):
    record(duel("lola", "rita", MONDAY - timedelta(days=20)), source=source)
    version = GameState.objects.get(game=brisca).version
    fields = {
        "name": "Brisca", "position": "1", "min_players": "2", "max_players": "4",
        "shapes": "solo,2v2", "places_by": "card-points", "play_url": "",
    }  # fmt: skip

    def listed_with(idle_days):
        answer = admin_client.post(
            url(Game, "change", brisca.pk), fields | {"idle_days": idle_days, "slug": "other"}
        )
        assert answer.status_code == 302
        assert history.verify(Game.objects.get(pk=brisca.pk)).is_clean
        return {handle for handle, row in ratings_of(brisca).items() if row["is_listed"]}

    assert listed_with("10") == {"ana", "pepa_4"}
    assert listed_with("") == {"ana", "pepa_4", "lola", "rita"}
    assert GameState.objects.get(game=brisca).version == version + 2
    assert Game.objects.get(pk=brisca.pk).slug == "brisca"


def test_game_saved_as_it_was_changes_no_version(admin_client, brisca):
    version = GameState.objects.get(game=brisca).version
    fields = {
        "name": "Brisca", "position": "1", "min_players": "2", "max_players": "4",
        "shapes": "solo,2v2", "places_by": "card-points", "play_url": "", "idle_days": "",
        "description": brisca.description,
    }  # fmt: skip

    answer = admin_client.post(url(Game, "change", brisca.pk), fields)

    assert answer.status_code == 302
    assert GameState.objects.get(game=brisca).version == version


# Players


INLINES = {
    f"{prefix}-{field}_FORMS": "0"
    for prefix in ("ratings", "aliases", "former_handles", "versions")
    for field in ("TOTAL", "INITIAL")
}


def test_player_page_changes_the_names_and_not_the_status(admin_client, brisca):
    player = Player.objects.get(handle="ana")
    before = Player.objects.values().get(pk=player.pk)
    before |= {"name": "Ana la de Triana", "search_key": search_key("ana", "Ana la de Triana")}
    version = GameState.objects.get(game=brisca).version

    answer = admin_client.post(
        url(Player, "change", player.pk),
        INLINES | {"name": "Ana la de Triana", "handle": "ana", "status": "frozen", "id": "7"},
    )

    assert answer.status_code == 302
    assert Player.objects.values().get(pk=player.pk) == before
    assert GameState.objects.get(game=brisca).version == version + 1
    assert GameState.objects.get(game__slug="tute").version == 0


def test_name_that_cannot_be_seen_is_refused(admin_client, brisca):
    player = Player.objects.get(handle="ana")

    answer = admin_client.post(
        url(Player, "change", player.pk), INLINES | {"handle": "ana", "name": "an\u202ea"}
    )

    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == ["name"]
    player.refresh_from_db()
    assert player.name == "ana"


def test_player_page_shows_ratings_and_ids_at_the_sources(admin_client, brisca):
    player = Player.objects.get(handle="ana")
    other = make_source("mesa-2")
    PlayerAlias.objects.create(source=other, external_id="0017", key="0017", player=player)

    text = admin_client.get(url(Player, "change", player.pk)).text

    assert "0017" in text
    assert "mesa-2" in text
    assert "1,216" in text


def test_player_page_costs_the_same_in_one_game_and_in_five(admin_client, brisca, source):
    games = [game.slug for game in Game.objects.exclude(slug="tute-subastado")]
    record(*[duel("lola", "rita", game=game) for game in games], source=source)
    PlayerAlias.objects.create(
        source=make_source("mesa-2"),
        external_id="0017",
        key="0017",
        player=Player.objects.get(handle="lola"),
    )

    one, five = (
        queries_of(admin_client, url(Player, "change", Player.objects.get(handle=handle).pk))
        for handle in ("ana", "lola")
    )

    assert len(one) == len(five)


# Bots


BOT = INLINES | {
    "handle": "bot-trueno",
    "name": "Trueno",
    "difficulty": "hard",
    "author": "",
    "source": "",
}


def test_house_bot_is_made_by_the_form(admin_client, source):
    answer = admin_client.post(url(Bot, "add"), BOT | {"source": source.pk})

    assert answer.status_code == 302
    bot = Bot.objects.select_related("player").get()
    assert (bot.player.handle, bot.player.name, bot.player.is_bot) == (
        "bot-trueno",
        "Trueno",
        True,
    )
    assert (bot.difficulty, bot.is_house, bot.player.owner) == ("hard", True, None)
    assert PlayerAlias.objects.get().key == "bot-trueno"


def test_bot_of_an_author_is_made_with_its_first_version(admin_client):
    author = User.objects.create_user("author")

    answer = admin_client.post(
        url(Bot, "add"),
        BOT
        | {"author": author.pk, "versions-TOTAL_FORMS": "1", "versions-0-label": "1.0"}
        | {"versions-0-released_at_0": "2026-07-01", "versions-0-released_at_1": "12:00"},
    )

    assert answer.status_code == 302
    bot = Bot.objects.select_related("player").get()
    assert (bot.is_house, bot.player.owner) == (False, author)
    assert [version.label for version in bot.versions.all()] == ["1.0"]
    assert not PlayerAlias.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"handle": "bot trueno"}, "handle"),
        ({"handle": "admin"}, "handle"),
        ({"handle": "ANA"}, "handle"),
        ({"handle": "аna"}, "handle"),  # a Cyrillic a
        ({"handle": ""}, "handle"),
        ({"name": "\u200b"}, "name"),
        ({"difficulty": "impossible"}, "difficulty"),
        ({"author": "999999"}, "author"),
        ({"source": "999999"}, "source"),
    ],
)
def test_bot_that_is_not_valid_is_refused(admin_client, brisca, changes, field):
    rows = count_rows()

    answer = admin_client.post(url(Bot, "add"), BOT | changes)

    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [field]
    assert count_rows() == rows


def test_bot_under_an_id_that_the_source_uses_is_refused(admin_client, source):
    record(duel("bot-trueno", "ana"), source=source)
    Player.objects.filter(handle="bot-trueno").update(
        handle="other", handle_key="other", handle_skeleton="other"
    )

    answer = admin_client.post(url(Bot, "add"), BOT | {"source": source.pk})

    assert list(answer.context["adminform"].form.errors) == ["source"]
    assert not Bot.objects.exists()


def test_new_version_of_a_bot_moves_its_games_on(admin_client, brisca, source):
    bot = create_bot(handle="bot-rayo", name="Rayo", difficulty="easy", source=source)
    record(duel("bot-rayo", "ana"), source=source)
    version = GameState.objects.get(game=brisca).version
    address = url(Bot, "change", bot.pk)

    changed = admin_client.post(
        address,
        INLINES
        | {"difficulty": "easy", "versions-TOTAL_FORMS": "1", "versions-0-label": "2.0"}
        | {"versions-0-released_at_0": "2026-07-01", "versions-0-released_at_1": "12:00"}
        | {"versions-0-bot": bot.pk},
    )
    after = GameState.objects.get(game=brisca).version
    [released] = BotVersion.objects.all()
    saved_again = admin_client.post(
        address,
        INLINES
        | {"difficulty": "easy", "versions-TOTAL_FORMS": "1", "versions-INITIAL_FORMS": "1"}
        | {"versions-0-id": released.pk, "versions-0-bot": bot.pk, "versions-0-label": "2.0"}
        | {"versions-0-released_at_0": "2026-07-01", "versions-0-released_at_1": "12:00"},
    )

    assert (changed.status_code, saved_again.status_code) == (302, 302)
    assert after == version + 1
    assert GameState.objects.get(game=brisca).version == after


def test_handle_name_and_owner_of_a_bot_stand_on_its_player(admin_client):
    bot = create_bot(handle="bot-rayo", name="Rayo", difficulty="easy")

    answer = admin_client.post(
        url(Bot, "change", bot.pk),
        BOT | {"difficulty": "hard", "is_house": ""},
    )

    assert answer.status_code == 302
    bot.refresh_from_db()
    assert (bot.difficulty, bot.is_house, bot.player.handle) == ("hard", True, "bot-rayo")


# Sources


def test_name_of_a_source_stays(admin_client, source):
    answer = admin_client.post(
        url(Source, "change", source.pk),
        {"name": "other", "may_create_players": "", "is_active": "on", "is_demo": "on"},
    )

    assert answer.status_code == 302
    source.refresh_from_db()
    assert (source.name, source.may_create_players, source.is_demo) == ("mesa-1", False, False)
