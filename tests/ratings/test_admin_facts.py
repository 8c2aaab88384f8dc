"""The page of the admin that corrects the facts of one match: filled in, previewed, confirmed."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone, translation

from ratings import history, tasks
from ratings.models import (
    CorrectedMatch,
    Correction,
    CorrectionReason,
    Game,
    Job,
    Match,
    Participation,
    Player,
    Source,
    User,
)
from ratings.roster import anonymise_player, rename_player
from tests.ratings.builders import (
    count_rows,
    draw,
    duel,
    make_report,
    make_source,
    open_game,
    record,
    rows_of,
    team,
    today,
)

pytestmark = pytest.mark.django_db


class FormReader(HTMLParser):
    """What a browser would send of each form on a page, buttons aside."""

    def __init__(self):
        super().__init__()
        self.forms = []
        self.select = self.textarea = None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        name = attrs.get("name")
        if tag == "form":
            self.forms.append({})
        elif tag == "input" and name and self.forms:
            kind = attrs.get("type", "text")
            if kind == "submit" or (kind == "checkbox" and "checked" not in attrs):
                return
            self.forms[-1][name] = attrs.get("value", "on" if kind == "checkbox" else "")
        elif tag == "select" and self.forms:
            self.select = name
        elif tag == "option" and self.select:
            if "selected" in attrs or self.select not in self.forms[-1]:
                self.forms[-1][self.select] = attrs.get("value", "")
        elif tag == "textarea":
            self.textarea = name
            self.forms[-1][name] = ""

    def handle_endtag(self, tag):
        if tag == "select":
            self.select = None
        elif tag == "textarea":
            self.textarea = None

    def handle_data(self, data):
        if self.textarea:
            # HTML drops a line end right after the tag.
            self.forms[-1][self.textarea] += data.removeprefix("\n").removeprefix("\r\n")


def fields_of(page):
    """The fields of the page's own form, as a browser would send them."""
    reader = FormReader()
    reader.feed(page.text)
    [fields] = [form for form in reader.forms if "players-TOTAL_FORMS" in form]
    return fields


def number(external_id):
    return Match.objects.get(external_id=external_id).pk


def address(external_id="m1", page="facts"):
    with translation.override("en"):  # another language may still be on from the request before
        return reverse(f"admin:ratings_match_{page}", args=[number(external_id)])


def match_page(external_id="m1"):
    return address(external_id, "change")


def fill(client, changes, external_id="m1", *, at="", button="_preview"):
    """The answer to the match's form with some of its fields changed."""
    where = at + address(external_id)
    return client.post(where, fields_of(client.get(where)) | changes | {button: "x"})


def confirm(client, page, **changes):
    """The answer to the page of confirmation."""
    fields = {"reason": "wrong_result", "note": ""} | {
        name: value for name, value in fields_of(page).items() if name not in ("reason", "note")
    }
    return client.post(page.request["PATH_INFO"], fields | changes | {"_confirm": "x"})


def row(index, **fields):
    return {f"players-{index}-{name}": value for name, value in fields.items()}


def errors_of(page):
    """What is wrong, by field; rows by number."""
    found = {name: list(errors) for name, errors in page.context["facts"].errors.items()}
    for index, form in enumerate(page.context["players"].forms):
        found |= {f"{index}-{name}": list(problems) for name, problems in form.errors.items()}
    if problems := page.context["players"].non_form_errors():
        found["players"] = list(problems)
    return found


def messages_of(client):
    return [str(message) for message in client.get(match_page()).context["messages"]]


def words(page):
    return " ".join(page.text.split())


def facts(external_id):
    """A match as the ledger has it: time, end, and each player's team, place and points."""
    match = Match.objects.get(external_id=external_id)
    parts = Participation.objects.filter(match=match).values_list(
        "player__handle", "team", "place", "points"
    )
    return (
        match.played_at,
        match.termination,
        {handle: (team, place, points) for handle, team, place, points in parts},
    )


@pytest.fixture
def source():
    return make_source()


@pytest.fixture
def brisca(source):
    """Three matches; rita and tomás have played only m0."""
    game = open_game()
    record(
        duel("rita", "tomás", today(0, 30), external_id="m0"),
        make_report(
            [team("ana", place=1, points="71"), team("pepa_4", place=2, points="49")],
            at=today(1) + timedelta(microseconds=123456),
            external_id="m1",
        ),
        make_report(
            [team("ana", "lola", place=1), team("pepa_4", "rita", place=2)],
            at=today(2),
            external_id="m2",
        ),
        draw("pepa_4", "lola", today(3), external_id="m3"),
        source=source,
    )
    return game


