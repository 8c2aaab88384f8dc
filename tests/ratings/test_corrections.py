"""Voiding, restoring and correcting: as if it had been right from the start, previewed or not."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from threading import Thread
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError, connection, transaction

from ratings import history, ledger, standings
from ratings.decay import apply_decay
from ratings.history import Correct, CorrectTeam, HistoryMoved, rerating
from ratings.ledger import segments
from ratings.models import (
    CorrectedMatch,
    Correction,
    CorrectionReason,
    GameState,
    Match,
    Participation,
    Player,
    PlayerStatus,
    Rating,
    System,
    TieSegment,
    User,
)
from ratings.players import create_bot
from ratings.recording import record_matches
from ratings.reports import Report, ReportError
from ratings.standings import Board
from tests.ratings.builders import (
    MONDAY,
    NOW,
    count_rows,
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
    rows_of,
    team,
    today,
    undone,
)
from tests.ratings.connections import elsewhere
from tests.ratings.test_history import make_bots, season

pytestmark = pytest.mark.django_db

WRONG = CorrectionReason.WRONG_RESULT
MISTAKE = CorrectionReason.MISTAKE


@pytest.fixture
def brisca():
    return open_game("brisca")


@pytest.fixture
def source(brisca):
    return make_source()


@pytest.fixture(params=["under the lock", "from a snapshot"], autouse=True)
def way(request, monkeypatch):
    """What is short and what is long are worked out differently, and come to the same."""
    if request.param == "from a snapshot":
        monkeypatch.setattr(rerating, "MOST_RERATED", 0)


@pytest.fixture
def staff():
    return User.objects.create(username="sota-de-bastos-7", is_staff=True)


def match_id(external_id: str) -> int:
    return Match.objects.get(external_id=external_id).pk


def player_id(handle: str) -> int:
    return Player.objects.get(handle=handle).pk


def teams(*sides: tuple) -> list[CorrectTeam]:
    """Teams of a correction, each as (handles, place) or (handles, place, points)."""
    return [
        CorrectTeam([player_id(handle) for handle in handles.split()], place, *points)
        for handles, place, *points in sides
    ]


def facts_of(external_id: str) -> Correct:
    """A match as it stands, as a correction would put it."""
    match = Match.objects.get(external_id=external_id)
    sides: dict[int, CorrectTeam] = {}
    for part in Participation.objects.filter(match=match).order_by("pk"):
        side = sides.setdefault(part.team, CorrectTeam([], part.place, part.points))
        side.players.append(part.player_id)
    return Correct(match.played_at, match.termination, list(sides.values()))


def void(*external_ids: str, **fields):
    ids = [match_id(external_id) for external_id in external_ids]
    return history.void_matches(ids, by=None, reason=WRONG, **fields)


def restore(*external_ids: str, **fields):
    ids = [match_id(external_id) for external_id in external_ids]
    return history.restore_matches(ids, by=None, reason=MISTAKE, **fields)


def correct(external_id: str, right: Correct, *, at: datetime = NOW, **fields):
    return history.correct_match(
        match_id(external_id), right, by=None, reason=WRONG, at=at, **fields
    )


def versions() -> dict[str, int]:
    return dict(GameState.objects.values_list("game__slug", "version"))


def assert_verified(*games):
    for game in games:
        assert history.verify(game).differences == []


def without(everything, external_ids):
    """The ratings, the ledger without these matches, and the counts."""
    ratings, matches, counts = everything
    return ratings, {id: row for id, row in matches.items() if id not in external_ids}, counts


# As if it had never been, or been right from the start


@pytest.mark.parametrize("seed", range(6))
def test_void_matches_are_as_if_they_had_never_been(brisca, source, seed):
    make_bots(source)
    reports = season(seed)
    choice = random.Random(f"void {seed}")
    gone = {r.external_id for r in choice.sample(reports, choice.choice([1, 3, 12, 30]))}
    with undone():
        record(*[r for r in reports if r.external_id not in gone], source=source)
        expected = everything_of(brisca)
    record(*reports, source=source)

    void(*gone)

    assert without(everything_of(brisca), gone) == expected
    for external_id in gone:
        status, reason, skills = ledger_of(brisca)[external_id]
        assert (status, reason, set(skills.values())) == ("void", "", {(None,) * 6})
    assert_verified(brisca)


@pytest.mark.parametrize("seed", range(6))
def test_void_and_restored_matches_leave_the_same_bytes(brisca, source, seed):
    make_bots(source)
    record(*season(seed), source=source)
    before = rows_of(brisca)
    choice = random.Random(f"restore {seed}")
    ids = sorted(ledger_of(brisca))
    gone = choice.sample(ids, choice.choice([1, 5, 20, len(ids)]))

    void(*gone)
    changed = rows_of(brisca)
    for part in (gone[::2], gone[1::2]):
        if part:
            restore(*part)

    assert changed != before
    assert rows_of(brisca) == before


def reported_otherwise(report: Report, choice: random.Random) -> Report:
    """The same match with some of its facts as they should have been."""
    at, ending, sides = report.played_at, report.termination, report.teams
    what = choice.choice(["time", "termination", "places", "players", "shape", "all"])
    if what in ("time", "all"):
        at = MONDAY - timedelta(minutes=choice.randrange(6 * 24 * 60), seconds=choice.random())
    if what in ("termination", "all"):
        ending = choice.choice(["normal", "abandoned", "cancelled", "friendly"])
    players = [player for side in sides for player in side.players]
    if what in ("players", "shape", "all"):
        everybody = ["ana", "pepa", "lola", "rita", "bot-1", "bot-2", "bot-3", "bot-4"]
        count = choice.choice([2, 3, 4]) if what == "shape" else len(players)
        players = choice.sample(everybody, count)
        if count == 4 and choice.random() < 0.5:
            sides = (team(*players[:2], place=1), team(*players[2:], place=2))
        else:
            sides = tuple(team(player, place=choice.randint(1, 2)) for player in players)
    if what == "places":
        sides = tuple(team(*side.players, place=choice.randint(1, 2)) for side in sides)
    return Report(report.game, report.external_id, sides, at, ending)


def right(report: Report) -> Correct:
    """The correction that makes a match what the report says."""
    return Correct(
        report.played_at,
        report.termination,
        teams(*((" ".join(side.players), side.place, side.points) for side in report.teams)),
    )


@pytest.mark.parametrize("seed", range(8))
def test_corrected_matches_are_as_if_reported_right_from_the_start(brisca, source, seed):
    make_bots(source)
    reports = season(seed)
    choice = random.Random(f"correct {seed}")
    wrong = choice.sample(range(len(reports)), 8)
    rights = [*reports]
    for number in wrong:
        rights[number] = reported_otherwise(reports[number], choice)
    with undone():
        record(*sorted(rights, key=lambda report: report.played_at), source=source)
        expected = everything_of(brisca)
    record(*reports, source=source)

    for number in wrong:
        correct(reports[number].external_id, right(rights[number]))
        assert_verified(brisca)

    assert everything_of(brisca) == expected


@pytest.mark.parametrize("seed", range(4))
def test_corrections_taken_back_leave_the_same_bytes(brisca, source, seed):
    make_bots(source)
    reports = season(seed)
    record(*reports, source=source)
    before = rows_of(brisca)
    choice = random.Random(f"back {seed}")
    wrong = choice.sample(reports, 6)
    facts = {report.external_id: facts_of(report.external_id) for report in wrong}

    for report in wrong:
        correct(report.external_id, right(reported_otherwise(report, choice)))
    for external_id in choice.sample(sorted(facts), len(facts)):
        correct(external_id, facts[external_id])

    assert rows_of(brisca) == before


EDITS = {
    "time before all": {"played_at": today(1)},
    "time after all": {"played_at": today(19)},
    "time of another match": {"played_at": today(12)},
    "termination": {"termination": "friendly"},
    "places": {"teams": [("ana lola", 2, Decimal(71)), ("pepa rita", 1, Decimal(49))]},
    "draw": {"teams": [("ana lola", 1, Decimal(60)), ("pepa rita", 1, Decimal(60))]},
    "points": {"teams": [("ana lola", 1, Decimal("70.50")), ("pepa rita", 2, None)]},
    "a player": {"teams": [("ana nueva", 1), ("pepa rita", 2)]},
    "partners": {"teams": [("ana rita", 1), ("pepa lola", 2)]},
    "shape": {"teams": [("ana", 1), ("pepa", 2), ("rita", 3)]},
    "everything": {
        "played_at": today(13, 30),
        "termination": "abandoned",
        "teams": [("nueva", 3), ("rita", 1)],
    },
}


@pytest.fixture
def evening(brisca, source):
    """A game in pairs, `m`, in the midst of duels; `nueva` is known and has not played yet."""
    record(
        duel("ana", "pepa", today(10), external_id="before"),
        make_report(
            [
                team("ana", "lola", place=1, points="71"),
                team("pepa", "rita", place=2, points="49"),
            ],
            at=today(11),
            external_id="m",
        ),
        duel("lola", "ana", today(12), external_id="after"),
        duel("pepa", "lola", today(14), external_id="last"),
        duel("nueva", "otra", today(14, 30), termination="friendly"),
        source=source,
    )
    return brisca


def as_correct(edit: Mapping) -> Correct:
    return Correct(**edit | ({"teams": teams(*edit["teams"])} if "teams" in edit else {}))


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_each_fact_can_be_corrected_and_corrected_back(evening, edit):
    before, facts = rows_of(evening), facts_of("m")

    [correction] = correct("m", as_correct(edit))
    corrected = facts_of("m")
    assert_verified(evening)
    changed = rows_of(evening)
    correct("m", facts)

    assert correction.kind == "correct"
    assert corrected == Correct(
        edit.get("played_at", facts.played_at),
        edit.get("termination", facts.termination),
        teams(*((*side, None)[:3] for side in edit["teams"])) if "teams" in edit else facts.teams,
    )
    assert changed != before
    assert rows_of(evening) == before
    assert_verified(evening)


def test_great_ties_keep_their_segments_through_a_void_and_back(brisca, source, monkeypatch):
    monkeypatch.setattr(segments, "LONGEST_WALK", 8)
    monkeypatch.setattr(segments, "SEGMENT", 4)
    monkeypatch.setattr(standings, "LONGEST_WALK", 8)
    record(
        *(draw(f"p{n}", f"q{n}", today(1, n), external_id=f"m{n}") for n in range(12)),
        source=source,
    )
    before = rows_of(brisca)
    assert TieSegment.objects.filter(game=brisca).count() > 4

    void("m3", "m7")
    assert_verified(brisca)
    assert sum(TieSegment.objects.values_list("people", flat=True)) == 2 * 20
    restore("m7", "m3")

    assert rows_of(brisca) == before


def test_matches_of_equal_times_keep_their_order_through_corrections(brisca, source):
    """By their ids, as they were accepted: whoever is put back comes before the later ones."""
    record(
        duel("ana", "pepa", today(10), external_id="m1"),
        duel("pepa", "lola", today(10), external_id="m2"),
        duel("lola", "ana", today(10), external_id="m3"),
        source=source,
    )
    before = rows_of(brisca)

    void("m1")
    restore("m1")
    restored = rows_of(brisca)
    correct("m2", Correct(played_at=today(11)))
    moved = rows_of(brisca)
    correct("m2", Correct(played_at=today(10)))

    assert restored == before
    assert moved != before
    assert rows_of(brisca) == before
    assert_verified(brisca)


def test_rating_without_matches_is_removed_and_comes_back(brisca, source):
    record(
        duel("ana", "pepa", today(10), external_id="m1"),
        duel("lola", "rita", today(11)),
        source=source,
    )
    before = rows_of(brisca)

    void("m1")

    assert set(ratings_of(brisca)) == {"lola", "rita"}
    assert sum(counts_of(brisca).values()) == 4
    assert_verified(brisca)
    restore("m1")
    assert rows_of(brisca) == before


def test_void_match_can_be_corrected_and_counts_so_when_restored(brisca, source):
    record(
        duel("ana", "pepa", today(10), external_id="m1"),
        duel("ana", "pepa", today(11)),
        source=source,
    )
    with undone():
        correct("m1", Correct(teams=teams(("pepa", 1), ("ana", 2))))
        expected = rows_of(brisca)
    void("m1")
    ratings = ratings_of(brisca)

    [correction] = correct("m1", Correct(teams=teams(("pepa", 1), ("ana", 2))))

    assert (ledger_of(brisca)["m1"][0], ratings_of(brisca)) == ("void", ratings)
    assert [it.after["status"] for it in correction.matches.all()] == ["void"]
    restore("m1")
    assert rows_of(brisca) == expected


def test_void_friendly_match_is_friendly_again_when_restored(brisca, source):
    record(
        duel("ana", "pepa", today(10), external_id="f", termination="friendly"),
        duel("ana", "pepa", today(11)),
        source=source,
    )
    before = rows_of(brisca)

    void("f")

    assert ledger_of(brisca)["f"][:2] == ("void", "")
    restore("f")
    assert ledger_of(brisca)["f"][:2] == ("unrated", "friendly")
    assert rows_of(brisca) == before


# Public reports


def test_counters_and_ratings_after_a_void_equal_a_rebuild(brisca, source):
    """BL-025."""
    reports = [
        duel("player_1", f"o{n}", today(9, n), external_id=f"m{n}")
        if n % 3
        else duel(f"o{n}", "player_1", today(9, n), external_id=f"m{n}")
        for n in range(9)
    ]
    record(*reports, source=source)
    assert (ratings_of(brisca)["player_1"]["won"], ratings_of(brisca)["player_1"]["lost"]) == (6, 3)

    void("m1", "m5")

    one = Rating.objects.get(player__handle="player_1")
    assert (one.matches, one.won, one.drawn, one.lost) == (7, 4, 0, 3)
    ratings, board = ratings_of(brisca), Board(brisca)
    assert board.listed() == len(ratings) == 8
    history.rerate_whole_game("brisca")
    assert ratings_of(brisca) == ratings
    version = versions()["brisca"]
    assert void("m1", "m5") == []
    assert versions()["brisca"] == version


def test_peak_is_found_anew_after_a_void(brisca, source):
    """BL-027."""
    record(
        duel("player_1", "a", today(9), external_id="won"),
        duel("b", "player_1", today(10), external_id="lost"),
        source=source,
    )
    assert ratings_of(brisca)["player_1"]["peak_elo"] == 1216.0

    void("won")

    one = ratings_of(brisca)["player_1"]
    assert (one["elo"], one["peak_elo"], one["peak_at"]) == (1184.0, 1184.0, today(10))
    assert (one["won"], one["lost"]) == (0, 1)


def test_void_rates_no_match_that_was_not_to_be_rated(brisca, source):
    """BL-029."""
    record(
        duel("ana", "pepa", today(9), external_id="m1"),
        duel("ana", "pepa", today(10), external_id="m2", termination="friendly"),
        duel("ana", "pepa", today(11), external_id="m3", termination="friendly"),
        duel("ana", "pepa", today(12), external_id="m4"),
        source=source,
    )
    Match.objects.filter(external_id="m3").update(status="waiting", reason="", termination="normal")

    [correction] = void("m1")

    after = ledger_of(brisca)
    assert {id: row[:2] for id, row in after.items()} == {
        "m1": ("void", ""),
        "m2": ("unrated", "friendly"),
        "m3": ("waiting", ""),
        "m4": ("rated", ""),
    }
    assert after["m4"][2]["ana"][::3] == (1200.0, 1216.0)
    assert {six for id in ("m2", "m3") for six in after[id][2].values()} == {(None,) * 6}
    assert (ratings_of(brisca)["ana"]["won"], correction.rerated) == (1, 2)
    assert ratings_of(brisca)["ana"]["last_played_at"] == today(12)


# Reasons that follow from history


def test_void_makes_room_below_the_limit_of_a_day(brisca, source):
    record(
        *(duel("ana", "pepa", today(10, n), external_id=f"m{n}") for n in range(22)), source=source
    )
    before = rows_of(brisca)

    void("m4")
    after_one = [id for id, row in ledger_of(brisca).items() if row[1] == "pair_limit"]
    void("m7")
    after_two = [id for id, row in ledger_of(brisca).items() if row[1] == "pair_limit"]
    assert_verified(brisca)
    restore("m4", "m7")

    assert (after_one, after_two) == (["m21"], [])
    assert rows_of(brisca) == before


def test_correction_of_a_time_moves_a_match_out_of_the_limit(brisca, source):
    record(
        *(duel("ana", "pepa", today(10, n), external_id=f"m{n}") for n in range(21)), source=source
    )
    assert ledger_of(brisca)["m20"][:2] == ("unrated", "pair_limit")

    correct("m3", Correct(played_at=today(10) - timedelta(days=1)))

    assert ledger_of(brisca)["m20"][:2] == ("rated", "")
    assert ratings_of(brisca)["ana"]["won"] == 21
    assert_verified(brisca)


def test_correction_of_players_moves_a_match_into_the_limit(brisca, source):
    record(
        duel("ana", "lola", today(9), external_id="wrong"),
        *(duel("ana", "pepa", today(10, n), external_id=f"m{n}") for n in range(20)),
        source=source,
    )

    correct("wrong", Correct(teams=teams(("ana", 1), ("pepa", 2))))

    assert ledger_of(brisca)["m19"][:2] == ("unrated", "pair_limit")
    assert set(ratings_of(brisca)) == {"ana", "pepa"}
    assert_verified(brisca)


def test_correction_of_players_decides_anew_who_owns_whom(brisca, source):
    make_bots(source)  # bot-1 and bot-2 are one author's
    record(
        duel("bot-1", "bot-3", today(9), external_id="m"),
        duel("bot-2", "bot-4", today(9, 30)),
        source=source,
    )
    before = rows_of(brisca)

    correct("m", Correct(teams=teams(("bot-1", 1), ("bot-2", 2))))

    assert ledger_of(brisca)["m"][:2] == ("unrated", "same_owner")
    assert set(ratings_of(brisca)) == {"bot-2", "bot-4"}
    assert_verified(brisca)
    correct("m", Correct(teams=teams(("bot-1", 1), ("bot-3", 2))))
    assert rows_of(brisca) == before


def test_player_of_a_corrected_match_keeps_the_owner_of_its_day(brisca, source):
    """A newcomer to the match brings the owner of today."""
    make_bots(source)
    record(duel("bot-1", "bot-3", today(9), external_id="m"), source=source)
    author = User.objects.get(username="author")
    Player.objects.filter(handle="bot-1").update(owner=None)
    Player.objects.filter(handle__in=["bot-3", "bot-4"]).update(owner=author)
    record(duel("bot-4", "otra", today(10)), source=source)

    correct("m", Correct(teams=teams(("bot-3", 1), ("bot-1", 2))))
    kept = ledger_of(brisca)["m"][:2]
    correct("m", Correct(teams=teams(("bot-4", 1), ("bot-1", 2))))

    assert kept == ("rated", "")
    assert ledger_of(brisca)["m"][:2] == ("unrated", "same_owner")
    owners = Participation.objects.filter(match__external_id="m")
    assert dict(owners.values_list("player__handle", "owner__username")) == {
        "bot-1": "author",
        "bot-4": "author",
    }


# What a correction keeps


def test_void_says_who_when_why_and_what(evening, staff):
    begin = datetime.now(UTC)

    [correction] = history.void_matches(
        [match_id("m"), match_id("last")], by=staff, reason="fair_play", note="Seen on the tapes."
    )

    correction = Correction.objects.get(pk=correction.pk)
    assert (correction.game, correction.kind, correction.reason) == (evening, "void", "fair_play")
    assert (correction.note, correction.made_by) == ("Seen on the tapes.", staff)
    assert begin <= correction.made_at <= datetime.now(UTC)
    assert correction.rerated == 2  # "after", and the friendly at the end
    ids = {handle: player_id(handle) for handle in ("ana", "lola", "pepa", "rita")}
    pair = {
        "status": "rated",
        "played_at": "2026-07-06T11:00:00+00:00",
        "termination": "normal",
        "teams": [
            [1, "71.00", [ids["ana"], ids["lola"]]],
            [2, "49.00", [ids["pepa"], ids["rita"]]],
        ],
    }
    last = {
        "status": "rated",
        "played_at": "2026-07-06T14:00:00+00:00",
        "termination": "normal",
        "teams": [[1, None, [ids["pepa"]]], [2, None, [ids["lola"]]]],
    }
    kept = {row.match_id: (row.before, row.after) for row in correction.matches.all()}
    assert kept == {
        match_id("m"): (pair, pair | {"status": "void"}),
        match_id("last"): (last, last | {"status": "void"}),
    }


def test_restore_says_what_the_matches_became(brisca, source):
    record(
        *(duel("ana", "pepa", today(10, n), external_id=f"m{n}") for n in range(22)), source=source
    )
    void("m0", "m21")

    [correction] = restore("m0", "m21")

    kept = {row.match.external_id: row for row in correction.matches.select_related("match")}
    assert {id: row.before["status"] for id, row in kept.items()} == {"m0": "void", "m21": "void"}
    assert {id: row.after["status"] for id, row in kept.items()} == {
        "m0": "rated",
        "m21": "unrated",
    }
    assert (correction.kind, correction.reason, correction.rerated) == ("restore", "mistake", 20)


def test_correction_says_what_was_and_what_is(evening):
    [correction] = correct(
        "m",
        Correct(
            datetime(2026, 7, 6, 15, 45, tzinfo=ZoneInfo("Europe/Madrid")),
            "abandoned",
            teams(("nueva", 1, Decimal("7.5")), ("rita", 3)),
        ),
    )

    kept = CorrectedMatch.objects.get(correction=correction)
    assert kept.before["teams"][0][:2] == [1, "71.00"]
    assert kept.after == {
        "status": "rated",
        "played_at": "2026-07-06T13:45:00+00:00",
        "termination": "abandoned",
        "teams": [[1, "7.50", [player_id("nueva")]], [3, None, [player_id("rita")]]],
    }
    # What was reported stays what it was: by it a repeated report is recognised.
    assert Match.objects.get(external_id="m").report["played_at"] == "2026-07-06T11:00:00Z"


def test_report_of_a_corrected_match_is_repeated_and_changes_nothing(evening, source):
    repeated = make_report(
        [team("ana", "lola", place=1, points="71"), team("pepa", "rita", place=2, points="49")],
        at=today(11),
        external_id="m",
    )
    correct("m", Correct(played_at=today(13), teams=teams(("pepa", 1), ("rita", 2))))
    before = rows_of(evening)

    [receipt] = record_matches([repeated], source=source, at=NOW)

    assert (receipt.answer.value, receipt.match_id) == ("repeated", match_id("m"))
    assert rows_of(evening) == before


# Several games at once


def test_matches_of_several_games_change_together(source):
    games = [open_game(slug) for slug in ("brisca", "tute", "cinquillo")]
    for game in games:
        record(
            duel("ana", "pepa", today(9), external_id=f"{game.slug}-1", game=game.slug),
            duel("ana", "pepa", today(10), external_id=f"{game.slug}-2", game=game.slug),
            source=source,
        )
    before, rows = versions(), {game.slug: rows_of(game) for game in games}

    corrections = void("brisca-1", "tute-2")

    assert [(it.game.slug, it.rerated, it.matches.count()) for it in corrections] == [
        ("brisca", 1, 1),
        ("tute", 0, 1),
    ]
    changes = {slug: version - before[slug] for slug, version in versions().items()}
    assert {slug for slug, change in changes.items() if change} == {"brisca", "tute"}
    assert set(changes.values()) == {0, 1}
    assert rows_of(games[2]) == rows["cinquillo"]
    assert_verified(*games)


def test_matches_of_several_games_are_refused_together(source):
    """The second game in the order of the locks holds a match that waits."""
    games = [open_game(slug) for slug in ("brisca", "tute")]
    for game in games:
        record(duel("ana", "pepa", external_id=game.slug, game=game.slug), source=source)
    Match.objects.filter(external_id="tute").update(status="waiting")
    Participation.objects.filter(match__external_id="tute").update(
        **dict.fromkeys(ledger.SKILL_COLUMNS)
    )
    before = [rows_of(game) for game in games]

    with pytest.raises(ReportError, match="still waits"):
        void("brisca", "tute")

    assert [rows_of(game) for game in games] == before
    assert not Correction.objects.exists()


# Nothing to do


@pytest.mark.parametrize(
    "change",
    [
        lambda: void("void"),
        lambda: restore("m", "after"),
        lambda: history.void_matches([], by=None, reason=WRONG),
        lambda: correct("m", Correct()),
        lambda: correct("m", facts_of("m")),
        lambda: correct("m", Correct(teams=facts_of("m").teams[::-1])),
        lambda: correct(
            "m",
            Correct(teams=teams(("lola ana", 1, Decimal("71.0")), ("rita pepa", 2, Decimal("49")))),
        ),
        lambda: correct(
            "m", Correct(played_at=datetime(2026, 7, 6, 13, tzinfo=ZoneInfo("Europe/Madrid")))
        ),
        lambda: correct("void", facts_of("void")),
    ],
    ids=[
        "void again",
        "restore what stands",
        "void nothing",
        "correct nothing",
        "the same facts",
        "teams the other way round",
        "members and decimals otherwise",
        "time of another zone",
        "a void match as it is",
    ],
)
def test_change_to_what_is_so_already_does_nothing(evening, source, change):
    record(duel("ana", "lola", today(15), external_id="void"), source=source)
    void("void")
    before, rows, version = rows_of(evening), count_rows(), versions()

    corrections = change()

    assert corrections == []
    assert (rows_of(evening), count_rows(), versions()) == (before, rows, version)


def test_time_in_the_repeated_hour_of_autumn_is_the_same_time(brisca, source):
    """Python holds such a time to be unequal to every time of another zone."""
    moment = datetime(2025, 10, 26, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Madrid"))
    record(duel("ana", "pepa", moment.astimezone(UTC), external_id="m"), source=source)

    assert correct("m", Correct(played_at=moment)) == []


def test_change_leaves_alone_those_that_are_so_already(evening):
    void("last")

    [correction] = void("m", "last")

    assert [it.match_id for it in correction.matches.all()] == [match_id("m")]


# Refused


REFUSED = {
    "no such match": (
        lambda: history.void_matches([match_id("m"), 2**40], by=None, reason=WRONG),
        "There is no match 1099511627776.",
    ),
    "no such match to correct": (
        lambda: history.correct_match(0, Correct(), by=None, reason=WRONG),
        "There is no match 0.",
    ),
    "no such player": (
        lambda: correct("m", Correct(teams=[*teams(("ana", 1)), CorrectTeam([2**40], 2)])),
        "There is no player 1099511627776.",
    ),
    "a player twice": (
        lambda: correct("m", Correct(teams=teams(("ana lola", 1), ("pepa ana", 2)))),
        "A player is repeated: nobody plays twice in a match.",
    ),
    "one player": (
        lambda: correct("m", Correct(teams=teams(("ana", 1)))),
        "Unexpected number of players, 1: brisca has 2 to 4.",
    ),
    "no team": (
        lambda: correct("m", Correct(teams=[])),
        "Unexpected number of players, 0: brisca has 2 to 4.",
    ),
    "one team": (
        lambda: correct("m", Correct(teams=teams(("ana lola", 1)))),
        "Unexpected teams of 2 players: brisca is played solo, 2v2.",
    ),
    "an empty team": (
        lambda: correct("m", Correct(teams=[*teams(("ana", 1), ("pepa", 2)), CorrectTeam([], 3)])),
        "Unexpected players [] in team 3: a list of ids is needed.",
    ),
    "shape": (
        lambda: correct("m", Correct(teams=teams(("ana lola pepa", 1), ("rita", 2)))),
        "Unexpected teams of 3 v 1 players: brisca is played solo, 2v2.",
    ),
    "place below one": (
        lambda: correct("m", Correct(teams=teams(("ana", 0), ("rita", 1)))),
        "Unexpected place 0 for team 1: places are whole, from 1.",
    ),
    "place between": (
        lambda: correct("m", Correct(teams=teams(("ana", 1), ("rita", 1.5)))),
        "Unexpected place 1.5 for team 2: places are whole, from 1.",
    ),
    "place of truth": (
        lambda: correct("m", Correct(teams=teams(("ana", True), ("rita", 2)))),
        "Unexpected place True for team 1: places are whole, from 1.",
    ),
    "points too fine": (
        lambda: correct("m", Correct(teams=teams(("ana", 1, Decimal("7.125")), ("rita", 2)))),
        'Unexpected points "7.125": a number with at most two decimals, up to 9999999.99, is '
        "needed.",
    ),
    "points too many": (
        lambda: correct("m", Correct(teams=teams(("ana", 1, Decimal("1e9")), ("rita", 2)))),
        'Unexpected points "1E+9": a number with at most two decimals, up to 9999999.99, is '
        "needed.",
    ),
    "points that are no number": (
        lambda: correct("m", Correct(teams=teams(("ana", 1, Decimal("NaN")), ("rita", 2)))),
        'Unexpected points "NaN": a number with at most two decimals, up to 9999999.99, is needed.',
    ),
    "time to come": (
        lambda: correct("m", Correct(played_at=NOW + timedelta(microseconds=1))),
        "Unexpected played_at 2026-07-06T20:00:00.000001+00:00: a moment that has been, with an "
        "offset.",
    ),
    "time without an offset": (
        lambda: correct("m", Correct(played_at=datetime(2026, 7, 6, 12))),
        "Unexpected played_at 2026-07-06T12:00:00: a moment that has been, with an offset.",
    ),
    "time before all": (
        lambda: correct("m", Correct(played_at=datetime(1, 1, 1, 5, tzinfo=UTC))),
        "Unexpected played_at 0001-01-01T05:00:00+00:00: the earliest year is 1000.",
    ),
    "termination": (
        lambda: correct("m", Correct(termination="void")),
        "Unexpected termination void: one of normal, abandoned, cancelled, friendly is needed.",
    ),
    "waiting match to void": (
        lambda: void("m", "waits"),
        "Match {waits} still waits for its place in history: try again soon.",
    ),
    "waiting match to restore": (
        lambda: restore("waits"),
        "Match {waits} still waits for its place in history: try again soon.",
    ),
    "waiting match to correct": (
        lambda: correct("waits", Correct(termination="friendly")),
        "Match {waits} still waits for its place in history: try again soon.",
    ),
}


@pytest.mark.parametrize(("change", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_change_against_the_rules_is_refused_and_changes_nothing(evening, source, change, problem):
    record(
        duel("ana", "lola", today(15), external_id="waits", termination="friendly"), source=source
    )
    Match.objects.filter(external_id="waits").update(
        status="waiting", reason="", termination="normal"
    )
    before, rows, version = rows_of(evening), count_rows(), versions()

    with pytest.raises(ReportError) as refused:
        change()

    assert refused.value.problems == (problem.format(waits=match_id("waits")),)
    assert (rows_of(evening), count_rows(), versions()) == (before, rows, version)


def test_every_problem_of_a_correction_is_named(evening):
    with pytest.raises(ReportError) as refused:
        correct(
            "m",
            Correct(
                NOW + timedelta(days=1),
                "finished",
                [CorrectTeam([player_id("ana"), 0], 0, Decimal("0.001")), CorrectTeam([], 2)],
            ),
        )

    assert len(refused.value.problems) == 7


def test_change_for_a_reason_that_is_not_on_the_list_is_refused(evening):
    before = rows_of(evening)

    with pytest.raises(IntegrityError), transaction.atomic():
        history.void_matches([match_id("m")], by=None, reason="because")

    assert rows_of(evening) == before


WRITES = ["update_matches", "edit_matches", "write_ratings", "announce"]


class Crash(Exception):
    pass


@pytest.mark.parametrize("write", WRITES)
def test_correction_that_fails_at_any_step_leaves_everything_as_it_was(evening, monkeypatch, write):
    before, rows, version = rows_of(evening), count_rows(), versions()
    proposal = history.correct(match_id("m"), as_correct(EDITS["everything"]))

    def crash(*_args, **_kwargs):
        raise Crash

    with monkeypatch.context() as broken:
        broken.setattr(ledger, write, crash)
        with pytest.raises(Crash), transaction.atomic():
            history.carry_out(proposal, by=None, reason=WRONG, at=NOW)

    assert (rows_of(evening), count_rows(), versions()) == (before, rows, version)
    assert len(history.carry_out(proposal, by=None, reason=WRONG, at=NOW)) == 1
    assert_verified(evening)


# Previews


def top(game, system):
    return [row.rating.player_id for row in Board(game, system, page_size=10).page(1).rows]


def previewed(proposal, game):
    [shown] = history.preview(proposal, at=NOW)
    assert shown.game == game
    return shown


def crowd(source, seed):
    """A season among its eight and two dozen more, some of them off the board."""
    make_bots(source)
    choice = random.Random(f"crowd {seed}")
    names = [f"p{number}" for number in range(24)]
    more = []
    for minute in range(40):
        one, other = choice.sample(names, 2)
        at = MONDAY - timedelta(days=choice.choice([1, 2, 90]), minutes=minute)
        more.append(duel(one, other, at))
    reports = sorted([*season(seed), *more], key=lambda report: report.played_at)
    record(*reports, source=source)
    return reports


@pytest.mark.parametrize("kind", ["void", "restore", "correct"])
@pytest.mark.parametrize("seed", range(4))
def test_preview_tells_exactly_what_is_then_done(source, seed, kind):
    game = open_game("brisca", idle_days=60)
    reports = crowd(source, seed)
    choice = random.Random(f"preview {kind} {seed}")
    chosen = choice.sample(reports, 1 if kind == "correct" else 15)
    ids = [match_id(report.external_id) for report in chosen]
    Player.objects.filter(handle__in=["p3", "p5"]).update(status=PlayerStatus.HIDDEN)
    history.rerate_whole_game("brisca")
    if kind == "correct":
        to_be = reported_otherwise(chosen[0], choice)
        while right(to_be) == facts_of(to_be.external_id):
            to_be = reported_otherwise(chosen[0], choice)
        proposal = history.correct(ids[0], right(to_be))
    elif kind == "void":
        proposal = history.void(ids)
    else:
        history.void_matches(ids, by=None, reason=WRONG)
        proposal = history.restore(ids)
    before, rows, ratings = rows_of(game), count_rows(), by_player(game)
    tops = {system.value: top(game, system) for system in System}

    shown = previewed(proposal, game)
    assert (rows_of(game), count_rows()) == (before, rows)
    [correction] = history.carry_out(
        proposal, by=None, reason=WRONG, expected={"brisca": shown.version}, at=NOW
    )

    after = by_player(game)
    changed = {p for p in ratings.keys() | after.keys() if ratings.get(p) != after.get(p)}
    assert shown.players == len(changed)
    assert (shown.matches, shown.rerated) == (len(ids), correction.rerated)
    assert shown.matches == correction.matches.count()
    moves = sorted(
        changed, key=lambda player: (-abs(elo(after, player) - elo(ratings, player)), player)
    )
    assert [(it.player_id, it.elo_before, it.elo_after) for it in shown.movers] == [
        (player, stored_elo(ratings, player), stored_elo(after, player)) for player in moves[:10]
    ]
    assert [it.change for it in shown.movers] == [
        elo(after, player) - elo(ratings, player) for player in moves[:10]
    ]
    assert shown.top == {system.value: (tops[system.value], top(game, system)) for system in System}
    assert len(tops["elo"]) == 10
    assert_verified(game)


def by_player(game):
    """Every rating as far as a re-rating may change it."""
    return {
        rating.player_id: (rating.elo, rating.mu, rating.sigma_settled, rating.won, rating.drawn,
                           rating.lost, rating.peak_elo, rating.peak_at, rating.last_played_at)
        for rating in Rating.objects.filter(game=game)
    }  # fmt: skip


def stored_elo(ratings, player):
    return ratings[player][0] if player in ratings else None


def elo(ratings, player):
    return ratings[player][0] if player in ratings else 1200.0


def test_preview_of_a_rating_that_comes_and_one_that_goes(evening):
    shown = previewed(
        history.correct(match_id("m"), Correct(teams=teams(("ana", 1), ("nueva", 2)))), evening
    )

    movers = {it.player_id: (it.elo_before, it.elo_after) for it in shown.movers}
    before, after = movers[player_id("rita")]
    assert before is not None
    assert after is None
    before, after = movers[player_id("nueva")]
    assert before is None
    assert after < 1200
    for old, new in shown.top.values():
        assert player_id("rita") in old
        assert player_id("rita") not in new
        assert player_id("nueva") in new


def test_preview_of_nothing_to_do_shows_that(evening):
    shown = previewed(history.restore([match_id("m")]), evening)

    assert (shown.matches, shown.rerated, shown.players, shown.movers) == (0, 0, 0, [])
    assert shown.top == {s.value: (top(evening, s), top(evening, s)) for s in System}
    assert shown.version == versions()["brisca"]


def test_preview_goes_game_by_game(source):
    games = [open_game("tute"), open_game("brisca")]
    for game in games:
        record(duel("ana", "pepa", external_id=game.slug, game=game.slug), source=source)

    shown = history.preview(history.void([match_id("tute"), match_id("brisca")]))

    assert [it.game.slug for it in shown] == ["brisca", "tute"]
    assert [it.players for it in shown] == [2, 2]


def test_preview_refuses_what_carrying_out_would_refuse(evening):
    with pytest.raises(ReportError, match="Unexpected place 0"):
        history.preview(
            history.correct(match_id("m"), Correct(teams=teams(("ana", 0), ("pepa", 1))))
        )


@pytest.mark.django_db(transaction=True)
def test_preview_takes_no_lock_and_waits_for_none():
    game = open_game("brisca")
    source = make_source()
    record(
        duel("ana", "pepa", today(9), external_id="m1"), duel("ana", "pepa", today(10)),
        source=source,
    )  # fmt: skip
    proposal = history.void([match_id("m1")])
    expected = history.preview(proposal)
    shown = []

    def look():
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '100ms'")
            shown.extend(history.preview(proposal))
        finally:
            connection.close()

    with transaction.atomic():
        ledger.lock_games(["brisca"])
        record(duel("pepa", "ana", today(11)), source=source)  # not committed yet
        reader = Thread(target=look)
        reader.start()
        reader.join(timeout=30)
        transaction.set_rollback(True)

    assert shown == expected
    assert GameState.objects.get(game=game).version == 1


# Confirming


def test_confirming_a_preview_that_is_no_longer_true_is_refused_with_a_fresh_one(evening, source):
    proposal = history.void([match_id("m")])
    old = previewed(proposal, evening)
    record(duel("rita", "ana", today(16)), source=source)
    before, rows, version = rows_of(evening), count_rows(), versions()

    with pytest.raises(HistoryMoved) as moved:
        history.carry_out(proposal, by=None, reason=WRONG, expected={"brisca": old.version})

    assert (rows_of(evening), count_rows(), versions()) == (before, rows, version)
    [fresh] = moved.value.previews
    assert (fresh.version, fresh.rerated) == (old.version + 1, old.rerated + 1)
    assert fresh == previewed(proposal, evening)
    [correction] = history.carry_out(
        proposal, by=None, reason=WRONG, expected={"brisca": fresh.version}
    )
    assert correction.rerated == fresh.rerated


@pytest.fixture
def meanwhile(monkeypatch):
    """What others do once, in their own connection, before a change has its lock."""
    monkeypatch.setattr(rerating, "MOST_RERATED", 0)

    def do(what):
        real, jobs = ledger.lock_games, [what]

        def lock_games(*args, **kwargs):
            if jobs:
                elsewhere(jobs.pop())
            return real(*args, **kwargs)

        monkeypatch.setattr(ledger, "lock_games", lock_games)
        return jobs

    return do


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["from a snapshot"], indirect=True)
def test_report_that_comes_while_a_confirmed_change_is_worked_out_counts_too(way, meanwhile):
    """The version was the one shown when it began; else a busy game could never be changed."""
    game, source = open_game("brisca"), make_source()
    record(*season(3), source=source)
    ids = list(Match.objects.filter(status="rated").values_list("pk", flat=True)[:9])
    shown = previewed(history.void(ids), game)
    jobs = meanwhile(lambda: record(duel("ana", "nueva", today(18)), source=source))

    [correction] = history.void_matches(
        ids, by=None, reason=WRONG, expected={"brisca": shown.version}
    )

    assert jobs == []
    assert correction.rerated > shown.rerated
    assert_verified(game)
    assert Rating.objects.filter(game=game, player__handle="nueva").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["from a snapshot"], indirect=True)
def test_change_whose_history_is_rewritten_while_it_is_worked_out_is_refused(way, meanwhile):
    game, source = open_game("brisca"), make_source()
    record(*season(3), source=source)
    ids = list(Match.objects.filter(status="rated").values_list("pk", flat=True)[:9])
    shown = previewed(history.void(ids), game)
    jobs = meanwhile(lambda: history.void_matches(ids[:2], by=None, reason=MISTAKE))

    with pytest.raises(HistoryMoved) as moved:
        history.void_matches(ids, by=None, reason=WRONG, expected={"brisca": shown.version})

    assert jobs == []
    assert [each.matches for each in moved.value.previews] == [7]
    assert Correction.objects.count() == 1
    assert_verified(game)


def test_confirming_after_the_weekly_decay_is_refused(evening):
    shown = previewed(history.void([match_id("m")]), evening)
    apply_decay(MONDAY + timedelta(weeks=1))

    with pytest.raises(HistoryMoved):
        void("m", expected={"brisca": shown.version})


def test_confirming_needs_the_version_of_every_game(source):
    for slug in ("brisca", "tute"):
        open_game(slug)
        record(duel("ana", "pepa", external_id=slug, game=slug), source=source)
    shown = history.preview(history.void([match_id("brisca"), match_id("tute")]))
    expected = {it.game.slug: it.version for it in shown}

    with pytest.raises(HistoryMoved) as moved:
        void("brisca", "tute", expected={"brisca": expected["brisca"]})

    assert len(moved.value.previews) == 2
    assert set(Match.objects.values_list("status", flat=True)) == {"rated"}
    assert len(void("brisca", "tute", expected=expected)) == 2


# Whom a quarantine finds


@pytest.fixture
def mixed(source):
    """Matches of two sources, of two games, over some days; one void and one waiting."""
    open_game("brisca")
    open_game("tute")
    other = make_source("mesa-2")
    record(
        duel("ana", "pepa", today(9), external_id="a-p"),
        make_report(
            [team("ana", "lola", place=1), team("pepa", "rita", place=2)],
            at=today(10),
            external_id="pairs",
        ),
        duel("ana", "pepa", today(11), external_id="f", termination="friendly"),
        duel("ana", "pepa", today(12), external_id="v"),
        duel("ana", "pepa", today(13), external_id="w", termination="friendly"),
        duel("ana", "lola", today(14), external_id="tute", game="tute"),
        source=source,
    )
    record(duel("ana", "pepa", today(15), external_id="other"), source=other)
    void("v")
    Match.objects.filter(external_id="w").update(status="waiting", reason="", termination="normal")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"source": "mesa-1"}, "a-p pairs f tute"),
        ({"source": "mesa-2"}, "other"),
        ({"source": "mesa-3"}, ""),
        ({"source": "mesa-1", "game": "tute"}, "tute"),
        ({"since": today(10), "until": today(14)}, "pairs f"),
        ({"since": today(11), "source": "mesa-1"}, "f tute"),
        ({"until": today(9, 0, 1)}, "a-p"),
        ({"players": ["lola"]}, "pairs tute"),
        ({"players": ["lola", "ana"]}, "pairs tute"),
        ({"players": ["lola", "rita"], "game": "brisca"}, "pairs"),
        ({"players": ["lola", "nadie"]}, ""),
        ({"players": ["ana"], "source": "mesa-1", "until": today(11)}, "a-p pairs"),
    ],
    ids=str,
)
def test_quarantine_finds_the_matches_that_stand(mixed, wanted, found):
    ids = history.find_matches(**wanted)

    names = [Match.objects.get(pk=id).external_id for id in ids]
    assert sorted(names) == sorted(found.split())


@pytest.mark.parametrize("wanted", [{}, {"game": "brisca"}, {"players": []}])
def test_quarantine_of_everything_is_refused(mixed, wanted):
    with pytest.raises(ValueError, match="this would be every match"):
        history.find_matches(**wanted)


def test_quarantined_players_own_bots_and_all_are_off_the_board(source):
    game = open_game("brisca")
    create_bot(handle="bot-1", name="bot-1", source=source)
    forger = make_source("forger")
    record(duel("ana", "pepa", today(9)), duel("bot-1", "ana", today(12)), source=source)
    with undone():
        expected = everything_of(game)
    record(
        duel("x", "y", today(10)), duel("x", "z", today(11)), duel("z", "y", today(13)),
        source=forger,
    )  # fmt: skip

    ids = history.find_matches(source="forger")
    history.void_matches(ids, by=None, reason="forged")

    after = everything_of(game)
    voided = {id for id, row in after[1].items() if row[0] == "void"}
    assert len(voided) == 3
    assert without(after, voided) == expected
