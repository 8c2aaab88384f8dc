"""What a profile says of a player in one game: opponents, form, versions, forecast, history."""

from datetime import timedelta
from random import Random

import pytest

from leaderboards import histories
from leaderboards.charts import Point
from leaderboards.forecasts import forecast
from leaderboards.histories import points_of, read_history
from leaderboards.opponents import read_met
from leaderboards.versions import NORMAL_95, Surplus, read_versions
from ratings.decay import apply_decay
from ratings.models import Bot, BotVersion, GameState, Participation, Player, Rating, System
from ratings.players import create_bot
from ratings.roster import rename_player
from ratings.systems import elo
from ratings.systems.openskill import displayed_rating
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, draw, duel, make_report, open_game, record, team

DAY = timedelta(days=1)


def days_ago(count):
    return NOW - count * DAY


def rating_of(game, handle="ana"):
    return Rating.objects.get(game=game, player__handle=handle)


# Opponents


def test_opponents_have_score_expected_score_and_net_elo(brisca, source):
    record(
        duel("ana", "pepe", at=days_ago(40)),
        duel("ana", "pepe", at=days_ago(20)),
        draw("ana", "pepe", at=days_ago(10)),
        duel("quin", "ana", at=days_ago(5)),
        source=source,
    )

    met = read_met(rating_of(brisca), NOW)

    rows = list(
        Participation.objects.filter(player__handle="ana")
        .order_by("played_at")
        .values_list("elo_before", "elo_after")
    )
    changes = [after - before for before, after in rows]
    pepe, quin = met.opponents
    assert (pepe.player.handle, quin.player.handle) == ("pepe", "quin")
    assert (pepe.tally.meetings, pepe.tally.score) == (3, 2.5)
    assert pepe.tally.surplus == pytest.approx(sum(changes[:3]) / elo.PARAMETERS.k)
    assert pepe.net == pytest.approx(changes[1] + changes[2])
    assert quin.net == pytest.approx(changes[3])
    assert met.is_all


def test_net_elo_of_all_opponents_is_what_the_matches_changed(source):
    game = open_game("tute-subastado")
    record(
        make_report(
            [team("ana", place=1), team("b", "c", "d", place=2)], game="tute-subastado",
            at=days_ago(3),
        ),
        make_report(
            [team("b", place=1), team("ana", "c", "d", place=2)], game="tute-subastado",
            at=days_ago(2),
        ),
        make_report(
            [team("ana", place=2), team("b", place=3), team("c", place=1)],
            game="tute-subastado",
            at=days_ago(1),
        ),
        source=source,
    )  # fmt: skip

    for handle in "abcd"[1:] + "a":
        handle = "ana" if handle == "a" else handle
        rating = rating_of(game, handle)
        net = sum(opponent.net for opponent in read_met(rating, NOW).opponents)
        assert net == pytest.approx(rating.elo - 1200), handle


def test_people_and_bots_are_counted_apart(brisca, source):
    create_bot(handle="bot-rayo", name="Rayo", source=source)
    create_bot(handle="bot-nube", name="Nube", source=source)
    record(
        duel("ana", "bot-rayo", at=days_ago(3)),
        duel("pepe", "ana", at=days_ago(2)),
        make_report(
            [team("ana", "quin", place=1), team("bot-rayo", "bot-nube", place=2)], at=days_ago(1)
        ),
        make_report([team("ana", "quin", place=2), team("bot-rayo", "pepe", place=1)]),
        source=source,
    )

    met = read_met(rating_of(brisca), NOW)

    assert (met.bots.meetings, met.bots.score) == (2, 2.0)
    assert (met.people.meetings, met.people.score) == (2, 0.0)


def test_best_win_is_the_strongest_beaten_at_the_time(brisca, source):
    record(
        *[duel("pepe", f"j{n}", at=days_ago(20 - n / 10)) for n in range(10)],
        duel("ana", "quin", at=days_ago(5)),
        duel("ana", "pepe", at=days_ago(4)),
        duel("ana", "quin", at=days_ago(3)),
        source=source,
    )

    best = read_met(rating_of(brisca), NOW).best_win

    beaten = Participation.objects.get(match=best.match_id, player__handle="pepe")
    assert [player.handle for player in best.players] == ["pepe"]
    assert best.rating == beaten.elo_before > 1290


