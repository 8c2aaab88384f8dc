"""A small card room: open games, and a source that may report to them."""

import pytest

from tests.ratings.builders import make_source, open_game


@pytest.fixture
def brisca(db):
    return open_game("brisca")


@pytest.fixture
def source(db):
    return make_source()
