"""What pages weigh: a board with everything in it as long as can be, and styles and scripts."""

import gzip
from datetime import timedelta
from itertools import batched
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.utils import timezone

from tests.leaderboards.html import parse
from tests.ratings.builders import make_report, make_source, open_game, record, team

MOST_HTML = 50 * 1024
"""The issue asks for less than 60 KB; the rest is for what a board will still get."""
MOST_STYLES_AND_SCRIPTS = 80_000
PLAYERS = 180
PAGE = "/leaderboards/tute-subastado/?system=openskill&kind=people"


def fill(length):
    """People with handles so long, all of them provisional, all with a change in these days."""
    open_game("tute-subastado")
    now = timezone.now()
    handles = [f"{n:03}-".ljust(length, "m") for n in range(PLAYERS)]
    teams = list(batched(handles, 3, strict=True))
    record(
        *[
            make_report(
                [team(player, place=place) for place, player in enumerate(players, start=1)],
                game="tute-subastado",
                at=now - timedelta(days=9 - 8 * turn, minutes=number),
            )
            for turn in range(2)
            for number, players in enumerate(teams)
        ],
        source=make_source(),
        at=now,
    )


@pytest.mark.django_db
@pytest.mark.parametrize("length", [20, 40])
@pytest.mark.parametrize("place", ["page=2", "rank=70"])
def test_board_is_light_in_the_worst_case_in_every_language(client, length, place):
    fill(length)

    weights = {}
    for language, _name in settings.LANGUAGES:
        prefix = "" if language == settings.LANGUAGE_CODE else f"/{language}"
        response = client.get(f"{prefix}{PAGE}&{place}")
        rows = parse(response).one("tbody", role="rowgroup").all("tr")
        assert len(rows) == 50
        assert all(row.all("span", class_="tag") for row in rows)
        assert all(row.all("span", class_="change") for row in rows)
        weights[language] = len(response.content)

    assert max(weights.values()) < MOST_HTML, weights


def test_styles_and_scripts_are_light():
    files = [
        *Path(settings.BASE_DIR, "static").glob("*.css"),
        *Path(settings.BASE_DIR, "static").glob("*.js"),
        Path(finders.find("django_htmx/htmx-2.min.js")),
    ]

    weights = {file.name: len(gzip.compress(file.read_bytes())) for file in files}

    assert {"site.css", "live.js", "htmx-2.min.js"} <= set(weights)
    assert sum(weights.values()) < MOST_STYLES_AND_SCRIPTS, weights
