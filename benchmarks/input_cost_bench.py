"""The input cost of agent runs replayed call by call at cached prices, beside two ways to do without us.

What is byte for byte the beginning of the previous prompt is paid as a cache read, the rest in full. The
peers: append until 78 % of the window are used and fold then, by the same plan and the same summariser; and
LangChain's trim_messages before every call. Runs that always fit cost the same everywhere and are left out.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peer_environment import peer_python
from benchmarks.safety_bench_core import data_folder
from budgets.catalogue import catalogue_price
from budgets.core.allocation import allocate
from budgets.core.cost import Price, cost_nano_usd
from budgets.core.policy import parse_policy
from budgets.core.presets import PRESETS
from budgets.core.usage import TokenUsage
from budgets.core.window import WindowBudget, compaction_target
from sessions.core.assembly import AssemblyRequest, Ruler, anchors_of, assemble
from sessions.core.compaction import Attempt, Refusal, plan_fold, should_start
from sessions.core.message import Body, StoredMessage, SummaryItem, stored_message
from sessions.core.summary import summarise

PEER = Path(__file__).with_name("peer_trim_replay.py")
# Reads at a tenth of the input price, and no price of its own for writing the cache.
MODEL = "gpt-5"
POLICY = parse_policy(PRESETS["ratio-default"].document)
WINDOWS = {"tau-bench": 4_000, "swe-agent": 8_000, "300-turn tool loops": 32_000}
POLICY_BP = next(threshold.at for threshold in POLICY.thresholds if threshold.action == "compact")
APPEND_ONLY_BP = 7_800
LOOPS = 3
HEADING_TOKENS = 8

Row = tuple[str, str, str, str]
# The pieces of one prompt in order, each with its tokens.
Prompt = list[tuple[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    cost_nano: int
    stable: int
    tokens: int

    @property
    def stable_percent(self) -> float:
        return 100 * self.stable / self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The opening system messages are the system prompt; the others are numbered as the store does it."""

    system: str
    messages: tuple[StoredMessage, ...]

    @property
    def system_tokens(self) -> int:
        return _count_message({"content": self.system}) if self.system else 0

    @property
    def tokens(self) -> int:
        return self.system_tokens + sum(message.tokens for message in self.messages)

    @property
    def calls(self) -> list[int]:
        return [place for place, m in enumerate(self.messages) if m.role == "assistant" and place]


def rows() -> list[Row]:
    price = catalogue_price(MODEL, datetime.now(UTC))
    assert price is not None
    sources = {name: [run for run in _runs(name) if run.tokens > budget] for name, budget in WINDOWS.items()}
    trimmed = _trimmed(sources)
    return [
        row
        for name, runs in sources.items()
        if runs
        for row in _rows(name, runs, price, _bill(trimmed[name], price) if trimmed else None)
    ]


def _rows(name: str, runs: list[Run], price: Price, trimmed: Bill | None) -> list[Row]:
    budget, work = WINDOWS[name], f"input cost of {len(runs)} × {name} in {WINDOWS[name]:,} tokens"
    ours = _bill([_ours(run, budget, POLICY_BP) for run in runs], price)
    early = _bill([_ours(run, budget, APPEND_ONLY_BP) for run in runs], price)
    appended = _bill([_append_only(run, budget) for run in runs], price)
    most = _bill([_unlimited(run) for run in runs], price)
    peer = f"append-only {_dollars(appended)}"
    cached = f"{ours.stable_percent:.1f} % from the cache"
    bound = f"without any limit {most.stable_percent:.1f} %"
    return [
        (f"{work}, folded at 78 %", _dollars(early), peer, _ratio(early, appended, "1.0")),
        (f"{work}, default profile", _dollars(ours), peer, _ratio(ours, appended, "1.0")),
        (f"{work}, default profile", _dollars(ours), *_beside_trimming(ours, trimmed)),
        (f"{work}, prefix-stable share", cached, bound, "aim ≥ 90 %"),
    ]


def _beside_trimming(ours: Bill, trimmed: Bill | None) -> tuple[str, str]:
    if trimmed is None:
        return "langchain-core cannot be installed here", "-"
    return f"trim_messages {_dollars(trimmed)}", _ratio(ours, trimmed, "0.5")


def _dollars(bill: Bill) -> str:
    return f"{bill.cost_nano / 10**9:.4f} USD"


def _ratio(ours: Bill, peer: Bill, aim: str) -> str:
    return f"{ours.cost_nano / peer.cost_nano:.2f} (aim ≤ {aim})"


