"""Evidence recall: how much of what a question needs is still in the context at 10 % and 20 % of a dialogue.

    python benchmarks/quality_bench.py [--source locomo-tune]

The scorer, the dialogues and the baselines lie outside the project (CTXBUDGET_SHARED, or ../shared).
No LLM takes part: with the question as query it is retrieval, without it is what compaction keeps.
"""

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sessions.core.message import StoredMessage  # noqa: E402
from sessions.core.ranking import (  # noqa: E402
    Document,
    corpus_of,
    rank,
    search_terms,
    select,
    with_neighbours,
)
from sessions.core.summary import summarise  # noqa: E402
from sessions.core.terms import document_terms, query_terms  # noqa: E402

BUDGETS = (0.1, 0.2)
# Recent turns keep this share of the budget whatever is asked.
RECENT_SHARE = 0.05
MAX_CANDIDATES = 400
BASELINES = ("keep_last", "bm25nb_80_recency_20", "salience")

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="locomo-tune")
    parser.add_argument("--by-category", action="store_true")
    arguments = parser.parse_args()
    scorer = load_scorer()
    if scorer is None or not (shared_folder() / "data" / arguments.source).is_dir():
        print("quality: skipped, the shared scorer or its dialogues are not here")
        return 0
    categories = {1, 2, 3, 4} if arguments.source.startswith("locomo") else None
    conversations, questions = scorer.load(arguments.source, categories)
    entries = strategies(scorer, conversations)
    for share in BUDGETS:
        print(f"\n== {arguments.source}, {share:.0%} of the dialogue\n{scorer.HDR}")
        for name, strategy in entries.items():
            run(scorer, conversations, questions, share, name, strategy, by_category=arguments.by_category)
    return 0


def run(
    scorer: ModuleType,
    conversations: dict[str, Any],
    questions: list[dict[str, Any]],
    share: float,
    name: str,
    strategy: Strategy,
    *,
    by_category: bool,
) -> None:
    rows: list[dict[str, Any]] = []
    contexts: dict[tuple[str, str], list[str]] = {}
    started = time.process_time()
    for question in questions:
        conversation = conversations[question["session_id"]]
        # Without a query the context is the same for every question.
        key = (conversation.id, "" if name.endswith("no query") else question["question"])
        if key not in contexts:
            contexts[key] = strategy(conversation, question["question"], int(conversation.total * share))
    milliseconds = (time.process_time() - started) * 1000 / len(contexts)
    for question in questions:
        conversation = conversations[question["session_id"]]
        key = (conversation.id, "" if name.endswith("no query") else question["question"])
        rows.append(scorer.score(conversation, question, contexts[key], int(conversation.total * share)))
    scorer.table(name, rows, milliseconds)
    if by_category:
        for category in sorted({question["category"] for question in questions}, key=str):
            part = [
                row for row, question in zip(rows, questions, strict=True) if question["category"] == category
            ]
            print(f"    category {category} (n={len(part)}): ER {scorer.agg(part)['ER'] * 100:.1f}")


if __name__ == "__main__":
    raise SystemExit(main())
