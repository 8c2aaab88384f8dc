"""Where translators can see the words of a file."""

import pytest

from leaderboards.shell import read_shell
from leaderboards.whereabouts import MODULES, TEMPLATES, is_for_staff, read_whereabouts
from naiply.local import PROJECT_FOLDER
from naiply.messages import source_messages
from tests.ratings.builders import duel, record

# Their words are on no page: answers to game servers and to staff who import files, and the pages
# for what went wrong.
ON_NO_PAGE = (
    "leaderboards/turns.py",
    "ratings/history/",
    "ratings/names.py",
    "ratings/recording.py",
    "ratings/report_files/",
    "ratings/reports.py",
    "ratings/roster.py",
    "templates/400.html",
    "templates/403.html",
    "templates/403_csrf.html",
    "templates/404.html",
    "templates/500.html",
)


@pytest.fixture
def places(brisca, source):
    record(duel("ana", "pepe"), source=source)
    return read_whereabouts(read_shell())


def test_every_file_with_words_leads_to_a_page(places):
    files = {file for use in source_messages().values() for file in use.files}

    lost = {file for file in files if not places.of([file])}

    assert {file for file in lost if not file.startswith(ON_NO_PAGE)} == set()
    assert {file for file in lost if file.startswith(ON_NO_PAGE)} == {
        file for file in files if file.startswith(ON_NO_PAGE)
    }


def test_no_link_is_dead(client, places):
    files = {file for use in source_messages().values() for file in use.files}
    urls = {url for file in files for url in places.of([file])}

    answers = {url: client.get(url, follow=True).status_code for url in urls}

    assert set(answers.values()) == {200}
    assert len(urls) >= 14


def test_table_names_only_what_exists(places):
    assert [file for file in MODULES if not (PROJECT_FOLDER / file).exists()] == []
    assert [n for n in TEMPLATES if not (PROJECT_FOLDER / "templates" / n).exists()] == []
    assert set(MODULES.values()) | set(TEMPLATES.values()) == set(places.pages)


@pytest.mark.parametrize(
    ("file", "url"),
    [
        ("templates/leaderboards/board_detail.html", "/leaderboards/brisca/"),
        ("templates/includes/profile/week.html", "/players/ana/brisca/"),
        ("templates/includes/rules/comparison.html", "/how-it-works/"),
        ("templates/includes/receipt/elo.html", "/matches/"),
        ("ratings/admin/match.py", "/admin/"),
        ("ratings/models/correction.py", "/admin/"),
    ],
)
def test_words_are_seen_on_the_page_that_holds_them(places, file, url):
    [found] = places.of([file])

    assert found.startswith(url)


def test_words_in_two_files_lead_to_both(places):
    found = places.of(["templates/leaderboards/faq.html", "templates/leaderboards/verify.html"])

    assert found == ["/faq/", "/verify/"]


def test_site_without_a_match_has_links_that_need_none(db):
    places = read_whereabouts(read_shell())

    assert places.of(["templates/leaderboards/match_detail.html"]) == []
    assert places.of(["templates/leaderboards/faq.html"]) == ["/faq/"]


@pytest.mark.parametrize(
    ("file", "expected"), [("ratings/admin/game.py", True), ("ratings/reports.py", False)]
)
def test_staff_have_words_of_their_own(file, expected):
    assert is_for_staff(file) == expected
