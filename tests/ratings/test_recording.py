"""record_matches: receipts, repeats and conflicts, and what is refused."""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from ratings import history
from ratings.ledger import CHANNEL
from ratings.models import (
    Game,
    GameState,
    Match,
    Participation,
    Player,
    PlayerAlias,
    PlayerStatus,
    Rating,
    User,
)
from ratings.players import create_bot
from ratings.recording import API_MAX_AGE, Answer, Receipt, record_matches
from ratings.reports import parse_report
from ratings.systems.match import START
from tests.ratings.builders import (
    NOW,
    count_rows,
    draw,
    duel,
    everything_of,
    make_report,
    make_source,
    open_game,
    ratings_of,
    record,
    team,
    today,
    undone,
)

pytestmark = pytest.mark.django_db

SENT = {
    "game": "brisca",
    "external_id": "srv1-000123",
    "played_at": "2026-07-06T18:00:00Z",
    "termination": "normal",
    "teams": [
        {"players": ["ana", "begoña"], "place": 1, "points": 71},
        {"players": ["pepa_4", "lola"], "place": 2, "points": 49.5},
    ],
}
NEW_MU, NEW_SIGMA = 27.6372798316677, 8.070625245679999  # of a newcomer who beats another


@pytest.fixture
def brisca():
    return open_game("brisca")


@pytest.fixture
def source(brisca):
    return make_source()


def as_decimals(sent):
    """A report as load_json gives it: numbers with a point are decimals."""
    teams = [
        team | ({"points": Decimal(str(team["points"]))} if "points" in team else {})
        for team in sent["teams"]
    ]
    return parse_report(sent | {"teams": teams})


def versions():
    return dict(GameState.objects.values_list("game__slug", "version"))


def test_new_report_is_stored_and_rated(brisca, source):
    report = make_report(
        [team("pepa", place=2, points="49"), team("ana", place=1, points="71")],
        at=today(18),
        external_id="srv1-000123",
    )

    [receipt] = record_matches([report], source=source, at=NOW)

    match = Match.objects.get()
    ana, pepa = Player.objects.get(handle="ana"), Player.objects.get(handle="pepa")
    assert receipt.answer == Answer.RECORDED
    assert receipt.match_id == match.pk
    assert receipt.reason == ""
    assert receipt.problems == ()
    assert [change.player for change in receipt.changes] == [pepa.pk, ana.pk]
    assert [change.before for change in receipt.changes] == [START, START]
    assert [change.after[0] for change in receipt.changes] == [1184.0, 1216.0]
    assert receipt.changes[1].after[1:] == pytest.approx((NEW_MU, NEW_SIGMA), abs=1e-11)
    assert (match.game, match.source, match.external_id) == (brisca, source, "srv1-000123")
    assert (match.played_at, match.received_at) == (today(18), NOW)
    assert (match.status, match.reason, match.termination) == ("rated", "", "normal")
    assert match.players == sorted([ana.pk, pepa.pk])
    rows = Participation.objects.order_by("id")
    assert [
        (row.player, row.team, row.place, row.points, row.owner, row.game, row.played_at)
        for row in rows
    ] == [
        (pepa, 1, 2, Decimal("49.00"), None, brisca, today(18)),
        (ana, 2, 1, Decimal("71.00"), None, brisca, today(18)),
    ]
    assert [(row.elo_before, row.elo_after) for row in rows] == [(1200.0, 1184.0), (1200.0, 1216.0)]
    assert [((row.elo_before, row.mu_before, row.sigma_before), row.player_id) for row in rows] == [
        (START, pepa.pk),
        (START, ana.pk),
    ]
    assert [(row.elo_after, row.mu_after, row.sigma_after) for row in rows] == [
        change.after for change in receipt.changes
    ]


def test_new_report_makes_the_ratings_of_its_players(brisca, source):
    record(duel("ana", "pepa", today(18)), source=source)

    ratings = ratings_of(brisca)
    assert ratings.keys() == {"ana", "pepa"}
    ana = ratings["ana"]
    assert ana.pop("mu") == pytest.approx(NEW_MU, abs=1e-11)
    assert ana.pop("sigma") == ana.pop("sigma_settled") == pytest.approx(NEW_SIGMA, abs=1e-11)
    assert ana.pop("openskill") == pytest.approx(1582.2096982711, abs=1e-9)
    assert ana == {
        "elo": 1216.0,
        "elo_shown": 1216,
        "openskill_shown": 1582,
        "won": 1,
        "drawn": 0,
        "lost": 0,
        "peak_elo": 1216.0,
        "peak_at": today(18),
        "last_played_at": today(18),
        "is_bot": False,
        "is_listed": True,
    }
    assert {
        name: ratings["pepa"][name] for name in ("elo", "won", "drawn", "lost", "peak_elo")
    } == {
        "elo": 1184.0,
        "won": 0,
        "drawn": 0,
        "lost": 1,
        "peak_elo": 1184.0,
    }


