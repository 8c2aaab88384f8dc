"""The working of a match, as its page shows it."""

import re
from datetime import timedelta

import pytest

from ratings import history
from ratings.models import Match, Participation, Player
from ratings.systems import elo, openskill
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, draw, duel, make_report, open_game, record, team


@pytest.fixture
def receipt(client, source):
    """A function that records reports and returns the page of the last one's match."""

    def record_and_get(*reports, at=NOW):
        receipts = record(*reports, source=source, at=at)
        return parse(client.get(f"/matches/{receipts[-1].match_id}/"))

    return record_and_get


def table(page, caption):
    [found] = [table for table in page.all("table") if table.one("caption").text == caption]
    return found.rows()


def number(text):
    return float(re.search(r"[−+]?[\d,]+\.?\d*", text)[0].replace(",", "").replace("−", "-"))


# Elo


def test_pair_of_a_duel_is_worked_out(brisca, receipt):
    page = receipt(duel("ana", "pepe", at=NOW - timedelta(hours=1)), duel("pepe", "ana"))

    [row] = table(page, "Pair by pair")

    expected = elo.expected_score(1184, 1216)
    assert row == [
        "pepe 1,184",
        "ana 1,216",
        "1.0",
        f"{expected:.3f}",
        f"32.00 × (1.0 − {expected:.3f})",
        f"+{32 * (1 - expected):.2f}",
    ]


def test_pairs_of_everyone_for_himself_sum_to_what_each_moves(source, receipt):
    open_game("cinquillo")
    page = receipt(
        make_report(
            [team("a", place=3), team("b", place=1), team("c", place=1), team("d", place=4)],
            game="cinquillo",
        )
    )

    received = dict.fromkeys("abcd", 0.0)
    for first, second, *_, transfer in table(page, "Pair by pair"):
        received[first[0]] += number(transfer)
        received[second[0]] -= number(transfer)
    changes = {row[0]: number(row[2].split()[0]) for row in table(page, "Elo")}
    assert received == pytest.approx(changes, abs=0.06)
    assert "With 4 sides each pair of them weighs 32 / (4 − 1) = 10.67" in page.text


def test_share_of_the_larger_side_is_said(source, receipt):
    open_game("tute-subastado")
    page = receipt(
        make_report([team("ana", place=1), team("b", "c", "d", place=2)], game="tute-subastado")
    )

    [row] = table(page, "Pair by pair")

    assert row[1] == "b + c + d 1,200"
    assert row[5] == "+16.00members × 1.00 and × 0.33"


@pytest.mark.parametrize("parameter", ["k", "scale"])
def test_words_follow_the_parameters(brisca, receipt, monkeypatch, parameter):
    changed = elo.Parameters(**{parameter: 24.0})
    before = receipt(duel("ana", "pepe"))

    monkeypatch.setattr(elo, "PARAMETERS", changed)
    for function in (elo.pairs, elo.expected_score, elo.pair_weight, elo.rate):
        defaults = tuple(
            changed if isinstance(value, elo.Parameters) else value
            for value in function.__defaults__
        )
        monkeypatch.setattr(function, "__defaults__", defaults)
    after = receipt(
        duel("ana", "quin", at=NOW + timedelta(seconds=30)), at=NOW + timedelta(hours=1)
    )

    assert "32 / (2 − 1) = 32.00" in before.text
    assert ("24 / (2 − 1) = 24.00" in after.text) == (parameter == "k")


# OpenSkill


def test_numbers_of_openskill_are_those_of_the_systems_code(brisca, receipt):
    page = receipt(duel("ana", "pepe", at=NOW - timedelta(hours=1)), duel("pepe", "ana"))

    rows = table(page, "Player by player")

    last = Participation.objects.filter(match=Match.objects.latest("pk")).order_by("place")
    beliefs = [[(part.mu_before, part.sigma_before)] for part in last]
    working = openskill.working(beliefs, [1, 2])
    for row, part, chance, step in zip(rows, last, working.chances, working.steps, strict=True):
        assert row[1] == f"{chance:.3f}"
        assert number(row[2]) == pytest.approx(step.omega, abs=1e-5)
        assert number(row[3]) == pytest.approx(step.delta, abs=1e-6)
        assert row[5] == f"{part.mu_before:.3f} → {part.mu_after:.3f}"
        assert row[6].startswith(f"{part.sigma_before:.3f} → {part.sigma_after:.3f}")
    assert f"c = {working.c:.3f}" in page.text


