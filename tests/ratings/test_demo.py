"""The demo: recorded like anything else, removed without a trace, never beside real results."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from ratings import demo, history
from ratings.models import (
    Bot,
    Correction,
    CorrectionReason,
    Difficulty,
    Game,
    GameState,
    Match,
    Participation,
    Player,
    PlayerAlias,
    Rating,
    Source,
    System,
    User,
)
from ratings.recording import record_matches
from ratings.roster import anonymise_player, rename_player
from ratings.standings import Board
from ratings.systems.decay import current_monday
from tests.ratings.builders import count_rows, duel, everything_of, make_source, record

pytestmark = pytest.mark.django_db

SMALL = {"people": 60, "matches": 400}


def run(*arguments):
    out = io.StringIO()
    call_command("load_demo", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_demo_is_recorded_and_stands_up_to_a_replay():
    count = demo.load_demo(**SMALL)

    source = Source.objects.get()
    assert (source.name, source.is_demo) == ("demo", True)
    assert count == Match.objects.count() == 400
    for game in Game.objects.all():
        verification = history.verify(game)
        assert verification.differences == []
        assert verification.matches > 0


def test_demo_shows_what_there_is_to_show():
    demo.load_demo(**SMALL)

    ratings = Rating.objects.all()
    assert set(Match.objects.values_list("status", "reason")) == {
        ("rated", ""),
        ("unrated", "cancelled"),
        ("unrated", "friendly"),
        ("unrated", "pair_limit"),
    }
    assert ratings.filter(is_listed=False).exists()
    assert ratings.filter(sigma__gt=F("sigma_settled")).exists()
    assert ratings.filter(drawn__gt=0).exists()
    assert any(rating.is_provisional for rating in ratings)
    assert not all(rating.is_provisional for rating in ratings)


def test_demo_has_late_results():
    demo.load_demo(**SMALL)

    by_arrival = Match.objects.order_by("id").values_list("game", "played_at")
    newest = {}
    late = 0
    for game, played_at in by_arrival:
        late += played_at < newest.get(game, played_at)
        newest[game] = max(played_at, newest.get(game, played_at))
    assert late >= 1


def test_demo_ends_now():
    now = datetime.now(UTC)

    demo.load_demo(**SMALL)

    newest = Match.objects.latest("played_at")
    assert now - timedelta(days=3) < newest.played_at <= now
    assert set(GameState.objects.values_list("decayed_to", flat=True)) == {current_monday(now)}


def test_demo_of_a_past_week_ends_then():
    at = datetime(2026, 8, 6, 20, 30, tzinfo=UTC)

    demo.load_demo(at=at, **SMALL)

    newest = Match.objects.latest("played_at")
    assert at - timedelta(days=2) < newest.played_at <= at


def test_demo_moves_its_boards_in_the_last_seven_days_also_late_in_the_week():
    """On Sunday night a season that ended with the last Monday would stand still."""
    at = datetime(2026, 8, 9, 23, 30, tzinfo=UTC)

    demo.load_demo(at=at, people=60, matches=2000)

    for game in Game.objects.all():
        board = Board(game, System.ELO, since=at - timedelta(days=7))
        moves = [row.change for row in board.page(1).rows]
        assert sum(move not in (None, 0.0) for move in moves) > len(moves) / 4


def test_reports_of_the_last_days_come_in_time_but_for_those_that_are_late():
    """Profiles say how much of the last seven days' change came late."""
    at = datetime(2026, 8, 9, 23, 30, tzinfo=UTC)

    demo.load_demo(at=at, people=60, matches=2000)

    recent = Match.objects.filter(played_at__gte=at - timedelta(days=7))
    late = recent.filter(received_at__gt=F("played_at") + timedelta(hours=1))
    assert recent.count() > 40
    assert late.count() < recent.count() / 10


def test_house_bots_play_under_their_handles():
    demo.load_demo(**SMALL)

    bots = Bot.objects.select_related("player")
    assert {bot.difficulty for bot in bots} == set(Difficulty.values)
    assert all(bot.is_house and bot.player.is_bot and bot.versions.exists() for bot in bots)
    assert Participation.objects.filter(player__is_bot=True).exists()
    assert not Player.objects.filter(handle__startswith="bot-", is_bot=False).exists()


def test_demo_goes_in_as_a_whole_or_not_at_all(monkeypatch):
    calls = []

    def crash_in_the_second(reports, **options):
        calls.append(len(reports))
        if len(calls) == 2:
            raise RuntimeError("power cut")
        return record_matches(reports, **options)

    monkeypatch.setattr(demo, "record_matches", crash_in_the_second)
    monkeypatch.setattr(demo, "BATCH", 100)
    rows = count_rows()

    with pytest.raises(RuntimeError, match="power cut"):
        demo.load_demo(**SMALL)

    assert calls == [100, 100]
    assert count_rows() == rows


