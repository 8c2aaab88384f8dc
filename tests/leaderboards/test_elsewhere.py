"""Badges and embedded boards, which stand in other people's pages."""

import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from hashlib import sha256

import pytest
from django.http import HttpResponse
from django.urls import reverse

from leaderboards.badges import Badge
from leaderboards.themes import COOKIE
from ratings.models import Player
from ratings.players import create_bot
from ratings.roster import anonymise_player, hide_player, rename_player, retire_player
from tests.leaderboards.html import parse
from tests.ratings.builders import duel, fill_board, record, seat

BADGE = "/badge/ana/brisca.svg"
EMBED = "/embed/brisca/"
SVG = "{http://www.w3.org/2000/svg}"


def texts(response):
    """The title and the two lines of a badge. Fails where it is not well-formed."""
    assert response["Content-Type"] == "image/svg+xml; charset=utf-8"
    root = ET.fromstring(response.content)  # noqa: S314 - our own
    return [root.find(f"{SVG}title").text, *(text.text for text in root.iter(f"{SVG}text"))]


@pytest.fixture
def board(brisca):
    fill_board(
        brisca, seat(brisca, 1300, handle="ana"), seat(brisca, 1250.5, mu=30, sigma=3, handle="eva")
    )
    return brisca


# Badge


def test_badge_says_where_a_player_stands(client, board):
    assert texts(client.get(BADGE)) == [
        "ana · Brisca · Elo 1,300 · rank 1 · provisional",
        "ana",
        "Brisca · Elo 1,300 · rank 1 · provisional",
    ]
    assert texts(client.get("/badge/EVA/brisca.svg?system=openskill"))[2] == (
        "Brisca · OpenSkill 2,004 · rank 1 · provisional"
    )


def test_badge_speaks_the_language_of_its_address(client, board):
    assert (
        "1.300" in texts(client.get(f"/es{BADGE}"))[0]
        or "1\u00a0300" in texts(client.get(f"/es{BADGE}"))[0]
    )


@pytest.mark.parametrize(
    "query", ["?system=nope", "?system=", "?system=%00&x=%ff", "?q=" + "x" * 9000]
)
def test_badge_ignores_what_it_does_not_know(client, board, query):
    assert "Elo 1,300" in texts(client.get(BADGE + query))[0]


def test_badge_of_somebody_off_the_board_says_so(client, board):
    retire_player(player=Player.objects.get(handle="ana"))

    assert texts(client.get(BADGE))[2] == "Brisca · Elo 1,300 · not on the board · provisional"


def test_badge_before_the_first_match_says_so(client, board):
    assert texts(client.get("/badge/ana/tute.svg"))[2] == "Tute · no rated match yet"


@pytest.mark.parametrize("url", ["/badge/nadie/brisca.svg", "/badge/ana/mus.svg"])
def test_badge_of_nobody_is_a_picture_too(client, board, url):
    response = client.get(url)

    assert response.status_code == 404
    assert texts(response)[1:] == ["Naiply", "no such player or game"]


def test_badge_goes_on_under_a_former_handle(client, board):
    rename_player(player=Player.objects.get(handle="ana"), handle="ana-mus", name="Ana")

    assert texts(client.get(BADGE))[1] == "Ana"


@pytest.mark.parametrize("vanish", [hide_player, anonymise_player])
def test_badge_of_somebody_hidden_shows_nothing(client, board, vanish):
    vanish(player=Player.objects.get(handle="ana"))

    response = client.get(BADGE)

    assert response.status_code == 404
    assert "ana" not in response.content.decode().replace("translate", "")


@pytest.mark.parametrize(
    "name", ["</text><script>alert(1)</script>", "\"><svg onload='x'>", "a & b", "لاعب_٧", "]]>"]
)
def test_names_are_text_in_a_badge(client, board, name):
    Player.objects.filter(handle="ana").update(name=name)

    response = client.get(BADGE)

    assert texts(response)[1] == name
    assert b"<script" not in response.content
    assert b"<svg onload" not in response.content


def test_badge_has_room_for_wide_names():
    assert Badge("a", "b").width == 160
    assert Badge("龍" * 40, "b").width > 40 * 15
    assert Badge("m" * 40, "b").width > 400
    assert Badge("e" + "\u0301" * 30, "b").width == 160


