from datetime import timedelta

import pytest
from django.conf import settings

from ratings.models import Player
from ratings.players import create_bot
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, duel, make_report, open_game, record, team

COOKIE = settings.LANGUAGE_COOKIE_NAME


def test_home_without_any_result_says_so(client, db):
    page = parse(client.get("/"))

    assert [h3.text for h3 in page.all("h3")] == [
        "Brisca", "Tute", "Cinquillo", "Tute Subastado", "Siete y Media",
    ]  # fmt: skip
    assert page.text.count("No rated match yet.") == 5
    assert "No match has been played yet." in page.text


def test_home_shows_the_first_three_of_each_board(client, brisca, source):
    tute = open_game("tute")
    create_bot(handle="bot-rayo", name="bot-rayo", source=source)
    record(duel("ana", "pepe"), duel("bot-rayo", "quin"), source=source)
    record(duel("eva", "leo", game=tute.slug), source=source)

    cards = parse(client.get("/")).all("li", class_="board-card")

    assert [[li.text for li in card.all("li")] for card in cards] == [
        ["Rank 1 bot-rayo 1,216", "Rank 1 ana 1,216", "Rank 3 pepe 1,184"],
        ["Rank 1 eva 1,216", "Rank 2 leo 1,184"],
        [],
        [],
        [],
    ]


def test_home_shows_the_latest_matches_of_all_games(client, brisca, source):
    open_game("tute")
    minutes = [timedelta(minutes=n) for n in range(12)]
    record(*[duel(f"a{n}", f"b{n}", at=NOW - late) for n, late in enumerate(minutes[:6])],
           source=source)  # fmt: skip
    record(*[duel(f"c{n}", f"d{n}", at=NOW - late - timedelta(seconds=30), game="tute")
             for n, late in enumerate(minutes[:6])], source=source)  # fmt: skip

    latest = parse(client.get("/")).one("ul", class_="latest")

    assert [place.text for place in latest.all("ol")] == [
        "1. a0 2. b0", "1. c0 2. d0", "1. a1 2. b1", "1. c1 2. d1",
        "1. a2 2. b2", "1. c2 2. d2", "1. a3 2. b3", "1. c3 2. d3",
    ]  # fmt: skip


def test_home_shows_teams_as_teams(client, brisca, source):
    record(make_report([team("ana", "eva", place=1), team("leo", "quin", place=1)]), source=source)

    [places] = parse(client.get("/")).all("ol", class_="places")

    assert places.text == "1. ana + eva 1. leo + quin"


def test_queries_do_not_grow_with_the_matches(client, brisca, source, django_assert_num_queries):
    record(duel("ana", "pepe"), source=source)
    with django_assert_num_queries(7):
        client.get("/")

    record(*[duel(f"a{n}", f"b{n}") for n in range(30)], source=source)

    with django_assert_num_queries(7):
        client.get("/")


def test_home_changes_with_any_game(client, brisca, source):
    open_game("tute")
    etag = client.get("/")["ETag"]
    assert client.get("/", headers={"If-None-Match": etag}).status_code == 304

    record(duel("ana", "pepe", game="tute"), source=source)

    assert client.get("/", headers={"If-None-Match": etag}).status_code == 200


# Search


def rename(handle, name):
    player = Player.objects.get(handle=handle)
    player.name = name
    player.clean_fields()
    player.save()


@pytest.mark.parametrize("text", ["nunez", "NUÑEZ", "Nuñez", " nuñez "])
def test_home_finds_players_of_any_game_however_they_are_spelt(client, brisca, source, text):
    record(duel("n-7", "pepe"), duel("nunez-8", "ana"), source=source)
    rename("n-7", "NUÑEZ")

    page = parse(client.get("/", {"q": text}))

    found = page.one("ul", class_="finds")
    assert {a.attributes["href"] for a in found.all("a")} == {"/players/n-7/", "/players/nunez-8/"}
    assert page.one("div", role="status").text == f"2 players found for “{text.strip()}”"
    assert page.one("input", name="q").attributes["value"] == text.strip()
    assert page.one("meta", name="robots").attributes["content"] == "noindex"


def test_home_says_that_it_found_nobody(client, brisca, source):
    record(duel("ana", "pepe"), source=source)

    page = parse(client.get("/", {"q": "zzz"}))

    assert page.one("div", role="status").text == "Nobody found for “zzz”"
    assert page.all("ul", class_="finds") == []


@pytest.mark.parametrize("query", ["?q=", "?q=%20", "?q=%00", "?q=%ff%fe", "?q=" + "x" * 20_000])
def test_senseless_search_shows_the_plain_page(client, db, query):
    page = parse(client.get(f"/{query}"))

    assert page.all("div", class_="found") == []
    assert page.one("input", name="q").attributes["value"] == ""


