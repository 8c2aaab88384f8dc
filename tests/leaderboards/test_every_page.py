"""Every page there is in a browser: for everybody, however he sees it and moves through it."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.test import override_settings
from django.urls import get_resolver, path, resolve

from naiply import urls
from ratings import history
from ratings.download import write_download
from ratings.models import BotVersion, Game, Match, Player, Source, Status, User
from ratings.players import create_bot
from ratings.roster import (
    anonymise_player,
    change_owner,
    freeze_player,
    hide_player,
    rename_player,
    retire_player,
)
from tests.ratings.builders import draw, duel, make_report, make_source, open_game, record, team

pytestmark = pytest.mark.browser

LONG = "m" * 40
BIDI = "لاعب_٧"
TABBABLE = """[...document.querySelectorAll(
    'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]'
)].filter(it => it.checkVisibility({visibilityProperty: true}) && !it.disabled)"""

STICKING_OUT = """[...document.querySelectorAll("body *")]
    .filter(it => !it.closest(".scroll") && it.getBoundingClientRect().right > innerWidth)
    .map(it => it.outerHTML.slice(0, 80)).slice(0, 3)"""


def refuse(request):
    raise PermissionDenied


def suspect(request):
    raise SuspiciousOperation


def break_down(request):
    raise RuntimeError


class Urls:
    """The site's addresses, and three that fail."""

    urlpatterns = [
        path("refused/", refuse),
        path("suspect/", suspect),
        path("broken/", break_down),
        *urls.urlpatterns,
    ]
    handler400, handler500 = urls.handler400, urls.handler500


