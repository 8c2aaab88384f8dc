"""Files of reports: what is read, what is refused and on which line, and what gets stored."""

import io
import json
import random
import tracemalloc
import zipfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection, transaction

from ratings import history, importing, jobs, ledger, recording
from ratings.importing import MOST_PROBLEMS, import_file
from ratings.ledger import Staged, StagedMatches, staging
from ratings.models import Game, Match, Player
from ratings.recording import record_matches
from ratings.report_files import Lines, Problem, UnreadableFile, read_reports
from ratings.report_files.lines import LONGEST_LINE
from ratings.report_files.tables import COLUMNS
from ratings.reports import Report, ReportedTeam
from tests.ratings.builders import (
    count_rows,
    duel,
    everything_of,
    make_source,
    open_game,
    ratings_of,
    record,
    undone,
)
from tests.ratings.connections import elsewhere

PLAYED_AT = datetime(2026, 7, 6, 19, 30, tzinfo=UTC)
HEADER = ",".join(COLUMNS)
MATCH = """\
m1,brisca,2026-07-06T19:30:00Z,1,ana,1,71,normal
m1,brisca,2026-07-06T19:30:00Z,2,pepa_4,2,49,normal
"""


def stream(content, name=""):
    file = io.BytesIO(content.encode() if isinstance(content, str) else content)
    file.name = name
    return file


def read(content, name=""):
    return list(read_reports(Lines(stream(content, name))))


def reports_in(content, name=""):
    """The reports of a file without any problem."""
    readings = read(content, name)
    assert [reading.problems for reading in readings if reading.problems] == []
    return [reading.report for reading in readings]


def problems_in(content, name=""):
    """(line, sentence) of everything that is wrong, in the order of the file."""
    return [tuple(problem) for reading in read(content, name) for problem in reading.problems]


def table(*rows, columns=COLUMNS, delimiter=","):
    """A CSV file of rows given as dicts; what is not given is of an ordinary match."""
    usual = {"external_id": "m1", "game": "brisca", "played_at": "2026-07-06T19:30:00Z"}
    lines = [delimiter.join(columns)]
    for number, row in enumerate(rows, start=1):
        number = 2 - number % 2
        row = usual | {"team": number, "place": number, "player": f"p{number}"} | row
        lines.append(delimiter.join(str(row.get(column, "")) for column in columns))
    return "\n".join(lines) + "\n"


def line(external_id="m1", winner="ana", loser="pepa_4", **fields):
    """A line of JSONL."""
    teams = [{"players": [winner], "place": 1}, {"players": [loser], "place": 2}]
    usual = {"game": "brisca", "external_id": external_id, "played_at": "2026-07-06T19:30:00Z"}
    return json.dumps(usual | {"teams": teams} | fields) + "\n"


ONE_MATCH = Report(
    "brisca",
    "m1",
    (
        ReportedTeam(("ana",), 1, Decimal("71.00")),
        ReportedTeam(("pepa_4",), 2, Decimal("49.00")),
    ),
    PLAYED_AT,
    "normal",
)


# What is read


@pytest.mark.parametrize(
    "content",
    [
        HEADER + "\n" + MATCH,
        (HEADER + "\n" + MATCH).rstrip("\n"),
        (HEADER + "\n" + MATCH).replace("\n", "\r\n"),
        (HEADER + "\n" + MATCH).replace(",", ";"),
        (HEADER + "\n" + MATCH).replace(",", "\t"),
        (HEADER + "\n" + MATCH).replace(",", " , "),
        "\ufeff" + HEADER + "\n" + MATCH,
        "\n  \n" + HEADER + "\n\n" + MATCH.replace("\n", "\n\n") + ",,,,,,,\n" * 3,
        ";;;\r\n" + (HEADER + "\n" + MATCH + ",,,,,,,\n").replace(",", ";"),
        (HEADER + "\n" + MATCH + "\n").replace("brisca", '"brisca"').replace("game", '"game"'),
        HEADER + "\n" + "\n".join(reversed(MATCH.splitlines())),
    ],
    ids=[
        "plain", "no-last-line-end", "crlf", "semicolons", "tabs", "blanks-around", "mark",
        "blank-lines", "separators-only", "quoted", "teams-in-another-order",
    ],
)  # fmt: skip
def test_csv_is_read_however_a_program_writes_it(content):
    reports = reports_in(content)

    assert reports == [ONE_MATCH]


@pytest.mark.parametrize(
    "content",
    [
        line(),
        "\ufeff" + line(),
        "\r\n \n" + line().strip() + "\r\n\r\n",
        line().strip(),
        "\ufeff\n" + line(),
    ],
    ids=["plain", "mark", "crlf-and-blank-lines", "no-last-line-end", "mark-alone"],
)
def test_jsonl_is_read_however_a_program_writes_it(content):
    [report] = reports_in(content)

    assert report == Report(
        "brisca",
        "m1",
        (ReportedTeam(("ana",), 1), ReportedTeam(("pepa_4",), 2)),
        PLAYED_AT,
        "normal",
    )


