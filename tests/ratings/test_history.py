"""Late results, re-rating and verifying: what is stored always equals a replay of the history."""

import random
from datetime import timedelta
from itertools import cycle, permutations
from math import nextafter

import pytest
from django.db import connection, transaction
from django.db.models import F

from ratings import history, ledger
from ratings.ledger import SKILL_COLUMNS, Position
from ratings.models import (
    Game,
    GameState,
    Match,
    Participation,
    Player,
    PointsCount,
    Rating,
    User,
)
from ratings.players import create_bot
from ratings.systems.engine import engine
from ratings.systems.match import START
from ratings.systems.openskill import displayed_rating
from ratings.systems.replay import CANCELLED, FRIENDLY, Entry, PlayedMatch, Replay
from tests.ratings.builders import (
    MONDAY,
    NOW,
    RATING_COLUMNS,
    counts_of,
    draw,
    duel,
    everything_of,
    ledger_of,
    make_report,
    make_source,
    open_game,
    ratings_of,
    record,
    team,
    today,
    undone,
)
from tests.ratings.connections import elsewhere

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def brisca():
    return open_game("brisca")


@pytest.fixture
def source(brisca):
    return make_source()


def locked(game):
    """The game's state under its lock, as `rerate` wants it."""
    return ledger.lock_games([game.slug])[game.slug]


def elos(game):
    return {player: row["elo"] for player, row in ratings_of(game).items()}


def assert_verified(game):
    found = history.verify(game)
    assert found.differences == []
    assert (found.count, found.is_clean, found.exact) == (0, True, True)


# Late results


def test_late_result_is_rated_in_its_place(brisca, source):
    record(duel("a", "b", today(10), external_id="m1"), source=source, at=today(10, 5))
    record(duel("b", "c", today(11), external_id="m2"), source=source, at=today(11, 5))
    before = ledger_of(brisca)

    [receipt] = record(duel("c", "a", today(10, 30), external_id="m3"), source=source, at=today(12))

    ratings = ratings_of(brisca)
    assert elos(brisca) == pytest.approx({"a": 1199.2637, "b": 1201.5031, "c": 1199.2332}, abs=1e-4)
    beliefs = {player: (row["mu"], row["sigma"]) for player, row in ratings.items()}
    assert beliefs["a"] == pytest.approx((24.8793, 7.8340), abs=1e-4)
    assert beliefs["b"] == pytest.approx((25.4438, 7.8332), abs=1e-4)
    assert beliefs["c"] == pytest.approx((24.8649, 7.8266), abs=1e-4)
    shown = {player: row["openskill"] for player, row in ratings.items()}
    assert shown == pytest.approx({"a": 1533.06, "b": 1546.66, "c": 1533.25}, abs=0.01)
    after = ledger_of(brisca)
    assert after["m1"] == before["m1"]
    assert after["m2"] != before["m2"]
    assert [change.before[0] for change in receipt.changes] == [1200.0, 1216.0]
    assert_verified(brisca)


def test_late_result_before_everything_is_rated_from_the_start(brisca, source):
    record(duel("a", "b", today(10)), duel("b", "c", today(11)), source=source)

    [receipt] = record(duel("c", "a", today(9)), source=source)

    assert [change.before for change in receipt.changes] == [START, START]
    assert Match.objects.get(pk=receipt.match_id).status == "rated"
    assert_verified(brisca)


def test_late_results_of_a_batch_with_new_ones_come_to_the_same(brisca, source):
    reports = [
        duel("a", "b", today(10), external_id="m1"),
        duel("c", "a", today(10, 30), external_id="m2"),
        duel("b", "c", today(11), external_id="m3"),
        draw("d", "a", today(12), external_id="m4"),
        duel("d", "b", today(13), external_id="m5"),
    ]
    with undone():
        record(*reports, source=source)
        expected = everything_of(brisca)

    record(reports[2], reports[0], source=source)
    record(reports[4], reports[1], reports[3], source=source)

    assert everything_of(brisca) == expected
    assert_verified(brisca)


def test_late_result_at_the_same_time_comes_after_those_that_were_there(brisca, source):
    first = duel("a", "b", today(10))
    second = duel("b", "a", today(10))
    newest = duel("a", "c", today(11))
    histories = []
    for batches in (
        ([first, second, newest],),
        ([second, first, newest],),
        ([first, newest], [second]),
    ):
        with undone():
            for batch in batches:
                record(*batch, source=source)
            assert_verified(brisca)
            histories.append(everything_of(brisca))

    assert histories[2] == histories[0]
    assert histories[2] != histories[1]