@pytest.mark.parametrize(
    ("places", "won", "drawn", "lost"),
    [
        ((1, 2, 3), {"a"}, set(), {"b", "c"}),
        ((1, 1, 3), set(), {"a", "b"}, {"c"}),
        ((1, 2, 2), {"a"}, set(), {"b", "c"}),
        ((1, 1, 1), set(), {"a", "b", "c"}, set()),
        ((3, 2, 7), {"b"}, set(), {"a", "c"}),
    ],
)
def test_counters_say_alone_at_the_best_place_shared_or_else(
    brisca, source, places, won, drawn, lost
):
    teams = [team(player, place=place) for player, place in zip("abc", places, strict=True)]

    record(make_report(teams), source=source)

    ratings = ratings_of(brisca)
    assert {player for player, row in ratings.items() if row["won"]} == won
    assert {player for player, row in ratings.items() if row["drawn"]} == drawn
    assert {player for player, row in ratings.items() if row["lost"]} == lost
    assert all(row["won"] + row["drawn"] + row["lost"] == 1 for row in ratings.values())


def test_counters_of_a_pair_are_those_of_their_team(brisca, source):
    record(make_report([team("a", "b", place=1), team("c", "d", place=2)]), source=source)

    ratings = ratings_of(brisca)
    assert {player: (row["elo"], row["won"], row["lost"]) for player, row in ratings.items()} == {
        "a": (1216.0, 1, 0),
        "b": (1216.0, 1, 0),
        "c": (1184.0, 0, 1),
        "d": (1184.0, 0, 1),
    }


def test_places_with_gaps_and_without_a_first_count_by_their_order(brisca, source):
    outcomes = []
    for places in ((1, 2), (1, 3), (2, 3), (7, 1_000_000)):
        with undone():
            record(
                make_report([team("ana", place=places[0]), team("pepa", place=places[1])]),
                source=source,
            )
            outcomes.append(ratings_of(brisca))

    assert outcomes == [outcomes[0]] * 4
    assert outcomes[0]["ana"]["elo"] == 1216.0


def test_current_ratings_are_used_and_not_those_of_the_start(source):
    tute = open_game("tute")

    record(
        duel("b", "a", today(20, 30), game="tute"),
        duel("a", "c", today(20, 40), game="tute"),
        source=source,
        at=today(21),
    )

    elos = {player: row["elo"] for player, row in ratings_of(tute).items()}
    assert elos == pytest.approx({"a": 1200.7363, "b": 1216.0, "c": 1183.2637}, abs=1e-4)


def test_equal_times_are_ordered_as_the_batch_is(brisca, source):
    midnight = datetime(2026, 6, 6, tzinfo=UTC)
    with undone():
        record(duel("p3", "p17", midnight), duel("p9", "p17", midnight), source=source)
        as_listed = {player: row["elo"] for player, row in ratings_of(brisca).items()}

    record(duel("p9", "p17", midnight), duel("p3", "p17", midnight), source=source)
    reversed_ = {player: row["elo"] for player, row in ratings_of(brisca).items()}

    assert as_listed == pytest.approx({"p3": 1216.0, "p9": 1215.2637, "p17": 1168.7363}, abs=1e-4)
    assert reversed_ == pytest.approx({"p3": 1215.2637, "p9": 1216.0, "p17": 1168.7363}, abs=1e-4)


def test_batch_of_nothing_answers_nothing_and_changes_nothing(source):
    before = (count_rows(), versions())

    assert record_matches([], source=source, at=NOW) == []

    assert (count_rows(), versions()) == before


def test_batch_costs_the_same_queries_however_long_it_is(brisca, source):
    costs = []
    for count in (1, 30):
        reports = [
            duel(f"ana-{count}-{number}", f"pepa-{count}-{number}", today(10))
            for number in range(count)
        ]
        with CaptureQueriesContext(
            connection,
        ) as queries:
            record(*reports, source=source)
        costs.append(len(queries))

    assert costs[0] == costs[1]


# Repeats and conflicts


