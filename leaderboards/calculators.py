"""The calculators: what a match between two would do, under each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from leaderboards.templatetags.numbers import decimals, rating
from leaderboards.written_numbers import WrittenNumber
from ratings.models import Game, Player, Rating
from ratings.models.player import WITHOUT_PROFILE
from ratings.names import LONGEST_HANDLE
from ratings.players import find_by_handle
from ratings.systems import elo, openskill
from ratings.systems.match import START, Skill
from ratings.systems.openskill import displayed_rating

SIDES = ("one", "two")
LOWEST_ELO, HIGHEST_ELO = -1000, 5000
HIGHEST_MU = 200
EXAMPLE_GAP = 200

OUTCOMES = (
    (_("First player wins"), (1, 2)),
    (pgettext_lazy("result", "Draw"), (1, 1)),
    (_("Second player wins"), (2, 1)),
)


@dataclass(frozen=True, slots=True)
class Contestant:
    """Somebody in a calculation: a player of the site, or numbers without a name."""

    skill: Skill
    player: Player | None = None


@dataclass(frozen=True, slots=True)
class EloOutcome:
    words: str
    before: Sequence[float]
    after: Sequence[float]

    @property
    def lines(self) -> list[tuple[float, float]]:
        """For each side its rating after the match, and its change."""
        return [(new, new - old) for old, new in zip(self.before, self.after, strict=True)]


@dataclass(frozen=True, slots=True)
class OpenSkillLine:
    mu: float
    sigma: float
    shown: float
    change: float


@dataclass(frozen=True, slots=True)
class OpenSkillOutcome:
    words: str
    lines: Sequence[OpenSkillLine]


class CalculatorForm(forms.Form):
    """Two contestants, each given by numbers or by a handle in a game. The handle wins."""

    numbers: Sequence[str] = ()
    """The names of a contestant's own numbers, without the side."""

    one_player = forms.CharField(max_length=LONGEST_HANDLE, required=False)
    two_player = forms.CharField(max_length=LONGEST_HANDLE, required=False)

    def __init__(self, data: Mapping[str, Any], games: Sequence[Game]) -> None:
        # Each calculator's fields have its prefix, so that both can stand in one query string.
        self.is_asked = any(name.startswith(f"{self.prefix}-") for name in data)
        super().__init__(data if self.is_asked else self.example())
        self.fields["game"] = forms.ChoiceField(
            choices=[(game.slug, game.display_name) for game in games], required=False
        )
        self.games = {game.slug: game for game in games}

    @classmethod
    def example(cls) -> dict[str, str]:
        """What stands in the form until somebody fills it in, written in the reader's language."""
        raise NotImplementedError

    def numbers_of(self, side: str) -> Skill:
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self.contestants = [self._contestant(side) for side in SIDES]
        return cleaned

    def _contestant(self, side: str) -> Contestant:
        handle = self.cleaned_data.get(f"{side}_player")
        if not handle:
            if f"{side}_player" not in self.errors:
                self._require_numbers(side)
            return Contestant(START if self.errors else self.numbers_of(side))
        found = find_by_handle(handle)
        if found is None or found.player.status in WITHOUT_PROFILE:
            self.add_error(f"{side}_player", gettext("Nobody has this handle."))
            return Contestant(START)
        stored = Rating.objects.filter(player=found.player, game=self._game()).first()
        skill = (stored.elo, stored.mu, stored.sigma) if stored else START
        return Contestant(skill, found.player)

    def _require_numbers(self, side: str) -> None:
        for number in self.numbers:
            name = f"{side}_{number}"
            if name not in self.errors and self.cleaned_data.get(name) is None:
                self.add_error(name, gettext("Give a number here, or a handle."))

    def _game(self) -> Game | None:
        slug = self.cleaned_data.get("game") or next(iter(self.games), None)
        return self.games.get(slug)


class EloForm(CalculatorForm):
    prefix = "elo"
    numbers = ("rating",)

    one_rating = WrittenNumber(lowest=LOWEST_ELO, highest=HIGHEST_ELO)
    two_rating = WrittenNumber(lowest=LOWEST_ELO, highest=HIGHEST_ELO)

    @classmethod
    def example(cls) -> dict[str, str]:
        start = elo.PARAMETERS.start
        return {"elo-one_rating": rating(start), "elo-two_rating": rating(start + EXAMPLE_GAP)}

    def numbers_of(self, side: str) -> Skill:
        return (self.cleaned_data[f"{side}_rating"], *START[1:])


class OpenSkillForm(CalculatorForm):
    prefix = "openskill"
    numbers = ("mu", "sigma")

    one_mu = WrittenNumber(lowest=-HIGHEST_MU, highest=HIGHEST_MU, places=2)
    one_sigma = WrittenNumber(lowest=0, highest=openskill.PARAMETERS.sigma, above=True, places=4)
    two_mu = WrittenNumber(lowest=-HIGHEST_MU, highest=HIGHEST_MU, places=2)
    two_sigma = WrittenNumber(lowest=0, highest=openskill.PARAMETERS.sigma, above=True, places=4)

    @classmethod
    def example(cls) -> dict[str, str]:
        mu, sigma = decimals(START[1], 0), decimals(START[2], 4)
        sides = [(f"openskill-{side}_mu", f"openskill-{side}_sigma") for side in SIDES]
        return {name: text for pair in sides for name, text in zip(pair, (mu, sigma), strict=True)}

    def numbers_of(self, side: str) -> Skill:
        return (START[0], self.cleaned_data[f"{side}_mu"], self.cleaned_data[f"{side}_sigma"])


def calculate_elo(form: EloForm) -> dict[str, Any] | None:
    """What each outcome would do to the two ratings; None for a form with mistakes."""
    if not form.is_valid():
        return None
    before = [contestant.skill[0] for contestant in form.contestants]
    expected = elo.expected_score(*before)
    return {
        "contestants": form.contestants,
        "before": before,
        "expected": [expected, 1 - expected],
        "outcomes": [
            EloOutcome(
                words, before, [team[0] for team in elo.rate([[own] for own in before], places)]
            )
            for words, places in OUTCOMES
        ],
    }


def calculate_openskill(form: OpenSkillForm) -> dict[str, Any] | None:
    """What each outcome would do to the two beliefs; None for a form with mistakes."""
    if not form.is_valid():
        return None
    before = [contestant.skill[1:] for contestant in form.contestants]
    teams = [[belief] for belief in before]
    return {
        "contestants": form.contestants,
        "before": [(*belief, displayed_rating(*belief)) for belief in before],
        "chances": openskill.chances(teams),
        "outcomes": [
            OpenSkillOutcome(
                words,
                [
                    _line(old, team[0])
                    for old, team in zip(before, openskill.rate(teams, places), strict=True)
                ],
            )
            for words, places in OUTCOMES
        ],
    }


def _line(old: openskill.Belief, new: openskill.Belief) -> OpenSkillLine:
    shown = displayed_rating(*new)
    return OpenSkillLine(*new, shown, shown - displayed_rating(*old))
