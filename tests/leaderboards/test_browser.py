"""What only a browser can show: live updates, focus, history, the policy, and the look."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from ratings.models import GameState
from ratings.players import create_bot
from tests.ratings.builders import (
    NOW,
    draw,
    duel,
    make_report,
    make_source,
    open_game,
    record,
    team,
)

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("complaints")]

TURN = 10_000  # milliseconds between two questions of a board
BOARD = "/leaderboards/brisca/"
HIDE = """hidden => {
    Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def card_room(transactional_db):
    """Sixty players who are level at Brisca, some bots, and matches of every kind."""
    for slug in ("brisca", "tute", "cinquillo"):
        open_game(slug)
    source = make_source()
    create_bot(handle="bot-rayo", name="bot-rayo", difficulty="hard", source=source)
    record(
        *[draw(f"j-{n:02}", f"k-{n:02}", at=NOW - timedelta(minutes=60 - n)) for n in range(30)],
        duel("j-00", "bot-rayo", at=NOW - timedelta(minutes=9)),
        duel("j-01", "k-01", at=NOW - timedelta(minutes=8), termination="friendly"),
        make_report([team("j-00", "j-01", place=1), team("k-00", "k-01", place=2)], game="tute"),
        make_report([team(f"j-{n:02}", place=n + 1, points="3.5") for n in range(8)],
                    game="cinquillo"),
        source=source,
    )  # fmt: skip
    return source


@pytest.fixture
def board(page, site, card_room):
    """A board on the screen, with a clock that the test moves."""
    page.clock.install()
    page.goto(site + BOARD)
    return page


def win_nine_times(player, source):
    record(
        *[duel(player, f"j-{n:02}", at=NOW + timedelta(seconds=n)) for n in range(9)],
        source=source,
        at=NOW + timedelta(minutes=1),
    )


def questions(page):
    """The addresses that the page asks for news at, from now on."""
    asked = []
    page.on(
        "request",
        lambda r: asked.append(r.url.partition("/leaderboards/")[2]) if "v=" in r.url else None,
    )
    return asked


def next_turn(page):
    with page.expect_response(lambda response: "v=" in response.url) as answer:
        page.clock.run_for(TURN)
    return answer.value


# Live updates


def test_result_appears_without_a_reload(board, card_room):
    expect(board.locator("tbody tr").first).to_contain_text("j-00")
    board.evaluate("window.isTheSamePage = true")

    win_nine_times("k-29", card_room)
    board.clock.run_for(TURN)

    first = board.locator("tbody tr").first
    expect(first).to_contain_text("k-29")
    expect(first).to_contain_text("9–1–0")
    assert board.evaluate("window.isTheSamePage")


def test_nothing_is_swapped_while_nothing_changes(board):
    board.evaluate("document.getElementById('board').dataset.mark = 'the same'")

    assert [next_turn(board).status for _ in range(3)] == [204, 204, 204]

    expect(board.locator("#board")).to_have_attribute("data-mark", "the same")
    expect(board.locator("#news")).to_be_empty()


def test_refresh_keeps_focus_scroll_filters_and_page(page, site, card_room):
    page.clock.install()
    page.goto(f"{site}{BOARD}?system=openskill&kind=people&page=2")
    link = page.locator("tbody a").nth(8)
    link.focus()
    link.scroll_into_view_if_needed()
    focused = link.get_attribute("id")
    scrolled = page.evaluate("window.scrollY")
    for turn in range(3):
        record(duel("j-00", "k-00", at=NOW + timedelta(seconds=turn)), source=card_room,
               at=NOW + timedelta(minutes=1))  # fmt: skip
        answer = next_turn(page)
        assert answer.status == 200
        assert "system=openskill&kind=people&page=2&v=" in answer.url
        version = GameState.objects.get(game__slug="brisca").version
        expect(page.locator("#board")).to_have_attribute("hx-get", re.compile(rf"&v={version}$"))
    assert page.evaluate("document.activeElement.id") == focused
    assert page.evaluate("window.scrollY") == scrolled > 0
    expect(page.locator("caption")).to_contain_text("page 2 of 2")


def test_no_refresh_while_text_is_selected(board, card_room):
    asked = questions(board)
    board.locator("h1").select_text()

    board.clock.run_for(3 * TURN)
    assert asked == []

    board.evaluate("getSelection().removeAllRanges()")
    next_turn(board)
    assert len(asked) == 1


def test_hidden_tab_asks_nothing_and_catches_up_at_once(board, card_room):
    asked = questions(board)
    board.evaluate(HIDE, True)
    board.clock.run_for(20 * TURN)
    assert asked == []

    win_nine_times("k-29", card_room)
    board.evaluate(HIDE, False)

    expect(board.locator("tbody tr").first).to_contain_text("k-29")
    assert len(asked) == 1


def test_questions_do_not_pile_up(board):
    for _ in range(5):
        for link in ("#system-openskill", "#kind-people", "#page-next", "#system-elo"):
            with board.expect_response(lambda response: BOARD in response.url):
                board.locator(link).click()
            expect(board.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    for is_hidden in (True, False) * 3:
        board.evaluate(HIDE, is_hidden)
    for _ in range(4):
        board.locator("[data-pause]").click()
    board.wait_for_load_state("networkidle")
    # From here on only the test moves the clock, so that a turn is a turn.
    board.clock.pause_at(board.evaluate("Date.now()") / 1000 + 1)
    asked = questions(board)
    # HTMX makes one question of several events, so those are counted too.
    board.evaluate("window.turns = 0; document.addEventListener('live', () => turns++)")

    for _ in range(6):
        next_turn(board)

    assert len(asked) == board.evaluate("turns") == 6
    assert {url.partition("&v=")[0] for url in asked} == {"brisca/?kind=people"}


def test_pause_is_remembered(board, site, card_room):
    asked = questions(board)
    board.get_by_role("button", name="Pause live updates").click()
    board.clock.run_for(3 * TURN)
    board.reload()
    board.clock.run_for(3 * TURN)
    assert asked == []

    board.get_by_role("button", name="Resume live updates").click()

    expect(board.get_by_role("button", name="Pause live updates")).to_be_visible()
    next_turn(board)
    assert asked


def test_only_a_new_first_place_is_announced(board, card_room):
    news = board.locator("#news")
    record(duel("k-00", "k-01", at=NOW), source=card_room)
    assert next_turn(board).status == 200
    expect(board.locator("tbody tr").nth(1)).to_contain_text("k-00")
    expect(news).to_be_empty()

    win_nine_times("k-29", card_room)
    next_turn(board)

    expect(news).to_have_text("k-29 is now first in Brisca.")
    assert board.locator("[aria-live], [role=alert], [role=log]").count() == 0


def test_other_filter_announces_nothing(board):
    board.locator("#kind-bots").click()
    expect(board.locator("caption")).to_have_text("One player")

    expect(board.locator("#news")).to_be_empty()


# History


def test_back_and_forward_show_whole_pages(board, site):
    def is_whole(path, heading):
        expect(board).to_have_url(site + path)
        expect(board.locator("h1")).to_have_text(heading)
        expect(board.locator(".masthead")).to_be_visible()
        assert board.evaluate("getComputedStyle(document.body).display") == "flex"

    board.locator("#kind-bots").click()
    expect(board.locator("caption")).to_have_text("One player")
    expect(board).to_have_title("Brisca leaderboard · Bots · Naiply")
    board.get_by_role("link", name="bot-rayo").click()
    is_whole("/players/bot-rayo/brisca/", "bot-rayo")

    board.go_back()
    is_whole(f"{BOARD}?kind=bots", "Brisca")
    expect(board.locator("caption")).to_have_text("One player")
    board.go_back()
    is_whole(BOARD, "Brisca")
    expect(board.locator("caption")).to_have_text("61 players · page 1 of 2")
    board.go_forward()
    is_whole(f"{BOARD}?kind=bots", "Brisca")
    expect(board.locator("caption")).to_have_text("One player")
    expect(board.get_by_role("button", name="Pause live updates")).to_be_visible()


def test_going_back_to_a_board_shows_what_happened_since(page, site, card_room):
    page.goto(site + BOARD)
    page.locator("tbody a").first.click()
    expect(page.locator("h1")).to_have_text("j-00")
    win_nine_times("k-29", card_room)

    page.go_back()

    expect(page.locator("tbody tr").first).to_contain_text("k-29")


def test_language_switch_follows_the_filters(board, site):
    board.locator("#kind-bots").click()
    expect(board.locator("caption")).to_have_text("One player")

    board.get_by_role("link", name="Español").click()

    expect(board).to_have_url(f"{site}/es{BOARD}?kind=bots")
    expect(board.locator("caption")).to_have_text("Un jugador")
    expect(board.locator("h1")).to_have_text("Brisca")


# The look


def test_board_is_still_a_table_where_it_looks_like_cards(page, site, card_room):
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto(site + BOARD)

    expect(page.get_by_role("row")).to_have_count(51)
    expect(page.get_by_role("columnheader", name="Rating")).to_have_count(1)
    expect(page.get_by_role("rowheader", name="j-00")).to_be_visible()


def test_board_works_without_javascript(browser, site, card_room):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + BOARD)

    page.get_by_role("link", name="OpenSkill").click()
    page.get_by_role("link", name="Next").click()

    expect(page).to_have_url(f"{site}{BOARD}?system=openskill&page=2")
    expect(page.locator("caption")).to_have_text("61 players · page 2 of 2")
    expect(page.get_by_role("button", name="Pause live updates")).to_have_count(0)
    context.close()


def test_spanish_board_is_spanish(page, site, card_room):
    page.goto(f"{site}/es{BOARD}")

    expect(page).to_have_title("Clasificación de Brisca · Naiply")
    assert page.locator("#board thead th").all_inner_texts() == [
        "Posición", "Jugador", "Valoración", "7 días", "Partidas", "G–E–P", "Última partida",
    ]  # fmt: skip
    expect(page.get_by_role("button", name="Pausar la actualización")).to_be_visible()


def test_everything_on_a_board_is_reached_by_keyboard(page, site, card_room):
    page.goto(f"{site}{BOARD}?kind=bots")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    reached = []
    while not reached or reached[-1] != "bot-rayo":
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.innerText"))
        assert len(reached) < 20

    assert reached == [
        "Compare players", "Pause live updates", "", "Find", "", "Go", "Elo", "OpenSkill",
        "Everyone", "People", "Bots", "How it works", "bot-rayo",
    ]  # fmt: skip
