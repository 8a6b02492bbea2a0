"""A real Chromium on a real web server; every test also proves that nothing failed or left the host."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import User
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from tests.browser.chromium import CHROMIUM, OPTIONS
from tests.pages.world import PASSWORD, Tenant, settle

# Playwright's loop runs in this thread, in which the tests also ask the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


@dataclass
class Visit:
    """A page with a record of everything that went wrong on it."""

    page: Page
    url: str
    troubles: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.troubles.append(f"script error: {error}"))
        self.page.on("request", self._request)
        self.page.on("dialog", lambda dialog: self.troubles.append(f"dialog: {dialog.message}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(f"{self.page.url}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.troubles.append(f"left the host: {request.url}")

    def go(self, path: str) -> None:
        response = self.page.goto(self.url + path)
        assert response is not None
        assert response.status == 200, (path, response.status)

    def sign_in(self, name: str) -> None:
        self.page.goto(self.url + "/login")
        self.page.fill("#id_username", name)
        self.page.fill("#id_password", PASSWORD)
        self.page.click("button.primary")
        self.page.wait_for_url(self.url + "/")

    def set_theme(self, theme: str) -> None:
        self.page.context.add_cookies([{"name": "theme", "value": theme, "url": self.url}])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def acme(transactional_db: None) -> Tenant:
    tenant = settle("Acme", "alpha")
    # Tests hash passwords quickly; the web server is the real one and knows only the strong way.
    strong = Argon2PasswordHasher()
    User.objects.filter(pk=tenant.owner.pk).update(password=strong.encode(PASSWORD, strong.salt()))
    return tenant


@pytest.fixture
def visit(chromium: Browser, acme: Tenant, live_server_process: str) -> Iterator[Visit]:
    """The owner of Acme, signed in; the test fails when anything went wrong on the way."""
    context = chromium.new_context(viewport={"width": 1360, "height": 900}, accept_downloads=True)
    context.set_default_timeout(15_000)
    visited = Visit(page=context.new_page(), url=live_server_process)
    visited.watch()
    visited.sign_in(acme.owner.username)
    yield visited
    context.close()
    assert visited.troubles == []


@pytest.fixture(scope="session")
def axe_source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core comes by its package name and is never committed."""
    if shutil.which("npm") is None:
        pytest.skip("npm is missing: axe-core cannot be fetched")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), "axe-core@4"]
    fetched = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        pytest.skip(f"axe-core could not be fetched: {fetched.stderr[-300:]}")
    return script.read_text()
