"""What is promised about quality without an LLM, on the dialogues that may be tuned on."""

import pytest

from benchmarks.identifiers_bench import SUMMARY_TOKENS, agent_runs, measure, ours
from benchmarks.quality_bench import BUDGETS, Bench, load_bench


@pytest.fixture(scope="module")
def bench() -> Bench:
    found = load_bench("locomo-tune")
    if found is None:
        pytest.skip("the shared dialogues and their scorer are not here")
    return found


def test_compaction_keeps_the_promised_share_of_the_evidence_within_its_budget(bench: Bench) -> None:
    for share, promised in zip(BUDGETS, (0.30, 0.50), strict=True):
        result = bench.scorer.agg(bench.scores("ctxbudget, no query", share)[0])
        assert result["ER"] >= promised
        assert result["OVER"] == 0


@pytest.mark.full
def test_retrieval_finds_the_promised_share_of_the_evidence(bench: Bench) -> None:
    tenth, fifth = (bench.recall("ctxbudget, query", share) for share in BUDGETS)
    assert tenth >= 90
    assert fifth >= 94


def test_a_summary_names_what_the_next_calls_need() -> None:
    runs = list(agent_runs())
    if not runs:
        pytest.skip("the shared agent runs are not here")
    paths, names = measure(runs, SUMMARY_TOKENS[-1], ours)
    assert paths.kept * 100 >= paths.needed * 92
    assert names.kept * 100 >= names.needed * 85
