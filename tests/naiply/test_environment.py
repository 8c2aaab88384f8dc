# ruff: noqa: E501 - the tables read better with a case on each line

import subprocess
import sys

import pytest

from naiply.environment import LOCAL_HOSTS, EnvironmentMistakes, read_environment
from naiply.local import PROJECT_FOLDER
from tests.mode import bare_environment

KEY = "k3yQz7Jx0wV9bN2mL5pR8sT1uY4iO6aD-fG_hJkZxCvBnMqWeRtYuI"

PRODUCTION = {
    "DATABASE_URL": "postgresql://naiply:pw@db.example.org:5432/naiply",
    "SECRET_KEY": KEY,
    "ALLOWED_HOSTS": "naiply.example.org",
}


def mistakes(variables):
    with pytest.raises(EnvironmentMistakes) as caught:
        read_environment(variables)
    assert str(caught.value) == "\n".join(caught.value.lines)
    return caught.value.lines


def test_nothing_set_is_the_demo_on_this_machine():
    environment = read_environment({})

    assert environment.mode == "development"
    assert environment.database_url is None
    assert environment.secret_key is None
    assert environment.allowed_hosts == LOCAL_HOSTS
    assert environment.demo is True
    assert environment.debug is False
    assert (environment.threads, environment.port, environment.language_code) == (8, 8000, "en")
    assert environment.warnings == ()


def test_empty_variables_count_as_unset():
    names = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG", "PORT", "DEMO")

    environment = read_environment(dict.fromkeys(names, " "))

    assert environment == read_environment({})


def test_database_url_makes_it_production():
    environment = read_environment(PRODUCTION)

    assert environment.mode == "production"
    assert environment.allowed_hosts == ("naiply.example.org",)
    assert environment.secret_key == KEY
    assert environment.demo is False


@pytest.mark.parametrize("mode", ["development", "test"])
def test_mode_can_be_chosen_beside_a_database_of_ones_own(mode):
    environment = read_environment({"DATABASE_URL": "postgres://db/naiply", "NAIPLY_MODE": mode})

    assert environment.mode == mode
    assert environment.database_url == "postgres://db/naiply"


def test_secrets_are_not_in_the_repr():
    environment = read_environment(PRODUCTION | {"REDIS_URL": "redis://:hush@cache:6379/1"})

    assert KEY not in repr(environment)
    assert "pw" not in repr(environment)
    assert "hush" not in repr(environment)


@pytest.mark.parametrize(
    ("name", "value", "field", "read"),
    [
        ("ALLOWED_HOSTS", "a.example.org, b.example.org,", "allowed_hosts", ("a.example.org", "b.example.org")),
        ("ALLOWED_HOSTS", ".example.org,10.0.0.7,[2001:db8::1]", "allowed_hosts", (".example.org", "10.0.0.7", "[2001:db8::1]")),
        ("CSRF_TRUSTED_ORIGINS", "https://a.example.org,http://b:8080", "csrf_trusted_origins", ("https://a.example.org", "http://b:8080")),
        ("DATABASE_URL", "postgresql://u:p%40%3A%2F%25@db/naiply", "database_url", "postgresql://u:p%40%3A%2F%25@db/naiply"),
        ("DATABASE_URL", "postgresql://u@/naiply?host=%2Frun%2Fpg", "database_url", "postgresql://u@/naiply?host=%2Frun%2Fpg"),
        ("DATABASE_URL", "postgresql://u:a:b@[::1]:65535/naiply", "database_url", "postgresql://u:a:b@[::1]:65535/naiply"),
        ("REDIS_URL", "redis://:pw@cache:6379/0", "redis_url", "redis://:pw@cache:6379/0"),
        ("REDIS_URL", "rediss://cache", "redis_url", "rediss://cache"),
        ("LANGUAGE_CODE", "es", "language_code", "es"),
        ("STATIC_ROOT", "/srv/naiply/static", "static_root", "/srv/naiply/static"),
        ("NAIPLY_HTTPS_HEADER", "X-Forwarded-Proto: https", "https_header", ("HTTP_X_FORWARDED_PROTO", "https")),
        ("THREADS", "64", "threads", 64),
        ("PORT", "1", "port", 1),
        ("DEMO", "yes", "demo", True),
        ("DEMO", "0", "demo", False),
    ],
)  # fmt: skip
def test_good_value_is_read(name, value, field, read):
    environment = read_environment(PRODUCTION | {name: value})

    assert getattr(environment, field) == read


