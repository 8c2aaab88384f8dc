"""Answering with as little as will do: a whole page, a part of it, or that nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers
from django.utils.translation import get_language

from leaderboards.shell import Shell
from leaderboards.themes import read_theme


def is_part(request: HttpRequest) -> bool:
    """Whether HTMX asks for the part of a page that it will swap.

    Going back, it asks for the page as it was, and needs the whole of it.
    """
    return bool(request.htmx) and not request.htmx.history_restore_request


def unchanged_part() -> HttpResponse:
    """Tells HTMX to leave the page alone. A 304 the browser would hide from it."""
    response = HttpResponse(status=204)
    _set_caching(response, is_part=True)
    return response


def answer(
    request: HttpRequest,
    template: str,
    read_context: Callable[[], dict[str, Any]],
    *,
    shell: Shell,
    facts: tuple[Any, ...],
    part: str = "",
) -> HttpResponse:
    """The page, or only `part` of it for HTMX, or 304 for a browser that has this very page.

    `facts` are what the page follows from besides its path: when they are the same, so is it.
    Its context is read only when it has to be rendered.
    """
    is_partial = bool(part) and is_part(request)
    etag = "" if is_partial else page_etag(request, shell, facts)
    response = get_conditional_response(request, etag=etag) if etag else None
    if response is None:
        name = f"{template}#{part}" if is_partial else template
        response = render(request, name, {"shell": shell, "is_part": is_partial, **read_context()})
    if etag:
        response["ETag"] = etag
    _set_caching(response, is_part=is_partial)
    return response


def _set_caching(response: HttpResponse, *, is_part: bool) -> None:
    # One URL answers with the page and with its part, and both depend on these headers. A part
    # is kept nowhere, so that going back can never show it alone.
    # A page has its reader's theme, which is in a cookie.
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request", "Cookie"])
    if is_part:
        patch_cache_control(response, no_store=True)
    else:
        patch_cache_control(response, private=True, no_cache=True)


def page_etag(
    request: HttpRequest, shell: Shell, facts: tuple[Any, ...], at: datetime | None = None
) -> str:
    """Names the whole page that a reader gets at that moment (default: now).

    It follows from `facts` and from the release, the language, the theme, the address, the day
    (UTC) and what stands around every page.
    """
    around_it = (
        release(),
        get_language(),
        read_theme(request),
        request.path,
        (at or datetime.now(UTC)).date(),
        shell.is_demo,
        [(game.slug, game.name, game.description) for game in shell.games],
    )
    return f'"{blake2b(repr((around_it, facts)).encode(), digest_size=12).hexdigest()}"'


@cache
def release() -> str:
    """A digest of everything a page is made of but the data: code, templates, words, styles.

    The same on every machine that runs the same release, and other after every change.
    """
    folders = [Path(config.path) for config in apps.get_app_configs() if _is_ours(config.path)]
    folders += [*map(Path, settings.TEMPLATES[0]["DIRS"]), *map(Path, settings.LOCALE_PATHS)]
    folders += map(Path, settings.STATICFILES_DIRS)
    digest = blake2b(digest_size=12)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".html", ".po", ".css", ".js", ".json", ".svg"):
                digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _is_ours(path: str) -> bool:
    return Path(path).is_relative_to(settings.BASE_DIR) and "site-packages" not in path
