from django.utils import translation
from django.utils.translation import gettext, ngettext, pgettext

from leaderboards.catalogs import catalog_path, faults, file_faults, key, open_catalog
from naiply.catalogs import LOCALE_FOLDER, compile_catalogs

ACCOUNTS_FOLDER = LOCALE_FOLDER / "accounts"


def words(folder):
    catalog = open_catalog(catalog_path("gl", folder))
    return {key(entry): entry.msgstr or entry.msgstr_plural for entry in catalog}


def test_accounts_speak_galician():
    with translation.override("gl"):
        assert gettext("Forgot your password?") == "Esqueciches o contrasinal?"
        assert pgettext("field label", "Login") == "Usuario"
        assert (
            ngettext(
                "You have added %(count)s security key.",
                "You have added %(count)s security keys.",
                2,
            )
            == "Engadiches %(count)s chaves de seguridade."
        )


def test_accounts_catalog_is_complete_and_sound():
    path = catalog_path("gl", ACCOUNTS_FOLDER)
    catalog = open_catalog(path)

    assert [entry.msgid for entry in catalog if not entry.translated()] == []
    assert [(entry.msgid, fault) for entry, fault in faults(catalog)] == []
    assert list(file_faults(path)) == []


def test_accounts_catalog_says_nothing_else_than_the_site():
    ours = words(LOCALE_FOLDER)
    theirs = words(ACCOUNTS_FOLDER)

    shared = ours.keys() & theirs.keys()
    assert shared
    assert {message: theirs[message] for message in shared} == {
        message: ours[message] for message in shared
    }


def test_catalog_in_a_folder_of_its_own_is_compiled(tmp_path):
    source = catalog_path("gl", tmp_path / "accounts")
    source.parent.mkdir(parents=True)
    source.write_bytes(catalog_path("gl", ACCOUNTS_FOLDER).read_bytes())

    assert compile_catalogs(tmp_path) == [source]
    assert source.with_suffix(".mo").exists()
