"""The pages of rules, calculators and bots in a browser, and what other sites show of ours."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from ratings import ledger
from ratings.models import Difficulty
from tests.ratings.builders import make_source, open_game
from tests.ratings.test_bots import rated_bot

pytestmark = pytest.mark.browser


@pytest.fixture
def bots(transactional_db):
    """A bot of each difficulty, one of them far outside its band, with a long name."""
    brisca = open_game("brisca")
    source = make_source()
    for number, difficulty in enumerate(Difficulty.values):
        rated_bot(source, f"bot-{difficulty}-{'o' * 28}", difficulty=difficulty,
                  brisca=(800 + 200 * number, 30, True), tute=(1200, 3, True))  # fmt: skip
    ledger.recount(brisca)


@pytest.fixture
def complaints(page):
    found = []
    page.on(
        "console",
        lambda message: (
            found.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def test_calculator_answers_in_place_and_back_goes_back(page, site, bots, complaints):
    page.goto(f"{site}/calculators/")
    page.get_by_label("Rating").nth(1).fill("1600")
    page.get_by_label("Rating").nth(1).press("Enter")

    result = page.locator("#elo-result")
    expect(result).to_contain_text("+29.09 → 1,229")
    expect(page.get_by_label("Rating").nth(1)).to_have_value("1600")
    assert "elo-two_rating=1600" in page.url
    expect(page.locator("#openskill-form")).to_have_count(1)

    page.get_by_label("Rating").nth(1).fill("no idea")
    page.locator("#elo-go").focus()
    page.keyboard.press("Enter")

    expect(result).to_contain_text("does not add up yet")
    expect(page.get_by_text("“no idea” is not a number.")).to_be_visible()
    expect(page.locator("#elo-go")).to_be_focused()

    page.go_back()

    expect(result).to_contain_text("+29.09 → 1,229")
    expect(page.locator("header.masthead")).to_be_visible()
    expect(page.locator("#openskill-result table")).to_be_visible()
    assert complaints == []


def test_second_calculator_leaves_the_first_alone(page, site, bots, complaints):
    page.goto(f"{site}/calculators/")
    page.locator("#id_openskill-one_player").fill("bot-hard-" + "o" * 28)
    page.locator("#openskill-go").click()

    expect(page.locator("#openskill-result")).to_contain_text("bot-hard")
    expect(page.locator("#elo-result")).to_contain_text("+24.31")
    assert complaints == []


def test_calculator_works_without_scripts(browser, site, bots):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{site}/calculators/")
    page.locator("#id_elo-two_rating").fill("1600")
    page.locator("#elo-go").click()

    assert page.url.endswith("#elo")
    expect(page.locator("#elo-result")).to_contain_text("+29.09 → 1,229")
    page.context.close()


def test_badge_opened_as_a_page_breaks_no_rule(page, site, bots, complaints):
    page.emulate_media(color_scheme="dark")

    page.goto(f"{site}/badge/bot-hard-{'o' * 28}/brisca.svg")

    fill = "getComputedStyle(document.querySelector('.n')).fill"
    assert page.evaluate(fill) == "rgb(235, 230, 216)"
    box, name = page.locator(".b").bounding_box(), page.locator(".n").bounding_box()
    assert name["x"] + name["width"] < box["x"] + box["width"]
    # Chromium looks for a favicon.ico of a picture.
    assert [text for text in complaints if "404" not in text] == []


# In other people's pages


@pytest.fixture
def other_site(site):
    """The address of another origin whose one page shows what its path says of ours."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            body = (
                f'<img src="{site}/badge/bot-hard-{"o" * 28}/brisca.svg" alt="badge">'
                f'<iframe src="{site}{self.path}" width="340" height="560"></iframe>'
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


def test_embed_and_badge_show_in_another_site(page, other_site, bots):
    page.goto(f"{other_site}/embed/brisca/")

    board = page.frame_locator("iframe")
    expect(board.get_by_role("row")).to_have_count(4)
    expect(board.get_by_role("heading")).to_have_text("Brisca")
    badge = page.get_by_alt_text("badge")
    expect(badge).to_be_visible()
    assert badge.evaluate("image => image.naturalWidth") > 160
    assert page.context.cookies() == []


@pytest.mark.parametrize("path", ["/leaderboards/brisca/", "/faq/", "/admin/login/", "/"])
def test_other_pages_do_not_show_in_another_site(page, other_site, bots, path):
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        page.goto(f"{other_site}{path}")

    _whole, framed = page.frames
    framed.wait_for_url("chrome-error://**")