def test_late_result_leaves_others_untouched(brisca, source):
    record(
        duel("a", "b", today(10), external_id="early"),
        duel("x", "y", today(11), external_id="others"),
        duel("a", "c", today(12), external_id="later"),
        source=source,
    )
    before = ledger_of(brisca)

    record(duel("b", "a", today(10, 30)), source=source)

    after = ledger_of(brisca)
    assert after["early"] == before["early"]
    assert after["others"] == before["others"]
    assert after["later"] != before["later"]


def test_late_friendly_match_changes_no_number(brisca, source):
    record(duel("a", "b", today(10)), duel("b", "a", today(11)), source=source)
    before = (ratings_of(brisca), ledger_of(brisca), counts_of(brisca))

    record(duel("a", "b", today(10, 30), external_id="f", termination="friendly"), source=source)

    ratings, matches, counts = everything_of(brisca)
    no_skills = (None,) * 6
    assert matches.pop("f") == ("unrated", "friendly", {"a": no_skills, "b": no_skills})
    assert (ratings, matches, counts) == before


def test_late_result_moves_the_peak_and_its_time(brisca, source):
    record(duel("a", "b", today(10)), duel("c", "a", today(12)), source=source)
    assert (ratings_of(brisca)["a"]["peak_elo"], ratings_of(brisca)["a"]["peak_at"]) == (
        1216.0,
        today(10),
    )

    record(duel("b", "a", today(9)), source=source)

    # a loses first now, so that the win that was the peak brings less than the start was.
    rating = ratings_of(brisca)["a"]
    with_b = elos(brisca)
    assert rating["peak_elo"] == pytest.approx(1201.4695, abs=1e-4)
    assert rating["peak_at"] == today(10)
    assert rating["peak_elo"] > with_b["a"]
    assert (rating["won"], rating["drawn"], rating["lost"]) == (1, 0, 2)
    assert_verified(brisca)


def test_peak_before_a_late_result_stays(brisca, source):
    record(duel("a", "b", today(8)), duel("c", "a", today(10)), source=source)

    record(duel("d", "a", today(9)), source=source)

    rating = ratings_of(brisca)["a"]
    assert (rating["peak_elo"], rating["peak_at"]) == (1216.0, today(8))
    assert_verified(brisca)


def test_peak_is_reached_at_the_first_of_equal_heights(brisca, source):
    """Draws between equals leave both at 1200 exactly."""
    record(draw("a", "b", today(10)), draw("a", "b", today(11)), source=source)

    record(draw("b", "a", today(9)), source=source)

    rating = ratings_of(brisca)["a"]
    assert (rating["peak_elo"], rating["peak_at"]) == (1200.0, today(9))
    assert_verified(brisca)


def test_peak_that_is_found_again_is_the_first_of_equal_heights(brisca, source):
    record(
        draw("a", "b", today(9)),
        draw("a", "b", today(10)),
        duel("a", "c", today(12)),
        source=source,
    )

    record(duel("d", "a", today(11)), duel("e", "a", today(11, 30)), source=source)

    rating = ratings_of(brisca)["a"]
    assert (rating["peak_elo"], rating["peak_at"]) == (1200.0, today(9))
    assert_verified(brisca)


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_peak_of_equal_heights_is_the_same_in_every_order_of_arrival(brisca, source, order):
    reports = [
        draw("a", "b", today(9)),
        duel("a", "c", today(10)),
        duel("d", "a", today(11)),
        draw("b", "c", today(12)),
    ]

    for number in order:
        record(reports[number], source=source)

    assert_verified(brisca)


def test_late_results_make_a_later_match_one_too_many_in_a_day(brisca, source):
    reports = [duel("a", "b", today(10) + timedelta(minutes=number)) for number in range(20)]
    record(*reports, source=source)
    assert set(Match.objects.values_list("reason", flat=True)) == {""}

    record(duel("b", "a", today(9), external_id="late"), source=source)

    last = Match.objects.get(external_id=reports[-1].external_id)
    assert (last.status, last.reason) == ("unrated", "pair_limit")
    assert set(last.participations.values_list("elo_after", flat=True)) == {None}
    assert Match.objects.filter(reason="pair_limit").count() == 1
    ratings = ratings_of(brisca)
    assert (ratings["a"]["won"], ratings["a"]["lost"]) == (19, 1)
    assert ratings["a"]["last_played_at"] == today(10, 18)
    assert_verified(brisca)


