"""Handles, names and player ids: what is refused, and which of them are the same."""

import unicodedata

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from ratings.models import Player
from ratings.names import (
    LONGEST_HANDLE,
    LONGEST_NAME,
    LONGEST_PLAYER_ID,
    RESERVED,
    clean_player_id,
    fold,
    skeleton,
    suggest_handle,
    validate_handle,
    validate_name,
)

ZERO_WIDTH_SPACE = "\u200b"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
HEART = "\u2764\ufe0f"
CYRILLIC_R = "\u0440"  # looks like p
CYRILLIC_A = "\u0430"
LONGEST_LETTER = "\ufdfa"  # one letter that NFKC writes out as eighteen

INVISIBLE = {
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "soft hyphen": "\u00ad",
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "byte order mark": "\ufeff",
    "variation selector": "\ufe00",
    "emoji variation selector": "\ufe0f",
    "supplementary variation selector": "\U000e0100",
    "mongolian variation selector": "\u180b",
    "tag": "\U000e0041",
    "hangul filler": "\u3164",
    "half-width hangul filler": "\uffa0",
    "hangul choseong filler": "\u115f",
    "combining grapheme joiner": "\u034f",
    "khmer inherent vowel": "\u17b4",
    "private use": "\ue000",
    "unassigned": "\u0378",
    "lone surrogate": "\ud800",
    "nul": "\x00",
    "newline": "\n",
    "line separator": "\u2028",
}


@pytest.mark.parametrize(
    "handle",
    [
        "a",
        "ana",
        "as-de-oros",
        "Bot_2.1",
        "7",
        "íñigo_17",
        "NUÑEZ_3",
        "لاعب_٧",
        "ana²",
        "...a",
        "a" * LONGEST_HANDLE,
    ],
)
def test_handle_of_letters_digits_and_three_signs_is_valid(handle):
    validate_handle(handle)


@pytest.mark.parametrize(
    ("handle", "message"),
    [
        ("", "at least one character"),
        ("a" * 41, "41 characters: the most are 40"),
        (".", "more than dots"),
        ("..", "more than dots"),
        ("ana/pepa", 'Unexpected "/"'),
        ("ana pepa", 'Unexpected "U+0020"'),
        ("ana?", 'Unexpected "?"'),
        ("ana#1", 'Unexpected "#"'),
        ("ana%41", 'Unexpected "%"'),
        ("ana\\", 'Unexpected "\\"'),
        ("<b>", 'Unexpected "<"'),
        ("\U0001f0a1", "Unexpected"),
        ("begon\u0303a", "letters in pieces"),
        ("Z" + "\u0337" * 3, "Too many marks"),
        ("\u0337Z", "Too many marks"),
        (LONGEST_LETTER * LONGEST_HANDLE, "too long"),
    ],
)
def test_handle_that_is_refused_says_why(handle, message):
    with pytest.raises(ValidationError) as refused:
        validate_handle(handle)

    assert message in refused.value.message


@pytest.mark.parametrize("character", INVISIBLE.values(), ids=INVISIBLE)
@pytest.mark.parametrize("text", ["{}", "pepa{}_4", "pepa_4{}"])
def test_invisible_character_is_refused_in_handle_name_and_player_id(text, character):
    hidden = text.format(character)

    with pytest.raises(ValidationError):
        validate_handle(hidden)
    with pytest.raises(ValidationError):
        validate_name(hidden)
    # Blanks around an id are cut off; a line end is one.
    if clean := hidden.strip():
        if clean == hidden:
            with pytest.raises(ValueError, match=r"nvisible|marks"):
                clean_player_id(hidden)
    else:
        with pytest.raises(ValueError, match="at least one character"):
            clean_player_id(hidden)


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_handle_that_the_site_needs_is_refused_however_it_is_written(word):
    lookalike = word.upper().replace("A", "\u0410").replace("O", "0")

    for handle in (word, word.upper(), lookalike):
        with pytest.raises(ValidationError, match="kept for the site"):
            validate_handle(handle)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("MagnuI", "Magnul"),
        ("magnus", "Magnus"),
        ("pepa_4", CYRILLIC_R + "epa_4"),
        ("pepa0", "pepaO"),
        ("corner", "comer"),
        ("ana1", "anal"),
        ("\uff41na", "ana"),
    ],
)
def test_handles_that_look_alike_have_one_skeleton(one, other):
    assert one != other
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("nunez_8", "nuñez_8"), ("pepa_4", "pepa_5"), ("ana", "anna"), ("as-de-oros", "as-de-copas")],
)
def test_handles_that_can_be_told_apart_have_two_skeletons(one, other):
    assert skeleton(one) != skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pepa_4", "PEPA_4"),
        ("bego\u00f1a", "begon\u0303a"),
        ("stra\u00dfe", "STRASSE"),
        ("\uff21na", "ana"),
        ("\u1f80\u0313", "\u1f80\u0313".upper()),
    ],
)
def test_fold_is_the_same_for_case_twins_and_for_letters_in_pieces(one, other):
    assert fold(one) == fold(other)