def test_columns_may_stand_in_any_order_and_optional_ones_be_missing():
    columns = ("player", "place", "team", "played_at", "game", "external_id")
    content = table({}, {}, columns=columns)

    [report] = reports_in(content)

    assert report == Report(
        "brisca", "m1", (ReportedTeam(("p1",), 1), ReportedTeam(("p2",), 2)), PLAYED_AT
    )


def test_members_of_a_team_and_several_matches_are_put_together():
    content = table(
        {"player": "ana", "team": 1, "place": 1},
        {"player": "lola", "team": 2, "place": 2},
        {"player": "rita", "team": 1, "place": 1},
        {"player": "pepa", "team": 2, "place": 2},
        {"external_id": "m2", "termination": "friendly"},
        {"external_id": "m2", "termination": "friendly"},
    )

    first, second = reports_in(content)

    assert [team.players for team in first.teams] == [("ana", "rita"), ("lola", "pepa")]
    assert (second.external_id, second.termination) == ("m2", "friendly")


def test_decimal_comma_of_a_spanish_spreadsheet_is_read():
    content = (
        "external_id;game;played_at;team;player;place;points\n"
        "m1;siete-y-media;2026-07-06T21:30:00+02:00;1;pepa_4;1;7,5\n"
        "m1;siete-y-media;2026-07-06T21:30:00+02:00;2;bot_2;2;6\n"
    )

    [report] = reports_in(content)

    assert report == Report(
        "siete-y-media",
        "m1",
        (
            ReportedTeam(("pepa_4",), 1, Decimal("7.50")),
            ReportedTeam(("bot_2",), 2, Decimal("6.00")),
        ),
        PLAYED_AT,
    )


@pytest.mark.parametrize("player", ["007", "1e5", "0", "null", "True", "=1+1", "+1", "@SUM(A1)"])
def test_player_stays_the_text_that_the_file_holds(player):
    from_csv = reports_in(table({"player": player}, {}))
    from_jsonl = reports_in(line(winner=player))

    assert from_csv[0].teams[0].players == (player,)
    assert from_jsonl[0].teams[0].players == (player,)


def test_blanks_around_a_player_are_trimmed():
    [from_csv] = reports_in(table({"player": "  pepa_4\u00a0"}, {}))
    [from_jsonl] = reports_in(line(winner=" pepa_4 ", loser="ana"))

    assert from_csv.teams[0].players == from_jsonl.teams[0].players == ("pepa_4",)


def test_date_without_a_time_is_midnight_utc():
    [from_csv] = reports_in(table({"played_at": "2026-06-06"}, {"played_at": "2026-06-06"}))
    [from_jsonl] = reports_in(line(played_at="2026-06-06"))

    assert from_csv.played_at == from_jsonl.played_at == datetime(2026, 6, 6, tzinfo=UTC)


def test_empty_field_counts_as_absent():
    [report] = reports_in(table({"played_at": ""}, {"played_at": ""}))

    assert report == Report("brisca", "m1", (ReportedTeam(("p1",), 1), ReportedTeam(("p2",), 2)))


def test_thousands_of_empty_rows_are_passed_over_at_once():
    content = HEADER.replace(",", ";") + "\n" + MATCH.replace(",", ";") + ";;;;;;;\n" * 20_000

    reports = reports_in(content)

    assert reports == [ONE_MATCH]


def test_file_name_tells_jsonl_only_where_the_content_does_not():
    content = "damaged\n" + line()

    readings = read(content, name="season.jsonl")

    assert [(reading.line, bool(reading.report)) for reading in readings] == [(1, False), (2, True)]


# What is refused, and on which line


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in names:
            packed.writestr(name, "0" * 2000)
    return file.getvalue()


def spreadsheet():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    return file.getvalue()


