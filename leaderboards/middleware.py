"""Remembers the language in which somebody reads."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language


def remember_language(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Stores the language of each whole page, for `/` to send the reader back to.

    Nobody gets a cookie for reading English; but whoever had chosen another language and comes
    to an English page has changed his mind.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        language = get_language()
        remembered = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME)
        if (
            language != (remembered or settings.LANGUAGE_CODE)
            and not request.htmx
            and response.status_code == 200
            and request.resolver_match
            and request.resolver_match.app_name == "leaderboards"
            and not getattr(request.resolver_match.func, "is_for_other_sites", False)
        ):
            response.set_cookie(
                settings.LANGUAGE_COOKIE_NAME,
                language,
                max_age=settings.LANGUAGE_COOKIE_AGE,
                path=settings.LANGUAGE_COOKIE_PATH,
                domain=settings.LANGUAGE_COOKIE_DOMAIN,
                secure=settings.LANGUAGE_COOKIE_SECURE,
                httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
                samesite=settings.LANGUAGE_COOKIE_SAMESITE,
            )
        return response

    return middleware
