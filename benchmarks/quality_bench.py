"""Evidence recall: how much of what a question needs is still in the context at 10 % and 20 % of a dialogue.

    python -m benchmarks.quality_bench [--source locomo-tune] [--by-category]

The scorer, the dialogues and the baselines lie outside the project (CTXBUDGET_SHARED, or ../shared).
No LLM takes part: with the question as query it is retrieval, without it is what compaction keeps.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from sessions.core.message import StoredMessage
from sessions.core.ranking import (
    Document,
    corpus_of,
    rank,
    search_terms,
    select,
    with_neighbours,
)
from sessions.core.summary import summarise
from sessions.core.terms import document_terms, query_terms

ROOT = Path(__file__).resolve().parent.parent
BUDGETS = (0.1, 0.2)
# Recent turns keep this share of the budget whatever is asked.
RECENT_SHARE = 0.05
MAX_CANDIDATES = 400
BASELINES = ("keep_last", "bm25nb_80_recency_20", "salience")

SKIPPED = "skipped: the shared scorer or its dialogues are not here"

Strategy = Callable[[Any, str, int], list[str]]


def shared_folder() -> Path:
    return Path(os.environ.get("CTXBUDGET_SHARED") or ROOT.parent / "shared")


def load_scorer() -> ModuleType | None:
    path = shared_folder() / "bench" / "quality_bench.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("shared_quality_bench", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line(seq: int, text: str) -> str:
    return f"#{seq} {' '.join(text.split())}"


class Session:
    """A dialogue the way the archive keeps it: terms and counts made once."""

    def __init__(self, conversation: Any, scorer: ModuleType) -> None:
        self.texts = [message["content"] for message in conversation.m]
        self.costs = conversation.cost
        self.overhead = scorer.OVERHEAD
        self.count = scorer.TOK
        # Lines of one block share its overhead and rounding; a token is four characters, so count those.
        self.documents = {
            seq: Document(seq=seq, terms=document_terms(text), tokens=len(line(seq, text)) + 1)
            for seq, text in enumerate(self.texts, start=1)
        }
        self.postings: dict[str, list[int]] = {}
        for seq, document in self.documents.items():
            for term in set(document.terms):
                self.postings.setdefault(term, []).append(seq)
        self.messages = [self._stored(seq, m) for seq, m in enumerate(conversation.m, start=1)]

    def _stored(self, seq: int, message: dict[str, Any]) -> StoredMessage:
        text = message["content"]
        body = {"role": message["role"], "content": text}
        return StoredMessage(
            seq=seq, role=message["role"], tokens=self.count(text), words=len(text.split()), body=body
        )

    def candidates(self, query: list[str]) -> list[Document]:
        """As a database finds them: by terms, rarest first, then the turns around them."""
        found: dict[int, None] = {}
        for term in sorted(search_terms(query), key=lambda term: len(self.postings.get(term, ()))):
            for seq in reversed(self.postings.get(term, ())):
                found.setdefault(seq)
        seqs = with_neighbours(list(found)[:MAX_CANDIDATES])
        return [self.documents[seq] for seq in seqs if seq in self.documents]

    def recent(self, budget: int) -> list[int]:
        kept: list[int] = []
        for seq in range(len(self.texts), 0, -1):
            budget -= self.costs[seq - 1]
            if budget < 0:
                break
            kept.append(seq)
        return kept

    def retrieve(self, question: str, budget: int) -> list[str]:
        recent = self.recent(int(budget * RECENT_SHARE))
        left = budget - sum(self.costs[seq - 1] for seq in recent) - self.overhead
        query = query_terms(question)
        documents = self.candidates(query)
        known = {term: len(self.postings.get(term, ())) for term in query}
        corpus = corpus_of(documents, total=len(self.texts), known=known)
        chosen = select(rank(documents, query, corpus), left * 4, already=recent)
        block = "\n".join(line(seq, self.texts[seq - 1]) for seq in chosen)
        return [block, *(self.texts[seq - 1] for seq in sorted(recent))]

    def compact(self, budget: int) -> list[str]:
        return [summarise(self.messages, None, budget - self.overhead, self.count)]


def strategies(scorer: ModuleType, conversations: dict[str, Any]) -> dict[str, Strategy]:
    sessions = {name: Session(conversation, scorer) for name, conversation in conversations.items()}
    ours: dict[str, Strategy] = {
        "ctxbudget, query": lambda c, q, b: sessions[c.id].retrieve(q, b),
        "ctxbudget, no query": lambda c, q, b: sessions[c.id].compact(b),
    }
    return {name: scorer.STRATS[name] for name in BASELINES} | ours


def rows() -> list[tuple[str, str, str, str]]:
    """For the common table: evidence recall beside the best simple baseline of each kind."""
    bench = load_bench("locomo-tune")
    if bench is None:
        return [("evidence recall", SKIPPED, "", "")]
    pairs = (("ctxbudget, query", "bm25nb_80_recency_20"), ("ctxbudget, no query", "salience"))
    found = []
    for ours, peer in pairs:
        recall = {name: [bench.recall(name, share) for share in BUDGETS] for name in (ours, peer)}
        shown = {name: " / ".join(f"{value:.1f}" for value in values) for name, values in recall.items()}
        ratio = f"{recall[ours][0] / recall[peer][0]:.2f}"
        found.append(
            (
                f"evidence recall at 10 / 20 %, {ours[11:]}",
                f"{shown[ours]} %",
                f"{peer} {shown[peer]} %",
                ratio,
            )
        )
    return found


class Bench:
    """Questions, dialogues and what every strategy makes of them."""

    def __init__(self, scorer: ModuleType, source: str) -> None:
        categories = {1, 2, 3, 4} if source.startswith("locomo") else None
        self.scorer = scorer
        self.conversations, self.questions = scorer.load(source, categories)
        self.strategies = strategies(scorer, self.conversations)

    def recall(self, name: str, share: float) -> float:
        return float(self.scorer.agg(self.scores(name, share)[0])["ER"]) * 100

    def scores(self, name: str, share: float) -> tuple[list[dict[str, Any]], float]:
        """One score per question, and the milliseconds that a context took."""
        contexts: dict[tuple[str, str], list[str]] = {}
        scored: list[dict[str, Any]] = []
        spent = 0.0
        for question in self.questions:
            conversation = self.conversations[question["session_id"]]
            budget = int(conversation.total * share)
            # Without a query the context is the same for every question.
            key = (conversation.id, "" if name.endswith("no query") else question["question"])
            if key not in contexts:
                started = time.process_time()
                contexts[key] = self.strategies[name](conversation, question["question"], budget)
                spent += time.process_time() - started
            scored.append(self.scorer.score(conversation, question, contexts[key], budget))
        return scored, spent * 1000 / len(contexts)


def load_bench(source: str) -> Bench | None:
    scorer = load_scorer()
    if scorer is None or not (shared_folder() / "data" / source).is_dir():
        return None
    return Bench(scorer, source)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="locomo-tune")
    parser.add_argument("--by-category", action="store_true")
    arguments = parser.parse_args()
    bench = load_bench(arguments.source)
    if bench is None:
        print(SKIPPED)
        return 0
    for share in BUDGETS:
        print(f"\n== {arguments.source}, {share:.0%} of the dialogue\n{bench.scorer.HDR}")
        for name in bench.strategies:
            scored, milliseconds = bench.scores(name, share)
            bench.scorer.table(name, scored, milliseconds)
            if arguments.by_category:
                print_categories(bench, scored)
    return 0


def print_categories(bench: Bench, scored: list[dict[str, Any]]) -> None:
    for category in sorted({question["category"] for question in bench.questions}, key=str):
        pairs = zip(scored, bench.questions, strict=True)
        part = [score for score, question in pairs if question["category"] == category]
        print(f"    category {category} (n={len(part)}): ER {bench.scorer.agg(part)['ER'] * 100:.1f}")


if __name__ == "__main__":
    raise SystemExit(main())
