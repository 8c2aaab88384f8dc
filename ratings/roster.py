"""Who the players are: the one function each to change a player's status, names, owner and kind.

Each is one transaction that holds the locks of all games while it runs: a first match in a game
where the player has none yet would otherwise be listed by what he was before. It keeps the boards
true, announces the games that show him, and changes nobody else's numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from secrets import randbelow

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from ratings import ledger
from ratings.models import (
    Bot,
    BotVersion,
    FormerHandle,
    Game,
    GameState,
    Participation,
    Player,
    PlayerAlias,
    PlayerStatus,
    Source,
    User,
)
from ratings.models.handle import (
    alias_name,
    find_forgotten,
    forget_names,
    handle_names,
    handle_taken,
    is_former_of_another,
)
from ratings.names import clean_player_id, fold, skeleton

DELETED = "deleted"
"""What the handle of an anonymised player begins with."""

DELETED_NAME = "deleted player"
"""What stands for his name; pages show `Player.display_name`, which is translated."""

NAME_FIELDS = ("handle", "handle_key", "handle_skeleton", "name", "search_key")


def retire_player(*, player: Player) -> None:
    """Takes the player off the boards, until he is reactivated, even if he plays on."""
    _set_status(player, PlayerStatus.RETIRED)


def freeze_player(*, player: Player) -> None:
    """Takes the player off the boards; no report with him is accepted until that ends."""
    _set_status(player, PlayerStatus.FROZEN)


def hide_player(*, player: Player) -> None:
    """Takes the player off the boards and his profile from view. He may play on."""
    _set_status(player, PlayerStatus.HIDDEN)


def reactivate_player(*, player: Player) -> None:
    """Brings a retired, frozen or hidden player back to the boards he belongs on."""
    _set_status(player, PlayerStatus.ACTIVE)


def rename_player(*, player: Player, handle: str | None = None, name: str | None = None) -> None:
    """Gives the player another handle, another name, or both; None leaves one as it is.

    The handle he had leads to him for ever and is nobody else's; he may take it back himself.
    What the sources call him stays. ValidationError where the handle or the name is not valid, or
    the handle is somebody else's, or was.
    """
    with _changing(player) as (current, states):
        former = current.handle
        current.handle = former if handle is None else handle
        current.name = current.name if name is None else name
        check_player(current)
        if current.handle_key != fold(former):
            _keep_former(current, former)
        _save(current, *NAME_FIELDS)
        _announce(states, current)


def anonymise_player(*, player: Player) -> None:
    """Forgets who the player was, for good. His matches stay, and so do everybody's numbers.

    Name, handles and the sources' ids are kept as digests alone: a later report with one of the
    ids is refused, and nobody gets one of the handles. The account is let go of, but the ledger
    still says that it answered for him, or matches between its players would become rated.
    """
    with _changing(player) as (current, states):
        _forget(current)
        current.handle = _handle_of_nobody(current)
        current.name = DELETED_NAME
        current.status = PlayerStatus.ANONYMISED
        current.owner = None
        check_player(current)
        _save(current, *NAME_FIELDS, "status", "owner")
        _write_facts(states, current)


def change_owner(*, player: Player, owner: User | None) -> None:
    """Gives the player, or the bot, to another account, or to none.

    For the matches accepted from now on: those before keep whoever answered for him then.
    """
    with _changing(player) as (current, states):
        current.owner = owner
        _save(current, "owner")
        Bot.objects.filter(player=current).update(is_house=owner is None)
        _announce(states, current)


def change_kind(*, player: Player, is_bot: bool) -> None:
    """Makes a bot of a person or a person of a bot, and moves him from board to board.

    What a bot has beyond a player is kept meanwhile, should it have been a mistake.
    """
    with _changing(player) as (current, states):
        if is_bot:
            is_house = current.owner_id is None
            Bot.objects.get_or_create(player=current, defaults={"is_house": is_house})
        current.is_bot = is_bot
        _save(current, "is_bot")
        _write_facts(states, current)


@transaction.atomic
def add_alias(*, player: Player, source: Source, external_id: str) -> PlayerAlias:
    """Joins another id of a source to the player; the alias, also where it was his already.

    ValidationError where the id is not usable, or is somebody else's, or was.
    """
    # An anonymising at the same moment waits, or it would leave this id behind.
    current = Player.objects.select_for_update(no_key=True).get(pk=player.pk)
    _refuse_anonymised(current)
    cleaned = check_alias(player=current, source=source, external_id=external_id)
    alias, _is_new = PlayerAlias.objects.get_or_create(
        source=source, key=fold(cleaned), defaults={"external_id": cleaned, "player": current}
    )
    if alias.player_id != current.pk:  # made between the check and here
        raise ValidationError(_somebody_elses(source, cleaned))
    return alias


def check_alias(*, player: Player, source: Source, external_id: str) -> str:
    """The id as it is stored. ValidationError unless the source may call the player so."""
    try:
        cleaned = clean_player_id(external_id)
    except ValueError as error:
        raise ValidationError(str(error)) from None
    key = fold(cleaned)
    owner = PlayerAlias.objects.filter(source=source, key=key).values_list("player_id", flat=True)
    is_free = not owner and not find_forgotten([alias_name(source.pk, key)])
    if not is_free and list(owner) != [player.pk]:
        raise ValidationError(_somebody_elses(source, cleaned))
    return cleaned


def _somebody_elses(source: Source, external_id: str) -> str:
    return _('The source "%(source)s" calls somebody else "%(id)s".') % {
        "source": source.name,
        "id": external_id,
    }


def release_version(*, bot: Bot, label: str, released_at: datetime | None = None) -> BotVersion:
    """A new version of the bot, released now unless said otherwise.

    ValidationError where the label is not valid or the bot has it already.
    """
    with _changing(bot.player) as (current, states):
        version = BotVersion(
            bot=bot, label=label.strip(), released_at=released_at or datetime.now(UTC)
        )
        version.full_clean()
        version.save()
        _announce(states, current)
    return version


@transaction.atomic
def announce_player(*, player: Player) -> None:
    """Moves on the version of every game that shows the player, for what is written elsewhere."""
    _announce(ledger.lock_games(Game.objects.values_list("slug", flat=True)).values(), player)


def check_player(player: Player) -> None:
    """ValidationError, by field, unless the player's handle and name may be his."""
    try:
        player.full_clean()
    except ValidationError as error:
        problems = error.message_dict
        taken = [problems.pop(field, None) for field in ("handle_key", "handle_skeleton")]
        if any(taken):
            problems["handle"] = [handle_taken(player.handle)]
        raise ValidationError(problems) from None