def test_report_that_was_recorded_is_repeated_with_nothing_stored(brisca, source):
    report = duel("ana", "pepa", today(18), external_id="m-1001")
    [first] = record(report, source=source)
    before = (count_rows(), everything_of(brisca), versions())

    [second] = record_matches([report], source=source, at=NOW + timedelta(seconds=1))

    assert second == Receipt(Answer.REPEATED, first.match_id)
    assert (count_rows(), everything_of(brisca), versions()) == before
    assert ratings_of(brisca)["ana"]["elo"] == 1216.0
    assert ratings_of(brisca)["pepa"]["elo"] == 1184.0


TEAM_1, TEAM_2 = SENT["teams"]
SAME = {
    "keys in another order": dict(reversed(SENT.items())),
    "teams in another order": SENT | {"teams": [TEAM_2, TEAM_1]},
    "members in another order": SENT | {"teams": [TEAM_1 | {"players": ["begoña", "ana"]}, TEAM_2]},
    "everything in another order": SENT
    | {
        "teams": [
            dict(reversed((TEAM_2 | {"players": ["lola", "pepa_4"]}).items())),
            TEAM_1 | {"players": ["begoña", "ana"]},
        ]
    },
    "points with decimals": SENT | {"teams": [TEAM_1 | {"points": "71.00"}, TEAM_2]},
    "points with a trailing zero": SENT | {"teams": [TEAM_1, TEAM_2 | {"points": "49.50"}]},
    "another offset": SENT | {"played_at": "2026-07-06T20:00:00+02:00"},
    "another writing of the time": SENT | {"played_at": "2026-07-06 18:00Z"},
    "ids in capitals": SENT | {"teams": [TEAM_1 | {"players": ["ANA", "BegoÑa"]}, TEAM_2]},
    "ids with blanks around": SENT | {"teams": [TEAM_1 | {"players": [" ana", "begoña "]}, TEAM_2]},
    "ids in pieces": SENT | {"teams": [TEAM_1 | {"players": ["ana", "begon\u0303a"]}, TEAM_2]},
    "without its default": {name: SENT[name] for name in SENT if name != "termination"},
}


@pytest.mark.parametrize("sent", SAME.values(), ids=SAME)
def test_report_that_says_the_same_otherwise_is_repeated(brisca, source, sent):
    [first] = record(as_decimals(SENT), source=source)
    before = (count_rows(), versions())

    [second] = record_matches([as_decimals(sent)], source=source, at=NOW)

    assert second == Receipt(Answer.REPEATED, first.match_id)
    assert (count_rows(), versions()) == before


DIFFERENT = {
    "played_at": SENT | {"played_at": "2026-07-06T18:00:00.000001Z"},
    "termination": SENT | {"termination": "abandoned"},
    "game": SENT | {"game": "tute"},
    "teams": SENT | {"teams": [TEAM_1 | {"place": 2}, TEAM_2 | {"place": 1}]},
    "teams (points)": SENT | {"teams": [TEAM_1 | {"points": 72}, TEAM_2]},
    "teams (no points)": SENT
    | {"teams": [{name: TEAM_1[name] for name in ("players", "place")}, TEAM_2]},
    "teams (a place)": SENT | {"teams": [TEAM_1, TEAM_2 | {"place": 3}]},
    "teams (partners)": SENT
    | {
        "teams": [
            TEAM_1 | {"players": ["ana", "lola"]},
            TEAM_2 | {"players": ["pepa_4", "begoña"]},
        ]
    },
    "teams (a stranger)": SENT | {"teams": [TEAM_1 | {"players": ["ana", "rita"]}, TEAM_2]},
    "played_at, termination": SENT
    | {"played_at": "2026-07-06T18:01:00Z", "termination": "friendly"},
    "played_at (absent)": {name: SENT[name] for name in SENT if name != "played_at"},
}


@pytest.mark.parametrize(("fields", "sent"), DIFFERENT.items(), ids=DIFFERENT)
def test_report_that_differs_is_a_conflict_that_names_the_difference(brisca, source, fields, sent):
    [first] = record(as_decimals(SENT), source=source)
    before = (count_rows(), everything_of(brisca), versions())

    [second] = record_matches([as_decimals(sent)], source=source, at=NOW)

    assert second.answer == Answer.CONFLICT
    assert second.match_id == first.match_id
    assert second.problems == [
        'Another result is stored under the external_id "srv1-000123": it differs in '
        f"{fields.partition(' (')[0]}."
    ]
    assert (count_rows(), everything_of(brisca), versions()) == before


def test_report_without_a_time_is_played_now_and_repeated_whenever_it_comes_again(brisca, source):
    report = duel("ana", "pepa", None)
    [first] = record(report, source=source, at=today(19))

    [second] = record_matches([report], source=source, at=today(23))

    assert Match.objects.get().played_at == today(19)
    assert second == Receipt(Answer.REPEATED, first.match_id)


