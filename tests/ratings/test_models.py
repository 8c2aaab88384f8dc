"""The database itself refuses what must not be, whoever writes it; and what models say of a row."""

from datetime import timedelta
from math import inf, nan, nextafter

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import CheckConstraint, F, ProtectedError, UniqueConstraint

from ratings.models import (
    Bot,
    BotVersion,
    CorrectedMatch,
    Correction,
    DigestKey,
    FormerHandle,
    Game,
    GameState,
    Job,
    Match,
    Participation,
    Player,
    PlayerAlias,
    PointsCount,
    Rating,
    Source,
    TieSegment,
    User,
)
from ratings.models.rating import PROVISIONAL_BELOW
from ratings.names import LONGEST_HANDLE_KEY, LONGEST_HANDLE_SKELETON, LONGEST_PLAYER_ID_KEY
from ratings.players import create_bot
from ratings.systems.decay import current_monday
from tests.ratings.builders import NOW, duel, make_source, open_game, record

pytestmark = pytest.mark.django_db

SKILLS = ("elo_before", "mu_before", "sigma_before", "elo_after", "mu_after", "sigma_after")
HIGHEST_SIGMA = 25 / 3


@pytest.fixture(autouse=True)
def stored():
    """One rated match, of ana against a bot, and one friendly match."""
    open_game("brisca")
    source = make_source()
    bot = create_bot(handle="bot-1", name="bot-1", source=source)
    BotVersion.objects.create(bot=bot, label="1.0", released_at=NOW)
    record(
        duel("ana", "bot-1", external_id="rated"),
        duel("ana", "bot-1", external_id="friendly", termination="friendly"),
        source=source,
    )
    TieSegment.objects.create(
        game=Game.objects.get(slug="brisca"),
        system="elo",
        shown=1216,
        from_exact=inf,
        from_player=0,
        people=1,
        bots=0,
    )
    correction = Correction.objects.create(
        game=Game.objects.get(slug="brisca"), kind="void", reason="forged", rerated=0
    )
    CorrectedMatch.objects.create(correction=correction, match=a_match().get(), before={}, after={})
    FormerHandle.objects.create(handle="anita", handle_key="anita", player=ana().get())


def rated_part():
    return Participation.objects.filter(match__external_id="rated", player__handle="ana")


def a_rating():
    return Rating.objects.filter(player__handle="ana")


def a_match():
    return Match.objects.filter(external_id="rated")


def friendly_match():
    return Match.objects.filter(external_id="friendly")


def ana():
    return Player.objects.filter(handle="ana")


def all_of(model):
    return model.objects.all()


def update(rows, **values):
    assert rows.update(**values) == 1


def copy(rows, **values):
    """Stores a second row like the first of these, but for what is given."""
    row = rows[0]
    row.pk = None
    row._state.adding = True
    for name, value in values.items():
        setattr(row, name, value)
    row.save(force_insert=True)


def violated(change):
    """The name of the constraint that the change runs into."""
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        at_once(change)
    return refused.value.__cause__.diag.constraint_name


def at_once(change):
    """Makes the change, and the checks that would wait for the end of the transaction."""
    change()
    connection.check_constraints()


def make_job(**fields):
    return Job.objects.create(**{"kind": "import", "what": "season.csv"} | fields)


