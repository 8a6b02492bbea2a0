"""P13: no context is too large or invalid, what must be kept is kept, and broken assemblies are caught."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest

from budgets.core.presets import PRESETS
from sessions.core import composition, groups, request
from sessions.core.assembly import AssemblyRequest, ContextPlan, assemble
from tests.proofs.assembly_runs import CELLS, WIDE_CELLS, Assembler, Finding, Run, drawn, run_history

EVERYDAY_HISTORIES = 300
FULL_HISTORIES = 5_000
# Few histories are enough for a mutant: each of them breaks a promise in the first dozens.
MUTANT_HISTORIES = 60


def test_p13_every_context_fits_is_valid_and_keeps_what_it_must():
    is_full = os.environ.get("CTXBUDGET_PROOF") == "full"
    histories = FULL_HISTORIES if is_full else EVERYDAY_HISTORIES
    runs = _in_parallel(histories) if is_full else [run_history(seed) for seed in range(histories)]
    contexts = sum(run.contexts for run in runs)
    refused = sum(run.refused for run in runs)
    findings = [finding for run in runs for finding in run.findings]
    counts = f"{histories:,} histories, {contexts:,} contexts, {refused:,} refused with the reason"
    print(f"P13: {counts}, {len(findings):,} broken")

    assert findings == []
    assert contexts > 3 * histories
    assert refused * 20 < contexts
    if is_full:
        assert {run.cell for run in runs} >= set(CELLS)
        assert {run.cell for run in runs if run.overflowing} >= set(WIDE_CELLS)


def test_p13_draws_every_profile_and_nearly_every_window_and_counter_on_an_ordinary_day():
    draws = [drawn(seed) for seed in range(EVERYDAY_HISTORIES)]

    assert {draw.preset for draw in draws} == set(PRESETS)
    assert len(set(CELLS) - {draw.cell for draw in draws}) * 10 < len(CELLS)


def _in_parallel(histories: int) -> list[Run]:
    """Fresh processes: a fork would take the threads of the test runner along."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return list(pool.map(run_history, range(histories), chunksize=50))


def test_p13_catches_an_assembly_that_splits_calls_from_results(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(groups, "_calls_of_run", lambda messages, index, after: (index, index))

    assert _kinds(assemble) & {"split", "results"}


def test_p13_catches_an_assembly_that_drops_the_latest_user_turn():
    def forgetful(request: AssemblyRequest) -> ContextPlan:
        return assemble(replace(request, anchors=replace(request.anchors, latest_user=None)))

    assert "lost" in _kinds(forgetful)


def test_p13_catches_an_assembly_that_ignores_headings_and_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(request.Ruler, "block_tokens", lambda ruler, role, text: 0)

    assert "over:" in _kinds(assemble)


def test_p13_catches_an_assembly_that_leaves_orphans_as_they_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(composition, "repair", _no_repair)

    assert _kinds(assemble) & {"orphan", "unanswered", "repeated"}


def _no_repair(messages, count_message):
    return composition.Repaired(
        messages=tuple(messages), changed=frozenset(), repairs=(), open_from=len(messages) - 1
    )


def _kinds(assembler: Assembler) -> set[str]:
    """The first words of what the checker says about a broken assembly."""
    found: list[Finding] = []
    for seed in range(MUTANT_HISTORIES):
        found += run_history(seed, assembler).findings
    return {problem.split()[0] for finding in found for problem in finding.problems}
