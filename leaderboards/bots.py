"""The bots of the site, by difficulty, with what each shows in every game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext, pgettext

from leaderboards.lists import all_of
from ratings.bots import BANDS, Span
from ratings.models import Bot, Difficulty, Game, Player, PlayerStatus, Rating

MOST_LISTED = 100
"""So many bots of a difficulty the page lists; the boards list all."""


@dataclass(frozen=True, slots=True)
class BotLine:
    """A bot and what it shows in each game, in their order; None where it was never rated."""

    bot: Bot
    author: Player | None
    ratings: Sequence[tuple[Game, Rating | None]]
    outside: str


@dataclass(frozen=True, slots=True)
class Group:
    """The bots of one difficulty. `band` and `span` are None where there is none."""

    name: str
    band: tuple[int, int] | None
    span: Span | None
    lines: Sequence[BotLine] = field(default_factory=list)
    more: int = 0


def read_bots() -> list[Bot]:
    """The active bots of each difficulty by name, the first hundred of each. One query.

    `in_all` is how many there are of the bot's difficulty.
    """
    of_difficulty = [F("difficulty")]
    bots = (
        Bot.objects.filter(player__status=PlayerStatus.ACTIVE)
        .select_related("player")
        .annotate(
            number=Window(RowNumber(), partition_by=of_difficulty, order_by="player__handle_key"),
            in_all=Window(Count("pk"), partition_by=of_difficulty),
        )
        .filter(number__lte=MOST_LISTED)
        .order_by("player__handle_key")
    )
    return list(bots)


def group_bots(
    bots: Sequence[Bot], games: Sequence[Game], spans: Mapping[str, Span]
) -> list[Group]:
    """The bots in groups from easy to hard, those without a difficulty last. Two queries."""
    ratings = _ratings_of(bots)
    authors = _authors_of(bots)
    groups = []
    for difficulty in ("", *Difficulty.values):
        of_group = [bot for bot in bots if bot.difficulty == difficulty]
        band = BANDS.get(difficulty)
        lines = [
            _line(bot, authors.get(bot.player.owner_id), games, ratings, band) for bot in of_group
        ]
        more = of_group[0].in_all - len(of_group) if of_group else 0
        groups.append(Group(_name(difficulty), band, spans.get(difficulty), lines, more))
    without, *with_difficulty = groups
    return [*with_difficulty, without] if without.lines else with_difficulty


def difficulties(
    spans: Mapping[str, Span],
) -> list[tuple[str, tuple[int, int], Span | None]]:
    """Each difficulty's name, what its bots are meant to have, and what they span today."""
    return [(_name(value), BANDS[value], spans.get(value)) for value in Difficulty.values]


def _name(difficulty: str) -> str:
    return {
        Difficulty.EASY.value: pgettext("bots", "Easy"),
        Difficulty.MEDIUM.value: pgettext("bots", "Medium"),
        Difficulty.HARD.value: pgettext("bots", "Hard"),
    }.get(difficulty, pgettext("bots", "Without a difficulty"))


def _ratings_of(bots: Sequence[Bot]) -> dict[tuple[int, int], Rating]:
    ratings = Rating.objects.filter(player__in=[bot.pk for bot in bots])
    return {(rating.player_id, rating.game_id): rating for rating in ratings}


def _authors_of(bots: Sequence[Bot]) -> dict[int | None, Player]:
    """Who made the bots, by account: the person that the account plays as, where it has one."""
    owners = {bot.player.owner_id for bot in bots} - {None}
    people = Player.objects.with_profile().filter(owner__in=owners, is_bot=False)
    return {person.owner_id: person for person in people.order_by("-pk")}


def author_of(player: Player) -> Player | None:
    """Who made a bot, as a person on the boards; None also for a person."""
    return _authors_of([player.bot]).get(player.owner_id) if player.is_bot else None


def _line(
    bot: Bot,
    author: Player | None,
    games: Sequence[Game],
    ratings: Mapping[tuple[int, int], Rating],
    band: tuple[int, int] | None,
) -> BotLine:
    own = [(game, ratings.get((bot.pk, game.pk))) for game in games]
    return BotLine(bot, author, own, _outside(own, band) if band else "")


def _outside(own: Sequence[tuple[Game, Rating | None]], band: tuple[int, int]) -> str:
    """In which games an established bot on the board stands outside its band, in words."""
    established = [
        (game, rating.elo_shown)
        for game, rating in own
        if rating and rating.is_listed and not rating.is_provisional
    ]
    below = [game.display_name for game, shown in established if shown < band[0]]
    above = [game.display_name for game, shown in established if shown > band[1]]
    words = []
    if below:
        words.append(gettext("below its band: %(games)s") % {"games": all_of(below)})
    if above:
        words.append(gettext("above its band: %(games)s") % {"games": all_of(above)})
    return "; ".join(words)
