"""Search, distribution and themes of a board, as a browser has them."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from ratings.models import Player
from ratings.players import create_bot
from tests.ratings.builders import draw, duel, make_source, open_game, record

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("complaints")]

BOARD = "/leaderboards/brisca/"
PLACES = ["", "?q=nunez", "?q=zzz", "?around=nunez-7", "?rank=30", "?system=openskill&rank=9999"]


@pytest.fixture
def card_room(transactional_db):
    """Sixty players; some moved in these seven days, some did not, one is new."""
    open_game("brisca")
    source = make_source()
    create_bot(handle="bot-rayo", name="bot-rayo", source=source)
    now = datetime.now(UTC)
    record(
        *[duel(f"j-{n:02}", f"k-{n:02}", at=now - timedelta(days=9, minutes=n)) for n in range(30)],
        *[duel("j-00", f"j-{n:02}", at=now - timedelta(days=9, minutes=-n)) for n in range(1, 20)],
        duel("nunez-7", "j-03", at=now - timedelta(days=1)),
        duel("k-04", "bot-rayo", at=now - timedelta(hours=3)),
        draw("j-20", "j-21", at=now - timedelta(hours=2)),
        source=source,
        at=now,
    )
    player = Player.objects.get(handle="nunez-7")
    player.name = "Nuñez"
    player.clean_fields()
    player.save()
    return source


def open_details(page):
    for summary in page.locator("details > summary").all():
        summary.click()


@pytest.mark.parametrize(("system", "theme"), [("light", "dark"), ("dark", "light")])
def test_theme_that_is_not_the_systems_has_contrast(
    page, site, card_room, assert_accessible, system, theme
):
    page.emulate_media(color_scheme=system)
    page.goto(site + BOARD)

    page.get_by_role("button", name=theme.capitalize()).click()

    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    open_details(page)
    assert_accessible(page, only="color-contrast")


@pytest.mark.parametrize("place", PLACES)
def test_narrow_boards_do_not_scroll_sideways(page, site, card_room, place):
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(site + BOARD + place)
    open_details(page)

    width = page.evaluate("document.scrollingElement.scrollWidth")

    assert width <= 320


def test_theme_is_chosen_without_javascript(browser, site, card_room):
    context = browser.new_context(java_script_enabled=False, color_scheme="light")
    page = context.new_page()
    page.goto(f"{site}{BOARD}?kind=people")

    page.get_by_role("button", name="Dark").click()

    expect(page).to_have_url(f"{site}{BOARD}?kind=people")
    expect(page.locator("body")).to_have_css("background-color", "rgb(18, 25, 22)")
    page.goto(f"{site}/faq/")
    expect(page.locator("body")).to_have_css("background-color", "rgb(18, 25, 22)")
    page.get_by_role("button", name="As the system").click()
    expect(page).to_have_url(f"{site}/faq/")
    expect(page.locator("body")).to_have_css("background-color", "rgb(245, 241, 230)")
    assert page.locator("html").get_attribute("data-theme") is None
    context.close()


def test_theme_returns_to_where_htmx_has_led(page, site, card_room):
    page.goto(site + BOARD)
    page.locator("#system-openskill").click()
    expect(page).to_have_url(f"{site}{BOARD}?system=openskill")

    page.get_by_role("button", name="Dark").click()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page).to_have_url(f"{site}{BOARD}?system=openskill")


def test_search_leads_to_a_player_and_back(page, site, card_room):
    page.goto(f"{site}{BOARD}?system=openskill")
    page.evaluate("window.isTheSamePage = true")

    page.get_by_label("Find a player").fill("NUÑEZ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="One player found for “NUÑEZ”")).to_be_visible()
    expect(page.get_by_label("Find a player")).to_be_focused()
    page.get_by_role("link", name="The players around Nuñez").click()

    expect(page.locator("tr.is-sought")).to_contain_text("Nuñez")
    expect(page).to_have_url(f"{site}{BOARD}?system=openskill&around=nunez-7")
    expect(page.get_by_label("Find a player")).to_have_value("")
    assert page.evaluate("window.isTheSamePage")
    page.go_back()
    expect(page.get_by_role("heading", name="One player found for “NUÑEZ”")).to_be_visible()
    expect(page.locator("h1")).to_have_text("Brisca")


def test_rank_is_jumped_to(page, site, card_room):
    page.goto(f"{site}{BOARD}?kind=people")

    page.get_by_label("Go to rank").fill("55")
    page.get_by_role("button", name="Go", exact=True).click()

    expect(page.locator("tr.is-sought")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"kind=people&rank=55$"))
    expect(page.locator("#board caption")).to_contain_text("page 2 of 2")


def test_what_is_typed_and_opened_outlives_the_news(page, site, card_room):
    page.clock.install()
    page.goto(site + BOARD)
    page.get_by_label("Find a player").fill("nun")
    page.locator(".data > summary").click()
    record(duel("j-00", "k-00", at=datetime.now(UTC)), source=card_room, at=datetime.now(UTC))

    with page.expect_response(lambda response: "v=" in response.url) as answer:
        page.clock.run_for(10_000)

    assert answer.value.status == 200
    expect(page.locator("#board")).not_to_have_class(re.compile("htmx-"))
    expect(page.get_by_label("Find a player")).to_have_value("nun")
    expect(page.locator(".data")).to_have_attribute("open", "")


def test_everything_works_without_javascript(browser, site, card_room):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}{BOARD}?system=openskill")

    page.get_by_label("Find a player").fill("nunez")
    page.get_by_role("button", name="Find").click()
    expect(page).to_have_url(f"{site}{BOARD}?system=openskill&q=nunez")
    page.get_by_role("link", name="The players around Nuñez").click()
    expect(page.locator("tr.is-sought")).to_contain_text("Nuñez")
    page.get_by_label("Go to rank").fill("2")
    page.get_by_role("button", name="Go", exact=True).click()

    expect(page).to_have_url(f"{site}{BOARD}?system=openskill&rank=2")
    expect(page.locator("tr.is-sought")).to_have_count(1)
    context.close()


def test_board_is_downloaded(page, site, card_room):
    page.goto(f"{site}{BOARD}?kind=people")

    with page.expect_download() as download:
        page.get_by_role("link", name="This board as a CSV file").click()

    assert download.value.suggested_filename == "brisca-elo-people.csv"
