"""The pages for translators."""

import shutil

import pytest
from django.utils.translation import override

from leaderboards.catalogs import catalog_path
from leaderboards.translations import languages, read_translation
from naiply.catalogs import LOCALE_FOLDER
from naiply.messages import check_catalog, sign_catalog, source_messages
from tests.leaderboards.html import parse
from tests.ratings.builders import duel, record

HEADER = """\
msgid ""
msgstr ""
"Language: ca\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"
"""
ENTRIES = {
    "complete": 'msgid "Next"\nmsgstr "Següent"',
    "signed": '# Reviewed: N. N., 2026\nmsgid "Last"\nmsgstr "Última"',
    "missing": 'msgid "First"\nmsgstr ""',
    "fuzzy": '#, fuzzy\nmsgid "Home page"\nmsgstr "Casa"',
    "broken": 'msgid "Hello %(name)s"\nmsgstr "Hola, %(nom)s"',
    "plural": 'msgid "%(n)s match"\nmsgid_plural "%(n)s matches"\nmsgstr[0] "una partida"\n'
    'msgstr[1] "%(n)s partides"',
    "context": "#. Translators: the position on a board\n#: templates/leaderboards/faq.html\n"
    'msgctxt "on a board"\nmsgid "Rank"\nmsgstr "Posició"',
}


@pytest.fixture
def catalog(tmp_path, settings):
    """A Catalan catalog with one entry of each kind, beside our own of the other languages."""
    folder = tmp_path / "locale"
    shutil.copytree(LOCALE_FOLDER, folder, ignore=shutil.ignore_patterns("*.mo"))
    path = catalog_path("ca", folder)
    path.write_text("\n\n".join([HEADER, *ENTRIES.values()]) + "\n")
    settings.LOCALE_PATHS = [folder]
    return path


def sources(client, url):
    page = parse(client.get(url))
    return [p.text for p in page.all("p", class_="entry-source")]


def test_overview_counts_each_translation(client, db, catalog):
    page = parse(client.get("/translations/"))

    rows = [
        [cell.text for cell in row.all() if cell.tag in ("th", "td")]
        for row in page.one("tbody").all("tr")
    ]
    assert [row[0] for row in rows] == ["Español", "Català", "Galego", "Euskara"]
    assert rows[1] == ["Català", "4", "1", "1", "1", "3"]
    assert page.one("tbody").all("a", lang="ca")[0].attributes["href"] == "/translations/ca/"


@pytest.mark.parametrize("language", list(languages()))
def test_counts_are_those_of_our_own_catalogs(language):
    translation = read_translation(language)

    found = check_catalog(language, source_messages())
    counts = translation.counts
    assert sum(counts[state] for state in ("complete", "missing", "fuzzy", "broken")) == len(
        source_messages()
    )
    assert counts["missing"] + counts["fuzzy"] == len(found.lacks)
    assert counts["broken"] == len(found.faults) == 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "",
            [
                "Next",
                "Last",
                "First",
                "Home page",
                "Hello %(name)s",
                "%(n)s match %(n)s matches",
                "Rank",
            ],
        ),
        ("?show=missing", ["First"]),
        ("?show=fuzzy", ["Home page"]),
        ("?show=broken", ["Hello %(name)s"]),
        ("?show=unreviewed", ["Next", "%(n)s match %(n)s matches", "Rank"]),
        ("?q=POSICI", ["Rank"]),
        ("?q=on+a+board", ["Rank"]),
        ("?q=nothing+like+it", []),
        ("?show=missing&q=rank", []),
    ],
)
def test_entries_are_listed_by_what_they_need_and_by_their_words(
    client, db, catalog, query, expected
):
    assert sources(client, f"/translations/ca/{query}") == expected


@pytest.mark.parametrize(
    "query",
    [
        "?show=xx",
        "?page=0",
        "?page=-1",
        "?page=abc",
        f"?q={'x' * 65}",
        "?page=99999999999999999999",
    ],
)
def test_what_cannot_be_used_counts_as_not_given(client, db, catalog, query):
    assert len(sources(client, f"/translations/ca/{query}")) == len(ENTRIES)


