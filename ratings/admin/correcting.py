"""Voiding and restoring matches from their list: first what it would change, then the doing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from kombu.exceptions import OperationalError

from ratings import history, queued_changes, tasks
from ratings.history import HistoryMoved, Preview, Proposal
from ratings.models import CorrectionKind, CorrectionReason, Match, Player, System
from ratings.reports import ReportError

MOST_MATCHES = 10_000
"""So many at once from the list; void_matches on the command line takes any number."""

LONGEST_NOTE = 2_000

TITLES = {
    CorrectionKind.VOID: gettext_lazy("Void matches"),
    CorrectionKind.RESTORE: gettext_lazy("Restore matches"),
}


class NumbersField(forms.CharField):
    """Ids of matches with commas between them: one field, since a form's fields are limited."""

    widget = forms.HiddenInput

    def to_python(self, value: str | None) -> list[int]:
        parts = [part for part in (value or "").split(",") if part]
        if not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in parts):
            raise forms.ValidationError(_("The list of matches is not readable."))
        numbers = [int(part) for part in parts]
        if len(numbers) > MOST_MATCHES:
            raise forms.ValidationError(too_many())
        return numbers

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else ",".join(map(str, value or ()))


class VersionsField(forms.CharField):
    """What was previewed: `brisca 12,tute 3`."""

    widget = forms.HiddenInput

    def to_python(self, value: str | None) -> dict[str, int]:
        try:
            pairs = [part.rsplit(" ", 1) for part in (value or "").split(",") if part]
            return {slug: int(version) for slug, version in pairs}
        except ValueError:
            raise forms.ValidationError(_("The versions are not readable.")) from None


class ReasonForm(forms.Form):
    """Why history is changed, and what was shown of it before."""

    versions = VersionsField()
    reason = forms.ChoiceField(
        label=gettext_lazy("Public reason"),
        choices=[("", "---------"), *CorrectionReason.choices],
        help_text=gettext_lazy("Shown to everyone with each of the matches."),
    )
    note = forms.CharField(
        label=gettext_lazy("Private note"),
        required=False,
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("For the staff alone."),
    )


class CorrectionForm(ReasonForm):
    kind = forms.ChoiceField(
        choices=[(kind.value, title) for kind, title in TITLES.items()], widget=forms.HiddenInput
    )
    matches = NumbersField()


def too_many() -> str:
    return _("At most %(most)s matches at once: the command void_matches takes more.") % {
        "most": f"{MOST_MATCHES:,}"
    }


def ask(
    model_admin: admin.ModelAdmin, request: HttpRequest, kind: CorrectionKind, chosen: QuerySet[Any]
) -> HttpResponse | None:
    """The page that shows what voiding or restoring the chosen matches would change."""
    matches = list(chosen.order_by().values_list("pk", flat=True)[: MOST_MATCHES + 1])
    if len(matches) > MOST_MATCHES:
        model_admin.message_user(request, too_many(), messages.ERROR)
        return None
    proposal = Proposal(kind, frozenset(matches))
    try:
        previews = history.preview(proposal)
    except ReportError as error:
        model_admin.message_user(request, str(error), messages.ERROR)
        return None
    if not any(preview.matches for preview in previews):
        model_admin.message_user(request, _("They are so already: nothing to change."))
        return None
    initial = {"kind": kind.value, "matches": matches, "versions": versions_of(previews)}
    return page(model_admin, request, CorrectionForm(initial=initial), kind, previews)


def confirm(model_admin: admin.ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Carries out what was confirmed; the page again where it moved on or lacks a reason."""
    if not request.user.has_perm("ratings.add_correction"):
        raise PermissionDenied
    form = CorrectionForm(request.POST)
    is_valid = form.is_valid()
    asked = form.cleaned_data
    back = HttpResponseRedirect(reverse("admin:ratings_match_changelist"))
    if not asked.get("kind") or not asked.get("matches"):
        model_admin.message_user(
            request, _("Choose matches in the list, and what is to be done."), messages.ERROR
        )
        return back
    kind = CorrectionKind(asked["kind"])
    proposal = Proposal(kind, frozenset(asked["matches"]))
    try:
        if not is_valid:
            previews = history.preview(proposal)
            return page(model_admin, request, _as_of(form, previews), kind, previews)
        return carry_out(model_admin, request, proposal, asked, back)
    except HistoryMoved as moved:
        previews = moved.previews
        return page(model_admin, request, _as_of(form, previews), kind, previews, has_moved=True)
    except ReportError as error:
        model_admin.message_user(request, str(error), messages.ERROR)
        return back


def carry_out(
    model_admin: admin.ModelAdmin,
    request: HttpRequest,
    proposal: Proposal,
    asked: dict[str, Any],
    back: HttpResponse,
) -> HttpResponse:
    """Does what was confirmed with a ReasonForm and says so, or leaves what is long to a worker.

    HistoryMoved and ReportError as `history.carry_out`.
    """
    order = {
        "by": request.user,
        "reason": asked["reason"],
        "note": asked["note"],
        "expected": asked["versions"],
    }
    if history.count_behind(proposal) > history.MOST_RERATED:
        return in_background(model_admin, request, proposal, order)
    corrections = history.carry_out(proposal, **order)
    model_admin.message_user(request, queued_changes.told(corrections), messages.SUCCESS)
    return back


def in_background(
    model_admin: admin.ModelAdmin, request: HttpRequest, proposal: Proposal, order: dict[str, Any]
) -> HttpResponse:
    """Leaves a change that takes long to a worker, and shows how far it is."""
    job = queued_changes.put_down(proposal, **order)
    try:
        tasks.change_history.apply_async([job.pk], retry=False)
    except OperationalError:  # the broker is away: then here, however long it takes
        queued_changes.carry_out(job.pk)
    model_admin.message_user(request, _("This takes a while. Here you see how far it is."))
    return HttpResponseRedirect(reverse("admin:ratings_job_change", args=[job.pk]))


def _as_of(form: CorrectionForm, previews: Sequence[Preview]) -> CorrectionForm:
    """The form as it was filled in, to be confirmed for what is shown now."""
    return CorrectionForm({**form.data.dict(), "versions": versions_of(previews)})


def versions_of(previews: Sequence[Preview]) -> str:
    return ",".join(f"{preview.game.slug} {preview.version}" for preview in previews)


def page(
    model_admin: admin.ModelAdmin,
    request: HttpRequest,
    form: CorrectionForm,
    kind: CorrectionKind,
    previews: Sequence[Preview],
    *,
    has_moved: bool = False,
) -> TemplateResponse:
    return TemplateResponse(
        request,
        "admin/ratings/match/correct.html",
        {
            **model_admin.admin_site.each_context(request),
            "title": TITLES[kind],
            "opts": Match._meta,
            "form": form,
            "games": [shown(preview) for preview in previews],
            "has_moved": has_moved,
        },
    )


def shown(preview: Preview) -> dict[str, Any]:
    """A preview with players in place of their ids, and the top tens side by side."""
    ids = {mover.player_id for mover in preview.movers}
    ids.update(player for tops in preview.top.values() for top in tops for player in top)
    players = Player.objects.in_bulk(ids)
    return {
        "preview": preview,
        "movers": [(players[mover.player_id], mover) for mover in preview.movers],
        "tops": [
            {
                "label": System(system).label,
                "is_same": list(before) == list(after),
                "rows": [
                    (place, players.get(was), players.get(becomes))
                    for place, (was, becomes) in enumerate(zip_longest(before, after), start=1)
                ],
            }
            for system, (before, after) in preview.top.items()
        ],
    }
