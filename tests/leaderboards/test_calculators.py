from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratings.models import Rating
from ratings.roster import hide_player, rename_player
from ratings.systems import elo, openskill
from tests.leaderboards.html import parse
from tests.ratings.builders import count_rows, duel, fill_board, record, seat

URL = "/calculators/"
HTMX = {"HX-Request": "true"}


def ask(client, prefix="elo", url=URL, **fields):
    query = urlencode({f"{prefix}-{name}": value for name, value in fields.items()})
    return client.get(f"{url}?{query}")


def result(response, prefix="elo"):
    assert response.status_code == 200
    return parse(response).one("div", id=f"{prefix}-result")


def errors(response, prefix="elo"):
    """What is said beside each field, by the field's name; each is tied to its field."""
    assert response.status_code == 200
    form = parse(response).one("form", id=f"{prefix}-form")
    found = {}
    for field in form.all("div", class_="field"):
        said = field.all("p", class_="field-error")
        [control] = [*field.all("input"), *field.all("select")]
        assert ("aria-invalid" in control.attributes) == bool(said)
        if said:
            assert control.attributes["aria-describedby"] == said[0].attributes["id"]
            found[control.attributes["name"].removeprefix(f"{prefix}-")] = said[0].text
    return found


# Elo


@pytest.mark.parametrize(
    ("one", "two", "expected", "won", "drawn", "lost"),
    [
        ("1200", "1200", "0.500", "+16.00", "0", "−16.00"),
        ("1200", "1600", "0.091", "+29.09", "+13.09", "−2.91"),
        ("1,600", "1,200", "0.909", "+2.91", "−13.09", "−29.09"),
        ("−1000", "5000", "0.000", "+32.00", "+16.00", "0"),
        ("10", "10", "0.500", "+16.00", "0", "−16.00"),
    ],
)
def test_elo_is_that_of_the_formula(client, db, one, two, expected, won, drawn, lost):
    rows = result(ask(client, one_rating=one, two_rating=two)).one("table").rows()

    assert rows[1][:2] == ["Expected score", expected]
    assert [row[1].split(" → ")[0] for row in rows[2:]] == [won, drawn, lost]


def test_elo_starts_with_an_example(client, db):
    rows = result(client.get(URL)).one("table").rows()

    assert rows == [
        ["Before", "1,200", "1,400"],
        ["Expected score", "0.240", "0.760"],
        ["First player wins", "+24.31 → 1,224", "−24.31 → 1,376"],
        ["Draw", "+8.31 → 1,208", "−8.31 → 1,392"],
        ["Second player wins", "−7.69 → 1,192", "+7.69 → 1,408"],
    ]


def test_handles_stand_for_their_ratings(client, brisca):
    fill_board(brisca, seat(brisca, 1500.25, handle="ana"), seat(brisca, 1300, handle="pepe"))

    page = result(ask(client, one_player="ANA", two_player="pepe", game="brisca"))

    assert [th.text for th in page.all("th", scope="col")] == ["Result", "ana", "pepe"]
    assert page.one("table").rows()[0] == ["Before", "1,500", "1,300"]


def test_handle_and_number_mix_and_the_handle_wins(client, brisca):
    fill_board(brisca, seat(brisca, 1500, handle="ana"))

    page = result(ask(client, one_rating="1000", one_player="ana", two_rating="1200"))

    assert page.one("table").rows()[0] == ["Before", "1,500", "1,200"]


def test_who_was_never_rated_in_the_game_counts_as_a_newcomer(client, brisca):
    fill_board(brisca, seat(brisca, 1500, handle="ana"))

    page = result(ask(client, one_player="ana", two_rating="1200", game="tute"))

    assert page.one("table").rows()[0] == ["Before", "1,200", "1,200"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"one_rating": "abc", "two_rating": "1200"},
            {"one_rating": "“abc” is not a number. Write it like 1,234.5."},
        ),
        (
            {"one_rating": "123201", "two_rating": "-1001"},
            {
                "one_rating": "123,201 does not fit: give −1,000 to 5,000.",
                "two_rating": "−1,001 does not fit: give −1,000 to 5,000.",
            },
        ),
        (
            {"one_rating": "", "two_rating": "1200"},
            {"one_rating": "Give a number here, or a handle."},
        ),
        (
            {"one_player": "nadie", "two_rating": "1200"},
            {"one_player": "Nobody has this handle."},
        ),
    ],
)
def test_nonsense_is_answered_beside_the_field(client, db, fields, said):
    response = ask(client, **fields)

    assert errors(response) == said
    assert "does not add up yet" in result(response).text
    assert result(response).all("table") == []


def test_what_was_typed_stays_in_the_form(client, db):
    page = parse(ask(client, one_rating='"><svg onload=alert(1)>', two_rating="1.200"))

    assert (
        page.one("input", id="id_elo-one_rating").attributes["value"] == '"><svg onload=alert(1)>'
    )
    assert page.one("input", id="id_elo-two_rating").attributes["value"] == "1.200"


