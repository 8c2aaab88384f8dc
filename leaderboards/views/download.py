from __future__ import annotations

from io import FileIO
from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from leaderboards import turns
from leaderboards.downloads import Download, find_download
from ratings.models import Game

free_places = turns.places()
"""A reader has his place for as long as his line needs."""


class FileInItsPlace(FileIO):
    """A file whose reader has one of the free places, until it is closed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self.has_place = True

    def close(self) -> None:
        super().close()
        if getattr(self, "has_place", False):
            self.has_place = False
            free_places.release()


@require_safe
@cache_control(public=True, max_age=3600)
def download(request: HttpRequest, slug: str) -> HttpResponse:
    """A game's history as it was written last; not found before the first night."""
    found = find_download(get_object_or_404(Game, slug=slug))
    if found is None:
        raise Http404
    response = get_conditional_response(request, etag=found.etag)
    if response is None:
        response = send(found)
    if response.status_code in (200, 304):
        response["ETag"] = found.etag
        response["Last-Modified"] = http_date(found.written_at.timestamp())
    return response


def send(found: Download) -> HttpResponse:
    if not free_places.acquire(blocking=False):
        return turns.come_again()
    try:
        file = FileInItsPlace(found.path)
    except OSError:
        free_places.release()
        raise
    return FileResponse(
        file, as_attachment=True, filename=found.path.name, content_type="application/gzip"
    )
