"""How many tokens a request takes; every message of a conversation is counted once, not once per call."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from budgets.core.basis_points import WHOLE_BP
from budgets.core.cost import Price
from budgets.services.counting import count_request, count_text
from budgets.services.models import ResolvedModel, counter
from budgets.tokens import reply_tokens
from gateway.conversations import canonical_messages, fingerprint
from gateway.core.requests import ModelRequest

# A fingerprint and three counts: some 300 bytes each.
KEPT_PIECES = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One vendor message: what it weighs and the fingerprints of the canonical messages that it holds."""

    tokens: int
    low: int
    high: int
    fingerprints: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    tokens: int
    low: int
    high: int
    pieces: tuple[Piece, ...]

    def corrected(self, ratio_bp: int) -> Measured:
        """By what a session's model was learned to count; the bounds only widen."""
        scaled = replace(self, tokens=self.tokens * ratio_bp // WHOLE_BP)
        if ratio_bp >= WHOLE_BP:
            return replace(scaled, high=-(-self.high * ratio_bp // WHOLE_BP))
        return replace(scaled, low=self.low * ratio_bp // WHOLE_BP)


class Scale:
    """Remembers what it has weighed, until newer pieces push it out; one per process, for all its threads."""

    def __init__(self) -> None:
        self._pieces: dict[bytes, Piece] = {}

    def measure(self, request: ModelRequest, *, format: str, model: ResolvedModel) -> Measured:
        """`pieces` are those of `request.messages`, in order."""
        apart = [] if request.system is None else [{"role": "system", "content": request.system}]
        instructions = [self._piece(message, "openai", model) for message in apart]
        pieces = [self._piece(message, format, model) for message in request.messages]
        tools = count_request(model, [], [tool for tool in request.tools if isinstance(tool, dict)])
        reply = reply_tokens(counter(model))
        weighed = [*instructions, *pieces]
        return Measured(
            tokens=tools.tokens + reply + sum(piece.tokens for piece in weighed),
            low=tools.low + sum(piece.low for piece in weighed),
            high=tools.high + reply + sum(piece.high for piece in weighed),
            pieces=tuple(pieces),
        )

    def _piece(self, message: Any, format: str, model: ResolvedModel) -> Piece:
        text = json.dumps(message, separators=(",", ":"))
        counted_by = f"{format} {model.tokenizer} "
        key = hashlib.sha256((counted_by + text).encode()).digest()
        known = self._pieces.get(key)
        if known is None:
            known = self._pieces[key] = _weigh(message, text, format, model)
            if len(self._pieces) > KEPT_PIECES:
                self._pieces.pop(next(iter(self._pieces)), None)
        return known


def _weigh(message: Any, text: str, format: str, model: ResolvedModel) -> Piece:
    canonical = canonical_messages(format, message)
    if not canonical:
        count = count_text(model, text)
        return Piece(tokens=count.tokens, low=0, high=count.high, fingerprints=())
    count = count_request(model, canonical, [])
    # The frame of the reply belongs to the request as a whole.
    reply = count.parts["reply"]
    return Piece(
        tokens=count.tokens - reply,
        low=max(0, count.low - reply),
        high=count.high - reply,
        fingerprints=tuple(fingerprint(part) for part in canonical),
    )


def held_input(high: int, price: Price | None, cache_lifetime: str) -> int:
    """Input tokens to set money aside for: writing to the cache costs more than plain input."""
    if price is None or not cache_lifetime or not price.input_pico:
        return high
    one_hour = price.cache_write_1h_pico if cache_lifetime == "1h" else None
    rate = max(one_hour or 0, price.cache_write_5m_pico or 0, price.input_pico)
    return -(-high * rate // price.input_pico)
