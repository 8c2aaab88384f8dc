import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from leaderboards import live
from leaderboards.questions import BoardQuestion
from leaderboards.shell import Shell
from ratings.models import GameState, Player, Source
from ratings.players import create_bot
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, draw, duel, make_report, open_game, record, team

URL = "/leaderboards/brisca/"
HTMX = {"HX-Request": "true"}


def rows(response):
    return board_of(response).rows()


def board_of(response):
    """The board alone, without the distribution below it."""
    return parse(response).one("section", id="board")


def ranks_and_names(response):
    return [
        (row.all("td")[0].text, row.one("bdi").text)
        for row in board_of(response).one("tbody").all("tr")
    ]


def version(game):
    return GameState.objects.get(game=game).version


def test_board_lists_rank_name_rating_and_record(client, brisca, source):
    record(duel("ana", "pepe"), draw("ana", "quin", at=NOW + timedelta(seconds=1)), source=source)

    response = client.get(URL)

    assert response.status_code == 200
    assert rows(response) == [
        ["1", "ana provisional", "1,215", "0 no change", "2", "1–1–0", "6 Jul 2026"],
        ["2", "quin provisional", "1,201", "0 no change", "1", "0–1–0", "6 Jul 2026"],
        ["3", "pepe provisional", "1,184", "0 no change", "1", "0–0–1", "6 Jul 2026"],
    ]
    assert parse(response).one("caption").text == "3 players"


def test_openskill_board_shows_its_own_number_and_the_uncertainty(client, brisca, source):
    record(draw("ana", "pepe"), source=source)

    response = client.get(URL, {"system": "openskill"})

    assert [row[2:4] for row in rows(response)] == [["1,519", "8.07"], ["1,519", "8.07"]]


def test_equal_numbers_share_a_rank(client, brisca, source):
    record(duel("ana", "pepe"), duel("eva", "quin"), source=source)

    assert [rank for rank, _ in ranks_and_names(client.get(URL))] == ["1", "1", "3", "3"]


def test_provisional_mark_ends_with_the_tenth_match(client, brisca, source):
    record(*[draw("ana", "pepe", at=NOW + timedelta(hours=n)) for n in range(9)], source=source,
           at=NOW + timedelta(days=1))  # fmt: skip
    assert [row[1] for row in rows(client.get(URL))] == ["ana provisional", "pepe provisional"]

    record(draw("ana", "pepe", at=NOW + timedelta(hours=10)), source=source,
           at=NOW + timedelta(days=1))  # fmt: skip

    assert [row[1] for row in rows(client.get(URL))] == ["ana", "pepe"]
    assert "fewer than 10 rated matches" in parse(client.get(URL)).text


def test_kinds_are_apart_and_ranked_anew(client, brisca, source):
    create_bot(handle="bot-rayo", name="bot-rayo", source=source)
    record(duel("bot-rayo", "ana"), duel("pepe", "quin"), duel("bot-rayo", "quin"), source=source)

    everyone = ranks_and_names(client.get(URL))
    people = ranks_and_names(client.get(URL, {"kind": "people"}))
    bots = ranks_and_names(client.get(URL, {"kind": "bots"}))

    assert everyone == [("1", "bot-rayo"), ("2", "pepe"), ("3", "ana"), ("4", "quin")]
    assert people == [("1", "pepe"), ("2", "ana"), ("3", "quin")]
    assert bots == [("1", "bot-rayo")]


def test_person_and_bot_are_marked_with_words(client, brisca, source):
    create_bot(handle="bot-rayo", name="bot-rayo", source=source)
    record(duel("bot-rayo", "ana"), source=source)

    board = board_of(client.get(URL))
    marks = [svg.attributes["aria-label"] for svg in board.all("svg", role="img")]

    assert marks == ["bot", "person"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("everyone", "This board is still empty"),
        ("people", "Nobody is on this board yet"),
        ("bots", "No bot is on this board yet"),
    ],
)
def test_empty_board_says_so(client, brisca, kind, words):
    response = client.get(URL, {"kind": kind})

    assert words in parse(response).text
    assert parse(response).all("table") == []


