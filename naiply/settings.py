"""Django's settings, for every mode: what differs between them comes from naiply.environment."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import dj_database_url
from celery.schedules import crontab
from django.utils.csp import CSP

from naiply import embedded, environment, local

try:
    env = environment.read_environment(os.environ)
except environment.EnvironmentMistakes as mistakes:
    # A traceback would bury the lines that help; sys.exit prints them and nothing else.
    sys.exit("\n".join(mistakes.lines))
for warning in env.warnings:
    print(warning, file=sys.stderr)

try:
    LOCAL_FOLDER = local.local_folder()
    SECRET_KEY = env.secret_key or local.kept_secret("secret-key", length=64)
except OSError as error:
    sys.exit(
        f"Cannot write to {error.filename}: {error.strerror}. Make the folder writable, "
        "or set NAIPLY_LOCAL_FOLDER to one that is."
    )

BASE_DIR = local.PROJECT_FOLDER
DEBUG = env.debug
ALLOWED_HOSTS = list(env.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(env.csrf_trusted_origins)

INSTALLED_APPS = [
    "leaderboards",
    "ratings",
    "django_htmx",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "leaderboards.middleware.remember_language",
]

ROOT_URLCONF = "naiply.urls"
CSRF_FAILURE_VIEW = "leaderboards.views.errors.csrf_failure"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "leaderboards.context_processors.shell",
            ],
        },
    },
]

# Database: PostgreSQL only. Connections live 60 s in each thread of naiply.asgi's pool, and are
# checked once per request, so that a database restart fails no request.

EMBEDDED_DATABASE = None if env.database_url else env.mode
DATABASES = {
    "default": dj_database_url.parse(
        env.database_url or embedded.url(env.mode), conn_max_age=60, conn_health_checks=True
    )
}
# What every report asks is planned once a connection (ratings.ledger.cursors), from the fifth time
# on. A pgbouncer in between has to be of 1.21 or later, or the address says ?prepare_threshold=.
DATABASES["default"].setdefault("OPTIONS", {}).setdefault("prepare_threshold", 5)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "ratings.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
if env.mode == "test":
    # The real hasher is slow on purpose; no test is about its strength.
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Words, numbers and times. LANGUAGES are those that we ship: Django's own list holds a hundred.

LANGUAGE_CODE = env.language_code
LANGUAGES = list(environment.LANGUAGES)
# The second says in Galician what django-allauth, whose own catalogs lack it, says in English.
LOCALE_PATHS = [BASE_DIR / "locale", BASE_DIR / "locale" / "accounts"]
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
USE_I18N = True
USE_THOUSAND_SEPARATOR = True
FORMAT_MODULE_PATH = "naiply.formats"  # where Django's own formats are not a language's
USE_TZ = True
TIME_ZONE = "Europe/Madrid"  # for display; everything is stored and reckoned in UTC

# Static files: in production collected under names that change with the content, so that browsers
# may keep them for ever; elsewhere served from where they lie.

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env.static_root) if env.static_root else LOCAL_FOLDER / "static"
WHITENOISE_USE_FINDERS = not env.is_production
WHITENOISE_AUTOREFRESH = not env.is_production
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if env.is_production
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# The history of each game, written every night for anybody to replay (ratings.download).

DOWNLOADS_FOLDER = LOCAL_FOLDER / "downloads"

# Security. Every script and style is a file of our own, so the policy needs neither nonces, which
# would give each page another ETag, nor any "unsafe-*".

SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
    "object-src": [CSP.NONE],
}
SECURE_PROXY_SSL_HEADER = env.https_header
SECURITY_CONTACT = env.security_contact  # for /.well-known/security.txt
if env.is_production:
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^readyz$"]  # asked by the machine next door, over plain HTTP
    SECURE_HSTS_SECONDS = 30 * 24 * 3600
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True
    SILENCED_SYSTEM_CHECKS = [
        # Whether every other name under the operator's domain speaks HTTPS is not ours to promise.
        "security.W005",
        "security.W021",
        # There is no mailer because no part of the site sends mail.
        "mail.W001",
    ]

# Background jobs and the cache: on Redis where there is one. Without it the queue is a folder,
# which every process of this machine can reach, and the cache is each process's own.

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CELERY_BROKER_URL = env.redis_url or "filesystem://localhost"
if env.redis_url:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": env.redis_url,
            # A Redis that is frozen must cost a reader half a second, not a page.
            "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
        }
    }
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 10}
else:
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(LOCAL_FOLDER / "celery" / "queue"),
        "data_folder_out": str(LOCAL_FOLDER / "celery" / "queue"),
        "processed_folder": str(LOCAL_FOLDER / "celery" / "processed"),
        "control_folder": str(LOCAL_FOLDER / "celery" / "control"),
        "polling_interval": 0.1,  # the default of 1 s would carry one job a second
    }
    for folder in ("queue", "processed", "control"):
        (LOCAL_FOLDER / "celery" / folder).mkdir(parents=True, exist_ok=True)
CELERY_TIMEZONE = "UTC"
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker outlives a Redis that is away for long
CELERY_BEAT_SCHEDULE_FILENAME = str(LOCAL_FOLDER / "celery" / "schedule")
CELERY_BEAT_SCHEDULE = {
    # A run that is late or missed does no harm: decay is a function of time, and the next run
    # catches up. So a job that has waited six hours for a worker may as well be dropped.
    "weekly decay": {
        "task": "ratings.tasks.apply_decay",
        "schedule": crontab(minute=0, hour=0, day_of_week="mon"),
        "options": {"expires": 6 * 3600},
    },
    # A later report folds them in as well; this is for a game where no report comes.
    "waiting reports": {
        "task": "ratings.tasks.fold_waiting",
        "schedule": timedelta(seconds=5),
        "options": {"expires": 5},
    },
    "nightly check": {
        "task": "ratings.tasks.check_games",
        "schedule": crontab(minute=30, hour=3),
        "options": {"expires": 6 * 3600},
    },
}

# No part of the site sends mail yet. In development what Django itself might send is printed; in
# production there is no mailer, so that nothing can seem to have been sent.
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.console.EmailBackend"}}
if env.is_production:
    MAILERS = {}

# Django's own default prints nothing of an error page unless DEBUG is on.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # Every scanner on the net asks for hosts that are not ours; a traceback each is too much.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}

# Threads that answer pages (naiply.asgi), and so the database connections of one process.
THREADS = env.threads
