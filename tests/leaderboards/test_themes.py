import pytest
from django.test import Client
from django.urls import reverse

from leaderboards.themes import COOKIE
from tests.leaderboards.html import parse
from tests.ratings.builders import duel, record

URL = "/leaderboards/brisca/"


def choose(client, theme, *, referer=f"http://testserver{URL}", next="", **headers):
    data = {"theme": theme} | ({"next": next} if next else {})
    return client.post("/theme", data, headers={"Referer": referer, **headers})


def html_of(response):
    return parse(response).one("html")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chosen_theme_is_remembered_and_shown_on_every_page(client, brisca, theme):
    response = choose(client, theme)

    assert response.status_code == 303
    assert response["Location"] == URL
    assert response["Cache-Control"] == "no-store"
    cookie = response.cookies[COOKIE]
    assert (cookie.value, cookie["samesite"], cookie["httponly"]) == (theme, "Lax", True)
    assert cookie["max-age"] == 365 * 24 * 3600
    for url in (URL, "/", "/es/", "/faq/", "/nowhere/"):
        page = parse(client.get(url, follow=True))
        assert page.one("html").attributes["data-theme"] == theme
        assert page.one("meta", name="color-scheme").attributes["content"] == theme
        assert len(page.all("meta", name="theme-color")) == 1
        [pressed] = page.all("button", **{"aria-pressed": "true"})
        assert pressed.attributes["value"] == theme


def test_system_decides_until_somebody_chooses_and_again_when_he_says_so(client, brisca):
    assert "data-theme" not in html_of(client.get(URL)).attributes
    assert COOKIE not in client.cookies
    choose(client, "dark")

    choose(client, "system")

    assert client.cookies[COOKIE].value == ""
    page = parse(client.get(URL))
    assert "data-theme" not in page.one("html").attributes
    assert len(page.all("meta", name="theme-color")) == 2


@pytest.mark.parametrize("value", ["", "x", "DARK", '"><script>', "a" * 5000, "light dark"])
def test_senseless_cookie_is_the_system(client, brisca, value):
    client.cookies[COOKIE] = value

    assert "data-theme" not in html_of(client.get(URL)).attributes


def test_each_theme_is_another_page_for_a_cache(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    etags = set()
    for theme in ("system", "light", "dark"):
        choose(client, theme)
        response = client.get(URL)
        etags.add(response["ETag"])
        assert "Cookie" in response["Vary"].split(", ")
        assert response["Cache-Control"] == "private, no-cache"
        assert client.get(URL, headers={"If-None-Match": response["ETag"]}).status_code == 304

    assert len(etags) == 3


@pytest.mark.parametrize(
    ("referer", "named", "back"),
    [
        (f"http://testserver/es{URL}?kind=bots&q=n%C3%BA", "", f"/es{URL}?kind=bots&q=n%C3%BA"),
        ("http://testserver/faq/#decay", "", "/faq/"),
        ("", "/bots/", "/bots/"),
        ("", f"{URL}?q=ñ", f"{URL}?q=%C3%B1"),
        (f"http://testserver{URL}", "/bots/", URL),
        ("", "", "/"),
        ("http://evil.example/", "", "/"),
        ("http://evil.example/", "/bots/", "/bots/"),
        ("http://testserver.evil.example/x", "", "/"),
        ("http://testserver@evil.example/x", "", "/"),
        ("http://testserver//evil.example/", "", "/"),
        ("http://testserver/\\evil.example/", "", "/"),
        ("", "//evil.example/", "/"),
        ("", "///evil.example/", "/"),
        ("", "/\\evil.example/", "/"),
        ("", "\\\\evil.example/", "/"),
        ("", "https:evil.example", "/"),
        ("", "https://evil.example/", "/"),
        ("", "javascript:alert(1)", "/"),
        ("", "evil.example", "/"),
        ("", "\t//evil.example", "/"),
        ("", "http://[", "/"),
        ("", "/" + "a" * 5000, "/"),
    ],
)
def test_reader_comes_back_to_a_page_of_this_site_only(client, brisca, referer, named, back):
    response = choose(client, "dark", referer=referer, next=named)

    assert (response.status_code, response["Location"]) == (303, back)


def test_line_breaks_do_not_reach_the_header(client, brisca):
    response = choose(client, "dark", referer="", next="/x\r\nSet-Cookie: a=b")

    assert "\n" not in response.get("Location", "")
    assert set(response.cookies) <= {COOKIE}


@pytest.mark.parametrize("theme", ["", "x", "DARK", "\0", "a" * 20_000])
def test_unknown_theme_is_refused(client, brisca, theme):
    response = choose(client, theme)

    assert response.status_code == 400
    assert COOKIE not in response.cookies


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://testserver"])
def test_form_of_another_site_is_refused(client, brisca, origin):
    response = choose(client, "dark", Origin=origin)

    assert response.status_code == 400
    assert COOKIE not in response.cookies


def test_form_of_this_site_needs_no_token(brisca):
    client = Client(enforce_csrf_checks=True)

    assert choose(client, "dark", Origin="http://testserver").status_code == 303


def test_theme_is_only_posted(client, brisca):
    assert client.get(reverse("theme"), {"theme": "dark"}).status_code == 405


def test_page_sets_no_cookie_of_its_own(client, brisca):
    assert client.get(URL).cookies == {}
