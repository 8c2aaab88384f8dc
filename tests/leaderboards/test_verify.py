from datetime import timedelta

import pytest
from django.core.management import get_commands

from ratings.history import run_verification
from ratings.models import Game, Rating, VerifyRun
from ratings.systems.engine import engine
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, duel, open_game, record

URL = "/verify/"


@pytest.fixture
def played(brisca, source):
    record(duel("ana", "pepe"), duel("ana", "eva"), source=source)
    return brisca


def checks(client):
    """What the page says of each game's latest check, but for when it was."""
    [table] = [
        table
        for table in parse(client.get(URL)).all("table")
        if table.one("caption").text == "The latest check of each game"
    ]
    return {row[0]: row[1:4] if len(row) > 2 else row[1] for row in table.rows()}


def check_at(game, at, **fields):
    """A check as it would have been stored then."""
    found = {"matches": 1, "players": 2, "difference_count": 0, "is_exact": True} | fields
    return VerifyRun.objects.create(
        game=game, version=1, started_at=at, finished_at=at, engine="1-abc", **found
    )


def test_game_without_a_check_says_so(client, db):
    assert set(checks(client).values()) == {"not checked yet"}


def test_clean_check_says_that_every_bit_agrees(client, played):
    run_verification(played)

    assert checks(client)["Brisca"] == ["every bit agrees", "2", "3"]
    assert checks(client)["Tute"] == "not checked yet"


def test_difference_is_not_hidden(client, played):
    Rating.objects.filter(player__handle="ana").update(elo=1111, peak_elo=1300)

    run_verification(played)

    assert "differ from the replay" in checks(client)["Brisca"][0]


def test_check_on_another_machine_says_how_close(client, played):
    check_at(played, NOW, is_exact=False)

    assert checks(client)["Brisca"][0] == "all agrees to 10−9"


def test_latest_check_counts(client, played):
    check_at(played, NOW, matches=12_345)
    check_at(played, NOW - timedelta(days=1), matches=1, difference_count=3)
    check_at(open_game("tute"), NOW - timedelta(days=2), matches=7, difference_count=1)

    assert checks(client)["Brisca"] == ["every bit agrees", "12,345", "2"]
    assert checks(client)["Tute"] == ["1 number differs from the replay", "7", "2"]


def test_engine_of_each_game_is_named(client, played):
    [engines] = [
        table.rows()
        for table in parse(client.get(URL)).all("table")
        if table.one("caption").text == "The engine of each game"
    ]

    assert engines[0] == ["Brisca", engine()]
    assert engines[1] == ["Tute", "nothing rated yet"]


def test_page_changes_with_a_check(client, played):
    etag = client.get(URL)["ETag"]
    assert client.get(URL, headers={"If-None-Match": etag}).status_code == 304

    check_at(played, NOW)

    assert client.get(URL, headers={"If-None-Match": etag}).status_code == 200


def test_queries_do_not_grow_with_the_checks(client, played, django_assert_num_queries):
    check_at(played, NOW)
    with django_assert_num_queries(3):
        client.get(URL)

    for day in range(30):
        check_at(played, NOW - timedelta(days=day))

    with django_assert_num_queries(3):
        client.get(URL)


def test_commands_are_those_that_there_are(client, db):
    commands = [code.text for code in parse(client.get(URL)).all("pre")]

    slug = Game.objects.first().slug
    assert commands == [
        f"python manage.py replay_download {slug}.jsonl.gz",
        "python manage.py verify_ratings",
        f"python manage.py verify_ratings --game {slug}",
    ]
    assert {command.split()[2] for command in commands} <= get_commands().keys()
