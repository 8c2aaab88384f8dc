"""The words of the site and their translations: collects them from the source, checks catalogs.

For `make messages`, `make check-messages` and the tests; needs Babel, which the site itself does
not. GNU gettext is not needed: Django turns a template into something that Babel can read, and the
messages found are those that xgettext finds.
"""

import difflib
import io
import logging
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import django
import polib
from babel.messages.extract import extract
from django.utils.translation.template import templatize

from leaderboards.catalogs import (
    Message,
    UnreadableCatalog,
    catalog_path,
    faults,
    file_faults,
    is_reviewed,
    key,
    open_catalog,
    plural_rule,
)
from naiply.catalogs import LOCALE_FOLDER, compile_catalogs, compiled_from, digest
from naiply.environment import LANGUAGES
from naiply.local import PROJECT_FOLDER

SOURCE_FOLDERS = ("leaderboards", "naiply", "ratings", "templates")
SOURCE_LANGUAGE = "en"
COMMENT_TAG = "Translators:"
LIKENESS = 0.8

# Which argument of each function is what: message, plural, and "c" for the context.
FUNCTIONS = {
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "_": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "npgettext_lazy": ((1, "c"), 2, 3),
}

HEADER = """\
How to correct or complete this file: docs/translating.md
An entry that a native speaker has approved says so in a comment of its own,
"# Reviewed: name, date". All others have not been reviewed yet."""

FORMAT = re.compile(r"%\(\w+\)[sdifr]")


@dataclass
class Use:
    """Where a message stands, and what the source says to translators."""

    files: set[str] = field(default_factory=set)
    comments: list[str] = field(default_factory=list)


def source_messages(folder: Path = PROJECT_FOLDER) -> dict[Message, Use]:
    """Every message of the source, with its uses."""
    found: dict[Message, Use] = {}
    for path in source_files(folder):
        place = str(path.relative_to(folder))
        text = path.read_text(encoding="utf-8")
        # What templatize makes of a template is close enough to JavaScript, and not to Python;
        # only its comments are still Python's.
        is_python = path.suffix == ".py"
        source = text if is_python else templatize(text, origin=place)
        if not is_python:
            source = source.replace(f"# {COMMENT_TAG}", f"// {COMMENT_TAG}")
        for _, words, comments, context in extract(
            "python" if is_python else "javascript",
            io.BytesIO(source.encode()),
            FUNCTIONS,
            comment_tags=[COMMENT_TAG],
            options={"encoding": "utf-8"},
        ):
            singular, plural = (words, "") if isinstance(words, str) else words[:2]
            use = found.setdefault(Message(singular, plural, context or ""), Use())
            use.files.add(place)
            use.comments += [comment for comment in comments if comment not in use.comments]
    return found


def source_files(folder: Path) -> Iterator[Path]:
    for name in SOURCE_FOLDERS:
        for path in sorted((folder / name).rglob("*")):
            if path.suffix == ".py" or (path.suffix in (".html", ".txt", ".svg", ".xml")):
                yield path


# Bringing a catalog up to date.


