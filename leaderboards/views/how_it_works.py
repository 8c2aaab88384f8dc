from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from leaderboards import examples, live
from leaderboards.bots import difficulties
from leaderboards.lists import one_of
from leaderboards.shell import Shell, read_shell
from ratings.bots import read_spans
from ratings.models.game import EVERYONE_FOR_HIMSELF, ONE_AGAINST_THE_REST
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.recording import LOCK_SECONDS, MOST_RERATED
from ratings.snapshots import snapshot
from ratings.systems import convergence, decay, elo, openskill
from ratings.systems.replay import PAIR_LIMIT, PAIR_WINDOW


@require_safe
@snapshot()
def how_it_works(request: HttpRequest) -> HttpResponse:
    shell = read_shell()
    rules = tuple(
        (game.slug, game.min_players, game.max_players, game.shapes, game.places_by, game.idle_days)
        for game in shell.games
    )
    return live.answer(
        request,
        "leaderboards/how_it_works.html",
        lambda: read_rules(shell),
        shell=shell,
        facts=(*shell.versions, *rules),
    )


def read_rules(shell: Shell) -> dict[str, Any]:
    """Every number of the page. One query, for the bots of today."""
    gap_of_example = 200
    first_matches = examples.first_matches()
    newcomer = examples.newcomer()
    return {
        "elo": elo.PARAMETERS,
        "example": examples.elo_gap(gap_of_example),
        "example_rating": elo.PARAMETERS.start,
        "example_opponent": elo.PARAMETERS.start + gap_of_example,
        "gaps": [examples.elo_gap(gap) for gap in examples.GAPS],
        "four": examples.elo_changes([1, 1, 1, 1]),
        "pairs": examples.elo_changes([2, 2]),
        "one_against_three": examples.elo_changes([1, 3]),
        "openskill": openskill.PARAMETERS,
        "display_start": openskill.DISPLAY_START,
        "display_scale": openskill.DISPLAY_SCALE,
        "display_sigmas": openskill.DISPLAY_SIGMAS,
        "newcomer": newcomer,
        "first_matches": first_matches,
        "first_win": first_matches[0].belief.shown - newcomer.shown,
        "equals": examples.elo_gap(0),
        "settled": examples.settled_average(),
        "comeback": examples.comeback(),
        "figures": examples.figures(),
        "runs": convergence.RUNS,
        "settling": examples.settling(),
        "settled_sigma": examples.settled_sigma(),
        "grace_days": decay.GRACE.days,
        "decay_step": decay.STEP,
        "decay_step_shown": examples.decay_step_shown(),
        "weeks_to_forget": examples.weeks_to_forget(),
        "provisional_below": PROVISIONAL_BELOW,
        "lock_seconds": LOCK_SECONDS,
        "most_rerated": MOST_RERATED,
        "difficulties": difficulties(read_spans(shell.games)),
        "pair_limit": PAIR_LIMIT,
        "pair_hours": round(PAIR_WINDOW.total_seconds() / 3600),
        "games": [
            {"game": game, "shapes": one_of([shape_in_words(shape) for shape in game.shapes])}
            for game in shell.games
        ],
    }


def shape_in_words(shape: str) -> str:
    """What a game's data calls solo, 1v* or, by the sizes of the teams, 2v2."""
    if shape == EVERYONE_FOR_HIMSELF:
        return gettext("everyone for himself")
    if shape == ONE_AGAINST_THE_REST:
        return gettext("one against the rest")
    return gettext("teams of %(sizes)s") % {"sizes": " – ".join(shape.split("v"))}
