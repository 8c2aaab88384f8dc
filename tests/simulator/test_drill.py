"""The "never happened" drill at a modest size; `make soak ARGS=--drill` runs it at the full one."""

import pytest

from ratings import history
from ratings.models import Player
from tests.ratings.builders import undone
from tests.simulator import drill

pytestmark = pytest.mark.django_db


def test_forged_matches_never_happened_once_they_are_quarantined():
    game = drill.empty_game()
    honest = drill.honest_reports(2500, seed=1)
    forged = drill.forged_reports(500, seed=1, honest_count=2500)
    ids = {report.external_id for report in forged}
    with undone():
        drill.record(honest, drill.make_sources(2500)["honest"])
        expected = drill.state_without(game, set())

    done = drill.quarantine(game, honest, forged)

    assert drill.state_without(game, ids) == expected
    assert done.voided == 500
    assert done.rerated > 2000
    assert done.newcomers > 5
    assert done.moved > 20
    assert Player.objects.filter(handle__startswith="forged-").exists()
    assert history.verify(game).differences == []