def update_catalog(
    language: str, messages: dict[Message, Use], folder: Path = LOCALE_FOLDER
) -> None:
    """Adds what is missing and removes what the source no longer says.

    Where the source only changed a wording or a context, the translation it had stays as a fuzzy
    entry: kept for a translator to judge, and shown to nobody.
    """
    path = catalog_path(language, folder)
    catalog = open_catalog(path) if path.exists() else new_catalog(language)
    plural_forms, _form_of = plural_rule(catalog)
    known = {key(entry): entry for entry in catalog if not entry.obsolete}
    catalog.header = catalog.header.strip() or HEADER
    catalog.clear()
    for message, use in sorted(messages.items()):
        entry = known.get(message) or new_entry(message, plural_forms, known, messages)
        # Without line numbers, which would change with every edit of the source.
        entry.occurrences = [(place, "") for place in sorted(use.files)]
        entry.comment = "\n".join(use.comments)
        if FORMAT.search(message.text + message.plural) and "python-format" not in entry.flags:
            entry.flags.append("python-format")
        catalog.append(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalog.save(str(path))


def new_entry(
    message: Message,
    plural_forms: int,
    known: dict[Message, polib.POEntry],
    messages: dict[Message, Use],
) -> polib.POEntry:
    entry = polib.POEntry(
        msgid=message.text,
        msgid_plural=message.plural,
        msgctxt=message.context or None,
        msgstr_plural=dict.fromkeys(range(plural_forms), "") if message.plural else {},
    )
    former = former_message(message, known, messages)
    if former is not None:
        entry.msgstr = known[former].msgstr
        entry.msgstr_plural = dict(known[former].msgstr_plural)
        entry.previous_msgctxt = former.context or None
        entry.previous_msgid = former.text
        entry.previous_msgid_plural = former.plural or None
        entry.flags.append("fuzzy")
    return entry


def former_message(
    message: Message, known: dict[Message, polib.POEntry], messages: dict[Message, Use]
) -> Message | None:
    """A translated message with the same words in another context, or one that was here like it."""
    candidates = [
        other
        for other, entry in known.items()
        if entry.translated() and bool(other.plural) == bool(message.plural)
    ]
    for other in candidates:
        if (other.text, other.plural) == (message.text, message.plural):
            return other
    gone = {other.text: other for other in candidates if other not in messages}
    like = difflib.get_close_matches(message.text, gone, n=1, cutoff=LIKENESS)
    return gone[like[0]] if like else None


def new_catalog(language: str) -> polib.POFile:
    """An empty catalog, with the language's plural rule as Django's own catalog has it."""
    django_catalog = catalog_path(language, Path(django.__file__).parent / "conf" / "locale")
    catalog = polib.POFile(encoding="utf-8")
    catalog.metadata = {
        "Project-Id-Version": "Naiply",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": open_catalog(django_catalog).metadata["Plural-Forms"],
    }
    return catalog


# Checking one.


@dataclass
class Findings:
    """What there is to say about a catalog: a line each."""

    faults: list[str] = field(default_factory=list)
    """What would break a page or leave it out; the compiled catalog does without."""
    lacks: list[str] = field(default_factory=list)
    """What is shown in English for now, because nobody has translated or confirmed it."""
    strays: list[str] = field(default_factory=list)
    """Where catalog and source have other entries: `make messages` brings them together."""


def check_catalog(
    language: str, messages: dict[Message, Use], folder: Path = LOCALE_FOLDER
) -> Findings:
    found = Findings()
    path = catalog_path(language, folder)
    try:
        catalog = open_catalog(path)
    except UnreadableCatalog as error:
        found.faults.append(str(error))
        return found
    found.faults += file_faults(path)
    found.faults += [f"{entry.msgid!r} {fault}" for entry, fault in faults(catalog)]
    entries = {key(entry): entry for entry in catalog if not entry.obsolete}
    for message in sorted(messages.keys() - entries.keys()):
        found.strays.append(f"{message.text!r} of {min(messages[message].files)} is missing")
    for message in sorted(entries.keys() - messages.keys()):
        found.strays.append(f"{message.text!r} is no longer in the source")
    for message, entry in sorted(entries.items()):
        if entry.fuzzy:
            found.lacks.append(f"{message.text!r} is fuzzy: a guess that nobody has confirmed")
        elif not entry.translated():
            found.lacks.append(f"{message.text!r} is not translated")
    return found


def problems(
    language: str, messages: dict[Message, Use], folder: Path = LOCALE_FOLDER
) -> Iterator[str]:
    """A line for everything that a reader of this language would stumble over."""
    found = check_catalog(language, messages, folder)
    for line in (*found.faults, *found.lacks, *found.strays):
        yield f"{language}: {line}"


def check_compiled(language: str, folder: Path = LOCALE_FOLDER) -> list[str]:
    """A line if the site would show something else than the catalog says."""
    source = catalog_path(language, folder)
    target = source.with_suffix(".mo")
    if not source.exists() or compiled_from(target) == digest(source):
        return []
    return [f"{target.name} is missing, damaged or made from another {source.name}"]


# Signing one.


def sign_catalog(language: str, signature: str, folder: Path = LOCALE_FOLDER) -> int:
    """Signs every translation that nobody has signed yet; returns how many those were."""
    path = catalog_path(language, folder)
    catalog = open_catalog(path)
    unsigned = [entry for entry in catalog.translated_entries() if not is_reviewed(entry)]
    for entry in unsigned:
        entry.tcomment = f"{entry.tcomment}\nReviewed: {signature}".strip()
    catalog.save(str(path))
    return len(unsigned)


USAGE = """\
python -m naiply.messages update             brings the catalogs up to date with the source
python -m naiply.messages check              says what in them would break a page, and counts
python -m naiply.messages missing LANGUAGE   lists what is missing or fuzzy
python -m naiply.messages sign LANGUAGE "NAME, DATE"
                                             signs every translation not yet reviewed"""


def main(*arguments: str) -> int:
    languages = [code for code, _ in LANGUAGES if code != SOURCE_LANGUAGE]
    match arguments:
        case ["update"]:
            messages = source_messages()
            for language in languages:
                update_catalog(language, messages)
            return check(languages, messages)
        case ["check"]:
            return check(languages, source_messages())
        case ["missing", language] if language in languages:
            print(*check_catalog(language, source_messages()).lacks, sep="\n")
            return 0
        case ["sign", language, signature] if language in languages:
            print(f"{sign_catalog(language, signature)} translations signed")
            return 0
    print(USAGE, file=sys.stderr)
    return 2


def check(languages: list[str], messages: dict[Message, Use]) -> int:
    logging.disable()  # what compiling would say is said below
    compile_catalogs()
    has_faults = False
    for language in languages:
        found = check_catalog(language, messages)
        found.faults += check_compiled(language)
        for line in (*found.faults, *found.strays):
            print(f"{language}: {line}")
        fuzzy = sum("is fuzzy" in line for line in found.lacks)
        print(
            f"{language}: {len(messages)} messages, {len(found.lacks) - fuzzy} missing, "
            f"{fuzzy} fuzzy, {len(found.strays)} not as in the source, "
            f"{len(found.faults)} that would break a page"
        )
        has_faults = has_faults or bool(found.faults)
    return 1 if has_faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
