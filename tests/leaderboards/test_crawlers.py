import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.db import connection

from leaderboards import sitemaps
from leaderboards.views.crawlers import SECURITY_TXT_DAYS
from ratings.models import Player
from ratings.roster import anonymise_player, freeze_player, hide_player, retire_player
from tests.ratings.builders import NOW, duel, open_game, record

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
XHTML = "{http://www.w3.org/1999/xhtml}"
SITE = "http://testserver"


def locations(response):
    assert response.status_code == 200
    assert response["Content-Type"] == "application/xml"
    root = ET.fromstring(response.content)  # noqa: S314 - our own
    return [loc.text.removeprefix(SITE) for loc in root.iter(f"{SITEMAP}loc")]


def player_file(player):
    return f"/sitemap-players-{player.pk // sitemaps.IDS_IN_A_FILE}.xml"


# robots.txt


def test_robots_are_kept_from_what_is_not_for_them(client, db):
    response = client.get("/robots.txt")

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    lines = response.content.decode().splitlines()
    assert lines[0] == "User-agent: *"
    assert {"Disallow: /admin/", "Disallow: /me/", "Disallow: /api/"} <= set(lines)
    assert "Disallow: /" not in lines
    assert lines[-1] == f"Sitemap: {SITE}/sitemap.xml"


# Sitemaps


def test_index_names_the_pages_and_the_files_of_players(client, brisca, source):
    assert locations(client.get("/sitemap.xml")) == ["/sitemap-pages.xml"]

    record(duel("ana", "pepe"), source=source)

    files = locations(client.get("/sitemap.xml"))
    assert files[0] == "/sitemap-pages.xml"
    assert files[-1] == player_file(Player.objects.get(handle="pepe"))


def test_pages_are_there_in_every_language(client, db):
    found = locations(client.get("/sitemap-pages.xml"))

    assert len(found) == len(set(found)) == len(settings.LANGUAGES) * (7 + 5)
    assert {"/", "/faq/", "/leaderboards/tute-subastado/", "/es/", "/es/bots/"} <= set(found)
    for path in found:
        assert client.get(path, {"language": "en"} if path == "/" else {}).status_code == 200, path


def test_each_place_names_its_other_languages(client, db):
    root = ET.fromstring(client.get("/sitemap-pages.xml").content)  # noqa: S314 - our own

    [faq] = [url for url in root if url.find(f"{SITEMAP}loc").text == f"{SITE}/es/faq/"]

    links = {link.get("hreflang"): link.get("href") for link in faq.iter(f"{XHTML}link")}
    assert set(links) == {code for code, _name in settings.LANGUAGES}
    assert links["en"] == f"{SITE}/faq/"
    assert links["es"] == f"{SITE}/es/faq/"


def test_players_on_a_board_are_named_once_with_their_last_match(client, brisca, source):
    open_game("tute")
    record(duel("ana", "ñandú", at=NOW - timedelta(days=3)), source=source)
    record(duel("ana", "pepe", game="tute"), source=source)
    ana = Player.objects.get(handle="ana")

    response = client.get(player_file(ana))

    assert [path for path in locations(response) if path.startswith("/players/")] == [
        "/players/ana/", "/players/%C3%B1and%C3%BA/", "/players/pepe/",
    ]  # fmt: skip
    assert b"<lastmod>2026-07-06T20:00:00+00:00</lastmod>" in response.content
    assert b"<lastmod>2026-07-03T20:00:00+00:00</lastmod>" in response.content


@pytest.mark.parametrize("vanish", [hide_player, anonymise_player, retire_player, freeze_player])
def test_players_off_the_boards_are_not_named(client, brisca, source, vanish):
    record(duel("ana", "pepe"), source=source)
    ana = Player.objects.get(handle="ana")
    vanish(player=ana)

    assert "/players/pepe/" in locations(client.get(player_file(ana)))
    assert "/players/ana/" not in locations(client.get(player_file(ana)))


def test_players_are_split_by_their_ids_and_none_is_lost(client, brisca, source, monkeypatch):
    monkeypatch.setattr(sitemaps, "IDS_IN_A_FILE", 7)
    with connection.cursor() as cursor:
        # Ids of seven to a file, and not those that all tests before have come to.
        cursor.execute("ALTER TABLE ratings_player ALTER COLUMN id RESTART WITH 10")
    record(*[duel(f"a-{n}", f"b-{n}") for n in range(20)], source=source)

    files = locations(client.get("/sitemap.xml"))[1:]
    found = [path for file in files for path in locations(client.get(file))]

    assert len(found) == len(set(found)) == 40 * len(settings.LANGUAGES)


def test_index_never_grows_beyond_what_is_allowed(client, brisca, source, monkeypatch):
    record(duel("ana", "pepe"), source=source)
    monkeypatch.setattr(sitemaps, "IDS_IN_A_FILE", 1)
    monkeypatch.setattr(sitemaps, "MOST_FILES", 1)

    assert len(locations(client.get("/sitemap.xml"))) == 2


@pytest.mark.parametrize(
    "url",
    ["/sitemap-players-99999.xml", "/sitemap-players--1.xml", "/sitemap-players-1000000.xml",
     "/sitemap-.xml", "/sitemap-mus.xml", "/es/sitemap.xml"],
)  # fmt: skip
def test_other_files_do_not_exist(client, db, url):
    assert client.get(url).status_code == 404


def test_queries_do_not_grow_with_the_players(client, brisca, source, django_assert_num_queries):
    record(duel("ana", "pepe"), source=source)
    file = player_file(Player.objects.get(handle="ana"))
    with django_assert_num_queries(2):
        client.get(file)

    record(*[duel(f"a-{n}", f"b-{n}") for n in range(30)], source=source)

    with django_assert_num_queries(2):
        client.get(file)
    with django_assert_num_queries(1):
        client.get("/sitemap.xml")


# security.txt


def test_security_names_the_contact_and_when_it_ends(client, db, settings):
    settings.SECURITY_CONTACT = "mailto:security@naiply.example.org?subject=a&b"

    response = client.get("/.well-known/security.txt")

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    fields = dict(line.split(": ", 1) for line in response.content.decode().splitlines())
    assert fields["Contact"] == "mailto:security@naiply.example.org?subject=a&b"
    assert fields["Canonical"] == f"{SITE}/.well-known/security.txt"
    assert fields["Preferred-Languages"].startswith("en, es")
    ahead = datetime.fromisoformat(fields["Expires"]) - datetime.now(UTC)
    assert timedelta(days=SECURITY_TXT_DAYS - 1) <= ahead <= timedelta(days=SECURITY_TXT_DAYS)


def test_security_is_not_found_without_a_contact(client, db):
    assert settings.SECURITY_CONTACT is None
    assert client.get("/.well-known/security.txt").status_code == 404


@pytest.mark.parametrize("url", ["/robots.txt", "/sitemap.xml", "/sitemap-pages.xml"])
def test_crawlers_get_no_cookie(client, db, url):
    response = client.get(url, headers={"Accept-Language": "es"})

    assert response.cookies == {}
    assert "public" in response["Cache-Control"]
