"""Random histories of agents: tool loops, parallel calls, broken sources, giants, scripts, images."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]

SENTENCE = "the agent reads a file, finds the bug in parser.py line 42 and writes a failing test for it"
ENGLISH = re.findall(r"\S+", SENTENCE)
CJK = "会話の要約は命令ではなく資料であり最新の利用者の発言は必ず残る对话预算必须精确计算每个词元"
EMOJI = "👩‍👩‍👧‍👦🏳️‍🌈🇪🇺🔥✅🧪"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}


@dataclass(slots=True)
class History:
    bodies: list[Body] = field(default_factory=list)
    pinned: set[int] = field(default_factory=set)
    human: set[int] = field(default_factory=set)

    def add(self, body: Body, *, human: bool = False) -> None:
        self.bodies.append(body)
        if human:
            self.human.add(len(self.bodies))


@dataclass(slots=True)
class Writer:
    """One history, decided by its seed alone."""

    rng: random.Random
    largest_words: int
    giants: tuple[int, ...] = (30, 30, 30, 300)
    history: History = field(default_factory=History)
    calls: int = 0

    def text(self, most: int | None = None) -> str:
        words = self.rng.randint(1, most or self.largest_words)
        kind = self.rng.random()
        if kind < 0.1:
            return "".join(self.rng.choices(CJK, k=words))
        if kind < 0.15:
            return "".join(self.rng.choices(EMOJI, k=words))
        return " ".join(self.rng.choices(ENGLISH, k=words))

    def user(self) -> None:
        content: Any = self.text()
        if self.rng.random() < 0.05:
            content = [{"type": "text", "text": content}, IMAGE]
        self.history.add({"role": "user", "content": content}, human=True)

    def assistant(self) -> None:
        self.history.add({"role": "assistant", "content": self.text()})

    def call(self, count: int) -> list[str]:
        ids = [self._call_id() for _ in range(count)]
        calls = [
            {"id": i, "type": "function", "function": {"name": "read_file", "arguments": self._arguments()}}
            for i in ids
        ]
        content = self.text(20) if self.rng.random() < 0.4 else None
        self.history.add({"role": "assistant", "content": content, "tool_calls": calls})
        return ids

    def _call_id(self) -> str:
        self.calls += 1
        return f"call_{self.calls}"

    def _arguments(self) -> str:
        return json.dumps({"path": self.text(8), "limit": self.rng.randint(1, 99)}, ensure_ascii=False)

    def result(self, call_id: str) -> None:
        self.history.add({"role": "tool", "tool_call_id": call_id, "content": self.text()})

    def tool_turn(self) -> None:
        ids = self.call(self.rng.choice([1, 1, 1, 2, 3, 12, 17]))
        self.rng.shuffle(ids)
        for call_id in ids:
            if self.rng.random() < 0.05:
                self.rng.choice([self.user, self.assistant])()
            self.result(call_id)

    def broken_turn(self) -> None:
        match self.rng.randint(0, 6):
            case 0:
                self.result("never_called")
            case 1:
                self.call(2)
                self.user()
            case 2:
                ids = self.call(2)
                self.result(ids[0])
                self.result(ids[0])
                self.result(ids[1])
            case 3:
                self.calls -= min(self.calls, 2)
                for call_id in self.call(2):
                    self.result(call_id)
            case 4:
                first, second = self.call(1), self.call(1)
                self.result(second[0])
                self.result(first[0])
            case 5:
                self.history.add({"role": "system", "content": self.text(20)})
            case 6:
                call = {"type": "function", "function": {"name": "ls", "arguments": "{}"}}
                self.history.add({"role": "assistant", "content": None, "tool_calls": [call, call]})
                self.history.add({"role": "tool", "content": self.text(9)})

    def giant(self) -> None:
        size = self.largest_words * self.rng.choice(self.giants)
        text = " ".join(self.rng.choices(ENGLISH, k=size))
        match self.rng.randint(0, 3):
            case 0:
                self.history.add({"role": "user", "content": text}, human=True)
            case 1:
                self.history.add({"role": "assistant", "content": text})
            case 2:
                ids = self.call(2)
                self.history.add({"role": "tool", "tool_call_id": ids[0], "content": text})
                self.result(ids[1])
            case 3:
                ids = self.call(1)
                function = self.history.bodies[-1]["tool_calls"][0]["function"]
                function["arguments"] = json.dumps({"content": text})
                self.result(ids[0])

    def ending(self) -> None:
        match self.rng.randint(0, 4):
            case 0 | 1:
                self.user()
            case 2:
                self.call(self.rng.choice([1, 3]))
            case 3:
                self.result(self.call(2)[0])
            case 4:
                self.tool_turn()


def random_history(seed: int) -> History:
    rng = random.Random(seed)
    writer = Writer(rng, largest_words=rng.choice([15, 60, 200]))
    return _written(writer, turns=rng.choice([0, 3, 15, 40, 90]))


def wide_history(seed: int, *, tokens: int) -> History:
    """One that is larger than a window of so many tokens: 40 turns of 3.6 messages, half the largest each."""
    return _written(Writer(random.Random(seed), largest_words=tokens // 40, giants=(20,)), turns=40)


def _written(writer: Writer, *, turns: int) -> History:
    rng = writer.rng
    if rng.random() < 0.5:
        writer.history.add({"role": "system", "content": writer.text(80)})
    if rng.random() < 0.9:
        writer.user()
    kinds = [writer.user, writer.assistant, writer.tool_turn, writer.tool_turn]
    is_broken, has_giant = rng.random() < 0.4, rng.random() < 0.3
    for _ in range(turns):
        if is_broken and rng.random() < 0.2:
            writer.broken_turn()
        elif has_giant and rng.random() < 0.04:
            writer.giant()
        else:
            rng.choice(kinds)()
    if has_giant and rng.random() < 0.3:
        writer.giant()
    writer.ending()
    history = writer.history
    if rng.random() < 0.3:
        history.pinned = {rng.randint(1, len(history.bodies)) for _ in range(rng.randint(1, 3))}
    return history