@pytest.fixture
def pages(transactional_db, settings, tmp_path):
    """The addresses of all pages, in every state that they can be in, with their statuses."""
    settings.DOWNLOADS_FOLDER = tmp_path / "downloads"
    now = datetime.now(UTC)
    for slug in ("brisca", "cinquillo", "tute-subastado"):
        open_game(slug, idle_days=180)
    Game.objects.filter(slug="brisca").update(play_url="https://play.example/brisca")
    source = make_source()
    Source.objects.create(name="demo", is_demo=True)
    bot = create_bot(handle="bot-rayo", name="Rayo", difficulty="hard", source=source)
    for label, days in (("1.0", 200), ("2.0", 20)):
        BotVersion.objects.create(bot=bot, label=label, released_at=now - timedelta(days=days))
    create_bot(handle="bot-nuevo", name="bot-nuevo", difficulty="easy", source=source)
    names = [LONG, BIDI, "ana", "pepe", "quin"]
    crowd = [f"j-{n:02}" for n in range(16)]

    def one(*reports, at=now):
        return record(*reports, source=source, at=at)[-1].match_id

    one(
        *[duel(*pair, at=now - timedelta(days=9, minutes=n)) for n, pair in
          enumerate(zip(crowd[::2], crowd[1::2], strict=True))],
        *[duel("bot-rayo", names[n % 5], at=now - timedelta(days=100 - n)) for n in range(98)],
        duel("ida", "vera", at=now - timedelta(days=200)),
    )  # fmt: skip
    matches = {
        "duel": one(duel("pepe", "bot-rayo", at=now - timedelta(hours=9))),
        "drawn": one(draw("ana", "quin", at=now - timedelta(hours=8))),
        "table": one(
            make_report([team(name, place=n + 1) for n, name in enumerate([*names, *crowd[:3]])],
                        game="cinquillo", at=now - timedelta(hours=7))
        ),
        "contract": one(
            make_report([team("ana", place=1, points="90"),
                         team("pepe", "quin", LONG, place=2, points="0")],
                        game="tute-subastado", at=now - timedelta(hours=6))
        ),
        "friendly": one(duel("ana", "pepe", at=now - timedelta(hours=5), termination="friendly")),
        "cancelled": one(draw("ana", "pepe", at=now - timedelta(hours=5), termination="cancelled")),
        "abandoned": one(duel("ana", "pepe", at=now - timedelta(hours=4), termination="abandoned")),
        "late": one(duel("quin", "ana", at=now - timedelta(days=2))),
        "limit": one(*[duel("j-10", "j-11", at=now - timedelta(minutes=50 - n))
                       for n in range(21)]),
        "void": one(duel("j-12", "j-13", at=now - timedelta(minutes=20))),
        "corrected": one(duel("j-14", "j-15", at=now - timedelta(minutes=19))),
        "waiting": one(duel("ana", "pepe", at=now - timedelta(minutes=5), termination="friendly")),
    }  # fmt: skip
    players = {player.handle: player for player in Player.objects.all()}
    author = User.objects.create_user("autora")
    for handle in ("ana", "bot-rayo"):
        change_owner(player=players[handle], owner=author)
    matches["same owner"] = one(duel("ana", "bot-rayo", at=now - timedelta(minutes=4)))
    history.void_matches([matches["void"]], by=None, reason="fair_play")
    history.correct_match(
        matches["corrected"],
        history.Correct(
            teams=[
                history.CorrectTeam([players["j-15"].pk], 1),
                history.CorrectTeam([players["j-14"].pk], 2),
            ]
        ),
        by=None,
        reason="wrong_result",
    )
    # What waits is folded in at once, since nothing else is being rated.
    Match.objects.filter(pk=matches["waiting"]).update(status=Status.WAITING, reason="")
    retire_player(player=players["j-01"])
    freeze_player(player=players["j-02"])
    hide_player(player=players["j-03"])
    anonymise_player(player=players["j-04"])
    rename_player(player=players["j-05"], name="W" * 64)
    history.run_verification(Game.objects.get(slug="brisca"))
    write_download(Game.objects.get(slug="brisca"))
    many = "&".join(f"p={quote(name)}" for name in [*names, "bot-rayo", *crowd[5:], "j-00", "j-02"])
    deleted = Player.objects.get(pk=players["j-04"].pk).handle
    return {
        "/": 200,
        "/?q=j-": 200,
        "/?q=zzz": 200,
        "/leaderboards/brisca/": 200,
        "/leaderboards/brisca/?system=openskill&kind=people": 200,
        f"/leaderboards/brisca/?around={quote(BIDI)}": 200,
        "/leaderboards/brisca/?around=nobody": 200,
        "/leaderboards/brisca/?rank=9999": 200,
        "/leaderboards/brisca/?q=j-": 200,
        "/leaderboards/brisca/?q=zzz": 200,
        "/leaderboards/tute/": 200,
        "/leaderboards/cinquillo/?kind=bots": 200,
        "/players/ana/": 200,
        "/players/ana/brisca/": 200,
        "/players/bot-rayo/": 200,
        "/players/bot-rayo/brisca/?system=openskill": 200,
        "/players/bot-nuevo/brisca/": 200,
        f"/players/{LONG}/brisca/": 200,
        f"/players/{quote(BIDI)}/brisca/": 200,
        "/players/ida/brisca/": 200,
        "/players/j-01/": 200,
        "/players/j-02/brisca/": 200,
        "/players/j-03/": 200,
        f"/players/{deleted}/": 200,
        "/players/j-05/brisca/": 200,
        "/compare/brisca/": 200,
        "/compare/brisca/?p=ana&q=j-": 200,
        "/compare/brisca/?p=ana&p=pepe": 200,
        f"/compare/brisca/?{many}": 200,
        "/compare/brisca/?p=ana&p=nobody-here": 200,
        **{f"/matches/{match}/#{name.replace(' ', '-')}": 200 for name, match in matches.items()},
        "/bots/": 200,
        "/how-it-works/": 200,
        "/faq/": 200,
        "/calculators/": 200,
        "/calculators/?elo-one_rating=abc&elo-two_player=nadie&openskill-one_sigma=9": 200,
        "/verify/": 200,
        "/translations/": 200,
        "/translations/eu/": 200,
        "/embed/brisca/": 200,
        "/embed/tute/?theme=dark": 200,
        "/embed/mus/": 404,
        "/nothing/": 404,
        "/refused/": 403,
        "/suspect/": 400,
        "/broken/": 500,
    }


