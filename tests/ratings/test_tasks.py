"""The weekly decay: on schedule, by a real worker, and harmless when it runs again."""

from datetime import UTC, datetime, timedelta

import pytest
from celery.schedules import crontab

from naiply.celery import app
from ratings import history
from ratings.models import Rating
from ratings.systems import decay
from ratings.tasks import apply_decay
from tests.ratings.builders import MONDAY, NOW, duel, make_source, open_game, record

TASK = "ratings.tasks.apply_decay"


def weekly_decay():
    [entry] = [entry for entry in app.conf.beat_schedule.values() if entry["task"] == TASK]
    return entry


@pytest.mark.django_db  # Celery runs Django's checks, and those ask the database
def test_schedule_names_a_task_that_workers_know():
    app.loader.import_default_modules()

    assert weekly_decay()["task"] in app.tasks


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
