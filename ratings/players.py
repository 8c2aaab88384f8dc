"""Who a source's player ids are, and the making of players nobody knew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from ratings.ledger.cursors import cursor_for
from ratings.models import (
    Bot,
    FormerHandle,
    Player,
    PlayerAlias,
    PlayerStatus,
    Source,
    User,
)
from ratings.models.handle import alias_name, find_forgotten, handle_names, handle_taken
from ratings.names import (
    LONGEST_HANDLE,
    UNNAMED,
    fold,
    search_key,
    skeleton,
    suggest_handle,
    validate_name,
)


@dataclass(frozen=True, slots=True)
class KnownPlayer:
    """What recording needs of a player."""

    id: int
    is_bot: bool
    status: str
    owner_id: int | None

    @property
    def may_play(self) -> bool:
        """Retired and hidden players may, and stay off the boards; the others may not."""
        return self.status not in (PlayerStatus.FROZEN, PlayerStatus.ANONYMISED)


def find_players(source: Source, player_ids: Iterable[str]) -> dict[str, KnownPlayer]:
    """The players that a source knows by these ids, by folded id; unknown ids are left out.

    Also those who were anonymised since, so that their ids do not make new players.
    """
    keys = {fold(player_id) for player_id in player_ids}
    with cursor_for(len(keys)) as cursor:
        # Plain SQL: every single report asks this, and a queryset takes longer than its query.
        cursor.execute(
            """
            SELECT alias.key, player.id, player.is_bot, player.status, player.owner_id
              FROM ratings_playeralias alias JOIN ratings_player player ON player.id = player_id
             WHERE alias.source_id = %s AND alias.key = ANY(%s)
            """,
            [source.pk, list(keys)],
        )
        known = {key: KnownPlayer(*row) for key, *row in cursor}
    # After the aliases: whoever made digests of some has committed the digests with it.
    forgotten = find_forgotten([alias_name(source.pk, key) for key in keys - known.keys()])
    if forgotten:
        gone = Player.objects.filter(pk__in=forgotten.values()).values_list(
            "pk", "is_bot", "status", "owner_id"
        )
        by_id = {pk: KnownPlayer(pk, *row) for pk, *row in gone}
        known |= {name[-1]: by_id[pk] for name, pk in forgotten.items()}
    return known


class FoundPlayer(NamedTuple):
    """A player found by a handle, and whether that handle is still his."""

    player: Player
    is_current: bool


def find_by_handle(handle: str) -> FoundPlayer | None:
    """The player who has this handle, however it is written, or who once had it."""
    key = fold(handle)
    players = Player.objects.select_related("bot")
    if player := players.filter(handle_key=key).first():
        return FoundPlayer(player, is_current=True)
    if player := players.filter(former_handles__handle_key=key).first():
        return FoundPlayer(player, is_current=False)
    return None


def find_called(handles: Iterable[str]) -> dict[str, Player]:
    """By folded handle, in any spelling: whoever is called so, or else was once; bots loaded.

    One query, and one more where nobody is called so today.
    """
    keys = {fold(handle) for handle in handles}
    players = Player.objects.select_related("bot")
    found = {player.handle_key: player for player in players.filter(handle_key__in=keys)}
    if missing := keys - found.keys():
        former = FormerHandle.objects.filter(handle_key__in=missing)
        for handle in former.select_related("player__bot"):
            found[handle.handle_key] = handle.player
    return found


def reserve_player_ids(count: int) -> list[int]:
    """Numbers for players that are to be made, ascending."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT nextval(sequence)
              FROM generate_series(1, %s),
                   (SELECT pg_get_serial_sequence('ratings_player', 'id')::regclass)
                   AS of (sequence)
            """,
            [count],
        )
        return [id for (id,) in cursor.fetchall()]


def create_players(
    source: Source, player_ids: Mapping[str, str], reserved: Mapping[str, int] | None = None
) -> None:
    """Makes a person for each id (by folded id) that the source's aliases do not know yet.

    The handle is the id where that is valid and free, else one as near to it as can be. Rows go
    in by key order, the order in which every writer takes them, and an id that another
    transaction makes at the same moment becomes that transaction's player, not a second one.
    `reserved` are the numbers they get, by folded id, where those were settled before.
    """
    wanted = dict(sorted(player_ids.items()))
    reserved = reserved or {}
    attempt = 1
    while wanted:
        candidates = {key: _candidate(wanted[key], attempt) for key in wanted}
        taken = _taken_handles(candidates.values())
        # After the handles, not before: whoever took one has committed its alias with it.
        for key in find_players(source, wanted.values()):
            del wanted[key]
        keys_by_handle: dict[str, str] = {}
        for key, handle in candidates.items():
            if key in wanted and fold(handle) not in taken[0] and skeleton(handle) not in taken[1]:
                keys_by_handle.setdefault(handle, key)
        made = _insert_players(
            {handle: (reserved.get(key), wanted[key]) for handle, key in keys_by_handle.items()}
        )
        _insert_aliases(
            source,
            [
                (key, wanted.pop(key), made[fold(handle)])
                for handle, key in keys_by_handle.items()
                if fold(handle) in made
            ],
        )
        attempt += 1


def _candidate(player_id: str, attempt: int) -> str:
    """The handle to try: first the id itself, then with digits that follow from the id.

    Four of them, and more with every few attempts: a source's ids may all begin with the same 40
    characters, and then every handle needs digits of its own.
    """
    handle = suggest_handle(player_id)
    if attempt == 1 and handle != UNNAMED:
        return handle
    length = 4 + attempt // 4
    digest = blake2b(f"{attempt} {fold(player_id)}".encode(), digest_size=16).digest()
    suffix = f"-{int.from_bytes(digest) % 10**length:0{length}}"
    nearest = suggest_handle(handle[: LONGEST_HANDLE - len(suffix)] + suffix)
    return UNNAMED + suffix if nearest == UNNAMED else nearest


def _taken_handles(handles: Iterable[str]) -> tuple[set[str], set[str]]:
    """Which of the handles' keys, and which of their skeletons, are somebody's or were."""
    handles = list(handles)
    keys = {fold(handle) for handle in handles}
    looks = {skeleton(handle) for handle in handles}
    taken_keys: set[str] = set()
    taken_looks: set[str] = set()
    # In this order: a handle that is given up becomes a former one, and then perhaps a digest.
    for model in (Player, FormerHandle):
        rows = model._default_manager.all()
        taken_keys |= {*rows.filter(handle_key__in=keys).values_list("handle_key", flat=True)}
        taken_looks |= {
            *rows.filter(handle_skeleton__in=looks).values_list("handle_skeleton", flat=True)
        }
    for kind, text in find_forgotten([name for h in handles for name in handle_names(h)]):
        (taken_keys if kind == "handle" else taken_looks).add(text)
    return taken_keys, taken_looks


def _insert_players(new: Mapping[str, tuple[int | None, str]]) -> dict[str, int]:
    """Ids by handle key of those that nobody else inserted first.

    `new` has, by handle, the id where it is reserved, and the name.
    """
    handles = sorted(new, key=fold)
    shown = [_name(new[handle][1], handle) for handle in handles]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ratings_player
                (id, handle, handle_key, handle_skeleton, name, search_key, is_bot, status,
                 created_at)
            SELECT coalesce(id, nextval(pg_get_serial_sequence('ratings_player', 'id'))),
                   handle, handle_key, handle_skeleton, name, search_key, false, 'active', now()
              FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[])
                   AS new (id, handle, handle_key, handle_skeleton, name, search_key)
            ON CONFLICT DO NOTHING
            RETURNING handle_key, id
            """,
            [
                [new[handle][0] for handle in handles],
                handles,
                [fold(handle) for handle in handles],
                [skeleton(handle) for handle in handles],
                shown,
                [search_key(handle, name) for handle, name in zip(handles, shown, strict=True)],
            ],
        )
        return dict(cursor.fetchall())


def _name(player_id: str, handle: str) -> str:
    try:
        validate_name(player_id)
    except ValidationError:
        return handle
    return player_id


def _insert_aliases(source: Source, aliases: Iterable[tuple[str, str, int]]) -> None:
    PlayerAlias.objects.bulk_create(
        PlayerAlias(source=source, key=key, external_id=external_id, player_id=player)
        for key, external_id, player in aliases
    )


@transaction.atomic
def create_bot(
    *,
    handle: str,
    name: str,
    difficulty: str = "",
    author: User | None = None,
    source: Source | None = None,
) -> Bot:
    """A new bot; a house bot where it has no author. `source` knows it by its handle.

    ValidationError where the handle or the name is not valid, or the handle is taken.
    """
    player = Player(handle=handle, name=name, is_bot=True, owner=author)
    player.full_clean()
    player.save()
    bot = Bot(player=player, difficulty=difficulty, is_house=author is None)
    bot.full_clean()
    bot.save()
    if source is not None:
        if find_forgotten([alias_name(source.pk, fold(handle))]):
            raise ValidationError({"handle": handle_taken(handle)})
        PlayerAlias.objects.create(
            source=source, key=fold(handle), external_id=handle, player=player
        )
    return bot
