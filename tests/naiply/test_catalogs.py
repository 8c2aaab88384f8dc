"""Catalogs are compiled without GNU gettext, and no broken one reaches a reader."""

import gettext
import logging
import os
import shutil

import pytest
from django.utils.translation import activate, deactivate, pgettext

from leaderboards.catalogs import catalog_path
from naiply.catalogs import LOCALE_FOLDER, compile_catalogs

CATALOG = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "place"
msgstr "puesto"

msgid "%(n)s match"
msgid_plural "%(n)s matches"
msgstr[0] "%(n)s partida"
msgstr[1] "%(n)s partidas"
"""


def write_catalog(folder, text=CATALOG):
    source = folder / "es" / "LC_MESSAGES" / "django.po"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    return source


def translations(source):
    with source.with_suffix(".mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def test_missing_catalog_is_compiled(tmp_path):
    source = write_catalog(tmp_path)

    compiled = compile_catalogs(tmp_path)

    assert compiled == [source]
    assert translations(source).gettext("place") == "puesto"
    assert translations(source).ngettext("%(n)s match", "%(n)s matches", 2) == "%(n)s partidas"


def test_fresh_catalog_is_left_alone(tmp_path):
    source = write_catalog(tmp_path)
    compile_catalogs(tmp_path)
    os.utime(source.with_suffix(".mo"), (1, 1))

    assert compile_catalogs(tmp_path) == []


def test_catalog_is_compiled_again_when_its_source_changed_whatever_the_times(tmp_path):
    source = write_catalog(tmp_path)
    compile_catalogs(tmp_path)
    write_catalog(tmp_path, CATALOG.replace("puesto", "lugar"))
    os.utime(source, (1, 1))

    compiled = compile_catalogs(tmp_path)

    assert compiled == [source]
    assert translations(source).gettext("place") == "lugar"


@pytest.mark.parametrize(
    "damage", [b"", b"not a catalog at all", None], ids=["empty", "text", "cut"]
)
def test_damaged_compiled_catalog_is_compiled_again(tmp_path, damage):
    source = write_catalog(tmp_path)
    compile_catalogs(tmp_path)
    target = source.with_suffix(".mo")
    target.write_bytes(target.read_bytes()[:-40] if damage is None else damage)

    compiled = compile_catalogs(tmp_path)

    assert compiled == [source]
    assert translations(source).gettext("place") == "puesto"


def test_compiling_leaves_nothing_else_behind(tmp_path):
    source = write_catalog(tmp_path)

    compile_catalogs(tmp_path)

    assert {path.name for path in source.parent.iterdir()} == {"django.po", "django.mo"}


def test_catalog_that_cannot_be_written_stops_nothing(tmp_path, caplog):
    source = write_catalog(tmp_path)
    source.with_suffix(".mo").mkdir()

    compiled = compile_catalogs(tmp_path)

    assert compiled == []
    assert "django.mo cannot be written" in caplog.text


def test_no_catalog_at_all_is_fine(tmp_path):
    assert compile_catalogs(tmp_path / "missing") == []


def test_fuzzy_entry_is_not_compiled(tmp_path):
    source = write_catalog(tmp_path, CATALOG.replace('msgid "place"', '#, fuzzy\nmsgid "place"'))

    compile_catalogs(tmp_path)

    assert translations(source).gettext("place") == "place"


def test_broken_entry_is_left_out_and_named(tmp_path, caplog):
    source = write_catalog(tmp_path, CATALOG.replace('"%(n)s partidas"', '"%(m)s partidas"'))

    compile_catalogs(tmp_path)

    assert translations(source).gettext("place") == "puesto"
    assert translations(source).ngettext("%(n)s match", "%(n)s matches", 2) == "%(n)s matches"
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "es: '%(n)s match' has %(m)s where the source has %(n)s (form 1)",
        "es: 1 broken entries are shown in English",
    ]


@pytest.mark.parametrize(
    "text",
    [
        CATALOG.replace("puesto", "puestó").encode("latin-1"),
        CATALOG.replace("puesto", 'pue"sto'),
        CATALOG.replace("nplurals=2; plural=(n != 1)", "nplurals=2; plural=two"),
        CATALOG.replace("nplurals=2; plural=(n != 1)", "nplurals=1; plural=(n != 1)"),
        CATALOG.replace("Plural-Forms", "Plurals"),
        b"\x00\xff\x00",
        b"",
    ],
    ids=["latin-1", "syntax", "plural rule", "plural count", "no plural rule", "bytes", "empty"],
)
def test_unreadable_catalog_leaves_its_language_in_english(tmp_path, caplog, text):
    source = write_catalog(tmp_path, text)

    assert compile_catalogs(tmp_path) == [source]

    assert translations(source).gettext("place") == "place"
    assert "The language is shown in English." in caplog.text
    assert compile_catalogs(tmp_path) == []


# Whole pages, in front of catalogs that somebody broke.


@pytest.fixture
def broken_locale(tmp_path, settings):
    """Our own catalogs, of which a test breaks the Catalan one."""

    def break_catalog(change):
        shutil.copytree(LOCALE_FOLDER, tmp_path / "locale", ignore=shutil.ignore_patterns("*.mo*"))
        path = catalog_path("ca", tmp_path / "locale")
        changed = change(path.read_text())
        path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
        compile_catalogs(tmp_path / "locale")
        settings.LOCALE_PATHS = [tmp_path / "locale"]

    yield break_catalog
    deactivate()


def shown(client, path):
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def other_placeholders(text):
    return "\n".join(
        line if line.startswith("msgid") else line.replace(")s", "_x)s")
        for line in text.split("\n")
    )


def bare_percents(text):
    return "\n".join(
        line[:-1] + ' 50% de"' if line.startswith("msgstr") and line.endswith('s"') else line
        for line in text.split("\n")
    )


@pytest.mark.parametrize(
    "change",
    [
        other_placeholders,
        bare_percents,
        lambda text: text.replace("msgstr[1]", "msgstr[2]"),
        lambda text: text.replace("nplurals=2", "nplurals=9"),
        lambda text: text.replace("plural=(n != 1)", "plural=n / 0"),
        lambda text: text.replace("</sup>", "<script>"),
        lambda text: text.encode("latin-1", "replace"),
        lambda text: text[: len(text) // 2],
        lambda text: "",
    ],
    ids=[
        "placeholders",
        "percents",
        "plural forms",
        "plural count",
        "plural rule",
        "markup",
        "latin-1",
        "cut",
        "empty",
    ],
)
@pytest.mark.django_db
def test_page_is_served_whatever_is_wrong_with_its_catalog(client, broken_locale, change):
    broken_locale(change)

    for path in ("/", "/leaderboards/brisca/", "/how-it-works/", "/faq/", "/verify/", "/bots/"):
        page = shown(client, f"/ca{path}")
        assert 'lang="ca"' in page
        assert "<script>" not in page
        assert "_x)s" not in page
        assert "50{" not in page
        # Every page lists the languages, and so switches to each of them.
        assert 'lang="ca"' in shown(client, path if path != "/" else "/?language=en")


@pytest.mark.django_db
def test_what_is_whole_in_a_broken_catalog_is_still_shown(client, broken_locale):
    broken_locale(other_placeholders)

    page = shown(client, "/ca/how-it-works/")

    assert "Com funciona" in page
    assert "Everybody starts at" in page


def test_fuzzy_and_missing_entries_are_shown_in_english(broken_locale):
    broken_locale(
        lambda text: text.replace('msgctxt "in a match"', '#, fuzzy\nmsgctxt "in a match"')
    )

    activate("ca")

    assert pgettext("in a match", "Places") == "Places"
    assert pgettext("on a board", "Rank") == "Posició"
