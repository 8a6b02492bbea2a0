"""Every setting of ctxbudget, read from the environment with the prefix CTXBUDGET_."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import structlog


def env_str(name: str, default: str = "") -> str:
    return os.environ.get(f"CTXBUDGET_{name}", default)


def env_bool(name: str, default: bool = False) -> bool:
    return env_str(name, str(default)).strip().lower() in ("1", "true", "yes", "on")


def env_int(name: str, default: int) -> int:
    value = env_str(name).strip()
    try:
        return int(value) if value else default
    except ValueError:
        raise SystemExit(f"CTXBUDGET_{name} must be a whole number, not {value!r}.") from None


def env_list(name: str, default: str = "") -> list[str]:
    return [item.strip() for item in env_str(name, default).split(",") if item.strip()]


def env_by_project(name: str) -> dict[str, str]:
    """CTXBUDGET_NAME__proj_… by its project; what holds for all others stands under the empty name."""
    start = f"CTXBUDGET_{name}__"
    given = {key.removeprefix(start): value for key, value in os.environ.items() if key.startswith(start)}
    return {"": env_str(name), **given}


def database_from(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(unquote(parts.path)[1:] if parts.path.startswith("//") else unquote(parts.path))
    if parts.scheme in ("postgres", "postgresql"):
        return _postgres(parts)
    raise SystemExit(
        f"CTXBUDGET_DATABASE_URL must begin with sqlite:// or postgres://, not {parts.scheme!r}."
    )


def _sqlite(path: str) -> dict[str, Any]:
    return {
        "ENGINE": "kernel.sqlite",
        "NAME": path,
        "OPTIONS": {
            # Deferred transactions fail with "database is locked" when two readers want to write.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA cache_size=-32000;",
        },
        "TEST": {"NAME": env_str("TEST_SQLITE") or None},
        "CONN_MAX_AGE": None,
    }


def _postgres(parts: Any) -> dict[str, Any]:
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", unquote(parts.hostname or "")),
        "PORT": str(parts.port or ""),
        "OPTIONS": query,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }


BASE_DIR = Path(__file__).resolve().parent.parent
DEMO_SECRET = "demo-secret-for-the-embedded-default-only"

ENVIRONMENT = env_str("ENVIRONMENT", "embedded")  # embedded | production
DATA_DIR = Path(env_str("DATA_DIR", str(BASE_DIR / "var")))
DEBUG = env_bool("DEBUG")
DEBUG_BUDGET = env_bool("DEBUG_BUDGET")
SECRET_KEY = env_str("SECRET_KEY", DEMO_SECRET)
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
PUBLIC_URL = env_str("PUBLIC_URL", f"http://127.0.0.1:{env_int('PORT', 8000)}").rstrip("/")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "ninja",
    "kernel",
    "teams",
    "budgets",
    "providers",
    "sessions",
    "analytics",
    "gateway",
    "ctxbudget_site",
]

MIDDLEWARE = [
    "ctxbudget_site.middleware.ContractMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "ctxbudget_site.middleware.BrowserOnlyMiddleware",
]
# What only pages need: the API authenticates by key and skips all of it.
BROWSER_MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "ctxbudget_site.middleware.ContentSecurityMiddleware",
]
# The admin looks for them in MIDDLEWARE; it gets them through BROWSER_MIDDLEWARE.
SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410"]

ROOT_URLCONF = "ctxbudget_site.urls"
WSGI_APPLICATION = "ctxbudget_site.wsgi.application"
APPEND_SLASH = False

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
                "ctxbudget_site.console.context.frame",
            ]
        },
    }
]

DATABASES = {
    "default": database_from(env_str("DATABASE_URL") or f"sqlite:///{DATA_DIR / 'ctxbudget.sqlite3'}")
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env_str("REDIS_URL")
# Seconds. A Redis that does not answer costs a request this much, never more.
REDIS_TIMEOUTS = {"socket_timeout": 2, "socket_connect_timeout": 1}
CACHES = {
    "default": (
        {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "OPTIONS": REDIS_TIMEOUTS,
        }
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "django_cache"}
    )
}

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
SECURE_CONTENT_TYPE_NOSNIFF = True

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = Path(env_str("STATIC_ROOT", str(BASE_DIR / "staticfiles")))
STATICFILES_DIRS = [BASE_DIR / "templates" / "static"]
WHITENOISE_USE_FINDERS = ENVIRONMENT == "embedded"

# The contract's limits (REST).
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
MAX_MESSAGE_CHARACTERS = 1_048_576
MAX_BATCH_EVENTS = 1000

# Celery carries job ids; nothing is lost with its messages.
CELERY_BROKER_URL = REDIS_URL or "folder://localhost"  # ctxbudget_site/folder_queue.py
CELERY_BROKER_TRANSPORT_OPTIONS = (
    # One try to send: the job table has the job, and the sweeper sends it again.
    {"visibility_timeout": 300, **REDIS_TIMEOUTS, "max_retries": 0, "connect_retries_timeout": 1}
    if REDIS_URL
    else {
        "data_folder_in": str(DATA_DIR / "queue"),
        "data_folder_out": str(DATA_DIR / "queue"),
        "control_folder": str(DATA_DIR / "queue-control"),
        "polling_interval": 0.05,
    }
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "ctxbudget"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# Summarisers other than the built-in one are configured here and chosen by a profile.
SUMMARISER_URL = env_str("SUMMARISER_URL")
SUMMARISER_MODEL = env_str("SUMMARISER_MODEL")
SUMMARISER_API_KEY = env_str("SUMMARISER_API_KEY")

# Webhooks and upstreams reach public addresses only, unless this is set (for tests and private networks).
ALLOW_PRIVATE_ADDRESSES = env_bool("ALLOW_PRIVATE_ADDRESSES")

# The gateway's upstreams, by project. A vendor with neither address nor key is not offered.
GATEWAY_PORT = env_int("GATEWAY_PORT", env_int("PORT", 8000) + 1)
OPENAI_UPSTREAM = env_by_project("OPENAI_UPSTREAM")
OPENAI_API_KEY = env_by_project("OPENAI_API_KEY")
ANTHROPIC_UPSTREAM = env_by_project("ANTHROPIC_UPSTREAM")
ANTHROPIC_API_KEY = env_by_project("ANTHROPIC_API_KEY")

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
    ],
    logger_factory=structlog.PrintLoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env_str("LOG_LEVEL", "WARNING")},
}

UNFOLD = {"SITE_TITLE": "ctxbudget", "SITE_HEADER": "ctxbudget operator"}
