"""A process that folds games in children of its own, and kills them where it is told to.

For each line that it reads, `<game slug> <step>`, a child folds the game and prints the step once
it is there: a function of the ledger that it is about to call, or with a + has just called; `end`
is the end; `never` it says at once and stops nowhere. The next line that comes has it killed.
"""

import os
import signal
import sys
import traceback

import django


def fold(slug: str, step: str) -> None:
    def stop() -> None:
        print(step, flush=True)
        signal.pause()

    def stopping(*args, **kwargs):
        result = real(*args, **kwargs) if step.endswith("+") else None
        stop()
        return result

    path, _, name = step.rstrip("+").rpartition(".")
    room = getattr(ledger, path) if path else ledger
    if step == "never":
        print(step, flush=True)
    elif step != "end":
        real = getattr(room, name)
        setattr(room, name, stopping)
    recording.MOST_RERATED = 1
    recording.fold_waiting(Game.objects.get(slug=slug))
    if step == "end":
        stop()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "naiply.settings"
    django.setup()
    # Not before Django knows its database.
    from ratings import ledger, recording
    from ratings.models import Game

    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            try:
                fold(*line.split())
            except Exception:
                traceback.print_exc()
            finally:
                print("it is over", flush=True)
                os._exit(0)
        sys.stdin.readline()
        # Not the test: only the parent knows that the number is still this child's.
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("killed", flush=True)
