"""Reads the environment variables, all of them in one place, and names every mistake.

Pure: a mapping in, a frozen value out, no file and no clock. The settings turn it into Django's
names; README.md lists the variables for people.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

# Each in its own words. Where one is added, docs/translating.md says what else there is to do.
LANGUAGES = (
    ("en", "English"),
    ("es", "Español"),
    ("ca", "Català"),
    ("gl", "Galego"),
    ("eu", "Euskara"),
)

MODES = ("production", "development", "test")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
SECRET_KEY_LENGTH = 50

KNOWN_NAIPLY_VARIABLES = frozenset(
    {
        "NAIPLY_HTTPS_HEADER",
        "NAIPLY_LOCAL_FOLDER",
        "NAIPLY_MODE",
        "NAIPLY_REQUIRE_ALL",
        "NAIPLY_SECURITY_CONTACT",
    }
)

YES = frozenset({"1", "true", "yes", "on"})
NO = frozenset({"", "0", "false", "no", "off"})

# Words found in the keys of tutorials, templates and this project's own README.
EXAMPLE_WORDS = ("change-me", "changeme", "change_me", "example", "secret-key", "your-", "insecure")

HOST = re.compile(r"\.?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\]|\*")
HEADER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]*)\s*:\s*(?P<value>\S+)")


class EnvironmentMistakes(Exception):
    """The environment is wrong; `lines` holds one sentence for each mistake."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What the variables ask for. None stands for "not set" where the mode decides."""

    mode: str
    debug: bool = False
    secret_key: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = LOCAL_HOSTS
    csrf_trusted_origins: tuple[str, ...] = ()
    database_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    language_code: str = "en"
    static_root: str | None = None
    https_header: tuple[str, str] | None = None
    security_contact: str | None = None
    threads: int = 8
    port: int = 8000
    demo: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def is_production(self) -> bool:
        return self.mode == "production"


class _Refused(Exception):
    """One variable is wrong; the text says what would be right."""


def read_environment(variables: Mapping[str, str]) -> Environment:
    """The environment as a value.

    Raises EnvironmentMistakes with a line for every mistake, not only the first. A line names the
    variable, its value (never a secret's) and what would be right.
    """
    mistakes: list[str] = []

    def read(name, parse, default=None):
        text = variables.get(name, "").strip()
        if not text:
            return default
        try:
            return parse(name, text)
        except _Refused as refusal:
            mistakes.append(str(refusal))
            return default

    def is_set(name):
        return bool(variables.get(name, "").strip())

    database_url = read("DATABASE_URL", _postgresql_url)
    usual_mode = "production" if is_set("DATABASE_URL") else "development"
    mode = read("NAIPLY_MODE", _mode, usual_mode)
    is_production = mode == "production"
    debug = read("DEBUG", _flag, False)
    secret_key = read("SECRET_KEY", _secret_key)
    allowed_hosts = read("ALLOWED_HOSTS", _hosts)

    if is_production:
        for name, why in (
            ("DATABASE_URL", "a URL such as postgresql://user:password@host:5432/naiply"),
            ("SECRET_KEY", f"a random text of {SECRET_KEY_LENGTH} characters or more"),
            ("ALLOWED_HOSTS", "the names the site is reached by, such as naiply.example.org"),
        ):
            if not is_set(name):
                mistakes.append(f"{name} is not set: in production it must be {why}.")
    if is_production and debug:
        mistakes.append(
            f'Unexpected DEBUG "{variables["DEBUG"].strip()}": it shows the inside of the site to '
            f"everyone and is refused in production; unset it."
        )
    # Also catches a production start that forgot DATABASE_URL: it must not come up as a demo.
    public = [host for host in allowed_hosts or () if host not in LOCAL_HOSTS]
    if not is_production and public:
        mistakes.append(
            f'Unexpected ALLOWED_HOSTS "{", ".join(public)}": the {mode} mode serves only this '
            f"machine ({', '.join(LOCAL_HOSTS)}); set DATABASE_URL for production."
        )

    environment = Environment(
        mode=mode,
        debug=debug,
        secret_key=secret_key,
        allowed_hosts=allowed_hosts or LOCAL_HOSTS,
        csrf_trusted_origins=read("CSRF_TRUSTED_ORIGINS", _origins, ()),
        database_url=database_url,
        redis_url=read("REDIS_URL", _redis_url),
        language_code=read("LANGUAGE_CODE", _language, "en"),
        static_root=read("STATIC_ROOT", _text),
        https_header=read("NAIPLY_HTTPS_HEADER", _header),
        security_contact=read("NAIPLY_SECURITY_CONTACT", _contact),
        threads=read("THREADS", _whole_number(1, 64), 8),
        port=read("PORT", _whole_number(1, 65535), 8000),
        demo=read("DEMO", _flag, not is_production),
        warnings=tuple(
            f"Unknown variable {name}: it does nothing. "
            f"Known are {', '.join(sorted(KNOWN_NAIPLY_VARIABLES))}."
            for name in sorted(variables)
            if name.startswith("NAIPLY_") and name not in KNOWN_NAIPLY_VARIABLES
        ),
    )
    if mistakes:
        raise EnvironmentMistakes(mistakes)
    return environment


