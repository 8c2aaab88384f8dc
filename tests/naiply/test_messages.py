import re
import subprocess
import sys

import pytest

from leaderboards.catalogs import Message, catalog_path, is_reviewed, key, open_catalog
from naiply.catalogs import LOCALE_FOLDER, compile_catalogs
from naiply.environment import LANGUAGES
from naiply.local import PROJECT_FOLDER
from naiply.messages import (
    Findings,
    Use,
    check_catalog,
    check_compiled,
    sign_catalog,
    source_messages,
    update_catalog,
)

TRANSLATIONS = [code for code, _name in LANGUAGES if code != "en"]

PYTHON = """
from django.utils.translation import gettext as _, ngettext, pgettext
HELLO = _("Hello %(name)s")
# Translators: the place in a match, not on a board
PLACE = pgettext("match", "place")
def count(n): return ngettext("%(n)s match", "%(n)s matches", n)
"""
TEMPLATE = """{% load i18n %}
{% partialdef rows %}{% translate "Board" %}{% endpartialdef %}
{% blocktranslate trimmed count n=n %}
  One player
{% plural %}
  {{ n }} players
{% endblocktranslate %}
"""

HELLO = Message("Hello %(name)s")
MATCHES = Message("%(n)s match", "%(n)s matches")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ratings").mkdir()
    (tmp_path / "ratings" / "words.py").write_text(PYTHON)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "board.html").write_text(TEMPLATE)
    return tmp_path


def translated(folder, message, *texts):
    """A Spanish catalog that holds this one message, so translated."""
    update_catalog("es", {message: source_messages(folder)[message]}, folder)
    path = catalog_path("es", folder)
    text = path.read_text()
    if message.plural:
        for form in range(3):
            text = text.replace(f'msgstr[{form}] ""', f'msgstr[{form}] "{texts[form]}"')
    else:
        head, _, _ = text.rpartition('msgstr ""')
        text = f'{head}msgstr "{texts[0]}"\n'
    path.write_text(text)
    return path


def check(folder, *messages):
    """What is wrong with the Spanish catalog where the source has only these messages."""
    found = source_messages(folder)
    return check_catalog("es", {message: found[message] for message in messages}, folder)


def test_messages_of_python_and_templates_are_found(folder):
    found = source_messages(folder)

    assert set(found) == {
        HELLO,
        MATCHES,
        Message("place", context="match"),
        Message("Board"),
        Message("One player", "%(n)s players"),
    }
    assert found[HELLO].files == {"ratings/words.py"}
    assert found[Message("Board")].files == {"templates/board.html"}
    assert found[Message("place", context="match")].comments == [
        "Translators: the place in a match, not on a board"
    ]


def test_new_catalog_has_the_plural_forms_of_its_language(folder):
    update_catalog("es", source_messages(folder), folder)

    text = catalog_path("es", folder).read_text()
    assert "nplurals=3" in text
    assert text.count('msgstr[2] ""') == 2


def test_comment_for_translators_is_taken_from_templates_too(folder):
    (folder / "templates" / "board.html").write_text(
        "{% load i18n %}\n"
        "{# Translators: the position on a board #}\n"
        '<b>{% translate "Rank" context "on a board" %}</b>{% translate "Other" %}\n'
        '{% translate "Next" %}\n'
        "{# Translators: a name #}\n"
        "{% blocktranslate trimmed %}\n  Hello {{ name }}\n{% endblocktranslate %}\n"
    )

    found = source_messages(folder)

    assert {message.text: use.comments for message, use in found.items() if use.comments} == {
        "Rank": ["Translators: the position on a board"],
        "place": ["Translators: the place in a match, not on a board"],
        "Hello %(name)s": ["Translators: a name"],
    }
    update_catalog("es", found, folder)
    assert "#. Translators: the position on a board\n" in catalog_path("es", folder).read_text()


def test_update_twice_changes_nothing(folder):
    update_catalog("es", source_messages(folder), folder)
    text = catalog_path("es", folder).read_text()

    update_catalog("es", source_messages(folder), folder)

    assert catalog_path("es", folder).read_text() == text


def test_moved_line_changes_no_catalog(folder):
    update_catalog("es", source_messages(folder), folder)
    text = catalog_path("es", folder).read_text()
    path = folder / "ratings" / "words.py"
    path.write_text("\n\n\n" + path.read_text())

    update_catalog("es", source_messages(folder), folder)

    assert catalog_path("es", folder).read_text() == text


def test_update_keeps_translations_and_drops_what_the_source_lost(folder):
    path = translated(folder, HELLO, "Hola, %(name)s")

    update_catalog("es", {HELLO: source_messages(folder)[HELLO]}, folder)
    assert "Hola, %(name)s" in path.read_text()

    update_catalog("es", {}, folder)
    assert "Hola" not in path.read_text()


def test_update_keeps_comments_and_signatures_of_translators(folder):
    path = translated(folder, HELLO, "Hola, %(name)s")
    sign_catalog("es", "N. N., 2026-11-30", folder)

    update_catalog("es", source_messages(folder), folder)

    assert "# Reviewed: N. N., 2026-11-30\n#: ratings/words.py\n" in path.read_text()