OTHER_FILES = {
    "empty": (b"", "The file is empty."),
    "mark-alone": (b"\xef\xbb\xbf", "The file is empty."),
    "blank": (b"\n \r\n;;;\n", "The file is empty."),
    "xlsx": (
        archive("[Content_Types].xml", "xl/workbook.xml"),
        "This is an Excel workbook (.xlsx): save it as CSV in UTF-8.",
    ),
    "ods": (spreadsheet(), "This is an OpenDocument spreadsheet (.ods): save it as CSV in UTF-8."),
    "zip": (archive("results.csv"), "This is a ZIP archive: unpack it first."),
    "gzip": (b"\x1f\x8b\x08\0" + b"\0" * 20, "This is a gzip archive: unpack it first."),
    "xls": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 20,
        "This is an old Excel workbook (.xls): save it as CSV in UTF-8.",
    ),
    "pdf": (b"%PDF-1.7\n", "This is a PDF document: a CSV or JSONL file is needed."),
    "utf-16": (
        (HEADER + "\n" + MATCH).encode("utf-16"),
        "This file is in UTF-16: save it in UTF-8.",
    ),
    "utf-16-without-mark": (
        (HEADER + "\n" + MATCH).encode("utf-16-be"),
        "This file is in UTF-16: save it in UTF-8.",
    ),
    "utf-16-jsonl": (line().encode("utf-16-le"), "This file is in UTF-16: save it in UTF-8."),
    "utf-32": (line().encode("utf-32"), "This file is in UTF-32: save it in UTF-8."),
    "json-list": (
        "[\n" + line() + "]",
        "This is one JSON list: write each report on a line of its own (JSONL).",
    ),
    "png": (
        b"\x89PNG\r\n",
        "Line 1 is no header: Byte 1, 0x89, is not UTF-8: the file may be in Latin-1 "
        "(Windows-1252); save it in UTF-8.",
    ),
    "nul": (
        b"external_id,game\0,\n",
        "Line 1 is no header: The line holds a NUL byte: the file is damaged, or no text.",
    ),
    "open-quote": (
        'external_id,"game\n',
        "Line 1 is no header: The quotation marks of the line do not pair up.",
    ),
    "cr": (
        (HEADER + "\n" + MATCH).replace("\n", "\r"),
        "The lines end in CR alone: save the file with LF or CRLF.",
    ),
}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_file_that_is_something_else_is_refused_by_name(kind):
    content, sentence = OTHER_FILES[kind]

    with pytest.raises(UnreadableFile) as refused:
        read(content)

    assert str(refused.value) == sentence


def test_header_names_every_column_that_is_wrong():
    content = "\nexternal_id,game,match_id,team,player,place,place,Points\nm1\n"

    with pytest.raises(UnreadableFile) as refused:
        read(content)

    assert str(refused.value) == (
        'Unknown column "match_id". Unknown column "Points". Column "place" is there twice. '
        'Column "played_at" is missing. The header, here on line 2, names the columns '
        "external_id, game, played_at, team, player, place, points, termination."
    )


def test_damaged_lines_of_jsonl_are_named_with_their_reason():
    content = (
        line("m1")
        + "\n{broken\n"
        + line("m2", winner=0)
        + "null\n"
        + line("m3", played_at="01/02/2026")
        + line("m4", points=3)
    )

    assert problems_in(content) == [
        (
            3,
            "This is not JSON: Expecting property name enclosed in double quotes at character 2.",
        ),
        (4, "Unexpected player 0 in team 1: an id is a text."),
        (5, "Unexpected null: a match report is an object."),
        (
            6,
            'Unexpected played_at "01/02/2026": a date and time with an offset is needed, '
            "such as 2026-11-29T18:00:00Z.",
        ),
        (7, 'Unknown field "points".'),
    ]


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        ("ana,1,71", "ana,1", [(2, "The line has 7 fields, but the header has 8.")]),
        ("ana,1,71", "ana,1,7,5", [(2, "The line has 9 fields, but the header has 8.")]),
        ("pepa_4,2,49", "pepa_4,2", [(3, "The line has 7 fields, but the header has 8.")]),
        (
            "ana,1,71",
            'ana,1,"7,5"',
            [
                (
                    2,
                    'Unexpected points "7,5": a number with at most two decimals, up to '
                    "9999999.99, is needed.",
                )
            ],
        ),
        ("ana,1,71", 'ana,1,"71', [(2, "The quotation marks of the line do not pair up.")]),
        ("ana,1,71", 'ana,1,"7"1', [(2, "The quotation marks of the line do not pair up.")]),
        (
            "ana,1,71",
            "an\0a,1,71",
            [(2, "The line holds a NUL byte: the file is damaged, or no text.")],
        ),
        ("1,ana", "0,ana", [(2, 'Unexpected team "0": a whole number from 1 is needed.')]),
        ("1,ana", "a,ana", [(2, 'Unexpected team "a": a whole number from 1 is needed.')]),
        ("ana,1", "ana,1.0", [(2, 'Unexpected place "1.0": a whole number from 1 is needed.')]),
        ("ana,1", "ana,", [(2, 'Unexpected place "": a whole number from 1 is needed.')]),
        ("ana,1", "ana,-1", [(2, 'Unexpected place "-1": a whole number from 1 is needed.')]),
        ("ana,1", "ana,\u0661", [(2, 'Unexpected place "١": a whole number from 1 is needed.')]),
        (
            "ana,1",
            "ana,1000001",
            [(2, "Unexpected place 1000001 for team 1: places are whole, from 1.")],
        ),
        ("pepa_4", "", [(3, "A player id needs at least one character that can be seen.")]),
        (
            "pepa_4",
            "pepa\u200b_4",
            [(3, 'Unexpected U+200B in "pepa_4": invisible characters are not allowed.')],
        ),
        (
            "pepa_4",
            "\ufeffpepa_4",
            [(3, 'Unexpected U+FEFF in "pepa_4": invisible characters are not allowed.')],
        ),
        ("pepa_4", "ANA", [(2, 'Player "ANA" is repeated: nobody plays twice in a match.')]),
        (
            "Z,2,pepa_4",
            "Z,1,pepa_4",
            [(3, 'Unexpected place "2": line 2, of the same team, says "1".')],
        ),
        (
            "Z,2,pepa_4,2,49",
            "Z,1,pepa_4,1,49",
            [(3, 'Unexpected points "49": line 2, of the same team, says "71".')],
        ),
        (
            "m1,brisca,2026-07-06T19:30:00Z,2",
            "m1,tute,2026-07-06T19:30:00Z,2",
            [(3, 'Unexpected game "tute": line 2, of the same match, says "brisca".')],
        ),
        (
            "00Z,2",
            "01Z,2",
            [
                (
                    3,
                    'Unexpected played_at "2026-07-06T19:30:01Z": line 2, of the same match, '
                    'says "2026-07-06T19:30:00Z".',
                )
            ],
        ),
        (
            "49,normal",
            "49,friendly",
            [(3, 'Unexpected termination "friendly": line 2, of the same match, says "normal".')],
        ),
    ],
)  # fmt: skip
def test_row_that_is_wrong_is_named_with_its_line(old, new, problems):
    assert MATCH.count(old) == 1
    content = HEADER + "\n" + MATCH.replace(old, new)

    assert problems_in(content) == problems


