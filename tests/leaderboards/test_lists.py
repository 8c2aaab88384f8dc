import pytest
from django.utils.translation import override

from leaderboards.lists import all_of, one_of


@pytest.mark.parametrize(
    ("language", "all_three", "one_of_two"),
    [
        ("en", "a, b and c", "a or b"),
        ("es", "a, b y c", "a o b"),
        ("ca", "a, b i c", "a o b"),
        ("gl", "a, b e c", "a ou b"),
        ("eu", "a, b eta c", "a edo b"),
    ],
)
def test_lists_are_joined_as_each_language_does(language, all_three, one_of_two):
    with override(language):
        assert all_of(["a", "b", "c"]) == all_three
        assert one_of(["a", "b"]) == one_of_two
        assert all_of(["a"]) == "a"
