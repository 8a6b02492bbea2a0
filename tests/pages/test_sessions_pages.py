"""The session list and the page of one session: what they say is what the services say."""

from __future__ import annotations

import json

from django.test import Client
from django.utils.html import escape
from pytest import MonkeyPatch

from budgets.core.remedies import TROUBLES
from budgets.services.profiles import copy_profile
from ctxbudget_site.demo.playing import Stage
from sessions.models import AgentSession, Approval, Message
from sessions.services.ingest import record_events
from teams.models import AuditEvent
from tests.pages.world import AUTHOR, Tenant, part

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>{{ 7|add:7 }}'


def html_of(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_both_percentages_are_labelled_with_their_source(acme: Tenant, browser: Client) -> None:
    html = html_of(browser, f"/sessions/{acme.session.pk}")
    assert "Of the model's window" in html
    assert "Of the usable budget" in html
    assert ">reported</span>" in html or ">counted</span>" in html


def test_the_parts_add_up_to_the_total_and_the_page_says_so(acme: Tenant, browser: Client) -> None:
    html = html_of(browser, f"/sessions/{acme.session.pk}")
    assert "✓</p>" in html
    assert "≠" not in html


def test_an_unknown_price_is_said_and_never_zero(acme: Tenant, browser: Client) -> None:
    stage = Stage(project_id=acme.project.pk, key_id=acme.key.pk)
    session = stage.play(part("unpriced", model="acme/in-house"))
    assert "no price" in html_of(browser, f"/sessions/{session.pk}?tab=turns")
    assert "— no price" in html_of(browser, "/sessions?q=model:acme/in-house")
    assert "$0.00" not in html_of(browser, f"/sessions/{session.pk}?tab=turns")


def test_a_question_about_money_is_answered_on_the_page(acme: Tenant, browser: Client) -> None:
    path = f"/sessions/{acme.approval.session_id}"
    assert "Cost cap reached" in html_of(browser, path)
    where = f"/approvals/{acme.approval.pk}/approve"
    answer = browser.post(where, {"amount": "1", "from": "session"})
    assert answer["Location"] == path
    assert "Cost cap reached" not in html_of(browser, path)
    assert AgentSession.objects.get(pk=acme.approval.session_id).state == "active"


def test_declining_lets_the_session_wrap_up(acme: Tenant, browser: Client) -> None:
    browser.post(f"/approvals/{acme.approval.pk}/decline")
    html = html_of(browser, f"/sessions/{acme.approval.session_id}")
    assert "Wrapping up" in html
    assert Approval.objects.get(pk=acme.approval.pk).state == "declined"


def test_a_second_answer_is_refused_with_who_was_faster(acme: Tenant, browser: Client) -> None:
    browser.post(f"/approvals/{acme.approval.pk}/decline")
    where = f"/approvals/{acme.approval.pk}/approve"
    answer = browser.post(where, {"amount": "1"}, HTTP_REFERER="http://testserver/approvals", follow=True)
    assert "decided already: declined" in answer.content.decode()


def test_an_amount_that_is_none_is_refused(acme: Tenant, browser: Client) -> None:
    where = f"/approvals/{acme.approval.pk}/approve"
    for amount in ("", "five", "-1", "1e9", "0", "1.0000000001", "٣"):
        assert browser.post(where, {"amount": amount}).status_code == 422, amount
    assert Approval.objects.get(pk=acme.approval.pk).state == "pending"


def test_hostile_text_is_shown_as_text(acme: Tenant, browser: Client) -> None:
    message = {"type": "message", "message": {"role": "user", "content": HOSTILE}}
    record_events(project_id=acme.project.pk, ref=acme.session.pk, format="native", events=[message])
    html = html_of(browser, f"/sessions/{acme.session.pk}?tab=messages")
    assert "&lt;script&gt;alert" in html
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_lone_surrogates_and_nul_do_not_break_a_page(acme: Tenant, browser: Client) -> None:
    message = {"type": "message", "message": {"role": "user", "content": "a\ud800b\x00c"}}
    record_events(project_id=acme.project.pk, ref=acme.session.pk, format="native", events=[message])
    for tab in ("messages", "scratch", "composition"):
        assert browser.get(f"/sessions/{acme.session.pk}?tab={tab}").status_code == 200


def test_pausing_and_resuming_leaves_an_audit_row(acme: Tenant, browser: Client) -> None:
    where = f"/sessions/{acme.session.pk}/state"
    browser.post(where, {"state": "paused"})
    assert AgentSession.objects.get(pk=acme.session.pk).state == "paused"
    browser.post(where, {"state": "active"})
    assert AgentSession.objects.get(pk=acme.session.pk).state == "active"
    rows = AuditEvent.objects.filter(subject_id=acme.session.pk, action="session.changed")
    assert [row.after["state"] for row in rows.order_by("id")] == ["paused", "active"]
    assert {row.actor for row in rows} == {f"user:{acme.owner.username}"}


def test_what_a_cap_paused_is_not_resumed_by_hand(acme: Tenant, browser: Client) -> None:
    where = f"/sessions/{acme.approval.session_id}/state"
    assert browser.post(where, {"state": "active"}).status_code == 409
    assert "<button disabled>Resume</button>" in html_of(browser, f"/sessions/{acme.approval.session_id}")


def test_switching_shows_the_fit_first_and_then_does_it(acme: Tenant, browser: Client) -> None:
    html = html_of(browser, f"/sessions/{acme.session.pk}/model?model=gpt-4")
    assert "fits" in html
    assert AgentSession.objects.get(pk=acme.session.pk).model == "gpt-5-mini"
    browser.post(f"/sessions/{acme.session.pk}/model", {"model": "gpt-4"})
    assert AgentSession.objects.get(pk=acme.session.pk).model == "gpt-4"


def test_restoring_hides_what_came_later_and_says_how_to_undo_it(acme: Tenant, browser: Client) -> None:
    stage = Stage(project_id=acme.project.pk, key_id=acme.key.pk)
    stage.go_on(acme.session, part("Acme-main", turns=7))
    head = AgentSession.objects.get(pk=acme.session.pk).head_seq
    html = html_of(browser, f"/sessions/{acme.session.pk}/restore/1")
    assert "hidden and can be brought back" in html
    answer = browser.post(f"/sessions/{acme.session.pk}/restore/1", follow=True)
    assert "undoes it" in answer.content.decode()
    restored = AgentSession.objects.get(pk=acme.session.pk)
    assert restored.hidden
    assert restored.head_seq == head
    assert "hidden by a restore" in html_of(browser, f"/sessions/{acme.session.pk}?tab=messages")


def test_the_export_holds_every_message(acme: Tenant, browser: Client) -> None:
    response = browser.get(f"/sessions/{acme.session.pk}/export")
    lines = b"".join(response.streaming_content).decode().splitlines()
    assert len(lines) == Message.objects.filter(session=acme.session).count()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))