def test_late_results_flip_matches_beyond_a_day_too(brisca, source):
    """The limit looks back 24 hours from each match: what flips one may free another."""
    base = today(0)
    reports = [duel("a", "b", base + timedelta(hours=number)) for number in range(30)]
    late = [duel("b", "a", base + timedelta(minutes=30 + number)) for number in range(15)]
    at = base + 2 * DAY
    with undone():
        record(
            *sorted([*reports, *late], key=lambda report: report.played_at), source=source, at=at
        )
        expected = everything_of(brisca)
    record(*reports, source=source, at=at)
    before = set(Match.objects.filter(reason="pair_limit").values_list("external_id", flat=True))

    record(*late, source=source, at=at)

    after = set(Match.objects.filter(reason="pair_limit").values_list("external_id", flat=True))
    assert before
    assert before - after or after - before
    assert everything_of(brisca) == expected
    assert_verified(brisca)


def test_late_result_can_bring_a_rating_into_being_and_take_another_away(brisca, source):
    """b and c only ever meet beyond the limit, once the late results are in."""
    record(
        *(duel("a", "b", today(10) + timedelta(minutes=number)) for number in range(21)),
        source=source,
    )
    only = duel("b", "c", today(12), external_id="only")
    record(only, source=source)
    assert "c" in ratings_of(brisca)

    with transaction.atomic():
        Match.objects.filter(external_id="only").update(termination="friendly")
        history.rerate(locked(brisca), since=Position(today(12)))

    assert "c" not in ratings_of(brisca)
    assert sum(counts_of(brisca).values()) == 4
    assert_verified(brisca)

    with transaction.atomic():
        Match.objects.filter(external_id="only").update(termination="normal")
        history.rerate(locked(brisca), since=Position(today(12)))

    assert ratings_of(brisca)["c"]["lost"] == 1
    assert_verified(brisca)


# Any order of arrival


def season(seed, count=60):
    """Matches of eight players and bots over six days, of every kind there is."""
    choice = random.Random(seed)
    times = choice.sample(range(6 * 24 * 60), count - 26)
    reports = [duel("bot-1", "bot-2", MONDAY - 4 * DAY + timedelta(seconds=choice.randrange(9)))]
    terminations = cycle(["normal"] * 5 + ["abandoned", "cancelled", "friendly"])
    for minute, termination in zip(times, terminations, strict=False):
        at = MONDAY - 6 * DAY + timedelta(minutes=minute, seconds=15)
        shape = choice.random()
        if shape < 0.4:
            one, other = choice.sample(PLAYERS, 2)
            teams = [team(one, place=1), team(other, place=choice.choice([1, 2, 2, 2]))]
        elif shape < 0.7:
            a, b, c, d = choice.sample(PLAYERS, 4)
            teams = [team(a, b, place=1), team(c, d, place=choice.choice([1, 2, 2]))]
        else:
            teams = [
                team(player, place=choice.randint(1, 3))
                for player in choice.sample(PLAYERS, choice.choice([3, 4]))
            ]
        reports.append(make_report(teams, at=at, termination=termination))
    # A pair that meets more often than may be rated in a day.
    start = MONDAY - 3 * DAY
    for minute in choice.sample(range(30 * 60), 25):
        at = start + timedelta(minutes=minute, seconds=30)
        winner, loser = choice.sample(["ana", "pepa"], 2)
        reports.append(duel(winner, loser, at))
    return sorted(reports, key=lambda report: report.played_at)


PLAYERS = ["ana", "pepa", "lola", "rita", "bot-1", "bot-2", "bot-3", "bot-4"]


def make_bots(source):
    author = User.objects.create(username="author")
    create_bot(handle="bot-1", name="bot-1", author=author, source=source)
    create_bot(handle="bot-2", name="bot-2", author=author, source=source)
    create_bot(handle="bot-3", name="bot-3", source=source)
    create_bot(handle="bot-4", name="bot-4", source=source)


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_arrival_in_any_batches_comes_to_the_same_bits(brisca, source, seed):
    make_bots(source)
    reports = season(seed)
    with undone():
        record(*reports, source=source)
        expected = everything_of(brisca)
        reasons = set(Match.objects.values_list("reason", flat=True))
    choice = random.Random(f"arrival {seed}")

    arriving = choice.sample(reports, len(reports))
    while arriving:
        size = choice.choice([1, 1, 2, 3, 8, 20])
        record(*arriving[:size], source=source)
        del arriving[:size]
        if choice.random() < 0.3:
            assert_verified(brisca)

    assert reasons == {"", "cancelled", "friendly", "same_owner", "pair_limit"}
    assert everything_of(brisca) == expected
    assert_verified(brisca)