@pytest.mark.parametrize(
    "played_at", ["01/02/2026", "2026-07-06T19:30:00", "2026-07-06 21:30", "1783366200", "hoy"]
)
def test_moment_that_could_be_read_in_two_ways_is_refused(played_at):
    content = table({"played_at": played_at}, {"played_at": played_at})

    [(number, sentence)] = problems_in(content)

    assert number == 2
    assert sentence.startswith(f'Unexpected played_at "{played_at}": ')


def test_latin1_is_refused_on_the_lines_that_show_it():
    rows = MATCH.replace("pepa_4", "begoña") + MATCH.replace("m1", "m2")
    content = (HEADER + "\n" + rows).encode("latin-1")

    readings = read(content)

    assert [reading.line for reading in readings if reading.report] == [4]
    assert problems_in(content) == [
        (
            3,
            "Byte 38, 0xF1, is not UTF-8: the file may be in Latin-1 (Windows-1252); "
            "save it in UTF-8.",
        )
    ]


def test_latin1_in_jsonl_is_refused_too():
    content = line("m1").encode() + line("m2", winner="X").replace("X", "begoña").encode("latin-1")

    [(number, sentence)] = problems_in(content)

    assert number == 2
    assert "0xF1, is not UTF-8" in sentence


def test_line_without_an_end_is_cut_and_the_next_ones_keep_their_numbers():
    long = "x" * (3 * LONGEST_LINE)
    content = line("m1") + '{"game": "' + long + '"}\n' + line("m2") + long

    assert [reading.line for reading in read(content) if reading.report] == [1, 3]
    assert problems_in(content) == [
        (2, "The line is longer than 65536 bytes."),
        (4, "The line is longer than 65536 bytes."),
    ]


def test_longest_line_is_still_read():
    content = line("m1").strip()
    content += " " * (LONGEST_LINE - len(content) - 1) + "\n" + line("m2")

    assert [report.external_id for report in reports_in(content)] == ["m1", "m2"]


def test_rows_of_a_match_that_are_apart_are_refused_with_both_lines():
    first, second = MATCH.splitlines(keepends=True)
    other = MATCH.replace("m1", "m2")
    content = HEADER + "\n" + first + other + second

    readings = read(content)

    assert [reading.report.external_id for reading in readings if reading.report] == ["m2"]
    assert problems_in(content) == [
        (2, 'The rows of match "m1" are not together: others begin on line 5.'),
        (5, 'The rows of match "m1" are not together: others begin on line 2.'),
    ]


def test_row_without_a_readable_id_spoils_both_matches_it_may_belong_to():
    """Else the match that lost a row would be rated as one of fewer players."""
    columns = ("player", "place", "team", "played_at", "game", "external_id")
    rows = table(*[{"external_id": f"m{1 + n // 2}"} for n in range(8)], columns=columns)
    lines = rows.splitlines(keepends=True)
    damaged = [*lines[:5], "p9,9\n", *lines[5:]]

    readings = read("".join(damaged))

    assert [reading.report.external_id for reading in readings if reading.report] == ["m1", "m4"]
    assert problems_in("".join(damaged)) == [
        (6, "The line has 2 fields, but the header has 6."),
        (7, "Line 6 is damaged, and may belong to this match."),
    ]


def test_row_without_a_readable_id_inside_a_match_spoils_only_that_one():
    columns = ("player", "external_id", "place", "team", "played_at", "game")
    rows = table(*[{"external_id": f"m{1 + n // 2}"} for n in range(6)], columns=columns)
    lines = rows.splitlines(keepends=True)
    damaged = [*lines[:4], "p9,9\n", *lines[4:]]

    readings = read("".join(damaged))

    assert [reading.report.external_id for reading in readings if reading.report] == ["m1", "m3"]
    assert problems_in("".join(damaged)) == [(5, "The line has 2 fields, but the header has 6.")]


