from datetime import timedelta
from urllib.parse import quote

import pytest

from leaderboards import comparing
from ratings.models import Player, PlayerStatus, Rating
from ratings.roster import rename_player
from ratings.systems import elo, openskill
from tests.leaderboards.html import parse
from tests.ratings.builders import NOW, draw, duel, make_report, open_game, record, team

URL = "/compare/brisca/"


def minutes(count):
    return NOW + timedelta(minutes=count)


@pytest.fixture
def rivals(brisca, source):
    """Ana has won twice, drawn and lost against Pepe; Quin has met neither."""
    record(
        duel("ana", "pepe"),
        duel("ana", "pepe", at=minutes(1)),
        draw("pepe", "ana", at=minutes(2)),
        duel("pepe", "ana", at=minutes(3)),
        duel("quin", "eva", at=minutes(4)),
        source=source,
        at=minutes(9),
    )


def compare(client, *handles, **more):
    return parse(client.get(URL, {"p": list(handles), **more}))


def table(page, caption):
    [found] = [table for table in page.all("table") if table.one("caption").text == caption]
    return found


def ratings():
    return {rating.player.handle: rating for rating in Rating.objects.select_related("player")}


def test_two_players_have_a_record_and_an_expected_score(client, rivals):
    page = compare(client, "ana", "pepe")

    matrix = table(page, "Record and expected score")
    found = ratings()
    expected = elo.expected_score(found["ana"].elo, found["pepe"].elo)
    assert matrix.rows() == [
        ["ana", "— the same player", f"2–1–1 {expected:.2f}"],
        ["pepe", f"1–1–2 {1 - expected:.2f}", "— the same player"],
    ]
    assert [th.attributes["scope"] for th in matrix.all("th")] == ["col"] * 3 + ["row"] * 2


def test_two_players_have_one_ahead_with_how_much_and_how_surely(client, rivals):
    page = compare(client, "pepe", "ana")

    found = ratings()
    first, second = found["ana"], found["pepe"]
    chance = openskill.chance_stronger((first.mu, first.sigma), (second.mu, second.sigma))
    by_elo, by_openskill = (dd.text for dd in page.one("dl", class_="is-large").all("dd"))
    assert by_elo.startswith(f"ana, by {first.elo - second.elo:.1f}; expected score 0.5")
    assert by_openskill == (
        f"ana, by {first.openskill - second.openskill:.1f};"
        f" the stronger of the two with {chance * 100:.0f}% certainty"
    )


def test_players_who_stand_level_have_nobody_ahead(client, brisca, source):
    record(draw("ana", "pepe"), source=source)

    page = compare(client, "ana", "pepe")

    assert page.one("dl", class_="is-large").text.count("nobody: both stand level") == 2


def test_those_who_never_met_say_so(client, rivals):
    rows = table(compare(client, "ana", "quin"), "Record and expected score").rows()

    assert rows[0][2].startswith("not met 0.")


def test_partners_are_not_opponents(client, brisca, source):
    teams = [team("ana", "eva", place=1), team("leo", "quin", place=2)]
    record(make_report(teams), source=source)

    rows = table(compare(client, "ana", "eva", "leo"), "Record and expected score").rows()

    assert rows[0][2].startswith("not met")
    assert rows[0][3].startswith("1–0–0")
    assert rows[2][1].startswith("0–0–1")


def test_everyone_for_himself_counts_by_places(client, source):
    open_game("cinquillo")
    teams = [team("ana", place=3), team("eva", place=1), team("leo", place=3)]
    record(make_report(teams, game="cinquillo"), source=source)

    page = parse(client.get("/compare/cinquillo/", {"p": ["ana", "eva", "leo"]}))

    rows = table(page, "Record and expected score").rows()
    assert [row[0] for row in rows] == ["eva", "ana", "leo"]
    assert [cell.split()[0] for cell in rows[0][2:]] == ["1–0–0", "1–0–0"]
    assert [cell.split()[0] for cell in (rows[1][1], rows[1][3])] == ["0–0–1", "0–1–0"]


def test_league_is_in_the_order_of_elo_and_whoever_has_none_is_last(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    record(duel("quin", "eva", game="tute"), source=source)
    open_game("tute")

    page = compare(client, "quin", "pepe", "eva", "ana")

    for caption in ("Where each one stands", "Record and expected score"):
        assert [row[0].split()[0] for row in table(page, caption).rows()] == [
            "ana", "pepe", "quin", "eva",
        ]  # fmt: skip


def test_matches_of_other_games_do_not_count(client, rivals, source):
    open_game("tute")
    record(duel("quin", "ana", at=minutes(5), game="tute"), source=source, at=minutes(9))

    rows = table(compare(client, "ana", "quin"), "Record and expected score").rows()

    assert rows[0][2].startswith("not met")


def test_player_without_a_rating_is_there_without_numbers(client, rivals, source):
    open_game("tute")
    record(duel("leo", "eva", at=minutes(5), game="tute"), source=source, at=minutes(9))

    page = compare(client, "ana", "leo")

    assert "no rated match in this game yet" in page.text
    assert not page.all("dl", class_="is-large")


# What a URL may ask


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("p=ana&p=nobody-here", 'There is no player with the handle "nobody-here".'),
        ("p=ana&p=%00", "There is no player"),
        ("p=ana&p=" + "x" * 5000, 'There is no player with the handle "' + "x" * 60 + "…"),
        ("p=ana&p=%3Cscript%3Ealert(1)%3C/script%3E", "There is no player"),
        ("p=ana&p=%E2%80%AEana", "There is no player"),
        ("p=ana&p=%ff%fe", "There is no player"),
    ],
)
def test_unknown_handle_is_said_and_the_others_are_compared(client, rivals, query, words):
    response = client.get(f"{URL}?{query}")

    page = parse(response)
    assert response.status_code == 200
    assert words in page.one("p", class_="notice").text
    assert [row[0] for row in table(page, "Where each one stands").rows()] == ["ana provisional"]