@pytest.mark.parametrize("seed", range(6))
def test_equal_times_are_rated_in_the_order_of_arrival_wherever_others_come_between(
    brisca, source, seed
):
    """Forty matches at five times only, so that nearly every position lies inside a tie."""
    choice = random.Random(seed)
    hours = [8, 9, 10, 11, 12]
    for _ in range(20):
        pairs = [choice.sample(PLAYERS[:4], 2) for _ in range(2)]
        record(
            *(
                choice.choice([duel, draw])(one, other, today(choice.choice(hours)))
                for one, other in pairs
            ),
            source=source,
        )
        assert_verified(brisca)


@pytest.mark.parametrize("seed", range(4))
def test_stored_state_equals_a_replay_made_from_the_reports_alone(brisca, source, seed):
    """Nothing of what is stored is used, so that reading and writing cannot be wrong alike."""
    make_bots(source)
    reports = season(seed)
    record(*random.Random(seed).sample(reports, len(reports)), source=source)
    ids = dict(Player.objects.values_list("handle", "id"))
    owners = dict(Player.objects.values_list("id", "owner_id"))
    replay = Replay()

    outcomes = {
        report.external_id: replay.rate(
            PlayedMatch(
                report.played_at,
                [
                    Entry(ids[player], number, team.place, owners[ids[player]])
                    for number, team in enumerate(report.teams)
                    for player in team.players
                ],
                report.termination if report.termination in (CANCELLED, FRIENDLY) else "",
            )
        )
        for report in reports
    }

    handles = {id: handle for handle, id in ids.items()}
    for external_id, (status, reason, skills) in ledger_of(brisca).items():
        outcome = outcomes[external_id]
        assert (status, reason) == ("unrated" if outcome.reason else "rated", outcome.reason)
        assert {player: six for player, six in skills.items() if six[0] is not None} == {
            handles[change.player]: (*change.before, *change.after) for change in outcome.changes
        }
    ratings = ratings_of(brisca)
    assert ratings.keys() == {handles[player] for player in replay.standings}
    for player, standing in replay.standings.items():
        stored = ratings[handles[player]]
        assert stored["elo"] == standing.elo
        assert stored["mu"] == standing.mu
        assert stored["sigma"] == stored["sigma_settled"] == standing.sigma
        assert stored["elo_shown"] == round(standing.elo)
        assert stored["openskill"] == displayed_rating(standing.mu, standing.sigma)
        assert stored["openskill_shown"] == round(stored["openskill"])
        assert (stored["peak_elo"], stored["peak_at"]) == (standing.peak_elo, standing.peak_at)
        assert stored["last_played_at"] == standing.last_played_at


@pytest.mark.parametrize("seed", range(4))
def test_counters_peaks_and_times_equal_the_ledger_counted_by_hand(brisca, source, seed):
    make_bots(source)
    reports = season(seed)
    record(*random.Random(seed).sample(reports, len(reports)), source=source)

    rated = ledger_of(brisca)
    expected = {}
    for report in reports:
        status, _, skills = rated[report.external_id]
        if status != "rated":
            continue
        best = min(team.place for team in report.teams)
        shared = sum(team.place == best for team in report.teams) > 1
        for a_team in report.teams:
            for player in a_team.players:
                row = expected.setdefault(player, {"won": 0, "drawn": 0, "lost": 0})
                if a_team.place != best:
                    row["lost"] += 1
                else:
                    row["drawn" if shared else "won"] += 1
                elo = skills[player][3]
                if elo > row.get("peak_elo", float("-inf")):
                    row |= {"peak_elo": elo, "peak_at": report.played_at}
                row["last_played_at"] = report.played_at

    assert {
        player: {name: row[name] for name in expected[player]}
        for player, row in ratings_of(brisca).items()
    } == expected