def test_form_is_newest_first_and_leaves_unrated_matches_out(brisca, source):
    record(
        duel("ana", "pepe", at=days_ago(4)),
        draw("ana", "pepe", at=days_ago(3)),
        duel("ana", "pepe", at=days_ago(2), termination="friendly"),
        duel("pepe", "ana", at=days_ago(1)),
        source=source,
    )

    met = read_met(rating_of(brisca), NOW)

    assert [one.result for one in met.form] == ["lost", "drawn", "won"]


def test_limit_of_matches_is_kept_and_said(client, brisca, source, monkeypatch):
    record(*[duel("ana", f"j{n}", at=days_ago(n)) for n in range(6)], source=source)
    monkeypatch.setattr("leaderboards.opponents.MOST_MATCHES", 4)

    met = read_met(rating_of(brisca), NOW)

    assert (met.matches, met.is_all, len(met.opponents)) == (4, False, 4)
    assert "Over the latest 4 rated matches." in parse(client.get("/players/ana/brisca/")).text


# Versions


@pytest.fixture
def bot(brisca, source):
    """A bot that lost ten matches as 1.0, and won ten as 2.0 and one as 3.0."""
    bot = create_bot(handle="bot-rayo", name="Rayo", difficulty="hard", source=source)
    for label, days in (("1.0", 100), ("2.0", 50), ("3.0", 1)):
        BotVersion.objects.create(bot=bot, label=label, released_at=days_ago(days))
    record(
        *[duel(f"j{n}", "bot-rayo", at=days_ago(90 - n)) for n in range(10)],
        *[duel("bot-rayo", f"k{n}", at=days_ago(40 - n)) for n in range(10)],
        duel("bot-rayo", "ana", at=NOW),
        source=source,
    )
    return bot


def test_versions_have_their_matches_and_their_surplus(brisca, bot):
    third, second, first = read_versions(rating_of(brisca, "bot-rayo"))

    rows = Participation.objects.filter(player=bot.player, played_at__lt=days_ago(50))
    losses = [(row.elo_after - row.elo_before) / 32 for row in rows]
    assert [one.version.label for one in (third, second, first)] == ["3.0", "2.0", "1.0"]
    assert [one.matches for one in (third, second, first)] == [1, 10, 10]
    assert first.surplus.mean == pytest.approx(sum(losses) / 10)
    assert first.surplus.low < first.surplus.mean < first.surplus.high < 0
    assert (third.surplus, third.is_distinct) == (None, None)
    assert second.is_distinct is True
    assert first.is_distinct is None


def test_interval_is_that_of_a_mean():
    surplus = Surplus(matches=100, mean=0.1, deviation=0.5)

    assert (surplus.low, surplus.high) == pytest.approx((0.1 - 0.098, 0.1 + 0.098))
    assert NORMAL_95 == 1.96


@pytest.mark.parametrize(("mean", "is_distinct"), [(0.13, False), (0.15, True), (-0.15, True)])
def test_versions_differ_beyond_what_chance_explains(mean, is_distinct):
    before = Surplus(matches=100, mean=0.0, deviation=0.5)

    assert Surplus(100, mean, 0.5).differs_from(before) is is_distinct


def test_page_of_a_bot_says_versions_band_and_house(client, brisca, bot):
    page = parse(client.get("/players/bot-rayo/brisca/"))

    text = page.text
    assert "meant for 1,400 to 1,800 Elo" in text
    assert "below its band" in text
    assert "bot of the house" in text
    [table] = [
        table for table in page.all("table")
        if table.one("caption").text == "Score minus expected score per match"
    ]  # fmt: skip
    assert [(row[0], row[2], row[-1]) for row in table.rows()] == [
        ("3.0", "1", "cannot be said"),
        ("2.0", "10", "plays differently"),
        ("1.0", "10", "cannot be said"),
    ]
    assert len(page.all("line", class_="version")) == 2


