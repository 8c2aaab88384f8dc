"""Answers to what went wrong before a view could answer, or in one.

They ask no database and believe nothing of the request but the theme in its cookie: Django's own
would not know the request at all, and show a reader of the dark site a white page.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template import loader


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400)


def server_error(request: HttpRequest) -> HttpResponse:
    return _answer(request, 500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, 403, "403_csrf.html")


def _answer(request: HttpRequest, status: int, template: str = "") -> HttpResponse:
    page = loader.get_template(template or f"{status}.html")
    # A context of its own, without the processors, which would ask the database for the shell.
    return HttpResponse(page.render({"request": request}), status=status)