def staff_with(*codenames):
    user = User.objects.create_user("mesa-tercera", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return user


# The way to the page


def test_page_of_a_match_leads_to_its_correction(admin_client, brisca):
    page = admin_client.get(match_page())

    assert f'<a href="{address()}">Correct this match …</a>' in page.text


def test_match_that_waits_does_not_lead_there(admin_client, brisca):
    Match.objects.filter(external_id="m3").update(status="waiting")

    page = admin_client.get(match_page("m3"))

    assert page.status_code == 200
    assert address("m3") not in page.text


def test_page_does_not_lead_those_there_who_may_only_look(client, brisca):
    client.force_login(staff_with("view_match"))

    page = client.get(match_page())

    assert page.status_code == 200
    assert address() not in page.text


@pytest.mark.parametrize("codenames", [["view_match"], ["add_correction"]])
def test_staff_without_both_permissions_are_refused(client, admin_client, brisca, codenames):
    seen = fill(admin_client, {"termination": "friendly"})
    before = rows_of(brisca)
    client.force_login(staff_with(*codenames))

    assert client.get(address()).status_code == 403
    assert client.post(address(), fields_of(seen) | {"_preview": "x"}).status_code == 403
    assert confirm(client, seen).status_code == 403
    assert rows_of(brisca) == before


def test_staff_with_both_permissions_correct_a_match(client, brisca):
    client.force_login(staff_with("view_match", "add_correction"))

    answer = confirm(client, fill(client, {"termination": "friendly"}))

    assert (answer.status_code, answer.url) == (302, match_page())
    assert facts("m1")[1] == "friendly"


def test_others_are_sent_to_sign_in(client, brisca):
    answer = client.get(address())

    assert answer.status_code == 302
    assert answer.url.startswith("/admin/login/")


@pytest.mark.parametrize("unknown", ["999999", "9" * 30])
def test_match_that_is_not_there_is_not_found(admin_client, brisca, unknown):
    assert admin_client.get(f"/admin/ratings/match/{unknown}/correct/").status_code == 404


# The form


def test_form_says_what_the_match_says(admin_client, brisca):
    fields = fields_of(admin_client.get(address()))

    del fields["csrfmiddlewaretoken"]
    assert fields == {
        "played_at": "2026-07-06 01:00:00.123456",
        "termination": "normal",
        "players-TOTAL_FORMS": "4",
        "players-INITIAL_FORMS": "2",
        "players-MIN_NUM_FORMS": "0",
        "players-MAX_NUM_FORMS": "4",
        **row(0, handle="ana", team="1", place="1", points="71"),
        **row(1, handle="pepa_4", team="2", place="2", points="49"),
        **row(2, handle="", team="", place="", points=""),
        **row(3, handle="", team="", place="", points=""),
    }


def test_points_stand_in_the_form_as_the_language_writes_them(admin_client, source):
    open_game("siete-y-media")
    record(
        make_report(
            [team("ana", place=1, points="1234.50"), team("lola", place=2, points="-0.25")],
            external_id="m1",
            game="siete-y-media",
        ),
        source=source,
    )

    spanish = fields_of(admin_client.get("/es" + address()))
    english = fields_of(admin_client.get(address()))

    assert [spanish[f"players-{index}-points"] for index in (0, 1)] == ["1234,5", "-0,25"]
    assert [english[f"players-{index}-points"] for index in (0, 1)] == ["1234.5", "-0.25"]
    for prefix in ("", "/es"):
        assert "_confirm" not in fill(admin_client, {}, at=prefix).text


def test_players_of_the_matches_around_are_suggested(admin_client, brisca, source):
    open_game("tute")
    record(duel("only-tute", "ana", today(1), game="tute"), source=source)
    anonymise_player(player=Player.objects.get(handle="tomás"))

    page = admin_client.get(address())

    assert [player.handle for player in page.context["suggestions"]] == [
        "ana",
        "lola",
        "pepa_4",
        "rita",
    ]
    assert '<option value="lola">' in page.text


def test_names_are_shown_as_text(admin_client, brisca):
    bad = '"><script>'
    Player.objects.filter(handle__in=["ana", "lola"]).update(name=bad)
    Player.objects.filter(handle="ana").update(handle=bad)

    filled = admin_client.get(address())
    seen = admin_client.post(address(), fields_of(filled) | {"players-0-handle": "pepa_4"})
    shown = fill(admin_client, {"termination": "friendly", **row(0, points="70")})

    for page in (filled, seen, shown):
        assert page.status_code == 200
        assert "><script>" not in page.text.replace("&gt;<script", "")
    assert "&quot;&gt;&lt;script&gt;" in filled.text


# What is shown before, and done then

CHANGES = {
    "time": {"played_at": "2026-07-06 02:30:00"},
    "time before all": {"played_at": "2026-07-05 23:00:00.5"},
    "termination": {"termination": "friendly"},
    "places": row(0, place="2") | row(1, place="1"),
    "a draw": row(1, place="1"),
    "points": row(0, points="70.5") | row(1, points=""),
    "a player": row(1, handle="tomás"),
    "one more player": row(2, handle="rita", team="3", place="3", points="0"),
    "one more, one less": row(0, DELETE="on") | row(2, handle="rita", team="9", place="7"),
    "pairs": row(0, team="5")
    | row(1, team="6")
    | row(2, handle="rita", team="5", place="1", points="71")
    | row(3, handle="lola", team="6", place="2", points="49"),
    "everything": {"played_at": "2026-07-06 03:30:00", "termination": "abandoned"}
    | row(0, handle="lola", place="3", points="1")
    | row(1, DELETE="on")
    | row(3, handle="tomás", team="2", place="1"),
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_each_fact_is_corrected_and_corrected_back_to_the_same_bytes(
    admin_client, admin_user, brisca, changes
):
    before, as_it_was = rows_of(brisca), fields_of(admin_client.get(address()))
    counted = count_rows()

    seen = fill(admin_client, changes)

    assert seen.status_code == 200
    assert (rows_of(brisca), count_rows()) == (before, counted)

    answer = confirm(admin_client, seen, note="heard at the table")

    assert (answer.status_code, answer.url) == (302, match_page())
    assert rows_of(brisca) != before
    assert history.verify(brisca).is_clean
    made = Correction.objects.get()
    assert (made.kind, made.reason, made.note, made.made_by) == (
        "correct",
        "wrong_result",
        "heard at the table",
        admin_user,
    )
    assert messages_of(admin_client) == [f"Done: 1 match changed, and {made.rerated} rated again."]

    # Rows that were empty before are emptied again; those that were there are filled in.
    now = fields_of(admin_client.get(address()))
    back = {name: "" for name in now if name.startswith("players-") and name not in as_it_was}
    extra = {
        f"players-{index}-DELETE": "on"
        for index in range(int(now["players-INITIAL_FORMS"]))
        if not as_it_was.get(f"players-{index}-handle")
    }
    again = fill(admin_client, back | only_facts(as_it_was) | extra)
    assert confirm(admin_client, again, reason="mistake").status_code == 302

    assert rows_of(brisca) == before
    assert history.verify(brisca).is_clean


def only_facts(fields):
    return {name: value for name, value in fields.items() if "_FORMS" not in name}


def test_facts_are_written_as_they_were_filled_in(admin_client, brisca):
    confirm(admin_client, fill(admin_client, CHANGES["everything"]))

    assert facts("m1") == (
        today(3, 30),
        "abandoned",
        {"lola": (1, 3, Decimal(1)), "tomás": (2, 1, None)},
    )


def test_preview_shows_what_changes_of_the_match_and_of_the_ratings(admin_client, brisca):
    changes = {"played_at": "2026-07-06 02:30", "termination": "abandoned"} | row(
        1, handle="TOMÁS", points="48,50"
    )

    page = fill(admin_client, changes)

    text = words(page)
    assert "Correct this match" in text
    assert (
        '<th scope="row">Played at</th> '
        "<td>2026-07-06 01:00:00.123456 UTC</td> <td>2026-07-06 02:30:00 UTC</td>"
    ) in text
    assert (
        '<th scope="row">Termination</th> <td>played to the end</td> <td>abandoned by a player</td>'
    ) in text
    assert (
        '<th scope="row"><bdi>pepa_4</bdi></th> '
        "<td> place 2, points: 49 </td> <td> not in the match </td>"
    ) in text
    assert (
        '<th scope="row"><bdi>tomás</bdi></th> '
        "<td> not in the match </td> <td> place 2, points: 48.5 </td>"
    ) in text
    assert '<th scope="row"><bdi>ana</bdi></th> <td> place 1' not in text
    assert "1 match changes. 2 others are rated again. 5 players are affected." in text
    assert "Who moves most, by Elo" in text
    assert "The first ten by Elo" in text


def test_preview_names_those_who_play_together(admin_client, brisca):
    page = fill(admin_client, row(1, handle="tomás"), "m2")

    text = words(page)
    assert "<td> place 1, with <bdi>lola</bdi> </td> <td> place 1, with <bdi>tomás</bdi> </td>" in (
        text
    )
    assert "<td> place 1, with <bdi>ana</bdi> </td> <td> not in the match </td>" in text
    assert "<bdi>rita</bdi></th> <td> place 2" not in text


def test_page_of_the_correction_tells_the_facts_in_words(admin_client, brisca):
    confirm(admin_client, fill(admin_client, {"termination": "friendly", **row(0, points="7")}))
    made = Correction.objects.get()

    shown = words(admin_client.get(reverse("admin:ratings_correction_change", args=[made.pk])))

    assert "<li>Status: rated → not rated</li>" in shown
    assert "<li>Termination: played to the end → friendly</li>" in shown
    assert "<bdi>ana</bdi>: place 1, points: 71 → place 1, points: 7 </li>" in shown
    assert "<bdi>pepa_4</bdi>" not in shown


def test_void_match_is_corrected_and_stays_void(admin_client, brisca):
    history.void_matches([number("m1")], by=None, reason=CorrectionReason.FORGED)

    answer = confirm(admin_client, fill(admin_client, row(0, place="2") | row(1, place="1")))

    assert answer.status_code == 302
    assert Match.objects.get(external_id="m1").status == "void"
    assert facts("m1")[2]["pepa_4"] == (2, 1, Decimal(49))
    assert history.verify(brisca).is_clean


def test_match_keeps_its_players_where_the_game_would_not_allow_them_today(admin_client, brisca):
    Game.objects.filter(pk=brisca.pk).update(max_players=2, shapes=["solo"])

    refused = fill(admin_client, row(0, handle="tomás"), "m2")
    answer = confirm(admin_client, fill(admin_client, {"played_at": "2026-07-06 03:30"}, "m2"))

    assert list(errors_of(refused)) == ["__all__"]
    assert answer.status_code == 302
    assert facts("m2")[0] == today(3, 30)
    assert len(facts("m2")[2]) == 4


def test_correction_that_moves_a_match_far_back_is_left_to_a_worker(
    admin_client, brisca, monkeypatch
):
    """Counted from where the match comes to stand, not from where it stands now."""
    sent = []
    monkeypatch.setattr(history, "MOST_RERATED", 2)
    monkeypatch.setattr(
        tasks.change_history, "apply_async", lambda args, **options: sent.append(args)
    )
    page = fill(admin_client, {"played_at": "2026-07-06 00:10"}, "m3")

    first, second = confirm(admin_client, page), confirm(admin_client, page)

    jobs = list(Job.objects.order_by("pk"))
    assert first.url == reverse("admin:ratings_job_change", args=[jobs[0].pk])
    assert second.status_code == 302
    assert sent == [[job.pk] for job in jobs]
    assert not Correction.objects.exists()

    for job in jobs:
        tasks.change_history(job.pk)

    assert Correction.objects.count() == 1
    assert facts("m3")[0] == today(0, 10)
    assert history.verify(brisca).is_clean


def test_match_of_one_who_was_anonymised_is_corrected_and_he_stays_in_it(admin_client, brisca):
    player = Player.objects.get(handle="pepa_4")
    anonymise_player(player=player)
    player.refresh_from_db()

    answer = confirm(admin_client, fill(admin_client, row(0, place="2") | row(1, place="1")))

    assert answer.status_code == 302
    assert facts("m1")[2] == {
        "ana": (1, 2, Decimal(71)),
        player.handle: (2, 1, Decimal(49)),
    }
    assert history.verify(brisca).is_clean


# How things may be written


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-07-06 02:30", today(2, 30)),
        ("2026-07-06T02:30:15", today(2, 30, 15)),
        (" 2026-07-06T02:30:15Z ", today(2, 30, 15)),
        ("2026-07-06 04:30:00+02:00", today(2, 30)),
        ("2026-07-06 02:30:00.000001", today(2, 30) + timedelta(microseconds=1)),
    ],
)
def test_time_is_of_utc_unless_it_says_otherwise(admin_client, brisca, text, moment):
    confirm(admin_client, fill(admin_client, {"played_at": text}))

    assert facts("m1")[0] == moment