def test_bot_inside_its_band_is_not_marked(client, brisca, bot):
    Bot.objects.update(difficulty="medium")

    assert "its band" not in parse(client.get("/players/bot-rayo/brisca/")).text


# History


def test_elo_history_begins_at_the_start_and_has_every_match(brisca, source):
    record(duel("ana", "pepe", at=days_ago(100)), duel("ana", "pepe", at=days_ago(1)),
           source=source)  # fmt: skip
    rating = rating_of(brisca)

    points = points_of(read_history(rating, System.ELO), System.ELO, NOW)

    first, second = Participation.objects.filter(player__handle="ana").order_by("played_at")
    assert points == [
        Point(days_ago(100), 1200.0),
        Point(days_ago(100), first.elo_after),
        Point(days_ago(1), second.elo_after),
    ]


def test_openskill_history_shows_each_monday_of_decay(brisca, source):
    record(*[duel("ana", f"j{n}", at=days_ago(80 - n / 9)) for n in range(20)],
           duel("ana", "pepe", at=days_ago(10)), source=source)  # fmt: skip
    rating = rating_of(brisca)

    points = points_of(read_history(rating, System.OPENSKILL), System.OPENSKILL, NOW)

    *_, before_last, last = Participation.objects.filter(player__handle="ana").order_by("played_at")
    decayed = points[21:-1]
    assert len(decayed) == 5
    assert {(point.at.weekday(), point.at.hour) for point in decayed} == {(0, 0)}
    assert [point.value for point in decayed] == sorted(
        (point.value for point in decayed), reverse=True
    )
    assert decayed[0].value < displayed_rating(before_last.mu_after, before_last.sigma_after)
    assert decayed[-1].value == displayed_rating(last.mu_before, last.sigma_before)
    assert points[-1] == Point(days_ago(10), displayed_rating(last.mu_after, last.sigma_after))


def test_decay_since_the_last_match_leads_to_the_number_on_the_board(brisca, source):
    record(*[duel("ana", f"j{n}", at=days_ago(80 - n / 9)) for n in range(20)], source=source)
    apply_decay(NOW + 10 * DAY)
    rating = rating_of(brisca)
    until = GameState.objects.get(game=brisca).decayed_to + timedelta(seconds=1)

    points = points_of(read_history(rating, System.OPENSKILL), System.OPENSKILL, until)

    assert points[-1].value == rating.openskill