def test_badge_may_have_its_own_style_and_no_other(client, board):
    response = client.get(BADGE)
    style = ET.fromstring(response.content).find(f"{SVG}style").text  # noqa: S314 - our own
    digest = b64encode(sha256(style.encode()).digest()).decode()

    policy = response["Content-Security-Policy"]

    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "prefers-color-scheme:dark" in style


@pytest.mark.parametrize(
    ("query", "paper"),
    [
        ("", ["#fffdf8", "#1a2320"]),
        ("?theme=light", ["#fffdf8"]),
        ("?theme=dark", ["#1a2320"]),
        ("?theme=system", ["#fffdf8", "#1a2320"]),
        ("?theme=%22%3E%3Cscript%3E", ["#fffdf8", "#1a2320"]),
    ],
)
def test_badge_has_the_theme_that_the_page_around_it_asks_for(client, board, query, paper):
    for url in (BADGE, "/badge/nadie/brisca.svg"):
        response = client.get(url + query)

        style = ET.fromstring(response.content).find(f"{SVG}style").text  # noqa: S314 - our own
        digest = b64encode(sha256(style.encode()).digest()).decode()
        assert re.findall(r"\.b{fill:(#\w+)", style) == paper
        assert f"'sha256-{digest}'" in response["Content-Security-Policy"]


