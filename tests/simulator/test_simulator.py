"""The simulator at a modest size; `make soak` runs it at any."""

import pytest

from tests.simulator.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("seed", range(3))
def test_site_equals_the_model_whatever_is_done_to_it(seed):
    world = World(f"suite {seed}")

    for number in range(100):
        world.step()
        if number % 4 == 0:
            world.check()
    world.check()

    assert sum(world.deeds.values()) > 90