@pytest.mark.parametrize("status", PlayerStatus.values)
def test_report_that_was_accepted_once_stays_accepted(brisca, source, status):
    report = duel("ana", "pepa", today(18))
    [first] = record(report, source=source)
    Player.objects.filter(handle="ana").update(status=status)
    source.games.set([open_game("tute")])
    Game.objects.filter(slug="brisca").update(shapes=["2v2"])

    [second] = record_matches(
        [report],
        source=source,
        at=NOW + timedelta(days=900),
        max_age=API_MAX_AGE,
        may_create_players=False,
    )

    assert second == Receipt(Answer.REPEATED, first.match_id)


def test_report_whose_match_was_voided_is_repeated_and_not_rated_again(brisca, source):
    report = duel("ana", "pepa", today(18))
    [first] = record(report, source=source)
    Participation.objects.update(
        elo_before=None, mu_before=None, sigma_before=None,
        elo_after=None, mu_after=None, sigma_after=None,
    )  # fmt: skip
    Match.objects.update(status="void")
    Rating.objects.all().delete()

    [second] = record_matches([report], source=source, at=NOW)

    assert second == Receipt(Answer.REPEATED, first.match_id)
    assert Match.objects.get().status == "void"
    assert not Rating.objects.exists()


def test_external_id_of_another_source_is_another_match(brisca, source):
    other = make_source("mesa-2")
    report = duel("ana", "pepa", today(18), external_id="m-1")

    record(report, source=source)
    record(report, source=other)

    assert Match.objects.filter(external_id="m-1").count() == 2


def test_external_id_in_capitals_is_another_match(brisca, source):
    record(duel("ana", "pepa", today(18), external_id="m-a"), source=source)
    record(duel("ana", "pepa", today(18), external_id="m-A"), source=source)

    assert Match.objects.count() == 2


def test_same_report_twice_in_a_batch_is_recorded_once(brisca, source):
    report = make_report([team("ana", place=1), team("pepa", place=2)], external_id="m-1")
    listed_otherwise = make_report([team("PEPA", place=2), team("ana", place=1)], external_id="m-1")

    first, second, third = record_matches([report, report, listed_otherwise], source=source, at=NOW)

    assert first.answer == Answer.RECORDED
    assert second == third == Receipt(Answer.REPEATED, first.match_id)
    assert Match.objects.count() == 1
    assert ratings_of(brisca)["ana"]["won"] == 1


def test_different_reports_under_one_id_in_a_batch_conflict(brisca, source):
    open_game("tute")

    receipts = record_matches(
        [
            duel("ana", "pepa", today(18), external_id="m-1"),
            duel("pepa", "ana", today(18), external_id="m-1"),
            duel("ana", "pepa", today(18), external_id="m-1", game="tute"),
            duel("ana", "lola", today(19), external_id="m-2"),
        ],
        source=source,
        at=NOW,
    )

    assert [receipt.answer for receipt in receipts] == [
        Answer.RECORDED,
        Answer.CONFLICT,
        Answer.CONFLICT,
        Answer.RECORDED,
    ]
    assert receipts[1].match_id == receipts[2].match_id == receipts[0].match_id
    assert receipts[1].problems[0].endswith("it differs in teams.")
    assert receipts[2].problems[0].endswith("it differs in game.")
    assert Match.objects.count() == 2


def test_refused_report_leaves_its_id_to_a_later_one_of_the_batch(brisca, source):
    wrong = make_report([team("ana", place=1)] * 5, external_id="m-1")
    right = duel("ana", "pepa", today(18), external_id="m-1")

    receipts = record_matches([wrong, wrong, right, right], source=source, at=NOW)

    assert [receipt.answer for receipt in receipts] == [
        Answer.REFUSED,
        Answer.REFUSED,
        Answer.RECORDED,
        Answer.REPEATED,
    ]


def test_batch_with_wrong_reports_records_the_others_and_answers_in_order(brisca, source):
    reports = [
        duel("ana", "pepa", today(10)),
        duel("ana", "pepa", today(11), game="mus"),
        duel("pepa", "ana", today(12)),
        duel("ana", "pepa", NOW + timedelta(days=1)),
        duel("lola", "ana", today(9)),
    ]

    receipts = record_matches(reports, source=source, at=NOW)

    assert [receipt.answer.value for receipt in receipts] == [
        "recorded",
        "refused",
        "recorded",
        "refused",
        "recorded",
    ]
    matches = Match.objects.in_bulk([receipt.match_id for receipt in receipts[::2]])
    assert [matches[receipt.match_id].external_id for receipt in receipts[::2]] == [
        report.external_id for report in reports[::2]
    ]
    assert Match.objects.count() == 3
    assert history.verify(brisca).differences == []


