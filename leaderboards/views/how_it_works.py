from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from leaderboards import examples, live
from leaderboards.shell import Shell, read_shell
from ratings.models.game import EVERYONE_FOR_HIMSELF, ONE_AGAINST_THE_REST
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.snapshots import snapshot
from ratings.systems import decay, elo, openskill
from ratings.systems.match import START
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
        facts=rules,
    )


def read_rules(shell: Shell) -> dict[str, Any]:
    """Every number of the page."""
    gap_of_example = 200
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
        "newcomer": examples.Belief(*START[1:]),
        "first_matches": examples.first_matches(),
        "settling": examples.settling(),
        "settled_sigma": examples.settled_sigma(),
        "grace_days": decay.GRACE.days,
        "decay_step": decay.STEP,
        "decay_step_shown": examples.decay_step_shown(),
        "weeks_to_forget": examples.weeks_to_forget(),
        "provisional_below": PROVISIONAL_BELOW,
        "pair_limit": PAIR_LIMIT,
        "pair_hours": round(PAIR_WINDOW.total_seconds() / 3600),
        "games": [
            {"game": game, "shapes": [shape_in_words(shape) for shape in game.shapes]}
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