@pytest.fixture
def open_page(page, site, pages):
    """A function that goes to a page and opens all that can be opened in it."""
    found = []
    page.on(
        "console",
        lambda message: (
            found.append(f"{page.url}: {message.text}")
            if message.type in ("error", "warning")
            # The browser itself reports a page that is not found, on purpose.
            and not re.search(r"status of (400|403|404|500)", message.text)
            else None
        ),
    )
    page.on("pageerror", lambda error: found.append(f"{page.url}: {error}"))
    page.on(
        "request",
        lambda request: None if request.url.startswith(site) else found.append(request.url),
    )

    def go(address):
        response = page.goto(site + address)
        assert response.status == pages[address], address
        page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true })")
        return page

    with override_settings(ROOT_URLCONF=Urls):
        yield go
    assert found == []


def test_every_kind_of_page_is_among_them(pages):
    addresses = [unquote(re.split(r"[?#]", address)[0]) for address, status in pages.items()
                 if status == 200]  # fmt: skip

    visited = {resolve(address).url_name for address in addresses}

    patterns = get_resolver("leaderboards.urls").reverse_dict
    # A badge is a picture, and has its own test.
    assert visited | {"badge"} == {name for name in patterns if isinstance(name, str)}


def test_every_page_is_accessible_and_fits(open_page, page, pages, assert_accessible):
    """At 640 and 320 pixels as well, which a window of 1280 has at 200 % and 400 % zoom."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    wider = []
    for address in pages:
        page.set_viewport_size({"width": 1280, "height": 900})
        open_page(address)
        assert_accessible(page)
        assert page.evaluate("document.getAnimations().length") == 0
        for width in (1280, 640, 320):
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wider.append((address, width, page.evaluate(STICKING_OUT)))
    assert wider == []


def test_every_page_has_contrast_in_the_dark_too(open_page, page, pages, assert_accessible):
    """Whatever else axe looks for does not depend on the colours."""
    page.emulate_media(color_scheme="dark")
    for address in pages:
        open_page(address)

        assert_accessible(page, only="color-contrast")


def test_every_page_is_accessible_on_a_small_screen(open_page, page, pages, assert_accessible):
    """Boards and lists of matches look otherwise there, and stay tables."""
    page.set_viewport_size({"width": 320, "height": 900})
    for address in pages:
        open_page(address)
        assert_accessible(page, without=["color-contrast"])
        laid_out = page.locator("table:not([role])").evaluate_all(
            "all => all.filter(it => getComputedStyle(it).display !== 'table').length"
        )
        assert (address, laid_out) == (address, 0)


def test_everything_on_every_page_is_reached_by_keyboard_and_seen(open_page, page, pages):
    page.set_viewport_size({"width": 1280, "height": 900})
    for address in pages:
        open_page(address)
        count = page.evaluate(f"{TABBABLE}.length")
        unseen = []
        for number in range(count):
            page.keyboard.press("Tab")
            unseen += page.evaluate(
                """number => {
                    const it = document.activeElement;
                    const box = it.getBoundingClientRect();
                    const style = getComputedStyle(it);
                    const isNew = !it.dataset.reached;
                    it.dataset.reached = number + 1;
                    const isOnScreen = box.bottom > 0 && box.top < innerHeight && box.width > 0;
                    const isMarked = style.outlineStyle !== "none" && style.outlineWidth !== "0px";
                    return isNew && isOnScreen && isMarked ? [] : [it.outerHTML.slice(0, 90)];
                }""",
                number,
            )
        assert (address, unseen) == (address, [])
        reached = page.evaluate(f"{TABBABLE}.filter(it => it.dataset.reached).length")
        assert (address, reached) == (address, count)


def test_every_page_says_the_same_without_javascript(open_page, page, browser, site, pages):
    words = "document.querySelector('main').innerText"
    plain = browser.new_context(java_script_enabled=False)
    without = plain.new_page()
    for address in pages:
        page.goto(site + address)
        page.locator("[data-pause]").evaluate_all("all => all.forEach(it => it.remove())")

        without.goto(site + address)

        assert without.evaluate(words).split() == page.evaluate(words).split(), address
    plain.close()
