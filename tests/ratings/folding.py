"""A process that folds games and stops for good at a step, so that a test may kill it there.

Each line that it reads, `<game slug> <step>`, it does in a child of its own, and prints the
child's pid and the step once it is there. A step is a function of the ledger about to be called,
or with a + just called; `end` is the end; `never` prints the pid at once and stops nowhere.
"""

import os
import signal
import sys

import django


def fold(slug: str, step: str) -> None:
    def stop() -> None:
        print(os.getpid(), step, flush=True)
        signal.pause()

    def stopping(*args, **kwargs):
        result = real(*args, **kwargs) if step.endswith("+") else None
        stop()
        return result

    path, _, name = step.rstrip("+").rpartition(".")
    room = getattr(ledger, path) if path else ledger
    if step == "never":
        print(os.getpid(), step, flush=True)
    elif step != "end":
        real = getattr(room, name)
        setattr(room, name, stopping)
    recording.MOST_RERATED = 1
    recording.fold_waiting(Game.objects.get(slug=slug))
    stop()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "naiply.settings"
    django.setup()
    # Not before Django knows its database.
    from ratings import ledger, recording
    from ratings.models import Game

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            fold(*line.split())
        os.waitpid(child, 0)