def test_damaged_row_whose_id_stands_first_spoils_only_its_own_match():
    content = HEADER + "\n" + MATCH + "m2,brisca\n" + MATCH.replace("m1", "m3")

    readings = read(content)

    assert [reading.report.external_id for reading in readings if reading.report] == ["m1", "m3"]
    assert problems_in(content) == [(4, "The line has 2 fields, but the header has 8.")]


def test_file_with_nothing_but_damaged_rows_is_one_refusal():
    content = "player,external_id,game,played_at,team,place\nx\ny\n"

    readings = read(content)

    assert [reading.line for reading in readings] == [2]
    assert [problem.line for problem in readings[0].problems] == [2, 3]


def test_what_would_act_on_a_terminal_is_escaped():
    escape = "\x1b[2J\u202e"

    [(_line, cell)] = problems_in(table({"team": escape}, {}))
    [(_line, field)] = problems_in(line(**{escape: 1}))
    with pytest.raises(UnreadableFile) as refused:
        read(HEADER + "," + escape + "\n")

    assert cell == 'Unexpected team "\\x1b[2J\\u202e": a whole number from 1 is needed.'
    assert field == 'Unknown field "\\x1b[2J\\u202e".'
    assert str(refused.value).startswith('Unknown column "\\x1b[2J\\u202e".')


# What is stored


@pytest.fixture
def brisca(db):
    return open_game()


@pytest.fixture
def source(db):
    return make_source("mesa-1", may_create_players=False)


def counts(result):
    return (result.new, result.repeated, result.conflict, result.refused)


def hundred_lines_with_two_bad_ones():
    lines = [line(f"m{number}", f"p{number}", f"q{number}") for number in range(1, 101)]
    lines[39] = '{"game": "brisca", \n'
    lines[40] = line("m41", game="mus")
    return "".join(lines)


def test_file_is_stored_and_its_repetition_is_not(brisca, source):
    content = line("m1") + line("m2")

    first = import_file(stream(content), source=source, may_create_players=True)
    again = import_file(stream(content), source=source, may_create_players=True)

    assert (counts(first), first.is_applied) == ((2, 0, 0, 0), True)
    assert (counts(again), again.is_applied) == ((0, 2, 0, 0), True)
    assert Match.objects.count() == 2


def test_csv_and_jsonl_of_the_same_match_are_the_same(brisca, source):
    teams = [
        {"players": ["ana"], "place": 1, "points": 71},
        {"players": ["pepa_4"], "place": 2, "points": 49},
    ]
    import_file(stream(HEADER + "\n" + MATCH), source=source, may_create_players=True)

    result = import_file(stream(line(teams=teams)), source=source, may_create_players=True)

    assert counts(result) == (0, 1, 0, 0)


def test_path_is_read_as_a_stream_is(brisca, source, tmp_path):
    path = tmp_path / "season 1.csv"
    path.write_text("\ufeff" + HEADER + "\r\n" + MATCH, encoding="utf-8")

    result = import_file(path, source=source, may_create_players=True)

    assert counts(result) == (1, 0, 0, 0)
    assert set(Player.objects.values_list("handle", flat=True)) == {"ana", "pepa_4"}


def test_bad_lines_are_named_and_nothing_is_stored(brisca, source):
    rows = count_rows()

    result = import_file(
        stream(hundred_lines_with_two_bad_ones()), source=source, may_create_players=True
    )

    assert (counts(result), result.is_applied, result.is_clean) == ((98, 0, 0, 2), False, False)
    assert [problem.line for problem in result.problems] == [40, 41]
    assert result.problems[1].text.startswith('Unknown game "mus": one of ')
    assert count_rows() == rows


def test_keep_going_stores_the_good_lines_and_names_the_bad_ones(brisca, source):
    result = import_file(
        stream(hundred_lines_with_two_bad_ones()),
        source=source,
        may_create_players=True,
        keep_going=True,
    )

    assert (counts(result), result.is_applied, result.is_clean) == ((98, 0, 0, 2), True, False)
    assert [problem.line for problem in result.problems] == [40, 41]
    assert Match.objects.count() == 98
    assert history.verify(brisca).is_clean


@pytest.mark.parametrize("keep_going", [False, True])
def test_dry_run_stores_nothing_and_says_what_would_be(brisca, source, keep_going):
    rows = count_rows()
    version = brisca.state.version

    result = import_file(
        stream(line("m1") + line("m2")),
        source=source,
        may_create_players=True,
        keep_going=keep_going,
        dry_run=True,
    )

    brisca.state.refresh_from_db()
    assert (counts(result), result.is_applied, result.is_clean) == ((2, 0, 0, 0), False, True)
    assert (count_rows(), brisca.state.version) == (rows, version)


