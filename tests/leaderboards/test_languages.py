"""Every public page in every language: words, links and numbers."""

import re
from collections import deque
from datetime import timedelta
from itertools import pairwise
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

from ratings.decay import apply_decay
from ratings.models import Player, Source
from ratings.players import create_bot
from tests.leaderboards.html import Element, parse
from tests.ratings.builders import NOW, draw, duel, make_report, open_game, record, team

# The same in every language: names.
NAMES = {
    "Naiply", "Elo", "OpenSkill", "Brisca", "Tute", "Cinquillo", "Tute Subastado", "Siete y Media",
    "English", "Español", "Bot", "Bots", "bot", "ana", "pepe", "íñigo_17", "bot-rayo", "eva", "leo",
    "provisional", "ordinal", "sigma", "CEST", "UTC",
}  # fmt: skip
BIG_ID = 1_234_567
READABLE_ATTRIBUTES = ("aria-label", "title", "alt", "data-label", "data-pause-text",
                       "data-resume-text", "data-first-news")  # fmt: skip
PAGES = [
    "/",
    "/leaderboards/brisca/",
    "/leaderboards/brisca/?system=openskill&kind=people",
    "/leaderboards/brisca/?around=ana",
    "/leaderboards/brisca/?around=nobody",
    "/leaderboards/brisca/?kind=bots",
    "/leaderboards/tute/?kind=bots",
    "/leaderboards/tute/?kind=people",
    "/leaderboards/cinquillo/",
    "/players/ana/",
    "/players/ana/brisca/",
    "/players/ana/siete-y-media/",
    f"/players/{quote('íñigo_17')}/",
    "/players/bot-rayo/",
    "/players/eva/",
    "/players/leo/tute/",
    f"/matches/{BIG_ID}/",
    f"/matches/{BIG_ID + 1}/",
    f"/matches/{BIG_ID + 2}/",
    f"/matches/{BIG_ID + 3}/",
    "/how-it-works/",
    "/nothing/",
]


@pytest.fixture
def card_room(db, source):
    """Something of everything that a page can show, under ids with seven digits."""
    for table in ("match", "player", "rating"):
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER SEQUENCE ratings_{table}_id_seq RESTART WITH {BIG_ID}")
    open_game("brisca")
    open_game("tute", idle_days=180)
    Source.objects.create(name="demo", is_demo=True)
    create_bot(handle="bot-rayo", name="bot-rayo", difficulty="hard", source=source)
    moments = [NOW - timedelta(minutes=30 - n) for n in range(20)]
    record(
        duel("ana", "pepe", at=moments[0]),
        duel("ana", "pepe", at=moments[1], termination="friendly"),
        duel("ana", "íñigo_17", at=moments[2], termination="abandoned"),
        make_report([team("ana", "eva", place=1, points="71.5"), team("leo", "pepe", place=1)],
                    at=moments[3]),
        *[draw("bot-rayo", "íñigo_17", at=moments[n]) for n in range(4, 15)],
        duel("leo", "eva", at=NOW - timedelta(days=300), game="tute"),
        source=source,
    )  # fmt: skip
    Player.objects.filter(handle="eva").update(status="retired")
    Player.objects.get(handle="eva").ratings.update(is_listed=False)
    apply_decay(NOW + timedelta(days=7))


def texts(page: Element) -> set[str]:
    """Every text and every attribute that is read out."""
    found = set()
    for element in page.all():
        if element.tag in ("script", "style"):
            continue
        found |= {" ".join(child.split()) for child in element.children if isinstance(child, str)}
        found |= {v for name, v in element.attributes.items() if name in READABLE_ATTRIBUTES}
    return found


def has_words(text):
    return re.search(r"[^\W\d_²]{2,}", text)


def only_names(text):
    words = {word for word in re.split(r"[^\w-]+", text) if has_words(word)}
    return words <= {word for name in NAMES for word in name.split()}


@pytest.mark.parametrize("path", PAGES)
def test_spanish_page_has_no_word_of_the_english_one(client, card_room, path):
    english = texts(parse(client.get(path, follow=True)))
    spanish = texts(parse(client.get(f"/es{path}", follow=True)))

    same = {text for text in english & spanish if has_words(text)}

    assert {text for text in same if not only_names(text)} == set()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("prefix", ["", "/es"])
def test_page_shows_no_source_of_template_or_catalog(client, card_room, prefix, path):
    html = client.get(prefix + path).content.decode()

    leaks = re.findall(r"\{\{|\{%|\{gettext|%\(|msgid|\bNone\b|\bnan\b|\binf\b|Traceback", html)
    assert leaks == []