@pytest.mark.parametrize(
    ("prefix", "text", "points"),
    [
        ("", "70.5", "70.5"),
        ("", "70,5", "70.5"),
        ("", "1,234", "1234"),
        ("/es", "70,5", "70.5"),
        ("/es", "70.5", "70.5"),
        ("/es", "1.234", "1234"),
        ("/eu", "\u221212,25", "-12.25"),
        ("", " 9,999,999.99 ", "9999999.99"),
        ("", "-0", "0"),
    ],
)
def test_points_are_read_as_people_write_them(admin_client, brisca, prefix, text, points):
    confirm(admin_client, fill(admin_client, row(0, points=text), at=prefix))

    assert facts("m1")[2]["ana"] == (1, 1, Decimal(points))


@pytest.mark.parametrize("handle", ["LOLA", " lola ", "\uff4cola", "lolita-98", "LOLITA-98"])
def test_player_is_found_in_any_spelling_and_by_a_former_handle(admin_client, brisca, handle):
    player = Player.objects.get(handle="lola")
    rename_player(player=player, handle="lolita-98")
    rename_player(player=player, handle="lola")

    confirm(admin_client, fill(admin_client, row(1, handle=handle)))

    assert facts("m1")[2]["lola"] == (2, 2, Decimal(49))


# What is refused