@given(st.text())
def test_fold_and_skeleton_of_a_folded_text_are_the_same_again(text):
    assert fold(fold(text)) == fold(text)
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


@given(st.text(st.characters(categories=["L", "M", "N"], include_characters="_-."), max_size=60))
def test_handle_that_is_valid_fits_the_columns_of_its_keys(handle):
    try:
        validate_handle(handle)
    except ValidationError:
        return

    assert 0 < len(fold(handle)) <= Player._meta.get_field("handle_key").max_length
    assert 0 < len(skeleton(handle)) <= Player._meta.get_field("handle_skeleton").max_length


@pytest.mark.parametrize(
    "name",
    [
        "Ana",
        "Sota de bastos",
        f"Ana {FAMILY}",
        f"{HEART} copas",
        "\U0001f0a1",
        "لاعب_٧",
        "</script><img src=x onerror=alert(1)>",
        "x" * LONGEST_NAME,
    ],
)
def test_name_that_shows_as_itself_is_valid(name):
    validate_name(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "at least one character that can be seen"),
        (" \u00a0\u2003", "at least one character that can be seen"),
        ("x" * 65, "65 characters: the most are 64"),
        ("ana@example.org", "e-mail address"),
        (" ana@example.org ", "e-mail address"),
        ("a" + "\u0301" * 3, "Too many marks"),
        ("ana\u200d", "U+200D"),
        (f"{FAMILY}\u200d", "U+200D"),
        ("\ufe0f", "U+FE0F"),
    ],
)
def test_name_that_is_refused_says_why(name, message):
    with pytest.raises(ValidationError) as refused:
        validate_name(name)

    assert message in refused.value.message


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("ana", "ana"),
        (" pepa_4 ", "pepa_4"),
        ("\tpepa_4\r\n", "pepa_4"),
        ("begon\u0303a", "bego\u00f1a"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("null", "null"),
        ("user:42/eu west", "user:42/eu west"),
        (FAMILY, FAMILY),
        ("x" * LONGEST_PLAYER_ID, "x" * LONGEST_PLAYER_ID),
    ],
)
def test_player_id_is_kept_as_sent_without_blanks_around_it(sent, kept):
    assert clean_player_id(sent) == kept


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("", "at least one character"),
        (" \t ", "at least one character"),
        ("x" * 129, "129 characters: the most are 128"),
        (LONGEST_LETTER * LONGEST_PLAYER_ID, "too long"),
        ("Z" + "\u0337" * 3, "Too many marks"),
    ],
)
def test_player_id_that_is_refused_says_why(sent, message):
    with pytest.raises(ValueError, match=message):
        clean_player_id(sent)


@pytest.mark.parametrize(
    ("player_id", "handle"),
    [
        ("ana", "ana"),
        ("íñigo_17", "íñigo_17"),
        ("a--b", "a--b"),
        ("-ana-", "-ana-"),
        ("user:42", "user-42"),
        ("as de oros", "as-de-oros"),
        ("(ana)", "ana"),
        ("a, b; c", "a-b-c"),
        ("\u0301ana", "player"),
        ("\U0001f0a1", "player"),
        ("..", "player"),
        ("admin", "player"),
        ("ana@example.org", "player"),
        ("x" * 60, "x" * LONGEST_HANDLE),
    ],
)
def test_suggested_handle_is_the_id_or_as_near_as_can_be(player_id, handle):
    assert suggest_handle(player_id) == handle


@given(st.text(max_size=LONGEST_PLAYER_ID))
def test_suggested_handle_is_valid_for_every_player_id(player_id):
    handle = suggest_handle(player_id)

    if handle != "player":
        validate_handle(handle)
