"""A card room for the tests that read every page in every language."""

import re
from datetime import timedelta
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from ratings import history
from ratings.decay import apply_decay
from ratings.models import BotVersion, Player, Source
from ratings.players import create_bot
from ratings.roster import retire_player
from tests.leaderboards.html import Element
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

LANGUAGES = [code for code, _name in settings.LANGUAGES]
TRANSLATIONS = [code for code in LANGUAGES if code != "en"]
PREFIXES = {code: "" if code == "en" else f"/{code}" for code in LANGUAGES}
# The same in every language: names.
NAMES = {
    "Naiply", "Elo", "OpenSkill", "Brisca", "Tute", "Cinquillo", "Tute Subastado", "Siete y Media",
    "ana", "pepe", "íñigo_17", "bot-rayo", "eva", "leo", "mu", "CEST", "UTC",
    *(name for _code, name in settings.LANGUAGES),
}  # fmt: skip
# Words that this language writes as English does.
ALIKE = {
    "es": {"provisional", "ordinal", "sigma", "Bot", "Bots", "bot"},
    "ca": {"provisional", "ordinal", "sigma", "Bot", "Bots", "bot", "Versions"},
    "gl": {"provisional", "ordinal", "sigma", "Bot", "Bots", "bot"},
    "eu": {"sigma", "Bot", "bot"},
}
BIG_ID = 1_234_567
READABLE_ATTRIBUTES = ("aria-label", "title", "alt", "data-label", "data-pause-text",
                       "data-resume-text", "data-first-news")  # fmt: skip
FRAME = "/embed/brisca/"
ENTRIES = "/translations/es/?show=missing"
"""Shows, on purpose, messages as translators write them."""
PAGES = [
    "/",
    "/leaderboards/brisca/",
    "/leaderboards/brisca/?system=openskill&kind=people",
    "/leaderboards/brisca/?around=ana",
    "/leaderboards/brisca/?around=nobody",
    "/leaderboards/brisca/?kind=bots",
    "/leaderboards/tute/?kind=bots",
    "/leaderboards/tute/?kind=people",
    "/leaderboards/cinquillo/",
    "/players/ana/",
    "/players/ana/brisca/",
    "/players/ana/siete-y-media/",
    f"/players/{quote('íñigo_17')}/",
    "/players/bot-rayo/",
    "/players/eva/",
    "/players/leo/tute/",
    f"/matches/{BIG_ID}/",
    f"/matches/{BIG_ID + 1}/",
    f"/matches/{BIG_ID + 2}/",
    f"/matches/{BIG_ID + 3}/",
    "/how-it-works/",
    "/faq/",
    "/calculators/",
    "/calculators/?game=brisca&elo-one_player=ana&elo-two_rating=1300",
    "/calculators/?elo-one_rating=abc&elo-two_player=nadie&openskill-one_sigma=9",
    "/bots/",
    "/compare/brisca/?p=ana&p=pepe",
    "/players/bot-rayo/brisca/",
    "/players/ana/brisca/?system=openskill",
    "/leaderboards/brisca/?q=an",
    "/leaderboards/brisca/?q=nobody",
    "/leaderboards/brisca/?rank=99",
    "/compare/brisca/",
    f"/matches/{BIG_ID + 4}/",
    f"/matches/{BIG_ID + 14}/",
    "/verify/",
    "/translations/",
    ENTRIES,
    "/nothing/",
]


def fill_card_room() -> None:
    """Something of everything that a page can show, under ids with seven digits."""
    for table in ("match", "player", "rating"):
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER SEQUENCE ratings_{table}_id_seq RESTART WITH {BIG_ID}")
    open_game("brisca")
    open_game("tute", idle_days=180)
    Source.objects.create(name="tapete", is_demo=True)
    source = make_source()
    bot = create_bot(handle="bot-rayo", name="bot-rayo", difficulty="hard", source=source)
    for label, days in (("v1", 200), ("v2", 20)):
        BotVersion.objects.create(bot=bot, label=label, released_at=NOW - timedelta(days=days))
    moments = [NOW - timedelta(minutes=30 - n) for n in range(20)]
    receipts = record(
        duel("ana", "pepe", at=moments[0]),
        duel("ana", "pepe", at=moments[1], termination="friendly"),
        duel("ana", "íñigo_17", at=moments[2], termination="abandoned"),
        make_report([team("ana", "eva", place=1, points="71.5"), team("leo", "pepe", place=1)],
                    at=moments[3]),
        *[draw("bot-rayo", "íñigo_17", at=moments[n]) for n in range(4, 15)],
        duel("leo", "eva", at=NOW - timedelta(days=300), game="tute"),
        source=source,
    )  # fmt: skip
    retire_player(player=Player.objects.get(handle="eva"))
    apply_decay(NOW + timedelta(days=7))
    # The last match but one is taken back, and a draw becomes a defeat.
    history.void_matches([receipts[-2].match_id], by=None, reason="fair_play")
    bot_player, other = (Player.objects.get(handle=h) for h in ("bot-rayo", "íñigo_17"))
    history.correct_match(
        receipts[4].match_id,
        history.Correct(
            teams=[history.CorrectTeam([bot_player.pk], 1), history.CorrectTeam([other.pk], 2)]
        ),
        by=None,
        reason="wrong_result",
    )


def texts(page: Element) -> set[str]:
    """Every text and every attribute that is read out; not what is marked as another language."""
    found = set()
    language = page.one("html").attributes["lang"]
    foreign = {
        id(inside)
        for element in page.all()
        if element.attributes.get("lang", language) != language
        for inside in (element, *element.all())
    }
    for element in page.all():
        if element.tag in ("script", "style", "code", "pre") or id(element) in foreign:
            continue
        found |= {" ".join(child.split()) for child in element.children if isinstance(child, str)}
        found |= {v for name, v in element.attributes.items() if name in READABLE_ATTRIBUTES}
    return found


def has_words(text):
    return re.search(r"[^\W\d_²]{2,}", text)


def only_names(text, language):
    words = {word for word in re.split(r"[^\w-]+", text) if has_words(word)}
    return words <= {word for name in NAMES | ALIKE[language] for word in name.split()}