def test_ids_of_players_do_not_matter(brisca, source):
    reports = season(99)
    histories = []
    for players in (PLAYERS, PLAYERS[::-1]):
        with undone():
            make_bots(source)
            for player in players:
                if not player.startswith("bot"):
                    record(
                        duel(player, "nobody-else", MONDAY - 30 * DAY, termination="friendly"),
                        source=source,
                    )
            record(*reports, source=source)
            ratings, matches, _ = everything_of(brisca)
            histories.append(
                (ratings, {report.external_id: matches[report.external_id] for report in reports})
            )

    assert histories[0] == histories[1]


# Re-rating from a point


def test_rerating_from_the_newest_match_rates_it_again(brisca, source):
    record(duel("a", "b", today(10)), duel("b", "a", today(11), external_id="m2"), source=source)
    expected = everything_of(brisca)
    newest = Match.objects.get(external_id="m2")
    newest.participations.update(elo_after=1.0)

    with transaction.atomic():
        rerating = history.rerate(locked(brisca), since=Position(newest.played_at, newest.pk))

    assert (rerating.rerated, rerating.outcomes) == (1, {})
    assert everything_of(brisca) == expected


def test_rerating_from_after_the_newest_match_rates_nothing(brisca, source):
    record(duel("a", "b", today(10)), source=source)
    expected = everything_of(brisca)

    with transaction.atomic():
        rerating = history.rerate(locked(brisca), since=Position(today(11)))

    assert rerating.rerated == 0
    assert everything_of(brisca) == expected


def test_rerating_from_the_beginning_of_time_changes_nothing_that_is_right(brisca, source):
    record(*season(5), source=source)
    expected = everything_of(brisca)

    with transaction.atomic():
        rerating = history.rerate(locked(brisca), since=ledger.BEGINNING)

    assert rerating.rerated == 60
    assert everything_of(brisca) == expected


def test_rerating_reads_no_waiting_match(brisca, source):
    """Outside history until it is folded in; it has no ledger numbers and counts for nobody."""
    record(
        duel("a", "b", today(10)),
        duel("a", "c", today(11), external_id="waiting", termination="friendly"),
        source=source,
    )
    Match.objects.filter(external_id="waiting").update(
        status="waiting", reason="", termination="normal"
    )

    with transaction.atomic():
        history.rerate(locked(brisca), since=Position(today(9)))

    assert "c" not in ratings_of(brisca)
    assert Match.objects.get(external_id="waiting").status == "waiting"
    assert_verified(brisca)


def test_rerating_from_nothing_heals_whatever_is_stored(brisca, source):
    record(*season(6), source=source)
    expected = everything_of(brisca)
    Participation.objects.filter(elo_after__isnull=False).update(elo_after=7.0)
    Rating.objects.filter(player__handle="ana").delete()
    Rating.objects.filter(player__handle="pepa").update(won=999, peak_elo=9999.0)
    PointsCount.objects.filter(system="elo").delete()
    stranger = Player.objects.create(handle="x", handle_key="x", handle_skeleton="x", name="x")
    copy = Rating.objects.get(player__handle="lola")
    Rating.objects.create(
        player=stranger,
        **{
            name: getattr(copy, name)
            for name in RATING_COLUMNS
            if name not in ("elo_shown", "openskill", "openskill_shown")
        },
        game=brisca,
    )
    version = GameState.objects.get(game=brisca).version

    matches = history.rerate_whole_game("brisca")

    assert matches == 60
    assert everything_of(brisca) == expected
    assert GameState.objects.get(game=brisca).version == version + 1
    assert_verified(brisca)


@pytest.mark.django_db(transaction=True)
def test_report_that_comes_while_a_whole_game_is_rated_again_counts_too(monkeypatch):
    brisca = open_game("brisca")
    source = make_source()
    record(*season(6), source=source)
    Participation.objects.filter(elo_after__isnull=False).update(elo_after=7.0)
    Rating.objects.filter(player__handle="pepa").update(won=999, peak_elo=9999.0)
    real, jobs = ledger.lock_games, [lambda: record(duel("pepa", "ana", today(18)), source=source)]

    def lock_games(*args, **kwargs):
        if jobs:
            elsewhere(jobs.pop())
        return real(*args, **kwargs)

    monkeypatch.setattr(ledger, "lock_games", lock_games)

    matches = history.rerate_whole_game("brisca")

    assert (jobs, matches) == ([], 61)
    assert_verified(brisca)


