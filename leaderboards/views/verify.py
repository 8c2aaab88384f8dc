from __future__ import annotations

from math import log10

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.shell import read_shell
from ratings.history.verification import OTHER_ENGINE_TOLERANCE
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def verify(request: HttpRequest) -> HttpResponse:
    """How anybody can check the ratings."""
    shell = read_shell()
    return live.answer(
        request,
        "leaderboards/verify.html",
        lambda: {"exponent": log10(OTHER_ENGINE_TOLERANCE)},
        shell=shell,
        facts=shell.versions,
    )
