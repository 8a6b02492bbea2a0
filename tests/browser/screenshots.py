"""`make screenshots`: a week of demo data, the product on it, and a picture of each page, light and dark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import CHROMIUM, OPTIONS
from tests.services_processes import free_port

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = REPOSITORY / "docs" / "screenshots"
WIDTH, HEIGHT = 1440, 900
PHONE_WIDTH, PHONE_HEIGHT = 390, 844
START_SECONDS = 60

# A name for the picture, and how a person gets to the page from the overview.
PAGES = {
    "overview": ["/"],
    "sessions": ["/sessions"],
    "session": ["/sessions", "refund-flow"],
    "session-timeline": ["/sessions", "refund-flow", "Timeline"],
    "session-messages": ["/sessions", "refund-flow", "Messages"],
    "session-checkpoints": ["/sessions", "refund-flow", "Checkpoints"],
    "session-turns": ["/sessions", "refund-flow", "Turns"],
    "session-scratch": ["/sessions", "refund-flow", "Scratch"],
    "session-signals": ["/sessions", "refund-flow", "Signals"],
    "approvals": ["/approvals"],
    "profiles": ["/profiles"],
    "profile-editor": ["/profiles", "refunds-team"],
    "caps": ["/caps"],
    "cap": ["/caps", "Project"],
    "models": ["/models"],
    "model": ["/models", "claude-sonnet-4-5"],
    "analytics": ["/analytics"],
    "analytics-models": ["/analytics", "By model"],
    "analytics-over-budget": ["/analytics", "Over budget"],
    "analytics-forecast": ["/analytics", "Forecast"],
    "analytics-sections": ["/analytics", "Planned and actual"],
    "analytics-compaction": ["/analytics", "Compaction savings"],
    "jobs": ["/jobs"],
    "keys": ["/keys"],
    "webhooks": ["/webhooks"],
    "webhook": ["/webhooks", "hooks.example"],
    "members": ["/members"],
    "audit": ["/audit"],
    "settings": ["/settings"],
    "account": ["/account"],
    "help": ["/help"],
}

# What people open when a phone rings.
ON_A_PHONE = ("overview", "session", "approvals")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        env = {**os.environ, "CTXBUDGET_DATA_DIR": folder, "CTXBUDGET_PORT": str(port)}
        _manage("demo", env)
        server = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=REPOSITORY, env=env, stdout=subprocess.DEVNULL
        )
        try:
            _wait_for(f"{url}/readyz")
            _take_all(url, Path(folder))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=30)
    return 0


def _manage(command: str, env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "manage.py", command], cwd=REPOSITORY, env=env, check=True)


def _wait_for(url: str) -> None:
    """Until the web server answers and a worker is alive."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            with urlopen(url, timeout=2) as response:
                if b'"workers": 0' not in response.read():
                    return
        except (URLError, OSError):
            pass
        time.sleep(0.3)
    raise SystemExit(f"{url} did not become ready.")


def _take_all(url: str, folder: Path) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    password = (folder / "first-login.txt").read_text().rpartition("password: ")[2].strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        for theme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, locale="en-GB", timezone_id="UTC"
            )
            page = context.new_page()
            _sign_in(page, url, password)
            context.add_cookies([{"name": "theme", "value": theme, "url": url}])
            for name, way in PAGES.items():
                _take(page, url, way, FOLDER / f"{name}-{theme}.png")
            page.set_viewport_size({"width": PHONE_WIDTH, "height": PHONE_HEIGHT})
            for name in ON_A_PHONE:
                _take(page, url, PAGES[name], FOLDER / f"{name}-phone-{theme}.png")
            context.close()
        browser.close()


def _sign_in(page: Page, url: str, password: str) -> None:
    page.goto(f"{url}/login")
    page.fill("#id_username", "admin")
    page.fill("#id_password", password)
    page.click("button.primary")
    page.click("main >> text=shop")


def _take(page: Page, url: str, way: list[str], path: Path) -> None:
    page.goto(url + way[0])
    for step in way[1:]:
        page.click(f"main a:has-text('{step}') >> nth=0")
        page.wait_for_load_state()
    page.wait_for_timeout(400)
    page.screenshot(path=str(path))
    print(path.relative_to(REPOSITORY))


if __name__ == "__main__":
    sys.exit(main())
