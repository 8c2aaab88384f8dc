from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.calculators import EloForm, OpenSkillForm, calculate_elo, calculate_openskill
from leaderboards.shell import read_shell
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def calculators(request: HttpRequest) -> HttpResponse:
    """Both calculators; for HTMX, the one that was asked."""
    shell = read_shell()
    elo_form = EloForm(request.GET, shell.games)
    openskill_form = OpenSkillForm(request.GET, shell.games)
    context = read_calculators(elo_form, openskill_form)
    return live.answer(
        request,
        "leaderboards/calculators.html",
        lambda: context,
        shell=shell,
        facts=(request.GET.urlencode(), shell.versions),
        part="openskill" if openskill_form.is_asked else "elo",
    )


def read_calculators(elo_form: EloForm, openskill_form: OpenSkillForm) -> dict[str, Any]:
    return {
        "elo_form": elo_form,
        "elo": calculate_elo(elo_form),
        "openskill_form": openskill_form,
        "openskill": calculate_openskill(openskill_form),
    }
