"""What programs ask of every site: robots.txt, sitemaps and security.txt."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from leaderboards.shell import read_shell
from leaderboards.sitemaps import page_places, player_files, player_places
from ratings.snapshots import snapshot

XML = "application/xml"
TEXT = "text/plain; charset=utf-8"

SECURITY_TXT_DAYS = 180
"""So long what security.txt says may be believed; the standard advises less than a year."""


@require_safe
@cache_control(public=True, max_age=24 * 3600)
def robots(request: HttpRequest) -> HttpResponse:
    context = {"sitemap": request.build_absolute_uri(reverse("sitemap"))}
    return render(request, "robots.txt", context, content_type=TEXT)


@require_safe
@cache_control(public=True, max_age=3600)
@snapshot()
def sitemap(request: HttpRequest) -> HttpResponse:
    """The index: the file of pages and boards, and the files of players."""
    files = ["pages", *(f"players-{number}" for number in player_files())]
    urls = [request.build_absolute_uri(reverse("sitemap-file", args=[file])) for file in files]
    return render(request, "sitemap_index.xml", {"urls": urls}, content_type=XML)


@require_safe
@cache_control(public=True, max_age=3600)
@snapshot()
def sitemap_file(request: HttpRequest, file: str) -> HttpResponse:
    if file == "pages":
        places = page_places([game.slug for game in read_shell().games])
    else:
        number = int(file.removeprefix("players-"))
        if number not in player_files():
            raise Http404
        places = player_places(number)
    context = {"places": places, "site": request.build_absolute_uri("/").removesuffix("/")}
    return render(request, "sitemap.xml", context, content_type=XML)


@require_safe
@cache_control(public=True, max_age=24 * 3600)
def security(request: HttpRequest) -> HttpResponse:
    """Whom to tell of a hole in the site; not found where the operator has named nobody."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    today = datetime.combine(datetime.now(UTC), time(), UTC)
    context = {
        "contact": settings.SECURITY_CONTACT,
        "expires": (today + timedelta(days=SECURITY_TXT_DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "languages": ", ".join(code for code, _name in settings.LANGUAGES),
        "canonical": request.build_absolute_uri(reverse("security")),
    }
    return render(request, "security.txt", context, content_type=TEXT)
