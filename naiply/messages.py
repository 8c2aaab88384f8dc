"""The words of the site and their translations: collects them from the source, checks catalogs.

For `make messages`, `make check-messages` and the tests; needs Babel, which the site itself does
not. GNU gettext is not needed: Django turns a template into something that Babel can read, and the
messages found are those that xgettext finds.
"""

import difflib
import gettext
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import django
import polib
from babel.messages.extract import extract
from django.utils.translation.template import templatize

from naiply.catalogs import LOCALE_FOLDER
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

PLACEHOLDER = re.compile(r"%\(\w+\)[#0\- +]?[\d.]*[sdifr]|%[sdifr%]|\{\w*\}|</?[a-z][^>]*>")
PERCENT = re.compile(r"%\(\w+\)[sdifr]")


@dataclass(frozen=True, order=True)
class Message:
    """A message of the source; two with equal words and unequal contexts are two."""

    text: str
    plural: str = ""
    context: str = ""


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


def catalog_path(language: str, folder: Path = LOCALE_FOLDER) -> Path:
    return folder / language / "LC_MESSAGES" / "django.po"


def open_catalog(path: Path) -> polib.POFile:
    return polib.pofile(str(path), encoding="utf-8", check_for_duplicates=True)


def key(entry: polib.POEntry) -> Message:
    return Message(entry.msgid, entry.msgid_plural or "", entry.msgctxt or "")


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
    plural_forms = int(re.search(r"nplurals=(\d)", catalog.metadata["Plural-Forms"])[1])
    known = {key(entry): entry for entry in catalog if not entry.obsolete}
    catalog.clear()
    for message, use in sorted(messages.items()):
        entry = known.get(message) or new_entry(message, plural_forms, known, messages)
        # Without line numbers, which would change with every edit of the source.
        entry.occurrences = [(place, "") for place in sorted(use.files)]
        entry.comment = "\n".join(use.comments)
        if PERCENT.search(message.text + message.plural) and "python-format" not in entry.flags:
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


def problems(
    language: str, messages: dict[Message, Use], folder: Path = LOCALE_FOLDER
) -> Iterator[str]:
    """A line for everything that a reader of this language would stumble over."""
    path = catalog_path(language, folder)
    if not path.exists():
        yield f"{language}: {path.name} is missing"
        return
    try:
        catalog = open_catalog(path)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        yield f"{language}: cannot be read: {error}"
        return
    rule = re.search(
        r"nplurals\s*=\s*(\d)\s*;\s*plural\s*=\s*(.+?)\s*;?\s*$",
        catalog.metadata.get("Plural-Forms", ""),
    )
    if not rule:
        yield f"{language}: the header has no Plural-Forms"
        return
    if catalog.metadata.get("Content-Type") != "text/plain; charset=UTF-8":
        yield f"{language}: the header does not say text/plain; charset=UTF-8"
    entries = {key(entry): entry for entry in catalog if not entry.obsolete}
    for message in sorted(messages.keys() - entries.keys()):
        yield f"{language}: {message.text!r} of {min(messages[message].files)} is missing"
    for message in sorted(entries.keys() - messages.keys()):
        yield f"{language}: {message.text!r} is no longer in the source"
    for message, entry in sorted(entries.items()):
        for problem in entry_problems(entry, forms=int(rule[1]), form_of=gettext.c2py(rule[2])):
            yield f"{language}: {message.text!r} {problem}"


def entry_problems(entry: polib.POEntry, *, forms: int, form_of) -> Iterator[str]:
    if "fuzzy" in entry.flags:
        yield "is fuzzy: a guess that nobody has confirmed"
    if not entry.msgid_plural:
        yield from text_problems(entry.msgid, entry.msgstr)
        return
    if set(entry.msgstr_plural) != set(range(forms)):
        yield f"has {len(entry.msgstr_plural)} plural forms instead of {forms}"
        return
    for form, text in sorted(entry.msgstr_plural.items()):
        # The form for 1 may leave the number out ("one match"); the others may not.
        is_singular = form == form_of(1)
        for problem in text_problems(entry.msgid_plural, text, may_omit=is_singular):
            yield f"{problem} (form {form})"


def text_problems(original: str, text: str, *, may_omit: bool = False) -> Iterator[str]:
    if not text:
        yield "is not translated"
        return
    wanted = sorted(PLACEHOLDER.findall(original))
    given = sorted(PLACEHOLDER.findall(text))
    if given != wanted and not (may_omit and set(given) <= set(wanted)):
        yield f"has {', '.join(given) or 'nothing'} where the source has {', '.join(wanted)}"
    if PERCENT.search(original) and "%" in PLACEHOLDER.sub("", text):
        yield "has a % that should be %%"
    for edge, name in ((str.startswith, "starts"), (str.endswith, "ends")):
        if edge(original, "\n") != edge(text, "\n"):
            yield f"{name} with a line break where the source does not, or the reverse"


def main(command: str) -> int:
    messages = source_messages()
    languages = [code for code, _ in LANGUAGES if code != SOURCE_LANGUAGE]
    if command == "update":
        for language in languages:
            update_catalog(language, messages)
    found = [line for language in languages for line in problems(language, messages)]
    for line in found:
        print(line)
    print(f"{len(messages)} messages, {len(languages)} translations, {len(found)} problems")
    return 1 if found and command == "check" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
