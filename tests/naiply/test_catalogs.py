import gettext
import os

from naiply.catalogs import compile_catalogs

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
    source.write_text(text, encoding="utf-8")
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
    os.utime(source, (1, 1))

    assert compile_catalogs(tmp_path) == []


def test_catalog_older_than_its_source_is_compiled_again(tmp_path):
    source = write_catalog(tmp_path)
    compile_catalogs(tmp_path)
    write_catalog(tmp_path, CATALOG.replace("puesto", "lugar"))
    os.utime(source.with_suffix(".mo"), (1, 1))

    compiled = compile_catalogs(tmp_path)

    assert compiled == [source]
    assert translations(source).gettext("place") == "lugar"


def test_no_catalog_at_all_is_fine(tmp_path):
    assert compile_catalogs(tmp_path / "missing") == []
