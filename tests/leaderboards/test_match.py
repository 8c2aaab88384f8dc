from datetime import timedelta

import pytest

from ratings.models import Match, Status
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, duel, make_report, open_game, record, team


@pytest.fixture
def match_page(client, source):
    """A function that records a report and returns the page of its match."""

    def record_and_get(report, prefix=""):
        [receipt] = record(report, source=source)
        return parse(client.get(f"{prefix}/matches/{receipt.match_id}/"))

    return record_and_get


FACTS = ("Places", "Elo", "OpenSkill")


def figures(page):
    """The rows of the tables that say what happened, by caption: without the workings."""
    tables = {table.one("caption").text: table.rows() for table in page.all("table")}
    return {caption: rows for caption, rows in tables.items() if caption in FACTS}


def test_match_shows_places_expectations_and_both_ratings(brisca, match_page):
    page = match_page(
        make_report([team("ana", place=1, points="71"), team("pepe", place=2, points="49.5")])
    )

    assert figures(page) == {
        "Places": [
            ["1", "ana", "71", "1.00", "0.50", "50%"],
            ["2", "pepe", "49.5", "0.00", "0.50", "50%"],
        ],
        "Elo": [
            ["ana", "1,200", "+16.0 up 16.0", "1,216"],
            ["pepe", "1,200", "−16.0 down 16.0", "1,184"],
        ],
        "OpenSkill": [
            ["ana", "1,500", "+82.2 up 82.2", "1,582", "8.33 → 8.07"],
            ["pepe", "1,500", "−44.4 down 44.4", "1,456", "8.33 → 8.07"],
        ],
    }
    assert "6 Jul 2026, 22:00 CEST · played to the end" in page.text


def test_expectations_follow_from_the_ratings_before(brisca, source, match_page):
    record(*[duel("ana", "pepe", at=NOW - timedelta(hours=n)) for n in range(1, 20)], source=source)

    page = match_page(duel("pepe", "ana"))

    [first, second] = figures(page)["Places"]
    elo_before = [float(row[1].replace(",", "")) for row in figures(page)["Elo"]]
    expected = 1 / (1 + 10 ** ((elo_before[1] - elo_before[0]) / 400))
    assert first[3:5] == ["1.00", f"{expected:.2f}"]
    assert second[3:5] == ["0.00", f"{1 - expected:.2f}"]
    assert float(first[4]) < 0.3


def test_one_against_the_rest_is_shown_by_sides(source, match_page):
    open_game("tute-subastado")

    page = match_page(
        make_report(
            [team("ana", place=1), team("eva", "leo", "quin", place=2)], game="tute-subastado"
        )
    )

    assert [row[1] for row in figures(page)["Places"]] == ["ana", "eva + leo + quin"]
    assert [row[2] for row in figures(page)["Elo"]] == [
        "+16.0 up 16.0",
        "−5.3 down 5.3",
        "−5.3 down 5.3",
        "−5.3 down 5.3",
    ]


def test_free_for_all_scores_are_shares(source, match_page):
    open_game("cinquillo")
    teams = [team("ana", place=3), team("eva", place=1), team("leo", place=1), team("b", place=4)]

    page = match_page(make_report(teams, game="cinquillo"))

    assert [row[:4] for row in figures(page)["Places"]] == [
        ["1", "eva", "· not given", "0.83"],
        ["1", "leo", "· not given", "0.83"],
        ["3", "ana", "· not given", "0.33"],
        ["4", "b", "· not given", "0.00"],
    ]


def test_draw_between_equals_says_no_change(brisca, match_page):
    page = match_page(make_report([team("ana", place=1), team("pepe", place=1)]))

    assert [row[2] for row in figures(page)["Elo"]] == ["0 no change", "0 no change"]
    [table] = [table for table in page.all("table") if table.one("caption").text == "Elo"]
    assert len(table.all("span", class_="is-same")) == 2


@pytest.mark.parametrize(
    ("termination", "words"),
    [
        ("friendly", "Not rated. It was a friendly match."),
        ("cancelled", "Not rated. It was cancelled before the first card was played."),
    ],
)
def test_unrated_match_says_why(brisca, match_page, termination, words):
    page = match_page(duel("ana", "pepe", termination=termination))

    assert page.one("p", class_="notice").text == words
    assert list(figures(page)) == ["Places"]


def test_abandoned_match_is_rated_and_says_so(brisca, match_page):
    page = match_page(duel("ana", "pepe", termination="abandoned"))

    assert "abandoned by a player" in page.text
    assert page.one("p", class_="notice").text.startswith("Rated. Somebody left")
    assert "Elo" in figures(page)


@pytest.mark.parametrize(("status", "words"), [("void", "Void."), ("waiting", "Waiting.")])
def test_status_is_said_in_words(client, brisca, source, status, words):
    [receipt] = record(duel("ana", "pepe", termination="friendly"), source=source)
    Match.objects.update(status=Status(status), reason="")

    page = parse(client.get(f"/matches/{receipt.match_id}/"))

    assert page.one("p", class_="notice").text.startswith(words)


def test_twenty_first_match_of_a_pair_says_why(client, brisca, source):
    receipts = record(
        *[duel("ana", "pepe", at=NOW + timedelta(minutes=n)) for n in range(21)],
        source=source,
        at=NOW + timedelta(hours=1),
    )

    page = parse(client.get(f"/matches/{receipts[-1].match_id}/"))

    assert "already had 20 rated matches" in page.one("p", class_="notice").text


def test_queries_do_not_grow_with_the_players(client, source, django_assert_num_queries):
    open_game("siete-y-media")
    few, many = record(
        make_report([team("a", place=1), team("b", place=2)], game="siete-y-media"),
        make_report([team(f"j{n}", place=n) for n in range(1, 11)], game="siete-y-media"),
        source=source,
    )

    for receipt in (few, many):
        with django_assert_num_queries(6):
            client.get(f"/matches/{receipt.match_id}/")


@pytest.mark.parametrize(
    "id", ["0", "999999", "9" * 20, "9" * 5000, "-1", "1.5", "abc", "1%00", "１"]
)
def test_unknown_match_is_not_found(client, db, id):
    assert client.get(f"/matches/{id}/").status_code == 404