def test_the_list_is_filtered_by_its_address(acme: Tenant, browser: Client) -> None:
    assert "Acme-main" not in html_of(browser, "/sessions?q=state:paused")
    assert "Acme-poor" in html_of(browser, "/sessions?q=state:paused")
    assert "Acme-poor" not in html_of(browser, "/sessions?q=-state:paused")
    assert "Acme-main" in html_of(browser, "/sessions?q=turns:>3")
    assert "Nothing matches" in html_of(browser, "/sessions?q=cost:>1000")
    assert "Did you mean model?" in html_of(browser, "/sessions?q=modle:x")


def test_a_project_without_sessions_says_what_to_do(browser: Client, acme: Tenant) -> None:
    browser.post("/projects/new", {"name": "empty"})
    fresh = acme.project.team.projects.get(name="empty")
    html = html_of(browser, f"/sessions?project={fresh.pk}")
    assert "Waiting for the first event" in html
    assert "/api/v1/sessions" in html


def test_a_long_notebook_is_shown_from_its_end(
    acme: Tenant, browser: Client, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions.views.tabs.MAX_INPUTS", 2)
    events = [{"type": "message", "message": {"role": "user", "content": f"wish {n}"}} for n in range(4)]
    record_events(project_id=acme.project.pk, ref=acme.session.pk, format="native", events=events)
    said = Message.objects.filter(session=acme.session, is_human=True).order_by("seq")
    seqs = list(said.values_list("seq", flat=True))
    assert len(seqs) > 2
    html = html_of(browser, f"/sessions/{acme.session.pk}?tab=scratch")
    assert f"{len(seqs) - 2} older ones are in the API" in html
    assert f"## #{seqs[-1]}" in html
    assert f"## #{seqs[0]}\n" not in html
    assert f"- #{seqs[0]}" in html


def test_each_trouble_is_met_with_its_remedies(acme: Tenant, browser: Client) -> None:
    """R16: a session that overflows, drops its tail, forgets or warns says there what helps."""
    row = AgentSession.objects.filter(pk=acme.session.pk)
    calm = html_of(browser, f"/sessions/{acme.session.pk}")
    row.update(dropped_unsummarised=3, reported_prompt=900_000)
    html = {tab: html_of(browser, f"/sessions/{acme.session.pk}?tab={tab}") for tab in ("scratch", "signals")}
    for trouble in TROUBLES:
        where = "signals" if trouble.slug == "warnings" else "scratch"
        for remedy in trouble.remedies:
            assert escape(remedy) in html[where], (trouble.slug, where)
    assert escape(TROUBLES[0].remedies[0]) not in calm


def test_erasing_asks_for_the_name_and_leaves_the_amounts(acme: Tenant, browser: Client) -> None:
    where = f"/sessions/{acme.session.pk}/erase"
    browser.post(where, {"name": "something else"})
    assert Message.objects.filter(session=acme.session).exists()
    assert browser.post(where, {"name": str(acme.session)}).status_code == 302
    erased = AgentSession.objects.get(pk=acme.session.pk)
    assert (erased.state, erased.turns) == ("erased", acme.session.turns)
    assert not Message.objects.filter(session=acme.session).exists()
    assert browser.get(f"/sessions/{acme.session.pk}").status_code == 200


def test_many_are_erased_only_with_the_word(acme: Tenant, browser: Client) -> None:
    form = {"action": "erase", "session": [acme.session.pk]}
    browser.post("/sessions/bulk", form)
    assert AgentSession.objects.get(pk=acme.session.pk).state != "erased"
    browser.post("/sessions/bulk", {**form, "confirm": "erase"})
    assert AgentSession.objects.get(pk=acme.session.pk).state == "erased"


def test_the_chosen_sessions_are_exported_together(acme: Tenant, browser: Client) -> None:
    ids = [acme.session.pk, acme.approval.session_id]
    response = browser.post("/sessions/bulk", {"action": "export", "session": ids})
    lines = b"".join(response.streaming_content).splitlines()
    assert {json.loads(line)["session"] for line in lines} == set(ids)


def test_a_pinned_session_stays_at_its_revision(acme: Tenant, browser: Client) -> None:
    browser.post(f"/sessions/{acme.session.pk}/pin", {"pinned": "yes"})
    assert AgentSession.objects.get(pk=acme.session.pk).pinned_revision == acme.profile.current
    assert "Follow the profile again" in browser.get(f"/sessions/{acme.session.pk}").content.decode()
    browser.post(f"/sessions/{acme.session.pk}/pin", {"pinned": "no"})
    assert AgentSession.objects.get(pk=acme.session.pk).pinned_revision is None


def test_the_fit_of_another_profile_is_shown_before_it_is_taken(acme: Tenant, browser: Client) -> None:
    other = copy_profile(project_id=acme.project.pk, name="other", copy_of="long-story", author=AUTHOR)
    where = f"/sessions/{acme.session.pk}/model"
    html = browser.get(f"{where}?profile=other").content.decode()
    assert "other r1" in html
    assert AgentSession.objects.get(pk=acme.session.pk).profile == acme.profile
    browser.post(where, {"profile": "other"})
    assert AgentSession.objects.get(pk=acme.session.pk).profile == other
