from __future__ import annotations

from math import log10

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.downloads import find_download
from leaderboards.shell import read_shell
from ratings.history.verification import OTHER_ENGINE_TOLERANCE
from ratings.models import VerifyRun
from ratings.replaying import TOLERANCE
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def verify(request: HttpRequest) -> HttpResponse:
    """What the latest checks found, and how anybody can make one."""
    shell = read_shell()
    runs = {
        run.game_id: run
        for run in VerifyRun.objects.order_by("game_id", "-started_at", "-pk").distinct("game_id")
    }
    downloads = [found for game in shell.games if (found := find_download(game))]
    return live.answer(
        request,
        "leaderboards/verify.html",
        lambda: {
            "checks": [(game, runs.get(game.pk)) for game in shell.games],
            "downloads": downloads,
            "exponent": log10(OTHER_ENGINE_TOLERANCE),
            "download_exponent": log10(TOLERANCE),
        },
        shell=shell,
        facts=(
            *shell.versions,
            *(run.pk for run in runs.values()),
            *(found.etag for found in downloads),
        ),
    )
