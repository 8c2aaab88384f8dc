import unicodedata
from datetime import timedelta
from urllib.parse import quote

import pytest

from ratings.decay import apply_decay
from ratings.models import Player, PlayerStatus
from ratings.players import create_bot
from tests.leaderboards.html import parse
from tests.ratings.builders import (
    NOW,
    draw,
    duel,
    make_report,
    make_source,
    open_game,
    record,
    team,
)


def minutes(count):
    return NOW + timedelta(minutes=count)


@pytest.fixture
def ana(brisca, source):
    """Ana has won, drawn and lost at Brisca, and won at Tute."""
    open_game("tute")
    record(
        duel("ana", "pepe"),
        draw("ana", "quin", at=minutes(1)),
        duel("quin", "ana", at=minutes(2)),
        duel("ana", "eva", at=minutes(3), game="tute"),
        source=source,
        at=minutes(10),
    )
    return Player.objects.get(handle="ana")


def test_profile_shows_each_game_and_the_matches_of_all(client, ana):
    page = parse(client.get("/players/ana/"))

    assert page.one("h1").text == "ana"
    brisca, tute = (record.text for record in page.all("li", class_="record"))
    assert brisca.startswith("Brisca Elo 1,199 rank 2 of 3 OpenSkill 1,547 rank 2 of 3 σ 7.61")
    assert "Matches 3 1 won, 1 drawn, 1 lost" in brisca
    assert tute.startswith("Tute Elo 1,216 rank 1 of 2")
    assert [(row[0].split(", ")[1], *row[1:4]) for row in page.rows()] == [
        ("22:03 CEST Tute", "won", "eva", "1,216 +16.0 up 16.0"),
        ("22:02 CEST Brisca", "lost", "quin", "1,199 −16.7 down 16.7"),
        ("22:01 CEST Brisca", "drew", "quin", "1,215 −0.7 down 0.7"),
        ("22:00 CEST Brisca", "won", "pepe", "1,216 +16.0 up 16.0"),
    ]


def test_game_profile_shows_that_game_only(client, ana):
    page = parse(client.get("/players/ana/brisca/"))

    assert page.one("head").one("title").text == "ana in Brisca · Naiply"
    assert len(page.one("section", class_="appearances").rows()) == 3
    text = page.text
    assert "Highest Elo 1,216 (6 Jul 2026)" in text
    assert "Better than 50% of the others by Elo" in text


def test_ranks_of_profile_and_board_are_the_same(client, brisca, source):
    create_bot(handle="bot-rayo", name="bot-rayo", source=source)
    names = ["ana", "pepe", "quin", "eva", "bot-rayo"]
    record(
        *[
            duel(one, other, at=minutes(number))
            for number, (one, other) in enumerate(
                (one, other) for one in names for other in names if one < other
            )
        ],
        draw("leo", "quin", at=minutes(60)),
        source=source,
        at=minutes(90),
    )

    for system in ("elo", "openskill"):
        board = parse(client.get("/leaderboards/brisca/", {"system": system}))
        for row in board.one("section", id="board").one("tbody").all("tr"):
            name, rank = row.one("bdi").text, row.all("td")[0].text
            profile = parse(client.get(f"/players/{name}/"))
            headline = profile.one("dl").all("dd")[0 if system == "elo" else 1].text
            assert f"rank {rank} of 6" in headline, (system, name)


def test_player_without_a_match_has_a_page(client, db):
    create_bot(handle="bot-rayo", name="Rayo", difficulty="hard")

    page = parse(client.get("/players/bot-rayo/"))

    assert "Bot · hard" in page.text
    assert "No rated match yet" in page.text
    assert "No match yet." in page.text
    assert "No rated match in Tute yet" in parse(client.get("/players/bot-rayo/tute/")).text


def test_bot_without_a_version_has_a_page(client, brisca, source):
    create_bot(handle="bot-rayo", name="Rayo", source=source)
    record(duel("bot-rayo", "ana"), source=source)

    response = client.get("/players/bot-rayo/brisca/")

    assert response.status_code == 200


@pytest.mark.parametrize(
    ("status", "words", "has_numbers"),
    [
        ("retired", "Retired: on no board, even when playing on.", True),
        ("frozen", "Frozen by the staff", True),
        ("hidden", "has chosen to be on no board", False),
        ("anonymised", "This account was deleted.", False),
    ],
)
def test_profile_says_why_a_player_is_on_no_board(client, ana, status, words, has_numbers):
    Player.objects.filter(handle="ana").update(status=PlayerStatus(status))
    ana.ratings.update(is_listed=False)

    for url in ("/players/ana/", "/players/ana/brisca/"):
        page = parse(client.get(url))
        assert page.text.count(words) == 1
        assert bool(page.all("table")) == has_numbers
        assert bool(page.all("meta", name="robots")) != has_numbers
        assert "rank 2" not in page.text


