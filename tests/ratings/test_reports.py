"""Match reports as sources send them: what is read, and what is refused whoever asks."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.reports import (
    EARLIEST,
    MOST_PROBLEMS,
    Report,
    ReportedTeam,
    ReportError,
    load_json,
    parse_instant,
    parse_points,
    parse_report,
)

REPORT = {
    "game": "brisca",
    "external_id": "srv1-000123",
    "played_at": "2026-11-29T18:00:00Z",
    "termination": "normal",
    "teams": [
        {"players": ["ana"], "place": 1, "points": 71},
        {"players": ["bot-rocio"], "place": 2, "points": 49},
    ],
}
BOM = "\ufeff"


def changed(**fields):
    return REPORT | fields


def with_places(*places):
    players = ["ana", "pepa", "lola", "rita"]
    return changed(
        teams=[
            {"players": [player], "place": place}
            for player, place in zip(players, places, strict=False)
        ]
    )


def with_players(*teams):
    return changed(
        teams=[{"players": players, "place": place} for place, players in enumerate(teams, start=1)]
    )


def refusal(data, **options):
    """The problems for which the report is refused."""
    with pytest.raises(ReportError) as refused:
        parse_report(data, **options)
    assert all(0 < len(problem) <= 250 for problem in refused.value.problems)
    return list(refused.value.problems)


def test_report_is_read_field_by_field():
    report = parse_report(REPORT)

    assert report == Report(
        game="brisca",
        external_id="srv1-000123",
        teams=(
            ReportedTeam(("ana",), 1, Decimal("71.00")),
            ReportedTeam(("bot-rocio",), 2, Decimal("49.00")),
        ),
        played_at=datetime(2026, 11, 29, 18, tzinfo=UTC),
        termination="normal",
    )
    assert report.players == ["ana", "bot-rocio"]


def test_report_without_optional_fields_is_normal_without_time_and_points():
    report = parse_report(
        {
            "game": "tute",
            "external_id": "a",
            "teams": [
                {"players": ["ana", "pepa"], "place": 2},
                {"players": ["lola", "rita"], "place": 1},
            ],
        }
    )

    assert report == Report(
        "tute",
        "a",
        (ReportedTeam(("ana", "pepa"), 2, None), ReportedTeam(("lola", "rita"), 1, None)),
        None,
        "normal",
    )


@pytest.mark.parametrize("data", [None, [], "x", 3, True, [REPORT]], ids=ascii)
def test_report_that_is_no_object_is_refused(data):
    [problem] = refusal(data)

    assert problem.endswith("a match report is an object.")


def test_report_names_every_field_that_is_wrong_at_once():
    problems = refusal(
        {
            "external_id": "ñ",
            "played_at": "yesterday",
            "termination": "won",
            "winner": "ana",
            "teams": [
                {"players": ["ana"], "place": 0, "rank": 1},
                {"players": [7], "place": 2, "points": "many"},
            ],
        }
    )

    assert problems == [
        'Unknown field "winner".',
        "Unexpected game null: name a game, such as brisca.",
        'Unexpected external_id "\\u00f1": 1 to 128 letters without accents, digits, . _ : or - '
        "are needed.",
        'Unexpected termination "won": one of normal, abandoned, cancelled, friendly is needed.',
        'Unexpected played_at "yesterday": a date and time with an offset is needed, such as '
        "2026-11-29T18:00:00Z.",
        'Unknown field "rank" in team 1.',
        "Unexpected place 0 for team 1: places are whole, from 1.",
        "Unexpected player 7 in team 2: an id is a text.",
        'Unexpected points "many": a number with at most two decimals, up to 9999999.99, is '
        "needed.",
    ]


def test_report_with_endless_mistakes_is_told_of_the_first_ones():
    problems = refusal(changed(teams=[0] * 10_000))

    assert len(problems) == MOST_PROBLEMS


@pytest.mark.parametrize("field", ["winner", "__proto__", "constructor", "is_staff", "", "gamé"])
def test_field_that_is_unknown_is_refused_by_name(field):
    assert refusal(changed(**{field: {}})) == [f'Unknown field "{field}".']


def test_field_of_a_team_that_is_unknown_is_refused_by_name():
    report = changed(teams=[{"players": ["ana"], "place": 1, "__proto__": 1}, REPORT["teams"][1]])

    assert refusal(report) == ['Unknown field "__proto__" in team 1.']


def test_field_of_many_letters_is_refused_in_a_short_sentence():
    [problem] = refusal(changed(**{"x" * 100_000: 1, "\ud800": 1}))[:1]

    assert len(problem) < 120


@pytest.mark.parametrize(
    "game", [None, "", 7, True, ["brisca"], {}, "\ud800", "bri\x00sca", "a\n"], ids=ascii
)
def test_game_that_is_no_name_is_refused(game):
    [problem] = refusal(changed(game=game))

    assert problem.endswith("name a game, such as brisca.")


@pytest.mark.parametrize(
    "external_id", ["a", "A", "x" * 128, "srv1:2026-07-06.m_1", "0"], ids=ascii
)
def test_external_id_of_the_allowed_characters_is_kept(external_id):
    assert parse_report(changed(external_id=external_id)).external_id == external_id


@pytest.mark.parametrize(
    "external_id",
    [
        None,
        "",
        " ",
        "A ",
        " A",
        "a\n",
        "x" * 129,
        "x" * 256,
        "ñ",
        "n\u0303",
        "\ud800",
        "a/b",
        "a b",
        "\uff11",
        7,
        1.5,
        True,
        ["a"],
        {},
    ],
)
def test_external_id_that_is_anything_else_is_refused(external_id):
    [problem] = refusal(changed(external_id=external_id))

    assert problem.startswith("Unexpected external_id ")


def test_external_id_that_is_missing_is_refused():
    report = {name: value for name, value in REPORT.items() if name != "external_id"}

    [problem] = refusal(report)

    assert problem.startswith("Unexpected external_id null:")


@pytest.mark.parametrize("termination", ["normal", "abandoned", "cancelled", "friendly"], ids=ascii)
def test_termination_that_is_known_is_kept(termination):
    assert parse_report(changed(termination=termination)).termination == termination


@pytest.mark.parametrize("termination", [None, "", "Normal", "void", 1, ["normal"], {}], ids=ascii)
def test_termination_that_is_unknown_is_refused(termination):
    [problem] = refusal(changed(termination=termination))

    assert problem.startswith("Unexpected termination ")


# Times


@pytest.mark.parametrize(
    ("sent", "moment"),
    [
        ("2026-07-06T19:30:00Z", datetime(2026, 7, 6, 19, 30, tzinfo=UTC)),
        ("2026-07-06T21:30:00+02:00", datetime(2026, 7, 6, 19, 30, tzinfo=UTC)),
        ("2026-07-06 21:30+02", datetime(2026, 7, 6, 19, 30, tzinfo=UTC)),
        ("2026-07-06T21:30:00+0200", datetime(2026, 7, 6, 19, 30, tzinfo=UTC)),
        ("2026-07-06T21:30:00.123456-03:30", datetime(2026, 7, 7, 1, 0, 0, 123456, tzinfo=UTC)),
        ("2026-07-06T21:30:00.5Z", datetime(2026, 7, 6, 21, 30, 0, 500000, tzinfo=UTC)),
        # Where the clocks change, the offset decides: this hour comes twice, and the other never.
        ("2026-10-25T02:30:00+02:00", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("2026-10-25T02:30:00+01:00", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("2026-03-29T02:30:00+01:00", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ("1969-12-31T23:59:59.999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        ("1000-01-01T00:00:00Z", EARLIEST),
    ],
)
def test_played_at_with_an_offset_is_that_moment_in_utc(sent, moment):
    report = parse_report(changed(played_at=sent))

    assert report.played_at == moment
    assert report.played_at.tzinfo is UTC


@pytest.mark.parametrize("sent", ["2026-07-06T21:30:00", "2026-07-06 21:30"])
def test_played_at_without_an_offset_is_refused(sent):
    assert refusal(changed(played_at=sent)) == [
        f'Unexpected played_at "{sent}": it needs an offset, such as Z or +02:00.'
    ]


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "2026-07-06",
        1783366200,
        "1783366200",
        True,
        [],
        "2026-13-06T21:30:00Z",
        "2026-02-29T21:30:00Z",
        "2026-07-06T24:00:00Z",
        "2026-07-06T23:59:60Z",
        "2026-07-06T21:30:00.1234567Z",
        "2026-07-06T21:30:00+24:00",
        "2026-W28-1T21:30:00Z",
        "20260706T213000Z",
        "2026-07-06T21:30:00Z ",
        "2026-07-06T21:30:00 Europe/Madrid",
        "\uff12026-07-06T21:30:00Z",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
    ],
    ids=ascii,
)
def test_played_at_that_is_no_moment_is_refused(sent):
    [problem] = refusal(changed(played_at=sent))

    assert problem.startswith("Unexpected played_at ")
    assert problem.endswith(
        "a date and time with an offset is needed, such as 2026-11-29T18:00:00Z."
    )


@pytest.mark.parametrize("sent", ["0001-01-01T00:00:00Z", "0999-12-31T23:59:59.999999Z"])
def test_played_at_that_is_too_old_for_arithmetic_is_refused(sent):
    assert refusal(changed(played_at=sent)) == [
        f'Unexpected played_at "{sent}": the earliest year is 1000.'
    ]


def test_played_at_of_an_import_may_be_a_date_and_means_midnight_utc():
    report = parse_report(changed(played_at="2026-06-06"), bare_dates=True)

    assert report.played_at == datetime(2026, 6, 6, tzinfo=UTC)


@pytest.mark.parametrize("sent", ["2026-02-30", "01/02/2026", "2026-6-6", "2026-06-06T10:00:00"])
def test_played_at_of_an_import_that_is_ambiguous_is_refused(sent):
    with pytest.raises(ValueError, match="Unexpected played_at"):
        parse_instant(sent, bare_dates=True)


@given(
    st.datetimes(min_value=datetime(1000, 1, 2), timezones=st.timezones()).filter(
        lambda moment: moment.utcoffset().total_seconds() % 60 == 0
    )
)
def test_played_at_of_any_zone_comes_back_as_the_same_moment(moment):
    assert parse_instant(moment.isoformat()) == moment.astimezone(UTC)


# Teams, players, places, points


@pytest.mark.parametrize("teams", [None, {}, "ana", 2, [], [REPORT["teams"][0]]], ids=ascii)
def test_teams_that_are_fewer_than_two_are_refused(teams):
    [problem] = refusal(changed(teams=teams))

    assert problem.startswith("Unexpected teams ")
    assert problem.endswith("a list of two or more teams is needed.")


@pytest.mark.parametrize("team", [None, "ana", ["ana"], 1], ids=ascii)
def test_team_that_is_no_object_is_refused(team):
    [problem] = refusal(changed(teams=[team, REPORT["teams"][1]]))

    assert problem.endswith("a team is an object with players and a place.")


@pytest.mark.parametrize("players", [None, [], "ana", {"ana": 1}, 0], ids=ascii)
def test_team_without_players_is_refused(players):
    [problem] = refusal(with_players(players, ["pepa"]))

    assert problem.endswith("in team 1: a list of ids is needed.")


@pytest.mark.parametrize("player", [0, 7, True, None, 1.5, ["ana"], {"id": "ana"}], ids=ascii)
def test_player_id_that_is_no_text_is_refused(player):
    [problem] = refusal(with_players([player], ["pepa"]))

    assert problem.startswith("Unexpected player ")
    assert problem.endswith(" in team 1: an id is a text.")


@pytest.mark.parametrize("player", ["007", "1e5", "0", "null", "True", "</script><b>"], ids=ascii)
def test_player_id_that_looks_like_something_else_stays_text(player):
    assert parse_report(with_players([player], ["pepa"])).players == [player, "pepa"]


@pytest.mark.parametrize(
    "player",
    [
        "",
        " ",
        "\u200b\u200b",
        "pepa\u200b_4",
        "ana\u202egnik_5",
        "\ud800",
        "a\x00",
        "x" * 129,
        "\ufdfa" * 128,
    ],
)
def test_player_id_that_cannot_be_seen_or_kept_is_refused(player):
    assert len(refusal(with_players([player], ["pepa"]))) == 1


@pytest.mark.parametrize(
    "teams",
    [
        [["pepa_4"], ["pepa_4"]],
        [["pepa_4"], ["PEPA_4"]],
        [["pepa_4"], [" pepa_4 "]],
        [["pepa_4", "pepa_4"], ["lola"]],
        [["ana"], ["pepa_4"], ["lola"], ["Pepa_4"]],
        [["bego\u00f1a"], ["begon\u0303a"]],
        [["\uff50epa"], ["pepa"]],
    ],
)
def test_player_that_is_on_the_report_twice_is_refused(teams):
    [problem] = refusal(with_players(*teams))

    assert problem.endswith("is repeated: nobody plays twice in a match.")


@pytest.mark.parametrize(
    "places", [(1, 2), (2, 1), (1, 1), (1, 3), (2, 3), (1, 1, 3), (4, 1, 3, 1), (1, 1_000_000)]
)
def test_places_that_are_whole_from_one_are_kept(places):
    report = parse_report(with_places(*places))

    assert tuple(team.place for team in report.teams) == places


@pytest.mark.parametrize(
    "place",
    [0, -1, 1.5, 1.0, Decimal("1.5"), True, False, "1", None, [1], 1_000_001, 2147483648, 10**30],
)
def test_place_that_is_anything_else_is_refused(place):
    [problem] = refusal(with_places(place, 1))

    assert problem.startswith("Unexpected place ")
    assert problem.endswith(" for team 1: places are whole, from 1.")


def test_place_that_is_missing_is_refused():
    report = changed(teams=[{"players": ["ana"]}, REPORT["teams"][1]])

    assert refusal(report) == [
        "Unexpected place null for team 1: places are whole, from 1.",
    ]


@pytest.mark.parametrize(
    ("sent", "points"),
    [
        ("71", "71.00"),
        ("71.00", "71.00"),
        ("7.1e1", "71.00"),
        ("7.5", "7.50"),
        ("-12.25", "-12.25"),
        ("0", "0.00"),
        ("-0.0", "0.00"),
        ("9999999.99", "9999999.99"),
        ("-9999999.99", "-9999999.99"),
    ],
)
def test_points_are_decimals_with_two_places(sent, points):
    assert str(parse_points(load_json(sent))) == points


@pytest.mark.parametrize(
    "sent",
    [
        "71.001",
        "1e-7",
        "1e400",
        "1e-400",
        "10000000",
        "-9999999.991",
        '"71"',
        "true",
        "[]",
        "{}",
        "1e999999999999999999",
        "1e-999999999999999999",
        "1" * 4300,
    ],
)
def test_points_that_are_anything_else_are_refused(sent):
    with pytest.raises(ValueError, match="Unexpected points"):
        parse_points(load_json(sent))


@pytest.mark.parametrize(
    "points", [1.5, float("nan"), float("inf"), Decimal("NaN"), Decimal("inf")], ids=ascii
)
def test_points_that_are_inexact_or_not_finite_are_refused(points):
    with pytest.raises(ValueError, match="Unexpected points"):
        parse_points(points)


# JSON


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nope",
        "{'a': 1}",
        BOM + "{}",
        "[1,]",
        "NaN",
        "Infinity",
        "-Infinity",
        "1" * 5000,
        "1e99999999999999999999",
        '{"a": 1, "a": 2}',
        '[{"b": {"a": 1, "a": 1}}]',
        '"\x01"',
    ],
)
def test_json_that_is_none_or_ambiguous_is_refused(text):
    with pytest.raises(ReportError) as refused:
        load_json(text)

    [problem] = refused.value.problems
    assert len(problem) < 250


def test_json_that_is_nested_without_end_is_refused():
    with pytest.raises(ReportError, match="nested too deep"):
        load_json("[" * 100_000)


@pytest.mark.parametrize("depth", [100, 900, 5_000, 20_000])
def test_report_that_is_nested_deep_is_refused(depth):
    text = "[" * depth + "]" * depth

    with pytest.raises(ReportError):
        parse_report(changed(game=load_json(text)))


def test_json_number_with_a_point_is_exact():
    assert load_json("[0.1, 71.00, 3]") == [Decimal("0.1"), Decimal("71.00"), 3]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 3)
    | st.decimals()
    | st.floats()
    | st.text(max_size=5)
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(["ana", "ANA", "brisca", "normal", "2026-07-06T19:30:00Z", "\ud800", "\x00"]),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            st.sampled_from(["players", "place", "points", "game", "x"]) | st.text(max_size=3),
            values,
            max_size=4,
        )
    ),
    max_leaves=8,
)
TEAMS = st.fixed_dictionaries(
    {},
    optional={
        "players": st.lists(st.sampled_from(["ana", "ANA", "pepa", ""]) | JSON_VALUES, max_size=3),
        "place": st.integers(-1, 4) | JSON_VALUES,
        "points": st.decimals(places=2, min_value=-1, max_value=1) | JSON_VALUES,
        "x": JSON_VALUES,
    },
)
REPORTS = st.fixed_dictionaries(
    {},
    optional={
        "game": st.just("brisca") | JSON_VALUES,
        "external_id": st.from_regex(r"[A-Za-z0-9._:-]{1,9}") | JSON_VALUES,
        "played_at": st.datetimes().map(lambda at: at.isoformat() + "Z") | JSON_VALUES,
        "termination": st.sampled_from(["normal", "friendly"]) | JSON_VALUES,
        "teams": st.lists(TEAMS | JSON_VALUES, max_size=4) | JSON_VALUES,
        "x": JSON_VALUES,
    },
)


@given(JSON_VALUES | REPORTS, st.booleans())
def test_report_of_any_json_is_read_or_refused_in_words(data, bare_dates):
    try:
        report = parse_report(data, bare_dates=bare_dates)
    except ReportError as refused:
        problems = refused.problems
        report = None
    if report is None:
        assert problems
        assert all(problem.encode() for problem in problems)
        return

    assert report.played_at is None or report.played_at >= EARLIEST
    assert len(report.teams) >= 2
    assert all(team.players and team.place >= 1 for team in report.teams)
    assert report == parse_report(json.loads(json.dumps(as_sent(report)), parse_float=Decimal))


def as_sent(report):
    """The report as a source would write it."""
    return {
        "game": report.game,
        "external_id": report.external_id,
        "termination": report.termination,
        "played_at": None if report.played_at is None else report.played_at.isoformat(),
        "teams": [
            {
                "players": list(team.players),
                "place": team.place,
                "points": None if team.points is None else float(team.points),
            }
            for team in report.teams
        ],
    }


@given(st.text(max_size=40) | st.text('{}[]",:0123456789.eE+-ntrufalsx\\ ', max_size=40))
def test_json_of_any_text_is_read_or_refused_in_words(text):
    with suppress(ReportError):
        load_json(text)
