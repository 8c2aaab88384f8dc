"""Background jobs. Each may run twice, late, or beside another of its kind."""

from celery import shared_task

from ratings import decay


@shared_task(name="ratings.tasks.apply_decay")
def apply_decay() -> int:
    """Brings every game's uncertainty up to the last Monday; how many ratings changed."""
    return decay.apply_decay()
