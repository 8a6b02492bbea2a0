"""P14: what is assembled after a restore is what was assembled at the checkpoint; a restore can be undone."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teams.models import Project
from tests.proofs.racing import FULL
from tests.proofs.walks import Walk, steps

EXAMPLES = 500 if FULL else 8
pytestmark = pytest.mark.django_db

walked = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@walked
@given(walk_steps=steps, choice=st.integers(0, 10**6))
def test_p14_a_restored_context_equals_the_one_at_the_checkpoint(
    project: Project, walk_steps: list[tuple[str, int]], choice: int
) -> None:
    walk = Walk.begin(project.pk)
    for step, number in walk_steps:
        walk.go(step, number)
    last = walk.checkpointed()
    checkpoints = sorted(walk.seen)
    chosen = checkpoints[choice % len(checkpoints)]
    undo = walk.restored(chosen)
    assert walk.digest() == walk.seen[chosen]
    walk.restored(undo.pk)
    assert walk.digest() == walk.seen[last]
    assert walk.forked(chosen).digest() == walk.seen[chosen]


def test_p14_undo_brings_back_what_was_said_after_the_checkpoint(project: Project) -> None:
    walk = Walk.begin(project.pk)
    for step in ("talk", "memory", "checkpoint", "talk", "compact", "talk", "section", "memory"):
        walk.go(step, 7)
    (first,) = walk.seen
    now = walk.checkpointed()
    undo = walk.restored(first)
    assert "<3>" not in str(walk.assembled()["messages"])
    walk.restored(undo.pk)
    assert walk.digest() == walk.seen[now]


def test_p14_the_proof_catches_a_restore_that_forgets_the_sections(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Walk.begin(project.pk)
    walk.go("section", 1)
    walk.go("talk", 1)
    chosen = walk.checkpointed()
    walk.go("section", 2)
    monkeypatch.setattr("sessions.services.restores.restore_texts", lambda *arguments: None)
    walk.restored(chosen)
    assert walk.digest() != walk.seen[chosen]