REFUSED = {
    # Matches
    "match_once_per_source": [lambda: copy(a_match())],
    "match_history": [],  # never alone: the id is unique already
    "match_external_id_valid": [
        lambda: update(a_match(), external_id=""),
        lambda: update(a_match(), external_id=" "),
        lambda: update(a_match(), external_id="a b"),
        lambda: update(a_match(), external_id="a\n"),
        lambda: update(a_match(), external_id="ñ"),
        lambda: update(a_match(), external_id="a/b"),
    ],
    "match_termination_known": [
        lambda: update(a_match(), termination=""),
        lambda: update(a_match(), termination="won"),
    ],
    "match_status_known": [
        lambda: update(a_match(), status=""),
        lambda: update(a_match(), status="Rated"),
    ],
    "match_reason_only_when_unrated": [
        lambda: update(a_match(), reason="friendly"),
        lambda: update(a_match(), status="void", reason="friendly"),
        lambda: update(a_match(), status="waiting", reason="friendly"),
        lambda: update(a_match(), status="unrated"),
        lambda: update(friendly_match(), reason=""),
        lambda: update(friendly_match(), reason="bad weather"),
    ],
    "match_two_players_or_more": [
        lambda: update(a_match(), players=[1]),
        lambda: update(a_match(), players=[]),
    ],
    # Participations
    "participation_once": [lambda: copy(rated_part())],
    "participation_places": [lambda: update(rated_part(), place=0)],
    "participation_teams": [lambda: update(rated_part(), team=0)],
    "participation_all_or_nothing": [
        *(lambda name=name: update(rated_part(), **{name: None}) for name in SKILLS),
        *(
            lambda name=name: update(
                rated_part(), **{other: None for other in SKILLS if other != name}
            )
            for name in SKILLS
        ),
    ],
    "participation_finite": [
        *(
            lambda name=name, value=value: update(rated_part(), **{name: value})
            for name in SKILLS
            for value in (nan, inf, -inf, 1e13, -1e13)
        ),
        *(
            lambda name=name, value=value: update(rated_part(), **{name: value})
            for name in ("sigma_before", "sigma_after")
            for value in (nextafter(HIGHEST_SIGMA, inf), 0.0, -1.0)
        ),
    ],
    "participation_follows_match": [
        lambda: update(rated_part(), played_at=NOW - timedelta(microseconds=1)),
        lambda: update(rated_part(), game=Game.objects.get(slug="tute")),
        lambda: update(rated_part(), match=2**60),
    ],
    # Ratings
    "rating_once_per_game": [lambda: copy(a_rating())],
    "rating_has_matches": [lambda: update(a_rating(), won=0, drawn=0, lost=0)],
    "rating_finite": [
        *(
            lambda name=name, value=value: update(a_rating(), **{name: value})
            for name in ("sigma_settled", "peak_elo")
            for value in (nan, inf, -inf)
        ),
        lambda: update(a_rating(), sigma=nextafter(HIGHEST_SIGMA, inf)),
        lambda: update(
            a_rating(),
            sigma=nextafter(HIGHEST_SIGMA, inf),
            sigma_settled=nextafter(HIGHEST_SIGMA, inf),
        ),
        lambda: update(a_rating(), sigma=0.0, sigma_settled=0.0),
        lambda: update(a_rating(), sigma=F("sigma_settled") - 1e-9),
        lambda: update(a_rating(), peak_elo=F("elo") - 1e-9),
        lambda: update(a_rating(), elo=F("peak_elo") + 1e-9),
    ],
    # Boards
    "points_count_once": [lambda: copy(all_of(PointsCount))],
    "points_count_positive": [
        lambda: copy(all_of(PointsCount), shown=7, count=0),
    ],
    "tie_segment_once": [lambda: copy(all_of(TieSegment))],
    # Players
    "player_handle_not_empty": [
        lambda: update(ana(), handle=""),
        lambda: update(ana(), handle_key=""),
    ],
    "player_handle_is_a_path_segment": [
        lambda: update(ana(), handle="."),
        lambda: update(ana(), handle=".."),
        lambda: update(ana(), handle="a/b"),
        lambda: update(ana(), handle="a b"),
        lambda: update(ana(), handle="a?b"),
        lambda: update(ana(), handle="a#b"),
        lambda: update(ana(), handle="a%b"),
        lambda: update(ana(), handle="a\\b"),
        lambda: update(ana(), handle="a\n"),
    ],
    "player_name_not_empty": [lambda: update(ana(), name="")],
    "player_status_known": [
        lambda: update(ana(), status=""),
        lambda: update(ana(), status="deleted"),
    ],
    "alias_once_per_source": [lambda: copy(all_of(PlayerAlias))],
    "alias_key_not_empty": [lambda: copy(all_of(PlayerAlias), key="")],
    "bot_difficulty_known": [lambda: update(all_of(Bot), difficulty="harder")],
    "bot_version_label_once": [lambda: copy(all_of(BotVersion))],
    # Names given up
    "former_handle_not_empty": [
        lambda: update(all_of(FormerHandle), handle=""),
        lambda: update(all_of(FormerHandle), handle_key=""),
    ],
    "digest_key_only_one": [lambda: DigestKey.objects.create(id=2)],
    # Corrections
    "correction_kind_known": [lambda: update(all_of(Correction), kind="delete")],
    "correction_reason_known": [lambda: update(all_of(Correction), reason="because")],
    "corrected_once_at_a_time": [lambda: copy(all_of(CorrectedMatch))],
    # Jobs
    "job_kind_known": [lambda: make_job(kind="lunch")],
    "job_state_known": [lambda: make_job(state="tired")],
    "job_within_total": [lambda: make_job(done=2, total=1)],
    "job_finished_or_not": [
        lambda: make_job(state="done"),
        lambda: make_job(state="failed"),
        lambda: make_job(state="running", finished_at=NOW),
    ],
    # Games
    "game_player_counts": [
        lambda: update(Game.objects.filter(slug="brisca"), min_players=1),
        lambda: update(Game.objects.filter(slug="brisca"), min_players=5, max_players=4),
    ],
    "game_has_shapes": [lambda: update(Game.objects.filter(slug="brisca"), shapes=[])],
}


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, number) for name, changes in REFUSED.items() for number in range(len(changes))],
)
def test_row_that_must_not_be_is_refused_by_its_constraint(name, number):
    assert violated(REFUSED[name][number]) == name


