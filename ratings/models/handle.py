from __future__ import annotations

from collections.abc import Collection
from functools import partial
from hashlib import blake2b
from secrets import token_bytes

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratings.names import (
    LONGEST_HANDLE,
    LONGEST_HANDLE_KEY,
    LONGEST_HANDLE_SKELETON,
    fold,
    skeleton,
)

DIGEST_BYTES = 16


class FormerHandle(models.Model):
    """What a player was called once: it leads to him, and nobody else gets it.

    `handle_skeleton` is empty (NULL) where another former handle of the same player looks alike
    and holds it already.
    """

    handle = models.CharField(_("handle"), max_length=LONGEST_HANDLE)
    handle_key = models.CharField(max_length=LONGEST_HANDLE_KEY, unique=True, editable=False)
    handle_skeleton = models.CharField(
        max_length=LONGEST_HANDLE_SKELETON, unique=True, blank=True, null=True, editable=False
    )
    player = models.ForeignKey(
        "ratings.Player",
        verbose_name=_("player"),
        on_delete=models.PROTECT,
        related_name="former_handles",
    )
    since = models.DateTimeField(_("former since"), default=timezone.now)

    class Meta:
        verbose_name = _("former handle")
        verbose_name_plural = _("former handles")
        ordering = ["-since", "-id"]
        constraints = [
            models.CheckConstraint(
                name="former_handle_not_empty", condition=~Q(handle="") & ~Q(handle_key="")
            ),
        ]

    def __str__(self) -> str:
        return self.handle


class DigestKey(models.Model):
    """The secret of this installation that goes into every digest of a forgotten name.

    One row, made when it is first needed. Not SECRET_KEY: that one is replaced when it leaks, and
    then every forgotten name would be free again.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    key = models.BinaryField(default=partial(token_bytes, 32))

    class Meta:
        # Translators: the secret by which forgotten names are recognised without being stored.
        verbose_name = _("digest key")
        verbose_name_plural = _("digest keys")
        constraints = [models.CheckConstraint(name="digest_key_only_one", condition=Q(id=1))]

    def __str__(self) -> str:
        return "digest key"


type Name = tuple[str, ...]
"""("handle", key), ("skeleton", skeleton) or ("alias", id of the source, folded player id)."""


class ForgottenName(models.Model):
    """What an anonymised player was called, as a digest: recognised, and legible to nobody."""

    digest = models.CharField(max_length=2 * DIGEST_BYTES, unique=True)
    player = models.ForeignKey(
        "ratings.Player",
        verbose_name=_("player"),
        on_delete=models.PROTECT,
        related_name="forgotten_names",
    )

    class Meta:
        verbose_name = _("forgotten name")
        verbose_name_plural = _("forgotten names")

    def __str__(self) -> str:
        return self.digest


def handle_taken(handle: str) -> str:
    """The sentence for a handle that somebody else has or had, or that looks like such a one."""
    return gettext('The handle "%(handle)s" is taken, or looks like one that is.') % {
        "handle": handle
    }


def is_former_of_another(handle: str, player_id: int | None) -> bool:
    """Whether somebody else was called so once, or something that looks like it."""
    former = FormerHandle.objects.filter(
        Q(handle_key=fold(handle)) | Q(handle_skeleton=skeleton(handle))
    )
    owners = {*former.values_list("player_id", flat=True)}
    owners |= set(find_forgotten(handle_names(handle)).values())
    return not owners <= {player_id}


def handle_names(handle: str) -> list[Name]:
    """The two names under which a handle is forgotten."""
    return [("handle", fold(handle)), ("skeleton", skeleton(handle))]


def alias_name(source_id: int, key: str) -> Name:
    """The name under which a source's player id is forgotten."""
    return ("alias", str(source_id), key)


def forget_names(player_id: int, names: Collection[Name]) -> None:
    """Keeps the digests of the player's names, so that they are known to have been somebody's."""
    key, _is_new = DigestKey.objects.get_or_create()
    ForgottenName.objects.bulk_create(
        [ForgottenName(digest=_digest(name, key), player_id=player_id) for name in sorted(names)],
        ignore_conflicts=True,
    )


def find_forgotten(names: Collection[Name]) -> dict[Name, int]:
    """Whose names these were, by player id; those that nobody forgot are left out."""
    key = DigestKey.objects.first() if names else None
    if key is None:
        return {}
    by_digest = {_digest(name, key): name for name in names}
    rows = ForgottenName.objects.filter(digest__in=by_digest.keys())
    return {by_digest[digest]: player for digest, player in rows.values_list("digest", "player_id")}


def _digest(name: Name, key: DigestKey) -> str:
    text = "\n".join(name).encode()
    return blake2b(text, key=bytes(key.key), digest_size=DIGEST_BYTES).hexdigest()
