"""What in a catalog would break a page."""

import pytest

from leaderboards.catalogs import (
    UnreadableCatalog,
    catalog_path,
    faults,
    file_faults,
    is_reviewed,
    open_catalog,
)

HEADER = """
msgid ""
msgstr ""
"Language: es\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=n == 1 ? 0 : n != 0 && n % 1000000 == 0 ? 1 : 2;\\n"
"""
HELLO = "Hello %(name)s"
LINK = 'See <a href=\\"/faq/\\" class=\\"quiet\\">the <b>answers</b></a>'


@pytest.fixture
def path(tmp_path):
    path = catalog_path("es", tmp_path)
    path.parent.mkdir(parents=True)
    return path


def faults_of(path, entry):
    path.write_text(f"{HEADER}\n{entry}\n")
    return [fault for _entry, fault in faults(open_catalog(path))]


def faults_of_text(path, original, text):
    return faults_of(path, f'msgid "{original}"\nmsgstr "{text}"')


def faults_of_plurals(path, *texts):
    forms = "\n".join(f'msgstr[{n}] "{text}"' for n, text in enumerate(texts))
    return faults_of(path, f'msgid "%(n)s match"\nmsgid_plural "%(n)s matches"\n{forms}')


@pytest.mark.parametrize(
    ("original", "text"),
    [
        (HELLO, "Hola, %(name)s"),
        (HELLO, "%(name)s, hola, %(name)s"),
        (HELLO, ""),
        ("%(share)s%% of all", "%(share)s %% de todos"),
        ("%(share)s percent", "%(share)s %%"),
        ("95%% interval", "Intervalo del 95 %%"),
        ("50% off, for a text that is never formatted", "50 % menos"),
        ("{name}: hello", "Hola, {name}"),
        ("%s and %d", "%s con %d"),
        (LINK, LINK.replace("See", "Mira").replace("the", "las")),
        ("a < b", "a < b"),
        ("10<sup>%(exponent)s</sup>", "10<sup>%(exponent)s</sup>"),
    ],
)
def test_sound_translation_has_no_fault(path, original, text):
    assert faults_of_text(path, original, text) == []


@pytest.mark.parametrize(
    ("original", "text", "fault"),
    [
        (HELLO, "Hola, %(nombre)s", "has %(nombre)s where the source has %(name)s"),
        (HELLO, "Hola", "has nothing where the source has %(name)s"),
        (HELLO, "Hola, %(name)d", "has %(name)d where the source has %(name)s"),
        (HELLO, "Hola, %%(name)s", "has nothing where the source has %(name)s"),
        (HELLO, "Hola, %(name)", "has nothing where the source has %(name)s"),
        (HELLO, "50% de %(name)s", "has a % that should be %%"),
        (HELLO, "%(name)s: 50 %", "has a % that should be %%"),
        ("95%% interval", "Intervalo del 95 %", "has a % that should be %%"),
        ("Hello", "50% de", "has a % where the source has none"),
        ("Hello", "50%% de", "has a % where the source has none"),
        ("{name}: hello", "{nombre}: hola", "has {nombre} where the source has {name}"),
        ("%s and %d", "%d y %s", "has %d, %s where the source has %d, %s"),
        (LINK, "Mira las respuestas", "where the source has"),
        (LINK, LINK.replace("/faq/", "https://evil.example/"), "evil.example"),
        (LINK, LINK.replace('class=\\"quiet\\"', 'onclick=\\"x()\\"'), "onclick"),
        (LINK, LINK.replace("</b>", ""), "where the source has"),
        ("Hello", "<SCRIPT>x</SCRIPT>", "has </SCRIPT>, <SCRIPT> where the source has nothing"),
        ("Hello", "<!-- Hola", "has <!-- Hola where the source has nothing"),
        ("Hello", "Hola <img", "has <img where the source has nothing"),
        (HELLO, "Hola, %(name)s\\n", "ends with a line break where the source does not"),
        (HELLO, "\\nHola, %(name)s", "starts with a line break where the source does not"),
    ],
)  # fmt: skip
def test_translation_that_would_break_a_page_is_named(path, original, text, fault):
    found = faults_of_text(path, original, text)

    assert len(found) == (2 if '%(name)"' in f'{text}"' else 1)
    assert fault in found[0]