def test_every_constraint_of_the_domain_is_tried():
    names = {
        constraint.name
        for model in apps.get_app_config("ratings").get_models()
        for constraint in model._meta.constraints
        if isinstance(constraint, CheckConstraint | UniqueConstraint)
    }

    assert names <= REFUSED.keys()


@pytest.mark.parametrize("column", ["handle_key", "handle_skeleton"])
def test_player_with_a_handle_that_is_taken_is_refused(column):
    other = {"handle_key": "x", "handle_skeleton": "x"} | {column: getattr(ana().get(), column)}

    name = violated(lambda: Player.objects.create(handle="x", name="x", **other))

    assert column in name


@pytest.mark.parametrize(
    "change",
    [
        lambda: copy(Source.objects.all()),
        lambda: copy(Game.objects.filter(slug="brisca")),
        lambda: GameState.objects.create(game=Game.objects.get(slug="brisca")),
        lambda: Bot.objects.create(player=Player.objects.get(handle="bot-1")),
    ],
    ids=["source", "game", "state", "bot"],
)
def test_row_that_is_there_already_is_refused(change):
    violated(change)


@pytest.mark.parametrize(
    "column", ["won", "drawn", "lost"] + [f"{name}_players" for name in ("min", "max")]
)
def test_count_below_zero_is_refused(column):
    rows = Game.objects.filter(slug="brisca") if "players" in column else a_rating()

    violated(lambda: update(rows, **{column: -1}))


@pytest.mark.parametrize("column", ["elo", "mu", "sigma"])
@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_rating_that_is_not_finite_is_refused_one_way_or_another(column, value):
    """What is shown is computed from it, and no whole number is near."""
    with (
        pytest.raises(Exception, match=r"out of range|violates check constraint"),
        transaction.atomic(),
    ):
        update(a_rating(), **{column: value})


DELETED = {
    "player": lambda: ana(),
    "bot": lambda: Player.objects.filter(handle="bot-1"),
    "source": lambda: Source.objects.all(),
    "game": lambda: Game.objects.filter(slug="brisca"),
    "match": lambda: a_match(),
    "owner": lambda: User.objects.all(),
}


@pytest.mark.parametrize("rows", DELETED.values(), ids=DELETED)
def test_row_that_history_stands_on_cannot_be_deleted(rows):
    owner = User.objects.create(username="owner")
    rated_part().update(owner=owner)

    with pytest.raises(ProtectedError):
        rows().delete()
    # Not even behind Django's back.
    violated(lambda: rows()._raw_delete("default"))


def test_bounds_of_the_numbers_are_allowed():
    update(a_rating(), sigma_settled=HIGHEST_SIGMA, sigma=HIGHEST_SIGMA, elo=-5.5, mu=-70.0)
    update(rated_part(), sigma_before=HIGHEST_SIGMA, sigma_after=HIGHEST_SIGMA)
    connection.check_constraints()

    rating = a_rating().get()
    assert (rating.elo_shown, rating.openskill_shown) == (-6, -780)
    assert rating.openskill == (-70.0 - HIGHEST_SIGMA * 3.0) * 24.0 + 1500.0


