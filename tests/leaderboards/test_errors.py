import re

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.test import Client, override_settings
from django.urls import path

from leaderboards.themes import COOKIE
from naiply import urls
from ratings.models import Source
from tests.leaderboards.html import parse


def refuse(request):
    raise PermissionDenied


def suspect(request):
    raise SuspiciousOperation("a token that must not be shown: 4711")


def break_down(request):
    raise RuntimeError("a secret that must not be shown: 4711")


class Urls:
    """The site's addresses, and three that fail."""

    urlpatterns = [
        path("refused/", refuse),
        path("suspect/", suspect),
        path("broken/", break_down),
        *urls.urlpatterns,
    ]
    handler400, handler500 = urls.handler400, urls.handler500


@pytest.fixture
def visitor(db):
    with override_settings(ROOT_URLCONF=Urls):
        yield Client(raise_request_exception=False)


@pytest.mark.parametrize(
    ("url", "status", "title"),
    [
        ("/nothing/", 404, "Nothing lies on this table"),
        ("/refused/", 403, "This hand is not yours to see"),
        ("/suspect/", 400, "That could not be read"),
        ("/broken/", 500, "A card fell off the table"),
    ],
)
def test_error_page_is_in_the_dress_of_the_site_and_gives_nothing_away(visitor, url, status, title):
    response = visitor.get(url)

    page = parse(response)
    assert response.status_code == status
    assert page.one("h1").text == title
    assert page.one("html").attributes["lang"] == "en"
    assert page.one("link", rel="stylesheet").attributes["href"] == "/static/site.css"
    assert "4711" not in response.content.decode()
    assert "Traceback" not in response.content.decode()


def test_missing_page_speaks_the_language_of_its_address(client, db):
    page = parse(client.get("/es/nada/"))

    assert page.one("h1").text == "En esta mesa no hay cartas"
    assert page.one("html").attributes["lang"] == "es"
    assert "/es/leaderboards/brisca/" in [a.attributes["href"] for a in page.one("main").all("a")]


def test_missing_page_leads_home_in_each_language(client, db):
    links = parse(client.get("/nothing/")).one("nav", id="languages").all("a")

    assert [client.get(link.attributes["href"]).status_code for link in links] == [
        200 for _language in settings.LANGUAGES
    ]


def test_long_unknown_path_is_not_echoed(client, db):
    path = "zz" * 2000

    response = client.get(f"/{path}/")

    assert response.status_code == 404
    assert "zzzz" not in response.content.decode()


def test_form_without_its_token_is_refused_in_the_dress_of_the_site(db):
    response = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "x"})

    assert response.status_code == 403
    assert parse(response).one("h1").text == "Please send it again"


@pytest.mark.parametrize("url", ["/nothing/", "/refused/", "/suspect/", "/broken/"])
@pytest.mark.parametrize(
    ("cookie", "theme"), [("dark", "dark"), ("light", "light"), ('"><script>', None), (None, None)]
)
def test_error_page_has_the_theme_of_its_reader(visitor, url, cookie, theme):
    if cookie:
        visitor.cookies[COOKIE] = cookie

    page = parse(visitor.get(url))

    assert page.one("html").attributes.get("data-theme") == theme
    scheme = page.one("meta", name="color-scheme").attributes["content"]
    assert scheme == (theme or "light dark")


def test_refused_form_has_the_theme_of_its_reader(db):
    client = Client(enforce_csrf_checks=True)
    client.cookies[COOKIE] = "dark"

    response = client.post("/admin/login/", {"username": "x"})

    assert response.status_code == 403
    assert parse(response).one("html").attributes["data-theme"] == "dark"


def test_broken_page_needs_neither_database_nor_context(db, django_assert_num_queries):
    with override_settings(ROOT_URLCONF=Urls), django_assert_num_queries(0):
        response = Client(raise_request_exception=False).get("/broken/")

    assert response.status_code == 500


@pytest.mark.parametrize("host", ["evil.example", "a b", "testserver.evil.example"])
def test_foreign_host_is_refused_at_no_cost(client, db, host, django_assert_num_queries):
    with django_assert_num_queries(0):
        response = client.get("/", headers={"Host": host})

    assert response.status_code == 400
    assert not re.search("evil|a b", response.content.decode())


def test_demo_banner_stands_on_every_page_while_there_is_a_demo(client, db):
    words = "Demo: the players and results on this site are made up."
    urls = ["/", "/leaderboards/brisca/", "/how-it-works/", "/nothing/"]
    assert [words in parse(client.get(url)).text for url in urls] == [False] * 4

    Source.objects.create(name="demo", is_demo=True)

    assert [words in parse(client.get(url)).text for url in urls] == [True] * 4
