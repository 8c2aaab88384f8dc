"""Changes of history that are too long to wait for: put down, and carried out by a worker."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ratings import history, jobs
from ratings.history import Correct, CorrectTeam, HistoryMoved, Proposal
from ratings.models import Correction, CorrectionKind, Job, JobKind, JobState, User
from ratings.reports import ReportError


def put_down(
    proposal: Proposal, *, by: User, reason: str, note: str, expected: Mapping[str, int]
) -> Job:
    """A job for a worker, which is to be told its id (`tasks.change_history`)."""
    job = jobs.job(JobKind.CORRECTION, ", ".join(proposal.games), by=by)
    job.order = {
        "kind": proposal.kind,
        "matches": sorted(proposal.match_ids),
        "right": _to_json(proposal.correct),
        "reason": reason,
        "note": note,
        "expected": dict(expected),
        "language": translation.get_language(),
    }
    job.save()
    return job


def carry_out(job_id: int) -> list[Correction]:
    """Does what was put down, unless somebody does it or did it already.

    What cannot be done, or would not be what was shown, fails the job and changes nothing.
    """
    with transaction.atomic():
        job = Job.objects.select_for_update(of=["self"]).select_related("made_by").get(pk=job_id)
        if job.state != JobState.QUEUED or job.order is None:
            return []
        job.state = JobState.RUNNING
        job.save(update_fields=["state"])
    order = job.order
    proposal = Proposal(
        CorrectionKind(order["kind"]), frozenset(order["matches"]), _from_json(order["right"])
    )
    with translation.override(order["language"]), jobs.watched(job) as watch:
        try:
            corrections = history.carry_out(
                proposal,
                by=job.made_by,
                reason=order["reason"],
                note=order["note"],
                expected=order["expected"],
                on_match=jobs.matches_done(watch, history.count_behind(proposal)),
            )
        except HistoryMoved:
            watch.fail(
                _("History moved on since you looked: nothing was changed. Look at it again.")
            )
            return []
        except ReportError as error:
            watch.fail(str(error))
            return []
        job.result = told(corrections)
    return corrections


def told(corrections: list[Correction]) -> str:
    """What was done, in the reader's language."""
    count = sum(correction.matches.count() for correction in corrections)
    rerated = sum(correction.rerated for correction in corrections)
    return ngettext(
        "Done: %(count)s match changed, and %(rerated)s rated again.",
        "Done: %(count)s matches changed, and %(rerated)s rated again.",
        count,
    ) % {"count": f"{count:,}", "rerated": f"{rerated:,}"}


def _to_json(right: Correct) -> dict[str, Any]:
    teams = right.teams and [
        [list(team.players), team.place, None if team.points is None else str(team.points)]
        for team in right.teams
    ]
    played_at = right.played_at and right.played_at.isoformat()
    return {"played_at": played_at, "termination": right.termination, "teams": teams}


def _from_json(right: Mapping[str, Any]) -> Correct:
    return Correct(
        right["played_at"] and datetime.fromisoformat(right["played_at"]),
        right["termination"],
        right["teams"]
        and [
            CorrectTeam(players, place, None if points is None else Decimal(points))
            for players, place, points in right["teams"]
        ],
    )
