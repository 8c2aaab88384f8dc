"""Long jobs: seen from elsewhere while they run, and never left half done."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import DatabaseError, connection, transaction
from django.urls import reverse
from django.utils import timezone, translation
from kombu.exceptions import OperationalError

from ratings import history, jobs, queued_changes, recording, tasks
from ratings.history import Correct, CorrectTeam, rerating
from ratings.models import (
    Correction,
    CorrectionReason,
    Game,
    Job,
    JobKind,
    JobState,
    Match,
    Player,
    User,
)
from ratings.models.job import SILENT_FOR
from tests.ratings.builders import (
    NOW,
    duel,
    everything_of,
    make_source,
    open_game,
    record,
    today,
)
from tests.ratings.connections import elsewhere
from tests.ratings.test_commands import run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_jobs():
    """Those of tests in a transaction have outlived it: they are stored on their own."""
    Job.objects.all().delete()


@pytest.fixture
def at_once(monkeypatch):
    """Every call of a watch is told of."""
    monkeypatch.setattr(jobs, "SECONDS_BETWEEN_WRITES", 0)


def seen():
    """The jobs as another connection sees them."""
    fields = ("kind", "what", "state", "done", "total", "result")
    return elsewhere(lambda: list(Job.objects.order_by("id").values_list(*fields)))


def test_running_job_is_seen_from_elsewhere_though_its_transaction_is_open(at_once):
    with transaction.atomic(), jobs.watched(jobs.job(JobKind.RERATING, "brisca")) as watch:
        watch(1, 4)
        first = seen()
        watch(3, 4)
        second = seen()
        watch.job.result = "all of it"

    assert first == [("rerating", "brisca", "running", 1, 4, "")]
    assert second == [("rerating", "brisca", "running", 3, 4, "")]
    assert seen() == [("rerating", "brisca", "done", 3, 4, "all of it")]
    assert Job.objects.get().share == 1


def test_running_job_is_seen_while_its_transaction_may_only_read(at_once):
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
        with jobs.watched(jobs.job(JobKind.RERATING, "brisca")) as watch:
            watch(1, 4)

    assert seen() == [("rerating", "brisca", "done", 1, 4, "")]


def test_job_that_is_over_at_once_leaves_no_trace():
    with jobs.watched(jobs.job(JobKind.FOLDING, "brisca")) as watch:
        watch(1, 2)

    assert seen() == []


def test_job_that_is_kept_leaves_one_however_short_it_is():
    with jobs.watched(jobs.job(JobKind.IMPORT, "season.csv"), is_kept=True) as watch:
        watch.job.result = "2 new"

    assert seen() == [("import", "season.csv", "done", 0, 0, "2 new")]


def test_job_that_raises_has_failed_and_says_why(at_once):
    job = jobs.job(JobKind.RERATING, "brisca")

    def run_it():
        with jobs.watched(job) as watch:
            watch(1, 4)
            raise ValueError("no such game")

    with pytest.raises(ValueError, match="no such"):
        run_it()

    assert seen() == [("rerating", "brisca", "failed", 1, 4, "no such game")]


def test_job_goes_on_where_it_cannot_be_told_of(at_once, monkeypatch, caplog):
    def refuse(*_args):
        raise DatabaseError("too many connections")

    monkeypatch.setattr(jobs.connections, "create_connection", refuse)
    done = []

    with jobs.watched(jobs.job(JobKind.RERATING, "brisca")) as watch:
        watch(1, 4)
        done.append(True)

    assert done == [True]
    assert "How far a job is could not be stored" in caplog.text


def test_shares_are_kept_in_whole_numbers(at_once):
    with jobs.watched(jobs.job(JobKind.IMPORT, "season.csv")) as watch:
        watch(1.25, 3)

        assert seen() == [("import", "season.csv", "running", 1250, 3000, "")]


def test_job_that_has_been_silent_for_long_was_interrupted():
    job = Job.objects.create(kind=JobKind.IMPORT, what="x", state=JobState.RUNNING)
    heard = job.updated_at

    assert not job.is_interrupted(heard + SILENT_FOR)
    assert job.is_interrupted(heard + SILENT_FOR + timedelta(seconds=1))
    job.state, job.finished_at = JobState.DONE, heard
    assert not job.is_interrupted(heard + timedelta(days=1))


# Commands and tasks


def test_import_is_kept_with_what_became_of_it(tmp_path):
    path = tmp_path / "season.jsonl"
    path.write_text(
        '{"game": "brisca", "external_id": "m1", "played_at": "2026-07-06T19:30:00Z",'
        ' "teams": [{"players": ["ana"], "place": 1}, {"players": ["pepa"], "place": 2}]}\n'
    )

    run("import_results", path, "--source", "ifb", "--create-players")
    run("import_results", path, "--source", "ifb", "--dry-run")

    assert seen() == [
        (
            "import",
            "season.jsonl (ifb)",
            "done",
            3,
            3,
            "1 new, 0 repeated, 0 in conflict, 0 refused.",
        )
    ]


def test_file_that_cannot_be_read_is_an_import_that_failed(tmp_path):
    path = tmp_path / "season.pdf"
    path.write_bytes(b"%PDF-1.7")

    run("import_results", path, "--source", "ifb")

    assert seen() == [
        (
            "import",
            "season.pdf (ifb)",
            "failed",
            0,
            0,
            "This is a PDF document: a CSV or JSONL file is needed.",
        )
    ]


@pytest.fixture
def evening():
    game = open_game("brisca")
    record(
        *(duel("ana", f"p{n % 3}", today(1, n), external_id=f"m{n}") for n in range(6)),
        source=make_source(),
    )
    return game


def ids(*external_ids):
    return list(Match.objects.filter(external_id__in=external_ids).values_list("pk", flat=True))


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (partial(run, "rerate_game", "brisca"), ("rerating", "brisca", "done", 6, 6)),
        (
            lambda: run("void_matches", ids("m0")[0], "--reason", "forged", "--yes"),
            ("correction", "brisca", "done", 6, 6),
        ),
    ],
)
def test_long_command_is_seen(at_once, monkeypatch, evening, job, expected):
    monkeypatch.setattr(jobs, "MATCHES_BETWEEN_CALLS", 1)

    job()

    assert [each[:5] for each in seen()] == [expected]


def test_long_fold_of_the_task_is_seen(at_once, monkeypatch, evening):
    monkeypatch.setattr(jobs, "MATCHES_BETWEEN_CALLS", 1)
    recorder = recording._Recorder(make_source("mesa-2"), NOW, None, True, True)
    with transaction.atomic():
        recorder.put_aside([duel("ana", "lola", today(1, 2))])

    tasks.fold_waiting()

    assert [each[:5] for each in seen()] == [("folding", "brisca", "done", 4, 4)]


# Changes that a worker carries out


@pytest.fixture
def staff():
    return User.objects.create(username="sota-de-bastos-7", is_staff=True, is_superuser=True)


def put_down(proposal, staff, **fields):
    versions = {preview.game.slug: preview.version for preview in history.preview(proposal)}
    usual = {"reason": CorrectionReason.FORGED, "note": "seen twice", "expected": versions}
    return queued_changes.put_down(proposal, by=staff, **usual | fields)


def test_change_put_down_waits_for_a_worker_and_is_carried_out_once(evening, staff):
    before = everything_of(evening)
    job = put_down(history.void(ids("m0", "m1")), staff)
    assert everything_of(evening) == before
    assert seen() == [("correction", "brisca", "queued", 0, 0, "")]

    first = queued_changes.carry_out(job.pk)
    again = queued_changes.carry_out(job.pk)

    assert (len(first), again) == (1, [])
    correction = Correction.objects.get()
    assert (correction.kind, correction.reason, correction.note, correction.made_by) == (
        "void",
        "forged",
        "seen twice",
        staff,
    )
    [(_kind, _what, state, _done, _total, result)] = seen()
    assert (state, result) == ("done", "Done: 2 matches changed, and 4 rated again.")
    assert history.verify(evening).is_clean


def test_corrected_facts_survive_the_wait(evening, staff):
    [match] = ids("m2")
    players = {player.handle: player.pk for player in Player.objects.all()}
    right = Correct(
        played_at=today(3),
        termination="abandoned",
        teams=[CorrectTeam([players["p1"]], 1, None), CorrectTeam([players["ana"]], 2, None)],
    )

    queued_changes.carry_out(put_down(history.correct(match, right), staff).pk)

    corrected = Match.objects.get(pk=match)
    assert (corrected.played_at, corrected.termination) == (today(3), "abandoned")
    assert corrected.participations.get(place=1).player_id == players["p1"]
    assert history.verify(evening).is_clean


def test_change_that_would_no_longer_be_what_was_shown_fails_and_changes_nothing(evening, staff):
    job = put_down(history.void(ids("m0")), staff)
    record(duel("p1", "p2", today(9)), source=make_source("mesa-2"))
    before = everything_of(evening)

    assert queued_changes.carry_out(job.pk) == []

    [(_kind, _what, state, _done, _total, result)] = seen()
    assert state == "failed"
    assert result.startswith("History moved on since you looked: nothing was changed.")
    assert everything_of(evening) == before


def test_result_is_told_in_the_language_of_whoever_asked(evening, staff):
    with translation.override("es"):
        job = put_down(history.void(ids("m0")), staff)

    queued_changes.carry_out(job.pk)

    [(_kind, _what, _state, _done, _total, result)] = seen()
    assert result.startswith("Hecho:")


@pytest.fixture
def confirmed(client, monkeypatch, evening, staff):
    """What a staff member gets who confirms a change that is long."""
    monkeypatch.setattr(rerating, "MOST_RERATED", 2)
    monkeypatch.setattr(history, "MOST_RERATED", 2)
    client.force_login(staff)

    def confirm():
        shown = client.post(
            reverse("admin:ratings_match_changelist"),
            {"action": "void", "_selected_action": ids("m0"), "index": "0"},
        )
        hidden = {field.name: field.value() for field in shown.context["form"].hidden_fields()}
        return client.post(
            reverse("admin:ratings_match_correct"), hidden | {"reason": "forged", "note": ""}
        )

    return confirm


def test_long_change_is_left_to_a_worker_and_its_page_looks_again_until_it_is_over(
    client, monkeypatch, evening, confirmed
):
    sent = []
    monkeypatch.setattr(
        tasks.change_history, "apply_async", lambda args, **options: sent.append(args)
    )

    answer = confirmed()

    job = Job.objects.get()
    assert answer.url == reverse("admin:ratings_job_change", args=[job.pk])
    assert sent == [[job.pk]]
    page = client.get(answer.url)
    assert page["Refresh"] == "3"
    assert "queued" in page.text
    assert not Correction.objects.exists()

    tasks.change_history(job.pk)

    page = client.get(answer.url)
    assert "Refresh" not in page
    assert "Done: 1 match changed, and 5 rated again." in page.text
    assert Correction.objects.count() == 1


def test_long_change_is_carried_out_at_once_where_no_worker_can_be_told(
    client, monkeypatch, evening, confirmed
):
    def refuse(*_args, **_options):
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.change_history, "apply_async", refuse)

    answer = confirmed()

    assert "Done: 1 match changed, and 5 rated again." in client.get(answer.url).text
    assert history.verify(evening).is_clean


def test_worker_carries_out_what_was_put_down(worker, evening, staff):
    job = put_down(history.void(ids("m0")), staff)

    worker.run("ratings.tasks.change_history", job.pk)
    worker.run("ratings.tasks.change_history", job.pk)

    assert Correction.objects.count() == 1
    assert Job.objects.get().state == "done"
    assert history.verify(Game.objects.get(slug="brisca")).is_clean


def test_list_of_jobs_says_how_far_each_is(client, staff):
    client.force_login(staff)
    ago = timezone.now() - timedelta(hours=2)
    Job.objects.create(kind="import", what="a", state="running", done=30, total=120)
    Job.objects.create(kind="import", what="b", state="running", updated_at=ago)
    Job.objects.create(kind="rerating", what="c", state="failed", finished_at=ago)

    text = client.get(reverse("admin:ratings_job_changelist")).text

    assert "running, 25\xa0%" in text
    assert "interrupted: nothing was changed, run it again" in text
    assert "failed: nothing was changed" in text