@pytest.mark.parametrize(
    ("elo", "shown"),
    [
        (1200.5, 1200),
        (1201.5, 1202),
        (1200.4999999999998, 1200),
        (1200.5000000000002, 1201),
        (-0.4, 0),
        (-0.5, 0),
        (-1.5, -2),
        (-2.5, -2),
        (0.0, 0),
    ],
)
def test_number_shown_is_rounded_half_to_even_as_python_does(elo, shown):
    update(a_rating(), elo=elo, peak_elo=2000.0)

    rating = a_rating().get()
    assert rating.elo_shown == shown == round(elo)


def test_match_that_moves_in_time_takes_its_ledger_along():
    update(a_match(), played_at=NOW - timedelta(days=1))
    connection.check_constraints()

    moved = Participation.objects.filter(match__external_id="rated")
    assert set(moved.values_list("played_at", flat=True)) == {NOW - timedelta(days=1)}


def test_keys_have_the_room_that_names_promises_them():
    assert Player._meta.get_field("handle_key").max_length == LONGEST_HANDLE_KEY
    assert Player._meta.get_field("handle_skeleton").max_length == LONGEST_HANDLE_SKELETON
    assert PlayerAlias._meta.get_field("key").max_length == LONGEST_PLAYER_ID_KEY


# What models say of a row


def test_new_game_has_a_state_to_lock():
    game = Game.objects.create(slug="mus", name="Mus", shapes=["2v2"], places_by="card-points")

    state = GameState.objects.get(game=game)
    assert (state.version, state.engine) == (0, "")
    assert state.decayed_to == current_monday()


def test_game_that_is_saved_again_keeps_its_state():
    game = Game.objects.get(slug="brisca")
    version = game.state.version

    game.save()

    assert GameState.objects.get(game=game).version == version


@pytest.mark.parametrize(
    ("shapes", "allowed", "refused"),
    [
        (["solo"], [(1, 1), (1, 1, 1)], [(1, 2), (2, 2)]),
        (["2v2"], [(2, 2)], [(1, 1), (2, 2, 2), (2, 1)]),
        (["1v*"], [(1, 2), (3, 1)], [(1, 1), (1, 1, 2), (2, 2)]),
        (["1v2", "solo"], [(2, 1), (1, 1, 1)], [(1, 3)]),
        (["2v2v2"], [(2, 2, 2)], [(2, 2)]),
        (["10v2"], [(2, 10)], [(10, 10)]),
    ],
)
def test_game_allows_its_shapes_in_any_order(shapes, allowed, refused):
    game = Game(slug="mus", shapes=shapes)

    assert all(game.allows(sizes) for sizes in allowed)
    assert not any(game.allows(sizes) for sizes in refused)


@pytest.mark.parametrize("shape", ["", "2", "0v2", "2v", "v2", "2 v 2", "1v*v1", "Solo", "2V2"])
def test_game_with_an_unknown_shape_is_refused_by_its_form(shape):
    game = Game(slug="mus", name="Mus", shapes=[shape], places_by="card-points")

    with pytest.raises(ValidationError) as refused:
        game.full_clean()

    assert refused.value.message_dict.keys() == {"shapes"}


@pytest.mark.parametrize(("won", "is_provisional"), [(1, True), (9, True), (10, False)])
def test_rating_is_provisional_below_ten_matches(won, is_provisional):
    rating = Rating(won=won, drawn=0, lost=0)

    assert PROVISIONAL_BELOW == 10
    assert rating.matches == won
    assert rating.is_provisional is is_provisional


def test_rating_counts_won_drawn_and_lost_matches():
    assert Rating(won=1, drawn=20, lost=300).matches == 321


def test_player_who_is_cleaned_gets_the_keys_of_his_handle():
    player = Player(handle="Ñandú", name="Ñandú")

    player.full_clean()

    assert (player.handle_key, player.handle_skeleton) == ("ñandú", "ñandú")


@pytest.mark.parametrize("handle", ["ANA", "\u0430na", "b0t-1"])
def test_player_who_would_pass_for_another_is_refused_by_his_form(handle):
    with pytest.raises(ValidationError):
        Player(handle=handle, name="x").full_clean()
