"""Voiding a match in the admin, as staff do it in a browser."""

import re

import pytest
from playwright.sync_api import expect

from ratings import history
from ratings.models import Match, Player, User
from tests.ratings.builders import duel, make_source, open_game, record, today

pytestmark = pytest.mark.browser


@pytest.fixture
def staff(page, site, transactional_db):
    """A browser whose owner is signed in as staff; it lists what the page complains of."""
    open_game()
    record(
        duel("ana", "pepa_4", today(1), external_id="m1"),
        duel("lola", "ana", today(2), external_id="m2"),
        source=make_source(),
    )
    User.objects.create_superuser("staff", password="a-long-password")
    complaints = []
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(site + "/admin/login/?next=/admin/ratings/match/")
    page.get_by_label("Username").fill("staff")
    page.get_by_label("Password").fill("a-long-password")
    page.get_by_role("button", name="Log in").click()
    yield page
    assert complaints == []


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
