"""Pages ask the database a fixed number of questions, however much there is to show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from budgets.services.models import forget_cards
from ctxbudget_site.demo.playing import Stage
from sessions.services import by_hand
from tests.pages.routes import pages_of
from tests.pages.world import AUTHOR, Tenant, part

# Sign-in, project, navigation and the page itself; a page that needs more wants a second look.
MOST_QUERIES = 32


@pytest.fixture(autouse=True)
def cold_models() -> Iterator[None]:
    forget_cards()
    yield


def questions(client: Client, page: str) -> int:
    forget_cards()
    with CaptureQueriesContext(connection) as captured:
        response = client.get(page)
        if response.streaming:
            b"".join(response.streaming_content)
    assert response.status_code == 200, page
    return len(captured)


def grow(tenant: Tenant) -> None:
    """Three times as many sessions, turns, messages, models, checkpoints, signals and jobs."""
    stage = Stage(project_id=tenant.project.pk, key_id=tenant.key.pk, seed=11)
    for number, model in enumerate(("gpt-4", "claude-haiku-4-5", "deepseek-chat", "acme/unknown", "gpt-5")):
        stage.play(part(f"more-{number}", turns=3, model=model))
    stage.go_on(tenant.session, part("Acme-main", turns=14))
    for _ in range(4):
        by_hand.checkpoint(project_id=tenant.project.pk, session_id=tenant.session.pk, author=AUTHOR)


def test_no_page_asks_more_when_there_is_more_to_show(acme: Tenant, browser: Client) -> None:
    pages = pages_of(acme)
    browser.get("/")
    before = {page: questions(browser, page) for page in pages}
    grow(acme)
    after = {page: questions(browser, page) for page in pages}
    # The first look at an alias or an empty list may save a question or two.
    grown = {page: (before[page], after[page]) for page in pages if after[page] > before[page] + 2}
    assert grown == {}


def test_no_page_asks_many_questions(acme: Tenant, browser: Client) -> None:
    browser.get("/")
    asked = {page: questions(browser, page) for page in pages_of(acme)}
    assert {page: count for page, count in asked.items() if count > MOST_QUERIES} == {}


def test_an_unchanged_session_costs_its_watchers_little(acme: Tenant, browser: Client) -> None:
    path = f"/sessions/{acme.session.pk}/live"
    etag = browser.get(path)["ETag"]
    with CaptureQueriesContext(connection) as captured:
        response = browser.get(path, HTTP_IF_NONE_MATCH=etag)
    assert response.status_code == 304
    assert len(captured) <= 6