def _refuse(name: str, text: str, right: str) -> NoReturn:
    raise _Refused(f'Unexpected {name} "{text}": {right}.')


def _text(name: str, text: str) -> str:
    return text


def _mode(name: str, text: str) -> str:
    if text not in MODES:
        _refuse(name, text, f"it is one of {', '.join(MODES)}")
    return text


def _flag(name: str, text: str) -> bool:
    if text.lower() in YES:
        return True
    if text.lower() in NO:
        return False
    _refuse(name, text, "1 means yes and 0 means no")


def _whole_number(lowest: int, highest: int):
    def parse(name: str, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not lowest <= int(text) <= highest:
            _refuse(name, text, f"it is a whole number from {lowest} to {highest}")
        return int(text)

    return parse


def _secret_key(name: str, text: str) -> str:
    right = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
    if len(text) < SECRET_KEY_LENGTH:
        raise _Refused(
            f"{name} has {len(text)} characters, {SECRET_KEY_LENGTH} or more are needed: {right}."
        )
    if text.startswith("django-insecure-") or any(word in text.lower() for word in EXAMPLE_WORDS):
        raise _Refused(f"{name} is an example value that anybody can look up: {right}.")
    if len(set(text)) < 5:
        raise _Refused(f"{name} has fewer than 5 different characters and can be guessed: {right}.")
    return text


def _hosts(name: str, text: str) -> tuple[str, ...]:
    hosts = _list(text)
    if not hosts:
        _refuse(name, text, "it is a list of names with commas between them")
    for host in hosts:
        if not HOST.fullmatch(host):
            _refuse(
                name,
                host,
                "give names only, without scheme, port or path, as in naiply.example.org",
            )
        if host == "*":
            _refuse(
                name, host, "name each host, since * lets a request choose the site's own address"
            )
    return hosts


def _origins(name: str, text: str) -> tuple[str, ...]:
    origins = _list(text)
    for origin in origins:
        parts = _split(origin)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            _refuse(
                name, origin, "an origin starts with its scheme, as in https://naiply.example.org"
            )
        if parts.path or parts.query or parts.fragment or parts.username:
            _refuse(name, origin, "an origin is only scheme, host and port")
    return origins


def _language(name: str, text: str) -> str:
    codes = [code for code, _ in LANGUAGES]
    if text not in codes:
        _refuse(name, text, f"it is one of {', '.join(codes)}")
    return text


def _header(name: str, text: str) -> tuple[str, str]:
    """The header and the value by which the proxy in front says that the reader came by HTTPS."""
    match = HEADER.fullmatch(text)
    if not match:
        _refuse(name, text, "it is a header and its value, as in X-Forwarded-Proto: https")
    return "HTTP_" + match["name"].upper().replace("-", "_"), match["value"]


def _contact(name: str, text: str) -> str:
    """Where to report a hole in the site, as security.txt wants it: an address with its scheme."""
    if not re.fullmatch(r"(mailto:[^\s@]+@[^\s@]+|https://\S+|tel:\+?[0-9-]+)", text):
        _refuse(
            name,
            text,
            "it is an address with its scheme, as in mailto:security@naiply.example.org or "
            "https://naiply.example.org/contact",
        )
    return text


def _postgresql_url(name: str, text: str) -> str:
    parts = _url(
        name, text, ("postgresql", "postgres"), "postgresql://user:password@host:5432/naiply"
    )
    if len(parts.path) < 2:
        raise _Refused(f"{name} names no database: it ends in one, as in postgresql://host/naiply.")
    return text


def _redis_url(name: str, text: str) -> str:
    parts = _url(name, text, ("redis", "rediss"), "redis://host:6379/0")
    if not parts.hostname:
        raise _Refused(f"{name} names no host: right is redis://host:6379/0.")
    if not re.fullmatch(r"/?|/[0-9]{1,4}", parts.path):
        raise _Refused(f"{name} ends in the number of a database, as in redis://host:6379/0.")
    return text


def _url(name: str, text: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    """The parts of a URL. A mistake never quotes the whole of it: a password may be inside."""
    parts = _split(text)
    if parts is None or "://" not in text:
        raise _Refused(
            f"{name} is not a URL: right is {example}, with @ : / % in a password escaped."
        )
    if parts.scheme not in schemes:
        _refuse(f"scheme of {name}", parts.scheme, f"it is {schemes[0]}, as in {example}")
    if "@" in text and "@" not in parts.netloc:
        # A "/", "?" or "#" in the password ended the host part: what looks like a port is a secret.
        raise _Refused(f"{name} holds an unescaped / ? or #: write %2F, %3F and %23 in a password.")
    colon, port = parts.netloc.rpartition("@")[2].rpartition("]")[2].rpartition(":")[1:]
    if colon and (not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535):
        _refuse(f"port of {name}", port, "it is a whole number from 1 to 65535")
    return parts


def _split(text: str) -> SplitResult | None:
    if re.search(r"\s", text):
        return None
    try:
        return urlsplit(text)
    except ValueError:
        return None


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
