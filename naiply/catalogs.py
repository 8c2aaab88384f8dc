"""The translations: compiles them without GNU gettext, which a newcomer's machine may lack.

Django must never meet a catalog that it cannot read or an entry that it cannot use: either would
turn every page in that language into an error. So what is compiled leaves both out, and readers get
those words in English.
"""

import gettext
import hashlib
import logging
import os
import struct
from pathlib import Path

import polib

from leaderboards.catalogs import UnreadableCatalog, faults, open_catalog
from naiply.local import PROJECT_FOLDER

LOCALE_FOLDER = PROJECT_FOLDER / "locale"
SOURCE_DIGEST = "X-Source-Digest"
RULES = "1"
"""Grows when the same source would compile to something else."""

logger = logging.getLogger(__name__)


def compile_catalogs(folder: Path = LOCALE_FOLDER) -> list[Path]:
    """Compiles every .po file of which there is no .mo file, and returns those it compiled.

    A .mo file counts only if it can be read and was made from the very .po file that is there now;
    times would not tell that of files that were copied or unpacked.
    """
    compiled = []
    for source in sorted(folder.glob("**/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if compiled_from(target) == digest(source):
            continue
        try:
            replace(target, compile_catalog(source))
        except OSError as error:
            logger.warning("%s cannot be written: %s", target, error.strerror)
        else:
            compiled.append(source)
    return compiled


def digest(source: Path) -> str:
    return f"{RULES}-{hashlib.sha256(source.read_bytes()).hexdigest()}"


def compiled_from(target: Path) -> str | None:
    """The digest of the .po file behind a .mo file; None where that can no longer be said."""
    try:
        with target.open("rb") as file:
            # Reads all of it, as Django will.
            return gettext.GNUTranslations(file).info().get(SOURCE_DIGEST.lower())
    except (OSError, ValueError, LookupError, struct.error):
        return None


def compile_catalog(source: Path) -> bytes:
    """The .mo file of a .po file, without what would break a page."""
    language = source.parent.parent.name
    try:
        catalog = open_catalog(source)
    except UnreadableCatalog as error:
        logger.error("%s: the catalog %s. The language is shown in English.", language, error)
        catalog = polib.POFile()
    broken = set()
    for entry, fault in faults(catalog):
        logger.error("%s: %r %s", language, entry.msgid, fault)
        broken.add(id(entry))
    if broken:
        logger.error("%s: %d broken entries are shown in English", language, len(broken))
    kept = polib.POFile(encoding="utf-8")
    kept.metadata = catalog.metadata | {
        "Content-Type": "text/plain; charset=UTF-8",
        SOURCE_DIGEST: digest(source),
    }
    kept.extend(entry for entry in catalog if id(entry) not in broken)
    return bytes(kept.to_binary())


def replace(target: Path, content: bytes) -> None:
    # Several processes may compile at once, and a reader must never see half a file.
    draft = target.with_suffix(f".mo.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