def test_profile_says_that_the_player_was_away_for_long(client, brisca, source):
    open_game("brisca", idle_days=180)
    record(duel("ana", "pepe"), source=source)

    apply_decay(NOW + timedelta(days=200))

    page = parse(client.get("/players/ana/brisca/"))
    assert "the last rated match is more than 180 days ago" in page.text
    assert "rank" not in page.one("dl", class_="numbers").text


def test_team_match_names_partners_and_opponents(client, brisca, source):
    record(make_report([team("ana", "eva", place=1), team("leo", "quin", place=2)]), source=source)

    [row] = parse(client.get("/players/eva/")).rows()

    assert row[1:3] == ["won", "leo + quin (with ana)"]


def test_free_for_all_names_the_place_and_everyone(client, source):
    open_game("cinquillo")
    places = [team("ana", place=1), team("eva", place=2), team("leo", place=2)]
    record(make_report(places, game="cinquillo"), source=source)

    [row] = parse(client.get("/players/eva/")).rows()

    assert row[1:3] == ["lost (place 2)", "ana, leo"]


@pytest.mark.parametrize(
    ("termination", "words"),
    [("friendly", "It was a friendly match."), ("cancelled", "It was cancelled before")],
)
def test_match_that_is_not_rated_says_why(client, brisca, source, termination, words):
    record(duel("ana", "pepe", termination=termination), source=source)

    [row] = parse(client.get("/players/ana/")).rows()

    assert row[3].startswith(f"Not rated. {words}")


def test_latest_twenty_matches_are_listed_newest_first(client, brisca, source):
    open_game("tute")
    record(
        *[
            duel("ana", "pepe", at=NOW - timedelta(days=n), game=("brisca", "tute")[n % 2])
            for n in range(25)
        ],
        source=source,
    )

    rows = parse(client.get("/players/ana/")).rows()

    assert [row[0].split(",")[0] for row in rows] == [
        f"{NOW - timedelta(days=n):%-d %b %Y}" for n in range(20)
    ]


@pytest.mark.parametrize(("url", "most"), [("/players/ana/", 8), ("/players/ana/brisca/", 13)])
def test_queries_do_not_grow_with_the_matches(
    client, ana, url, most, source, django_assert_num_queries
):
    with django_assert_num_queries(most):
        client.get(url)

    record(*[duel("ana", f"j-{n}", at=minutes(20 + n)) for n in range(30)], source=source,
           at=minutes(90))  # fmt: skip

    with django_assert_num_queries(most):
        client.get(url)


def test_profile_is_304_until_something_changes(client, ana):
    for url in ("/players/ana/", "/players/ana/brisca/"):
        etag = client.get(url)["ETag"]
        assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
        Player.objects.filter(handle="ana").update(name=f"Ana of {len(url)}")
        assert client.get(url, headers={"If-None-Match": etag}).status_code == 200


# Addresses


@pytest.mark.parametrize(
    "spelling", ["ÍÑIGO_17", "Íñigo_17", unicodedata.normalize("NFD", "íñigo_17"), "ｉ́ñigo_17"]
)
@pytest.mark.parametrize("end", ["", "brisca/"])
def test_other_spelling_of_a_handle_is_sent_to_the_one(client, brisca, source, spelling, end):
    record(duel("íñigo_17", "pepe"), source=source)

    response = client.get(f"/es/players/{quote(spelling)}/{end}")

    assert response.status_code == 301
    assert response["Location"] == f"/es/players/{quote('íñigo_17')}/{end}"
    assert client.get(response["Location"]).status_code == 200


@pytest.mark.parametrize("handle", ["íñigo_17", "لاعب_٧", "007", "1e5", "a.b", "名無し"])
def test_every_valid_handle_has_an_address(client, brisca, source, handle):
    record(duel(handle, "pepe"), source=source)

    response = client.get(Player.objects.get(handle=handle).get_absolute_url())

    assert response.status_code == 200
    assert parse(response).one("h1").text == handle


@pytest.mark.parametrize(
    "path",
    [
        "nobody-here", "%00", "ana%00", "a%2Fb", "..", "%2e%2e", "a%20b", "%ff%fe", "ana%E2%80%AE",
        "%3Cscript%3E", "a" * 121, "a" * 20_000, "ana'--", "ana\u200b", "ana/mus", "ana/Brisca",
        "ana/brisca/x",
    ],
)  # fmt: skip
def test_unknown_player_is_not_found_and_not_echoed(client, brisca, source, path):
    record(duel("ana", "pepe"), source=source)

    response = client.get(f"/players/{path}/")

    assert response.status_code == 404
    page = parse(response)
    assert page.one("h1").text == "Nothing lies on this table"
    assert path not in page.one("main").text


def test_same_id_of_another_source_is_another_player(client, brisca, source):
    other = make_source("mesa-2")
    record(duel("ana", "pepe"), source=source)
    record(duel("ana", "pepe", at=minutes(1)), source=other, at=minutes(1))

    assert Player.objects.count() == 4
    assert len(parse(client.get("/players/ana/")).rows()) == 1
