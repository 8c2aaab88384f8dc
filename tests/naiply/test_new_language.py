"""Adding a language, as docs/translating.md tells it: tried with French."""

import shutil
import subprocess
import sys

import pytest
from django.conf import settings as project_settings
from django.utils.translation import deactivate

from leaderboards.catalogs import catalog_path, key, open_catalog
from naiply.catalogs import LOCALE_FOLDER, compile_catalogs
from naiply.local import PROJECT_FOLDER
from naiply.messages import SOURCE_FOLDERS, source_messages, update_catalog
from tests.leaderboards.html import parse
from tests.mode import bare_environment

GUIDE = PROJECT_FOLDER / "docs" / "translating.md"
LINE = '("fr", "Fran\u00e7ais"),'


def messages(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "naiply.messages", *arguments],
        cwd=folder,
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_steps_of_the_guide_make_a_catalog_that_passes(tmp_path):
    for name in (*SOURCE_FOLDERS, "locale"):
        ignored = shutil.ignore_patterns("__pycache__", "*.mo")
        shutil.copytree(PROJECT_FOLDER / name, tmp_path / name, ignore=ignored)
    assert LINE in GUIDE.read_text()
    environment = tmp_path / "naiply" / "environment.py"
    text = environment.read_text()
    environment.write_text(text.replace("LANGUAGES = (\n", f"LANGUAGES = (\n    {LINE}\n"))

    updated = messages(tmp_path, "update")
    checked = messages(tmp_path, "check")

    assert updated.returncode == checked.returncode == 0, updated.stderr + checked.stderr
    count = len(source_messages())
    assert f"fr: {count} messages, {count} missing, 0 fuzzy" in checked.stdout
    catalog = open_catalog(catalog_path("fr", tmp_path / "locale"))
    assert len(catalog) == count
    assert catalog.metadata["Language"] == "fr"
    assert catalog.metadata["Plural-Forms"].startswith("nplurals=")
    for path in sorted(LOCALE_FOLDER.glob("*/LC_MESSAGES/django.po")):
        copied = tmp_path / "locale" / path.relative_to(LOCALE_FOLDER)
        assert words(copied) == words(path)


def words(path):
    return {key(entry): entry.msgstr or entry.msgstr_plural for entry in open_catalog(path)}


@pytest.fixture
def french(tmp_path, settings):
    """The site with a language more, of which only two entries are translated."""
    folder = tmp_path / "locale"
    shutil.copytree(LOCALE_FOLDER, folder)
    update_catalog("fr", source_messages(), folder)
    path = catalog_path("fr", folder)
    catalog = open_catalog(path)
    for entry in catalog:
        entry.msgstr = {"Leaderboards": "Classements", "How it works": "Fonctionnement"}.get(
            entry.msgid, ""
        )
    catalog.save(str(path))
    compile_catalogs(folder)
    settings.LOCALE_PATHS = [folder]
    settings.LANGUAGES = [*project_settings.LANGUAGES, ("fr", "Fran\u00e7ais")]
    yield path
    deactivate()


@pytest.mark.django_db
def test_new_language_is_served_from_its_first_entry_on(client, french):
    page = parse(client.get("/fr/"))

    assert page.one("html").attributes["lang"] == "fr"
    assert "Classements" in page.text
    assert "Fonctionnement" in page.text
    assert "Latest matches" in page.text
    assert "Fran\u00e7ais" in [a.text for a in page.one("nav", id="languages").all("a")]
    assert client.get("/", headers={"Accept-Language": "fr"})["Location"] == "/fr/"


@pytest.mark.django_db
def test_new_language_is_among_the_translations(client, french):
    rows = parse(client.get("/translations/")).one("table", class_="figures").rows()

    count = len(source_messages())
    assert rows[-1] == ["Fran\u00e7ais", "2", str(count - 2), "0", "0", "2"]


def test_guide_names_every_translation():
    text = GUIDE.read_text()

    for path in LOCALE_FOLDER.glob("*/LC_MESSAGES/django.po"):
        assert f"`{path.relative_to(PROJECT_FOLDER)}`" in text
