"""Every page in every language, as a browser shows it on a narrow screen."""

import re
from urllib.parse import unquote

import pytest
from django.urls import get_resolver, resolve

from tests.leaderboards.languages import (
    ENTRIES,
    FRAME,
    LANGUAGES,
    PAGES,
    PREFIXES,
    fill_card_room,
    has_words,
    only_names,
)

pytestmark = pytest.mark.browser

SHOWN = [*PAGES, FRAME]
WORDS_ON_SCREEN = """() => {
    const language = document.documentElement.lang;
    for (const details of document.querySelectorAll("details")) {
        details.open = true;
    }
    const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        const own = parent.closest("[lang]");
        const isForeign = own && own !== document.documentElement && own.lang !== language;
        if (!isForeign && !parent.closest("script, style, code, pre, textarea")) {
            found.push(walker.currentNode.data.trim());
        }
    }
    return [...new Set(found)];
}"""
WIDER_THAN_THE_SCREEN = "document.documentElement.scrollWidth > innerWidth"
LEAK = re.compile(r"\{\{|\{%|gettext|%\(|%%|msgid|\bNone\b|\bnan\b|\binf\b|Traceback")
# Decimals and groups of digits as another language has them.
FOREIGN_NUMBER = {
    "en": r"\d,\d{1,2}\b|\d\u00a0\d{3}\b",
    "es": r"\d\.\d{1,2}\b|\b[1-9]\d{0,2}\.\d{3}\b",
    "ca": r"\d\.\d{1,2}\b|\d\u00a0\d{3}\b",
    "gl": r"\d\.\d{1,2}\b|\d\u00a0\d{3}\b",
    "eu": r"\d\.\d{1,2}\b|\d\u00a0\d{3}\b",
}
# A date in full; English and Basque have none that is longer than in a table.
DATE = {
    "en": r"\b\d{1,2} [A-Z][a-z]{2} 2026",
    "es": r"\b\d{1,2} de [a-z]+ de 2026",
    "ca": r"\b\d{1,2} d[e’][ a-zç]+ de 2026",
    "gl": r"\b\d{1,2} de [a-zñ]+ de 2026",
    "eu": r"\b2026/\d{2}/\d{2}\b",
}


@pytest.fixture
def card_room(transactional_db):
    fill_card_room()


def words_on_screen(page, url):
    response = page.goto(url, wait_until="domcontentloaded")
    assert response.status == (404 if "nothing" in url else 200), url
    return page.evaluate(WORDS_ON_SCREEN)


def test_every_kind_of_page_is_visited():
    visited = {
        resolve(unquote(path.partition("?")[0])).url_name for path in PAGES if "nothing" not in path
    }

    names = {
        name for name in get_resolver("leaderboards.urls").reverse_dict if isinstance(name, str)
    }
    assert visited | {"embed", "badge"} == names


def test_every_page_in_every_language(page, site, card_room):
    page.set_viewport_size({"width": 320, "height": 700})
    english = {path: set(words_on_screen(page, site + path)) for path in SHOWN}
    found = []
    for language in LANGUAGES:
        page.context.clear_cookies()
        dates = 0
        for path in SHOWN:
            words = words_on_screen(page, site + PREFIXES[language] + path)
            on_screen = "\n".join(words)
            assert page.evaluate("document.documentElement.lang") == language, path
            if language != "en":
                found += [
                    (language, path, text)
                    for text in english[path].intersection(words)
                    if has_words(text) and not only_names(text, language)
                ]
            if path != ENTRIES:
                found += [(language, path, leak) for leak in LEAK.findall(on_screen)]
            found += [
                (language, path, number)
                for number in re.findall(FOREIGN_NUMBER[language], on_screen)
            ]
            if page.evaluate(WIDER_THAN_THE_SCREEN):
                found.append((language, path, "wider than the screen"))
            dates += len(re.findall(DATE[language], on_screen))
        assert dates > 20, language

    assert sorted(set(found)) == []


def test_language_is_switched_without_a_script(browser, site, card_room):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 320, "height": 700})
    page = context.new_page()
    page.goto(f"{site}/leaderboards/brisca/?kind=people")
    for name, prefix in [("Euskara", "/eu"), ("Català", "/ca"), ("English", ""), ("Galego", "/gl")]:
        link = page.locator("#languages").get_by_role("link", name=name)
        box = link.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320
        assert box["height"] >= 24

        link.click()

        assert page.url == f"{site}{prefix}/leaderboards/brisca/?kind=people"
    page.goto(site)
    assert page.url == f"{site}/gl/"
    context.close()
