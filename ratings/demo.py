"""The demo: a made-up season, for looking at the site before it has results of its own.

Recorded like any source's results, in the order of arrival; see `season` for what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from ratings import ledger
from ratings.decay import apply_decay
from ratings.models import (
    Bot,
    BotVersion,
    ForgottenName,
    FormerHandle,
    Game,
    Match,
    Participation,
    Player,
    PlayerAlias,
    Source,
)
from ratings.players import create_bot
from ratings.recording import Answer, record_matches
from ratings.season import HOUSE_BOTS, Arrival, Season

SOURCE = "demo"
PEOPLE = 320
MATCHES = 20_000
BATCH = 500
FINE = timedelta(days=8)
TOGETHER = timedelta(minutes=30)
"""So far apart reports of the last days may be and still be recorded together."""

Progress = Callable[[int, int], None]
"""Called with the matches recorded and the matches in all."""


class OtherResults(RuntimeError):
    """The database holds results that are not the demo's."""


def has_demo() -> bool:
    return Source.objects.filter(name=SOURCE).exists()


def has_other_results() -> bool:
    return Match.objects.exclude(source__name=SOURCE).exists()


@transaction.atomic
def load_demo(
    *,
    at: datetime | None = None,
    people: int | None = None,
    matches: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Records a season that ends with the last full hour by `at` (now); how many matches went in.

    OtherResults where there are any: the demo's players would stand among real ones.
    """
    ledger.lock_games(Game.objects.values_list("slug", flat=True))
    if has_other_results():
        raise OtherResults
    source = Source.objects.create(name=SOURCE, is_demo=True, may_create_players=True)
    season = Season(at or datetime.now(UTC), people=people or PEOPLE)
    _create_house_bots(source, released_at=season.begin)
    arrivals = season.arrivals(matches or MATCHES)
    done = recorded = 0
    for batch in _batches(arrivals, fine_from=season.end - FINE):
        receipts = record_matches(
            [arrival.report for arrival in batch], source=source, at=batch[-1].at
        )
        recorded += sum(receipt.answer == Answer.RECORDED for receipt in receipts)
        done += len(batch)
        if progress:
            progress(done, len(arrivals))
    apply_decay(season.end)
    ledger.learn_sizes()
    return recorded


def _batches(arrivals: Sequence[Arrival], *, fine_from: datetime) -> Iterator[list[Arrival]]:
    """What is recorded together counts as received with the last of it.

    Of long ago nobody asks when; of the last days a profile says what came late, and a batch of
    five days would make everything late.
    """
    batch: list[Arrival] = []
    for arrival in arrivals:
        is_fine = arrival.at >= fine_from
        if batch and (
            len(batch) == BATCH
            or (is_fine and (batch[0].at < fine_from or arrival.at - batch[0].at > TOGETHER))
        ):
            yield batch
            batch = []
        batch.append(arrival)
    if batch:
        yield batch


def _create_house_bots(source: Source, released_at: datetime) -> None:
    for difficulty, handles in HOUSE_BOTS.items():
        for handle in handles:
            name = handle.removeprefix("bot-").capitalize()
            bot = create_bot(handle=handle, name=name, difficulty=difficulty, source=source)
            BotVersion.objects.create(bot=bot, label="1.0", released_at=released_at)


@transaction.atomic
def reload_demo(
    *,
    at: datetime | None = None,
    people: int | None = None,
    matches: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Removes the demo and loads it anew; OtherResults where there are any."""
    remove_demo()
    return load_demo(at=at, people=people, matches=matches, progress=progress)


@transaction.atomic
def remove_demo() -> None:
    """Removes the demo's matches and players. OtherResults where there are any.

    Without other results every rating, count and correction is the demo's.
    """
    states = ledger.lock_games(Game.objects.values_list("slug", flat=True))
    if has_other_results():
        raise OtherResults
    aliases = PlayerAlias.objects.filter(source__name=SOURCE)
    players = {
        *aliases.values_list("player_id", flat=True),
        # Whoever was anonymised has no alias any more.
        *Participation.objects.values_list("player_id", flat=True).distinct(),
    }
    with connection.cursor() as cursor:
        # Not through the ORM, which would fetch all of it to look for what hangs on it.
        cursor.execute("DELETE FROM ratings_correctedmatch")
        cursor.execute("DELETE FROM ratings_correction")
        cursor.execute("DELETE FROM ratings_participation")
        cursor.execute("DELETE FROM ratings_match")
        cursor.execute("DELETE FROM ratings_rating")
    aliases.delete()
    # Whoever has got an account or another source's id meanwhile is no longer only the demo's.
    only_of_demo = Player.objects.filter(pk__in=players, aliases=None, owner=None)
    BotVersion.objects.filter(bot__player__in=only_of_demo).delete()
    Bot.objects.filter(player__in=only_of_demo).delete()
    FormerHandle.objects.filter(player__in=only_of_demo).delete()
    ForgottenName.objects.filter(player__in=only_of_demo).delete()
    only_of_demo.delete()
    Source.objects.filter(name=SOURCE).delete()
    for state in states.values():
        ledger.recount(state.game)
        state.engine = ""  # no number is left that it computed
        ledger.announce(state)
