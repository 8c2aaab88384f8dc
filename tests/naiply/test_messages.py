import pytest

from naiply.environment import LANGUAGES
from naiply.messages import Message, catalog_path, problems, source_messages, update_catalog

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
    """What is wrong with a Spanish catalog that holds this one message, so translated."""
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
    return list(problems("es", {message: source_messages(folder)[message]}, folder))


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
    assert list(problems("es", source_messages(folder), folder))


def test_update_keeps_translations_and_drops_what_the_source_lost(folder):
    assert translated(folder, HELLO, "Hola, %(name)s") == []

    update_catalog("es", {HELLO: source_messages(folder)[HELLO]}, folder)
    assert "Hola, %(name)s" in catalog_path("es", folder).read_text()

    update_catalog("es", {}, folder)
    assert "Hola" not in catalog_path("es", folder).read_text()


def test_good_translations_have_no_problems(folder):
    assert translated(folder, HELLO, "Hola, %(name)s") == []
    assert translated(folder, MATCHES, "una partida", "%(n)s de partidas", "%(n)s partidas") == []


@pytest.mark.parametrize(
    ("message", "texts", "problem"),
    [
        (HELLO, [""], "'Hello %(name)s' is not translated"),
        (HELLO, ["Hola, %(nombre)s"], "has %(nombre)s where the source has %(name)s"),
        (HELLO, ["Hola"], "has nothing where the source has %(name)s"),
        (HELLO, ["Hola, %(name)s: 50% más"], "has a % that should be %%"),
        (HELLO, ["Hola, %(name)s\\n"], "ends with a line break where the source does not"),
        (MATCHES, ["una", "", "%(n)s partidas"], "is not translated (form 1)"),
        (MATCHES, ["una", "muchas", "%(n)s partidas"], "has nothing where the source has %(n)s"),
        (MATCHES, ["%(m)s", "%(n)s x", "%(n)s x"], "has %(m)s where the source has %(n)s"),
    ],
)
def test_bad_translation_is_named(folder, message, texts, problem):
    found = translated(folder, message, *texts)

    assert len(found) == 1
    assert problem in found[0]


def test_catalog_that_is_not_that_of_the_source_is_named(folder):
    update_catalog("es", {HELLO: source_messages(folder)[HELLO]}, folder)

    found = list(problems("es", {MATCHES: source_messages(folder)[MATCHES]}, folder))

    assert "es: '%(n)s match' of ratings/words.py is missing" in found
    assert "es: 'Hello %(name)s' is no longer in the source" in found


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text.replace('msgid "He', '#, fuzzy\nmsgid "He'), "is fuzzy"),
        (lambda text: text.replace("Plural-Forms", "Plurals"), "has no Plural-Forms"),
        (lambda text: text.replace("charset=UTF-8", "charset=ASCII"), "does not say text/plain"),
        (lambda text: text + text[text.index("#: ") :], "cannot be read"),
        (lambda text: text.replace("Hola", "Hóla").encode("latin-1"), "cannot be read"),
    ],
    ids=["fuzzy", "no plural rule", "other charset", "twice the same", "latin-1 bytes"],
)
def test_broken_catalog_is_named(folder, change, problem):
    assert translated(folder, HELLO, "Hola, %(name)s") == []
    path = catalog_path("es", folder)
    changed = change(path.read_text())
    path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())

    found = list(problems("es", {HELLO: source_messages(folder)[HELLO]}, folder))

    assert len(found) == 1
    assert problem in found[0]


def test_missing_plural_form_is_named(folder):
    translated(folder, MATCHES, "una", "%(n)s x", "%(n)s x")
    path = catalog_path("es", folder)
    path.write_text(path.read_text().replace('msgstr[2] "%(n)s x"\n', ""))

    found = list(problems("es", {MATCHES: source_messages(folder)[MATCHES]}, folder))

    assert found == ["es: '%(n)s match' has 2 plural forms instead of 3"]


def test_missing_catalog_is_named(tmp_path):
    assert list(problems("es", {}, tmp_path)) == ["es: django.po is missing"]


@pytest.mark.parametrize("language", [code for code, _ in LANGUAGES if code != "en"])
def test_our_own_catalog_is_complete_and_sound(language):
    assert list(problems(language, source_messages())) == []