@pytest.mark.parametrize(
    ("message", "former"),
    [
        (Message("Hello %(name)s", context="greeting"), '#| msgid "Hello %(name)s"'),
        (Message("Hello, %(name)s!"), '#| msgid "Hello %(name)s"'),
    ],
    ids=["another context", "another wording"],
)
def test_changed_message_keeps_its_translation_as_a_guess(folder, message, former):
    path = translated(folder, HELLO, "Hola, %(name)s")
    sign_catalog("es", "N. N.", folder)

    update_catalog("es", {message: Use({"ratings/words.py"})}, folder)

    [entry] = open_catalog(path)
    assert key(entry) == message
    assert entry.fuzzy
    assert entry.msgstr == "Hola, %(name)s"
    assert former in path.read_text()
    assert not is_reviewed(entry)


def test_message_that_is_merely_like_one_of_the_source_gets_no_guess(folder):
    path = translated(folder, HELLO, "Hola, %(name)s")
    twice = {HELLO: Use({"a"}), Message("Hello, %(name)s!"): Use({"a"})}

    update_catalog("es", twice, folder)

    assert [entry.msgstr for entry in open_catalog(path)] == ["Hola, %(name)s", ""]


def test_good_translations_are_all_there_is_to_say(folder):
    translated(folder, HELLO, "Hola, %(name)s")

    assert check(folder, HELLO) == Findings()


def test_fault_missing_and_fuzzy_entries_are_told_apart(folder):
    path = translated(folder, HELLO, "Hola, %(nombre)s")
    assert check(folder, HELLO) == Findings(
        faults=["'Hello %(name)s' has %(nombre)s where the source has %(name)s"]
    )

    path.write_text(path.read_text().replace("Hola, %(nombre)s", ""))
    assert check(folder, HELLO) == Findings(lacks=["'Hello %(name)s' is not translated"])

    path.write_text(path.read_text().replace('msgid "He', '#, fuzzy\nmsgid "He'))
    assert check(folder, HELLO) == Findings(
        lacks=["'Hello %(name)s' is fuzzy: a guess that nobody has confirmed"]
    )


def test_catalog_that_is_not_that_of_the_source_is_named(folder):
    translated(folder, HELLO, "Hola, %(name)s")

    assert check(folder, MATCHES) == Findings(
        strays=[
            "'%(n)s match' of ratings/words.py is missing",
            "'Hello %(name)s' is no longer in the source",
        ]
    )


def test_unreadable_catalog_is_a_fault(folder):
    path = translated(folder, HELLO, "H\u00f3la, %(name)s")
    path.write_bytes(path.read_text().encode("latin-1"))

    [fault] = check(folder, HELLO).faults

    assert "is not UTF-8" in fault


def test_compiled_catalog_made_from_another_source_is_a_fault(folder):
    path = translated(folder, HELLO, "Hola, %(name)s")
    compile_catalogs(folder)
    assert check_compiled("es", folder) == []

    path.write_text(path.read_text().replace("Hola", "Buenas"))

    assert check_compiled("es", folder) == [
        "django.mo is missing, damaged or made from another django.po"
    ]


def test_signing_leaves_out_what_is_signed_missing_or_fuzzy(folder):
    path = translated(folder, HELLO, "Hola, %(name)s")
    assert sign_catalog("es", "N. N., 2026", folder) == 1

    assert sign_catalog("es", "M. M., 2027", folder) == 0

    assert "M. M." not in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "code"), [(["check"], 0), (["missing", "es"], 0), (["sign", "xx", "N."], 2)]
)
def test_command_runs_on_our_own_catalogs(arguments, code):
    run = subprocess.run(
        [sys.executable, "-m", "naiply.messages", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT_FOLDER,
    )

    assert run.returncode == code, run.stdout + run.stderr
    assert ("python -m naiply.messages update" in run.stderr) == (code == 2)


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_our_own_catalog_has_the_entries_of_the_source_and_no_fault(language):
    found = check_catalog(language, source_messages())

    assert found.faults == []
    assert found.strays == []


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_our_own_catalog_is_as_make_messages_writes_it(tmp_path, language):
    """Down to the files it names, or the next to run it would change what he did not touch."""
    ours = catalog_path(language, LOCALE_FOLDER)
    copy = catalog_path(language, tmp_path)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(ours.read_bytes())

    update_catalog(language, source_messages(), tmp_path)

    assert copy.read_bytes() == ours.read_bytes()


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_our_own_catalog_is_complete(language):
    assert check_catalog(language, source_messages()).lacks == []


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_number_and_its_sign_are_never_parted(language):
    """A line may end at a plain blank; one before a % has to be U+00A0."""
    catalog = open_catalog(catalog_path(language, LOCALE_FOLDER))

    texts = [text for entry in catalog for text in (entry.msgstr, *entry.msgstr_plural.values())]
    assert [text for text in texts if re.search(r"[)\d]s? %%|%% [%\d]", text)] == []
