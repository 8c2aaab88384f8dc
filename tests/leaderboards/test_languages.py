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

LANGUAGES = [code for code, _name in settings.LANGUAGES]
TRANSLATIONS = [code for code in LANGUAGES if code != "en"]
PREFIXES = {code: "" if code == "en" else f"/{code}" for code in LANGUAGES}
# The same in every language: names.
NAMES = {
    "Naiply", "Elo", "OpenSkill", "Brisca", "Tute", "Cinquillo", "Tute Subastado", "Siete y Media",
    "ana", "pepe", "íñigo_17", "bot-rayo", "eva", "leo", "mu", "CEST", "UTC",
    *(name for _code, name in settings.LANGUAGES),
}  # fmt: skip
# Words that this language writes as English does.
ALIKE = {
    "es": {"provisional", "ordinal", "sigma", "Bot", "Bots", "bot"},
    "ca": {"provisional", "ordinal", "sigma", "Bot", "Bots", "bot"},
    "gl": {"provisional", "ordinal", "sigma", "Bot", "Bots", "bot"},
    "eu": {"sigma", "Bot", "bot"},
}
BIG_ID = 1_234_567
RANK_IN_WORDS = ("Rank", "Posición", "Posició", "Posición", "Postua")
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
    "/faq/",
    "/calculators/",
    "/calculators/?game=brisca&elo-one_player=ana&elo-two_rating=1300",
    "/bots/",
    "/compare/brisca/?p=ana&p=pepe",
    "/verify/",
    "/translations/",
    "/nothing/",
]
FRAME = "/embed/brisca/"


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
    """Every text and every attribute that is read out; not what is marked as another language."""
    found = set()
    language = page.one("html").attributes["lang"]
    foreign = {
        id(inside)
        for element in page.all()
        if element.attributes.get("lang", language) != language
        for inside in (element, *element.all())
    }
    for element in page.all():
        if element.tag in ("script", "style", "code", "pre") or id(element) in foreign:
            continue
        found |= {" ".join(child.split()) for child in element.children if isinstance(child, str)}
        found |= {v for name, v in element.attributes.items() if name in READABLE_ATTRIBUTES}
    return found


def has_words(text):
    return re.search(r"[^\W\d_²]{2,}", text)


def only_names(text, language):
    words = {word for word in re.split(r"[^\w-]+", text) if has_words(word)}
    return words <= {word for name in NAMES | ALIKE[language] for word in name.split()}


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_page_has_no_word_of_the_english_one(client, card_room, language):
    left = {}
    for path in [*PAGES, FRAME]:
        english = texts(parse(client.get(path, {"language": "en"} if path == "/" else None)))
        translated = parse(client.get(PREFIXES[language] + path))
        assert translated.one("html").attributes["lang"] == language
        same = {text for text in english & texts(translated) if has_words(text)}
        left[path] = {text for text in same if not only_names(text, language)}

    assert {path: words for path, words in left.items() if words} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_shows_no_source_of_template_or_catalog(client, card_room, language):
    leaks = {}
    for path in [*PAGES, FRAME]:
        client.cookies.clear()
        html = client.get(PREFIXES[language] + path).content.decode()
        leak = r"\{\{|\{%|gettext|%\(|%%|msgid|\bNone\b|\bnan\b|\binf\b|Traceback"
        leaks[path] = re.findall(leak, html)

    assert {path: found for path, found in leaks.items() if found} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_link_leads_somewhere_and_holds_no_localised_number(client, card_room, language):
    prefix = PREFIXES[language]
    waiting, seen = deque(prefix + path for path in [*PAGES, FRAME]), set()
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
            if not path.startswith("/") or path in seen or "language=" in path:
                continue
            seen.add(path)
            # Other languages have their own run, and the lists of entries their own tests.
            is_own = language_of(path) == language or element.attributes.get("hreflang") is None
            if is_own and "/translations/" not in path:
                waiting.append(path)

    assert str(BIG_ID) in numbers
    assert len(seen) > 100


def language_of(path):
    first = path.split("/")[1]
    return first if first in TRANSLATIONS else "en"


@pytest.mark.parametrize("language", LANGUAGES)
def test_value_of_a_field_is_a_number_that_it_takes(client, card_room, language):
    page = parse(client.get(f"{PREFIXES[language]}/leaderboards/brisca/?rank=2"))

    [field] = page.all("input", type="number")
    assert field.attributes["min"] == "1"
    assert all(
        re.fullmatch(r"\d*", field.attributes.get(name, "")) for name in ("value", "min", "max")
    )


