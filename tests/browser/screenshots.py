"""`make screenshots`: a week of demo data, the product on it, and a picture of each page, light and dark."""

from __future__ import annotations

import os
import shutil
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

# A name for the picture, and how a person gets there: an address, then links by their words; "to …" scrolls.
SESSION = ["/sessions", "refund-flow"]
PAGES = {
    "overview": ["/"],
    "sessions": ["/sessions"],
    "nothing-matches": ["/sessions?q=model:none"],
    "session": SESSION,
    "session-replay": [*SESSION, "‹"],
    "session-timeline": [*SESSION, "Timeline"],
    "session-messages": [*SESSION, "Messages"],
    "session-checkpoints": [*SESSION, "Checkpoints"],
    "session-turns": [*SESSION, "Turns"],
    "session-scratch": [*SESSION, "Scratch"],
    "session-signals": [*SESSION, "Signals"],
    "compact": [*SESSION, "Compact now"],
    "switch": [*SESSION, "Switch model"],
    "erase": [*SESSION, "Erase content"],
    "restore": [*SESSION, "Checkpoints", "Restore"],
    "diff": [*SESSION, "Checkpoints", "press Show what changed"],
    "approvals": ["/approvals"],
    "profiles": ["/profiles"],
    "profile-editor": ["/profiles", "refunds-team"],
    "profile-preview": ["/profiles", "refunds-team", "to What every model gets"],
    "profile-diff": ["/profiles", "refunds-team", "Compare"],
    "caps": ["/caps"],
    "cap": ["/caps", "Project"],
    "cap-new": ["/caps/new"],
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
    "key-new": ["/keys", "to Make the key"],
    "webhooks": ["/webhooks"],
    "webhook": ["/webhooks", "hooks.example"],
    "webhook-new": ["/webhooks", "to Make the webhook"],
    "members": ["/members"],
    "audit": ["/audit"],
    "settings": ["/settings"],
    "account": ["/account"],
    "help": ["/help"],
}

# What people open when a phone rings.
ON_A_PHONE = ("overview", "session", "approvals", "profile-editor")


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
            context.add_cookies([{"name": "theme", "value": theme, "url": url}])
            _take_theme(context.new_page(), url, password, theme)
            context.close()
        browser.close()
    _shrink()


def _take_theme(page: Page, url: str, password: str, theme: str) -> None:
    """Before signing in, then everything, then what changes something or leaves the project."""
    _take(page, url, ["/login"], f"login-{theme}")
    _sign_in(page, url, password)
    for name, way in PAGES.items():
        _take(page, url, way, f"{name}-{theme}")
    page.set_viewport_size({"width": PHONE_WIDTH, "height": PHONE_HEIGHT})
    for name in ON_A_PHONE:
        _take(page, url, PAGES[name], f"{name}-phone-{theme}")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    _take(page, url, _invited(page, url, f"nora-{theme}"), f"invitation-{theme}")
    # The project that every installation starts with has no session yet.
    _take(page, url, ["/", "demo"], f"first-use-{theme}")


def _invited(page: Page, url: str, name: str) -> list[str]:
    """The link that a new member opens to choose a password."""
    page.goto(f"{url}/members")
    page.fill("#username", name)
    page.click("button:has-text('Invite')")
    return [page.inner_text("#link").strip().removeprefix(url)]


def _sign_in(page: Page, url: str, password: str) -> None:
    page.goto(f"{url}/login")
    page.fill("#id_username", "admin")
    page.fill("#id_password", password)
    page.click("button.primary")
    page.click("main >> text=shop")


def _take(page: Page, url: str, way: list[str], name: str) -> None:
    page.goto(url + way[0])
    for step in way[1:]:
        _go(page, step)
        page.wait_for_load_state()
    page.wait_for_timeout(400)
    page.screenshot(path=str(FOLDER / f"{name}.png"))
    print(f"docs/screenshots/{name}.png")


def _go(page: Page, step: str) -> None:
    if step.startswith("to "):
        page.locator(f"main :text-is('{step[3:]}')").first.scroll_into_view_if_needed()
    elif step.startswith("press "):
        page.click(f"main button:has-text('{step[6:]}') >> nth=0")
    else:
        page.click(f"main a:has-text('{step}') >> nth=0")


def _shrink() -> None:
    """A third of the size where pngquant is installed; the pictures are the same to the eye."""
    if shutil.which("pngquant"):
        pictures = [str(path) for path in FOLDER.glob("*.png")]
        command = ["pngquant", "--force", "--skip-if-larger", "--ext", ".png", "--quality", "70-95"]
        # 98 and 99 say that a picture would not become smaller or good enough, and was left.
        subprocess.run([*command, *pictures], check=False)


if __name__ == "__main__":
    sys.exit(main())