def test_other_result_under_a_stored_id_is_a_conflict_and_nothing_is_stored(brisca, source):
    import_file(stream(line("m1")), source=source, may_create_players=True)
    before = ratings_of(brisca)

    result = import_file(
        stream(line("m2") + line("m1", "pepa_4", "ana")), source=source, may_create_players=True
    )

    assert (counts(result), result.is_applied) == ((1, 0, 1, 0), False)
    assert [problem.line for problem in result.problems] == [2]
    assert "m1" in result.problems[0].text
    assert ratings_of(brisca) == before


def test_unknown_player_is_refused_where_none_may_be_made(brisca, source):
    result = import_file(stream(line("m1")), source=source, may_create_players=False)

    assert counts(result) == (0, 0, 0, 1)
    assert result.problems == [
        Problem(1, 'Player "ana" is not known.'),
        Problem(1, 'Player "pepa_4" is not known.'),
    ]
    assert not Player.objects.exists()


def test_old_results_are_accepted(brisca, source):
    result = import_file(
        stream(line(played_at="1950-01-24T00:00:00Z")), source=source, may_create_players=True
    )

    assert counts(result) == (1, 0, 0, 0)


def test_result_from_the_future_is_refused(brisca, source):
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()

    result = import_file(stream(line(played_at=tomorrow)), source=source, may_create_players=True)

    assert counts(result) == (0, 0, 0, 1)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_order_of_the_file_breaks_ties_of_dates(brisca, source, monkeypatch, batch):
    """Whether they come in one batch or not, and whatever stands between them."""
    monkeypatch.setattr(importing, "BATCH", batch)
    content = (
        line("d1", "p5", "p6", played_at="2026-06-08")
        + line("d2", "p3", "p17", played_at="2026-06-06")
        + line("d3", "p7", "p8", played_at="2026-06-05")
        + line("d4", "p9", "p17", played_at="2026-06-06")
    )

    import_file(stream(content), source=source, may_create_players=True)

    elo = {handle: rating["elo"] for handle, rating in ratings_of(brisca).items()}
    assert elo["p3"] == pytest.approx(1216.0000, abs=1e-4)
    assert elo["p9"] == pytest.approx(1215.2637, abs=1e-4)
    assert elo["p17"] == pytest.approx(1168.7363, abs=1e-4)
    assert history.verify(brisca).is_clean


def test_batches_come_to_the_same_as_one(brisca, source, monkeypatch):
    lines = [line(f"m{n}", f"p{n % 7}", f"p{(n + n % 3 + 1) % 7}") for n in range(50)]
    with transaction.atomic():
        import_file(stream("".join(lines)), source=source, may_create_players=True)
        at_once = ratings_of(brisca)
        transaction.set_rollback(True)
    monkeypatch.setattr(importing, "BATCH", 7)

    result = import_file(stream("".join(lines)), source=source, may_create_players=True)

    assert counts(result) == (50, 0, 0, 0)
    assert ratings_of(brisca) == at_once


def test_id_repeated_in_a_later_batch_is_found(brisca, source, monkeypatch):
    monkeypatch.setattr(importing, "BATCH", 2)
    content = line("m1") + line("m2") + line("m1") + line("m2", "pepa_4", "ana")

    result = import_file(stream(content), source=source, may_create_players=True)

    assert counts(result) == (2, 1, 1, 0)
    assert [problem.line for problem in result.problems] == [4]


class Crash(Exception):
    pass


@pytest.mark.parametrize(
    ("where", "step"),
    [
        (Staged, "add_matches"),
        (StagedMatches, "insert"),
        (Staged, "add"),
        (ledger, "lock_games"),
        (recording, "create_players"),
        (Staged, "write"),
        (ledger, "write_ratings"),
        (ledger, "announce"),
    ],
)
def test_crash_at_any_step_leaves_nothing_and_it_can_run_again(
    brisca, source, monkeypatch, where, step
):
    monkeypatch.setattr(importing, "BATCH", 2)
    # The file comes after what is there, or before, as it has to for the step to come.
    is_late = step == "add"
    at = PLAYED_AT + (timedelta(minutes=15) if is_late else -timedelta(days=1))
    record(duel("ana", "pepa_4", at), source=make_source("mesa-2"))
    content = line("m1") + line("m2", winner="nueva") + line("m3")
    rows, before = count_rows(), everything_of(brisca)
    real, calls = getattr(where, step), []

    def crash_at_last(*args, **kwargs):
        """The first batch goes well, where there are several."""
        calls.append(step)
        if where is Staged and step == "add_matches" and len(calls) == 1:
            return real(*args, **kwargs)
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(where, step, crash_at_last)
        with pytest.raises(Crash), transaction.atomic():
            import_file(stream(content), source=source, may_create_players=True)

    assert (count_rows(), everything_of(brisca)) == (rows, before)
    assert import_file(stream(content), source=source, may_create_players=True).new == 3
    assert history.verify(brisca).differences == []