@pytest.mark.parametrize("seed", range(4))
def test_batch_comes_to_the_same_as_its_reports_one_by_one(source, seed):
    """Among them repeats, conflicts, refused ones and late ones, in two games."""
    games = [open_game("brisca"), open_game("tute")]
    players = list("abcdefgh")
    choice = random.Random(seed)
    reports = []
    for number in range(40):
        one, other = choice.sample(players, 2)
        reports.append(
            duel(
                one,
                other,
                today(0) + timedelta(minutes=choice.randrange(1300)),
                external_id=f"m-{choice.randrange(30)}" if number % 3 else None,
                game=choice.choice(
                    ["brisca", "tute", "mus"] if number % 7 == 0 else ["brisca", "tute"]
                ),
            )
        )
    with undone():
        one_by_one = [
            record_matches([report], source=source, at=NOW)[0].answer for report in reports
        ]
        expected = [everything_of(game) for game in games]

    receipts = record_matches(reports, source=source, at=NOW)

    assert set(one_by_one) == {Answer.RECORDED, Answer.CONFLICT, Answer.REFUSED}
    assert [receipt.answer for receipt in receipts] == one_by_one
    assert [everything_of(game) for game in games] == expected


# Time


@pytest.mark.parametrize(
    ("ahead", "stored"),
    [
        (timedelta(0), NOW),
        (timedelta(microseconds=-1), NOW - timedelta(microseconds=1)),
        (timedelta(microseconds=1), NOW),
        (timedelta(seconds=90), NOW),
        (timedelta(minutes=2), NOW),
    ],
)
def test_time_a_little_in_the_future_is_taken_as_now(brisca, source, ahead, stored):
    report = duel("ana", "pepa", NOW + ahead)

    [receipt] = record(report, source=source)

    assert Match.objects.get().played_at == stored
    assert Rating.objects.get(player__handle="ana").last_played_at == stored
    # Judged as sent, so it is the same report when the time has come.
    [later] = record_matches([report], source=source, at=NOW + timedelta(minutes=5))
    assert later == Receipt(Answer.REPEATED, receipt.match_id)


@pytest.mark.parametrize("ahead", [timedelta(minutes=2, microseconds=1), timedelta(days=179)])
def test_time_in_the_future_is_refused(brisca, source, ahead):
    [receipt] = record_matches([duel("ana", "pepa", NOW + ahead)], source=source, at=NOW)

    assert receipt.answer == Answer.REFUSED
    assert receipt.problems[0].endswith("Z: it is in the future, now is 2026-07-06T20:00:00Z.")
    assert not Rating.objects.exists()


def test_time_of_max_age_is_accepted_and_anything_older_is_refused(brisca, source):
    receipts = record_matches(
        [
            duel("ana", "pepa", NOW - API_MAX_AGE),
            duel("ana", "pepa", NOW - API_MAX_AGE - timedelta(microseconds=1)),
            duel("ana", "pepa", datetime(1970, 1, 1, tzinfo=UTC)),
        ],
        source=source,
        at=NOW,
        max_age=API_MAX_AGE,
    )

    assert [receipt.answer for receipt in receipts] == [
        Answer.RECORDED,
        Answer.REFUSED,
        Answer.REFUSED,
    ]
    assert receipts[2].problems == [
        "Unexpected played_at 1970-01-01T00:00:00Z: it is more than 30 days ago. "
        "Older results can be imported by staff."
    ]


@pytest.mark.parametrize("year", [1000, 1872, 1969])
def test_time_long_ago_is_accepted_without_a_max_age(brisca, source, year):
    at = datetime(year, 1, 1, tzinfo=UTC)

    record(duel("ana", "pepa", at), source=source)
    record(duel("pepa", "ana", at + timedelta(hours=1)), source=source)

    assert Rating.objects.get(player__handle="ana").peak_at == at
    assert history.verify(brisca).differences == []


# Games and shapes


@pytest.mark.parametrize(
    "game", ["brisca ", "Brisca", "BRISCA", "tute_subastado", "tute-subastado-4", "mus"]
)
def test_game_that_is_unknown_is_refused_with_those_there_are(source, game):
    [receipt] = record_matches([duel("ana", "pepa", game=game)], source=source, at=NOW)

    assert receipt.answer == Answer.REFUSED
    assert receipt.problems == [
        f'Unknown game "{game}": one of brisca, tute, cinquillo, tute-subastado, siete-y-media '
        "is needed."
    ]