@contextmanager
def _changing(player: Player) -> Iterator[tuple[Player, Collection[GameState]]]:
    """The player as he is now, to be changed, and the states of all games, locked.

    The caller's object shows the change once it is made. Nothing of an anonymised player changes.
    """
    with transaction.atomic():
        states = ledger.lock_games(Game.objects.values_list("slug", flat=True))
        current = Player.objects.select_for_update(no_key=True).get(pk=player.pk)
        _refuse_anonymised(current)
        yield current, states.values()
        player.refresh_from_db()


def _refuse_anonymised(player: Player) -> None:
    if player.status == PlayerStatus.ANONYMISED:
        raise ValidationError(_("This player was deleted: nothing of that can be changed."))


def _set_status(player: Player, status: PlayerStatus) -> None:
    with _changing(player) as (current, states):
        if current.status != status:
            current.status = status
            _save(current, "status")
            _write_facts(states, current)


def _save(player: Player, *fields: str) -> None:
    try:
        with transaction.atomic():
            player.save(update_fields=fields)
    except IntegrityError:
        # Whoever makes players without a lock took the handle between the check and here.
        raise ValidationError({"handle": handle_taken(player.handle)}) from None


def _keep_former(player: Player, handle: str) -> None:
    """Keeps a handle that the player gives up, and no longer the one that he takes back."""
    FormerHandle.objects.filter(player=player, handle_key=player.handle_key).delete()
    look = skeleton(handle)
    is_kept = FormerHandle.objects.filter(handle_skeleton=look).exists()
    FormerHandle.objects.create(
        player=player,
        handle=handle,
        handle_key=fold(handle),
        handle_skeleton=None if is_kept else look,
    )


def _forget(player: Player) -> None:
    """Turns everything that the player is or was called into digests."""
    former = FormerHandle.objects.filter(player=player)
    aliases = PlayerAlias.objects.filter(player=player)
    handles = [player.handle, *former.values_list("handle", flat=True)]
    names = {name for handle in handles for name in handle_names(handle)}
    names |= {alias_name(*alias) for alias in aliases.values_list("source_id", "key")}
    forget_names(player.pk, names)
    former.delete()
    aliases.delete()
    # The admin's log calls what was changed by its name.
    types = ContentType.objects.get_for_models(Player, Bot).values()
    LogEntry.objects.filter(content_type__in=types, object_id=str(player.pk)).update(
        object_repr=DELETED_NAME, change_message=""
    )


def _handle_of_nobody(player: Player) -> str:
    while True:
        handle = f"{DELETED}-{randbelow(10**8):08}"
        alike = Q(handle_key=fold(handle)) | Q(handle_skeleton=skeleton(handle))
        is_free = not Player.objects.filter(alike).exists()
        if is_free and not is_former_of_another(handle, player.pk):
            return handle


def _write_facts(states: Iterable[GameState], player: Player) -> None:
    """Puts what decides who is listed, and where, into the player's ratings and the counts."""
    for state in states:
        old = ledger.read_ratings(state.game, [player.pk])
        if old:
            ledger.write_ratings(state, {player.pk: old[player.pk].standing}, old)
    _announce(states, player)


def _announce(states: Iterable[GameState], player: Player) -> None:
    for state in states:
        if Participation.objects.filter(player=player, game=state.game_id).exists():
            ledger.announce(state)
