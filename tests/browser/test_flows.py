"""What people come for, from the first key to a restored checkpoint, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from budgets.services.caps import CapTerms, create_cap
from ctxbudget_site.demo.playing import Part, Stage, do_due_jobs
from sessions.models import AgentSession
from tests.api.client import LiveApi
from tests.browser.conftest import Visit
from tests.pages.world import AUTHOR, Tenant, part

pytestmark = pytest.mark.browser


def test_a_new_project_gets_a_key_and_its_first_session_arrives_live(visit: Visit, acme: Tenant) -> None:
    page = visit.page
    visit.go("/settings")
    page.fill("#project-name", "brand new")
    page.click("text=Create it")
    page.fill("form.card #name", "first agent")
    page.click("text=Make the key")
    secret = page.inner_text("#secret").strip()
    assert secret.startswith("ctxb_")
    page.click("nav >> text=Sessions")
    expect(page.locator("main")).to_contain_text("Waiting for the first event")
    LiveApi(url=visit.url, key=secret).post("/sessions", {"model": "gpt-5", "external_id": "hello"})
    expect(page.locator("tbody")).to_contain_text("hello")
    visit.go("/keys")
    assert secret not in page.content()


def test_a_session_changes_before_the_eyes_of_its_watcher(visit: Visit, acme: Tenant) -> None:
    visit.go(f"/sessions/{acme.session.pk}")
    expect(visit.page.locator("#head")).to_contain_text("Tokens over 4 turns")
    stage = Stage(project_id=acme.project.pk, key_id=acme.key.pk)
    stage.go_on(acme.session, _part(turns=6))
    expect(visit.page.locator("#head")).to_contain_text("Tokens over 6 turns")


def _part(*, turns: int, step_tokens: int = 200, model: str = "gpt-5-mini") -> Part:
    return Part(
        external_id="Acme-main",
        task="",
        model=model,
        profile="ratio-default",
        turns=turns,
        hours_ago=0,
        step_tokens=step_tokens,
    )


def test_a_profile_is_edited_with_sliders_and_published(visit: Visit, acme: Tenant) -> None:
    page = visit.page
    visit.go("/profiles")
    page.fill("#name", "tuned")
    page.click("text=Copy and edit")
    memory = page.locator('[aria-label="Share of memory in basis points"]')
    memory.fill("2000")
    expect(page.locator("#share-sum")).to_contain_text("100 %")
    assert page.input_value('[name="sections.2.amount"]') == "2000"
    # gpt-5-mini takes 272,000 tokens: a fifth of them is memory's now.
    expect(page.locator("#preview")).to_contain_text("54.4k")
    page.fill("#note", "agents forgot")
    page.click("text=Publish for")
    expect(page.locator(".flashes")).to_contain_text("Revision 2 is published")
    page.click("text=Roll back")
    expect(page.locator(".flashes")).to_contain_text("Revision 1 holds now")


def test_a_locked_share_stays_and_a_bad_sum_is_refused(visit: Visit, acme: Tenant) -> None:
    page = visit.page
    visit.go("/profiles")
    page.fill("#name", "locked")
    page.click("text=Copy and edit")
    page.check('[data-locks="sections.0.amount"]')
    page.locator('[aria-label="Share of memory in basis points"]').fill("3000")
    assert page.input_value('[name="sections.0.amount"]') == "1500"
    page.fill('[name="sections.0.amount"]', "9000")
    expect(page.locator("#preview")).to_contain_text("the shares sum to")
    visit.troubles.clear()
    page.click("text=Publish for")
    expect(page.locator('main [role="alert"]')).to_contain_text("the shares sum to")
    visit.troubles[:] = [trouble for trouble in visit.troubles if "422" not in trouble]


def test_a_watcher_sees_a_cap_pause_the_session(visit: Visit, acme: Tenant) -> None:
    stage = Stage(project_id=acme.project.pk, key_id=acme.key.pk)
    poor = stage.open(part("thin", model="claude-sonnet-4-5"))
    terms = CapTerms(scope="session", scope_id=poor.pk, period="total", limit_nano=1_000_000)
    create_cap(team_id=acme.project.team_id, project_id=acme.project.pk, terms=terms, author=AUTHOR)
    visit.go(f"/sessions/{poor.pk}")
    expect(visit.page.locator("#head")).to_contain_text("active")
    stage.go_on(poor, part("thin", model="claude-sonnet-4-5"))
    expect(visit.page.locator(".question")).to_contain_text("Cost cap reached", timeout=15_000)


def test_a_cap_pauses_a_session_and_a_person_lets_it_go_on(visit: Visit, acme: Tenant) -> None:
    visit.go(f"/sessions/{acme.approval.session_id}")
    expect(visit.page.locator(".question")).to_contain_text("Cost cap reached")
    assert visit.page.title().startswith("(1)")
    visit.page.click("text=Approve +$1")
    expect(visit.page.locator("#head")).to_contain_text("active")
    assert visit.page.locator(".question").count() == 0
    assert not visit.page.title().startswith("(1)")


def test_declining_lets_a_session_wrap_up(visit: Visit, acme: Tenant) -> None:
    visit.go("/approvals")
    visit.page.click("text=Decline: wrap up")
    expect(visit.page.locator("main")).to_contain_text("Nothing waits for you")
    visit.go(f"/sessions/{acme.approval.session_id}")
    expect(visit.page.locator("#head")).to_contain_text("Wrapping up")


def test_a_session_is_compacted_compared_and_restored(visit: Visit, acme: Tenant) -> None:
    page = visit.page
    stage = Stage(project_id=acme.project.pk, key_id=acme.key.pk)
    session = stage.play(
        Part(
            external_id="long",
            task="a long one",
            model="gpt-4",
            profile="ratio-default",
            turns=9,
            hours_ago=0,
            step_tokens=700,
        )
    )
    visit.go(f"/sessions/{session.pk}/compact")
    expect(page.locator("main")).to_contain_text("folded into the summary")
    page.click("button:has-text('Compact')")
    do_due_jobs()
    visit.go(f"/sessions/{session.pk}?tab=checkpoints")
    before = AgentSession.objects.get(pk=session.pk)
    assert before.compactions >= 1
    page.click("text=Write a checkpoint")
    page.click("text=Show what changed")
    expect(page.locator("h1")).to_contain_text("→")
    page.click("text=Restore 1…")
    expect(page.locator("main")).to_contain_text("Nothing is deleted")
    page.click("button:has-text('Restore')")
    expect(page.locator(".flashes")).to_contain_text("undoes it")
    assert AgentSession.objects.get(pk=session.pk).epoch == before.epoch + 1


def test_every_analytics_tab_is_read_and_exported(visit: Visit, acme: Tenant) -> None:
    page = visit.page
    visit.go("/analytics")
    for title in ("By model", "Planned and actual", "Over budget", "Compaction savings", "Forecast", "Usage"):
        page.click(f".tabs >> text={title}")
        expect(page.locator("main h2").first).to_be_visible()
    with page.expect_download() as download:
        page.click("text=CSV")
    assert download.value.suggested_filename == "ctxbudget-usage.csv"
    drawn = page.evaluate("document.querySelector('canvas').width > 0")
    assert drawn


def test_a_session_is_exported(visit: Visit, acme: Tenant) -> None:
    visit.go(f"/sessions/{acme.session.pk}")
    with visit.page.expect_download() as download:
        visit.page.click("text=Export messages")
    assert download.value.path().read_text().count("\n") == acme.session.head_seq


def test_a_webhook_is_tested_switched_off_and_removed(visit: Visit, acme: Tenant) -> None:
    page = visit.page
    visit.go("/webhooks")
    page.fill("#url", "https://127.0.0.1/hook")
    page.click("text=Make the webhook")
    expect(page.locator("#url-problem")).to_contain_text("not a public address")
    visit.troubles[:] = [trouble for trouble in visit.troubles if "422" not in trouble]
    page.click("main a:has-text('hooks.example')")
    page.click("text=Send a test")
    expect(page.locator("#deliveries tbody tr")).to_have_count(2)
    page.click("text=Switch off")
    expect(page.locator(".flashes")).to_contain_text("switched off")
    page.click("button:has-text('Remove')")
    expect(page.locator("main")).to_contain_text("No webhooks yet")


def test_a_page_is_readable_without_javascript(visit: Visit, acme: Tenant) -> None:
    browser = visit.page.context.browser
    assert browser is not None
    state = visit.page.context.storage_state()
    plain = browser.new_context(java_script_enabled=False, storage_state=state)
    page = plain.new_page()
    page.goto(f"{visit.url}/sessions/{acme.session.pk}")
    assert "Of the usable budget" in page.inner_text("main")
    page.goto(f"{visit.url}/analytics")
    assert page.locator("main table").count() == 1
    page.goto(f"{visit.url}/sessions/{acme.approval.session_id}")
    page.click("text=Approve +$1")
    assert "Cost cap reached" not in page.inner_text("main")
    plain.close()