def test_engine_stays_the_one_that_computed_until_all_is_computed_anew(brisca, source):
    record(duel("a", "b", today(10)), source=source)
    assert GameState.objects.get(game=brisca).engine == engine()
    GameState.objects.filter(game=brisca).update(engine="0-another")

    record(duel("a", "b", today(11)), source=source)
    assert GameState.objects.get(game=brisca).engine == "0-another"
    assert not history.verify(brisca).exact

    history.rerate_whole_game("brisca")
    assert GameState.objects.get(game=brisca).engine == engine()
    assert_verified(brisca)


# Verifying


def test_verify_counts_what_it_read_and_is_clean(brisca, source):
    make_bots(source)
    record(*season(1), source=source)

    found = history.verify(brisca)

    assert (found.matches, found.players, found.is_clean) == (60, 8, True)


def test_verify_of_a_game_without_matches_is_clean(brisca):
    found = history.verify(brisca)

    assert (found.matches, found.players, found.is_clean) == (0, 0, True)


def test_verify_of_one_game_looks_at_no_other(brisca, source):
    tute = open_game("tute")
    record(duel("a", "b"), duel("a", "b", game="tute"), source=source)
    Rating.objects.filter(game=tute).update(elo=1.0, peak_elo=1.0)

    assert history.verify(brisca).is_clean
    assert not history.verify(tute).is_clean


def test_verify_describes_the_first_differences_and_counts_all(brisca, source):
    record(*season(1), source=source)
    Participation.objects.filter(elo_after__isnull=False).update(elo_after=7.0)

    found = history.verify(brisca)

    assert len(found.differences) == history.MOST_DIFFERENCES
    assert found.count >= Participation.objects.filter(elo_after__isnull=False).count()


@pytest.fixture
def stored(brisca, source):
    """Three matches, of which `middle` is about to be damaged: the ids of match and of ana."""
    record(
        duel("pepa", "ana", today(9)),
        draw("ana", "pepa", today(10), external_id="middle"),
        duel("ana", "lola", today(11), external_id="newest"),
        duel("lola", "ana", today(12), termination="friendly", external_id="friendly"),
        source=source,
    )
    assert_verified(brisca)
    return brisca


def part_of(handle, external_id="middle"):
    """One row of the ledger, as a queryset: what `update` does to it nothing else notices."""
    return Participation.objects.filter(match__external_id=external_id, player__handle=handle)


@pytest.mark.parametrize("column", SKILL_COLUMNS)
@pytest.mark.parametrize("external_id", ["middle", "newest"])
def test_verify_finds_a_wrong_number_of_the_ledger(stored, column, external_id):
    row = part_of("ana", external_id).get()
    right = getattr(row, column)
    wrong = nextafter(right, 0)

    part_of("ana", external_id).update(**{column: wrong})

    assert history.verify(stored).differences == [
        f"match {row.match_id}, player {row.player_id}: {column} is {wrong}, "
        f"the replay gives {right}"
    ]


@pytest.mark.parametrize(
    ("damage", "difference"),
    [
        (
            {"status": "unrated", "reason": "friendly"},
            "stored as unrated (friendly), the replay says rated",
        ),
        ({"status": "void"}, "has ratings and should not"),
        (
            {"termination": "cancelled"},
            "stored as rated, the replay says unrated (cancelled)",
        ),
        ({"players": [0, 1, 2]}, "its participations do not agree with it"),
    ],
    ids=str,
)
def test_verify_finds_a_wrong_match(stored, damage, difference):
    match = Match.objects.get(external_id="middle")

    Match.objects.filter(pk=match.pk).update(**damage)

    differences = history.verify(stored).differences
    assert any(
        text.startswith(f"match {match.pk}") and text.endswith(difference) for text in differences
    ), differences


def test_verify_finds_players_of_a_match_in_another_order(stored):
    match = Match.objects.get(external_id="middle")

    Match.objects.filter(pk=match.pk).update(players=match.players[::-1])

    assert history.verify(stored).differences == [
        f"match {match.pk}: its participations do not agree with it"
    ]


def test_verify_finds_a_rated_match_that_is_said_to_wait(stored):
    Match.objects.filter(external_id="newest").update(status="waiting")

    differences = history.verify(stored).differences
    lola = Player.objects.get(handle="lola")
    assert f"rating of player {lola.pk}: stored without a rated match" in differences