def test_unreadable_file_stores_nothing_and_takes_no_batch(brisca, source):
    rows = count_rows()

    with pytest.raises(UnreadableFile):
        import_file(stream(b"%PDF-1.7"), source=source, may_create_players=True)

    assert count_rows() == rows


def test_problems_kept_are_bounded_but_all_are_counted(brisca, source):
    content = "{\n" * (MOST_PROBLEMS + 5)

    result = import_file(stream(content), source=source, may_create_players=True)

    assert (len(result.problems), result.problem_count) == (MOST_PROBLEMS, MOST_PROBLEMS + 5)
    assert result.refused == MOST_PROBLEMS + 5


def test_progress_ends_with_the_whole_file(brisca, source, monkeypatch):
    monkeypatch.setattr(importing, "BATCH", 2)
    content = "".join(line(f"m{n}") for n in range(5))
    seen = []

    import_file(
        stream(content),
        source=source,
        may_create_players=True,
        progress=lambda done, total: seen.append((done, total)),
    )

    assert seen == [(2 / 5, 3), (4 / 5, 3), (3, 3)]


def test_progress_tells_of_the_rating_too(brisca, source, monkeypatch):
    monkeypatch.setattr(jobs, "MATCHES_BETWEEN_CALLS", 2)
    later = PLAYED_AT + timedelta(minutes=15)
    record(duel("ana", "pepa_4", later), source=make_source("mesa-2"))
    content = "".join(line(f"m{n}") for n in range(4))
    seen = []

    import_file(
        stream(content),
        source=source,
        may_create_players=True,
        progress=lambda done, total: seen.append((done, total)),
    )

    assert seen == [(1 + 2 / 4, 3), (2, 3), (3, 3)]


def test_memory_does_not_grow_with_the_file():
    """Ten times the lines, the same memory: read once by itself, without the database."""

    def peak(count):
        content = stream("".join(line(f"m{n:07}") for n in range(count)))
        tracemalloc.start()
        for _reading in read_reports(Lines(content)):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak(10)  # what is made once: patterns, caches

    assert peak(5_000) < peak(500) + 50_000


@pytest.mark.parametrize("place", ["appended", "late"])
def test_import_of_very_many_tells_the_planner_so(brisca, source, monkeypatch, place):
    """Tables that were emptied count as empty: a replay would read one of them for each row."""
    monkeypatch.setattr(staging, "VERY_MANY_MATCHES", 12)
    if place == "late":
        record(duel("ana", "pepa_4", PLAYED_AT), source=make_source("mesa-2"))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ratings_match, ratings_participation")
        known = planned_rows(cursor)

        import_file(stream("".join(in_any_order(12))), source=source, may_create_players=True)

        assert planned_rows(cursor) == (known[0] + 12, known[1] + 24)


def planned_rows(cursor) -> tuple[int, int]:
    """How many rows the planner takes the matches and the ledger to have."""
    cursor.execute(
        "SELECT reltuples FROM pg_class WHERE relname IN ('ratings_match', 'ratings_participation')"
        " ORDER BY relname"
    )
    return tuple(int(count) for (count,) in cursor.fetchall())


# Among other writers


