"""axe finds nothing on any page, light or dark; pages fit a phone and can be used from the keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Visit
from tests.pages.routes import pages_of
from tests.pages.world import Tenant

pytestmark = pytest.mark.browser
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def shown_pages(tenant: Tenant) -> list[str]:
    """Pages only: parts and downloads are no documents of their own."""
    return [page for page in pages_of(tenant) if not page.endswith(("/live", "/export"))]


def violations(visit: Visit, axe_source: str) -> list[str]:
    # Evaluated by the browser's tools, so the page's own policy stays as strict as it is.
    visit.page.evaluate(axe_source)
    found: dict[str, Any] = visit.page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES
    )
    return [f"{visit.page.url}: {one['id']}: {_first(one['nodes'][0])}" for one in found["violations"]]


def _first(node: dict[str, Any]) -> str:
    return f"{node['html'][:200]}: {node['failureSummary'][:300]}"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(visit: Visit, acme: Tenant, axe_source: str, theme: str) -> None:
    visit.set_theme(theme)
    found = []
    for page in shown_pages(acme):
        visit.go(page)
        found += violations(visit, axe_source)
    assert found == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_before_signing_in(visit: Visit, axe_source: str, theme: str) -> None:
    visit.go("/members")
    visit.page.fill("#username", "nora")
    visit.page.click("button:has-text('Invite')")
    invitation = visit.page.inner_text("#link").strip().removeprefix(visit.url)
    visit.page.context.clear_cookies()
    visit.set_theme(theme)
    found = []
    for path in ("/login", invitation):
        visit.go(path)
        found += violations(visit, axe_source)
    assert visit.page.locator("#id_new_password1").is_visible()
    assert found == []


@pytest.mark.parametrize("width", [360, 768, 3840])
def test_no_page_is_wider_than_its_window(visit: Visit, acme: Tenant, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    for page in shown_pages(acme):
        visit.go(page)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width, page


def test_the_keyboard_reaches_everything(visit: Visit, acme: Tenant) -> None:
    visit.go("/")
    visit.page.keyboard.press("g")
    visit.page.keyboard.press("s")
    visit.page.wait_for_url("**/sessions*")
    visit.page.keyboard.press("j")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url("**/sessions/sess_*")
    visit.page.keyboard.press("?")
    assert visit.page.locator("#keys-sheet").is_visible()
    visit.page.keyboard.press("Escape")
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("state:paused")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url("**q=state*paused*")
    assert visit.page.locator("tbody tr").count() == 1


def test_the_theme_is_there_at_the_first_paint(visit: Visit) -> None:
    visit.go("/help")
    visit.page.select_option("#theme", "dark")
    visit.page.wait_for_selector('html[data-theme="dark"]')
    dark = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    visit.page.emulate_media(color_scheme="light")
    visit.page.reload()
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
