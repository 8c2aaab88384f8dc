from __future__ import annotations

from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Cast
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ratings.systems.openskill import PARAMETERS as OPENSKILL
from ratings.systems.openskill import displayed_rating

PROVISIONAL_BELOW = 10


class System(models.TextChoices):
    ELO = "elo", "Elo"
    OPENSKILL = "openskill", "OpenSkill"


def whole(expression: models.expressions.Combinable) -> Cast:
    """The expression as a whole number, half to even, as PostgreSQL's round(float8) does."""
    return Cast(Func(expression, function="ROUND", arity=1), models.IntegerField())


class Rating(models.Model):
    """A player's standing in one game: a projection of the ledger, rebuilt by any replay of it.

    It exists only with at least one rated match. `sigma_settled` is sigma after the last one;
    `sigma` is its projection, decay included, to the game's `decayed_to`.
    """

    player = models.ForeignKey(
        "ratings.Player",
        verbose_name=_("player"),
        on_delete=models.PROTECT,
        related_name="ratings",
        db_index=False,
    )
    game = models.ForeignKey(
        "ratings.Game",
        verbose_name=_("game"),
        on_delete=models.PROTECT,
        related_name="ratings",
        db_index=False,
    )
    elo = models.FloatField("Elo")
    mu = models.FloatField("mu")
    sigma_settled = models.FloatField(_("sigma after the last match"))
    sigma = models.FloatField("sigma")
    elo_shown = models.GeneratedField(
        expression=whole(F("elo")), output_field=models.IntegerField(), db_persist=True
    )
    # The same arithmetic as displayed_rating(), in the same order, so that the bits agree.
    openskill = models.GeneratedField(
        expression=displayed_rating(F("mu"), F("sigma")),
        output_field=models.FloatField(),
        db_persist=True,
    )
    openskill_shown = models.GeneratedField(
        expression=whole(displayed_rating(F("mu"), F("sigma"))),
        output_field=models.IntegerField(),
        db_persist=True,
    )
    won = models.PositiveIntegerField(pgettext_lazy("number of matches", "won"), default=0)
    drawn = models.PositiveIntegerField(pgettext_lazy("number of matches", "drawn"), default=0)
    lost = models.PositiveIntegerField(pgettext_lazy("number of matches", "lost"), default=0)
    peak_elo = models.FloatField(_("highest Elo"))
    peak_at = models.DateTimeField(_("highest Elo reached at"))
    last_played_at = models.DateTimeField(_("last played at"))
    is_bot = models.BooleanField(_("bot"))
    is_listed = models.BooleanField(_("on the board"))

    class Meta:
        verbose_name = _("rating")
        verbose_name_plural = _("ratings")
        constraints = [
            models.UniqueConstraint(fields=["player", "game"], name="rating_once_per_game"),
            models.CheckConstraint(
                name="rating_has_matches",
                condition=Q(won__gt=0) | Q(drawn__gt=0) | Q(lost__gt=0),
            ),
            models.CheckConstraint(
                name="rating_finite",
                condition=Q(
                    elo__range=(-1e12, 1e12),
                    mu__range=(-1e12, 1e12),
                    sigma_settled__range=(1e-12, OPENSKILL.sigma),
                    sigma__range=(F("sigma_settled"), OPENSKILL.sigma),
                    peak_elo__range=(F("elo"), 1e12),
                ),
            ),
        ]
        indexes = [
            models.Index(
                "game",
                F("elo_shown").desc(),
                F("elo").desc(),
                "player",
                name="board_elo",
                condition=Q(is_listed=True),
            ),
            models.Index(
                "game",
                "is_bot",
                F("elo_shown").desc(),
                F("elo").desc(),
                "player",
                name="board_elo_by_kind",
                condition=Q(is_listed=True),
            ),
            models.Index(
                "game",
                F("openskill_shown").desc(),
                F("openskill").desc(),
                "player",
                name="board_openskill",
                condition=Q(is_listed=True),
            ),
            models.Index(
                "game",
                "is_bot",
                F("openskill_shown").desc(),
                F("openskill").desc(),
                "player",
                name="board_openskill_by_kind",
                condition=Q(is_listed=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.player_id} in {self.game_id}"

    @property
    def matches(self) -> int:
        """How many rated matches the player has in the game."""
        return self.won + self.drawn + self.lost

    @property
    def is_provisional(self) -> bool:
        return self.matches < PROVISIONAL_BELOW


class PointsCount(models.Model):
    """How many listed players of a kind show one whole number: what ranks are counted from.

    Kept in the transaction of every change by the game's only writer. Rows are never zero.
    """

    game = models.ForeignKey(
        "ratings.Game", verbose_name=_("game"), on_delete=models.PROTECT, db_index=False
    )
    system = models.CharField(max_length=9, choices=System)
    is_bot = models.BooleanField()
    shown = models.IntegerField()
    count = models.PositiveIntegerField()

    class Meta:
        # Translators: how many players of a board show one and the same number; “points” are rating
        # points.
        verbose_name = _("points count")
        verbose_name_plural = _("points counts")
        constraints = [
            models.UniqueConstraint(
                fields=["game", "system", "shown", "is_bot"], name="points_count_once"
            ),
            models.CheckConstraint(name="points_count_positive", condition=Q(count__gte=1)),
        ]

    def __str__(self) -> str:
        return f"{self.game_id} {self.system} {self.shown}: {self.count}"


class TieSegment(models.Model):
    """A stretch of a great tie, so that a page inside it is found without walking all of it.

    Only numbers that more than `ledger.LONGEST_WALK` share have segments. One begins at a place
    in the order of the board (exact rating descending, then player id) and ends where the next
    begins; the first begins at (infinity, 0). The counts are kept like those of PointsCount.
    """

    game = models.ForeignKey(
        "ratings.Game", verbose_name=_("game"), on_delete=models.PROTECT, db_index=False
    )
    system = models.CharField(max_length=9, choices=System)
    shown = models.IntegerField()
    from_exact = models.FloatField()
    from_player = models.BigIntegerField()
    people = models.PositiveIntegerField()
    bots = models.PositiveIntegerField()

    class Meta:
        # Translators: a part of a very long run of players who show the same number.
        verbose_name = _("tie segment")
        verbose_name_plural = _("tie segments")
        constraints = [
            models.UniqueConstraint(
                fields=["game", "system", "shown", "from_exact", "from_player"],
                name="tie_segment_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.game_id} {self.system} {self.shown} from {self.from_exact}"