def test_ids_in_links_have_only_digits(client, card_room):
    links = [a.attributes["href"] for a in parse(client.get("/es/players/ana/")).all("a")]

    assert f"/es/matches/{BIG_ID}/" in links


@pytest.mark.parametrize(
    ("language", "shown"),
    [("en", "1,230"), ("es", "1\u00a0230"), ("ca", "1.230"), ("gl", "1.230"), ("eu", "1.230")],
)
def test_numbers_are_grouped_as_the_language_does(client, card_room, language, shown):
    page = parse(client.get(f"{PREFIXES[language]}/leaderboards/brisca/"))

    [first, *_rest] = page.one("table", class_="board").one("tbody").all("tr")
    assert [cell.children for cell in first.all("td")].count([shown]) == 1


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
    others = {code: there.replace("/es/", f"/{code}/") for code in TRANSLATIONS}
    assert links(here) == links(there) == {"en": english, **others}


def test_language_switch_leads_nowhere_else(client, card_room):
    page = parse(client.get("/leaderboards/brisca/?next=//evil.example&kind=bots&v=3"))

    links = [link.attributes["href"] for link in page.one("nav", id="languages").all("a")]
    assert links == [f"{PREFIXES[code]}/leaderboards/brisca/?kind=bots" for code in LANGUAGES]


def test_swapped_part_brings_the_language_links_of_the_new_address(client, card_room):
    part = parse(client.get("/leaderboards/brisca/?kind=bots&v=0", headers={"HX-Request": "true"}))

    languages = part.one("nav", id="languages")
    assert languages.attributes["hx-swap-oob"] == "true"
    assert [a.attributes["href"] for a in languages.all("a")] == [
        f"{PREFIXES[code]}/leaderboards/brisca/?kind=bots" for code in LANGUAGES
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


def test_switch_names_each_language_in_that_language(client, card_room):
    for language in LANGUAGES:
        page = parse(client.get(f"{PREFIXES[language]}/how-it-works/"))

        links = page.one("nav", id="languages").all("a")
        assert [(a.text, a.attributes["lang"]) for a in links] == [
            (name, code) for code, name in settings.LANGUAGES
        ]
        assert [a.attributes["lang"] for a in links if "aria-current" in a.attributes] == [language]


def test_part_answers_in_the_language_of_the_page_that_asks(client, card_room):
    for language, word in zip(LANGUAGES, RANK_IN_WORDS, strict=True):
        part = client.get(
            f"{PREFIXES[language]}/leaderboards/brisca/?v=0",
            headers={"HX-Request": "true", "Accept-Language": "de"},
        )

        assert part.headers["Content-Language"] == language
        assert word in parse(part).text


def test_no_page_of_one_language_is_taken_for_that_of_another(client, card_room):
    """Neither by a browser that has the other one, nor by a cache in between."""
    for path in ("/leaderboards/brisca/", "/faq/", "/players/ana/brisca/", "/translations/"):
        tags = {code: client.get(PREFIXES[code] + path)["ETag"] for code in LANGUAGES}
        assert len(set(tags.values())) == len(LANGUAGES)
        for code in TRANSLATIONS:
            response = client.get(PREFIXES[code] + path, headers={"If-None-Match": tags["en"]})
            assert response.status_code == 200
            assert response.headers["Content-Language"] == code


def test_admin_is_there_in_the_language_of_its_address(admin_client, card_room):
    for language in LANGUAGES:
        page = parse(admin_client.get(f"{PREFIXES[language]}/admin/ratings/match/"))

        assert page.one("html").attributes["lang"] == language
        ids = [a.attributes["href"] for a in page.all("a") if str(BIG_ID) in a.attributes["href"]]
        assert f"{PREFIXES[language]}/admin/ratings/match/{BIG_ID}/change/" in ids


@pytest.mark.parametrize("path", PAGES)
def test_page_has_one_title_one_heading_and_unique_ids(client, card_room, path):
    page = parse(client.get(path))

    ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert len(page.one("head").all("title")) == 1
    assert len(page.all("h1")) == len(page.all("main")) == 1
    levels = [int(e.tag[1]) for e in page.all() if re.fullmatch("h[1-6]", e.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(th.attributes.get("scope") in ("col", "row", "rowgroup") for th in page.all("th"))


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