def moment_to_come():
    return f"{timezone.now().astimezone(UTC) + timedelta(hours=1):%Y-%m-%d %H:%M}"


REFUSED = {
    "no time": ({"played_at": " "}, {"played_at": "This field is required."}),
    "no such time": ({"played_at": "yesterday"}, {"played_at": "Unexpected “yesterday”: a date"}),
    "ambiguous date": ({"played_at": "01/02/2026 18:00"}, {"played_at": "such as 2026-11-29"}),
    "date alone": ({"played_at": "2026-07-06"}, {"played_at": "and a time are needed"}),
    "hour that is none": ({"played_at": "2026-07-06 25:00"}, {"played_at": "Unexpected"}),
    "too early": ({"played_at": "0999-12-31 00:00"}, {"played_at": "from the year 1000 on"}),
    "to come": ({"played_at": moment_to_come}, {"played_at": "UTC is still to come"}),
    "NUL in time": ({"played_at": "2026\0"}, {"played_at": "Unexpected “2026\\x00”"}),
    "no such end": ({"termination": "won"}, {"termination": "Select a valid choice."}),
    "no handle": (row(0, handle=""), {"0-handle": "Say who played, or take the row away."}),
    "result without a handle": (row(2, place="1"), {"2-handle": "Say who played", "2-team": ""}),
    "nobody": (row(0, handle="nobody-9"), {"0-handle": "Nobody is called “nobody-9”"}),
    "NUL in handle": (row(0, handle="an\0a"), {"0-handle": "Null characters"}),
    "long handle": (row(0, handle="x" * 241), {"0-handle": "at most 240"}),
    "twice": (row(1, handle="ANA"), {"1-handle": "ana stands in row 1 already"}),
    "no team": (row(0, team=""), {"0-team": "This field is required."}),
    "team 0": (row(0, team="0"), {"0-team": "Write a whole number from 1."}),
    "team in letters": (row(0, team="one"), {"0-team": "Write a whole number from 1."}),
    "no place": (row(0, place=""), {"0-place": "This field is required."}),
    "place 0": (row(0, place="0"), {"0-place": "Write a whole number from 1."}),
    "place below 0": (row(0, place="-1"), {"0-place": "Write a whole number from 1."}),
    "half a place": (row(0, place="1.5"), {"0-place": "Write a whole number from 1."}),
    "far place": (row(0, place="1000001"), {"0-place": "less than or equal to 1000000"}),
    "huge place": (row(0, place="9" * 5000), {"0-place": "Write a whole number from 1."}),
    "points in letters": (row(0, points="many"), {"0-points": 'Unexpected points "many"'}),
    "three decimals": (row(0, points="1.255"), {"0-points": "at most two decimals"}),
    "endless points": (row(0, points="1e5"), {"0-points": 'Unexpected points "1e5"'}),
    "too many points": (row(0, points="10000000"), {"0-points": "up to 9999999.99"}),
    "NaN": (row(0, points="NaN"), {"0-points": 'Unexpected points "NaN"'}),
    "a team of two places": (
        row(2, handle="rita", team="2", place="1", points="49"),
        {"2-place": "Team 2 has place 2 in row 2: it has only one."},
    ),
    "a team of other points": (
        row(2, handle="rita", team="2", place="2"),
        {"2-points": "Team 2 has other points in row 2: write the same."},
    ),
    "several at once": (
        {"played_at": "", **row(0, handle="nobody-9", place="0"), **row(1, points="x")},
        {"played_at": "", "0-handle": "", "0-place": "", "1-points": ""},
    ),
    "no shape of the game": (
        row(2, handle="rita", team="2", place="2", points="49"),
        {"__all__": "Unexpected teams of 1 v 2 players: brisca is played solo, 2v2."},
    ),
    "one team": (row(1, team="1", place="1", points="71"), {"__all__": "Unexpected teams of 2"}),
    "nobody left": (
        row(0, DELETE="on") | row(1, DELETE="on"),
        {"__all__": "Unexpected number of players, 0: brisca has 2 to 4."},
    ),
    "more rows than the game has players": (
        {"players-TOTAL_FORMS": "999"},
        {"players": "Please submit at most 4 forms."},
    ),
    "rows of no number": ({"players-TOTAL_FORMS": "x"}, {"players": "ManagementForm data"}),
}