EXAMPLE_URL = "postgresql://user:password@host:5432/naiply"
PORTS = "it is a whole number from 1 to 65535."
MAKE_ONE = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(50))'."
LOCAL = "localhost, 127.0.0.1, [::1]"


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set: in production it must be a random text of 50 characters or more."),
        ({"SECRET_KEY": "  "}, "SECRET_KEY is not set: in production it must be a random text of 50 characters or more."),
        ({"SECRET_KEY": KEY[:49]}, f"SECRET_KEY has 49 characters, 50 or more are needed: {MAKE_ONE}"),
        ({"SECRET_KEY": "django-insecure-" + KEY}, f"SECRET_KEY is an example value that anybody can look up: {MAKE_ONE}"),
        ({"SECRET_KEY": "Change-Me-" + KEY}, f"SECRET_KEY is an example value that anybody can look up: {MAKE_ONE}"),
        ({"SECRET_KEY": "abcd" * 20}, f"SECRET_KEY has fewer than 5 different characters and can be guessed: {MAKE_ONE}"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is not set: in production it must be the names the site is reached by, such as naiply.example.org."),
        ({"ALLOWED_HOSTS": ","}, 'Unexpected ALLOWED_HOSTS ",": it is a list of names with commas between them.'),
        ({"ALLOWED_HOSTS": "a.example.org,*"}, 'Unexpected ALLOWED_HOSTS "*": name each host, since * lets a request choose the site\'s own address.'),
        ({"ALLOWED_HOSTS": "https://a.example.org"}, 'Unexpected ALLOWED_HOSTS "https://a.example.org": give names only, without scheme, port or path, as in naiply.example.org.'),
        ({"ALLOWED_HOSTS": "a.example.org:443"}, 'Unexpected ALLOWED_HOSTS "a.example.org:443": give names only, without scheme, port or path, as in naiply.example.org.'),
        ({"DATABASE_URL": "", "NAIPLY_MODE": "production"}, f"DATABASE_URL is not set: in production it must be a URL such as {EXAMPLE_URL}."),
        ({"DATABASE_URL": "mysql://u:p@db/naiply"}, f'Unexpected scheme of DATABASE_URL "mysql": it is postgresql, as in {EXAMPLE_URL}.'),
        ({"DATABASE_URL": "sqlite:///db.sqlite3"}, f'Unexpected scheme of DATABASE_URL "sqlite": it is postgresql, as in {EXAMPLE_URL}.'),
        ({"DATABASE_URL": "naiply"}, f"DATABASE_URL is not a URL: right is {EXAMPLE_URL}, with @ : / % in a password escaped."),
        ({"DATABASE_URL": "postgresql://u:p w@db/naiply"}, f"DATABASE_URL is not a URL: right is {EXAMPLE_URL}, with @ : / % in a password escaped."),
        ({"DATABASE_URL": "postgresql://u:p[w@db/naiply"}, f"DATABASE_URL is not a URL: right is {EXAMPLE_URL}, with @ : / % in a password escaped."),
        ({"DATABASE_URL": "postgresql://u:p/w@db/naiply"}, "DATABASE_URL holds an unescaped / ? or #: write %2F, %3F and %23 in a password."),
        ({"DATABASE_URL": "postgresql://u:p#w@db/naiply"}, "DATABASE_URL holds an unescaped / ? or #: write %2F, %3F and %23 in a password."),
        ({"DATABASE_URL": "postgresql://u:p@db:5432"}, "DATABASE_URL names no database: it ends in one, as in postgresql://host/naiply."),
        ({"DATABASE_URL": "postgresql://u:p@db:abc/naiply"}, f'Unexpected port of DATABASE_URL "abc": {PORTS}'),
        ({"DATABASE_URL": "postgresql://u:p@db:0/naiply"}, f'Unexpected port of DATABASE_URL "0": {PORTS}'),
        ({"DATABASE_URL": "postgresql://u:p@db:70000/naiply"}, f'Unexpected port of DATABASE_URL "70000": {PORTS}'),
        ({"DATABASE_URL": "postgresql://u:p@[::1]:x/naiply"}, f'Unexpected port of DATABASE_URL "x": {PORTS}'),
        ({"REDIS_URL": "http://cache:6379/0"}, 'Unexpected scheme of REDIS_URL "http": it is redis, as in redis://host:6379/0.'),
        ({"REDIS_URL": "redis://cache:abc/0"}, f'Unexpected port of REDIS_URL "abc": {PORTS}'),
        ({"REDIS_URL": "redis://cache:0"}, f'Unexpected port of REDIS_URL "0": {PORTS}'),
        ({"REDIS_URL": "redis://cache:70000/0"}, f'Unexpected port of REDIS_URL "70000": {PORTS}'),
        ({"REDIS_URL": "redis:///0"}, "REDIS_URL names no host: right is redis://host:6379/0."),
        ({"REDIS_URL": "redis://cache/zero"}, "REDIS_URL ends in the number of a database, as in redis://host:6379/0."),
        ({"CSRF_TRUSTED_ORIGINS": "a.example.org"}, 'Unexpected CSRF_TRUSTED_ORIGINS "a.example.org": an origin starts with its scheme, as in https://naiply.example.org.'),
        ({"CSRF_TRUSTED_ORIGINS": "https://a.example.org/"}, 'Unexpected CSRF_TRUSTED_ORIGINS "https://a.example.org/": an origin is only scheme, host and port.'),
        ({"LANGUAGE_CODE": "xx"}, 'Unexpected LANGUAGE_CODE "xx": it is one of en, es, ca, gl, eu.'),
        ({"LANGUAGE_CODE": "ES"}, 'Unexpected LANGUAGE_CODE "ES": it is one of en, es, ca, gl, eu.'),
        ({"DEBUG": "1"}, 'Unexpected DEBUG "1": it shows the inside of the site to everyone and is refused in production; unset it.'),
        ({"DEBUG": "maybe"}, 'Unexpected DEBUG "maybe": 1 means yes and 0 means no.'),
        ({"NAIPLY_MODE": "prod"}, 'Unexpected NAIPLY_MODE "prod": it is one of production, development, test.'),
        ({"NAIPLY_HTTPS_HEADER": "X-Forwarded-Proto"}, 'Unexpected NAIPLY_HTTPS_HEADER "X-Forwarded-Proto": it is a header and its value, as in X-Forwarded-Proto: https.'),
        ({"THREADS": "0"}, 'Unexpected THREADS "0": it is a whole number from 1 to 64.'),
        ({"THREADS": "65"}, 'Unexpected THREADS "65": it is a whole number from 1 to 64.'),
        ({"THREADS": "-1"}, 'Unexpected THREADS "-1": it is a whole number from 1 to 64.'),
        ({"PORT": "http"}, f'Unexpected PORT "http": {PORTS}'),
        ({"PORT": "70000"}, f'Unexpected PORT "70000": {PORTS}'),
    ],
)  # fmt: skip
def test_mistake_is_one_line_that_says_what_is_right(variables, line):
    assert mistakes(PRODUCTION | variables) == (line,)


