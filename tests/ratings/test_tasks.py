"""Background jobs: on schedule, by a real worker, and harmless when they run again."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from celery.schedules import crontab

from naiply.celery import app
from ratings import history
from ratings.models import Game, Match, Participation, Rating, VerifyRun
from ratings.recording import Answer, record_matches
from ratings.replaying import replay_download
from ratings.systems import decay
from ratings.tasks import apply_decay, fold_waiting, verify_game, write_download
from tests.ratings.builders import MONDAY, NOW, duel, make_source, open_game, record, today
from tests.ratings.connections import held

TASK = "ratings.tasks.apply_decay"


def weekly_decay():
    [entry] = [entry for entry in app.conf.beat_schedule.values() if entry["task"] == TASK]
    return entry


@pytest.mark.django_db  # Celery runs Django's checks, and those ask the database
def test_schedule_names_tasks_that_workers_know():
    app.loader.import_default_modules()

    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert scheduled == {TASK, "ratings.tasks.fold_waiting", "ratings.tasks.check_games"}
    assert scheduled <= app.tasks.keys()


def test_schedule_folds_every_five_seconds_and_lets_no_missed_run_pile_up():
    [entry] = [e for e in app.conf.beat_schedule.values() if e["task"].endswith("fold_waiting")]

    assert entry["schedule"] == timedelta(seconds=5)
    assert entry["options"]["expires"] <= 5


def test_schedule_checks_every_game_by_night():
    [entry] = [e for e in app.conf.beat_schedule.values() if e["task"].endswith("check_games")]

    assert entry["schedule"] == crontab(minute=30, hour=3)


def test_schedule_is_monday_midnight_utc():
    assert weekly_decay()["schedule"] == crontab(minute=0, hour=0, day_of_week="mon")
    assert app.conf.timezone == "UTC"
    assert app.conf.enable_utc


def test_schedule_keeps_to_utc_when_the_clocks_of_madrid_change(monkeypatch):
    schedule = weekly_decay()["schedule"]
    moment = datetime(2026, 10, 1, tzinfo=UTC)
    due = []

    for _week in range(5):
        monkeypatch.setattr(schedule, "nowfun", lambda moment=moment: moment)
        moment += schedule.remaining_estimate(moment)
        due.append(moment)

    assert due == [
        datetime(2026, month, day, tzinfo=UTC)
        for month, day in [(10, 5), (10, 12), (10, 19), (10, 26), (11, 2)]
    ]


def test_worker_decays_once_however_often_it_runs(worker):
    brisca = open_game()
    record(duel("ana", "pepa_4"), source=make_source())
    [settled] = set(Rating.objects.values_list("sigma", flat=True))
    version = brisca.state.version

    worker.run(TASK)
    brisca.state.refresh_from_db()
    once = (set(Rating.objects.values_list("sigma", flat=True)), brisca.state.version)
    worker.run(TASK)
    brisca.state.refresh_from_db()
    twice = (set(Rating.objects.values_list("sigma", flat=True)), brisca.state.version)

    expected = decay.sigma_at(settled, NOW, decay.current_monday())
    assert expected > settled
    assert once == twice == ({expected}, version + 1)
    assert brisca.state.decayed_to == decay.current_monday()
    assert history.verify(brisca).is_clean


@pytest.mark.django_db
def test_task_catches_up_with_the_weeks_it_missed():
    brisca = open_game(decayed_to=MONDAY)
    record(duel("ana", "pepa_4"), source=make_source())

    changed = apply_decay()

    brisca.state.refresh_from_db()
    assert changed == 2
    assert brisca.state.decayed_to - MONDAY >= timedelta(weeks=1)
    assert apply_decay() == 0


# Waiting reports


def make_wait(*slugs):
    """A report of each game that waits; the games' locks were held when they came."""
    source = make_source()
    for slug in slugs:
        open_game(slug)
        record(duel("ana", "pepa_4", today(1), game=slug), source=source)
        with held(slug):
            [receipt] = record_matches(
                [duel("lola", "ana", today(2), game=slug)], source=source, at=NOW, may_wait=True
            )
        assert receipt.answer == Answer.WAITING


@pytest.mark.django_db(transaction=True)
def test_waiting_reports_of_all_games_are_folded_in_once():
    make_wait("brisca", "tute")

    first, again = fold_waiting(), fold_waiting()

    assert (first, again) == (2, 0)
    assert set(Match.objects.values_list("status", flat=True)) == {"rated"}
    assert all(history.verify(game).is_clean for game in Game.objects.all())


@pytest.mark.django_db
def test_nothing_that_waits_costs_one_query(django_assert_num_queries):
    open_game()
    record(duel("ana", "pepa_4"), source=make_source())

    with django_assert_num_queries(1):
        assert fold_waiting() == 0


@pytest.mark.django_db(transaction=True)
def test_game_that_cannot_be_folded_is_logged_and_holds_no_other_up(caplog):
    make_wait("brisca", "tute")
    waiting = Match.objects.filter(game__slug="brisca", status="waiting")
    # One team: no match that can be rated.
    Participation.objects.filter(match__in=waiting).update(team=1)

    folded = fold_waiting()

    assert folded == 1
    statuses = Match.objects.values_list("game__slug", "status")
    assert set(statuses) == {("brisca", "rated"), ("brisca", "waiting"), ("tute", "rated")}
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "The waiting reports of brisca could not be folded in."
    ]


def test_worker_folds_in_what_waits(worker):
    make_wait("brisca")

    worker.run("ratings.tasks.fold_waiting")
    worker.run("ratings.tasks.fold_waiting")

    assert set(Match.objects.values_list("status", flat=True)) == {"rated"}
    assert history.verify(Game.objects.get(slug="brisca")).is_clean


# Every night


def test_worker_verifies_every_game_and_writes_its_download(worker, tmp_path):
    open_game()
    record(duel("ana", "pepa_4"), source=make_source())

    worker.run("ratings.tasks.check_games")
    worker.wait_for_success(of=2 * Game.objects.count())

    assert VerifyRun.objects.count() == Game.objects.count()
    assert all(run.is_clean for run in VerifyRun.objects.all())
    files = sorted((tmp_path / "downloads").iterdir())
    assert [file.name for file in files] == sorted(
        f"{game.slug}.jsonl.gz" for game in Game.objects.all()
    )
    assert all(replay_download(file).count == 0 for file in files)


@pytest.mark.django_db
def test_what_differs_is_kept_and_logged(caplog):
    brisca = open_game()
    record(duel("ana", "pepa_4"), source=make_source())
    Rating.objects.filter(player__handle="ana").update(won=7)

    assert verify_game(brisca.pk) == 1

    assert VerifyRun.objects.get().difference_count == 1
    [line] = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert line.startswith("1 stored numbers of brisca differ from its replay. First: rating of")
    assert line.endswith("won is 7, the replay gives 1")


@pytest.mark.django_db
def test_nightly_jobs_may_run_twice(settings, tmp_path):
    settings.DOWNLOADS_FOLDER = tmp_path
    brisca = open_game()

    for _run in range(2):
        verify_game(brisca.pk)
        write_download(brisca.pk)

    assert VerifyRun.objects.count() == 2
    assert [path.name for path in tmp_path.iterdir()] == ["brisca.jsonl.gz"]