def test_game_that_the_source_may_not_report_is_refused(brisca):
    source = make_source(games=[open_game("tute"), open_game("cinquillo")])

    receipts = record_matches(
        [duel("ana", "pepa"), duel("ana", "pepa", game="tute")], source=source, at=NOW
    )

    assert [receipt.answer for receipt in receipts] == [Answer.REFUSED, Answer.RECORDED]
    assert receipts[0].problems == ['Source "mesa-1" may not report the game "brisca".']


def shape(*sizes):
    """A report's teams of so many players each."""
    names = iter("abcdefghijklmno")
    return [
        team(*(next(names) for _ in range(size)), place=place)
        for place, size in enumerate(sizes, start=1)
    ]


@pytest.mark.parametrize(
    ("game", "sizes"),
    [
        ("brisca", (1, 1)),
        ("brisca", (1, 1, 1)),
        ("brisca", (1, 1, 1, 1)),
        ("brisca", (2, 2)),
        ("cinquillo", (1,) * 8),
        ("tute-subastado", (1, 1, 1)),
        ("tute-subastado", (1, 2)),
        ("tute-subastado", (2, 1)),
        ("tute-subastado", (1, 4)),
        ("siete-y-media", (1,) * 10),
    ],
)
def test_shape_of_the_game_is_recorded(source, game, sizes):
    [receipt] = record_matches([make_report(shape(*sizes), game=game)], source=source, at=NOW)

    assert receipt.answer == Answer.RECORDED
    assert len(receipt.changes) == sum(sizes)


@pytest.mark.parametrize(
    ("game", "sizes", "problem"),
    [
        ("brisca", (1, 2), "Unexpected teams of 1 v 2 players: brisca is played solo, 2v2."),
        ("brisca", (1, 3), "Unexpected teams of 1 v 3 players: brisca is played solo, 2v2."),
        ("brisca", (2, 1, 1), "Unexpected teams of 2 v 1 v 1 players: brisca is played solo, 2v2."),
        ("cinquillo", (2, 2), "Unexpected teams of 2 v 2 players: cinquillo is played solo."),
        (
            "tute-subastado",
            (2, 2),
            "Unexpected teams of 2 v 2 players: tute-subastado is played solo, 1v*.",
        ),
        (
            "tute-subastado",
            (2, 3),
            "Unexpected teams of 2 v 3 players: tute-subastado is played solo, 1v*.",
        ),
        ("brisca", (1,) * 5, "Unexpected number of players, 5: brisca has 2 to 4."),
        ("brisca", (3, 3), "Unexpected number of players, 6: brisca has 2 to 4."),
        ("tute-subastado", (1, 1), "Unexpected number of players, 2: tute-subastado has 3 to 5."),
        (
            "siete-y-media",
            (1,) * 11,
            "Unexpected number of players, 11: siete-y-media has 2 to 10.",
        ),
    ],
)
def test_shape_that_the_game_does_not_have_is_refused(source, game, sizes, problem):
    [receipt] = record_matches([make_report(shape(*sizes), game=game)], source=source, at=NOW)

    assert receipt == Receipt(Answer.REFUSED, problems=[problem])


# Players


def test_player_unknown_to_a_source_that_may_not_create_is_refused_by_name(brisca):
    source = make_source(may_create_players=False)

    [receipt] = record_matches([duel("ana", "pepa")], source=source, at=NOW)

    assert receipt == Receipt(
        Answer.REFUSED, problems=['Player "ana" is not known.', 'Player "pepa" is not known.']
    )


@pytest.mark.parametrize(("permitted", "answer"), [(True, "recorded"), (False, "refused")])
def test_permission_to_create_players_can_be_given_for_one_call(brisca, permitted, answer):
    source = make_source(may_create_players=not permitted)

    [receipt] = record_matches(
        [duel("ana", "pepa")], source=source, at=NOW, may_create_players=permitted
    )

    assert receipt.answer == answer


@pytest.mark.parametrize("status", ["frozen", "anonymised"])
def test_player_who_may_not_play_is_refused(brisca, source, status):
    record(duel("ana", "pepa", today(10)), source=source)
    Player.objects.filter(handle="ana").update(status=status)

    [receipt] = record_matches([duel("ana", "pepa", today(11))], source=source, at=NOW)

    assert receipt == Receipt(
        Answer.REFUSED,
        problems=['Player "ana" may not play: the account is closed or frozen.'],
    )