@pytest.mark.parametrize("debug", ["0", "1"])
def test_public_host_without_a_database_is_refused_with_debug_or_without(debug):
    found = mistakes({"ALLOWED_HOSTS": "localhost,naiply.example.org", "DEBUG": debug})

    assert found == (
        'Unexpected ALLOWED_HOSTS "naiply.example.org": the development mode serves only this '
        f"machine ({LOCAL}); set DATABASE_URL for production.",
    )


def test_debug_on_this_machine_is_accepted():
    assert read_environment({"DEBUG": "1", "ALLOWED_HOSTS": "localhost"}).debug is True


def test_all_mistakes_are_named_at_once():
    found = mistakes({"DATABASE_URL": "mysql://db/x", "REDIS_URL": "redis://c:0", "PORT": "x"})

    assert [line.split(":")[0] for line in found] == [
        'Unexpected scheme of DATABASE_URL "mysql"',
        "SECRET_KEY is not set",
        "ALLOWED_HOSTS is not set",
        'Unexpected port of REDIS_URL "0"',
        'Unexpected PORT "x"',
    ]


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hush@db/naiply",
        "postgresql://u:hu/sh@db/naiply",
        "postgresql://u:hush@db:abc/naiply",
        "postgresql://u:hush@db",
        "postgresql://u:hu sh@db/naiply",
        "hush",
        "://hush",
        "postgresql://u:7/hush@db/naiply",
    ],
)
def test_secrets_are_never_quoted(url):
    found = mistakes(PRODUCTION | {"DATABASE_URL": url, "SECRET_KEY": "example-hush"})

    assert len(found) == 2
    assert "hu" not in "".join(found)
    assert "sh" not in "".join(found).replace("shows", "")


