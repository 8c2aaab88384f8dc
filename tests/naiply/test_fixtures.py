"""The fixtures of conftest.py keep their promises."""

import urllib.request

import pytest
from django.apps import apps
from django.db import connection


def games():
    return apps.get_model("ratings", "Game").objects.count()


@pytest.mark.parametrize("time", ["first", "second"])
def test_rows_of_migrations_survive_tests_that_commit(transactional_db, time):
    before = games()

    connection.cursor().execute("TRUNCATE ratings_game CASCADE")

    assert before > 0
    assert games() == 0


def test_rows_of_migrations_survive_beside_a_running_playwright(playwright, transactional_db):
    assert games() > 0


def test_site_serves_the_database_of_the_test(site):
    with urllib.request.urlopen(f"{site}/readyz") as response:
        assert response.read() == b"ready\n"