def test_verify_finds_an_unrated_match_with_another_reason(stored):
    match = Match.objects.get(external_id="friendly")

    Match.objects.filter(pk=match.pk).update(reason="pair_limit")

    assert history.verify(stored).differences == [
        f"match {match.pk}: stored as unrated (pair_limit), the replay says unrated (friendly)"
    ]


def test_verify_finds_an_unrated_match_with_numbers(stored):
    row = part_of("ana", "friendly").get()

    part_of("ana", "friendly").update(**dict.fromkeys(SKILL_COLUMNS, 1.0))

    assert history.verify(stored).differences == [
        f"match {row.match_id}, player {row.player_id}: has ratings and should not"
    ]


def test_verify_finds_a_rated_match_without_a_players_numbers(stored):
    row = part_of("ana").get()

    part_of("ana").update(**dict.fromkeys(SKILL_COLUMNS))

    assert history.verify(stored).differences == [
        f"match {row.match_id}, player {row.player_id}: has no ratings"
    ]


def test_verify_finds_a_participation_that_is_missing(stored):
    match = Match.objects.get(external_id="middle")

    part_of("ana").delete()

    assert (
        f"match {match.pk}: its participations do not agree with it"
        in history.verify(stored).differences
    )


def test_verify_finds_a_match_without_participations(stored):
    match = Match.objects.get(external_id="friendly")

    match.participations.all().delete()

    assert history.verify(stored).differences == [
        f"match {match.pk}: its participations do not agree with it"
    ]


def test_verify_finds_a_match_with_one_team(stored):
    match = Match.objects.get(external_id="middle")

    match.participations.update(team=1)

    assert (
        f"match {match.pk}: its participations do not agree with it"
        in history.verify(stored).differences
    )


def test_verify_finds_a_team_with_two_places(brisca, source):
    record(
        make_report(
            [team("a", "b", place=1), team("c", "d", place=2)],
            termination="friendly",
            external_id="pairs",
        ),
        source=source,
    )
    match = Match.objects.get()

    part_of("b", "pairs").update(place=2)

    assert history.verify(brisca).differences == [
        f"match {match.pk}: its participations do not agree with it"
    ]


def test_verify_finds_a_wrong_place(stored):
    row = part_of("ana").get()

    part_of("ana").update(place=2)

    differences = history.verify(stored).differences
    where = f"match {row.match_id}, player {row.player_id}"
    assert [text for text in differences if text.startswith(f"{where}: elo_after is ")]


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ("elo", F("elo") - 1e-12),
        ("mu", F("mu") - 1e-14),
        ("sigma_settled", F("sigma_settled") - 1e-14),
        ("sigma", F("sigma") + 1e-14),
        ("won", F("won") + 1),
        ("drawn", F("drawn") + 1),
        ("lost", F("lost") - 1),
        ("peak_elo", F("peak_elo") + 1e-12),
        ("peak_at", F("peak_at") + timedelta(microseconds=1)),
        ("last_played_at", F("last_played_at") + timedelta(microseconds=1)),
        ("is_bot", True),
        ("is_listed", False),
    ],
)
def test_verify_finds_a_wrong_number_of_a_rating(stored, column, wrong):
    rating = Rating.objects.get(player__handle="ana")
    right = getattr(rating, column)

    Rating.objects.filter(pk=rating.pk).update(**{column: wrong})

    rating.refresh_from_db()
    differences = history.verify(stored).differences
    assert differences[0] == (
        f"rating of player {rating.player_id}: {column} is {getattr(rating, column)}, "
        f"the replay gives {right}"
    )
    # A kind or a listing that is wrong leaves the counts of the board wrong too.
    assert all(text.startswith("board counts") for text in differences[1:])
    assert bool(differences[1:]) == (column in ("is_bot", "is_listed"))


def test_verify_finds_a_rating_that_is_missing(stored):
    rating = Rating.objects.get(player__handle="ana")

    Rating.objects.filter(pk=rating.pk).delete()

    differences = history.verify(stored).differences
    assert differences[0] == f"rating of player {rating.player_id}: missing"
    assert len(differences) == 3  # with the two counts that he stood in


