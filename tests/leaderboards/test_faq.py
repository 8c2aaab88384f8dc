import re
from dataclasses import replace
from datetime import timedelta

import pytest

from leaderboards import examples
from leaderboards.faq import CHAPTERS
from ratings import recording
from ratings.models import Game
from ratings.models import rating as rating_model
from ratings.systems import decay, elo, openskill, replay
from tests.leaderboards.html import parse
from tests.ratings.builders import duel, record
from tests.ratings.test_bots import rated_bot

URL = "/faq/"

ASKED = {
    "not-wins", "start", "most", "bots-count", "games", "floor", "how-soon", "openskill-lower",
    "settle", "improved", "weak-bots", "away", "not-rated", "corrected", "check",
}  # fmt: skip
"""The anchors of the questions that have to be answered."""


@pytest.fixture
def faq(client, db):
    return parse(client.get(URL))


def answers(page):
    """What is read under each anchor."""
    return {
        answer.one("h3").attributes["id"]: answer.text
        for answer in page.all("div", class_="answer")
    }


def test_every_question_has_an_anchor_and_an_answer(faq):
    found = answers(faq)

    assert set(found) >= ASKED
    assert list(found) == [q.anchor for chapter in CHAPTERS for q in chapter.questions]
    links = [a.attributes["href"] for a in faq.one("nav", class_="questions").all("a")]
    assert links == [f"#{anchor}" for anchor in found]
    assert all(len(text.split()) > 25 for text in found.values())


def test_links_lead_to_something(client, db, faq):
    """Each link into another page of the site finds its anchor there."""
    links = {a.attributes["href"] for a in faq.one("main").all("a")}
    there = {link for link in links if link.startswith("/")}
    assert {"/how-it-works/#elo", "/how-it-works/#corrections", "/bots/", "/verify/"} <= there

    for link in there:
        path, _, anchor = link.partition("#")
        page = parse(client.get(path))
        assert not anchor or page.all(id=anchor), link


def test_numbers_are_those_of_the_rules(faq):
    found = answers(faq)

    for anchor, words in {
        "not-wins": "400 points stronger brings +29.1, and beating somebody 400 points weaker +2.9",
        "start": "1,200 in Elo and a displayed 1,500 in OpenSkill (μ = 25, σ = 8.33)",
        "most": "never more than 32",
        "games": "There are 5 games",
        "settle": "within 100 points of that after about 56 matches",
        "provisional": "fewer than 10 rated matches",
        "how-soon": "more than 2 seconds, or where it comes so late that more than 2,000 matches",
        "off-board": "Brisca: 180 days after the last rated match",
        "away": "once 30 days without a rated match have passed",
        "not-rated": "already had 20 rated matches in the game within 24 hours",
        "weak-bots": "brings +2.91, a defeat −29.09: it takes 10 wins",
        "improved": "400 points of Elo better: 90 percent of it show after about 103 matches",
    }.items():
        assert words in found[anchor], anchor


@pytest.mark.parametrize(
    ("module", "change", "anchor", "words"),
    [
        (elo, {"k": 40.0}, "most", "never more than 40"),
        (elo, {"k": 40.0}, "weak-bots", "brings +3.64, a defeat −36.36"),
        (elo, {"start": 1000.0}, "start", "With 1,000 in Elo"),
        (elo, {"scale": 500.0}, "not-wins", "stronger brings +27.6"),
        (openskill, {"mu": 30.0}, "start", "μ = 30"),
    ],
)
def test_words_follow_the_parameters(client, db, monkeypatch, module, change, anchor, words):
    changed = replace(module.PARAMETERS, **change)
    monkeypatch.setattr(module, "PARAMETERS", changed)
    for function in (module.rate, getattr(module, "expected_score", module.rate)):
        *others, _ = function.__defaults__
        monkeypatch.setattr(function, "__defaults__", (*others, changed))

    assert words in answers(parse(client.get(URL)))[anchor]


def test_tau_moves_where_uncertainty_settles(client, db, monkeypatch):
    before = answers(parse(client.get(URL)))["openskill-lower"]
    changed = replace(openskill.PARAMETERS, tau=0.5)
    monkeypatch.setattr(openskill.rate, "__defaults__", (changed,))
    for computed in (examples.settling, examples.settled_sigma, examples._sigmas_of_two_equals):
        computed.cache_clear()

    after = answers(parse(client.get(URL)))["openskill-lower"]

    for computed in (examples.settling, examples.settled_sigma, examples._sigmas_of_two_equals):
        computed.cache_clear()
    assert "σ comes down to about 2.59" in before
    assert "σ comes down to about 3.34" in after


