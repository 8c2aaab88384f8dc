"""Runs the simulator, or the drill, at any size on an empty database of its own."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import django
import psycopg
from django.core.management import call_command
from django.db import connection

from naiply import embedded

DATABASE = "naiply_soak"
STEPS_OF_A_WORLD = 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--steps", type=int, default=5000, help="how many in all")
    parser.add_argument("--seed", type=int, default=1, help="the same seed, the same steps")
    parser.add_argument(
        "--world", type=int, help=f"only this one of the worlds of {STEPS_OF_A_WORLD} steps"
    )
    parser.add_argument("--every", type=int, default=10, help="steps from one check to the next")
    parser.add_argument("--drill", action="store_true", help="the drill instead of the simulator")
    parser.add_argument("--honest", type=int, default=50_000, help="matches of the drill")
    parser.add_argument("--forged", type=int, default=10_000, help="matches of the drill")
    options = parser.parse_args()

    with own_database():
        if options.drill:
            run_drill(options.honest, options.forged, options.seed)
        else:
            soak(options.steps, options.seed, options.world, options.every)


def soak(steps: int, seed: int, only: int | None, every: int) -> None:
    # Not before Django knows its database.
    from tests.simulator.world import World

    worlds = range(-(-steps // STEPS_OF_A_WORLD)) if only is None else [only]
    for number in worlds:
        size = min(STEPS_OF_A_WORLD, steps - number * STEPS_OF_A_WORLD)
        size = STEPS_OF_A_WORLD if only is not None else size
        empty()
        world = World(f"{seed} {number}")
        begin = monotonic()
        step = 0
        try:
            for step in range(size):
                world.step()
                if step % every == 0:
                    world.check()
                if step % 100 == 0:
                    say(f"\rseed {seed}, world {number}: step {step} of {size}")
            world.check()
        except BaseException:
            say(f"\nFailed at step {step} of world {number}, after {', '.join(world.lately)}.\n")
            say(f"To repeat: make soak ARGS='--seed {seed} --world {number} --every 1'\n")
            raise
        deeds = ", ".join(f"{count} {name}" for name, count in world.deeds.most_common())
        matches = sum(len(game.matches) for game in world.model.games.values())
        say(
            f"\rseed {seed}, world {number}: {size} steps, {matches} matches, "
            f"{monotonic() - begin:.0f} s: {deeds}\n"
        )


def run_drill(honest_count: int, forged_count: int, seed: int) -> None:
    from ratings import history
    from tests.simulator import drill

    game = drill.empty_game()
    honest = drill.honest_reports(honest_count, seed)
    forged = drill.forged_reports(forged_count, seed, honest_count)
    say(f"seed {seed}: recording {honest_count} honest matches\n")
    drill.record(honest, drill.make_sources(honest_count)["honest"])
    expected = drill.state_without(game, set())
    empty()
    game = drill.empty_game()
    say(f"recording them with {forged_count} forged ones, and quarantining those\n")
    done = drill.quarantine(game, honest, forged)
    found = drill.state_without(game, {report.external_id for report in forged})
    for what, was, is_now in zip(
        ("ratings", "ledger", "counts", "boards"), expected, found, strict=True
    ):
        assert was == is_now, f"The {what} differ."
    verified = history.verify(game)
    assert verified.is_clean, verified.differences
    say(f"{done}\nEvery rating, ledger row, counter and board is as if it had never happened.\n")


def empty() -> None:
    """Forgets everything but the games."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE ratings_player, ratings_match, ratings_pointscount, ratings_tiesegment,"
            " ratings_source, ratings_user, ratings_correction CASCADE"
        )


def say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


@contextmanager
def own_database() -> Iterator[None]:
    """An empty database on the server of the tests, which may be running beside."""
    os.environ["NAIPLY_MODE"] = "test"
    address = embedded.start("test")
    server = psycopg.connect(address, autocommit=True)
    try:
        server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {DATABASE}")
        os.environ["DATABASE_URL"] = address.replace(f"/{embedded.DATABASE_NAME}?", f"/{DATABASE}?")
        os.environ["DJANGO_SETTINGS_MODULE"] = "naiply.settings"
        django.setup()
        call_command("migrate", verbosity=0)
        yield
    finally:
        connection.close()
        server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        server.close()
        embedded.stop("test")


if __name__ == "__main__":
    main()
