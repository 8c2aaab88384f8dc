"""What the settings mean for a request, in each mode. Production runs in a process of its own."""

import json
import subprocess
import sys

import pytest
from django.conf import settings
from django.urls import reverse

from naiply.local import PROJECT_FOLDER
from tests.mode import bare_environment

PRODUCTION = {
    "DATABASE_URL": "postgresql://naiply@127.0.0.1:1/naiply",  # nobody answers there
    "SECRET_KEY": "k3yQz7Jx0wV9bN2mL5pR8sT1uY4iO6aD-fG_hJkZxCvBnMqWeRtYuI",
    "ALLOWED_HOSTS": "naiply.example.org",
}
ASK = """
import json, sys
import django
from django.test import Client
django.setup()
path, headers = json.loads(sys.argv[1])
response = Client().get(path, headers=headers, SERVER_NAME="naiply.example.org")
print(json.dumps([response.status_code, dict(response.headers), response.content.decode()]))
"""


def ask_production(tmp_path, path, headers=None, **variables):
    """The status, headers and body of a page as production answers it."""
    environment = bare_environment() | PRODUCTION | variables
    environment |= {"NAIPLY_LOCAL_FOLDER": str(tmp_path)}
    environment |= {"DJANGO_SETTINGS_MODULE": "naiply.settings"}
    result = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps([path, headers or {}])],
        cwd=PROJECT_FOLDER, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_production_sends_http_to_https(tmp_path):
    status, headers, _ = ask_production(tmp_path, "/leaderboards/")

    assert (status, headers["Location"]) == (301, "https://naiply.example.org/leaderboards/")


def test_production_believes_the_header_of_its_proxy(tmp_path):
    status, headers, _ = ask_production(
        tmp_path, "/readyz", {"X-Forwarded-Proto": "https"},
        NAIPLY_HTTPS_HEADER="X-Forwarded-Proto: https",
    )  # fmt: skip

    assert status == 503
    assert headers["Strict-Transport-Security"] == "max-age=2592000"


def test_production_believes_no_header_that_it_was_not_told_of(tmp_path):
    status, headers, _ = ask_production(tmp_path, "/", {"X-Forwarded-Proto": "https"})

    assert status == 301
    assert "Strict-Transport-Security" not in headers


def test_production_is_not_ready_without_its_database_and_does_not_say_why(tmp_path):
    status, _, body = ask_production(tmp_path, "/readyz")

    assert (status, body) == (503, "database does not answer\n")


def test_ready_with_its_database(client, db):
    response = client.get("/readyz")

    assert (response.status_code, response.content) == (200, b"ready\n")


def test_ready_refuses_other_methods(client, db):
    assert client.post("/readyz").status_code == 405


def test_policy_allows_our_own_files_and_nothing_else(client, db):
    policy = client.get("/readyz").headers["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert policy.split("; ") == [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    ]


@pytest.mark.parametrize("path", ["/admin/login/", "/es/admin/login/"])
def test_admin_is_served_in_each_language(client, db, path):
    response = client.get(path)

    assert response.status_code == 200
    assert response.headers["Content-Language"] == ("es" if "/es/" in path else "en")


def test_only_shipped_languages_are_offered():
    assert settings.LANGUAGES == [
        ("en", "English"),
        ("es", "Español"),
        ("ca", "Català"),
        ("gl", "Galego"),
        ("eu", "Euskara"),
    ]
    assert reverse("admin:index") == "/admin/"


def test_weekly_decay_is_due_on_monday_at_midnight_utc():
    entry = settings.CELERY_BEAT_SCHEDULE["weekly decay"]

    assert entry["task"] == "ratings.tasks.apply_decay"
    assert entry["options"] == {"expires": 6 * 3600}
    when = entry["schedule"]
    assert (when.minute, when.hour, when.day_of_week) == ({0}, {0}, {1})
    assert settings.CELERY_TIMEZONE == "UTC"