def test_found_names_are_text(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    Player.objects.filter(handle="ana").update(name="</script><img src=x onerror=alert(1)>")

    page = parse(client.get("/", {"q": "ana"}))

    assert page.one("main").all("img") == []
    [name, _handle] = page.one("ul", class_="finds").all("bdi")
    assert name.text == "</script><img src=x onerror=alert(1)>"


def test_search_goes_along_into_another_language(client, db):
    client.cookies[COOKIE] = "es"

    greeted = client.get("/", {"q": "iñi"})
    links = {
        a.attributes["hreflang"]: a.attributes["href"]
        for a in parse(client.get("/es/", {"q": "iñi"})).one("nav", id="languages").all("a")
    }

    assert greeted["Location"] == "/es/?q=i%C3%B1i"
    assert links["en"] == "/?language=en&q=i%C3%B1i"
    assert links["gl"] == "/gl/?q=i%C3%B1i"
    chosen = parse(client.get(links["en"]))
    assert chosen.one("html").attributes["lang"] == "en"
    assert chosen.one("input", name="q").attributes["value"] == "iñi"


def test_search_follows_a_new_name(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    etag = client.get("/", {"q": "lola"})["ETag"]

    rename("ana", "Lola")

    assert client.get("/", {"q": "lola"}, headers={"If-None-Match": etag}).status_code == 200


# Which language greets whom


@pytest.mark.parametrize(
    ("accepts", "remembered", "location"),
    [
        ("es-MX,es;q=0.9,en;q=0.5", None, "/es/"),
        ("en-GB,en;q=0.9", "es", "/es/"),
        ("es", "en", None),
        ("en", None, None),
        ("", None, None),
        ("ja,tlh;q=0.8", None, None),
        ("es", "xx", "/es/"),
        ("gl,es;q=0.5", None, "/gl/"),
        ("eu-ES", None, "/eu/"),
        ("fr,ca;q=0.8,en;q=0.7", None, "/ca/"),
        ("gl", "eu", "/eu/"),
        ("zh-hans", "zh-hans", None),
        ("x" * 10_000, "\x00'", None),
    ],
)
def test_slash_greets_in_the_remembered_or_preferred_language(
    client, db, accepts, remembered, location
):
    if remembered:
        client.cookies[COOKIE] = remembered

    response = client.get("/", headers={"Accept-Language": accepts})

    assert response.status_code == (302 if location else 200)
    assert response.headers.get("Location") == location
    assert {"Cookie", "Accept-Language"} <= set(response["Vary"].split(", "))
    assert ("no-store" in response["Cache-Control"]) == bool(location)


@pytest.mark.parametrize(
    "url", ["/es/", "/leaderboards/brisca/", "/how-it-works/", "/es/how-it-works/"]
)
def test_only_slash_looks_at_the_readers_preference(client, db, url):
    client.cookies[COOKIE] = "es" if not url.startswith("/es/") else "en"

    response = client.get(url, headers={"Accept-Language": "es"})

    assert response.status_code == 200
    assert parse(response).one("html").attributes["lang"] == (
        "es" if url.startswith("/es/") else "en"
    )


def test_other_language_is_remembered_and_english_can_be_chosen_again(client, db):
    client.get("/es/how-it-works/")
    assert client.cookies[COOKIE].value == "es"
    assert client.get("/")["Location"] == "/es/"

    chosen = client.get("/", {"language": "en"})

    assert chosen.status_code == 200
    assert client.cookies[COOKIE].value == "en"
    assert client.get("/", headers={"Accept-Language": "es"}).status_code == 200


def test_going_on_in_english_is_remembered_too(client, db):
    client.get("/es/")

    client.get("/leaderboards/brisca/")

    assert client.get("/").status_code == 200


def test_english_reader_gets_no_cookie(client, db):
    for url in ("/", "/leaderboards/brisca/", "/how-it-works/", "/nothing/"):
        assert client.get(url).cookies == {}


def test_part_and_missing_page_set_no_cookie(client, db):
    assert client.get("/es/leaderboards/brisca/", headers={"HX-Request": "true"}).cookies == {}
    assert client.get("/es/nothing/").cookies == {}


@pytest.mark.parametrize(
    "language", ["xx", "zh-hans", "ES", "../../etc/passwd", "<b>", "\x00", "x" * 600, ""]
)
def test_unknown_language_is_not_chosen(client, db, language):
    response = client.get("/", {"language": language})

    assert response.status_code == 200
    assert response.cookies == {}
