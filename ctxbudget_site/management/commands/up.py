"""`manage.py up`: everything on one machine under one command, until Ctrl-C."""

from __future__ import annotations

import os
import sys
import time
from http.client import HTTPConnection, HTTPException
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ctxbudget_site import bootstrap
from ctxbudget_site.settings import env_int
from ctxbudget_site.supervisor import Child, Program, Supervisor
from sessions.models import AgentSession

HOST = "127.0.0.1"
# A cold disk may take this long to load the vocabularies; a web process that dies is noticed at once.
START_SECONDS = 60
DEFAULT_PORT = 8000


class Command(BaseCommand):
    help = "Runs everything on one machine until Ctrl-C; creates the data folder on its first start."
    # Ours run below; the others import all pages, and the web process is about to do that.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        port = env_int("PORT", DEFAULT_PORT)
        os.umask(0o077)
        try:
            secret, first_use = _prepare(port)
        except bootstrap.StartRefused as refused:
            raise CommandError(str(refused)) from None
        environment = {**os.environ, **_child_settings(secret, port)}
        with Supervisor(folder=settings.BASE_DIR, environment=environment, write=self._say) as supervisor:
            web = supervisor.start(_web(port))
            if not _wait_for_answer(web, port, supervisor):
                return
            # The web process comes first: on two cores the others would slow its start.
            supervisor.start(_worker())
            supervisor.start(_sweeper())
            if _offers_gateway():
                supervisor.start(_gateway())
            self._say(_banner(port, first_use))
            supervisor.watch()

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _prepare(port: int) -> tuple[str, bootstrap.FirstUse]:
    bootstrap.require_free_port(port)
    if _offers_gateway():
        bootstrap.require_free_port(settings.GATEWAY_PORT)
    bootstrap.prepare_folder(settings.DATA_DIR)
    secret = bootstrap.installation_secret(settings.DATA_DIR)
    problems = bootstrap.failed_settings()
    if problems:
        raise bootstrap.StartRefused(
            "\n".join(f"{problem.msg} {problem.hint} ({problem.id})" for problem in problems)
        )
    bootstrap.prepare_database()
    return secret, bootstrap.ensure_first_use(settings.DATA_DIR)


def _child_settings(secret: str, port: int) -> dict[str, str]:
    static = settings.DATA_DIR.resolve() / "static"
    static.mkdir(exist_ok=True)
    return {
        "CTXBUDGET_DATA_DIR": str(settings.DATA_DIR.resolve()),
        "CTXBUDGET_PORT": str(port),
        "CTXBUDGET_GATEWAY_PORT": str(settings.GATEWAY_PORT),
        "CTXBUDGET_SECRET_KEY": secret,
        "CTXBUDGET_STATIC_ROOT": os.environ.get("CTXBUDGET_STATIC_ROOT", str(static)),
    }


def _web(port: int) -> Program:
    options = ("--interface", "wsgi", "--host", HOST, "--port", str(port), "--workers", "1", "--no-ws")
    limits = ("--blocking-threads", "16", "--log-level", "error")
    target = "ctxbudget_site.wsgi:application"
    return Program(name="web", command=(sys.executable, "-m", "granian", *options, *limits, target))


def _worker() -> Program:
    # Somebody trying this as root has been warned enough by being root.
    quiet = ("-W", "ignore:You're running the worker with superuser privileges")
    celery = (sys.executable, *quiet, "-m", "celery", "--quiet", "-A", "ctxbudget_site", "worker")
    # Threads: jobs wait for summarisers rather than compute, and one process is light. Killed, it is
    # restarted here and its jobs return after their lease. Mingling costs a second and finds nobody.
    options = (
        "--pool",
        "threads",
        "--concurrency",
        "2",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    )
    return Program(name="worker", command=(*celery, *options, "--loglevel", "WARNING"))


def _sweeper() -> Program:
    return Program(name="sweeper", command=(sys.executable, "manage.py", "sweeper"))


def _offers_gateway() -> bool:
    """Without an upstream it could answer nobody, and is not started."""
    given = (settings.OPENAI_UPSTREAM, settings.OPENAI_API_KEY)
    return any(
        value
        for by_project in (*given, settings.ANTHROPIC_UPSTREAM, settings.ANTHROPIC_API_KEY)
        for value in by_project.values()
    )


def _gateway() -> Program:
    return Program(name="gateway", command=(sys.executable, "manage.py", "gateway"))


def _wait_for_answer(web: Child, port: int, supervisor: Supervisor) -> bool:
    """True once it answers, False when a signal came first."""
    deadline = time.monotonic() + START_SECONDS
    while (status := _health_status(port)) != 200:
        if supervisor.stopping.is_set():
            return False
        # An answer other than 200 will not become one by waiting.
        if status or not web.is_alive() or time.monotonic() > deadline:
            raise CommandError("The web server did not start; its last lines above say why.")
        time.sleep(0.05)
    return True


def _health_status(port: int) -> int | None:
    connection = HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def _banner(port: int, first_use: bootstrap.FirstUse) -> str:
    address = f"http://{HOST}:{port}"
    folder = settings.DATA_DIR
    login = (
        f"{bootstrap.ADMIN} / {first_use.password}   (kept in {folder / bootstrap.LOGIN_FILE})"
        if first_use.password
        else "with the password you chose"
    )
    lines = [
        "",
        f"ctxbudget answers on {address}",
        f"  sign in    {address}/   {login}",
        f"  operator   {address}/admin/",
        f"  API        {address}/api/v1/docs",
        *([f"  gateway    http://{HOST}:{settings.GATEWAY_PORT}/gateway/"] if _offers_gateway() else []),
        f"  data       {folder}",
        "",
        _invitation(address, first_use.api_key),
        *_demo_offer(port),
        "",
        "Ctrl-C ends it.",
    ]
    return "\n".join(lines)


def _demo_offer(port: int) -> list[str]:
    """Where no session ever ran, there is nothing to look at yet."""
    if AgentSession.objects.exists():
        return []
    where = "" if port == DEFAULT_PORT else f" PORT={port}"
    where += "" if settings.DATA_DIR == settings.BASE_DIR / "var" else f" DATA_DIR={settings.DATA_DIR}"
    return ["", f"Nothing ran here yet. `make demo{where}` in another terminal fills a week to look at."]


def _invitation(address: str, api_key: str | None) -> str:
    if api_key is None:
        return "The demo key was revoked; `manage.py create_api_key` prints a new one."
    return (
        f"Try it:\ncurl -s {address}/api/v1/budgets/calculate -H 'Authorization: Bearer {api_key}'"
        " -H 'Content-Type: application/json' -d '{\"total\": 6400}'"
    )
