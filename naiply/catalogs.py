"""The translations: compiles them without GNU gettext, which a newcomer's machine may lack."""

from pathlib import Path

import polib

from naiply.local import PROJECT_FOLDER

LOCALE_FOLDER = PROJECT_FOLDER / "locale"


def compile_catalogs(folder: Path = LOCALE_FOLDER) -> list[Path]:
    """Compiles every .po file whose .mo is missing or older, and returns those it compiled."""
    compiled = []
    for source in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime_ns > source.stat().st_mtime_ns:
            continue
        # Two test workers may compile at once: a reader must never see half a file.
        draft = target.with_suffix(".mo.draft")
        polib.pofile(str(source), encoding="utf-8", check_for_duplicates=True).save_as_mofile(
            str(draft)
        )
        draft.replace(target)
        compiled.append(source)
    return compiled