def test_unknown_naiply_variable_is_a_warning():
    environment = read_environment({"NAIPLY_MOED": "test", "NAIPLY_MODE": "test", "OTHER": "1"})

    (warning,) = environment.warnings
    assert warning.startswith("Unknown variable NAIPLY_MOED: it does nothing. Known are NAIPLY_H")
    assert "NAIPLY_MODE, " in warning


def start_with(folder, variables):
    """Starts the settings in a process of its own, without our own variables."""
    return subprocess.run(
        [sys.executable, "-c", "import naiply.settings; print('started')"],
        cwd=PROJECT_FOLDER,
        env=bare_environment() | {"NAIPLY_LOCAL_FOLDER": str(folder)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_start_with_mistakes_prints_the_lines_and_nothing_else(tmp_path):
    result = start_with(tmp_path, {"PORT": "x", "THREADS": "0"})

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        'Unexpected THREADS "0": it is a whole number from 1 to 64.\n'
        'Unexpected PORT "x": it is a whole number from 1 to 65535.\n'
    )


def test_start_with_an_unknown_variable_warns_and_goes_on(tmp_path):
    result = start_with(tmp_path, {"NAIPLY_HOST": "x"})

    assert result.returncode == 0
    assert result.stdout == "started\n"
    assert result.stderr.startswith("Unknown variable NAIPLY_HOST: it does nothing.")
    assert result.stderr.count("\n") == 1


def test_development_key_is_made_once_and_only_ours_to_read(tmp_path):
    start_with(tmp_path, {})
    first = (tmp_path / "secret-key").read_text()
    start_with(tmp_path, {})

    assert len(first) == 64
    assert (tmp_path / "secret-key").read_text() == first
    assert (tmp_path / "secret-key").stat().st_mode & 0o777 == 0o600


def test_folder_that_cannot_be_written_is_one_line(tmp_path):
    # A file where the folder should be: fails for root too, whom no mode keeps out.
    (tmp_path / "file").touch()

    result = start_with(tmp_path / "file" / "local", {})

    assert result.returncode == 1
    assert result.stderr.startswith("Cannot write to ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "contact",
    [
        "mailto:security@naiply.example.org",
        "https://naiply.example.org/security",
        "tel:+34-900-000-000",
    ],
)
def test_security_contact_is_an_address_with_its_scheme(contact):
    environment = read_environment({"NAIPLY_SECURITY_CONTACT": contact})

    assert environment.security_contact == contact
    assert environment.warnings == ()


@pytest.mark.parametrize(
    "contact",
    ["security@naiply.example.org", "http://naiply.example.org", "mailto:x", "mailto:a@b c@d"],
)
def test_security_contact_without_its_scheme_is_refused(contact):
    assert mistakes({"NAIPLY_SECURITY_CONTACT": contact}) == (
        f'Unexpected NAIPLY_SECURITY_CONTACT "{contact}": it is an address with its scheme, as in '
        "mailto:security@naiply.example.org or https://naiply.example.org/contact.",
    )


def test_security_contact_in_two_lines_is_refused():
    [mistake] = mistakes({"NAIPLY_SECURITY_CONTACT": "https://naiply.example.org/\nExpires: x"})

    assert mistake.startswith("Unexpected NAIPLY_SECURITY_CONTACT")