@pytest.mark.parametrize(("changes", "problems"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_where_it_stands(admin_client, brisca, changes, problems):
    before, counted = rows_of(brisca), count_rows()
    changes = {name: text() if callable(text) else text for name, text in changes.items()}

    page = fill(admin_client, changes)

    assert page.status_code == 200
    found = errors_of(page)
    assert found.keys() == problems.keys()
    for field, problem in problems.items():
        assert problem in found[field][0]
    assert "Please correct the errors below." in page.text
    assert (rows_of(brisca), count_rows()) == (before, counted)
    kept = only_facts(fields_of(page))
    for name in changes.keys() & kept.keys() - {"termination"}:  # a list shows only what is on it
        assert kept[name] == changes[name]


def test_row_to_be_removed_need_not_be_right(admin_client, brisca):
    changes = row(0, DELETE="on", handle="nobody-9", place="x", points="x")
    changes |= row(2, handle="rita", team="1", place="1")

    refused = fill(admin_client, changes | {"played_at": ""})
    page = fill(admin_client, changes)

    assert list(errors_of(refused)) == ["played_at"]
    assert confirm(admin_client, page).status_code == 302
    assert facts("m1")[2].keys() == {"pepa_4", "rita"}


def test_field_that_is_wrong_is_tied_to_what_is_wrong_with_it(admin_client, brisca):
    page = fill(admin_client, {"played_at": "x", **row(1, place="0")})

    assert 'aria-describedby="id_played_at_helptext id_played_at_error"' in page.text
    assert '<ul class="errorlist" id="id_players-1-place_error">' in page.text
    assert 'aria-describedby="id_players-1-place_error"' in page.text


def test_match_that_waits_is_refused(admin_client, brisca):
    Match.objects.filter(external_id="m3").update(status="waiting")
    before = rows_of(brisca)

    page = fill(admin_client, {"termination": "friendly"}, "m3")

    assert "still waits for its place in history" in errors_of(page)["__all__"][0]
    assert rows_of(brisca) == before


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"played_at": "2026-07-06T03:00:00.123456+02:00"},
        row(0, handle="ANA", points="71,00"),
        row(0, team="7") | row(1, team="4"),
        row(0, handle="pepa_4", place="2", points="49")
        | row(1, handle="ana", place="1", points="71"),
    ],
    ids=["as it was", "another clock", "another spelling", "other numbers", "other order"],
)
def test_nothing_changed_says_so(admin_client, brisca, changes):
    page = fill(admin_client, changes)

    assert page.status_code == 200
    assert [str(message) for message in page.context["messages"]] == [
        "The match says so already: nothing to change."
    ]
    assert "_preview" in page.text
    assert "_confirm" not in page.text