def test_progress_ends_with_everything(monkeypatch):
    monkeypatch.setattr(demo, "BATCH", 300)
    monkeypatch.setattr(demo, "FINE", timedelta(0))
    seen = []

    demo.load_demo(**SMALL, progress=lambda done, total: seen.append((done, total)))

    assert seen == [(300, 400), (400, 400)]


def test_demo_does_not_mix_with_other_results():
    record(duel("ana", "pepa_4"), source=make_source())
    rows = count_rows()

    for refused in (demo.load_demo, demo.reload_demo):
        with pytest.raises(demo.OtherResults):
            refused(**SMALL)
    with pytest.raises(demo.OtherResults):
        demo.remove_demo()

    assert count_rows() == rows


def test_removed_demo_leaves_no_trace_but_a_new_version():
    rows = count_rows()
    demo.load_demo(**SMALL)
    versions = dict(GameState.objects.values_list("game", "version"))

    demo.remove_demo()

    assert count_rows() == rows
    assert dict(GameState.objects.values_list("game", "version")) == {
        game: version + 1 for game, version in versions.items()
    }
    assert all(history.verify(game).is_clean for game in Game.objects.all())


def test_corrected_demo_leaves_no_trace_either():
    rows = count_rows()
    demo.load_demo(**SMALL)
    game = Game.objects.get(slug="brisca")
    matches = list(game.matches.filter(status="rated").values_list("pk", flat=True)[:3])
    history.void_matches(matches, by=None, reason=CorrectionReason.TEST_MATCH)
    assert Correction.objects.exists()

    demo.remove_demo()

    assert count_rows() == rows


def test_renamed_and_anonymised_players_of_the_demo_leave_no_trace_either():
    rows = count_rows()
    demo.load_demo(**SMALL)
    rename_player(player=Player.objects.get(handle="as-de-oros"), handle="sota-de-nada")
    anonymise_player(player=Player.objects.get(handle="dos-de-oros"))

    demo.remove_demo()

    assert count_rows() == rows | {"DigestKey": 1}


def test_players_who_are_not_only_the_demos_stay():
    user = User.objects.create_user("somebody")
    demo.load_demo(**SMALL)
    claimed = Player.objects.get(handle="as-de-oros")
    Player.objects.filter(pk=claimed.pk).update(owner=user)
    known = Player.objects.get(handle="dos-de-oros")
    PlayerAlias.objects.create(
        source=make_source("mesa-1"), key="dos", external_id="dos", player=known
    )

    demo.remove_demo()

    assert set(Player.objects.values_list("handle", flat=True)) == {"as-de-oros", "dos-de-oros"}
    assert not Rating.objects.exists()


def test_reloaded_demo_is_the_same():
    at = datetime(2026, 11, 25, tzinfo=UTC)
    demo.load_demo(at=at, **SMALL)
    before = {game.slug: everything_of(game) for game in Game.objects.all()}

    demo.reload_demo(at=at, **SMALL)

    assert {game.slug: everything_of(game) for game in Game.objects.all()} == before


# load_demo


@pytest.fixture
def small(monkeypatch):
    """The command, with a small demo."""
    monkeypatch.setattr(demo, "PEOPLE", 60)
    monkeypatch.setattr(demo, "MATCHES", 400)


def test_command_loads_it_once(small):
    first = run()
    rows = count_rows()
    again = run()

    assert first == "The demo is loaded: 400 matches.\n"
    assert again == "The demo is loaded already.\n"
    assert count_rows() == rows


def test_command_loads_it_anew_where_asked(small):
    run()
    newest = Match.objects.latest("id").pk

    out = run("--reset")

    assert out == "The demo is loaded: 400 matches.\n"
    assert Match.objects.count() == 400
    assert not Match.objects.filter(pk__lte=newest).exists()


def test_command_loads_a_first_demo_with_reset_too(small):
    assert run("--reset") == "The demo is loaded: 400 matches.\n"


def test_command_stays_out_where_others_have_results(small):
    """Without an error: `make run` calls it at every start, also when results were imported."""
    record(duel("ana", "pepa_4"), source=make_source())
    rows = count_rows()

    out = run()
    with pytest.raises(CommandError, match=r"^Other sources have results here"):
        run("--reset")

    assert out == "Other sources have results here: the demo stays out.\n"
    assert count_rows() == rows


def test_command_leaves_a_demo_beside_imported_results(small):
    run()
    record(duel("ana", "pepa_4"), source=make_source())
    rows = count_rows()

    run()
    with pytest.raises(CommandError):
        run("--reset")

    assert count_rows() == rows


def test_command_names_a_handle_that_is_taken(small):
    Player.objects.create(
        handle="bot-rayo", handle_key="bot-rayo", handle_skeleton="bot-rayo", name="Rayo"
    )

    with pytest.raises(CommandError, match=r"^The demo's bots: "):
        run()

    assert not Source.objects.exists()
