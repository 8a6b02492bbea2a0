"""R16: the console says what each section is for and gives remedies for the four known troubles."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import escape

from budgets.core.presets.preset import PURPOSES
from budgets.core.remedies import TROUBLES
from budgets.models import Profile
from sessions.services.lifecycle import Opening, open_session
from teams.models import Project
from teams.services import set_member

# One word of each remedy in the source document, by trouble.
REMEDIES = {
    "overflow": ("70 %", "Compact", "matter less", "earlier"),
    "memory": ("memory section", "shorter", "priorities", "Compact deeper"),
    "recent": ("recent_messages", "Fold", "system prompt", "scaffolding"),
    "warnings": ("90 %", "clear at 70 %", "debug only", "cool-down"),
}


@pytest.fixture
def reader(project: Project) -> Client:
    user = User.objects.create_user(username="reader")
    set_member(team=project.team, user=user, role="viewer", actor="test")
    client = Client()
    client.force_login(user)
    return client


def test_r16_help_says_what_each_section_is_for(reader: Client) -> None:
    html = reader.get("/help").content.decode()
    for name, purpose in PURPOSES.items():
        assert name in html
        assert escape(purpose) in html


def test_r16_help_gives_the_remedies_for_the_four_troubles(reader: Client) -> None:
    html = reader.get("/help").content.decode()
    assert {trouble.slug for trouble in TROUBLES} == set(REMEDIES)
    for trouble in TROUBLES:
        assert f'id="{trouble.slug}"' in html
        assert len(trouble.remedies) == 4
        for word, remedy in zip(REMEDIES[trouble.slug], trouble.remedies, strict=True):
            assert word in remedy
            assert escape(remedy) in html


def test_r16_a_session_says_it_where_a_person_meets_it(project: Project, reader: Client) -> None:
    session, _ = open_session(project_id=project.pk, key_id="", opening=Opening(model="gpt-5"))
    html = reader.get(f"/sessions/{session.pk}").content.decode()
    for purpose in PURPOSES.values():
        assert escape(purpose) in html
    assert 'href="/help"' in html
    signals = reader.get(f"/sessions/{session.pk}?tab=scratch").content.decode()
    assert "/help#memory" in signals


def test_r16_the_profile_editor_says_it_too(project: Project, reader: Client) -> None:
    _, _ = open_session(project_id=project.pk, key_id="", opening=Opening(model="gpt-5"))
    profile = Profile.objects.get(project_id=project.pk)
    html = reader.get(f"/profiles/{profile.pk}").content.decode()
    for purpose in PURPOSES.values():
        assert escape(purpose) in html
    assert "/help#warnings" in html