def test_hidden_players_are_nobody(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    hide_player(player=Rating.objects.get(player__handle="ana").player)

    assert errors(ask(client, one_player="ana", two_player="pepe")) == {
        "one_player": "Nobody has this handle."
    }


def test_former_handles_still_lead_to_the_player(client, brisca, source):
    record(duel("ana", "pepe"), source=source)
    rename_player(player=Rating.objects.get(player__handle="ana").player, handle="ana-mus")

    page = result(ask(client, one_player="ana", two_rating="1200"))

    assert page.one("table").rows()[0] == ["Before", "1,216", "1,200"]


def test_spanish_numbers_are_understood_and_written(client, db):
    page = result(ask(client, url="/es/calculators/", one_rating="1.200,5", two_rating="1.600,5"))

    assert "+29,09" in page.text


# OpenSkill


def test_openskill_is_that_of_the_vectors(client, db):
    rows = result(client.get(URL), "openskill").one("table").rows()

    assert [row[-4:] for row in rows] == [
        ["25.00", "8.33", "1,500", ""],
        ["25.00", "8.33", "1,500", ""],
        ["27.64", "8.07", "1,582", "+82.2"],
        ["22.36", "8.07", "1,456", "−44.4"],
        ["25.00", "8.07", "1,519", "+18.9"],
        ["25.00", "8.07", "1,519", "+18.9"],
        ["22.36", "8.07", "1,456", "−44.4"],
        ["27.64", "8.07", "1,582", "+82.2"],
    ]


def test_a_win_never_lowers_the_displayed_rating(client, db):
    """The numbers of BL-013."""
    page = ask(client, "openskill", one_mu="35", one_sigma="1.2", two_mu="20", two_sigma="1.2")

    rows = result(page, "openskill").one("table").rows()

    assert rows[0][-4:] == ["35.00", "1.20", "2,254", ""]
    assert rows[2][-4:] == ["35.02", "1.20", "2,254", "+0.5"]


def test_openskill_takes_handles(client, brisca):
    fill_board(brisca, seat(brisca, mu=30, sigma=2.5, handle="ana"))

    page = ask(client, "openskill", one_player="ana", two_mu="25", two_sigma="8.33")

    assert result(page, "openskill").one("table").rows()[0] == [
        "Before", "ana", "30.00", "2.50", "2,040", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sigma", "said"),
    [
        ("0", "0.0000 does not fit: give more than 0, 8.3333 at most."),
        ("-1", "−1.0000 does not fit: give more than 0, 8.3333 at most."),
        ("9", "9.0000 does not fit: give more than 0, 8.3333 at most."),
        ("nan", "“nan” is not a number. Write it like 1,234.5."),
    ],
)
def test_sigma_has_to_be_one(client, db, sigma, said):
    response = ask(client, "openskill", one_mu="25", one_sigma=sigma, two_mu="25", two_sigma="8")

    assert errors(response, "openskill") == {"one_sigma": said}


def test_chances_are_those_of_openskill_and_sum_to_one(client, db):
    page = ask(client, "openskill", one_mu="30", one_sigma="3", two_mu="25", two_sigma="3")
    first, second = openskill.chances([[(30, 3)], [(25, 3)]])

    assert f"{first * 100:.0f}% against {second * 100:.0f}%" in result(page, "openskill").text


# Both


def test_parts_are_for_htmx_and_pages_for_everybody_else(client, db):
    query = "?elo-one_rating=1200&elo-two_rating=1600"

    part = client.get(URL + query, headers=HTMX)
    going_back = client.get(URL + query, headers={**HTMX, "HX-History-Restore-Request": "true"})

    assert b"<html" not in part.content
    assert parse(part).one("div", id="elo-result").attributes["hx-swap-oob"] == "innerHTML"
    assert parse(part).all("form", id="openskill-form") == []
    assert b"<html" in going_back.content


def test_a_get_writes_nothing_and_asks_little(client, brisca, django_assert_num_queries):
    fill_board(brisca, seat(brisca, 1500, handle="ana"), seat(brisca, 1300, handle="pepe"))
    before = count_rows()

    with django_assert_num_queries(2):
        ask(client, one_rating="1200", two_rating="1600")
    with django_assert_num_queries(6):
        ask(client, one_player="ana", two_player="pepe")

    assert count_rows() == before
    assert client.post(URL, {"elo-one_rating": "1"}).status_code == 405


@pytest.mark.parametrize(
    "query",
    [
        "elo-one_rating=%ff%fe&elo-two_rating=%00",
        "elo-one_player=%00&elo-two_player=" + "x" * 20_000,
        "elo-game=mus&elo-one_player=ana",
        "elo-game=&elo-one_rating=1&elo-one_rating=2",
        "openskill-one_mu=" + "9" * 500,
        "openskill-one_sigma=1e-400&openskill-one_mu=-0",
        "elo-nothing=1",
        "k=0&scale=-1",
        "elo-one_player=..%2f..%2fetc%2fpasswd",
    ],
)
def test_bad_query_strings_get_a_page(client, db, query):
    response = client.get(f"{URL}?{query}")

    assert response.status_code == 200
    parse(response)


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        f"{prefix}-{side}_{name}": st.text(max_size=45)
        | st.floats(allow_nan=True).map(str)
        | st.integers(-6000, 6000).map(str)
        for prefix, names in (
            ("elo", ("rating", "player")),
            ("openskill", ("mu", "sigma", "player")),
        )
        for side in ("one", "two")
        for name in names
    },
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(fields=FIELDS)
def test_any_form_gets_a_sum_or_a_reason(client, brisca, fields):
    fields = {name: text.encode(errors="replace") for name, text in fields.items()}

    response = client.get(URL, fields)

    for prefix in ("elo", "openskill"):
        is_answered = bool(result(response, prefix).all("table"))
        assert is_answered != bool(errors(response, prefix))
    assert "nan" not in parse(response).one("div", id="openskill-result").text


def test_k_and_the_start_are_not_typed_in(client, db, monkeypatch):
    changed = elo.Parameters(start=1000, k=40)
    monkeypatch.setattr(elo, "PARAMETERS", changed)
    monkeypatch.setattr(elo.rate, "__defaults__", (changed,))

    rows = result(client.get(URL)).one("table").rows()

    assert rows[0] == ["Before", "1,000", "1,200"]
    assert rows[2][1] == "+30.39 → 1,030"
