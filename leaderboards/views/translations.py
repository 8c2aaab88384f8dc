from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboards import live
from leaderboards.shell import read_shell
from leaderboards.translations import (
    Choice,
    find_entries,
    languages,
    read_question,
    read_translation,
)
from leaderboards.whereabouts import read_whereabouts
from ratings.snapshots import snapshot


@require_safe
@snapshot()
def translations(request: HttpRequest) -> HttpResponse:
    return live.answer(
        request,
        "leaderboards/translation_list.html",
        lambda: {"translations": [read_translation(language) for language in languages()]},
        shell=read_shell(),
        facts=(),
    )


@require_safe
@snapshot()
def translation(request: HttpRequest, language: str) -> HttpResponse:
    if language not in languages():
        raise Http404
    shell = read_shell()
    question = read_question(language, request.GET)
    found = find_entries(read_translation(language), question)
    places = read_whereabouts(shell)
    return live.answer(
        request,
        "leaderboards/translation_detail.html",
        lambda: {
            "translation": read_translation(language),
            "question": question,
            "choices": [
                (label, question.url(show=value, page=1), value == question.show)
                for value, label in Choice.choices
            ],
            "page": found,
            "entries": [(entry, places.of(entry.files)) for entry in found.entries],
            "here": question.url(page=found.number),
            "previous": question.url(page=found.number - 1) if found.number > 1 else "",
            "next": question.url(page=found.number + 1) if found.number < found.count else "",
        },
        shell=shell,
        facts=(question, sorted(places.pages.items())),
    )