@pytest.mark.parametrize("query", ["", "p=", "p=%20", "q=", "q=" + "y" * 20_000, "page=-1&sort=x"])
def test_question_without_players_is_an_invitation(client, rivals, query):
    response = client.get(f"{URL}?{query}")

    assert response.status_code == 200
    assert "Find two players or more" in parse(response).text


def test_player_named_twice_stands_there_once(client, rivals):
    page = parse(client.get(f"{URL}?p=ana&p=ANA&p=ana&p=pepe"))

    assert [row[0].split()[0] for row in table(page, "Where each one stands").rows()] == [
        "ana",
        "pepe",
    ]


def test_more_than_twenty_are_cut_and_it_is_said(client, brisca, source):
    record(*[duel("ana", f"j-{n}", at=minutes(n)) for n in range(30)], source=source,
           at=minutes(40))  # fmt: skip

    page = compare(client, *[f"j-{n}" for n in range(30)])

    assert len(table(page, "Record and expected score").rows()) == comparing.MOST
    assert "At most 20 players fit" in page.text
    assert "The list is full" in page.text
    assert not page.all("form", class_="search")


@pytest.mark.parametrize("status", [PlayerStatus.HIDDEN, PlayerStatus.ANONYMISED])
def test_hidden_player_is_not_shown(client, rivals, status):
    Player.objects.filter(handle="pepe").update(status=status)

    page = compare(client, "ana", "pepe", q="pepe")

    assert "is not shown" in page.text
    assert [row[0].split()[0] for row in table(page, "Where each one stands").rows()] == ["ana"]
    assert not page.all("a", class_="add")


def test_former_handle_leads_to_its_player(client, rivals):
    rename_player(player=Player.objects.get(handle="ana"), handle="ana-2")

    page = compare(client, "ana", "pepe")

    assert page.all("link", rel="canonical")[0].attributes["href"].endswith("?p=ana-2&p=pepe")


def test_unknown_game_is_not_found(client, rivals):
    assert client.get("/compare/mus/").status_code == 404


# Adding and taking away


@pytest.mark.parametrize("text", ["qui", "QUÍ", "  quin "])
def test_search_finds_players_to_add(client, rivals, text):
    page = compare(client, "ana", q=text)

    [link] = page.all("a", class_="add")
    assert link.text == "+ quin"
    assert link.attributes["href"] == f"{URL}?p=ana&p=quin"


def test_search_leaves_out_who_is_there_already(client, rivals):
    assert not compare(client, "ana", q="ana").all("a", class_="add")


def test_every_player_can_be_taken_away(client, rivals):
    page = compare(client, "ana", "pepe", "quin")

    assert [link.attributes["href"] for link in page.all("a", class_="remove")] == [
        f"{URL}?p=pepe&p=quin",
        f"{URL}?p=ana&p=quin",
        f"{URL}?p=ana&p=pepe",
    ]


def test_form_keeps_the_players(client, rivals):
    form = compare(client, "ana", "pepe").one("form", class_="search")

    kept = [field.attributes["value"] for field in form.all("input", type="hidden")]
    assert kept == ["ana", "pepe"]


def test_names_are_shown_as_text(client, rivals):
    name = "</script><img src=x onerror=alert(1)>"
    Player.objects.filter(handle="ana").update(name=name)

    response = client.get(URL, {"p": ["ana", "pepe"]})

    assert "<img" not in response.content.decode()
    assert name in parse(response).text


# Costs


def test_queries_do_not_grow_with_players_and_matches(
    client, brisca, source, django_assert_num_queries
):
    record(*[duel("ana", f"j-{n}", at=minutes(n)) for n in range(30)], source=source,
           at=minutes(40))  # fmt: skip

    with django_assert_num_queries(6):
        compare(client, "j-1", "j-2")
    with django_assert_num_queries(6):
        compare(client, "ana", *[f"j-{n}" for n in range(19)])


def test_comparison_is_304_until_something_changes(client, rivals, source):
    url = f"{URL}?p=ana&p=pepe"
    etag = client.get(url)["ETag"]

    assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
    assert client.get(f"{URL}?p=ana", headers={"If-None-Match": etag}).status_code == 200
    record(duel("ana", "pepe", at=minutes(6)), source=source, at=minutes(9))
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 200


def test_profile_and_match_lead_here(client, rivals):
    page = parse(client.get("/players/ana/brisca/"))

    hrefs = [link.attributes["href"] for link in page.all("a")]
    assert f"{URL}?p=ana" in hrefs
    assert f"{URL}?p=ana&p=pepe" in hrefs


def test_handles_of_any_script_keep_their_place_in_the_address(client, brisca, source):
    record(duel("íñigo_17", "名無し"), source=source)

    page = compare(client, "íñigo_17", "名無し")

    here = page.all("link", rel="canonical")[0].attributes["href"]
    assert here.endswith(f"?p={quote('íñigo_17')}&p={quote('名無し')}")
