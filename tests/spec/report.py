"""`make spec`: every row of the specification with its state: passing, failing or missing."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROWS = {
    "R1": "default shares",
    "R2": "calculate_budget floors every share",
    "R3": "adjust_budget scales in integers",
    "R4": "available shows over-use",
    "R5": "total is a share of the window; unknown models say so",
    "R6": "switching the model re-budgets at once",
    "R7": "levels normal, warning, critical",
    "R8": "messages after each response",
    "R9": "usage history and averages",
    "R10": "ratio presets",
    "R11": "one profile over many models",
    "R12": "the compressor's memory share",
    "R13": "memory by pin, priority, recency",
    "R14": "retrieved context with back-references",
    "R15": "low budget: compact and say it in order",
    "R16": "what sections are for, and remedies",
    "T1": "stream events ingested as they are",
    "T2": "utilisation of the window",
    "T3": "latched warn and compact flags",
    "T4": "the compact intervention",
    "T5": "scratch extraction",
    "T6": "scratch rendering",
    "T7": "scratch mirrored into the worktree",
    "T8": "cost warning, limit, pause, approval",
    "T9": "compaction is enforced",
    "T10": "detail documents, disclosure, dead ends",
    "D1": "limits per block, in words or tokens",
    "D2": "the order of assembly",
    "D3": "summary lines that stand in memory",
    "D4": "history newest first",
    "D5": "blank summaries and cutting",
    "D6": "near-duplicates",
    "W1": "safe, output reserve, max input",
    "W2": "scaffold, reserves, duplication",
    "W3": "start, middle, end",
    "W4": "the adaptive loop",
    "W5": "key events and the marker",
    "W6": "refusal instead of another model",
    "W7": "the budget report",
    "W8": "known windows",
    "C1": "absolute thresholds",
    "C2": "triggers",
    "C3": "the clear sequence",
    "C4": "line estimates",
    "C5": "the running total",
    "C6": "protocols just in time",
    "C7": "subagent context",
    "C8": "exhausted before a checkpoint",
}

_ID = re.compile(r"test_([rtdwc]\d+)_")


def main() -> int:
    outcomes = _run_spec_tests()
    states = {row: _state(outcomes[row]) for row in ROWS}
    for row, title in ROWS.items():
        count = len(outcomes[row])
        print(f"{row:<4} {states[row]:<8} {f'{count} tests' if count else '':<10} {title}")
    totals = Counter(states.values())
    print(
        ", ".join(f"{totals[state]} {state}" for state in ("passing", "failing", "missing")), "of", len(ROWS)
    )
    return 1 if totals["failing"] else 0


def _run_spec_tests() -> defaultdict[str, list[str]]:
    """Outcomes of the tests of each row: passed, failed or skipped."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.xml"
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junit-xml={file}", "tests/spec"],
            capture_output=True,
            text=True,
        )
        # 0 and 1: the tests ran; anything else means that they could not.
        if run.returncode not in (0, 1):
            raise SystemExit(run.stdout + run.stderr)
        cases = ElementTree.parse(file).getroot().iter("testcase")
        outcomes: defaultdict[str, list[str]] = defaultdict(list)
        for case in cases:
            found = _ID.match(case.get("name", ""))
            if found:
                outcomes[found[1].upper()].append(_outcome(case))
    unknown = sorted(set(outcomes) - set(ROWS))
    if unknown:
        raise SystemExit(f"Tests name rows that the specification does not have: {', '.join(unknown)}.")
    return outcomes


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def _state(outcomes: list[str]) -> str:
    if "failed" in outcomes:
        return "failing"
    # A row whose tests were all skipped is not proven.
    return "passing" if "passed" in outcomes else "missing"


if __name__ == "__main__":
    sys.exit(main())
