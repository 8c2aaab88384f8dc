"""The one way to rewrite history, and the proof that what is stored equals its replay.

A match that belongs earlier than the newest one of its game re-rates the game from there on, as
if it had been known in time; so does a match that is voided, restored or corrected. A match at
the end is the same thing with nothing after it.
"""

from ratings.history.changes import (
    HistoryMoved,
    Mover,
    Preview,
    carry_out,
    correct_match,
    count_behind,
    find_matches,
    preview,
    restore_matches,
    void_matches,
)
from ratings.history.proposals import Correct, CorrectTeam, Proposal, correct, restore, void
from ratings.history.rerating import (
    MOST_RERATED,
    OnMatch,
    Rerating,
    Rerun,
    Rewrite,
    append_staged,
    rerate,
    rerate_from_snapshot,
    rerate_whole_game,
    rewrite_history,
    write_staged,
)
from ratings.history.verification import (
    MOST_DIFFERENCES,
    Verification,
    run_verification,
    verify,
)

__all__ = [
    "MOST_DIFFERENCES",
    "MOST_RERATED",
    "Correct",
    "CorrectTeam",
    "HistoryMoved",
    "Mover",
    "OnMatch",
    "Preview",
    "Proposal",
    "Rerating",
    "Rerun",
    "Rewrite",
    "Verification",
    "append_staged",
    "carry_out",
    "correct",
    "correct_match",
    "count_behind",
    "find_matches",
    "preview",
    "rerate",
    "rerate_from_snapshot",
    "rerate_whole_game",
    "restore",
    "restore_matches",
    "rewrite_history",
    "run_verification",
    "verify",
    "void",
    "void_matches",
    "write_staged",
]
