"""What a board offers besides its rows: changes, search, ranks to jump to, its shape, a file."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from leaderboards.charts import MOST_BINS, draw_histogram
from leaderboards.finding import MOST_FOUND
from leaderboards.moves import read_week
from leaderboards.questions import BoardQuestion
from leaderboards.sheets import as_text
from leaderboards.turns import MOST_AT_ONCE
from ratings import history, ledger, standings
from ratings.ledger import segments
from ratings.models import Game, GameState, Match, Player, PlayerStatus, Rating
from ratings.models.correction import CorrectionReason
from ratings.players import create_bot
from ratings.snapshots import snapshot
from ratings.standings import Board, Census, Number
from ratings.systems.decay import STEP, current_monday, sigma_at
from ratings.systems.openskill import displayed_rating
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, draw, duel, fill_board, open_game, record, seat

URL = "/leaderboards/brisca/"
SHEET = "/leaderboards/brisca.csv"
HTMX = {"HX-Request": "true"}


def board_of(response):
    return parse(response).one("section", id="board")


def rows(response):
    return board_of(response).rows()


def marked(response):
    return [row.one("bdi").text for row in board_of(response).all("tr", class_="is-sought")]


def finds(response):
    return [item.text for item in board_of(response).one("ul", class_="finds").all("li")]


def play(*reports, source):
    """Records matches of these very days, as if they had just come in."""
    record(*reports, source=source, at=datetime.now(UTC))


@pytest.fixture
def now():
    return datetime.now(UTC)


@pytest.fixture
def today(brisca, now):
    """The game decayed to this week's Monday, as every Monday's job leaves it."""
    GameState.objects.filter(game=brisca).update(decayed_to=current_monday(now))
    brisca.state.refresh_from_db()
    return brisca


# The change over seven days


def test_change_counts_from_the_last_match_before_the_week(client, today, source, now):
    play(
        duel("ana", "pepe", at=now - timedelta(days=9)),
        duel("ana", "pepe", at=now - timedelta(days=7, minutes=1)),
        duel("pepe", "ana", at=now - timedelta(days=7) + timedelta(minutes=1)),
        duel("quin", "ana", at=now - timedelta(hours=1)),
        source=source,
    )
    ana, pepe = (Rating.objects.get(player__handle=handle) for handle in ("ana", "pepe"))
    then = ana.player.participations.order_by("played_at")[1].elo_after

    shown = {row[1]: row[3] for row in rows(client.get(URL))}
    page = Board(today, since=now - timedelta(days=7)).page()
    changes = {row.rating.player.handle: row.change for row in page.rows}

    assert changes == {
        "ana": ana.elo - then,
        "pepe": pepe.elo - (2400 - then),
        "quin": None,
    }
    assert shown == {
        "quin provisional": "new",
        "ana provisional": f"−{then - ana.elo:.1f} down {then - ana.elo:.1f}",
        "pepe provisional": f"+{changes['pepe']:.1f} up {changes['pepe']:.1f}",
    }


def test_unrated_matches_are_no_ratings(client, today, source, now):
    play(
        duel("ana", "pepe", at=now - timedelta(days=8), termination="friendly"),
        duel("ana", "pepe", at=now - timedelta(days=1)),
        source=source,
    )

    assert [row[3] for row in rows(client.get(URL))] == ["new", "new"]


def test_match_in_another_game_is_no_rating_in_this(client, today, source, now):
    open_game("tute")
    play(
        duel("ana", "pepe", at=now - timedelta(days=8), game="tute"),
        duel("ana", "pepe", at=now - timedelta(days=1)),
        source=source,
    )

    assert [row[3] for row in rows(client.get(URL))] == ["new", "new"]


def test_change_of_nothing_is_0_without_a_sign(client, today, source, now):
    play(draw("ana", "pepe", at=now - timedelta(days=8)), source=source)
    play(draw("ana", "pepe", at=now - timedelta(days=1)), source=source)

    response = client.get(URL)

    assert [row[3] for row in rows(response)] == ["0 no change", "0 no change"]
    assert "−0" not in board_of(response).text
    assert "+0" not in board_of(response).text


def test_change_too_small_to_see_is_0_without_a_sign(client, today, source, now):
    play(draw("ana", "pepe", at=now - timedelta(days=8)), source=source)
    Rating.objects.filter(player__handle="ana").update(elo=1200 - 0.04)

    assert [row[3] for row in rows(client.get(URL))] == ["0 no change", "0 no change"]


def test_openskill_change_holds_the_decay_of_the_week(client, today, source, now):
    monday = current_monday(now)
    # Sigma grows from the fifth Monday on, so there is growth both before the week and in it.
    played_at = monday - timedelta(days=50)
    play(duel("ana", "pepe", at=played_at), *[
        duel("ana", f"j-{n}", at=played_at + timedelta(seconds=n)) for n in range(1, 20)
    ], source=source)  # fmt: skip
    ana = Rating.objects.get(player__handle="ana")
    since = monday - timedelta(days=7) + timedelta(hours=1)

    [row] = [
        row
        for row in Board(today, "openskill", since=since).page().rows
        if row.rating.player_id == ana.player_id
    ]

    weeks = (since - (ana.last_played_at + timedelta(days=30))) // timedelta(days=7) + 1
    then = displayed_rating(ana.mu, ana.sigma_settled + weeks * STEP)
    assert row.change == ana.openskill - then
    assert row.change == pytest.approx(-24 * 3 * STEP)


def test_decay_that_is_not_applied_yet_is_no_change(today, source, now):
    play(duel("ana", "pepe", at=now - timedelta(days=60)), source=source)
    GameState.objects.filter(game=today).update(decayed_to=current_monday(now - timedelta(21)))
    game = Game.objects.select_related("state").get(pk=today.pk)
    rating = Rating.objects.get(player__handle="ana")
    sigma = sigma_at(rating.sigma_settled, rating.last_played_at, game.state.decayed_to)
    Rating.objects.filter(pk=rating.pk).update(sigma=sigma)
    ledger.recount(game)

    [row, _pepe] = Board(game, "openskill", since=now - timedelta(days=7)).page().rows

    assert sigma > rating.sigma_settled
    assert row.change == 0.0


@pytest.mark.parametrize("system", ["elo", "openskill"])
def test_board_and_profile_tell_the_same_change(today, source, now, system):
    play(
        *[duel("ana", f"j-{n}", at=now - timedelta(days=60, minutes=n)) for n in range(12)],
        duel("j-3", "ana", at=now - timedelta(days=20)),
        duel("j-5", "j-4", at=now - timedelta(days=2)),
        source=source,
    )
    game = Game.objects.select_related("state").get(pk=today.pk)

    for row in Board(game, system, since=now - timedelta(days=7)).page().rows:
        account = getattr(read_week(row.rating, game.state, now), system)
        assert row.change == pytest.approx(float(account.change), abs=1e-9)


def test_voided_match_leaves_no_change(client, today, source, now):
    play(draw("ana", "pepe", at=now - timedelta(days=8)), source=source)
    play(duel("ana", "pepe", at=now - timedelta(days=1)), source=source)
    newest = Match.objects.order_by("-played_at").first()
    history.void_matches([newest.pk], by=None, reason=CorrectionReason.WRONG_RESULT)

    assert [row[3] for row in rows(client.get(URL))] == ["0 no change", "0 no change"]


# Search


@pytest.fixture
def nunez(brisca, source):
    record(
        duel("ana", "nunez-7"), duel("pepe", "nuria", at=NOW + timedelta(seconds=1)), source=source
    )
    Player.objects.filter(handle="nunez-7").update(name="Nuñez")
    for player in Player.objects.all():
        player.clean_fields()
        player.save()
    return brisca


@pytest.mark.parametrize(
    "text", ["nunez", "NUÑEZ", "Nuñez", "nun\u0303ez", " nuñez ", "ｎｕｎｅｚ"]
)
def test_search_finds_whatever_the_case_and_the_accents(client, nunez, text):
    response = client.get(URL, {"q": text})

    [found] = finds(response)
    assert found == "Nuñez (nunez-7) rank 3 · 1,184 Around"
    assert board_of(response).one("h2").text == f"One player found for “{text.strip()}”"


def test_search_finds_ranks_of_the_board_that_is_shown(client, brisca, source):
    create_bot(handle="rayo-bot", name="rayo-bot", source=source)
    record(duel("rayo-bot", "rayo"), duel("pepe", "rayada"), source=source)

    everyone = finds(client.get(URL, {"q": "ray"}))
    people = finds(client.get(URL, {"q": "ray", "kind": "people", "system": "openskill"}))

    assert [text.split(" ", 1) for text in everyone] == [
        ["rayada", "rank 3 · 1,184 Around"],
        ["rayo", "rank 3 · 1,184 Around"],
        ["rayo-bot", "rank 1 · 1,216 Around"],
    ]
    assert [text.split(" ", 1)[1].split(" · ")[0] for text in people] == [
        "rank 2", "rank 2", "not on this board",
    ]  # fmt: skip


def test_search_marks_who_is_not_listed_and_who_never_played(client, brisca, source):
    open_game("tute")
    record(duel("eva-1", "pepe"), duel("eva-2", "pepe", game="tute"), source=source)
    Rating.objects.filter(player__handle="eva-1").update(is_listed=False)

    assert finds(client.get(URL, {"q": "eva"})) == [
        "eva-1 not on this board",
        "eva-2 no rated match in this game",
    ]


@pytest.mark.parametrize("status", [PlayerStatus.HIDDEN, PlayerStatus.ANONYMISED])
def test_search_does_not_find_who_may_not_be_shown(client, nunez, status):
    Player.objects.filter(handle="nunez-7").update(status=status)

    response = client.get(URL, {"q": "nunez"})

    assert "Nobody found for “nunez”" in board_of(response).text
    assert "nunez-7" not in response.content.decode()


@pytest.mark.parametrize("text", ["%", "_", "n_nez", "nobody", "'; drop table", "<script>", "=1"])
def test_search_for_nobody_says_so(client, nunez, text):
    response = client.get(URL, {"q": text})

    assert response.status_code == 200
    assert f"Nobody found for “{text}”" in board_of(response).text
    assert b"<script>alert" not in response.content


def test_search_shows_the_best_where_there_are_many(client, brisca):
    fill_board(brisca, *[seat(brisca, handle=f"many-{n:02}") for n in range(MOST_FOUND + 1)])
    for player in Player.objects.all():
        player.clean_fields()
        player.save()

    response = client.get(URL, {"q": "many"})

    assert len(finds(response)) == MOST_FOUND
    assert "The best 20 players found for “many”" in board_of(response).text


def test_search_and_its_ways_out_keep_the_filters(client, nunez):
    page = parse(client.get(URL, {"q": "nunez", "system": "openskill", "kind": "people"}))

    board = page.one("section", id="board")
    assert board.one("a", class_="button").attributes["href"] == (
        f"{URL}?system=openskill&kind=people&around=nunez-7"
    )
    assert board.one("a", id="whole-board").attributes["href"] == (
        f"{URL}?system=openskill&kind=people"
    )
    assert board.one("a", id="system-elo").attributes["href"] == f"{URL}?kind=people&q=nunez"
    for form in page.one("div", id="finder").all("form"):
        assert form.attributes["action"] == form.attributes["hx-get"] == URL
        assert form.attributes["method"] == "get"
        hidden = {field.attributes["name"]: field.attributes["value"]
                  for field in form.all("input", type="hidden")}  # fmt: skip
        assert hidden == {"system": "openskill", "kind": "people"}
    assert page.one("input", id="search").attributes["value"] == "nunez"


def test_renamed_player_makes_another_page_of_a_search(client, brisca, source):
    open_game("tute")
    record(duel("eva-1", "pepe", game="tute"), source=source)
    etag = client.get(URL, {"q": "eva"})["ETag"]

    Player.objects.filter(handle="eva-1").update(name="Eva la Zurda")

    response = client.get(URL, {"q": "eva"}, headers={"If-None-Match": etag})
    assert response.status_code == 200


# Jump to a rank


@pytest.fixture
def hundred_players(brisca):
    """Ranks 1, 2 and 2, 4 to 120, on three pages."""
    ratings = [2000, 1999, 1999, *range(1990, 1873, -1)]
    fill_board(
        brisca, *[seat(brisca, float(elo), handle=f"p-{n:03}") for n, elo in enumerate(ratings, 1)]
    )
    return brisca


@pytest.mark.parametrize(
    ("rank", "handle", "page"),
    [
        (1, "p-001", 1),
        (2, "p-002", 1),
        (3, "p-003", 1),
        (50, "p-050", 1),
        (51, "p-051", 2),
        (100, "p-100", 2),
        (101, "p-101", 3),
        (120, "p-120", 3),
    ],
)
def test_rank_is_shown_on_its_page_and_marked(client, hundred_players, rank, handle, page):
    response = client.get(URL, {"rank": rank})

    assert marked(response) == [handle]
    assert f"page {page} of 3" in board_of(response).one("caption").text
    assert board_of(response).all("p", class_="notice") == []


def test_rank_beyond_the_end_shows_the_end_and_says_so(client, hundred_players):
    response = client.get(URL, {"rank": 5000})

    assert marked(response) == ["p-120"]
    assert (
        board_of(response).one("p", class_="notice").text
        == "There is no rank 5,000: 120 players are on this board. Here is its end."
    )


def test_rank_on_an_empty_board_shows_the_empty_board(client, brisca):
    assert "This board is still empty" in board_of(client.get(URL, {"rank": 3})).text


def test_rank_keeps_the_filters_and_its_pages_forget_it(client, hundred_players):
    page = parse(client.get(URL, {"rank": 60, "kind": "people"}))

    board = page.one("section", id="board")
    assert board.attributes["hx-get"].startswith(f"{URL}?kind=people&rank=60&v=")
    assert board.one("a", id="system-openskill").attributes["href"] == (
        f"{URL}?system=openskill&kind=people&rank=60"
    )
    assert board.one("a", id="page-next").attributes["href"] == f"{URL}?kind=people&page=3"
    assert page.one("input", id="rank").attributes["value"] == "60"


def test_only_one_place_is_asked_for_at_a_time(client, hundred_players):
    def canonical(**query):
        link = parse(client.get(URL, query)).one("link", rel="canonical")
        return link.attributes["href"].partition(URL)[2]

    assert canonical(q="p-0", around="p-003", rank=7, page=2) == "?q=p-0"
    assert canonical(around="p-003", rank=7, page=2) == "?around=p-003"
    assert canonical(rank=7, page=2) == "?rank=7"


# The distribution


def test_distribution_counts_everyone_in_bars_and_in_words(client, hundred_players):
    shape = parse(client.get(URL)).one("div", id="distribution")

    counted = [(row[0], int(row[1])) for row in shape.one("table").rows()]
    assert sum(count for _, count in counted) == 120
    assert counted[:3] == [("2,000–2,004", 1), ("1,995–1,999", 2), ("1,990–1,994", 1)]
    bars = shape.one("path", class_="bar").attributes["d"]
    assert bars.count("M") == len([count for _, count in counted if count])
    assert "Each bar is 5 points wide" in shape.one("figcaption").text
    assert shape.all("line", class_="place") == []


def test_distribution_marks_the_player_of_around(client, hundred_players):
    shape = parse(client.get(URL, {"around": "p-003"})).one("div", id="distribution")

    path = shape.one("path", class_="is-marked").attributes["d"]
    [[left, _top, width, height]] = bars_of(path)
    place = float(shape.one("line", class_="place").attributes["x1"].rstrip("%"))
    assert left <= (place - 12) / 86 * 1000 + 1 < left + width + 10
    assert height == pytest.approx(160 * 2 / 5, abs=0.1)
    assert "The line marks p-003, rank 2: 117 players stand lower." in shape.text


def test_distribution_of_an_empty_board_is_left_away(client, brisca):
    shape = parse(client.get(URL)).one("div", id="distribution")

    assert shape.all() == []


def test_coordinates_are_the_same_in_every_language(client, hundred_players):
    def geometry(url):
        shape = parse(client.get(url)).one("div", id="distribution")
        return [[part.attributes for part in shape.all(tag)] for tag in ("path", "text", "line")]

    assert geometry(URL) == geometry(f"/es{URL}")


def bars_of(path):
    """Left, bottom, width and height of each bar."""
    return [
        [float(left), float(bottom), float(width), float(height)]
        for left, bottom, height, width in re.findall(r"M(\S+) (\S+?)v-(\S+?)h(\S+?)V160z", path)
    ]


def census(*numbers):
    above, found = 0, []
    for shown, count in numbers:
        found.append(Number(shown, count, above))
        above += count
    return Census(found)


@pytest.mark.parametrize(
    ("numbers", "width", "bins"),
    [
        ([(1200, 1)], 1, 1),
        ([(1201, 1), (1200, 5)], 1, 2),
        ([(1239, 1), (1200, 1)], 2, 20),
        ([(1400, 1), (-6, 2)], 50, 30),
        ([(2_000_000_000, 1), (-2_000_000_000, 1)], 200_000_000, 21),
    ],
)
def test_bins_are_round_and_few(numbers, width, bins):
    histogram = draw_histogram(census(*numbers))

    assert histogram.width == width
    assert len(histogram.bins) == bins
    assert sum(bin.count for bin in histogram.bins) == sum(count for _, count in numbers)
    bars = bars_of(histogram.bars)
    assert len(bars) == len([bin for bin in histogram.bins if bin.count])
    for left, bottom, bar_width, height in bars:
        assert 0 <= left < left + bar_width <= 1000
        assert 2 <= height <= bottom == 160
    assert histogram.marked_bar == histogram.mark == ""


@pytest.mark.parametrize("span", [1, 7, 38, 39, 40, 41, 99, 100, 333, 1000, 3999, 4001])
def test_bins_are_never_more_than_the_most(span):
    for lowest in (-7, 0, 1, 1199, 1234):
        histogram = draw_histogram(census((lowest + span, 1), (lowest, 1)))

        assert len(histogram.bins) <= MOST_BINS


def test_census_knows_what_the_board_knows(hundred_players):
    board = Board(hundred_players)
    found = board.census()

    for number in (3000, 2000, 1999, 1998, 1995, 1900, 1874, 1873, -5):
        assert found.standing_at(number) == board.standing_at(number)
    for page in (1, 2, 3, 4, 99):
        assert board.page(page, found) == board.page(page)
    for rating in Rating.objects.all()[::17]:
        assert board.around(rating, 5, found) == board.around(rating, 5)


# When it changed, where to play


def test_board_says_when_it_changed(client, brisca, source):
    assert "Last changed" not in parse(client.get(URL)).text
    before = datetime.now(UTC)
    record(duel("ana", "pepe"), source=source)

    changed_at = GameState.objects.get(game=brisca).changed_at
    times = board_of(client.get(URL)).all("time")

    assert before < changed_at < datetime.now(UTC)
    assert changed_at.isoformat(timespec="seconds").replace("+00:00", "Z") in [
        time.attributes["datetime"] for time in times
    ]


def test_play_link_only_where_there_is_an_address(client, brisca):
    assert "Play Brisca" not in parse(client.get(URL)).text

    Game.objects.filter(slug="brisca").update(play_url="https://play.example/brisca")

    [link] = [link for link in parse(client.get(URL)).all("a") if link.text == "Play Brisca"]
    assert link.attributes["href"] == "https://play.example/brisca"
    assert link.attributes["rel"] == "noopener"


# Queries


@pytest.mark.parametrize(
    ("query", "most"),
    [("", 5), ("?around=j-00", 6), ("?rank=1", 5), ("?q=j", 5), ("?kind=bots", 3),
     ("?around=nobody", 6), ("?q=zzz", 4)],
)  # fmt: skip
def test_queries_are_few_for_any_number_of_rows(client, brisca, source, query, most):
    record(duel("j-00", "k-00"), source=source)
    few = count_queries(client, URL + query)

    record(*[draw(f"j-{n:02}", f"k-{n:02}") for n in range(1, 30)], source=source)

    assert count_queries(client, URL + query) == few == most


def test_queries_inside_a_great_tie_are_few(client, brisca, monkeypatch):
    monkeypatch.setattr(segments, "LONGEST_WALK", 8)
    monkeypatch.setattr(segments, "SEGMENT", 4)
    monkeypatch.setattr(standings, "LONGEST_WALK", 8)
    fill_board(brisca, *[seat(brisca) for _ in range(120)])

    assert count_queries(client, f"{URL}?page=2") == 6
    assert len(rows(client.get(URL, {"page": 2}))) == 50


def count_queries(client, url):
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return len(queries)


@pytest.mark.parametrize(
    "query", ["", "?around=p-060", "?rank=60", "?q=p-", "?system=openskill&rank=60"]
)
def test_pages_are_small(client, hundred_players, query):
    for player in Player.objects.all():
        player.clean_fields()
        player.save()

    assert len(client.get(URL + query).content) < 60_000


def test_news_hold_neither_what_is_typed_nor_the_distribution(client, brisca, source):
    record(duel("ana", "pepe"), source=source)

    news = parse(client.get(URL, {"v": 0}, headers=HTMX))
    turned = parse(client.get(URL, {"kind": "people"}, headers=HTMX))

    assert news.all("", id="finder") == news.all("", id="distribution") == []
    for name in ("finder", "distribution", "languages"):
        assert turned.one("", id=name).attributes["hx-swap-oob"] == "true"


# Values that make no sense


@pytest.mark.parametrize(
    "query",
    [
        "rank=abc", "rank=-5", "rank=0", "rank=", "rank=1.5", "rank=1e3", "rank=" + "9" * 20,
        "rank=" + "9" * 20_000, "rank=%00", "rank=1%00", "rank=%ff", "q=", "q=%20", "q=%00",
        "q=a%00b", "q=" + "a" * 65, "q=" + "a" * 20_000, "q=%ed%a0%80",
    ],
)  # fmt: skip
def test_useless_place_shows_the_plain_board(client, brisca, source, query):
    record(duel("ana", "pepe"), source=source)

    assert client.get(f"{URL}?{query}").content == client.get(URL).content


@pytest.mark.parametrize(
    "query", ["q=%E2%80%AE", "q=-", "q=...", "q=%0D%0A", "q=%5C", "q=(", "q=🃏"]
)
@pytest.mark.parametrize("url", [URL, SHEET])
def test_odd_text_is_no_error(client, nunez, url, query):
    assert client.get(f"{url}?{query}").status_code == 200


def test_question_has_one_url_for_each_place(brisca):
    question = BoardQuestion(brisca, system="openskill", kind="bots", rank=1234)

    with override("es"):
        assert question.url() == f"/es{URL}?system=openskill&kind=bots&rank=1234"
    assert question.place_url() == f"{URL}?system=openskill&kind=bots"
    assert question.place_url(page=2) == f"{URL}?system=openskill&kind=bots&page=2"
    assert question.csv_url() == f"{SHEET}?system=openskill&kind=bots"


# The file for spreadsheets


def read_sheet(response):
    assert response.status_code == 200
    text = response.content.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_sheet_holds_the_board(client, brisca, source):
    create_bot(handle="bot-rayo", name="Rayo", source=source)
    record(duel("bot-rayo", "ana"), draw("pepe", "quin"), source=source)

    response = client.get(SHEET, {"system": "openskill"})

    rayo = Rating.objects.get(player__handle="bot-rayo")
    lines = read_sheet(response)
    assert response.content.startswith(b"\xef\xbb\xbf")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="brisca-openskill.csv"'
    assert [(line["rank"], line["handle"]) for line in lines] == [
        ("1", "bot-rayo"), ("2", "pepe"), ("2", "quin"), ("4", "ana"),
    ]  # fmt: skip
    assert lines[0] == {
        "rank": "1", "handle": "bot-rayo", "name": "Rayo", "kind": "bot",
        "rating": str(rayo.openskill_shown), "exact_rating": repr(rayo.openskill),
        "uncertainty": repr(rayo.sigma), "matches": "1", "won": "1", "drawn": "0", "lost": "0",
        "provisional": "yes", "last_played_at": "2026-07-06T20:00:00Z",
    }  # fmt: skip


def test_sheet_keeps_the_filters(client, brisca, source):
    create_bot(handle="bot-rayo", name="Rayo", source=source)
    record(duel("bot-rayo", "ana"), source=source)

    response = client.get(SHEET, {"kind": "people", "page": "7", "around": "ana", "q": "x"})

    assert [line["handle"] for line in read_sheet(response)] == ["ana"]
    assert response["Content-Disposition"] == 'attachment; filename="brisca-elo-people.csv"'


def test_sheet_is_read_in_pages_without_gap_or_repetition(client, hundred_players, monkeypatch):
    monkeypatch.setattr(standings, "ROWS_AT_A_TIME", 2)

    lines = read_sheet(client.get(SHEET))

    assert [line["handle"] for line in lines] == [f"p-{n:03}" for n in range(1, 121)]
    assert [line["rank"] for line in lines[:5]] == ["1", "2", "2", "4", "5"]


def test_sheet_of_a_long_board_is_cut_and_says_so(client, hundred_players, monkeypatch):
    monkeypatch.setattr("leaderboards.sheets.MOST_ROWS", 100)
    monkeypatch.setattr("leaderboards.views.sheet.MOST_ROWS", 100)

    response = client.get(SHEET)

    assert len(read_sheet(response)) == 100
    assert 'filename="brisca-elo-first-100.csv"' in response["Content-Disposition"]
    assert "(the first 100)" in board_of(client.get(URL)).text


def test_sheet_of_an_empty_board_has_its_heads(client, brisca):
    assert client.get(SHEET).content.decode("utf-8-sig").startswith('"rank","handle","name"')
    assert read_sheet(client.get(SHEET)) == []


@pytest.mark.parametrize(
    "name",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠SUM", "﹢1",
     " =1", "\u00a0=1", "\u200b=1", "\x00=1", "\ufeff=1"],
)  # fmt: skip
def test_cell_that_begins_like_a_formula_becomes_text(name):
    assert as_text(name) == "'" + name


@pytest.mark.parametrize("name", ["ana", "1+1", "a=b", "", "'ana", "ñandú", "لاعب", "🃏", "1200"])
def test_other_cell_stays_as_it_is(name):
    assert as_text(name) == name


@pytest.mark.parametrize("name", ["=1+1", "@SUM(A1)", '=HYPERLINK("http://x.example";"a")', "＝1"])
def test_names_in_the_sheet_run_nothing(client, brisca, source, name):
    record(duel("ana", "pepe"), source=source)
    Player.objects.filter(handle="ana").update(name=name)

    response = client.get(SHEET)

    quoted = name.replace('"', '""')
    assert f'"ana","\'{quoted}","person",1216,' in response.content.decode()
    assert read_sheet(response)[0]["name"] == "'" + name


def test_negative_numbers_in_the_sheet_are_numbers(client, brisca):
    fill_board(brisca, seat(brisca, -6.5, handle="ana"))

    assert '"person",-6,-6.5,' in client.get(SHEET).content.decode()


def test_sheet_the_reader_has_is_304(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    first = client.get(SHEET)

    again = client.get(SHEET, headers={"If-None-Match": first["ETag"]})

    assert again.status_code == 304
    assert first["Cache-Control"] == "private, no-cache"
    record(duel("pepe", "ana", at=NOW + timedelta(seconds=1)), source=source)
    assert client.get(SHEET, headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_only_so_many_sheets_are_written_at_once(client, brisca, source, monkeypatch):
    """A long board takes a thread for half a second: those of the pages must be left."""
    record(duel("ana", "pepe"), source=source)
    etag = client.get(SHEET)["ETag"]
    begun = []
    answers = []

    def write_while_others_ask(board):
        begun.append(board)
        if len(begun) <= MOST_AT_ONCE:
            answers.append(client.get(SHEET))
        return "written"

    monkeypatch.setattr("leaderboards.views.sheet.write_sheet", write_while_others_ask)
    first = client.get(SHEET)

    refused, second = answers
    assert (first.content, second.content) == (b"written", b"written")
    assert (refused.status_code, refused["Retry-After"]) == (503, "60")
    assert refused["Cache-Control"] == "no-store"
    assert client.get(SHEET).status_code == 200
    assert client.get(SHEET, headers={"If-None-Match": etag}).status_code == 304


def test_sheet_that_fails_leaves_its_place(client, brisca, monkeypatch):
    def fail(board):
        raise RuntimeError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("leaderboards.views.sheet.write_sheet", fail)
        for _ in range(MOST_AT_ONCE + 1):
            with pytest.raises(RuntimeError, match="no room"):
                client.get(SHEET)

    assert client.get(SHEET).status_code == 200


@pytest.mark.parametrize("path", ["/leaderboards/mus.csv", "/leaderboards/BRISCA.csv"])
def test_sheet_of_an_unknown_game_is_not_found(client, brisca, path):
    assert client.get(path).status_code == 404


def test_sheet_of_one_moment(client, hundred_players, django_assert_max_num_queries):
    with snapshot(), django_assert_max_num_queries(7):
        client.get(SHEET)
