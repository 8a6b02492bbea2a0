"""Profiles in the browser: problems beside fields, the same preview as the API, publish and roll back."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.utils.html import escape

from budgets.core.presets import PRESETS
from budgets.models import Profile
from budgets.views.policy_text import read_policy
from tests.pages.forms import fields_of
from tests.pages.world import Tenant


def copy(browser: Client, preset: str = "ratio-default", name: str = "mine") -> Profile:
    browser.post("/profiles/new", {"name": name, "copy_of": preset})
    return Profile.objects.select_related("current").get(name=name)


def form_of(browser: Client, profile: Profile, **shares: int) -> dict[str, str]:
    """What the editor sends with these shares changed."""
    assert profile.current is not None
    html = browser.get(f"/profiles/{profile.pk}").content.decode()
    form = {**fields_of(html, "editor"), "note": "because"}
    for index, section in enumerate(profile.current.policy["sections"]):
        if section["name"] in shares:
            form[f"sections.{index}.amount"] = str(shares[section["name"]])
    return form


def test_saving_the_form_unchanged_changes_nothing(browser: Client) -> None:
    for preset in PRESETS:
        profile = copy(browser, preset, f"copy-of-{preset}")
        before = profile.current.policy if profile.current else {}
        assert browser.post(f"/profiles/{profile.pk}", form_of(browser, profile)).status_code == 302, preset
        newest = profile.revisions.order_by("-number").first()
        assert newest is not None
        assert newest.number == 2
        assert newest.policy == before, preset


def test_publishing_takes_effect_and_rolling_back_undoes_it(browser: Client) -> None:
    profile = copy(browser)
    form = {**form_of(browser, profile, memory=1500, conversation_summary=1000), "then": "publish"}
    browser.post(f"/profiles/{profile.pk}", form)
    profile.refresh_from_db()
    assert profile.current is not None
    sizes = {row["name"]: row["size"] for row in profile.current.policy["sections"]}
    assert sizes["memory"] == {"share_bp": 1500}
    assert profile.current.note == "because"
    browser.post(f"/profiles/{profile.pk}/publish", {"revision": "1"})
    profile.refresh_from_db()
    assert profile.current is not None
    assert profile.current.number == 1


def test_a_bad_sum_is_refused_with_the_reason_and_nothing_is_lost(browser: Client) -> None:
    profile = copy(browser)
    response = browser.post(
        f"/profiles/{profile.pk}", {**form_of(browser, profile, memory=9999), "then": "publish"}
    )
    html = response.content.decode()
    assert response.status_code == 422
    assert "the shares sum to" in html
    assert 'value="9999"' in html
    assert profile.revisions.count() == 1


def test_a_problem_stands_beside_its_field(browser: Client) -> None:
    profile = copy(browser)
    form = {**form_of(browser, profile), "sections.2.amount": "many", "then": "publish"}
    html = browser.post(f"/profiles/{profile.pk}", form).content.decode()
    assert 'id="problem-2"' in html
    assert 'aria-describedby="problem-2"' in html


def test_the_preview_is_what_the_calculation_gives(browser: Client) -> None:
    profile = copy(browser)
    html = browser.post(
        f"/profiles/{profile.pk}/preview", form_of(browser, profile, memory=2000, conversation_summary=500)
    ).content
    # gpt-5-mini: 272,000 tokens at most, 20 % of them for memory.
    assert b"54.4k" in html
    refused = browser.post(
        f"/profiles/{profile.pk}/preview", form_of(browser, profile, memory=9999)
    ).content.decode()
    assert "the shares sum to" in refused


def test_a_pasted_policy_replaces_everything(browser: Client) -> None:
    profile = copy(browser)
    document = PRESETS["compact-chat"].document
    form = {**form_of(browser, profile), "policy": json.dumps(document)}
    assert browser.post(f"/profiles/{profile.pk}", form).status_code == 302
    newest = profile.revisions.order_by("-number").first()
    assert newest is not None
    assert newest.policy["unit"] == document["unit"]
    broken = browser.post(f"/profiles/{profile.pk}", {**form_of(browser, profile), "policy": "{"})
    assert broken.status_code == 422


def test_the_difference_of_two_revisions_names_the_fields(browser: Client) -> None:
    profile = copy(browser)
    browser.post(f"/profiles/{profile.pk}", form_of(browser, profile, memory=1500, conversation_summary=1000))
    html = browser.get(f"/profiles/{profile.pk}/diff?from=1&to=2").content.decode()
    assert "/sections/memory/size/share_bp" in html
    assert "/sections/goal" not in html


def test_every_preset_is_explained(browser: Client) -> None:
    html = browser.get("/profiles").content.decode()
    for preset in PRESETS.values():
        assert escape(preset.explanation) in html


def test_the_editor_says_how_many_sessions_a_publish_reaches(acme: Tenant, browser: Client) -> None:
    html = browser.get(f"/profiles/{acme.profile.pk}").content.decode()
    assert "Publish for 2 sessions" in html


def test_the_preview_replays_the_last_week_under_the_draft(acme: Tenant, browser: Client) -> None:
    """Four turns ran; a window that keeps almost everything back would have been passed by all of them."""
    html = browser.get(f"/profiles/{acme.profile.pk}").content.decode()
    assert "0 → <strong>0</strong>" in html
    form = {**fields_of(html, "editor"), "window.safety_bp": "1", "thresholds.0.at_bp": "1"}
    replayed = browser.post(f"/profiles/{acme.profile.pk}/preview", form).content.decode()
    assert '0 → <strong>4</strong> <span class="quiet small">of 4</span>' in replayed


def test_a_profile_leaves_and_comes_back_as_yaml(acme: Tenant, browser: Client) -> None:
    profile = acme.profile
    response = browser.get(f"/profiles/{profile.pk}/export")
    text = response.content.decode()
    assert response["Content-Disposition"].endswith('.yaml"')
    assert text.startswith("sections:")
    changed = text.replace("safety_bp: 8000", "safety_bp: 7000")
    assert changed != text
    browser.post(f"/profiles/{profile.pk}", {"from": "1", "policy": changed, "then": "draft"})
    drafted = profile.revisions.get(number=2).policy
    assert drafted == {**profile.current.policy, "window": {**drafted["window"]}}
    assert drafted["window"]["safety_bp"] == 7000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "neither YAML nor JSON"),
        ("[1, 2]", "must be an object"),
        # An alias that doubles ten times over would fill the memory.
        ("a: &a [x, x]\nb: [*a, *a]", "aliases are not read"),
        ("!!python/object/apply:os.system ['true']", "neither YAML nor JSON"),
        ("sections: {1: 2}", "every name must be a text"),
        ("[" * 5_000, "neither YAML nor JSON"),
        ("x" * 100_001, "is longer than"),
        ("sections: 5", "/sections"),
        ("sections: [1]", "/sections"),
        ("sections: [{name: 5, size: [7]}]", "/sections/0"),
        ("{sections: [], thresholds: 3, window: 4, compaction: [1]}", "/thresholds"),
    ],
)
def test_a_text_that_is_no_policy_is_refused_with_a_reason(
    acme: Tenant, browser: Client, text: str, reason: str
) -> None:
    response = browser.post(f"/profiles/{acme.profile.pk}", {"from": "1", "policy": text, "then": "publish"})
    assert response.status_code == 422
    assert reason in response.content.decode()
    assert acme.profile.revisions.count() == 1
    assert browser.post(f"/profiles/{acme.profile.pk}/preview", {"policy": text}).status_code == 200


def test_a_date_in_a_policy_stays_a_text() -> None:
    assert read_policy("note: 2026-01-02\nlends: true\nsays: yes\nnone: null\nsize: 3") == {
        "note": "2026-01-02", "lends": True, "says": "yes", "none": None, "size": 3,
    }  # fmt: skip
