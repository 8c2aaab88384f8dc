"""What other people's pages may show of ours: badges and embedded boards.

They alone may be framed and loaded from elsewhere. They know nothing of the reader: no cookie is
read or set, nothing of them is stored as private, and no script runs in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override

from leaderboards.themes import Theme

type View = Callable[..., HttpResponse]

SECONDS_KEPT = 300
"""So long a browser, or a cache on the way, shows one before it asks again."""


def for_other_sites(*, styles: Sequence[str] = (CSP.SELF,)) -> Callable[[View], View]:
    """Lets a view's answer be shown anywhere; `styles` are the sources of styles it has."""
    policy = {
        **settings.SECURE_CSP,
        "script-src": [CSP.NONE],
        "connect-src": [CSP.NONE],
        "form-action": [CSP.NONE],
        "style-src": list(styles),
        "frame-ancestors": ["*"],
    }

    def decorate(view: View) -> View:
        @csp_override(policy)
        @wraps(view)
        def open_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            request.COOKIES = {}
            response = view(request, *args, **kwargs)
            response.xframe_options_exempt = True
            response["Cross-Origin-Resource-Policy"] = "cross-origin"
            patch_cache_control(response, public=True, max_age=SECONDS_KEPT)
            return response

        open_view.is_for_other_sites = True
        return open_view

    return decorate


class ThemeForm(forms.Form):
    """The look that somebody's page asks for. What cannot be used counts as not given."""

    theme = forms.ChoiceField(choices=[(Theme.LIGHT, ""), (Theme.DARK, "")], required=False)


def read_theme_asked(request: HttpRequest) -> str:
    """light or dark, where the address says so; else empty, and the reader's system decides."""
    form = ThemeForm(request.GET)
    form.is_valid()
    asked: str = form.cleaned_data.get("theme", "")
    return asked


def answer(
    request: HttpRequest,
    template: str,
    read_context: Callable[[], dict[str, Any]],
    *,
    etag: str,
    content_type: str = "text/html",
) -> HttpResponse:
    """The template, or 304 where the asker has it; the context is read only to render."""
    response = get_conditional_response(request, etag=etag)
    if response is None:
        response = render(
            request, template, read_context(), content_type=f"{content_type}; charset=utf-8"
        )
    response["ETag"] = etag
    return response
