"""Voiding and correcting a match in the admin, as staff do it in a browser."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from ratings import history
from ratings.models import Match, Player, User
from tests.ratings.builders import duel, make_source, open_game, record, today

pytestmark = pytest.mark.browser


@pytest.fixture
def evening(transactional_db):
    """Two matches, and somebody of the staff."""
    open_game()
    record(
        duel("ana", "pepa_4", today(1), external_id="m1"),
        duel("lola", "ana", today(2), external_id="m2"),
        source=make_source(),
    )
    User.objects.create_superuser("staff", password="a-long-password")


def sign_in(page, site):
    page.goto(site + "/admin/login/?next=/admin/ratings/match/")
    page.get_by_label("Username").fill("staff")
    page.get_by_label("Password").fill("a-long-password")
    page.get_by_role("button", name="Log in").click()


@pytest.fixture
def staff(page, site, evening):
    """A browser whose owner is signed in as staff; it lists what the page complains of."""
    complaints = []
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    sign_in(page, site)
    yield page
    assert complaints == []


@pytest.fixture
def staff_without_scripts(browser, site, evening):
    """A browser that runs no JavaScript, whose owner is signed in as staff."""
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        sign_in(page, site)
        yield page


def choose(page, row, action):
    page.get_by_role("row", name=re.compile(row)).get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option(action)
    page.get_by_role("button", name=re.compile("^(Go|Run)")).click()


def test_staff_void_a_match_after_seeing_what_changes(staff, assert_accessible):
    choose(staff, "m1", "void")

    expect(staff.get_by_role("heading", name="Void matches")).to_be_visible()
    expect(staff.get_by_role("table", name="Who moves most, by Elo")).to_contain_text("ana")
    assert_accessible(staff)
    staff.get_by_label("Public reason").select_option("fair_play")
    staff.get_by_label("Private note").fill("seen twice")
    staff.get_by_role("button", name="Void matches").click()

    expect(staff.get_by_text("Done: 1 match changed, and 1 rated again.")).to_be_visible()
    assert Match.objects.get(external_id="m1").status == "void"
    assert history.verify(Match.objects.first().game).is_clean


def test_staff_anonymise_a_player_after_being_told_what_that_is(staff, site, assert_accessible):
    staff.goto(site + "/admin/ratings/player/")
    choose(staff, "lola", "anonymise")

    expect(staff.get_by_text("are forgotten for good")).to_be_visible()
    assert_accessible(staff)
    staff.get_by_role("button", name="Anonymise for good").click()

    expect(staff.get_by_text("1 player changed.")).to_be_visible()
    assert not Player.objects.filter(handle="lola").exists()


def row(page, number):
    """The fields of a player in the form of a match's facts."""
    return page.get_by_role("group", name=f"Row {number}", exact=True)


def test_staff_correct_a_match_by_the_keyboard_alone(staff, site, assert_accessible):
    match = Match.objects.get(external_id="m1")
    staff.goto(f"{site}/admin/ratings/match/{match.pk}/change/")
    staff.get_by_role("link", name="Correct this match").press("Enter")

    expect(staff.get_by_label("Played at (UTC)")).to_have_value("2026-07-06 01:00:00")
    assert_accessible(staff)
    handle = row(staff, 1).get_by_label("Handle")
    handle.press("Control+A")
    staff.keyboard.insert_text("nobody-9")
    staff.keyboard.press("Tab")  # to the team,
    staff.keyboard.press("Tab")  # and to the place
    staff.keyboard.insert_text("2")
    staff.keyboard.press("Enter")

    expect(handle).to_have_accessible_description("Nobody is called “nobody-9”, and nobody was.")
    assert_accessible(staff)
    handle.fill("ANA")
    row(staff, 2).get_by_label("Place").fill("1")
    handle.press("Enter")

    expect(staff.get_by_role("heading", name="What changes of the match")).to_be_visible()
    assert_accessible(staff)
    staff.get_by_label("Public reason").select_option("wrong_result")
    staff.get_by_role("button", name="Confirm the correction").press("Enter")

    expect(staff.get_by_text("Done: 1 match changed, and 1 rated again.")).to_be_visible()
    places = dict(match.participations.values_list("player__handle", "place"))
    assert places == {"ana": 2, "pepa_4": 1}
    assert history.verify(match.game).is_clean


def test_staff_correct_a_match_without_javascript(staff_without_scripts, site):
    page = staff_without_scripts
    match = Match.objects.get(external_id="m1")
    page.goto(f"{site}/admin/ratings/match/{match.pk}/change/")
    page.get_by_role("link", name="Correct this match").click()

    page.get_by_label("Played at (UTC)").fill("2026-07-06 04:30+02:00")
    page.get_by_label("Termination").select_option("abandoned")
    row(page, 1).get_by_label("Points").fill("70,5")
    row(page, 2).get_by_label("Remove").check()
    row(page, 3).get_by_label("Handle").fill("Lola")
    row(page, 3).get_by_label("Team").fill("2")
    row(page, 3).get_by_label("Place").fill("2")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Back to the facts").click()
    row(page, 1).get_by_label("Points").fill("71,5")
    page.get_by_role("button", name="Preview").click()

    table = page.get_by_role("table").first
    expect(table.get_by_role("row", name="ana")).to_contain_text("place 1, points: 71.5")
    expect(table.get_by_role("row", name="pepa_4")).to_contain_text("not in the match")
    page.get_by_role("button", name="Confirm the correction").click()
    expect(page.get_by_text("This field is required.")).to_be_visible()
    page.get_by_label("Public reason").select_option("wrong_result")
    page.get_by_role("button", name="Confirm the correction").click()

    expect(page.get_by_text("Done: 1 match changed, and 1 rated again.")).to_be_visible()
    match.refresh_from_db()
    assert (match.played_at, match.termination) == (today(2, 30), "abandoned")
    points = dict(match.participations.values_list("player__handle", "points"))
    assert points == {"ana": Decimal("71.5"), "lola": None}
    assert history.verify(match.game).is_clean