@pytest.mark.parametrize("handle", ["rita", "x"])
def test_verify_finds_a_rating_without_a_rated_match(stored, source, handle):
    """Of somebody who only played a friendly match, and of somebody who never played."""
    record(duel("rita", "ana", termination="friendly"), source=source)
    Player.objects.create(handle="x", handle_key="x", handle_skeleton="x", name="x")
    player = Player.objects.get(handle=handle)

    Rating.objects.create(
        player=player,
        game=stored,
        elo=1200.0,
        mu=25.0,
        sigma_settled=8.0,
        sigma=8.0,
        won=1,
        peak_elo=1200.0,
        peak_at=NOW,
        last_played_at=NOW,
        is_bot=False,
        is_listed=False,
    )

    assert history.verify(stored).differences == [
        f"rating of player {player.pk}: stored without a rated match"
    ]


@pytest.mark.parametrize("system", ["elo", "openskill"])
def test_verify_finds_a_wrong_count_of_the_board(stored, system):
    row = PointsCount.objects.filter(system=system).first()

    PointsCount.objects.filter(pk=row.pk).update(count=row.count + 1)

    assert history.verify(stored).differences == [
        f"board counts {row.count + 1} people at {system} {row.shown}, there are {row.count}"
    ]


def test_verify_finds_a_count_that_is_missing(stored):
    row = PointsCount.objects.filter(system="elo").first()

    PointsCount.objects.filter(pk=row.pk).delete()

    assert history.verify(stored).differences == [
        f"board counts 0 people at elo {row.shown}, there are {row.count}"
    ]


def test_verify_finds_a_count_of_nobody(stored):
    PointsCount.objects.create(game=stored, system="openskill", is_bot=True, shown=-17, count=3)

    assert history.verify(stored).differences == [
        "board counts 3 bots at openskill -17, there are 0"
    ]


@pytest.mark.parametrize("status", ["retired", "hidden", "frozen", "anonymised"])
def test_verify_finds_a_player_on_the_board_who_should_be_off(stored, status):
    player = Player.objects.get(handle="ana")

    Player.objects.filter(pk=player.pk).update(status=status)

    assert history.verify(stored).differences == [
        f"rating of player {player.pk}: is_listed is True, the replay gives False"
    ]


@pytest.mark.parametrize("column", ["elo_after", "mu_before", "sigma_after"])
@pytest.mark.parametrize(("error", "count"), [(1e-10, 0), (1e-8, 1)])
def test_verify_of_another_machine_tolerates_a_little_in_the_ledger(stored, column, error, count):
    GameState.objects.filter(game=stored).update(engine="0-another")

    part_of("ana").update(**{column: F(column) - error})

    found = history.verify(stored)
    assert not found.exact
    assert found.count == count
    assert all(f": {column} is " in text for text in found.differences)


@pytest.mark.parametrize("column", ["elo", "mu", "sigma_settled", "peak_elo"])
@pytest.mark.parametrize(("error", "count"), [(1e-10, 0), (1e-8, 1)])
def test_verify_of_another_machine_tolerates_a_little_in_a_rating(stored, column, error, count):
    GameState.objects.filter(game=stored).update(engine="0-another")

    Rating.objects.filter(player__handle="ana").update(
        **{column: F(column) + (error if column == "peak_elo" else -error)}
    )

    found = history.verify(stored)
    assert not found.exact
    assert found.count == count
    assert all(f": {column} is " in text for text in found.differences)


def test_verify_of_another_machine_is_not_tipped_over_by_a_half(source):
    """Two share the first place of 33 players, for 15.5 points: shown 1216, and a bit less 1215."""
    game = open_game("siete-y-media")
    Game.objects.filter(pk=game.pk).update(max_players=33)
    teams = [team(f"p{number}", place=max(2, number)) for number in range(1, 34)]
    record(make_report(teams, game="siete-y-media"), source=source)
    first = Rating.objects.filter(player__handle="p1")
    assert (first.get().elo, first.get().elo_shown) == (1215.5, 1216)
    GameState.objects.filter(game=game).update(engine="0-another")

    first.update(elo=1215.5 - 1e-10)
    ledger.recount(game)

    assert first.get().elo_shown == 1215
    assert history.verify(game).differences == []


def test_verify_takes_no_lock(transactional_db):
    """It reads while a writer holds the game."""
    brisca = open_game("brisca")
    record(duel("ana", "pepa"), source=make_source())
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(
                "SELECT 1 FROM ratings_gamestate WHERE game_id = %s FOR UPDATE", [brisca.pk]
            )
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '2s'")

        found = history.verify(brisca)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
        other.close()

    assert (found.matches, found.is_clean) == (1, True)
