"""The stored history of a game: what the tables hold, read and written in bulk.

Only SQL: what a rating is stands in `systems`, who may write it in `recording`, `history` and
`decay`. Whoever writes holds the game's lock (`lock_games`).
"""

from ratings.ledger.checks import read_contradictions, read_wrong_counts, read_wrong_segments
from ratings.ledger.reading import (
    lock_games,
    newest_position,
    next_match_ids,
    read_history,
    read_listing_facts,
    read_peaks_before,
    read_player_sets_since,
    read_ratings,
    read_recent,
    read_skills_before,
)
from ratings.ledger.rows import (
    BEGINNING,
    LONGEST_WALK,
    ROWS_AT_A_TIME,
    SKILL_COLUMNS,
    NewMatch,
    Position,
    StoredMatch,
    StoredRating,
    fact_of,
    is_recent,
    listed_since,
    status_of,
)
from ratings.ledger.writing import (
    CHANNEL,
    announce,
    insert_matches,
    recount,
    update_matches,
    write_ratings,
)

__all__ = [
    "BEGINNING",
    "CHANNEL",
    "LONGEST_WALK",
    "ROWS_AT_A_TIME",
    "SKILL_COLUMNS",
    "NewMatch",
    "Position",
    "StoredMatch",
    "StoredRating",
    "announce",
    "fact_of",
    "insert_matches",
    "is_recent",
    "listed_since",
    "lock_games",
    "newest_position",
    "next_match_ids",
    "read_contradictions",
    "read_history",
    "read_listing_facts",
    "read_peaks_before",
    "read_player_sets_since",
    "read_ratings",
    "read_recent",
    "read_skills_before",
    "read_wrong_counts",
    "read_wrong_segments",
    "recount",
    "status_of",
    "update_matches",
    "write_ratings",
]
