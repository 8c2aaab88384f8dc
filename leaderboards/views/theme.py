from __future__ import annotations

from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.http.response import HttpResponseRedirectBase
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from leaderboards.themes import COOKIE, Theme

YEAR = 365 * 24 * 3600
LONGEST_URL = 2_000


class ThemeForm(forms.Form):
    theme = forms.ChoiceField(choices=Theme)
    next = forms.CharField(max_length=LONGEST_URL, required=False)


class SeeOther(HttpResponseRedirectBase):
    status_code = 303


# A token would make every page another one for every reader, and its ETag useless. What could be
# forged is a colour; and a form elsewhere is told apart by the Origin that browsers send.
@csrf_exempt
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remembers the theme, and sends the reader back to the page he comes from."""
    form = ThemeForm(request.POST)
    form.is_valid()
    if "theme" not in form.cleaned_data or not _is_from_here(request):
        return HttpResponseBadRequest(
            gettext("Choose one of the themes on a page of this site."), content_type="text/plain"
        )
    response = SeeOther(_way_back(request, form.cleaned_data.get("next", "")))
    if form.cleaned_data["theme"] == Theme.SYSTEM:
        response.delete_cookie(COOKIE, samesite="Lax")
    else:
        response.set_cookie(
            COOKIE,
            form.cleaned_data["theme"],
            max_age=YEAR,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    patch_cache_control(response, no_store=True)
    return response


def _is_from_here(request: HttpRequest) -> bool:
    origin = request.headers.get("Origin")
    return origin is None or origin == f"{request.scheme}://{request.get_host()}"


def _way_back(request: HttpRequest, named: str) -> str:
    """The page's own address: as the browser has it, or as the form named it; else home.

    HTMX changes the address of a page, and not its form: so the browser's word comes first.
    """
    for url in (request.headers.get("Referer", ""), named):
        if len(url) <= LONGEST_URL and url_has_allowed_host_and_scheme(
            url, {request.get_host()}, require_https=request.is_secure()
        ):
            parts = urlsplit(url)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            # As a path it cannot lead anywhere else, whatever a browser makes of the rest.
            if path.startswith("/") and not path.startswith(("//", "/\\")):
                return path
    return reverse("leaderboards:home")
