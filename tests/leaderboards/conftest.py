"""A small card room: open games, a source that may report to them, and a browser that listens."""

import pytest

from tests.ratings.builders import make_source, open_game


@pytest.fixture
def brisca(db):
    return open_game("brisca")


@pytest.fixture
def source(db):
    return make_source()


@pytest.fixture
def complaints(page, site):
    """What the browser has to say against the site; there must be nothing."""
    found = []
    page.on(
        "console",
        lambda message: (
            found.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(site) else found.append(request.url),
    )
    yield found
    assert found == []
