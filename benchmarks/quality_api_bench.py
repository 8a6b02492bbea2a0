"""Evidence recall through the API: dialogues go in as events, contexts come out with a budget of their own.

Tokens are counted as the product counts them (o200k). Without the shared dialogues the row says so.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from benchmarks.quality_bench import BUDGETS, SKIPPED, load_scorer
from benchmarks.wsgi import post
from budgets.tokens import counter_for

QUESTIONS_PER_DIALOGUE = int(os.environ.get("QUESTIONS", "8"))
SOURCE = os.environ.get("SOURCE", "locomo-tune")


def rows() -> list[tuple[str, str, str, str]]:
    scorer = load_scorer()
    if scorer is None or not os.path.isdir(os.path.join(scorer.B, SOURCE)):
        return [("evidence recall through the API", SKIPPED, "", "")]
    scorer.TOK = counter_for("o200k_base").count
    conversations, questions = scorer.load(SOURCE, {1, 2, 3, 4} if SOURCE.startswith("locomo") else None)
    sessions = {name: _fill(conversation) for name, conversation in conversations.items()}
    # Without a query one context serves all questions of a dialogue, so all of them are scored.
    return [
        _row(scorer, conversations, sessions, _sample(questions), asks=True),
        _row(scorer, conversations, sessions, questions, asks=False),
    ]


def _row(
    scorer: Any, conversations: Any, sessions: dict[str, str], sample: list[Any], *, asks: bool
) -> tuple[str, str, str, str]:
    shown, over = [], 0.0
    for share in BUDGETS:
        scored = []
        for question in sample:
            conversation = conversations[question["session_id"]]
            budget = int(conversation.total * share)
            pieces = _context(sessions[conversation.id], question["question"] if asks else "", budget)
            scored.append(scorer.score(conversation, question, pieces, budget))
        figures = scorer.agg(scored)
        shown.append(f"{figures['ER'] * 100:.1f}")
        over += figures["OVER"]
    name = "with the question as query" if asks else "without a query"
    aim = "aim 90 / 94" if asks else "aim 30 / 50"
    work = f"evidence recall through the API, {name}, 10 / 20 % ({len(sample)} questions)"
    return work, " / ".join(shown), f"over budget {over:.2f}", aim


def _fill(conversation: Any) -> str:
    session = str(post("/api/v1/sessions", {"model": "gpt-4o"})["id"])
    events = [
        {"type": "message", "message": {"role": message["role"], "content": message["content"]}}
        for message in conversation.m
    ]
    for start in range(0, len(events), 500):
        post(f"/api/v1/sessions/{session}/events", {"events": events[start : start + 500]})
    return session


@cache
def _context(session: str, query: str, budget: int) -> list[str]:
    body = {"query": query, "budget_tokens": budget, "format": "openai"}
    answer = post(f"/api/v1/sessions/{session}/context", body)
    texts = [answer["system"], *(message["content"] or "" for message in answer["messages"])]
    return [text for text in texts if text]


def _sample(questions: list[Any]) -> list[Any]:
    taken: dict[str, list[Any]] = {}
    for question in questions:
        taken.setdefault(question["session_id"], []).append(question)
    return [
        question
        for found in taken.values()
        for question in found[:: max(1, len(found) // QUESTIONS_PER_DIALOGUE)]
    ]