@pytest.mark.parametrize("status", ["retired", "hidden"])
def test_player_who_is_off_the_board_may_play_and_stays_off(brisca, source, status):
    Player.objects.create(
        handle="ana", handle_key="ana", handle_skeleton="ana", name="ana", status=status
    )
    PlayerAlias.objects.create(
        source=source, external_id="ana", key="ana", player=Player.objects.get()
    )

    record(duel("ana", "pepa", today(11)), source=source)

    assert {player: row["is_listed"] for player, row in ratings_of(brisca).items()} == {
        "ana": False,
        "pepa": True,
    }
    assert history.verify(brisca).differences == []


def test_player_whom_two_ids_name_is_refused_twice_in_a_match(brisca, source):
    record(duel("ana", "pepa", today(10)), source=source)
    PlayerAlias.objects.create(
        source=source, external_id="ana-2", key="ana-2", player=Player.objects.get(handle="ana")
    )

    receipts = record_matches(
        [duel("ana", "ana-2", today(11)), duel("ana-2", "pepa", today(12))], source=source, at=NOW
    )

    assert receipts[0] == Receipt(
        Answer.REFUSED, problems=['Player "ana-2" is repeated: nobody plays twice in a match.']
    )
    assert receipts[1].answer == Answer.RECORDED
    assert ratings_of(brisca)["ana"]["won"] == 2


def test_player_whom_nobody_knows_yet_is_refused_twice_in_a_match(brisca, source):
    [receipt] = record_matches([duel("pepa_4", "PEPA_4")], source=source, at=NOW)

    assert receipt == Receipt(
        Answer.REFUSED, problems=['Player "PEPA_4" is repeated: nobody plays twice in a match.']
    )


def test_players_of_one_owner_on_two_sides_are_not_rated(brisca, source):
    author = User.objects.create(username="author")
    create_bot(handle="bot-1", name="bot-1", author=author, source=source)
    create_bot(handle="bot-2", name="bot-2", author=author, source=source)

    [receipt] = record(duel("bot-1", "bot-2"), source=source)

    assert (receipt.reason, receipt.changes) == ("same_owner", ())
    match = Match.objects.get()
    assert (match.status, match.reason) == ("unrated", "same_owner")
    assert {row.owner for row in Participation.objects.all()} == {author}
    assert not Rating.objects.exists()


def test_players_of_one_owner_on_one_side_are_rated(brisca, source):
    author = User.objects.create(username="author")
    create_bot(handle="bot-1", name="bot-1", author=author, source=source)
    create_bot(handle="bot-2", name="bot-2", author=author, source=source)

    [receipt] = record(
        make_report([team("bot-1", "bot-2", place=1), team("ana", "pepa", place=2)]), source=source
    )

    assert receipt.reason == ""


def test_house_bots_have_no_owner_and_are_rated(brisca, source):
    create_bot(handle="bot-1", name="bot-1", source=source)
    create_bot(handle="bot-2", name="bot-2", source=source)

    [receipt] = record(duel("bot-1", "bot-2"), source=source)

    assert receipt.reason == ""
    assert {row["is_bot"] for row in ratings_of(brisca).values()} == {True}


def test_owner_of_a_participation_is_the_one_of_its_day(brisca, source):
    author = User.objects.create(username="author")
    create_bot(handle="bot-1", name="bot-1", author=author, source=source)
    create_bot(handle="bot-2", name="bot-2", source=source)
    record(duel("bot-1", "bot-2", today(10)), source=source)
    Player.objects.filter(handle="bot-2").update(owner=author)

    [receipt] = record(duel("bot-1", "bot-2", today(11)), source=source)

    assert receipt.reason == "same_owner"
    assert Match.objects.order_by("played_at").first().status == "rated"
    assert history.verify(brisca).differences == []


# Rated or not


@pytest.mark.parametrize(
    ("termination", "reason"),
    [("normal", ""), ("abandoned", ""), ("cancelled", "cancelled"), ("friendly", "friendly")],
)
def test_termination_decides_whether_a_match_is_rated(brisca, source, termination, reason):
    [receipt] = record(duel("ana", "pepa", termination=termination), source=source)

    match = Match.objects.get()
    assert receipt.reason == match.reason == reason
    assert match.termination == termination
    assert match.status == ("unrated" if reason else "rated")
    elos = sorted(Rating.objects.values_list("elo", flat=True))
    assert elos == ([] if reason else [1184.0, 1216.0])