# What is confirmed is what was seen


def test_history_that_moved_on_is_shown_anew_and_confirmed_again(admin_client, brisca, source):
    page = fill(admin_client, row(0, place="2") | row(1, place="1"))
    record(duel("ana", "newcomer", today(4)), source=source)

    again = confirm(admin_client, page, note="a long note")

    assert again.status_code == 200
    assert "History moved on since you looked." in again.text
    assert "3 others are rated again." in again.text
    assert fields_of(again)["note"] == "a long note"
    assert fields_of(again)["reason"] == "wrong_result"
    assert facts("m1")[2]["ana"] == (1, 1, Decimal(71))

    done = confirm(admin_client, again)

    assert done.status_code == 302
    assert facts("m1")[2]["ana"] == (1, 2, Decimal(71))
    assert history.verify(brisca).is_clean


def test_confirming_without_a_reason_asks_for_one(admin_client, brisca):
    page = fill(admin_client, {"termination": "friendly"})

    again = confirm(admin_client, page, reason="", note="why not")

    assert again.status_code == 200
    assert list(again.context["form"].errors) == ["reason"]
    assert "History moved on" not in again.text
    assert fields_of(again)["note"] == "why not"
    assert not Correction.objects.exists()
    assert confirm(admin_client, again).status_code == 302
    assert facts("m1")[1] == "friendly"