@pytest.mark.parametrize(
    ("module", "name", "value", "anchor", "words"),
    [
        (rating_model, "PROVISIONAL_BELOW", 7, "provisional", "fewer than 7 rated matches"),
        (rating_model, "PROVISIONAL_BELOW", 1, "provisional", "fewer than 1 rated match in"),
        (replay, "PAIR_LIMIT", 5, "not-rated", "already had 5 rated matches"),
        (replay, "PAIR_WINDOW", timedelta(hours=48), "not-rated", "within 48 hours"),
        (recording, "LOCK_SECONDS", 3, "how-soon", "more than 3 seconds"),
        (recording, "MOST_RERATED", 500, "how-soon", "more than 500 matches"),
        (decay, "GRACE", timedelta(days=60), "away", "once 60 days without"),
        (decay, "STEP", 0.1, "away", "displayed number changes by −7.2"),
        (examples, "DAYS_AWAY", 364, "away", "After 364 days away"),
    ],
)
def test_words_follow_the_limits(client, db, monkeypatch, module, name, value, anchor, words):
    monkeypatch.setattr(module, name, value)

    assert words in answers(parse(client.get(URL)))[anchor]


def test_words_follow_the_games(client, db):
    Game.objects.filter(slug="brisca").update(idle_days=1)
    Game.objects.filter(slug="tute").update(idle_days=None)
    Game.objects.filter(slug="cinquillo").update(idle_days=365)

    found = answers(parse(client.get(URL)))["off-board"]

    assert "Brisca: 1 day after" in found
    assert "Tute: nobody leaves" in found
    assert "Cinquillo: 365 days after" in found


def test_words_follow_the_bots_of_today(client, brisca, source):
    assert (
        "Easy: none has played enough yet; meant are 900 to 1,100 Elo"
        in (answers(parse(client.get(URL)))["bots-count"])
    )

    rated_bot(source, "bot-a", difficulty="easy", brisca=(950, 10, True), tute=(1250, 40, True))

    assert "Easy: from 950 to 1,250 Elo" in answers(parse(client.get(URL)))["bots-count"]


def test_known_opponents_pay_more_only_between_near_equals():
    weak = examples.against_weak()

    assert weak.equal_new < 0.7 * weak.equal_known
    assert weak.weak_new == pytest.approx(weak.weak_known, rel=0.05)


def test_a_comeback_moves_more_than_a_settled_match():
    comeback = examples.comeback()

    assert comeback.sigma == pytest.approx(examples.settled_sigma() + 22 * decay.STEP)
    assert comeback.won > 2 * comeback.won_settled > 0
    assert comeback.lost < comeback.lost_settled < 0


def test_mistakes_of_the_reference_pages_are_not_repeated(faq):
    text = faq.text.lower()

    for wrong in (
        "50 games",
        "50 matches",
        "inflation",
        "immediately",
        "win rate",
        "~1.5",
        "real time",
    ):
        assert wrong not in text, wrong


@pytest.mark.parametrize("language", ["", "/es"])
@pytest.mark.parametrize(
    "path",
    ["/", "/faq/", "/how-it-works/", "/calculators/", "/bots/", "/verify/", "/embed/brisca/",
     "/leaderboards/brisca/", "/no/such/page/", "/players/ana/", "/players/ana/brisca/",
     "/compare/brisca/?p=ana&p=pepe",
     "/badge/ana/brisca.svg"],
)  # fmt: skip
def test_no_page_shows_its_own_source(client, brisca, source, language, path):
    """BL-099: neither template tags nor translation calls nor unfilled placeholders."""
    record(duel("ana", "pepe"), source=source)

    text = client.get(language + path).content.decode()

    assert not re.search(r"{%|%}|{{|}}|{#|gettext|_\(|%\(\w+\)[sd]|\btrans(late)?\s+\"", text)


def test_queries(client, db, django_assert_num_queries):
    with django_assert_num_queries(3):
        client.get(URL)


def test_page_stays_small(client, db):
    assert len(client.get(URL).content) < 60_000
    assert len(client.get("/how-it-works/").content) < 60_000