def test_badge_follows_the_game_and_the_name(client, board, source):
    etag = client.get(BADGE)["ETag"]
    unchanged = client.get(BADGE, headers={"If-None-Match": etag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")

    record(duel("eva-2", "pepe"), source=source)
    after_match = client.get(BADGE, headers={"If-None-Match": etag})
    rename_player(player=Player.objects.get(handle="ana"), name="Ana la de Oros")
    after_name = client.get(BADGE, headers={"If-None-Match": after_match["ETag"]})

    assert after_match.status_code == after_name.status_code == 200
    assert texts(after_name)[1] == "Ana la de Oros"


# Embedded board


def test_embed_shows_the_first_ten(client, brisca):
    fill_board(brisca, *[seat(brisca, 1300 - n, handle=f"j-{n:02}") for n in range(12)])

    page = parse(client.get(EMBED))

    rows = page.one("table").rows()
    assert rows[0] == ["1", "j-00 provisional", "1,300"]
    assert [row[0] for row in rows] == [str(rank) for rank in range(1, 11)]


def test_embed_takes_the_filters_of_the_board(client, brisca, source):
    create_bot(handle="bot-rayo", name="bot-rayo", source=source)
    record(duel("bot-rayo", "ana"), source=source)

    bots = parse(client.get(f"{EMBED}?kind=bots&system=openskill&page=7&around=ana"))

    assert bots.one("table").rows() == [["1", "bot-rayo provisional", "1,582"]]
    assert bots.one("h1").one("a").attributes["href"] == (
        "http://testserver/leaderboards/brisca/?system=openskill&kind=bots"
    )


def test_embed_runs_no_script_and_leaves_the_frame(client, board):
    page = parse(client.get(EMBED))

    assert page.all("script") == []
    assert page.all("form") == []
    assert page.one("base").attributes == {"target": "_blank"}
    assert {a.attributes["rel"] for a in page.all("a")} == {"noopener"}


@pytest.mark.parametrize(
    ("query", "theme"),
    [
        ("?theme=dark", "dark"),
        ("?theme=light&kind=people", "light"),
        ("?theme=x", None),
        ("", None),
    ],
)
def test_embed_has_the_theme_that_the_page_around_it_asks_for(client, board, query, theme):
    client.cookies[COOKIE] = "dark"

    for url in (EMBED, "/embed/mus/"):
        page = parse(client.get(url + query))

        assert page.one("html").attributes.get("data-theme") == theme
        scheme = page.one("meta", name="color-scheme").attributes["content"]
        assert scheme == (theme or "light dark")


@pytest.mark.parametrize("url", [BADGE, EMBED])
def test_each_theme_has_its_own_etag_and_a_reader_has_none(client, board, url):
    queries = ("", "?theme=light", "?theme=dark")
    etags = [client.get(url + query)["ETag"] for query in queries]
    client.cookies[COOKIE] = "dark"

    assert len(set(etags)) == 3
    assert [client.get(url + query)["ETag"] for query in queries] == etags


def test_embed_of_an_empty_or_unknown_game_says_so(client, brisca):
    empty, unknown = client.get(EMBED), client.get("/embed/mus/")

    assert (empty.status_code, unknown.status_code) == (200, 404)
    assert "Nobody is on this board yet." in parse(empty).text
    assert "There is no game with this name." in parse(unknown).text
    assert [a.text for a in parse(unknown).all("a")][:2] == ["Brisca", "Tute"]


def test_names_are_text_in_an_embed(client, board):
    Player.objects.filter(handle="ana").update(name="</script><img src=x onerror=alert(1)>")

    page = parse(client.get(EMBED))

    assert page.all("img") == []
    assert page.all("bdi")[0].text == "</script><img src=x onerror=alert(1)>"


# Both, and nothing else


@pytest.mark.parametrize("url", [BADGE, EMBED, f"/es{BADGE}", f"/es{EMBED}", "/badge/x/brisca.svg"])
def test_they_may_be_shown_anywhere_and_know_nobody(client, board, url):
    response = client.get(url)

    assert "frame-ancestors *" in response["Content-Security-Policy"]
    assert "script-src 'none'" in response["Content-Security-Policy"]
    assert "X-Frame-Options" not in response
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert response["Cache-Control"] == "public, max-age=300"
    assert response.cookies == {}
    assert "Cookie" not in response.get("Vary", "")


@pytest.mark.parametrize(
    "name",
    ["home", "how-it-works", "faq", "calculators", "bots", "verify"],
)
def test_other_pages_may_not_be_framed(client, board, name):
    response = client.get(reverse(f"leaderboards:{name}"))

    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
    assert response["X-Frame-Options"] == "DENY"
    assert "Cross-Origin-Resource-Policy" not in response


@pytest.mark.parametrize(
    "url", ["/leaderboards/brisca/", "/players/ana/", "/players/ana/brisca/", "/no/", "/admin/"]
)
def test_boards_players_and_errors_may_not_be_framed(client, brisca, source, url):
    record(duel("ana", "pepe"), source=source)

    response = client.get(url)

    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
    assert response["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("url", [BADGE, EMBED])
def test_they_ask_little(client, board, url, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        client.get(url)

    assert client.post(url).status_code == 405


# The lines to copy


def copied(client, url):
    """What stands in the field to copy from, as somebody's page would have it."""
    return parse(HttpResponse(parse(client.get(url)).one("textarea").text))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("/players/ana/brisca/", "Brisca · Elo 1,216"),
        ("/players/ana/brisca/?system=openskill", "Brisca · OpenSkill 1,582"),
        ("/es/players/ana/brisca/", "Brisca · Elo 1\u00a0216"),
    ],
)
def test_profile_has_the_lines_that_show_its_badge(client, brisca, source, url, said):
    record(duel("ana", "pepe"), source=source)

    lines = copied(client, url)

    picture = lines.one("img").attributes
    assert said in texts(client.get(picture["src"]))[2]
    assert picture["alt"] == "ana · Brisca · Naiply"
    assert lines.one("a").attributes["href"] == f"http://testserver{url.partition('?')[0]}"


@pytest.mark.parametrize("query", ["", "?kind=people", "?system=openskill&kind=people&page=2"])
def test_board_has_the_lines_that_show_it_in_a_frame(client, board, query):
    lines = copied(client, f"/leaderboards/brisca/{query}")

    frame = lines.one("iframe").attributes
    shown = parse(client.get(frame["src"]))
    assert frame["title"] == "Brisca · Naiply"
    assert shown.one("h1").one("a").attributes["href"] == (
        f"http://testserver/leaderboards/brisca/{query.removesuffix('&page=2')}"
    )


@pytest.mark.parametrize("name", ['"><script>alert(1)</script>', "' onerror='x", "a & b &lt; c"])
def test_names_are_text_in_the_lines_to_copy(client, brisca, source, name):
    record(duel("ana", "pepe"), source=source)
    Player.objects.filter(handle="ana").update(name=name)

    lines = copied(client, "/players/ana/brisca/")

    assert lines.all("script") == []
    assert set(lines.one("img").attributes) == {"src", "alt", "height"}
    assert lines.one("img").attributes["alt"] == f"{name} · Brisca · Naiply"