def test_sigma_that_is_kept_is_said(brisca, source, receipt):
    record(
        *[duel(*pair, at=NOW - timedelta(hours=900 - n)) for n, pair in enumerate(
            [("ana", f"j{n % 40}") for n in range(300)]
        )],
        source=source,
    )  # fmt: skip

    page = receipt(duel("ana", "j1"))

    part = Participation.objects.get(match=Match.objects.latest("pk"), player__handle="ana")
    assert part.sigma_after == part.sigma_before
    row = next(row for row in table(page, "Player by player") if row[0] == "ana")
    assert "kept, instead of" in row[6]
    assert number(row[6].split("instead of")[1]) > part.sigma_after - 0.0005


# Disagreement


def test_draw_of_newcomers_says_why_only_openskill_moved(brisca, receipt):
    page = receipt(draw("ana", "pepe"))

    text = page.text
    assert "Why the two systems do not agree here" in text
    assert "Elo 0 no change , OpenSkill +18.9 up 18.9" in text
    assert "(estimate of strength 0, certainty +18.9)" in text
    assert text.count("it rises with certainty") == 2


def test_systems_that_agree_need_no_reason(brisca, receipt):
    page = receipt(duel("ana", "pepe"))

    assert "do not agree" not in page.text


# What became of the match


def test_late_report_says_when_it_arrived(brisca, receipt):
    page = receipt(duel("ana", "pepe", at=NOW - timedelta(hours=5)))

    notice = page.one("p", class_="is-quiet").text
    assert notice.startswith("Reported late. Arrived: 6 Jul 2026, 22:00 CEST.")


def test_report_in_time_is_not_called_late(brisca, receipt):
    page = receipt(duel("ana", "pepe", at=NOW - timedelta(minutes=59)))

    assert "Reported late" not in page.text


def test_void_match_says_why_and_when(client, brisca, source):
    first, _ = record(
        duel("ana", "pepe", at=NOW - timedelta(minutes=9)), duel("ana", "quin"), source=source
    )
    history.void_matches([first.match_id], by=None, reason="fair_play", note="a private thought")

    page = parse(client.get(f"/matches/{first.match_id}/"))

    [change] = page.one("ol", class_="changes").all("li", class_="panel")
    assert change.text.startswith("Voided · ")
    assert "It was not played fairly." in change.text
    assert "Rated → void" in change.text
    assert "1 match of the game was rated again" in change.text
    assert "private thought" not in page.text


def test_corrected_match_shows_what_was_and_what_is(client, brisca, source):
    [receipt] = record(duel("ana", "pepe"), source=source)
    ana, pepe = (Player.objects.get(handle=handle) for handle in ("ana", "pepe"))
    history.correct_match(
        receipt.match_id,
        history.Correct(
            teams=[history.CorrectTeam([pepe.pk], 1), history.CorrectTeam([ana.pk], 2)]
        ),
        by=None,
        reason="wrong_result",
    )

    page = parse(client.get(f"/matches/{receipt.match_id}/"))

    before, after = page.one("ol", class_="changes").all("ol", class_="places")
    assert before.text == "1. ana 2. pepe"
    assert after.text == "1. pepe 2. ana"
    assert "The result was reported wrongly." in page.text


def test_match_leads_to_those_around_it(client, brisca, source):
    one, two, three = record(
        duel("ana", "pepe", at=NOW - timedelta(minutes=2)),
        duel("ana", "quin", at=NOW - timedelta(minutes=1)),
        duel("ana", "pepe"),
        source=source,
    )

    page = parse(client.get(f"/matches/{two.match_id}/"))

    assert table(page, "Each player's rated matches next to this one") == [
        ["ana", f"Match {one.match_id}", f"Match {three.match_id}"],
        ["quin", "none", "none"],
    ]


def test_match_leads_to_a_comparison_of_its_players(client, brisca, receipt):
    page = receipt(duel("ana", "pepe"))

    [link] = [a for a in page.all("a", class_="button") if a.text == "Compare these players"]
    assert link.attributes["href"] == "/compare/brisca/?p=ana&p=pepe"
