"""What an installation needs before its processes start: folder, secret, schema, admin, demo project."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import CheckMessage, registry
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from teams.auth import PREFIX_LENGTH, caller_for
from teams.models import ApiKey, Role, Scope
from teams.services import create_api_key, ensure_project, set_member

SECRET_FILE = "secret-key"
LOGIN_FILE = "first-login.txt"
KEY_FILE = "demo-key.txt"
ADMIN = "admin"


class StartRefused(Exception):
    """Why nothing was started, in a sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUse:
    """What a person needs to get in; None where it was changed or revoked since."""

    password: str | None
    api_key: str | None


def require_free_port(port: int) -> None:
    if not 1 <= port <= 65535:
        raise StartRefused(f"{port} is not a port; choose one from 1 to 65535 with PORT=.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise StartRefused(
                f"Port {port} cannot be used ({_reason(error)}); choose another with PORT=."
            ) from None


def prepare_folder(folder: Path) -> None:
    """Creates the data folder, for its owner alone, and makes sure that it can be written."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / f".write-probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StartRefused(
            f"The data folder {folder} cannot be written ({_reason(error)}); choose another with DATA_DIR=."
        ) from None


def installation_secret(folder: Path) -> str:
    """The secret of the environment, or this installation's own, made on its first start."""
    given = os.environ.get("CTXBUDGET_SECRET_KEY")
    if given:
        return given
    stored = _read(folder / SECRET_FILE)
    if stored:
        return stored
    secret = secrets.token_urlsafe(48)
    _write_private(folder / SECRET_FILE, secret)
    return secret


def failed_settings() -> list[CheckMessage]:
    """Our own checks alone: Django's others import every page, which the web process does anyway."""
    ours = [check for check in registry.registry.get_checks() if check.__module__ == "ctxbudget_site.checks"]
    return [
        message
        for check in ours
        for message in check(app_configs=None, databases=None)
        if message.is_serious()
    ]


def prepare_database() -> None:
    """Migrates when something is missing; refuses a database that a newer version wrote."""
    try:
        executor = MigrationExecutor(connection)
        _refuse_newer_schema(executor)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)
        if _cache_table_missing():
            call_command("createcachetable")
    except DatabaseError as error:
        raise StartRefused(f"The database cannot be used: {str(error).strip()}.") from None


def ensure_first_use(folder: Path) -> FirstUse:
    """The first admin and a demo project with a key; both are kept beside the data."""
    return FirstUse(password=_ensure_admin(folder / LOGIN_FILE), api_key=_ensure_demo_key(folder / KEY_FILE))


def _refuse_newer_schema(executor: MigrationExecutor) -> None:
    known = set(executor.loader.disk_migrations)
    ours = executor.loader.migrated_apps
    newer = sorted(key for key in executor.loader.applied_migrations if key not in known and key[0] in ours)
    if newer:
        names = ", ".join(f"{app}.{name}" for app, name in newer)
        raise StartRefused(
            f"The database was written by a newer ctxbudget (it has {names});"
            " update the code or choose another DATA_DIR=."
        )


def _cache_table_missing() -> bool:
    cache = settings.CACHES["default"]
    if not str(cache["BACKEND"]).endswith("DatabaseCache"):
        return False
    return cache["LOCATION"] not in connection.introspection.table_names()


@transaction.atomic
def _ensure_admin(path: Path) -> str | None:
    users = get_user_model()
    if not users.objects.filter(is_superuser=True).exists():
        password = secrets.token_urlsafe(12)
        users.objects.create_superuser(username=ADMIN, password=password)
        _write_private(path, f"user: {ADMIN}\npassword: {password}\n")
        return password
    stored = (_read(path) or "").rpartition("password: ")[2].strip()
    admin = users.objects.filter(username=ADMIN).first()
    return stored if stored and admin and admin.check_password(stored) else None


@transaction.atomic
def _ensure_demo_key(path: Path) -> str | None:
    """A key that was revoked stays revoked; one that this database never knew is replaced."""
    stored = _read(path)
    if stored and caller_for(stored):
        return stored
    if stored and ApiKey.objects.filter(prefix=stored[:PREFIX_LENGTH]).exists():
        return None
    project = ensure_project(team_name="demo", project_name="demo")
    admin = get_user_model().objects.filter(is_superuser=True).order_by("pk").first()
    if admin is not None and not project.team.memberships.filter(user=admin).exists():
        set_member(team=project.team, user=admin, role=Role.OWNER, actor="system")
    created = create_api_key(project=project, scopes=[Scope.AGENT, Scope.MANAGE], name="demo")
    _write_private(path, created.secret)
    return created.secret


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None


def _write_private(path: Path, text: str) -> None:
    """Never readable by others, not even for a moment."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
