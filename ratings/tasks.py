"""Background jobs. Each may run twice, late, or beside another of its kind."""

import logging

from celery import shared_task

from ratings import decay, download, history, jobs, queued_changes, recording
from ratings.jobs import matches_done
from ratings.models import Game, JobKind

logger = logging.getLogger(__name__)


@shared_task(name="ratings.tasks.apply_decay")
def apply_decay() -> int:
    """Brings every game's uncertainty up to the last Monday; how many ratings changed."""
    return decay.apply_decay()


@shared_task(name="ratings.tasks.fold_waiting")
def fold_waiting() -> int:
    """Puts the reports that wait into the histories of their games; how many. One query if none."""
    folded = 0
    for game in recording.find_waiting_games():
        try:
            with jobs.watched(jobs.job(JobKind.FOLDING, game.slug)) as watch:
                count = matches_done(watch, recording.count_to_rate(game))
                folded += recording.fold_waiting(game, on_match=count)
        except Exception:  # the other games' reports have waited as long
            logger.exception("The waiting reports of %s could not be folded in.", game.slug)
    return folded


@shared_task(name="ratings.tasks.change_history")
def change_history(job_id: int) -> None:
    """Carries out a proposal of staff that is too long to wait for; once, however often asked."""
    queued_changes.carry_out(job_id)


@shared_task(name="ratings.tasks.check_games")
def check_games() -> None:
    """Has each game verified and its download written, one job each: others go in between."""
    for game_id in Game.objects.values_list("pk", flat=True):
        verify_game.delay(game_id)
        write_download.delay(game_id)


@shared_task(name="ratings.tasks.verify_game")
def verify_game(game_id: int) -> int:
    """Replays a game and keeps what differs; how many numbers do."""
    run = history.run_verification(Game.objects.get(pk=game_id))
    if not run.is_clean:
        logger.error(
            "%d stored numbers of %s differ from its replay. First: %s",
            run.difference_count,
            run.game.slug,
            run.differences[0],
        )
    return run.difference_count


@shared_task(name="ratings.tasks.write_download")
def write_download(game_id: int) -> None:
    """Writes a game's history into the file that the site offers."""
    download.write_download(Game.objects.get(pk=game_id))
