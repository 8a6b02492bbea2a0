"""Ids and names of tool calls in the alphabet that a provider accepts."""

from __future__ import annotations

import hashlib
import re

NAME_LIMIT = 64
NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]")


def accepted_name(name: str) -> str:
    """A tool's name in the alphabet that OpenAI and Anthropic share."""
    return NOT_ALLOWED.sub("_", name)[:NAME_LIMIT] or "tool"


class CallIds:
    """Renames the ids that a provider would refuse; a result finds its call by the id that both had."""

    def __init__(self, *, longest: int, strict_alphabet: bool, unique: bool) -> None:
        self.longest = longest
        self.strict_alphabet = strict_alphabet
        self.unique = unique
        self.given: set[str] = set()
        self.unanswered: dict[str, list[str]] = {}

    def start_turn(self) -> None:
        """The assistant speaks: results that follow belong to the calls it makes now."""
        self.unanswered = {}

    def of_call(self, call_id: str) -> str:
        """The id of a new call; agents that count from zero in every turn get a new one each time."""
        accepted = self._accepted(call_id)
        number = 2
        candidate = accepted
        while self.unique and candidate in self.given:
            candidate = f"{accepted[: self.longest - 6]}_{number}"
            number += 1
        self.given.add(candidate)
        self.unanswered.setdefault(call_id, []).append(candidate)
        return candidate

    def of_result(self, call_id: str) -> str:
        """The id that its call got; of two calls with one id, the first is answered first."""
        waiting = self.unanswered.get(call_id)
        return waiting.pop(0) if waiting else self._accepted(call_id)

    def _accepted(self, call_id: str) -> str:
        clean = NOT_ALLOWED.sub("_", call_id) if self.strict_alphabet else call_id
        if clean == call_id and 0 < len(call_id) <= self.longest:
            return call_id
        # Two ids may look alike once cleaned: the digest keeps them apart.
        digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{clean[: self.longest - 9]}_{digest}"
