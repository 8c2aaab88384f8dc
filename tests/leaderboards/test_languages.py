"""Every public page in every language: words, links and numbers."""

import re
from collections import deque
from itertools import pairwise
from urllib.parse import quote

import pytest
from django.conf import settings
from django.contrib.admin import ModelAdmin, site
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import override

from leaderboards.translations import read_translation
from tests.leaderboards.html import parse
from tests.leaderboards.languages import (
    BIG_ID,
    ENTRIES,
    FRAME,
    LANGUAGES,
    PAGES,
    PREFIXES,
    READABLE_ATTRIBUTES,
    TRANSLATIONS,
    fill_card_room,
    has_words,
    only_names,
    texts,
)

RANK_IN_WORDS = ("Rank", "Posición", "Posició", "Posición", "Postua")


@pytest.fixture
def card_room(db):
    fill_card_room()


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

    del leaks[ENTRIES]
    assert {path: found for path, found in leaks.items() if found} == {}


@pytest.mark.parametrize("language", ["en", "es", "eu"])  # one for each way to group digits
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


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_error_page_has_no_word_of_the_english_one(rf, db, language):
    same = {}
    for template in ("400.html", "403.html", "403_csrf.html", "404.html", "500.html"):
        words = {}
        for code in ("en", language):
            with override(code):
                page = parse(render(rf.get("/nothing/"), template, {"exception": ""}))
            words[code] = texts(page)
        both = {text for text in words["en"] & words[language] if has_words(text)}
        same[template] = {text for text in both if not only_names(text, language)}

    assert {template: words for template, words in same.items() if words} == {}


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Brisca · Elo 1,230 · rank 1 · provisional"),
        ("es", "Brisca · Elo 1\u00a0230 · posición 1 · provisional"),
        ("ca", "Brisca · Elo 1.230 · posició 1 · provisional"),
        ("gl", "Brisca · Elo 1.230 · posición 1 · provisional"),
        ("eu", "Briska · Elo 1.230 · 1. postua · behin-behinekoa"),
    ],
)
def test_badge_speaks_the_language_of_its_address(client, card_room, language, words):
    badge = client.get(f"{PREFIXES[language]}/badge/ana/brisca.svg").content.decode()

    assert words in badge


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


def staff_pages():
    for model, admin in site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        if model._meta.app_label == "ratings":
            yield reverse(f"{name}_changelist")
            if admin.has_add_permission.__func__ is ModelAdmin.has_add_permission:
                yield reverse(f"{name}_add")
    yield reverse("admin:index")


def test_staff_pages_have_no_english_word_of_ours_in_spanish(admin_client, card_room):
    """Django's own few that its Spanish lacks are not ours to say."""
    said_otherwise = {
        entry.message.casefold()
        for entry in read_translation("es").entries
        if entry.texts[0].casefold() != entry.message.casefold()
    }
    left = {}
    paths = list(staff_pages())
    for path in paths:
        response = admin_client.get(f"/es{path}")
        assert response.status_code == 200, path
        words = {text.rstrip(":").strip().casefold() for text in texts(parse(response))}
        left[path] = {text for text in words & said_otherwise if has_words(text)}

    assert len(paths) >= 12
    assert {path: words for path, words in left.items() if words} == {}
