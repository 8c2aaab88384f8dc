"""Profiles, comparisons and receipts in a browser."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from ratings import history
from ratings.models import BotVersion, Player
from ratings.players import create_bot
from tests.ratings.builders import draw, duel, make_report, make_source, open_game, record, team

pytestmark = pytest.mark.browser

LONG = "x" * 39 + "9"
BIDI = "لاعب_٧"


@pytest.fixture
def card_room(transactional_db):
    """A bot with two versions, players with long and right-to-left names, and odd matches."""
    now = datetime.now(UTC)
    open_game("brisca", idle_days=180)
    open_game("cinquillo", idle_days=180)
    source = make_source()
    bot = create_bot(handle="bot-rayo", name="Rayo", difficulty="hard", source=source)
    for label, days in (("1.0", 200), ("2.0", 20)):
        BotVersion.objects.create(bot=bot, label=label, released_at=now - timedelta(days=days))
    names = [LONG, BIDI, "ana", "pepe", "quin"]
    receipts = record(
        *[duel("bot-rayo", names[n % 5], at=now - timedelta(days=80 - n)) for n in range(70)],
        *[draw("ana", "pepe", at=now - timedelta(hours=n + 3)) for n in range(5)],
        duel("pepe", "bot-rayo", at=now - timedelta(minutes=2)),
        make_report(
            [team(name, place=n + 1) for n, name in enumerate([*names, "eva", "leo", "bot-rayo"])],
            game="cinquillo",
            at=now - timedelta(minutes=1),
        ),
        source=source,
        at=now,
    )
    history.void_matches([receipts[0].match_id], by=None, reason="fair_play")
    ana, pepe = (Player.objects.get(handle=handle) for handle in ("ana", "pepe"))
    history.correct_match(
        receipts[70].match_id,
        history.Correct(
            teams=[history.CorrectTeam([ana.pk], 1), history.CorrectTeam([pepe.pk], 2)]
        ),
        by=None,
        reason="wrong_result",
    )
    matches = [receipts[n].match_id for n in (0, 70, 74, 75, 76)]
    everyone = "&".join(f"p={name}" for name in [*names, "eva", "leo", "bot-rayo"])
    return [
        "/players/bot-rayo/",
        "/players/bot-rayo/brisca/",
        "/players/bot-rayo/brisca/?system=openskill",
        "/players/eva/brisca/",
        f"/players/{LONG}/brisca/",
        f"/players/{BIDI}/brisca/",
        "/compare/brisca/",
        "/compare/brisca/?p=ana&p=pepe&q=qu",
        f"/compare/brisca/?{everyone}&p=nobody-here",
        *[f"/matches/{match}/" for match in matches],
    ]


def test_values_of_the_chart_are_reached_with_one_stop_each_for_list_and_table(
    page, site, card_room
):
    page.goto(f"{site}/players/bot-rayo/brisca/")
    summary = page.locator(".history summary")

    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    table = page.locator(".history .scroll")
    expect(table).to_be_focused()
    assert page.locator(".chart [tabindex], .chart a").count() == 0
    assert table.locator("tbody tr").count() > 60
    before = table.evaluate("it => it.scrollTop")
    page.keyboard.press("End")
    expect(table.locator("tbody tr").last).to_be_in_viewport()
    assert table.evaluate("it => it.scrollTop") > before


def test_player_is_added_and_taken_away_without_scripts(browser, site, card_room):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/compare/brisca/?p=ana")

    page.get_by_label("Find a player by name or handle").fill("PEP")
    page.get_by_role("button", name="Find").click()
    page.locator("a.add").click()

    expect(page).to_have_url(f"{site}/compare/brisca/?p=ana&p=pepe")
    expect(page.get_by_role("heading", name="Who is ahead")).to_be_visible()
    page.get_by_role("link", name="Take off the list: ana").click()
    expect(page).to_have_url(f"{site}/compare/brisca/?p=pepe")
    context.close()


def test_going_back_shows_the_page_before(page, site, card_room, complaints):
    page.goto(f"{site}/players/bot-rayo/brisca/")

    page.get_by_role("link", name="OpenSkill", exact=True).click()
    expect(page.locator(".chart")).to_have_attribute("aria-label", "OpenSkill rating over time")
    page.get_by_role("link", name="Older").click()
    page.go_back()
    page.go_back()

    expect(page.locator(".chart")).to_have_attribute("aria-label", "Elo over time")
    expect(page.locator("header.masthead")).to_be_visible()


def test_matrix_keeps_the_names_in_sight_on_a_narrow_screen(page, site, card_room):
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(site + card_room[8])
    matrix = page.locator(".scroll", has=page.locator(".matrix"))

    matrix.evaluate("it => { it.scrollLeft = it.scrollWidth }")

    assert matrix.evaluate("it => it.scrollLeft") > 100
    row = matrix.get_by_role("rowheader", name="ana")
    row.scroll_into_view_if_needed()
    box = row.bounding_box()
    assert 0 <= box["x"] < 60
