"""The admin where it changes history and players: previewed, confirmed, and for good."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.urls import reverse

from ratings import history
from ratings.admin import correcting
from ratings.admin import player as player_admin
from ratings.models import (
    Bot,
    Correction,
    CorrectionReason,
    FormerHandle,
    Game,
    GameState,
    Match,
    Player,
    PlayerAlias,
    Rating,
    Source,
    User,
    VerifyRun,
)
from ratings.roster import anonymise_player, rename_player
from tests.ratings.builders import (
    count_rows,
    draw,
    duel,
    everything_of,
    make_source,
    open_game,
    record,
    today,
)

pytestmark = pytest.mark.django_db

INLINES = {
    f"{prefix}-{field}_FORMS": "0"
    for prefix in ("ratings", "aliases", "former_handles")
    for field in ("TOTAL", "INITIAL")
}


def url(model, page, *args):
    return reverse(f"admin:ratings_{model._meta.model_name}_{page}", args=args)


@pytest.fixture
def brisca():
    game = open_game()
    record(
        duel("ana", "pepa_4", today(1), external_id="m1"),
        duel("ana", "lola", today(2), external_id="m2"),
        draw("pepa_4", "lola", today(3), external_id="m3"),
        source=make_source(),
    )
    return game


def matches(*external_ids):
    return list(Match.objects.filter(external_id__in=external_ids).values_list("pk", flat=True))


def statuses():
    return dict(Match.objects.values_list("external_id", "status"))


def choose(client, action, chosen, **fields):
    """The answer to an action of a list, on rows chosen by their keys."""
    model = Player if action in player_admin.PlayerAdmin.actions else Match
    data = {"action": action, "_selected_action": chosen, "index": "0"}
    return client.post(url(model, "changelist"), data | fields)


def confirm(client, page, **fields):
    """The answer to the form of a page of confirmation, filled in."""
    form = page.context["form"]
    hidden = {field.name: field.value() for field in form.hidden_fields()}
    hidden["matches"] = (
        ",".join(map(str, hidden["matches"]))
        if isinstance(hidden["matches"], list)
        else hidden["matches"]
    )
    usual = {"reason": "fair_play", "note": ""}
    return client.post(reverse("admin:ratings_match_correct"), hidden | usual | fields)


def messages_of(client):
    """The messages on the page after the answer."""
    return [str(message) for message in client.get(url(Match, "changelist")).context["messages"]]


# Voiding and restoring


def test_voiding_shows_first_what_it_would_change_and_changes_nothing(admin_client, brisca):
    before = (everything_of(brisca), count_rows())

    page = choose(admin_client, "void", matches("m1"))

    text = " ".join(page.text.split())
    assert page.status_code == 200
    assert "1 match changes. 2 others are rated again. 3 players are affected." in text
    elo = Rating.objects.get(player__handle="ana").elo
    assert f"<td>{elo:,.1f}</td> <td>1,216.0</td>" in text
    assert "The first ten by Elo" in text
    assert (everything_of(brisca), count_rows()) == before


def test_confirmed_void_is_carried_out_by_whoever_confirmed(admin_client, admin_user, brisca):
    page = choose(admin_client, "void", matches("m1", "m2"))

    answer = confirm(admin_client, page, note="seen twice")

    assert answer.status_code == 302
    assert statuses() == {"m1": "void", "m2": "void", "m3": "rated"}
    correction = Correction.objects.get()
    assert (correction.kind, correction.reason, correction.note, correction.made_by) == (
        "void",
        "fair_play",
        "seen twice",
        admin_user,
    )
    assert messages_of(admin_client) == ["Done: 2 matches changed, and 1 rated again."]
    assert history.verify(brisca).is_clean


def test_void_and_restore_come_to_the_same_bytes(admin_client, brisca):
    before = everything_of(brisca)
    confirm(admin_client, choose(admin_client, "void", matches("m1")))
    assert everything_of(brisca) != before

    confirm(admin_client, choose(admin_client, "restore", matches("m1")), reason="mistake")

    assert everything_of(brisca) == before
    assert [correction.kind for correction in Correction.objects.all()] == ["restore", "void"]


def test_history_that_moved_on_is_shown_anew_and_confirmed_again(admin_client, brisca):
    """BL-127: nothing is confirmed but what was seen."""
    page = choose(admin_client, "void", matches("m1"))
    record(duel("ana", "newcomer", today(4)), source=Source.objects.get())

    again = confirm(admin_client, page, note="a long note")

    assert again.status_code == 200
    assert "History moved on since you looked." in again.text
    assert "3 others are rated again." in again.text
    assert "a long note" in again.text
    assert '<option value="fair_play" selected>' in again.text
    assert set(statuses().values()) == {"rated"}

    done = confirm(admin_client, again)

    assert done.status_code == 302
    assert statuses()["m1"] == "void"
    assert history.verify(brisca).is_clean


def test_void_without_a_reason_is_asked_for_one(admin_client, brisca):
    page = choose(admin_client, "void", matches("m1"))
    record(duel("ana", "newcomer", today(4)), source=Source.objects.get())

    again = confirm(admin_client, page, reason="")

    assert again.status_code == 200
    assert list(again.context["form"].errors) == ["reason"]
    assert set(statuses().values()) == {"rated"}
    assert confirm(admin_client, again).status_code == 302


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"kind": "correct"}, 302),
        ({"kind": ""}, 302),
        ({"matches": "1,x"}, 302),
        ({"matches": "99999999999999999999"}, 302),
        ({"matches": ""}, 302),
        ({"matches": "999999"}, 302),
        ({"versions": "brisca"}, 200),
        ({"versions": "brisca x"}, 200),
        ({"versions": "tute 3"}, 200),
        ({"reason": "because"}, 200),
        ({"note": "x" * 2001}, 200),
        ({"note": "\0"}, 200),
    ],
    ids=str,
)
def test_form_that_was_tampered_with_changes_nothing(admin_client, brisca, fields, status):
    page = choose(admin_client, "void", matches("m1"))
    before = everything_of(brisca)

    answer = confirm(admin_client, page, **fields)

    assert answer.status_code == status
    assert everything_of(brisca) == before
    assert not Correction.objects.exists()


def test_match_that_is_so_already_is_nothing_to_change(admin_client, brisca):
    answer = choose(admin_client, "restore", matches("m1"))

    assert answer.status_code == 302
    assert messages_of(admin_client) == ["They are so already: nothing to change."]


def test_match_that_waits_cannot_be_voided_yet(admin_client, brisca):
    Match.objects.filter(external_id="m3").update(status="waiting")

    answer = choose(admin_client, "void", matches("m3"))

    assert answer.status_code == 302
    assert "still waits for its place in history" in messages_of(admin_client)[0]


def test_more_matches_than_a_page_can_confirm_are_refused(admin_client, brisca, monkeypatch):
    monkeypatch.setattr(correcting, "MOST_MATCHES", 2)

    answer = choose(admin_client, "void", matches("m1"), select_across="1")

    assert answer.status_code == 302
    assert messages_of(admin_client) == [
        "At most 2 matches at once: the command void_matches takes more."
    ]


def test_all_that_a_filter_finds_can_be_voided_at_once(admin_client, brisca):
    other = make_source("mesa-falsa")
    record(duel("ana", "tramposo", today(4), external_id="f1"), source=other)
    address = url(Match, "changelist") + f"?source__id__exact={other.pk}"

    page = admin_client.post(
        address,
        {"action": "void", "_selected_action": matches("f1"), "select_across": "1", "index": "0"},
    )
    confirm(admin_client, page)

    assert {name for name, status in statuses().items() if status == "void"} == {"f1"}


def staff_with(*codenames):
    user = User.objects.create_user("mesa-tercera", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return user


def test_staff_who_may_only_look_can_neither_choose_nor_confirm(client, admin_client, brisca):
    page = choose(admin_client, "void", matches("m1"))
    client.force_login(staff_with("view_match"))

    listed = client.get(url(Match, "changelist"))
    chosen = choose(client, "void", matches("m1"))
    confirmed = confirm(client, page)

    assert "Void the chosen" not in listed.text
    assert chosen.status_code in (200, 302)
    assert confirmed.status_code == 403
    assert set(statuses().values()) == {"rated"}


def test_confirming_needs_a_post_and_a_sign_in(client, admin_client, brisca):
    page = choose(admin_client, "void", matches("m1"))
    address = reverse("admin:ratings_match_correct")

    assert admin_client.get(address).status_code == 405
    assert confirm(client, page).status_code == 302
    assert set(statuses().values()) == {"rated"}


def test_names_on_the_page_of_confirmation_are_shown_as_text(admin_client, brisca):
    Player.objects.filter(handle="ana").update(handle="<script>")

    page = choose(admin_client, "void", matches("m1"))

    assert "<script>" not in page.text.split("<h2>")[1]


# What was done


def test_correction_shows_its_matches_and_cannot_be_changed(admin_client, brisca):
    [made] = history.void_matches(matches("m1"), by=None, reason=CorrectionReason.FORGED)
    before = Correction.objects.values().get()

    listed = admin_client.get(url(Correction, "changelist"))
    shown = admin_client.get(url(Correction, "change", made.pk))
    changed = admin_client.post(url(Correction, "change", made.pk), {"reason": "mistake"})
    added = admin_client.post(url(Correction, "add"), {})

    assert "The report was forged." in listed.text
    assert "<li>Status: rated → void</li>" in shown.text
    assert url(Match, "change", matches("m1")[0]) in shown.text
    assert (changed.status_code, added.status_code) == (403, 403)
    assert Correction.objects.values().get() == before


def test_correction_of_facts_shows_each_of_them(admin_client, brisca):
    [number] = matches("m1")
    [made] = history.correct_match(
        number,
        history.Correct(termination="friendly"),
        by=None,
        reason=CorrectionReason.WRONG_RESULT,
    )

    shown = admin_client.get(url(Correction, "change", made.pk))

    assert "<li>Termination: played to the end → friendly</li>" in shown.text
    assert "<li>Status: rated → not rated</li>" in shown.text


def test_page_of_a_large_correction_describes_the_first_matches(admin_client, brisca):
    record(
        *[duel("ana", "lola", today(4, n), external_id=f"x{n}") for n in range(50)],
        *[duel("ana", "pepa_4", today(5, n), external_id=f"y{n}") for n in range(51)],
        source=Source.objects.get(),
    )
    numbers = list(Match.objects.values_list("pk", flat=True))
    [made] = history.void_matches(numbers, by=None, reason=CorrectionReason.FORGED)

    shown = admin_client.get(url(Correction, "change", made.pk))

    assert shown.text.count(" → void") == 100
    assert "and 4 more" in shown.text


def test_match_shows_its_corrections(admin_client, brisca):
    [made] = history.void_matches(matches("m1"), by=None, reason=CorrectionReason.FORGED)

    shown = admin_client.get(url(Match, "change", matches("m1")[0]))

    assert url(Correction, "change", made.pk) in shown.text


def test_verifications_are_shown_and_cannot_be_changed(admin_client, brisca):
    Rating.objects.filter(player__handle="ana").update(won=7)
    run = history.run_verification(brisca)

    listed = admin_client.get(url(VerifyRun, "changelist"))
    shown = admin_client.get(url(VerifyRun, "change", run.pk))
    changed = admin_client.post(url(VerifyRun, "change", run.pk), {"differences": "[]"})

    assert listed.status_code == 200
    assert "won is 7, the replay gives 2" in shown.text
    assert changed.status_code == 403


@pytest.mark.parametrize("model", [Correction, VerifyRun])
def test_list_costs_the_same_with_one_row_and_with_thirty(
    admin_client, brisca, model, django_assert_max_num_queries
):
    def fill(count):
        for _ in range(count):
            history.run_verification(brisca)
            made = Correction.objects.exists() and Correction.objects.first().kind == "void"
            change = history.restore_matches if made else history.void_matches
            change(matches("m1"), by=None, reason=CorrectionReason.FORGED)

    fill(1)
    admin_client.get(url(model, "changelist"))
    with django_assert_max_num_queries(20) as one:
        admin_client.get(url(model, "changelist"))
    fill(29)
    with django_assert_max_num_queries(20) as thirty:
        admin_client.get(url(model, "changelist"))

    assert len(one) == len(thirty)


# Players


def save(client, player, **fields):
    data = {"handle": player.handle, "name": player.name, "owner": player.owner_id or ""}
    data |= {"is_bot": "on"} if player.is_bot else {}
    return client.post(url(Player, "change", player.pk), INLINES | data | fields)


def test_rename_by_the_form_keeps_the_former_handle(admin_client, brisca):
    player = Player.objects.get(handle="ana")

    answer = save(admin_client, player, handle="ana-mus", name="Ana Mus")

    assert answer.status_code == 302
    player.refresh_from_db()
    assert (player.handle, player.handle_key, player.name) == ("ana-mus", "ana-mus", "Ana Mus")
    assert [former.handle for former in player.former_handles.all()] == ["ana"]
    assert "ana" in admin_client.get(url(Player, "change", player.pk)).text


@pytest.mark.parametrize("handle", ["lola", "LOLA", "pepa-antes", "admin", "a/b", ""])
def test_handle_that_may_not_be_is_refused_in_the_form(admin_client, brisca, handle):
    rename_player(player=Player.objects.get(handle="pepa_4"), handle="pepa-antes")
    rename_player(player=Player.objects.get(handle="pepa-antes"), handle="pepa-mus")
    player = Player.objects.get(handle="ana")
    former = FormerHandle.objects.count()

    answer = save(admin_client, player, handle=handle)

    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == ["handle"]
    player.refresh_from_db()
    assert player.handle == "ana"
    assert FormerHandle.objects.count() == former


def test_owner_and_kind_are_changed_by_the_form(admin_client, brisca):
    player = Player.objects.get(handle="ana")
    account = User.objects.create(username="account")

    answer = save(admin_client, player, owner=str(account.pk), is_bot="on")

    assert answer.status_code == 302
    player.refresh_from_db()
    assert (player.owner, player.is_bot) == (account, True)
    assert not Bot.objects.get(player=player).is_house
    assert Rating.objects.get(player=player).is_bot
    assert history.verify(brisca).is_clean


def test_form_saved_as_it_was_changes_no_version(admin_client, brisca):
    version = GameState.objects.get(game=brisca).version

    answer = save(admin_client, Player.objects.get(handle="ana"))

    assert answer.status_code == 302
    assert GameState.objects.get(game=brisca).version == version


def alias_row(player, source, external_id):
    return {
        "aliases-TOTAL_FORMS": "2",
        "aliases-INITIAL_FORMS": "1",
        "aliases-0-id": player.aliases.get().pk,
        "aliases-0-player": player.pk,
        "aliases-1-player": player.pk,
        "aliases-1-source": source.pk,
        "aliases-1-external_id": external_id,
    }


def test_another_id_is_joined_to_a_player(admin_client, brisca):
    player = Player.objects.get(handle="ana")
    other = make_source("mesa-2")

    answer = save(admin_client, player, **alias_row(player, other, "uid-77"))

    assert answer.status_code == 302
    assert PlayerAlias.objects.get(source=other).player == player
    record(duel("uid-77", "x", today(5)), source=other)
    assert Rating.objects.get(player=player).matches == 3


@pytest.mark.parametrize("external_id", ["lola", "LOLA", "a\u200bb"])
def test_id_that_may_not_be_joined_is_refused_in_the_form(admin_client, brisca, external_id):
    player = Player.objects.get(handle="ana")
    before = list(PlayerAlias.objects.values())

    answer = save(admin_client, player, **alias_row(player, Source.objects.get(), external_id))

    assert answer.status_code == 200
    [formset] = [f for f in answer.context["inline_admin_formsets"] if f.opts.model is PlayerAlias]
    assert any("external_id" in errors for errors in formset.formset.errors)
    assert list(PlayerAlias.objects.values()) == before


@pytest.mark.parametrize(
    ("action", "status"),
    [("retire", "retired"), ("freeze", "frozen"), ("hide", "hidden")],
)
def test_status_is_changed_by_an_action_and_brought_back_by_another(
    admin_client, brisca, action, status
):
    before = everything_of(brisca)
    chosen = [Player.objects.get(handle=handle).pk for handle in ("ana", "lola")]

    choose(admin_client, action, chosen)

    assert set(Player.objects.filter(pk__in=chosen).values_list("status", flat=True)) == {status}
    assert Rating.objects.filter(is_listed=True).count() == 1
    assert history.verify(brisca).is_clean
    assert LogEntry.objects.filter(object_id__in=map(str, chosen)).count() == 2

    choose(admin_client, "reactivate", chosen)

    assert everything_of(brisca) == before


def test_anonymising_asks_first_and_is_for_good(admin_client, brisca):
    player = Player.objects.get(handle="ana")

    asked = choose(admin_client, "anonymise", [player.pk])

    assert asked.status_code == 200
    assert "Anonymise for good" in asked.text
    assert Player.objects.get(pk=player.pk).handle == "ana"

    choose(admin_client, "anonymise", [player.pk], confirmed="yes")

    player.refresh_from_db()
    assert player.status == "anonymised"
    assert "ana" not in (player.handle, player.name)
    assert not LogEntry.objects.filter(object_repr="ana").exists()
    assert history.verify(brisca).is_clean
    page = admin_client.get(url(Player, "change", player.pk))
    assert page.status_code == 200
    assert 'name="handle"' not in page.text
    assert save(admin_client, player, name="Ana").status_code == 403

    choose(admin_client, "reactivate", [player.pk])

    assert Player.objects.get(pk=player.pk).status == "anonymised"


def test_one_who_was_anonymised_does_not_keep_the_others_from_changing(admin_client, brisca):
    gone, ana = (Player.objects.get(handle=handle) for handle in ("lola", "ana"))
    anonymise_player(player=gone)

    choose(admin_client, "retire", [gone.pk, ana.pk])

    assert Player.objects.get(pk=ana.pk).status == "retired"
    said = messages_of(admin_client)
    assert [text for text in said if "was deleted" in text]
    assert "1 player changed." in said


@pytest.mark.parametrize("action", ["retire", "anonymise"])
def test_more_players_than_one_answer_can_take_are_refused(
    admin_client, brisca, monkeypatch, action
):
    monkeypatch.setattr(player_admin, "MOST_PLAYERS", 2)

    choose(admin_client, action, [Player.objects.first().pk], select_across="1", confirmed="yes")

    assert set(Player.objects.values_list("status", flat=True)) == {"active"}
    assert messages_of(admin_client) == ["At most 2 players at once: choose fewer."]


def test_deleting_a_player_is_refused_with_what_to_do_instead(admin_client, brisca):
    """BL-127."""
    player = Player.objects.get(handle="ana")

    asked = admin_client.get(url(Player, "delete", player.pk))
    posted = admin_client.post(url(Player, "delete", player.pk), {"post": "yes"})

    assert (asked.status_code, posted.status_code) == (403, 403)
    assert "Anonymise" in asked.text
    assert Player.objects.filter(pk=player.pk).exists()


def test_staff_who_may_only_look_change_no_player(client, brisca):
    client.force_login(staff_with("view_player"))
    player = Player.objects.get(handle="ana")

    choose(client, "anonymise", [player.pk], confirmed="yes")
    saved = save(client, player, name="Ana")

    assert saved.status_code == 403
    player.refresh_from_db()
    assert (player.status, player.name) == ("active", "ana")


def test_every_page_of_corrections_stands_in_spanish_too(admin_client, brisca):
    game = Game.objects.get(slug="brisca")
    assert game == brisca
    data = {"action": "void", "_selected_action": matches("m1"), "index": "0"}

    page = admin_client.post("/es" + url(Match, "changelist"), data)

    assert page.status_code == 200
