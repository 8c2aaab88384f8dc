"""What happens on other connections than the test's own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from django.db import connection, transaction

from ratings.models import GameState

SECONDS = 60


def elsewhere[Result](job: Callable[[], Result]) -> Result:
    """What the job returns, or raises, in a thread and on a connection of its own."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(job())
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout=SECONDS)
    assert not thread.is_alive(), "it waits for ever"
    if errors:
        raise errors[0]
    return results[0]


@contextmanager
def held(*slugs: str) -> Iterator[None]:
    """The games' locks are somebody else's as long as the block runs."""
    holding, done = Event(), Event()

    def hold() -> Any:
        with transaction.atomic():
            states = GameState.objects.filter(game__slug__in=slugs).order_by("game_id")
            list(states.select_for_update(of=("self",)))
            holding.set()
            assert done.wait(timeout=SECONDS)

    holder = Thread(target=elsewhere, args=[hold], daemon=True)
    holder.start()
    try:
        assert holding.wait(timeout=SECONDS)
        yield
    finally:
        done.set()
        holder.join(timeout=SECONDS)