TAMPERED = {
    "place": row(0, place="3"),
    "points": row(1, points="120"),
    "player": row(1, handle="lola"),
    "removed": row(2, handle="lola", team="3", place="3"),
    "time": {"played_at": "2026-07-06 00:00:01"},
    "termination": {"termination": "cancelled"},
    "seal": {"seal": "0" * 64},
    "no seal": {"seal": ""},
    "seal of other letters": {"seal": "ñ"},
    "version": {"versions": "brisca 99"},
    "unreadable versions": {"versions": "brisca"},
    "versions of another game": {"versions": "tute 3"},
    "no versions": {"versions": ""},
    "reason": {"reason": "because"},
    "long note": {"note": "x" * 2001},
    "NUL": {"note": "\0"},
    "facts that are wrong": row(0, place="0"),
    "against the rules": row(0, team="2", place="2", points="49"),
    "nothing left": {"players-TOTAL_FORMS": "", "players-INITIAL_FORMS": ""},
}


@pytest.mark.parametrize("changes", TAMPERED.values(), ids=TAMPERED)
def test_form_that_was_tampered_with_changes_nothing(admin_client, brisca, changes):
    page = fill(admin_client, {"termination": "friendly"})
    before, counted = rows_of(brisca), count_rows()

    answer = confirm(admin_client, page, **changes)

    assert answer.status_code == 200
    assert (rows_of(brisca), count_rows()) == (before, counted)


def test_facts_that_were_tampered_with_are_shown_before_they_are_done(admin_client, brisca):
    page = fill(admin_client, {"termination": "friendly"})

    again = confirm(admin_client, page, **row(0, place="3"))

    assert "<td> place 1, points: 71 </td> <td> place 3, points: 71 </td>" in words(again)
    assert facts("m1")[1] == "normal"
    assert confirm(admin_client, again).status_code == 302
    assert facts("m1")[1:] == (
        "friendly",
        {"ana": (1, 3, Decimal(71)), "pepa_4": (2, 2, Decimal(49))},
    )


def test_seal_of_one_match_is_not_that_of_another(admin_client, brisca):
    changes = {"played_at": "2026-07-06 00:10", "termination": "friendly"}

    seen = {
        external_id: fields_of(fill(admin_client, changes, external_id))
        for external_id in ("m0", "m3")
    }

    assert seen["m0"]["seal"] != seen["m3"]["seal"]


def test_repeated_confirmation_does_nothing_twice(admin_client, brisca):
    page = fill(admin_client, row(0, place="2") | row(1, place="1"))
    confirm(admin_client, page)
    once, counted = rows_of(brisca), count_rows()

    answer = confirm(admin_client, page)

    assert (answer.status_code, answer.url) == (302, match_page())
    assert (rows_of(brisca), count_rows()) == (once, counted)
    assert Correction.objects.count() == CorrectedMatch.objects.count() == 1
    assert messages_of(admin_client) == [
        "Done: 1 match changed, and 2 rated again.",
        "The match says so already: nothing to change.",
    ]


