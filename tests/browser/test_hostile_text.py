"""P18: no stored text runs script or loads anything on any page, in any download or in the admin."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import reverse

from tests.browser.conftest import Visit
from tests.browser.hostile import CANNOT_CARRY, PAYLOAD, poison, stored_texts, unpoisoned
from tests.browser.hostile_world import Hostile, settle_hostile
from tests.pages.routes import ANALYTICS_TABS, SESSION_TABS, pages_of
from tests.pages.world import Tenant

pytestmark = pytest.mark.browser
# What a browser saves instead of showing: nothing in it can run on our address.
DOWNLOADS = ("/export", "format=csv", "format=jsonl")


def hostile_pages(tenant: Tenant, hostile: Hostile) -> list[str]:
    """The pages of the rows that are hostile by name, beside all the pages of the tenant."""
    session, profile = f"/sessions/{hostile.session.pk}", f"/profiles/{hostile.profile.pk}"
    pages = [f"{session}?tab={tab}" for tab in SESSION_TABS]
    pages += [f"{session}/{page}" for page in ("compact", "model", "restore/1", "diff?from=1&to=2", "live")]
    pages += [f"{session}?tab=composition&section=goal", f"{session}?tab=composition&at=1"]
    pages += [f"{session}?tab=messages&q=hacked", f"{session}?tab=checkpoints&checkpoint=1"]
    pages += [profile, f"{profile}/diff?from=1&to=2", f"/caps/{hostile.cap.pk}"]
    pages += [
        f"/models?name={quote(hostile.session.model)}",
        f"/sessions?q={quote(PAYLOAD)}",
        "/sessions?q=a",
    ]
    # The other project last: the visitor stays there.
    elsewhere = [f"/{page}?project={hostile.project.pk}" for page in ("", "settings", "sessions", "caps")]
    return [*pages_of(tenant), *pages, *elsewhere]


def poisoned(visit: Visit, tenant: Tenant) -> Hostile:
    """The visitor stays at the tenant's project; another one's hostile name comes first in lists."""
    visit.go(f"/?project={tenant.project.pk}")
    hostile = settle_hostile(tenant)
    poison()
    return hostile


def test_every_stored_text_is_hostile_or_has_a_reason(acme: Tenant) -> None:
    """A new field fails here until it carries the text, or the list says why it cannot."""
    settle_hostile(acme)
    poison()
    assert unpoisoned() == set(CANNOT_CARRY)
    assert set(CANNOT_CARRY) <= {label for label, _ in stored_texts()}


def test_no_stored_text_runs_on_any_page(visit: Visit, acme: Tenant) -> None:
    """The visit itself fails on any script error, dialog, console message or request to another host."""
    hostile = poisoned(visit, acme)
    for page in hostile_pages(acme, hostile):
        if page.endswith(DOWNLOADS):
            continue
        visit.go(page)
        assert_is_text(visit, page)
    visit.go(f"/sessions/{hostile.session.pk}?tab=messages")
    assert "window.hacked=1" in visit.page.inner_text("main")


def assert_is_text(visit: Visit, page: str) -> None:
    assert visit.page.evaluate("window.hacked === undefined"), page
    assert visit.page.locator("x-h").count() == 0, page


def test_a_download_is_saved_and_never_shown(visit: Visit, acme: Tenant) -> None:
    hostile = poisoned(visit, acme)
    session, profile = f"/sessions/{hostile.session.pk}", f"/profiles/{hostile.profile.pk}"
    tables = [f"/analytics?tab={tab}&format={kind}" for tab in ANALYTICS_TABS for kind in ("csv", "jsonl")]
    for path in [f"{session}/export", f"{profile}/export", "/sessions?format=csv", *tables]:
        assert is_saved(visit, path), path
        headers = visit.page.request.get(visit.url + path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert "html" not in headers["content-type"], path


def is_saved(visit: Visit, path: str) -> bool:
    """Followed as a link of our own pages, which is how a browser decides to show or to save."""
    visit.go("/help")
    with visit.page.expect_download() as waiting:
        visit.page.evaluate("path => { location.href = path }", path)
    return waiting.value.path().stat().st_size > 0 and visit.page.url.endswith("/help")


def test_no_stored_text_runs_in_the_previews_of_forms(visit: Visit, acme: Tenant) -> None:
    """What a page fetches while somebody edits, and the pages that answer a sent form."""
    hostile = poisoned(visit, acme)
    visit.go(f"/profiles/{hostile.profile.pk}")
    with visit.page.expect_response("**/preview"):
        visit.page.locator("input[type=number] >> nth=0").fill("600")
    visit.page.wait_for_timeout(300)
    assert_is_text(visit, "preview")
    visit.page.fill("input[name=note]", PAYLOAD[:200])
    visit.page.click("button:has-text('Save as a draft')")
    visit.page.wait_for_load_state()
    assert_is_text(visit, "draft")


def test_no_stored_text_runs_in_the_admin(visit: Visit, acme: Tenant) -> None:
    """Lists, rows and the start page, which also shows the last actions."""
    User.objects.filter(pk=acme.owner.pk).update(is_staff=True, is_superuser=True)
    poisoned(visit, acme)
    for page in ["/admin/", *admin_pages()]:
        visit.go(page)
        assert_is_text(visit, page)


def admin_pages() -> list[str]:
    pages = []
    for table in admin.site._registry:
        name = f"admin:{table._meta.app_label}_{table._meta.model_name}"
        newest = table._default_manager.order_by("-pk").first()
        pages.append(reverse(f"{name}_changelist"))
        if newest is not None:
            pages.append(reverse(f"{name}_change", args=[newest.pk]))
    return pages


def test_the_page_that_would_run_it_is_caught(visit: Visit) -> None:
    """The mutant: the same text put into a page as markup is seen by what the tests above look at."""
    visit.go("/help")
    visit.page.evaluate("html => { document.querySelector('main').innerHTML = html }", PAYLOAD)
    visit.page.wait_for_timeout(300)
    caught = [trouble for trouble in visit.troubles if "evil.example" in trouble or "violates" in trouble]
    assert caught
    assert visit.page.locator("x-h").count() == 1
    visit.troubles.clear()
