"""An independent reading of an assembled context: counts it again and says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from budgets.tokens.families import FAMILIES
from budgets.tokens.images import image_tokens
from budgets.tokens.rules import rules_for
from budgets.tokens.vocabularies import encoding

Body = dict[str, Any]
MARK = "[clipped"


@dataclass(frozen=True, kw_only=True)
class Source:
    """What the session holds: bodies by sequence number, and which of them must be there."""

    bodies: dict[int, Body]
    base_seq: int
    must_keep: frozenset[int]
    max_input: int
    overhead: int


def violations(source: Source, plan: Any, recount: Callable[[str, Iterable[Body]], int]) -> list[str]:
    return [
        *_over(source, plan, recount),
        *_disorder(plan.messages),
        *_split_groups(source, plan.seqs, plan.messages),
        *_lost(source, plan),
        *_miscounted(source, plan),
    ]


def _over(source: Source, plan: Any, recount: Callable[[str, Iterable[Body]], int]) -> list[str]:
    tokens = recount(plan.system, plan.messages) + source.overhead
    return [f"over: {tokens} of {source.max_input}"] if tokens > source.max_input else []


def _disorder(messages: Iterable[Body]) -> list[str]:
    found: list[str] = []
    spoken = [message for message in messages if message["role"] != "system"]
    if spoken and spoken[0]["role"] != "user":
        found.append(f"starts with {spoken[0]['role']}")
    seen: set[str] = set()
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                found.append(f"orphan result {message.get('tool_call_id')}")
            waiting.discard(message.get("tool_call_id", ""))
            continue
        if waiting:
            found.append(f"unanswered calls {sorted(waiting)}")
        waiting = {call.get("id", "") for call in message.get("tool_calls") or ()}
        if seen & waiting or len(waiting) != len(message.get("tool_calls") or ()):
            found.append(f"repeated call ids {sorted(waiting)}")
        seen |= waiting
        for call in message.get("tool_calls") or ():
            json.loads(call["function"]["arguments"])
    return found


def _split_groups(source: Source, seqs: Iterable[int], messages: Iterable[Body]) -> list[str]:
    """A call and its results are shown together or not at all."""
    shown = {seq: body for seq, body in zip(seqs, messages, strict=True) if seq}
    found = []
    for call, results in source_groups(source.bodies).items():
        present = [seq for seq in results if seq in shown]
        as_results = [seq for seq in present if shown[seq]["role"] == "tool"]
        if call in shown and as_results != results:
            found.append(f"split group of {call}: shows {as_results} of {results}")
        elif call not in shown and present:
            found.append(f"results {present} without call {call}")
    return found


def source_groups(bodies: dict[int, Body]) -> dict[int, list[int]]:
    """Call message to result messages: each result answers the latest open call with its id."""
    groups: dict[int, list[int]] = {}
    waiting: dict[str, list[int]] = {}
    for seq in sorted(bodies):
        body = bodies[seq]
        calls = body.get("tool_calls") or ()
        for call_id in {str(call.get("id") or "") for call in calls}:
            same = sum(1 for call in calls if str(call.get("id") or "") == call_id)
            waiting[call_id] = [seq] * same
        if calls:
            groups[seq] = []
        if body["role"] == "tool":
            open_calls = waiting.get(str(body.get("tool_call_id") or ""))
            if open_calls:
                groups[open_calls.pop()].append(seq)
    return groups


def _lost(source: Source, plan: Any) -> list[str]:
    shown = {seq: body for seq, body in zip(plan.seqs, plan.messages, strict=True) if seq}
    found = [f"lost {seq}" for seq in sorted(source.must_keep - shown.keys())]
    for seq in source.must_keep & shown.keys():
        original, present = _text(source.bodies[seq]), _text(shown[seq])
        if original not in present and MARK not in present:
            found.append(f"changed without a mark: {seq}")
    return found


def _miscounted(source: Source, plan: Any) -> list[str]:
    live = {seq for seq in source.bodies if seq > source.base_seq}
    dropped = len(live - set(plan.seqs))
    found = []
    if plan.report["dropped_unsummarised"] != dropped:
        found.append(f"dropped {dropped}, reported {plan.report['dropped_unsummarised']}")
    if len([seq for seq in plan.seqs if seq]) != len({seq for seq in plan.seqs if seq}):
        found.append("a message is sent twice")
    if not plan.report["valid"]:
        found.append("reported as invalid")
    return found


def _text(body: Body) -> str:
    content = body.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")


def recount_with(tokenizer: str) -> Callable[[str, Iterable[Body]], int]:
    """Counts by the vocabulary itself and the published rules, not by the product's counters."""
    family, rules = FAMILIES[tokenizer], rules_for(tokenizer)
    vocabulary = encoding(family.vocabulary)

    def count(text: str) -> int:
        return -(-len(vocabulary.encode_ordinary(text)) * family.ratio_bp // 10_000)

    def part(block: Any) -> int:
        if block.get("type") == "text":
            return count(block["text"])
        return image_tokens(rules.images_as, block)

    def message(body: Body) -> int:
        content = body.get("content") or ""
        total = rules.message.tokens
        total += count(content) if isinstance(content, str) else sum(map(part, content))
        for call in body.get("tool_calls") or ():
            total += (
                rules.tool_call.tokens
                + count(call["function"]["name"])
                + count(call["function"]["arguments"])
            )
        return total + (rules.tool_result.tokens if body.get("tool_call_id") else 0)

    def context(system: str, messages: Iterable[Body]) -> int:
        total = sum(map(message, messages))
        total += message({"content": system}) if system else 0
        return -(-total * (10_000 + family.margin_bp) // 10_000)

    return context