def _bill(runs: Iterable[Iterable[Prompt]], price: Price) -> Bill:
    cost = stable = tokens = 0
    for prompts in runs:
        previous: Prompt = []
        for prompt in prompts:
            read, whole = _shared(previous, prompt), sum(size for size, _ in prompt)
            usage = TokenUsage(input_tokens=whole - read, cache_read_tokens=read)
            cost += cost_nano_usd(usage, price) or 0
            stable, tokens, previous = stable + read, tokens + whole, prompt
    return Bill(cost_nano=cost, stable=stable, tokens=tokens)


def _shared(previous: Prompt, prompt: Prompt) -> int:
    total = 0
    for (_, old), (size, new) in zip(previous, prompt, strict=False):
        if old != new:
            break
        total += size
    return total


@dataclass(slots=True, kw_only=True)
class Folding:
    """A session between two calls: what a summary covers, and when the rest is folded into it."""

    run: Run
    budget: int
    fold_above: int
    base_seq: int = 0
    summary: SummaryItem | None = None
    last: Attempt | None = None
    rooms: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rooms = dict(allocate(POLICY, self.budget).sections)

    def live(self, call: int) -> list[StoredMessage]:
        return [m for m in self.run.messages[:call] if m.seq > self.base_seq]

    def used(self, live: Sequence[StoredMessage]) -> int:
        held = self.summary.tokens if self.summary else 0
        return self.run.system_tokens + held + sum(m.tokens for m in live)

    def fold_if_due(self, call: int, *, dropped: int = 0) -> None:
        live = self.live(call)
        used, target = self.used(live), min(compaction_target(POLICY.compaction, self.budget), self.budget)
        progress_bp, room = POLICY.compaction.minimum_progress_bp, self.rooms["recent_messages"]
        if used <= self.fold_above and not dropped:
            return
        if not should_start(
            live_tokens=used,
            target_tokens=target,
            tail_room_tokens=room,
            minimum_progress_bp=progress_bp,
            last=self.last,
        ):
            return
        self._fold(live, call, used, target, progress_bp, room)

    def _fold(
        self, live: list[StoredMessage], call: int, used: int, target: int, progress_bp: int, room: int
    ) -> None:
        old = self.summary.tokens if self.summary else 0
        anchors = anchors_of(self.run.messages[:call])
        plan = plan_fold(
            live,
            live_tokens=used,
            target_tokens=target,
            tail_room_tokens=room,
            fixed_tokens=used - old - sum(m.tokens for m in live),
            latest_user_seq=anchors.latest_user.seq if anchors.latest_user else None,
            pinned={anchors.first_user.seq} if anchors.first_user else set(),
            minimum_progress_bp=progress_bp,
            summary_room_tokens=self.rooms["conversation_summary"] - HEADING_TOKENS,
            old_summary_tokens=old,
            budget_tokens=self.budget,
        )
        if isinstance(plan, Refusal):
            failures = self.last.failures + 1 if self.last else 1
            self.last = Attempt(
                outcome="refused", live_tokens_after=used, target_tokens=target, failures=failures
            )
            return
        folded = [m for m in live if m.seq <= plan.to_seq]
        text = summarise(
            folded, self.summary.text if self.summary else None, plan.summary_budget_tokens, _count
        )
        self.summary = SummaryItem(from_seq=1, to_seq=plan.to_seq, text=text, tokens=_count(text))
        self.base_seq = plan.to_seq
        after = self.used(self.live(call))
        self.last = Attempt(outcome="committed", live_tokens_after=after, target_tokens=target)