def in_any_order(count: int) -> list[str]:
    """Lines of matches a minute apart, of six players and of two games."""
    return [
        line(
            f"m{n}",
            winner=f"p{n % 5}",
            loser=f"p{(n * 3 + 1) % 6}" if (n * 3 + 1) % 6 != n % 5 else "p9",
            played_at=f"2026-07-06T{n // 60:02}:{n % 60:02}:00Z",
            game="tute" if n % 4 == 0 else "brisca",
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("in_memory", [0, 3, 100])
@pytest.mark.parametrize("block", [1, 7, 1_000])
@pytest.mark.parametrize("order", ["oldest first", "newest first", "any"])
def test_order_of_a_file_comes_to_the_same_as_the_order_of_history(
    brisca, source, monkeypatch, order, block, in_memory
):
    """By runs of the spool that overlap and runs that do not, and blocks of every size."""
    monkeypatch.setattr(importing, "BATCH", 10)
    monkeypatch.setattr(staging, "BLOCK", block)
    monkeypatch.setattr(staging, "BLOCKS_IN_MEMORY", in_memory)
    monkeypatch.setattr(staging, "ROWS_AT_A_TIME", 8)
    lines = in_any_order(60)
    with undone():
        import_file(stream("".join(lines)), source=source, may_create_players=True)
        expected = [ratings_of(game) for game in Game.objects.all()]
    if order == "newest first":
        lines.reverse()
    elif order == "any":
        random.Random(5).shuffle(lines)

    result = import_file(stream("".join(lines)), source=source, may_create_players=True)

    assert counts(result) == (60, 0, 0, 0)
    assert [ratings_of(game) for game in Game.objects.all()] == expected
    for game in Game.objects.all():
        assert history.verify(game).differences == []


def test_late_file_rates_what_comes_after_again(brisca, source):
    lines = in_any_order(60)
    with undone():
        import_file(stream("".join(lines)), source=source, may_create_players=True)
        expected = [ratings_of(game) for game in Game.objects.all()]
    import_file(stream("".join(lines[30:])), source=source, may_create_players=True)

    import_file(stream("".join(lines[:30])), source=source, may_create_players=True)

    assert [ratings_of(game) for game in Game.objects.all()] == expected
    for game in Game.objects.all():
        assert history.verify(game).differences == []


@pytest.fixture
def meanwhile(monkeypatch):
    """What others do once, in their own connection, before a step of an import."""

    def do(what, step=(ledger, "lock_games")):
        real, jobs = getattr(*step), [what]

        def do_and_go_on(*args, **kwargs):
            if jobs:
                elsewhere(jobs.pop())
            return real(*args, **kwargs)

        monkeypatch.setattr(*step, do_and_go_on)
        return jobs

    return do


IN_ITS_PLACE = {"appended": timedelta(days=-2), "late": timedelta(minutes=20)}
"""When a match was played that is there before the file, so that the file comes after it or not."""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("file", IN_ITS_PLACE)
def test_reports_are_recorded_while_a_file_is_imported_and_count_too(meanwhile, file):
    """One after all of the file, one amid the file's matches and after all that was stored."""
    brisca, source = open_game("brisca"), make_source()
    begin = datetime(2026, 7, 6, tzinfo=UTC)
    record(duel("p1", "p2", begin + IN_ITS_PLACE[file]), source=source)
    lines = in_any_order(60)
    amid = begin + timedelta(minutes=30, seconds=30)
    answered = []
    jobs = meanwhile(
        lambda: answered.extend(
            record_matches(
                [duel("p1", "nueva", amid), duel("p2", "p1", amid + timedelta(days=1))],
                source=source,
                may_wait=True,
            )
        )
    )

    result = import_file(stream("".join(lines)), source=source, may_create_players=True)

    assert jobs == []
    assert [receipt.answer for receipt in answered] == ["recorded"] * 2
    assert counts(result) == (60, 0, 0, 0)
    assert history.verify(brisca).differences == []
    assert Match.objects.filter(game=brisca, status="rated").count() == 45 + 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("file", IN_ITS_PLACE)
@pytest.mark.parametrize(
    "what",
    [
        "the same match",
        "another match of that id",
        "a new player of the file",
        "a void",
    ],
)
def test_import_that_is_overtaken_begins_again(meanwhile, what, file):
    brisca, source = open_game("brisca"), make_source()
    begin = datetime(2026, 7, 6, tzinfo=UTC)
    record(duel("p1", "p2", begin + IN_ITS_PLACE[file], external_id="old"), source=source)
    lines = in_any_order(9)
    same = next(iter(reports_in(lines[1])))
    old = Match.objects.get(external_id="old")
    deeds = {
        "the same match": lambda: record_matches([same], source=source),
        "another match of that id": lambda: record_matches(
            [duel("p1", "p2", PLAYED_AT, external_id="m1")], source=source
        ),
        "a new player of the file": lambda: record_matches(
            [duel("p3", "p2", PLAYED_AT + timedelta(days=3))], source=source
        ),
        "a void": lambda: history.void_matches([old.pk], by=None, reason="mistake"),
    }
    # Of appended ones the rows are there before the lock is, and others would wait for them.
    is_first = file == "appended" and what != "a void"
    step = (StagedMatches, "insert") if is_first else (ledger, "lock_games")
    jobs = meanwhile(deeds[what], step)

    result = import_file(
        stream("".join(lines)), source=source, may_create_players=True, keep_going=True
    )

    assert jobs == []
    assert counts(result) == {
        "the same match": (8, 1, 0, 0),
        "another match of that id": (8, 0, 1, 0),
    }.get(what, (9, 0, 0, 0))
    assert history.verify(brisca).differences == []
    assert Player.objects.filter(handle="p3").count() == 1


@pytest.mark.django_db(transaction=True)
def test_no_game_is_locked_while_a_file_is_read_and_rated(monkeypatch):
    source, free = make_source(), []

    def look():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM (SELECT 1 FROM ratings_gamestate"
                " FOR UPDATE SKIP LOCKED) AS free"
            )
            free.append(cursor.fetchone()[0])

    for where, step in (
        (Staged, "add_matches"),
        (StagedMatches, "insert"),
        (Staged, "add"),
        (Staged, "write"),
    ):
        real = getattr(where, step)

        def look_and_do(*args, real=real, **kwargs):
            elsewhere(look)
            return real(*args, **kwargs)

        monkeypatch.setattr(where, step, look_and_do)

    import_file(stream(line("m2")), source=source, may_create_players=True)
    appended, free = free, []
    early = line("m1", played_at="2026-07-05T19:30:00Z")
    import_file(stream(early), source=source, may_create_players=True)
    late = free

    games = Game.objects.count()
    assert appended == [games, games, games - 1]  # read, rated, written
    assert late == [games, games, games - 1]
