"""Putting the facts of one match right: filled in first, then shown what it changes, then done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from ratings import history, ledger
from ratings.admin.changed_facts import Changes, changes_between
from ratings.admin.correcting import ReasonForm, carry_out, shown, versions_of
from ratings.admin.match_facts import FactForms, fact_forms
from ratings.history import HistoryMoved, Preview, Proposal
from ratings.history.proposals import described
from ratings.models import Match, Player, PlayerStatus
from ratings.reports import ReportError

NEIGHBOURS = 50
"""So many matches before and after: whoever played in them may be who is meant."""


class SeenForm(ReasonForm):
    """Why a match is corrected; `seal` is of the facts for which the preview was shown."""

    seal = forms.CharField(required=False, widget=forms.HiddenInput)


def correct(model_admin: admin.ModelAdmin, request: HttpRequest, match: Match) -> HttpResponse:
    """The facts of a match to be filled in, what they would change, or the doing of what was seen.

    The facts travel through the page of confirmation as they were written, and are read again.
    """
    full = ledger.read_matches(match.game, [match.pk])[match.pk]
    filled = fact_forms(match.game, full, request.POST if request.method == "POST" else None)
    page = Page(model_admin, request, match, filled)
    if request.method != "POST" or not filled.are_valid() or "_edit" in request.POST:
        return page.of_facts()
    proposal = history.correct(match.pk, filled.right(full))
    try:
        return (confirm if "_confirm" in request.POST else preview)(page, proposal)
    except ReportError as error:
        filled.facts.add_error(None, list(error.problems))
        return page.of_facts()


@dataclass(frozen=True)
class Page:
    """The two pages on the way to a correction, and what is on both of them."""

    model_admin: admin.ModelAdmin
    request: HttpRequest
    match: Match
    filled: FactForms

    def of_facts(self) -> HttpResponse:
        return self._answer("facts", suggestions=suggested_players(self.match))

    def of_preview(
        self,
        proposal: Proposal,
        form: SeenForm,
        previews: Sequence[Preview],
        *,
        has_moved: bool = False,
    ) -> HttpResponse:
        return self._answer(
            "facts_seen",
            form=form,
            changes=changes_of(self.match, proposal),
            games=[shown(preview) for preview in previews],
            has_moved=has_moved,
        )

    def say_nothing_changes(self) -> None:
        self.model_admin.message_user(
            self.request, _("The match says so already: nothing to change."), messages.WARNING
        )

    def _answer(self, template: str, **context: Any) -> HttpResponse:
        return TemplateResponse(
            self.request,
            f"admin/ratings/match/{template}.html",
            {
                **self.model_admin.admin_site.each_context(self.request),
                "title": _("Correct this match"),
                "subtitle": f"{self.match.game.display_name}, {self.match.external_id}",
                "opts": Match._meta,
                "match": self.match,
                "facts": self.filled.facts,
                "players": self.filled.players,
                **context,
            },
        )


def preview(page: Page, proposal: Proposal) -> HttpResponse:
    """What the proposal would change, to be confirmed."""
    previews = history.preview(proposal)
    if not changes_anything(previews):
        page.say_nothing_changes()
        return page.of_facts()
    return page.of_preview(proposal, SeenForm(initial=_seen(proposal, previews)), previews)


def confirm(page: Page, proposal: Proposal) -> HttpResponse:
    """Carries out what was confirmed; the preview again where that lacks a reason, or moved on."""
    to_match = HttpResponseRedirect(reverse("admin:ratings_match_change", args=[page.match.pk]))
    form = SeenForm(page.request.POST)
    is_valid = form.is_valid()
    asked = form.cleaned_data
    has_moved = not constant_time_compare(asked.get("seal", ""), _seal(proposal))
    try:
        if is_valid and not has_moved:
            return carry_out(page.model_admin, page.request, proposal, asked, to_match)
        previews = history.preview(proposal)
    except HistoryMoved as moved:
        previews, has_moved = moved.previews, True
    if not changes_anything(previews):
        page.say_nothing_changes()
        return to_match
    form = SeenForm({**page.request.POST.dict(), **_seen(proposal, previews)})
    return page.of_preview(proposal, form, previews, has_moved=has_moved)


def changes_anything(previews: Sequence[Preview]) -> bool:
    return any(preview.matches for preview in previews)


def _seen(proposal: Proposal, previews: Sequence[Preview]) -> dict[str, str]:
    """The hidden fields of the page of confirmation."""
    return {"versions": versions_of(previews), "seal": _seal(proposal)}


def _seal(proposal: Proposal) -> str:
    """A browser that fills in old facts, or a hand that changes them, does not know theirs."""
    facts = f"{sorted(proposal.match_ids)} {proposal.correct!r}"
    return salted_hmac("ratings.admin.correcting_facts", facts, algorithm="sha256").hexdigest()


def changes_of(match: Match, proposal: Proposal) -> Changes:
    """What the proposal changes of the match itself."""
    before = ledger.read_matches(match.game, [match.pk])[match.pk]
    after = proposal.edits(match.game).get(match.pk, before)
    [changes] = changes_between(
        [(described(before, status=match.status), described(after, status=match.status))]
    )
    return changes


def suggested_players(match: Match) -> list[Player]:
    """Those who played the game around the same time, for the browser to suggest."""
    game = Match.objects.filter(game=match.game)
    before = game.filter(played_at__lte=match.played_at).order_by("-played_at", "-id")
    after = game.filter(played_at__gt=match.played_at).order_by("played_at", "id")
    ids = {
        player
        for matches in (before, after)
        for players in matches.values_list("players", flat=True)[:NEIGHBOURS]
        for player in players
    }
    players = Player.objects.filter(pk__in=ids).exclude(status=PlayerStatus.ANONYMISED)
    return list(players.only("handle", "name").order_by("handle_key"))