def test_pair_limit_is_reached_after_twenty_rated_matches_in_a_day(brisca, source):
    reports = [duel("ana", "pepa", today(0) + timedelta(minutes=number)) for number in range(21)]
    [*_, second_last, last] = record(*reports, source=source)
    record(draw("ana", "lola", today(1)), source=source)
    morrow = today(24)

    # Each in a batch of its own: what came before is read from the ledger.
    reasons = [
        record(duel("pepa", "ana", at), source=source, at=morrow)[0].reason
        for at in (morrow - timedelta(microseconds=1), morrow, morrow)
    ]

    assert (second_last.reason, last.reason) == ("", "pair_limit")
    # At midnight the first of the twenty is 24 hours ago, and makes room for one.
    assert reasons == ["pair_limit", "", "pair_limit"]
    assert Match.objects.filter(reason="pair_limit").count() == 3
    assert history.verify(brisca).differences == []


# What is refused stores nothing


REFUSED = {
    "unknown game": duel("ana", "nueva", game="mus"),
    "future": duel("ana", "nueva", NOW + timedelta(hours=1)),
    "too old": duel("ana", "nueva", NOW - timedelta(days=31)),
    "shape": make_report([team("ana", "nueva", place=1), team("pepa", place=2)]),
    "count": make_report([team(name, place=1) for name in "abcde"]),
    "repeated": duel("nueva", "nueva"),
    "frozen": duel("helada", "nueva"),
    "not allowed": duel("ana", "nueva", game="tute"),
    "conflict": duel("ana", "nueva", external_id="taken"),
}


@pytest.mark.parametrize("report", REFUSED.values(), ids=REFUSED)
def test_report_that_is_refused_stores_nothing(brisca, report):
    source = make_source(games=[brisca])
    record(
        duel("ana", "pepa", today(9), external_id="taken"),
        duel("pepa", "helada", today(10)),
        source=source,
    )
    Player.objects.filter(handle="helada").update(status="frozen")
    before = (count_rows(), everything_of(brisca), versions())

    for _ in range(2):
        [receipt] = record_matches([report], source=source, at=NOW, max_age=API_MAX_AGE)

        assert receipt.answer in (Answer.REFUSED, Answer.CONFLICT)
        assert len(receipt.problems) == 1
        assert receipt.changes == ()
        assert (count_rows(), everything_of(brisca), versions()) == before


# Versions and news


def test_version_grows_by_one_for_each_batch_and_game(source):
    for slug in ("brisca", "tute", "cinquillo"):
        open_game(slug)
    before = versions()

    record(
        *(duel("ana", "pepa", today(hour), game="brisca") for hour in range(5)),
        duel("ana", "pepa", game="tute"),
        source=source,
    )
    record_matches(
        [duel("ana", "pepa", game="brisca"), duel("ana", "pepa", game="mus")], source=source, at=NOW
    )

    assert {slug: version - before[slug] for slug, version in versions().items()} == {
        "brisca": 2,
        "tute": 1,
        "cinquillo": 0,
        "tute-subastado": 0,
        "siete-y-media": 0,
    }


@pytest.mark.django_db(transaction=True)
def test_news_of_a_change_comes_with_its_commit_and_never_after_a_rollback():
    open_game("brisca")
    open_game("tute")
    source = make_source()
    listener = connection.copy()
    try:
        with listener.cursor() as cursor:
            cursor.execute(f"LISTEN {CHANNEL}")
        with undone():
            record(duel("ana", "pepa"), source=source)
        with transaction.atomic():
            record(duel("ana", "pepa"), duel("ana", "pepa", game="tute"), source=source)
            held_back = list(listener.connection.notifies(timeout=0))
        record_matches([duel("ana", "pepa", game="mus")], source=source, at=NOW)
        record(duel("pepa", "ana"), source=source)

        news = [notice.payload for notice in listener.connection.notifies(timeout=10, stop_after=3)]
    finally:
        listener.close()

    assert held_back == []
    assert news == ["brisca 1", "tute 1", "brisca 2"]


def test_many_matches_are_checked_by_index_however_small_the_tables_were(source):
    """After some checks of a foreign key their plan is kept: one that reads a table of one page."""
    with connection.cursor() as cursor:
        for _ in range(10):
            record(duel("ana", "pepa_4"), source=source)
            cursor.execute("ANALYZE ratings_match, ratings_player")
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        before = sequential_scans(cursor)

        record(*[duel(f"p{number}", f"q{number}") for number in range(600)], source=source)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

        assert sequential_scans(cursor) - before < 10


def sequential_scans(cursor):
    """How often this transaction has read the matches or the players from end to end."""
    cursor.execute(
        "SELECT sum(seq_scan) FROM pg_stat_xact_user_tables"
        " WHERE relname IN ('ratings_match', 'ratings_player')"
    )
    [count] = cursor.fetchone()
    return count
