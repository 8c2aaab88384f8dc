"""The questions people ask, and every number that the answers need.

An answer is a partial of templates/leaderboards/faq_answers.html with the question's anchor as
its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from leaderboards import examples
from leaderboards.bots import difficulties
from leaderboards.shell import Shell
from ratings import recording
from ratings.bots import read_spans
from ratings.models import rating as rating_model
from ratings.systems import decay, elo, openskill, replay

ANSWERS = "leaderboards/faq_answers.html"
GREAT_GAP = 400


@dataclass(frozen=True, slots=True)
class Question:
    anchor: str
    words: Promise

    @property
    def answer(self) -> str:
        return f"{ANSWERS}#{self.anchor}"


@dataclass(frozen=True, slots=True)
class Chapter:
    anchor: str
    title: Promise
    questions: Sequence[Question]


CHAPTERS = (
    Chapter(
        "numbers",
        _("The numbers"),
        (
            Question("not-wins", _("Why ratings, and not simply a count of wins?")),
            Question("two-systems", _("Why are there two numbers for everybody?")),
            Question("start", _("What does a newcomer start with?")),
            Question("most", _("How much can one match win or lose me?")),
            Question("games", _("Is a rating shared across the games?")),
            Question("floor", _("Can a rating fall below the start, and is there a floor?")),
            Question("openskill-lower", _("Why is an OpenSkill number lower than expected?")),
            Question("disagree", _("Why do Elo and OpenSkill put people in another order?")),
            Question("settle", _("How many matches until a rating settles?")),
            Question("provisional", _("What does provisional mean?")),
            Question("tables", _("How are pairs and larger tables rated?")),
        ),
    ),
    Chapter(
        "boards",
        _("The boards"),
        (
            Question("how-soon", _("How soon does the board show a match?")),
            Question("off-board", _("Why is somebody not on the board?")),
            Question("away", _("What happens while I do not play, and when I come back?")),
            Question("own-page", _("Can I show a rating on a page of my own?")),
        ),
    ),
    Chapter(
        "matches",
        _("Matches"),
        (
            Question("not-rated", _("Why was a match not rated?")),
            Question("left", _("What if somebody leaves in the middle?")),
            Question("corrected", _("Can ratings be corrected?")),
            Question("moved", _("Why did a number move without a match?")),
            Question("check", _("How can I check all this?")),
        ),
    ),
    Chapter(
        "bots",
        _("Bots"),
        (
            Question("bots-count", _("Do matches against bots count?")),
            Question("weak-bots", _("Can I pump up my rating against weak bots?")),
            Question("improved", _("I improved my bot. How long until it shows?")),
            Question("own-bots", _("May my own bots play each other, or me?")),
        ),
    ),
)


def read_answers(shell: Shell) -> dict[str, Any]:
    """The chapters, and every number of the answers. One query, for the bots of today."""
    equals, great = examples.elo_gap(0), examples.elo_gap(GREAT_GAP)
    settled = examples.settled_sigma()
    return {
        "chapters": CHAPTERS,
        "elo": elo.PARAMETERS,
        "openskill": openskill.PARAMETERS,
        "display_start": openskill.DISPLAY_START,
        "display_sigmas": openskill.DISPLAY_SIGMAS,
        "equals": equals,
        "great": great,
        # What the stronger of the two gets is what the weaker one loses, and the other way round.
        "favourite_wins": -great.lost,
        "favourite_loses": -great.won,
        "wins_for_a_defeat": ceil(great.won / -great.lost),
        "newcomer": examples.newcomer(),
        "settled": examples.settled_average(),
        "settled_sigma": settled,
        "weak": examples.against_weak(),
        "figures": examples.figures(),
        "grace_days": decay.GRACE.days,
        "decay_step_shown": examples.decay_step_shown(),
        "weeks_to_forget": examples.weeks_to_forget(),
        "comeback": examples.comeback(),
        "provisional_below": rating_model.PROVISIONAL_BELOW,
        "pair_limit": replay.PAIR_LIMIT,
        "pair_hours": round(replay.PAIR_WINDOW.total_seconds() / 3600),
        "lock_seconds": recording.LOCK_SECONDS,
        "most_rerated": recording.MOST_RERATED,
        "difficulties": difficulties(read_spans(shell.games)),
        "games": shell.games,
        "example_game": next(iter(shell.games), None),
    }