def _ours(run: Run, budget: int, fold_bp: int) -> Iterator[Prompt]:
    """Sections, the sticky cut, and a compaction at this share or where the last proof asks for one."""
    session = Folding(run=run, budget=budget, fold_above=budget * fold_bp // 10_000)
    request, dropped = _request(session), 0
    for call in run.calls:
        session.fold_if_due(call, dropped=dropped)
        plan = assemble(
            replace(
                request,
                tail=session.live(call),
                anchors=anchors_of(run.messages[:call]),
                base_seq=session.base_seq,
                head_seq=call,
                summaries=[session.summary] if session.summary else [],
            )
        )
        request = replace(request, cut_seq=plan.cut_seq, previous_prefix=plan.prefix)
        dropped = plan.report["dropped_unsummarised"]
        yield _prompt(plan.system, plan.messages)


def _request(session: Folding) -> AssemblyRequest:
    budget = session.budget
    return AssemblyRequest(
        policy=POLICY,
        window=WindowBudget(
            context_window=budget, safe=budget, output_reserve=0, max_input=budget, mode="normal"
        ),
        model=MODEL,
        ruler=Ruler(
            count=_count, cut=lambda text, limit: text[: max(limit, 0) * 4], count_message=_count_message
        ),
        sections={"system_prompt": session.run.system} if session.run.system else {},
    )


def _append_only(run: Run, budget: int) -> Iterator[Prompt]:
    """The whole live view at every call, whether it fits or not."""
    session = Folding(run=run, budget=budget, fold_above=budget * APPEND_ONLY_BP // 10_000)
    for call in run.calls:
        session.fold_if_due(call)
        anchors = anchors_of(run.messages[:call])
        carried = {m.seq: m for m in (anchors.first_user, anchors.latest_user) if m}
        first = [carried[seq].body for seq in sorted(carried) if seq <= session.base_seq]
        folded = [{"role": "user", "content": session.summary.text}] if session.summary else []
        yield _prompt(run.system, [*folded, *first, *(m.body for m in session.live(call))])


def _unlimited(run: Run) -> Iterator[Prompt]:
    """Nothing is ever left out: no way to send these runs reads more of its input from the cache."""
    return (_prompt(run.system, [m.body for m in run.messages[:call]]) for call in run.calls)


def _trimmed(sources: dict[str, list[Run]]) -> dict[str, list[list[Prompt]]] | None:
    asked = {name: [_asked(run, WINDOWS[name]) for run in runs] for name, runs in sources.items()}
    with peer_python("langchain-core") as python:
        if python is None:
            return None
        work = [python, str(PEER)]
        done = subprocess.run(work, input=json.dumps(asked), capture_output=True, check=True, text=True)
    answers = json.loads(done.stdout)
    return {
        name: [_left(run, calls) for run, calls in zip(runs, answers[name], strict=True)]
        for name, runs in sources.items()
    }


def _left(run: Run, calls: list[tuple[bool, list[int]]]) -> list[Prompt]:
    return [
        _prompt(run.system if has_system else "", [run.messages[place].body for place in kept])
        for has_system, kept in calls
    ]


def _asked(run: Run, budget: int) -> dict[str, Any]:
    return {
        "system": run.system,
        "system_tokens": run.system_tokens,
        "messages": [m.body for m in run.messages],
        "tokens": [m.tokens for m in run.messages],
        "calls": run.calls,
        "budget": budget,
    }


def _prompt(system: str, messages: Sequence[Body]) -> Prompt:
    bodies = [{"role": "system", "content": system}] if system else []
    return [(_count_message(body), json.dumps(body, sort_keys=True)) for body in (*bodies, *messages)]


def _runs(source: str) -> Iterator[Run]:
    for bodies in _recorded(source) if source in ("tau-bench", "swe-agent") else map(_loop, range(LOOPS)):
        spoken = next(place for place, body in enumerate(bodies) if body["role"] != "system")
        yield Run(
            system="\n\n".join(body["content"] for body in bodies[:spoken]),
            messages=tuple(_stored(seq, body) for seq, body in enumerate(bodies[spoken:], start=1)),
        )


def _recorded(source: str) -> Iterator[list[Body]]:
    folder = data_folder()
    if folder is None:
        return
    with (folder / source / "sessions.jsonl").open(encoding="utf-8") as lines:
        yield from (json.loads(line)["messages"] for line in lines)


def _loop(seed: int) -> list[Body]:
    """A task, then 300 calls with results of 20 to 1,500 tokens, and a word of the user now and then."""
    dice = random.Random(seed)
    words = ("parser", "order", "ledger", "index", "cache", "token", "window", "section", "model", "line")
    bodies: list[Body] = [
        {"role": "system", "content": "You are a careful coding agent. " * 60},
        {"role": "user", "content": "Find out why the totals of the ledger are wrong and repair it."},
    ]
    for number in range(300):
        if number % 60 == 59:
            bodies.append({"role": "assistant", "content": "The next part is done."})
            bodies.append({"role": "user", "content": f"Good. Go on with part {number // 60 + 2}."})
        arguments = json.dumps({"path": f"src/{dice.choice(words)}_{dice.randint(1, 40)}.py"})
        function = {"name": "read_file", "arguments": arguments}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        bodies.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = " ".join(dice.choices(words, k=int(15 * 75 ** dice.random())))
        bodies.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return bodies


def _stored(seq: int, body: Body) -> StoredMessage:
    is_human = body["role"] == "user" and not body.get("is_demo") and not body.get("is_meta")
    return stored_message(seq=seq, body=body, count_message=_count_message, is_human=is_human)


def _count(text: str) -> int:
    return -(-len(text) // 4)


def _count_message(body: dict[str, Any]) -> int:
    length = len(body.get("content") or "")
    length += sum(len(json.dumps(call.get("function") or call)) for call in body.get("tool_calls") or ())
    return -(-length // 4) + 4