def test_nul_and_broken_bytes_find_nothing_and_break_nothing(client, db, catalog):
    for query in ("?q=%00", "?q=%ff%fe"):
        assert client.get(f"/translations/ca/{query}").status_code == 200


def test_entry_shows_its_sense_its_comment_and_its_fault(client, db, catalog):
    page = parse(client.get("/es/translations/ca/"))

    text = page.one("ol", class_="entries").text
    assert "on a board" in text
    assert "the position on a board" in text
    assert "Translators:" not in text
    assert "has %(nom)s where the source has %(name)s" in text
    assert [p.text for p in page.all("p", class_="entry-text")] == [
        "Següent",
        "Última",
        "Casa",
        "Hola, %(nom)s",
        "una partida",
        "%(n)s partides",
        "Posició",
    ]
    assert {p.attributes["lang"] for p in page.all("p", class_="entry-text")} == {"ca"}
    assert {p.attributes["lang"] for p in page.all("p", class_="entry-source")} == {"en"}


def test_markup_of_an_entry_is_shown_as_text(client, db, catalog):
    catalog.write_text(catalog.read_text().replace("Següent", "<script>x</script>"))

    html = client.get("/translations/ca/").content.decode()

    assert "<script>x" not in html
    assert "&lt;script&gt;x" in html


def test_signing_is_seen(client, db, catalog):
    sign_catalog("ca", "N. N., 2026", catalog.parent.parent.parent)

    assert sources(client, "/translations/ca/?show=unreviewed") == []


def test_unreadable_catalog_says_so(client, db, catalog):
    catalog.write_bytes(b"\xff\xfe")

    for url in ("/translations/", "/translations/ca/"):
        response = client.get(url)
        assert response.status_code == 200
        assert "byte 1, 0xff, is not UTF-8" in parse(response).text


@pytest.mark.parametrize("language", ["en", "fr", "zh-hans", "ES", "xx", "x" * 600, "..", "%00"])
def test_other_languages_have_no_page(client, db, language):
    assert client.get(f"/translations/{language}/").status_code == 404


def test_long_list_is_paged_and_every_entry_is_on_one_page(client, db):
    url, found = "/translations/es/", []
    while url:
        page = parse(client.get(url))
        found += [p.text for p in page.all("p", class_="entry-source")]
        onward = page.all("a", rel="next")
        url = onward[0].attributes["href"] if onward else ""

    assert len(found) == len(read_translation("es").entries)
    assert sources(client, "/translations/es/?page=1000")[-1] == found[-1]


def test_paging_keeps_the_choice_and_the_words(client, db):
    page = parse(client.get("/translations/es/?show=unreviewed&q=e&page=2"))

    [onward] = page.all("a", rel="next")
    assert onward.attributes["href"] == "/translations/es/?show=unreviewed&q=e&page=3"
    languages_ = page.one("nav", id="languages")
    assert "/ca/translations/es/?show=unreviewed&q=e&page=2" in [
        a.attributes["href"] for a in languages_.all("a")
    ]


def test_page_is_in_the_readers_language_whatever_the_translation(client, db):
    with override("es"):
        assert client.get("/es/translations/ca/").headers["Content-Language"] == "es"


def test_queries_do_not_grow_with_the_entries(client, brisca, source, django_assert_num_queries):
    client.get("/translations/es/?q=Puesto")
    with django_assert_num_queries(4):
        client.get("/translations/es/?show=unreviewed&q=%28match%29")
    record(duel("ana", "pepe"), source=source)

    with django_assert_num_queries(4):
        client.get("/translations/es/")


def test_unchanged_page_is_not_sent_again(client, db):
    first = client.get("/translations/es/?show=missing")

    again = client.get("/translations/es/?show=missing", headers={"If-None-Match": first["ETag"]})
    other = client.get("/translations/es/", headers={"If-None-Match": first["ETag"]})

    assert again.status_code == 304
    assert other.status_code == 200
