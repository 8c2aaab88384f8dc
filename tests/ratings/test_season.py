"""The made-up season: the same for everybody, and with everything in it that results can be."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ratings.models import Termination
from ratings.names import skeleton, validate_handle
from ratings.season import BANDS, HOUSE_BOTS, MARATHON, SIZES, WEEKS, Season

END = datetime(2026, 11, 26, 21, tzinfo=UTC)
MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
WEEK = timedelta(days=7)
BOTS = {handle for handles in HOUSE_BOTS.values() for handle in handles}


@pytest.fixture(scope="module")
def season():
    return Season(END, people=320)


@pytest.fixture(scope="module")
def arrivals(season):
    return season.arrivals(20_000)


@pytest.fixture(scope="module")
def reports(arrivals):
    return [arrival.report for arrival in arrivals]


def test_season_is_the_same_for_everybody():
    one = Season(END, people=60).arrivals(500)
    other = Season(END, people=60).arrivals(500)

    assert one == other
    assert len(one) == 500


def test_season_of_another_week_is_the_same_later():
    now = Season(END, people=60).arrivals(500)
    later = Season(END + WEEK, people=60).arrivals(500)

    assert [arrival.at + WEEK for arrival in now] == [arrival.at for arrival in later]
    assert [arrival.report.teams for arrival in now] == [a.report.teams for a in later]


def test_season_is_the_same_within_an_hour_and_in_every_zone():
    in_madrid = (END + timedelta(minutes=59, microseconds=7)).astimezone(ZoneInfo("Europe/Madrid"))

    assert Season(END, people=60).arrivals(500) == Season(in_madrid, people=60).arrivals(500)


def test_season_lasts_until_its_end(season, reports):
    played = [report.played_at for report in reports]

    assert season.end == END
    assert season.begin == MONDAY - (WEEKS - 1) * WEEK
    assert season.begin <= min(played)
    assert END - timedelta(hours=3) < max(played) <= END


@pytest.mark.parametrize("hours", [0, 1, 24, 24 * 4, 24 * 7 - 1])
def test_last_seven_days_are_lively_however_old_the_week_is(hours):
    end = MONDAY + timedelta(hours=hours)

    arrivals = Season(end, people=100).arrivals(5_000)

    recent = [a.report for a in arrivals if end - WEEK < a.report.played_at]
    players = {game: set() for game in SIZES}
    for report in recent:
        players[report.game].update(report.players)
    assert 120 < len(recent) < 230
    assert min(len(found) for found in players.values()) > 30
    assert max(report.played_at for report in recent) <= end
    assert arrivals[-1].at <= end


def test_reports_arrive_in_order_and_some_are_late(arrivals):
    moments = [arrival.at for arrival in arrivals]
    delays = [arrival.at - arrival.report.played_at for arrival in arrivals]

    assert moments == sorted(moments)
    assert moments[-1] <= END
    assert min(delays) >= timedelta(0)
    assert 200 < sum(delay > timedelta(minutes=15) for delay in delays) < 500
    assert max(delays) > timedelta(days=3)


def test_every_match_has_its_own_id(reports):
    assert len({report.external_id for report in reports}) == len(reports) == 20_000


def test_every_game_is_played_in_all_its_shapes(reports):
    shapes = {game: Counter() for game in SIZES}
    for report in reports:
        shapes[report.game][tuple(sorted(len(team.players) for team in report.teams))] += 1

    assert {game: set(found) for game, found in shapes.items()} == {
        game: set(sizes) for game, sizes in SIZES.items()
    }


def test_nobody_plays_twice_in_a_match(reports):
    assert all(len(set(report.players)) == len(report.players) for report in reports)


def test_every_ending_occurs_but_most_are_normal(reports):
    endings = Counter(report.termination for report in reports)

    assert set(endings) == set(Termination.values)
    assert endings["normal"] > 18_000


def test_every_game_has_draws(reports):
    drawn = {
        report.game
        for report in reports
        if report.termination == "normal"
        and len({team.place for team in report.teams}) < len(report.teams)
    }

    assert drawn == set(SIZES)


def test_places_follow_the_points(reports):
    for report in reports:
        if report.termination not in ("normal", "friendly"):
            assert {team.points for team in report.teams} == {None}
            continue
        best_first = sorted(report.teams, key=lambda team: team.place)
        points = [team.points for team in best_first]
        assert points == sorted(points, reverse=report.game != "cinquillo")
        assert best_first[0].place == 1
        assert min(points) >= 0


def test_abandoned_match_has_one_last(reports):
    for report in reports:
        if report.termination == "abandoned":
            places = sorted(team.place for team in report.teams)
            assert places[-1] > places[-2]
            assert places[0] == 1


def test_some_pairs_play_more_than_is_rated_in_a_day(reports):
    nights = Counter(
        (tuple(sorted(report.players)), report.played_at.date())
        for report in reports
        if report.game == "brisca"
    )

    assert sum(count >= MARATHON for count in nights.values()) == 4


def test_people_leave_and_come_and_some_play_little(season, reports):
    matches = Counter(player for report in reports for player in report.players)
    first = {}
    last = {}
    for report in sorted(reports, key=lambda report: report.played_at):
        for player in report.players:
            first.setdefault(player, report.played_at)
            last[player] = report.played_at

    assert sum(END - moment > timedelta(days=180) for moment in last.values()) >= 5
    assert sum(timedelta(40) < END - moment < timedelta(180) for moment in last.values()) >= 20
    assert sum(END - moment < timedelta(days=21) for moment in first.values()) >= 10
    assert sum(count < 10 for count in matches.values()) >= 10
    assert len(matches) > 0.9 * (len(season.people) + len(season.bots))


def test_bots_play_in_their_bands(season, reports):
    matches = Counter(player for report in reports for player in report.players)

    assert {bot.id for bot in season.bots} == BOTS
    for difficulty, handles in HOUSE_BOTS.items():
        lowest, highest = BANDS[difficulty]
        for bot in season.bots:
            if bot.id in handles:
                assert all(lowest < value < highest for value in bot.strengths.values())
                assert matches[bot.id] > 500


def test_handles_are_valid_and_nobody_passes_for_somebody_else(season):
    handles = [someone.id for someone in (*season.people, *season.bots)]

    for handle in handles:
        validate_handle(handle)
    assert len({skeleton(handle) for handle in handles}) == len(handles)
    assert {"as-de-oros", "sota-de-bastos-7", "caballo-de-copas"} <= set(handles)
