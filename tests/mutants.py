"""Breaks the code in one place at a time, in a copy, and sees that a named test turns red.

`python -m tests.mutants` tries them all, `python -m tests.mutants 3 7` some. The list in
tests/README.md is printed by `python -m tests.mutants --table`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROJECT_FOLDER = Path(__file__).resolve().parent.parent
LEFT_OUT = (".git", ".venv", ".local", "__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True)
class Mutant:
    """`old`, which the file holds once, becomes `new`; `red` is the test that sees it."""

    what: str
    file: str
    old: str
    new: str
    red: str


RECORDING, RERATING = "ratings/recording.py", "ratings/history/rerating.py"
CHANGES, PROPOSALS = "ratings/history/changes.py", "ratings/history/proposals.py"
READING, WRITING = "ratings/ledger/reading.py", "ratings/ledger/writing.py"
STAGING, IMPORTING = "ratings/ledger/staging.py", "tests/ratings/test_importing.py"
CORRECTIONS, WAITING = "tests/ratings/test_corrections.py", "tests/ratings/test_waiting.py"

MUTANTS = [
    Mutant(
        "recording takes no lock",
        RECORDING,
        "states = ledger.lock_games(slugs, seconds=LOCK_SECONDS if self.may_wait else None)",
        "states = ledger.read_states(slugs)",
        "tests/ratings/test_concurrency.py::"
        "test_twenty_writers_for_one_player_lose_no_update_and_show_no_half_match",
    ),
    Mutant(
        "games are locked in any order",
        READING,
        "ORDER BY state.game_id FOR UPDATE OF state",
        "ORDER BY random() FOR UPDATE OF state",
        "tests/ratings/test_concurrency.py::"
        "test_batches_over_several_games_in_opposite_orders_do_not_block_each_other",
    ),
    Mutant(
        "a report may have one match more rated again",
        RECORDING,
        "limit = ledger.position_before_newest(state.game, MOST_RERATED)",
        "limit = ledger.position_before_newest(state.game, MOST_RERATED + 1)",
        f"{WAITING}::test_report_with_too_many_matches_after_it_waits",
    ),
    Mutant(
        "a later report leaves what waits alone",
        RECORDING,
        "history.Rewrite(new=new, waiting=waiting)",
        "history.Rewrite(new=new)",
        f"{WAITING}::test_later_report_folds_in_what_waits",
    ),
    Mutant(
        "a batch is not compared with itself",
        RECORDING,
        "elif report.external_id in accepted:",
        "elif report.external_id in stored:",
        "tests/ratings/test_recording.py::test_same_report_twice_in_a_batch_is_recorded_once",
    ),
    Mutant(
        "a match that moves is not looked for where it was",
        RERATING,
        "matches += [edit.was for edit in self.edited.values()]",
        "pass",
        f"{CORRECTIONS}::test_each_fact_can_be_corrected_and_corrected_back",
    ),
    Mutant(
        "what a re-rating takes back stays counted",
        RERATING,
        "count_result(self.replay.standings, match.entries, -1)",
        "pass",
        f"{CORRECTIONS}::test_counters_and_ratings_after_a_void_equal_a_rebuild",
    ),
    Mutant(
        "equal times have no order",
        RERATING,
        "return item[0].played_at, item[0].id",
        "return item[0].played_at, 0",
        f"{CORRECTIONS}::test_matches_of_equal_times_keep_their_order_through_corrections",
    ),
    Mutant(
        "a peak from after the position stays",
        RERATING,
        "standing.peak_elo, standing.peak_at = peaks[player]",
        "pass",
        "tests/ratings/test_history.py::test_any_order_of_arrival_in_any_batches_comes_to_the_same_bits",
    ),
    Mutant(
        "a re-rating forgets who met in the day before",
        RERATING,
        "ledger.read_recent(game, self.since, None if rewrite.staged else player_sets),",
        "ledger.read_recent(game, self.since, ()),",
        f"{CORRECTIONS}::test_void_matches_are_as_if_they_had_never_been",
    ),
    Mutant(
        "a snapshot is written whatever became of the history meanwhile",
        RERATING,
        'if not _differ(states, before, "rewrites"):',
        "if True:",
        f"{WAITING}::test_rerating_from_a_snapshot_takes_in_what_came_meanwhile",
    ),
    Mutant(
        "placing waiting matches at the end is no rewriting",
        RERATING,
        "is_rewrite=not run.is_append or bool(rewrite.waiting)",
        "is_rewrite=not run.is_append",
        f"{WAITING}::test_rerating_from_a_snapshot_takes_in_what_came_meanwhile",
    ),
    Mutant(
        "what was appended meanwhile is not rated again",
        RERATING,
        "if appended is None:",
        "if True:",
        f"{WAITING}::test_rerating_from_a_snapshot_takes_in_what_came_meanwhile",
    ),
    Mutant(
        "a fold computes and writes without the lock",
        RERATING,
        "states = ledger.lock_games(runs.keys())",
        "states = ledger.read_states(runs.keys())",
        f"{WAITING}::test_folds_in_parallel_place_each_match_once",
    ),
    Mutant(
        "a confirmed preview may be an old one",
        CHANGES,
        "if expected is not None and expected.get(slug) != state.version:",
        "if expected is not None and expected.get(slug) is None:",
        f"{CORRECTIONS}::"
        "test_confirming_a_preview_that_is_no_longer_true_is_refused_with_a_fresh_one",
    ),
    Mutant(
        "a file newest first is rated as it is listed",
        STAGING,
        "rows = sorted(map(_to_row, new), key=_position)",
        "rows = list(map(_to_row, new))",
        f"{IMPORTING}::test_order_of_a_file_comes_to_the_same_as_the_order_of_history",
    ),
    Mutant(
        "runs that overlap are read one after the other",
        STAGING,
        "run.last < following.first for run, following in pairwise(runs)",
        "run.first < following.first for run, following in pairwise(runs)",
        f"{IMPORTING}::test_order_of_a_file_comes_to_the_same_as_the_order_of_history",
    ),
    Mutant(
        "what was reported while a file was imported is not rated again",
        RERATING,
        "appended = ledger.first_appended(state.game, run.end)",
        "appended = None",
        f"{IMPORTING}::test_reports_are_recorded_while_a_file_is_imported_and_count_too",
    ),
    Mutant(
        "a file is appended to a history that was rewritten meanwhile",
        RERATING,
        'if _differ(before, states, "rewrites"):',
        "if False:",
        f"{IMPORTING}::test_import_that_is_overtaken_begins_again",
    ),
    Mutant(
        "a new player of a file that somebody else made meanwhile is made again",
        RECORDING,
        "                raise Overtaken",
        "                pass",
        f"{IMPORTING}::test_import_that_is_overtaken_begins_again",
    ),
    Mutant(
        "the owner of a corrected match is the one of today",
        PROPOSALS,
        "**{entry.player: entry.owner for entry in old.entries},",
        "",
        f"{CORRECTIONS}::test_player_of_a_corrected_match_keeps_the_owner_of_its_day",
    ),
    Mutant(
        "a void match that is corrected counts again",
        PROPOSALS,
        "fact = ledger.fact_of(termination, is_void=old.fact == VOID)",
        "fact = ledger.fact_of(termination)",
        f"{CORRECTIONS}::test_void_match_can_be_corrected_and_counts_so_when_restored",
    ),
    Mutant(
        "a rating without matches stays",
        WRITING,
        "gone.append(player)",
        "pass",
        f"{CORRECTIONS}::test_rating_without_matches_is_removed_and_comes_back",
    ),
    Mutant(
        "whoever moves on a board is still counted where he was",
        WRITING,
        "moves += _moves(player, stored.standing, stored.sigma, stored.is_bot, -1)",
        "pass",
        "tests/ratings/test_history.py::test_late_result_is_rated_in_its_place",
    ),
    Mutant(
        "the board's sigma is that of now",
        WRITING,
        "sigma = decay.sigma_at(standing.sigma, standing.last_played_at, state.decayed_to)",
        "sigma = decay.sigma_at(standing.sigma, standing.last_played_at, decay.current_monday())",
        "tests/ratings/test_decay.py::test_recording_after_a_run_projects_to_its_monday",
    ),
    Mutant(
        "a match is rated from the sigma of now",
        "ratings/systems/replay.py",
        "return (self.elo, self.mu, decay.sigma_at(self.sigma, self.last_played_at, at))",
        "return (self.elo, self.mu, decay.sigma_at(self.sigma, self.last_played_at, "
        "decay.current_monday()))",
        "tests/ratings/test_decay.py::"
        "test_match_is_rated_from_the_sigma_of_its_own_time_whatever_was_run",
    ),
    Mutant(
        "decay goes back to an earlier Monday",
        "ratings/decay.py",
        "if monday <= state.decayed_to:",
        "if monday == state.decayed_to:",
        "tests/ratings/test_decay.py::test_decay_of_an_earlier_moment_changes_nothing",
    ),
    Mutant(
        "decay forgets the grace of thirty days",
        "ratings/systems/decay.py",
        "grace_ends = (last_played_at - _FIRST_MONDAY + GRACE) // WEEK",
        "grace_ends = (last_played_at - _FIRST_MONDAY) // WEEK",
        "tests/ratings/systems/test_decay.py::test_sigma_at_of_public_reports",
    ),
    Mutant(
        "whoever has been idle for just the days allowed is off the board",
        "ratings/ledger/rows.py",
        "return since is None or last_played_at >= since",
        "return since is None or last_played_at > since",
        "tests/ratings/test_decay.py::"
        "test_player_leaves_the_board_after_the_idle_days_and_not_a_moment_sooner",
    ),
    Mutant(
        "ranks begin at nought",
        "ratings/standings.py",
        "return Standing(above + 1, listed, below)",
        "return Standing(above, listed, below)",
        "tests/ratings/test_standings.py::test_rank_is_the_same_wherever_it_is_asked",
    ),
]


def table() -> str:
    lines = ["| # | breakage | file | test that turns red |", "|---|---|---|---|"]
    for number, mutant in enumerate(MUTANTS, start=1):
        test = mutant.red.replace("tests/ratings/", "").replace("::", ": ")
        lines.append(f"| {number} | {mutant.what} | {mutant.file} | {test} |")
    return "\n".join(lines) + "\n"


def is_seen(mutant: Mutant, folder: Path) -> bool:
    """Whether the test turns red in a copy of the project that is broken so."""
    file = folder / mutant.file
    source = file.read_text()
    if source.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file} holds {source.count(mutant.old)} times: {mutant.old}")
    file.write_text(source.replace(mutant.old, mutant.new))
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, mutant.red], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):
            raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
        return done.returncode == 1
    finally:
        file.write_text(source)


def main() -> None:
    if "--table" in sys.argv:
        print(table(), end="")
        return
    wanted = [int(number) for number in sys.argv[1:]] or range(1, len(MUTANTS) + 1)
    with tempfile.TemporaryDirectory(prefix="naiply-mutants-") as temporary:
        folder = Path(temporary) / "project"
        shutil.copytree(PROJECT_FOLDER, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        os.environ.pop("DATABASE_URL", None)
        os.environ["NAIPLY_LOCAL_FOLDER"] = str(Path(temporary) / "local")
        unseen = []
        for number in wanted:
            mutant = MUTANTS[number - 1]
            seen = is_seen(mutant, folder)
            print(f"{number:3} {'red  ' if seen else 'GREEN'} {mutant.what}", flush=True)
            if not seen:
                unseen.append(number)
    raise SystemExit(f"Nobody saw {unseen}." if unseen else 0)


if __name__ == "__main__":
    main()
