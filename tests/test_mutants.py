"""The list of mutants fits the code that it breaks; `python -m tests.mutants` tries them."""

import pytest

from naiply.local import PROJECT_FOLDER
from tests import mutants


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.what)
def test_mutant_finds_what_it_breaks_and_who_is_to_see_it(mutant):
    file, test = mutant.red.split("::")

    assert (PROJECT_FOLDER / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.new != mutant.old
    assert f"def {test}(" in (PROJECT_FOLDER / file).read_text()


def test_list_of_mutants_is_the_one_in_the_readme():
    assert mutants.table() in (PROJECT_FOLDER / "tests" / "README.md").read_text()