def test_form_for_one_may_leave_the_number_out(path):
    assert faults_of_plurals(path, "una partida", "%(n)s de partidas", "%(n)s partidas") == []


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (["una", "muchas", "%(n)s x"], "has nothing where the source has %(n)s (form 1)"),
        (["%(m)s", "%(n)s x", "%(n)s x"], "has %(m)s where the source has %(n)s (form 0)"),
        (["una", "%(n)s x"], "has 2 plural forms instead of 3"),
        (["una", "", "%(n)s x"], "has 2 plural forms instead of 3"),
        (["una", "%(n)s x", "%(n)s x", "%(n)s x"], "has 4 plural forms instead of 3"),
    ],
)
def test_plural_that_would_break_a_page_is_named(path, texts, fault):
    assert faults_of_plurals(path, *texts) == [fault]


def test_plural_that_nobody_has_translated_does_no_harm(path):
    assert faults_of_plurals(path, "", "", "") == []


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('msgid "a"\nmsgstr[0] "b"', "has plural forms where the source has none"),
        ('msgid "a"\nmsgid_plural "as"\nmsgstr "b"', "has one text instead of 3 plural forms"),
        ('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"', "is there twice"),
    ],
)
def test_entry_of_the_wrong_shape_is_named(path, entry, fault):
    assert faults_of(path, entry) == [fault]


def test_same_words_in_two_contexts_are_two_entries(path):
    entry = 'msgctxt "{}"\nmsgid "place"\nmsgstr "puesto"\n\n'

    assert faults_of(path, entry.format("in a match") + entry.format("on a map")) == []


def test_fuzzy_and_obsolete_entries_do_no_harm(path):
    assert (
        faults_of(path, '#, fuzzy\nmsgid "a"\nmsgstr "%(b)s"\n\n#~ msgid "a"\n#~ msgstr "<b>"')
        == []
    )


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("", "", None),
        ("\n", "\r\n", "has line ends of Windows (CRLF); save it with LF"),
        ("\nmsgid", "\ufeffmsgid", "begins with a byte order mark; save it in UTF-8 without one"),
        ("charset=UTF-8", "charset=ASCII", "the header does not say text/plain; charset=UTF-8"),
        ("Content-Type", "Content", "the header does not say text/plain; charset=UTF-8"),
        ("Language: es", "Language: ca", 'the header says Language "ca", not "es"'),
    ],
    ids=["sound", "CRLF", "BOM", "other charset", "no charset", "other language"],
)
def test_file_that_other_programs_would_misread_is_named(path, old, new, fault):
    path.write_bytes(HEADER.replace(old, new).encode() if old else HEADER.encode())

    assert list(file_faults(path)) == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (HEADER.replace("es", "\u00e9s").encode("latin-1"), "is not UTF-8; save it in UTF-8"),
        (b"<html>", "cannot be read"),
        (b"", "the header has no Plural-Forms"),
        (HEADER.replace("Plural-Forms", "Plurals").encode(), "the header has no Plural-Forms"),
        (HEADER.replace("nplurals=3", "nplurals=2").encode(), "numbers that take form 2"),
        (HEADER.replace("n == 1", "__import__").encode(), "the header has a wrong Plural-Forms"),
        (HEADER.replace("n == 1", "n / 0").encode(), "the header has a wrong Plural-Forms"),
    ],
)
def test_catalog_that_django_could_not_use_is_refused(path, content, why):
    path.write_bytes(content)

    with pytest.raises(UnreadableCatalog, match=why):
        open_catalog(path)


def test_missing_catalog_is_refused(path):
    with pytest.raises(UnreadableCatalog, match="No such file"):
        open_catalog(path)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [("", False), ("# Not reviewed:\n", False), ("# A thought\n# Reviewed: N. N., 2026\n", True)],
)
def test_signature_of_a_reviewer_is_a_comment_of_the_entry(path, comment, expected):
    path.write_text(f'{HEADER}\n{comment}msgid "a"\nmsgstr "b"\n')

    assert is_reviewed(open_catalog(path)[0]) == expected