@pytest.mark.parametrize("prefix", ["", "/es"])
def test_every_link_leads_somewhere_and_holds_no_localised_number(client, card_room, prefix):
    waiting, seen = deque(prefix + path for path in PAGES), set()
    numbers = set()
    while waiting:
        url = waiting.popleft()
        client.cookies.clear()  # or `/` would lead to the language of the page before
        response = client.get(url)
        assert response.status_code == (404 if "nothing" in url else 200), url
        for element in parse(response).all():
            for name, value in element.attributes.items():
                if name in READABLE_ATTRIBUTES or name in ("content", "value"):
                    continue
                assert not re.search(r"\d[\u00a0\u202f.,]\d{3}\b", value), (url, name, value)
                numbers |= set(re.findall(r"\d{7,}", value))
            link = element.attributes.get("href" if element.tag == "a" else "hx-get", "")
            path = link.partition("#")[0]
            if path.startswith("/") and path not in seen and "language=" not in path:
                seen.add(path)
                if path.startswith("/es/") == bool(prefix):
                    waiting.append(path)
                else:
                    assert client.get(path).status_code == 200, path

    assert str(BIG_ID) in numbers


def test_ids_in_links_have_only_digits(client, card_room):
    links = [a.attributes["href"] for a in parse(client.get("/es/players/ana/")).all("a")]

    assert f"/es/matches/{BIG_ID}/" in links


def test_numbers_are_grouped_as_the_language_does(client, card_room):
    def rating(url):
        return (
            parse(client.get(url))
            .one("table", class_="board")
            .one("tbody")
            .all("td", class_="rating")[0]
            .children
        )

    assert rating("/leaderboards/brisca/") == ["1,230"]
    assert rating("/es/leaderboards/brisca/") == ["1\u00a0230"]


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("/", "/es/"),
        ("/leaderboards/brisca/", "/es/leaderboards/brisca/"),
        (
            "/leaderboards/brisca/?system=openskill&kind=bots&page=3",
            "/es/leaderboards/brisca/?system=openskill&kind=bots&page=3",
        ),
        ("/leaderboards/brisca/?around=i%C3%B1", "/es/leaderboards/brisca/?around=i%C3%B1"),
        (f"/players/{quote('íñigo_17')}/brisca/", f"/es/players/{quote('íñigo_17')}/brisca/"),
        (f"/matches/{BIG_ID}/", f"/es/matches/{BIG_ID}/"),
    ],
)
def test_language_switch_keeps_page_and_query(client, card_room, here, there):
    def links(url):
        return {
            link.attributes["hreflang"]: link.attributes["href"]
            for link in parse(client.get(url)).one("nav", id="languages").all("a")
        }

    english = "/?language=en" if here == "/" else here

    assert links(here) == links(there) == {"en": english, "es": there}


def test_language_switch_leads_nowhere_else(client, card_room):
    page = parse(client.get("/leaderboards/brisca/?next=//evil.example&kind=bots&v=3"))

    links = [link.attributes["href"] for link in page.one("nav", id="languages").all("a")]
    assert links == ["/leaderboards/brisca/?kind=bots", "/es/leaderboards/brisca/?kind=bots"]


def test_swapped_part_brings_the_language_links_of_the_new_address(client, card_room):
    part = parse(client.get("/leaderboards/brisca/?kind=bots&v=0", headers={"HX-Request": "true"}))

    languages = part.one("nav", id="languages")
    assert languages.attributes["hx-swap-oob"] == "true"
    assert [a.attributes["href"] for a in languages.all("a")] == [
        "/leaderboards/brisca/?kind=bots",
        "/es/leaderboards/brisca/?kind=bots",
    ]
    assert part.one("title").text == "Brisca leaderboard · Bots · Naiply"


@pytest.mark.parametrize("path", [path for path in PAGES if "nothing" not in path])
def test_head_names_the_page_in_each_language(client, card_room, path):
    page = parse(client.get(path))

    alternates = page.all("link", rel="alternate")
    assert [link.attributes["hreflang"] for link in alternates] == [
        code for code, _ in settings.LANGUAGES
    ]
    assert all(link.attributes["href"].startswith("http://testserver/") for link in alternates)
    [canonical] = page.all("link", rel="canonical")
    assert client.get(canonical.attributes["href"]).status_code == 200


def test_part_answers_in_the_language_of_the_page_that_asks(client, card_room):
    part = client.get(
        "/es/leaderboards/brisca/?v=0", headers={"HX-Request": "true", "Accept-Language": "en"}
    )

    assert "Posición" in parse(part).text


@pytest.mark.parametrize("path", PAGES)
def test_page_has_one_title_one_heading_and_unique_ids(client, card_room, path):
    page = parse(client.get(path))

    ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert len(page.one("head").all("title")) == 1
    assert len(page.all("h1")) == len(page.all("main")) == 1
    levels = [int(e.tag[1]) for e in page.all() if re.fullmatch("h[1-6]", e.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(th.attributes.get("scope") in ("col", "row") for th in page.all("th"))


@pytest.mark.parametrize("path", PAGES)
def test_page_holds_nothing_inline_and_nothing_from_elsewhere(client, card_room, path):
    response = client.get(path)

    page = parse(response)
    assert page.all("style") == []
    assert [script.children for script in page.all("script")] == [[], []]
    for element in page.all():
        assert "style" not in element.attributes
        assert not [name for name in element.attributes if name.startswith(("on", "hx-on"))]
        for name in ("src", "href", "hx-get", "action"):
            value = element.attributes.get(name, "")
            assert re.match(r"(/(?!/)|#|http://testserver/|$)", value), value
    assert "unsafe" not in response["Content-Security-Policy"]
    assert "csrfmiddlewaretoken" not in response.content.decode()