def test_rule_that_changes_after_the_preview_refuses_the_correction(admin_client, brisca):
    page = fill(admin_client, row(2, handle="rita", team="3", place="3"))
    Game.objects.filter(pk=brisca.pk).update(max_players=2)
    before = rows_of(brisca)

    answer = confirm(admin_client, page)

    assert answer.status_code == 200
    assert rows_of(brisca) == before
    assert not Correction.objects.exists()
    assert "at most 2" in errors_of(answer)["players"][0]


def test_rule_of_shapes_that_changes_after_the_preview_does_so_too(admin_client, brisca):
    page = fill(admin_client, CHANGES["pairs"])
    Game.objects.filter(pk=brisca.pk).update(shapes=["solo"])
    before = rows_of(brisca)

    answer = confirm(admin_client, page)

    assert answer.status_code == 200
    assert errors_of(answer) == {
        "__all__": ["Unexpected teams of 2 v 2 players: brisca is played solo."]
    }
    assert rows_of(brisca) == before


def test_back_to_the_facts_keeps_what_was_written(admin_client, brisca):
    changes = {"played_at": "2026-07-06T02:30", **row(0, points="70,5"), **row(1, DELETE="on")}
    changes |= row(2, handle="LOLA", team="4", place="2")
    page = fill(admin_client, changes)

    back = admin_client.post(address(), fields_of(page) | {"_edit": "x"})

    assert back.status_code == 200
    assert errors_of(back) == {}
    shown = fields_of(back)
    assert {name: shown[name] for name in changes} == changes
    assert not Correction.objects.exists()
    again = admin_client.post(address(), shown | {"_preview": "x"})
    assert confirm(admin_client, again).status_code == 302
    assert facts("m1") == (
        today(2, 30),
        "normal",
        {"ana": (1, 1, Decimal("70.5")), "lola": (2, 2, None)},
    )


# What it costs, and in which language


def test_pages_cost_the_same_for_two_players_and_for_ten(
    admin_client, source, django_assert_max_num_queries
):
    open_game("siete-y-media")
    for count, external_id in ((2, "two"), (10, "ten")):
        record(
            make_report(
                [team(f"p{number}", place=number) for number in range(1, count + 1)],
                external_id=external_id,
                game="siete-y-media",
            ),
            source=source,
        )
    admin_client.get(address("two"))

    queries = {}
    for external_id in ("two", "ten"):
        with django_assert_max_num_queries(12) as facts_page:
            filled = admin_client.get(address(external_id))
        fields = fields_of(filled) | row(0, place="2") | row(1, place="1") | {"_preview": "x"}
        with django_assert_max_num_queries(30) as seen_page:
            seen = admin_client.post(address(external_id), fields)
        assert "_confirm" in seen.text
        queries[external_id] = (len(facts_page), len(seen_page))

    assert queries["two"] == queries["ten"]


def test_every_page_stands_in_spanish_too(admin_client, brisca):
    filled = admin_client.get("/es" + address())
    seen = fill(admin_client, {"played_at": "2026-07-06 02:30"}, at="/es")
    refused = fill(admin_client, row(0, handle="nadie-9"), at="/es")

    assert "Corregir esta partida" in filled.text
    assert "Qué cambia de la partida" in seen.text
    assert "Nadie se llama" in refused.text
    assert "2026-07-06 02:30:00 UTC" in seen.text


def test_whole_numbers_in_fields_have_no_separators(admin_client, brisca):
    Participation.objects.filter(match=number("m1"), place=2).update(place=12345)

    for prefix in ("", "/es"):
        assert fields_of(admin_client.get(prefix + address()))["players-1-place"] == "12345"


def test_time_that_is_shown_is_of_utc_whatever_the_clock_of_the_site(admin_client, brisca):
    with timezone.override("Pacific/Auckland"):
        fields = fields_of(admin_client.get(address()))

    assert datetime.fromisoformat(fields["played_at"] + "+00:00") == facts("m1")[0]


def test_source_of_a_match_is_not_asked(admin_client, brisca):
    fields = fields_of(admin_client.get(address()))

    posted = fields | {"source": "9", "external_id": "other", "status": "void", "_preview": "x"}
    page = admin_client.post(address(), posted)

    assert "nothing to change" in page.text
    assert Source.objects.count() == 1