def test_those_off_the_board_are_not_on_it(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    open_game("tute")

    assert "ana" not in parse(client.get("/leaderboards/tute/")).one("main").text


# Pages


@pytest.fixture
def sixty_players(brisca, source):
    """All on 1200, so that their order hangs on the last key of it."""
    record(*[draw(f"j-{n:02}", f"k-{n:02}") for n in range(30)], source=source)


def test_pages_hold_everyone_once(client, sixty_players):
    first, second = (ranks_and_names(client.get(URL, {"page": page})) for page in (1, 2))

    assert (len(first), len(second)) == (50, 10)
    assert len({name for _, name in first + second}) == 60
    assert {rank for rank, _ in first + second} == {"1"}


def test_pager_keeps_the_filters(client, sixty_players):
    response = client.get(URL, {"system": "openskill", "kind": "people"})

    pager = parse(response).one("nav", class_="pager")
    assert [(link.text, link.attributes["href"]) for link in pager.all("a")] == [
        ("Next", f"{URL}?system=openskill&kind=people&page=2"),
        ("Last", f"{URL}?system=openskill&kind=people&page=2"),
    ]


def test_page_beyond_the_end_is_the_last(client, sixty_players):
    assert len(rows(client.get(URL, {"page": "999"}))) == 10


def test_links_work_without_javascript(client, sixty_players):
    for link in parse(client.get(URL)).all("a"):
        if "hx-get" in link.attributes:
            assert link.attributes["hx-get"] == link.attributes["href"]
            assert client.get(link.attributes["href"]).status_code == 200


# Around somebody


def test_around_shows_the_neighbours_and_marks_the_player(client, sixty_players):
    response = client.get(URL, {"around": "k-29"})

    page = parse(response)
    assert len(rows(response)) == 11
    assert page.one("caption").text == "The players around k-29"
    [sought] = page.all("tr", class_="is-sought")
    assert sought.one("bdi").text == "k-29"
    assert "sought" in sought.text


def test_around_finds_any_spelling(client, brisca, source):
    record(duel("íñigo_17", "pepe"), source=source)

    response = client.get(URL, {"around": "I\u0301N\u0303IGO_17"})

    assert parse(response).one("tr", class_="is-sought").one("bdi").text == "íñigo_17"


@pytest.mark.parametrize("handle", ["nobody-here", "<script>alert(1)</script>", "bot-rayo"])
def test_around_nobody_of_this_board_shows_the_top_and_says_so(client, brisca, source, handle):
    create_bot(handle="bot-rayo", name="bot-rayo", source=source)
    record(duel("ana", "bot-rayo"), source=source)

    response = client.get(URL, {"around": handle, "kind": "people"})

    page = parse(response)
    assert [row[1] for row in rows(response)] == ["ana provisional"]
    assert "Nobody with that handle is on this board." in page.text
    assert handle not in page.text


# Queries that make no sense


@pytest.mark.parametrize(
    "query",
    [
        "page=abc", "page=-5", "page=0", "page=", "page=1.5", "page=1e3", "page=" + "9" * 20,
        "page=" + "9" * 20_000, "page=%00", "page=1%00", "page=%ff%fe", "page=1&page=x",
        "system=x", "system=", "system=ELO", "system=%00", "system=../../etc/passwd",
        "kind=x", "kind=" + "b" * 20_000, "kind=%3Cscript%3E", "around=%00", "around=",
        "around=" + "a" * 20_000, "v=abc", "v=-1", "v=" + "9" * 5000, "sort=-nope", "q=%ff",
        "sort=player__owner__password", "%00=%00", "lang=xx", "=", "&&&", "?",
    ],
)  # fmt: skip
def test_useless_query_shows_the_plain_board(client, brisca, source, query):
    record(duel("ana", "pepe"), source=source)
    plain = client.get(URL).content

    response = client.get(f"{URL}?{query}")

    assert response.status_code == 200
    assert response.content == plain


@pytest.mark.parametrize("slug", ["mus", "Brisca", "BRISCA", "brisca%20", "tute_subastado", "7"])
def test_unknown_game_is_not_found(client, brisca, slug):
    assert client.get(f"/leaderboards/{slug}/").status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_board_is_only_read(client, brisca, method):
    assert getattr(client, method)(URL).status_code == 405


def test_head_is_answered(client, brisca):
    assert client.head(URL).status_code == 200


def test_question_has_one_url(brisca):
    question = BoardQuestion(brisca, system="openskill", kind="bots", page=3)

    assert question.url() == f"{URL}?system=openskill&kind=bots&page=3"
    assert question.url(page=1, kind="everyone") == f"{URL}?system=openskill"
    assert question.url(system="elo", kind="everyone", page=1) == URL
    assert question.live_url(1234) == f"{URL}?system=openskill&kind=bots&page=3&v=1234"
    assert BoardQuestion(brisca).live_url(0) == f"{URL}?v=0"
    with override("es"):
        assert question.url(page=1) == f"/es{URL}?system=openskill&kind=bots"


# As little as will do


def test_unchanged_part_is_204_and_reads_no_row(client, brisca, source, django_assert_num_queries):
    record(duel("ana", "pepe"), source=source)
    seen = version(brisca)

    with django_assert_num_queries(2):
        response = client.get(URL, {"v": seen}, headers=HTMX)

    assert response.status_code == 204
    assert response.content == b""
    assert response["Cache-Control"] == "no-store"


def test_changed_part_holds_only_the_board_and_the_new_version(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    old = version(brisca)
    record(duel("pepe", "ana", at=NOW + timedelta(seconds=1)), source=source)

    response = client.get(URL, {"v": old, "kind": "people"}, headers=HTMX)

    part = parse(response)
    assert response.status_code == 200
    assert part.all("html") == []
    board = part.one("section", id="board")
    assert board.attributes["hx-get"] == f"{URL}?kind=people&v={old + 1}"
    assert [row[1] for row in part.rows()] == ["pepe provisional", "ana provisional"]
    assert response["Cache-Control"] == "no-store"
    assert "ETag" not in response


def test_part_and_page_are_kept_apart(client, brisca):
    for headers in ({}, HTMX):
        vary = client.get(URL, headers=headers)["Vary"]
        assert {"HX-Request", "HX-History-Restore-Request"} <= set(re.split(r",\s*", vary))


def test_going_back_gets_the_whole_page_even_where_nothing_changed(client, brisca):
    headers = {**HTMX, "HX-History-Restore-Request": "true"}

    response = client.get(URL, {"v": version(brisca)}, headers=headers)

    page = parse(response)
    assert response.status_code == 200
    assert page.one("title").text == "Brisca leaderboard · Naiply"
    assert len(page.all("nav", id="languages")) == 1


def test_version_alone_is_no_reason_to_send_nothing_to_a_browser(client, brisca):
    response = client.get(URL, {"v": version(brisca)})

    assert response.status_code == 200
    assert len(parse(response).all("h1")) == 1


def test_page_that_the_browser_has_is_304(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    first = client.get(URL)

    again = client.get(f"{URL}?page=abc", headers={"If-None-Match": first["ETag"]})

    assert first["Cache-Control"] == "private, no-cache"
    assert again.status_code == 304
    assert again.content == b""
    assert again["ETag"] == first["ETag"]
    assert again["Vary"] == first["Vary"]


@pytest.mark.parametrize(
    "change",
    [
        lambda source: record(duel("pepe", "ana", at=NOW + timedelta(seconds=1)), source=source),
        lambda source: Source.objects.update(is_demo=True),
    ],
    ids=["a result", "the demo banner"],
)
def test_page_that_changed_is_sent_again(client, brisca, source, change):
    record(duel("ana", "pepe"), source=source)
    etag = client.get(URL)["ETag"]

    change(source)

    assert client.get(URL, headers={"If-None-Match": etag}).status_code == 200


def test_etags_of_other_questions_and_languages_differ(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    urls = [URL, f"/es{URL}", f"{URL}?system=openskill", f"{URL}?kind=people", f"{URL}?page=2",
            f"{URL}?around=ana", "/leaderboards/tute/"]  # fmt: skip

    assert len({client.get(url)["ETag"] for url in urls}) == len(urls)


def test_etag_of_the_next_day_is_another(rf):
    request, shell = rf.get(URL), Shell(games=[], is_demo=False)

    etags = [
        live.page_etag(request, shell, ("a fact",), at=datetime(2026, 7, 6, hour, tzinfo=UTC))
        for hour in (0, 12, 23)
    ]
    next_day = live.page_etag(request, shell, ("a fact",), at=datetime(2026, 7, 7, tzinfo=UTC))

    assert len(set(etags)) == 1
    assert next_day not in etags


@pytest.mark.parametrize("etag", ["x" * 100_000, '"' * 1000, "W/", "*\x7f"])
def test_senseless_etag_is_ignored(client, brisca, etag):
    assert client.get(URL, headers={"If-None-Match": etag}).status_code == 200


# Cost


@pytest.mark.parametrize("query", ["", "?system=openskill&kind=people", "?around=j-00", "?page=2"])
def test_queries_are_few_and_do_not_grow_with_the_rows(client, brisca, source, query):
    record(duel("j-00", "k-00"), source=source)
    few = count_queries(client, URL + query)

    record(*[draw(f"j-{n:02}", f"k-{n:02}") for n in range(1, 30)], source=source)

    assert count_queries(client, URL + query) == few <= 6


def count_queries(client, url):
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return len(queries)


def test_full_page_of_fifty_rows_is_small(client, sixty_players):
    assert len(client.get(URL, {"system": "openskill"}).content) < 60_000


# What is shown of whom


def test_markup_in_a_name_is_text(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    Player.objects.filter(handle="ana").update(name='</title><img src=x onerror="alert(1)">')

    for headers in ({}, HTMX):
        response = client.get(URL, {"v": 0}, headers=headers)
        assert b"<img" not in response.content
        assert parse(response).all("bdi")[0].text == '</title><img src=x onerror="alert(1)">'


def test_first_place_is_named_for_the_announcement_on_the_first_page_only(client, sixty_players):
    board = parse(client.get(URL)).one("section", id="board")
    assert board.attributes["data-first-news"] == "j-00 is now first in Brisca."

    record(duel("j-00", "k-00", at=NOW + timedelta(seconds=1)), source=Source.objects.get())
    second = parse(client.get(URL, {"page": 2})).one("section", id="board")

    assert "data-first" not in second.attributes


def test_table_is_no_live_region(client, sixty_players):
    page = parse(client.get(URL))

    assert [element.tag for element in page.all("", role="status")] == ["p"]
    assert page.all("", **{"aria-live": "polite"}) == page.all("", **{"aria-live": "assertive"})


def test_negative_rating_is_shown_with_a_minus(client, brisca, source):
    record(make_report([team("ana", place=1), team("pepe", place=2)]), source=source)
    Player.objects.get(handle="pepe").ratings.update(elo=-6.0, peak_elo=1200)

    response = client.get(URL, {"around": "pepe"})

    assert "−6" in [row[2] for row in rows(response)]
