"""What verifications found, kept for the page that shows it."""

import pytest
from django.core.management import CommandError, call_command

from ratings import history
from ratings.models import GameState, Rating, VerifyRun
from ratings.systems.engine import engine
from tests.ratings.builders import duel, make_source, open_game, record

pytestmark = pytest.mark.django_db


@pytest.fixture
def brisca():
    game = open_game()
    record(duel("ana", "pepa_4"), duel("lola", "ana"), source=make_source())
    return game


def test_run_keeps_what_was_found_and_of_which_version(brisca):
    run = history.run_verification(brisca)

    stored = VerifyRun.objects.get()
    assert stored == run
    brisca.state.refresh_from_db()
    assert (stored.game, stored.version) == (brisca, brisca.state.version)
    assert (stored.matches, stored.players) == (2, 3)
    assert (stored.is_clean, stored.is_exact, stored.differences) == (True, True, [])
    assert stored.engine == engine()
    assert stored.started_at <= stored.finished_at


def test_run_keeps_the_first_differences_and_counts_all(brisca):
    record(*[duel(f"p{n}", f"q{n}") for n in range(20)], source=make_source("mesa-2"))
    Rating.objects.update(lost=7)

    run = history.run_verification(brisca)

    assert not run.is_clean
    assert run.difference_count == 43
    assert len(run.differences) == history.MOST_DIFFERENCES
    assert all("lost is 7, the replay gives" in text for text in run.differences)


def test_run_says_where_another_machine_computed_the_numbers(brisca):
    GameState.objects.filter(game=brisca).update(engine="1-000000000000")

    run = history.run_verification(brisca)

    assert (run.is_exact, run.is_clean, run.engine) == (False, True, engine())


def test_verifying_calls_for_each_match(brisca):
    calls = []

    history.run_verification(brisca, on_match=lambda: calls.append(1))

    assert len(calls) == 2


def test_latest_run_comes_first(brisca):
    runs = [history.run_verification(brisca) for _ in range(3)]

    assert list(brisca.verify_runs.all()) == runs[::-1]


def test_command_keeps_a_run_of_each_game_also_where_one_differs(brisca):
    Rating.objects.update(lost=7)

    with pytest.raises(CommandError):
        call_command("verify_ratings")

    found = VerifyRun.objects.values_list("game__slug", "difference_count")
    assert dict(found) == {
        "brisca": 3,
        "tute": 0,
        "cinquillo": 0,
        "tute-subastado": 0,
        "siete-y-media": 0,
    }