@pytest.mark.parametrize("system", System.values)
def test_long_history_keeps_the_extremes_of_every_stretch(brisca, source, monkeypatch, system):
    random = Random(5)
    reports = [
        duel(*random.sample(["ana", f"j{n % 9}"], 2),
             at=NOW - timedelta(days=300 - (n // 250) * 200, minutes=-7 * n))
        for n in range(500)
    ]  # fmt: skip
    record(*reports, source=source)
    rating = rating_of(brisca)
    whole = points_of(read_history(rating, system), system, NOW)
    monkeypatch.setattr(histories, "MOST_READ", 100)
    monkeypatch.setattr(histories, "STRETCHES", 40)

    history = read_history(rating, system)

    found = points_of(history, system, NOW)
    assert history.has_extremes
    assert found[0] == whole[0]
    assert {point.match_id for point in found if point.match_id} <= {p.match_id for p in whole}
    assert [point for point in found if not point.match_id] == [p for p in whole if not p.match_id]
    assert [point.at for point in found] == sorted(point.at for point in found)
    begin, end = whole[1].at, rating.last_played_at
    for number in range(40):
        edges = [begin + (end - begin) * n / 40 for n in (number, number + 1)]
        in_stretch = [
            [p.value for p in points[1:] if edges[0] <= p.at < edges[1] or p.at == edges[1] == end]
            for points in (whole, found)
        ]
        assert bool(in_stretch[0]) == bool(in_stretch[1])
        if in_stretch[0]:
            assert (min(in_stretch[0]), max(in_stretch[0])) == (
                min(in_stretch[1]), max(in_stretch[1]))  # fmt: skip
            assert (in_stretch[0][0], in_stretch[0][-1]) == (in_stretch[1][0], in_stretch[1][-1])
    assert len(found) < len(whole) / 2


def test_history_of_stretches_longer_than_the_grace_is_sampled(brisca, source, monkeypatch):
    """Inside such a stretch there is decay, of which its four matches would tell nothing."""
    monkeypatch.setattr(histories, "MOST_READ", 2)
    record(*[duel("ana", "pepe", at=days_ago(100 - 30 * n)) for n in range(3)], source=source)
    rating = rating_of(brisca)
    monkeypatch.setattr(histories, "STRETCHES", 1)

    assert not read_history(rating, System.ELO).has_extremes
    monkeypatch.setattr(histories, "STRETCHES", 3)
    assert read_history(rating, System.ELO).has_extremes


@pytest.mark.parametrize("system", System.values)
def test_very_long_history_keeps_its_extremes(brisca, source, monkeypatch, system):
    reports = [
        duel(*(("ana", f"j{n % 7}") if (n // 25) % 2 else (f"j{n % 7}", "ana")),
             at=NOW - timedelta(minutes=7 * (400 - n)))
        for n in range(400)
    ]  # fmt: skip
    record(*reports, source=source)
    rating = rating_of(brisca)
    whole = points_of(read_history(rating, system), system, NOW)
    monkeypatch.setattr(histories, "MOST_READ", 100)
    monkeypatch.setattr(histories, "MOST_SOUGHT", 100)
    monkeypatch.setattr(histories, "MOMENTS", 60)

    history = read_history(rating, system)
    sampled = points_of(history, system, NOW)

    assert not history.has_extremes
    assert len(sampled) <= 60 + 4
    values = [point.value for point in whole[1:]]
    found = [point.value for point in sampled[1:]]
    assert (min(found), max(found)) == (min(values), max(values))
    assert sampled[0].value == whole[0].value
    assert sampled[-1].value == whole[-1].value
    assert set(found) <= set(values)
    assert [point.at for point in sampled] == sorted(point.at for point in sampled)


# Forecast


def test_forecast_is_what_the_weekly_decay_will_do(brisca, source):
    open_game("brisca", idle_days=90)
    record(*[duel("ana", f"j{n}", at=days_ago(3 - n / 9)) for n in range(20)], source=source)
    rating = rating_of(brisca)

    said = forecast(rating, GameState.objects.select_related("game").get(game=brisca))

    assert len(said.steps) == 6
    for step in said.steps:
        apply_decay(step.at)
        rating.refresh_from_db()
        assert (rating.sigma, rating.openskill) == (step.sigma, step.openskill)
    apply_decay(said.leaves_at - timedelta(seconds=1))
    rating.refresh_from_db()
    assert rating.is_listed
    apply_decay(said.leaves_at)
    rating.refresh_from_db()
    assert not rating.is_listed


def test_forecast_of_one_who_is_as_unsure_as_can_be(client, brisca, source):
    record(duel("ana", "pepe", at=days_ago(300)), source=source)
    apply_decay(NOW)

    said = forecast(rating_of(brisca), GameState.objects.select_related("game").get(game=brisca))

    assert said.steps == []
    assert said.leaves_at is None
    assert "as uncertain as it can be" in parse(client.get("/players/ana/brisca/")).text


# The page


def test_one_match_is_a_dot_on_a_readable_scale(client, brisca, source):
    record(duel("ana", "pepe"), source=source)

    page = parse(client.get("/players/ana/brisca/"))

    assert len(page.all("circle", class_="dot")) == 2
    assert "From 1,200 to 1,216; lowest 1,200, highest 1,216." in page.one("figcaption").text
    table = page.one("details", class_="data")
    assert [row[1:] for row in table.rows()] == [
        ["1,216", "+16.0 up 16.0", "pepe"],
        ["1,200", "", "the start"],
    ]
    assert [title.text for title in page.one("svg", class_="chart").all("title")] == [
        "6 Jul 2026: 1,200",
        "6 Jul 2026: 1,216 (+16.0) · pepe",
    ]
    assert table.one("div", class_="scroll").attributes["tabindex"] == "0"


def test_coordinates_are_not_localised(client, brisca, source):
    record(*[duel("ana", f"j{n}", at=days_ago(n)) for n in range(9)], source=source)

    for prefix in ("", "/es"):
        svg = parse(client.get(f"{prefix}/players/ana/brisca/")).one("svg", class_="chart")
        for element in svg.all():
            for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "d"):
                assert "," not in element.attributes.get(name, ""), (prefix, element)


def test_chart_of_the_other_system_is_a_link_away(client, brisca, source):
    record(duel("ana", "pepe"), source=source)

    page = parse(client.get("/players/ana/brisca/", {"system": "openskill"}))

    assert "From 1,500 to 1,582" in page.one("figcaption").text
    links = page.one("section", **{"aria-labelledby": "history-title"}).one("nav").all("a")
    assert [link.attributes["href"] for link in links] == [
        "/players/ana/brisca/", "/players/ana/brisca/?system=openskill",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "query", ["system=x", "before=abc", "before=1%00", "before=-1", "after=" + "9" * 30,
              "before=", "system=" + "y" * 9000, "before=999999"],
)  # fmt: skip
def test_useless_question_is_the_plain_page(client, brisca, source, query):
    record(duel("ana", "pepe"), source=source)

    for url in ("/players/ana/", "/players/ana/brisca/"):
        response = client.get(f"{url}?{query}")
        assert response.status_code == 200
        assert len(parse(response).one("section", class_="appearances").rows()) == 1


@pytest.mark.parametrize("url", ["/players/ana/", "/players/ana/brisca/"])
def test_matches_are_paged_through_in_both_directions(client, brisca, source, url):
    record(*[duel("ana", "pepe", at=days_ago(n)) for n in range(45)], source=source)

    def page_at(url):
        page = parse(client.get(url)).one("section", class_="appearances")
        days = [row[0].split(",")[0] for row in page.rows()]
        links = {a.text: a.attributes["href"] for a in page.one("nav").all("a")}
        return days, links

    expected = [f"{days_ago(n):%-d %b %Y}" for n in range(45)]
    first, links = page_at(url)
    second, links_of_second = page_at(links["Older"])
    third, links_of_third = page_at(links_of_second["Older"])
    assert first + second + third == expected
    assert set(links) == {"Older"}
    assert set(links_of_third) == {"Newest", "Newer"}
    assert page_at(links_of_third["Newer"])[0] == second
    back, links_of_first = page_at(links_of_second["Newer"])
    assert back == first
    assert set(links_of_first) == {"Older"}


def test_chosen_system_stays_while_paging(client, brisca, source):
    record(*[duel("ana", "pepe", at=days_ago(n)) for n in range(25)], source=source)

    page = parse(client.get("/players/ana/brisca/?system=openskill"))

    [older] = [a for a in page.all("a") if a.text == "Older"]
    assert older.attributes["href"].startswith("/players/ana/brisca/?system=openskill&before=")


@pytest.mark.parametrize("end", ["", "brisca/"])
def test_former_handle_is_sent_to_the_one_of_today(client, brisca, source, end):
    record(duel("ana", "pepe"), source=source)
    rename_player(player=Player.objects.get(handle="ana"), handle="ana-mus")

    response = client.get(f"/es/players/ANA/{end}")

    assert response.status_code == 302  # not for good: he may take it back
    assert response["Location"] == f"/es/players/ana-mus/{end}"


def test_names_are_shown_as_text(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    name = '"><svg onload=alert(1)>'
    Player.objects.update(name=name)

    for url in ("/players/ana/", "/players/ana/brisca/"):
        response = client.get(url)
        assert "<svg onload" not in response.content.decode()
        assert name in parse(response).text
