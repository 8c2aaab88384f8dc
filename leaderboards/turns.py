"""What costs more than a page is answered for so many at once; the others come again.

Whoever asks for it keeps a thread, and most threads of a process have to stay for the pages. The
limit is one for all and not one for each reader: behind a proxy one address may be many people,
and one person may have many addresses. docs/decisions/what-a-request-may-cost.md says what costs.
"""

from __future__ import annotations

from threading import BoundedSemaphore

from django.http import HttpResponse
from django.utils.translation import gettext

MOST_AT_ONCE = 2
SECONDS_TO_WAIT = 60


def places() -> BoundedSemaphore:
    """The places for one kind of answer in this process."""
    return BoundedSemaphore(MOST_AT_ONCE)


def come_again() -> HttpResponse:
    """For whoever finds no free place."""
    return HttpResponse(
        gettext("Others are downloading just now; try again in a minute."),
        status=503,
        content_type="text/plain; charset=utf-8",
        headers={"Retry-After": str(SECONDS_TO_WAIT), "Cache-Control": "no-store"},
    )
