from dataclasses import replace

import pytest

from leaderboards import examples
from ratings.models import Game
from ratings.systems import convergence, decay, elo, openskill
from tests.leaderboards.html import parse
from tests.ratings.builders import duel, record
from tests.ratings.test_bots import rated_bot

URL = "/how-it-works/"


@pytest.fixture
def help_page(client, db):
    return parse(client.get(URL))


def tables(page):
    return {table.one("caption").text: table.rows() for table in page.all("table")}


def test_elo_gaps_are_those_of_the_formula(help_page):
    assert tables(help_page)["What a match against a stronger opponent is worth"] == [
        ["0", "0.50", "+16.00", "0", "−16.00"],
        ["100", "0.36", "+20.48", "+4.48", "−11.52"],
        ["200", "0.24", "+24.31", "+8.31", "−7.69"],
        ["400", "0.09", "+29.09", "+13.09", "−2.91"],
    ]


def test_example_is_worked_out(help_page):
    example = help_page.one("div", class_="example").text

    assert "A player at 1,200 meets one at 1,400, who is 200 points stronger." in example
    assert "Expected score: 0.24" in example
    assert "With a win: +24.31 → 1,224" in example
    assert "With a defeat: −7.69 → 1,192" in example


def test_first_openskill_matches_are_those_of_the_vectors(help_page):
    assert tables(help_page)["The first match between newcomers"] == [
        ["Won against one", "27.64", "8.07", "1,582"],
        ["Drew with one", "25.00", "8.07", "1,519"],
        ["Lost to one", "22.36", "8.07", "1,456"],
        ["Place 1 of four", "27.80", "8.27", "1,572"],
        ["Place 2 of four", "26.55", "8.18", "1,548"],
        ["Place 3 of four", "24.69", "8.09", "1,510"],
        ["Place 4 of four", "20.96", "8.09", "1,421"],
    ]


def test_settled_sigma_is_where_it_stops_changing():
    assert examples.settled_sigma() == pytest.approx(2.593, abs=0.001)
    assert [line.sigma for line in examples.settling()] == sorted(
        (line.sigma for line in examples.settling()), reverse=True
    )


def test_parameters_are_named(help_page):
    text = help_page.text

    for words in (
        "Everybody starts at 1,200.",
        "K = 32",
        "÷ 400)",
        "μ = 25 and σ = 8.33",
        "ordinal = μ − 3 × σ",
        "displayed rating = 1,500 + 24 × ordinal",
        "τ = 0.3",
        "σ′ = √(σ² + τ²)",
        "After 30 days without a rated match",
        "σ grows by 0.0607 on every Monday",
        "that is −4.4 points of displayed rating a week",
        "fewer than 10 rated matches",
        "20 rated matches in this game in the 24 hours before",
    ):
        assert words in text, words


@pytest.mark.parametrize(
    ("module", "change", "words"),
    [
        (elo, {"k": 40.0}, ["K = 40", "+30.39", "40 × (score − expected score)"]),
        (elo, {"start": 1000.0}, ["starts at 1,000", "A player at 1,000 meets one at 1,200"]),
        (elo, {"scale": 500.0}, ["÷ 500)", "0.28"]),
        (openskill, {"tau": 0.5}, ["τ = 0.5"]),
        (openskill, {"mu": 30.0}, ["μ = 30"]),
    ],
)
def test_words_follow_the_parameters(client, db, monkeypatch, module, change, words):
    """Nothing on the page is typed in. `rate` binds its parameters when it is defined."""
    changed = replace(module.PARAMETERS, **change)
    monkeypatch.setattr(module, "PARAMETERS", changed)
    for function in (module.rate, getattr(module, "expected_score", module.rate)):
        *others, _ = function.__defaults__
        monkeypatch.setattr(function, "__defaults__", (*others, changed))

    text = parse(client.get(URL)).text

    for expected in words:
        assert expected in text, expected


def test_decay_follows_its_step(client, db, monkeypatch):
    monkeypatch.setattr(decay, "STEP", 0.1)

    assert "σ grows by 0.1000 on every Monday" in parse(client.get(URL)).text


def test_games_are_those_of_the_database(client, db):
    Game.objects.filter(slug="brisca").update(idle_days=None, max_players=6)
    Game.objects.filter(slug="tute").update(idle_days=1)

    games = tables(parse(client.get(URL)))["What each game allows"]

    assert games[0] == [
        "Brisca", "2–6", "everyone for himself or teams of 2 – 2", "card points", "never",
    ]  # fmt: skip
    assert games[1][4] == "1 day"
    assert games[3][2] == "everyone for himself or one against the rest"
    assert [row[4] for row in games[2:]] == ["180 days"] * 3


def test_systems_are_compared_by_what_the_code_says(help_page):
    rows = {row[0]: row[1:] for row in tables(help_page)["Elo and OpenSkill compared"]}

    assert rows["A newcomer shows"] == ["1,200", "1,500"]
    assert rows["An average settled player shows"] == ["1,200", "1,913"]
    assert rows["A win against an equal brings"] == [
        "+16.0, whoever it is",
        "+82.2 between newcomers, +11.8 between settled players",
    ]
    assert rows["The most one match can move"] == ["32", "no fixed limit"]
    assert rows["Being away"] == ["changes nothing", "lets σ grow after 30 days"]


def test_careers_are_the_kept_ones(help_page):
    kept = convergence.read_figures()

    rows = tables(help_page)["Matches until a rating finds its place"]

    assert rows == [
        [str(gap.points), str(gap.near), str(gap.elo), str(gap.openskill)] for gap in kept.gaps
    ]
    assert "standard deviation of 56 points" in help_page.text
    assert "played 1,000 careers" in help_page.text


def test_coming_back_moves_more(help_page):
    assert "After 182 days away, a win against an equal brings a settled player +28.9" in (
        help_page.text
    )


def test_bots_are_those_of_today(client, brisca, source):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(950, 10, True), tute=(1250, 40, True))

    rows = tables(parse(client.get(URL)))["Elo of the bots, lowest to highest over all games"]

    assert rows == [
        ["Easy", "900–1,100", "950–1,250"],
        ["Medium", "1,100–1,300", "no bot has played enough"],
        ["Hard", "1,400–1,800", "no bot has played enough"],
    ]


def test_page_changes_with_the_bots(client, brisca, source):
    etag = client.get(URL)["ETag"]

    record(duel("ana", "pepe"), source=source)

    assert client.get(URL, headers={"If-None-Match": etag}).status_code == 200


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("LOCK_SECONDS", 1, "busy for more than 1 second,"),
        ("LOCK_SECONDS", 5, "busy for more than 5 seconds,"),
        ("MOST_RERATED", 300, "more than 300 matches would have had to be rated again"),
        ("PROVISIONAL_BELOW", 12, "fewer than 12 rated matches"),
        ("PAIR_LIMIT", 3, "already had 3 rated matches"),
    ],
)
def test_words_follow_the_limits(client, db, monkeypatch, name, value, words):
    monkeypatch.setattr(f"leaderboards.views.how_it_works.{name}", value)

    assert words in parse(client.get(URL)).text


def test_queries(client, db, django_assert_num_queries):
    with django_assert_num_queries(3):
        client.get(URL)


def test_mistakes_of_the_reference_pages_are_not_repeated(help_page):
    text = help_page.text.lower()

    for wrong in ("50 games", "inflation", "immediately", "win rate", "gettext"):
        assert wrong not in text
