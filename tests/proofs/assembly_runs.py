"""Runs the assembly over a random history turn by turn and collects what the checker says."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from budgets.catalogue import all_models
from budgets.core.errors import NoInputRoom
from budgets.core.policy import parse_policy
from budgets.core.presets import PRESETS
from budgets.core.window import window_budget
from budgets.tokens import counter_for, cut_to_tokens, message_tokens
from providers.render import RENDER_FORMATS, render, validate
from sessions.core.assembly import (
    AssemblyRequest,
    ContextPlan,
    ContextTooLarge,
    Hit,
    MemoryItem,
    Ruler,
    StoredMessage,
    SummaryItem,
    anchors_of,
    assemble,
)
from sessions.core.message import Body, stored_message
from tests.proofs.context_checker import Source, recount_with, source_groups, violations
from tests.proofs.histories import random_history, wide_history

# Where random histories overflow; half of the runs stay here.
TIGHT_WINDOWS = (4_096, 8_192, 16_384, 32_768, 131_072)
TOKENIZERS = ("o200k_base", "cl100k_base", "claude", "generic")
POLICIES = {name: parse_policy(preset.document) for name, preset in PRESETS.items()}
Cell = tuple[int, str]
# A prompt of 10,000,000 tokens takes a minute to write and to count.
WIDEST = 2_000_000
# A prime: the walk through the catalogue has another length, so no window is always displaced.
WIDE_EVERY = 47
# Below this the window holds the reserves of a profile and little else: every call is a refusal.
LEAST_ROOM = 1_500
Assembler = Callable[[AssemblyRequest], ContextPlan]


@dataclass(frozen=True, kw_only=True)
class Finding:
    seed: int
    turn: int
    preset: str
    problems: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Run:
    cell: Cell
    findings: tuple[Finding, ...]
    contexts: int
    overflowing: int
    refused: int
    least_fill_bp: int


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What a seed stands for: one window and counter, one profile, and a history."""

    window: int
    tokenizer: str
    preset: str
    is_wide: bool

    @property
    def cell(self) -> Cell:
        return self.window, self.tokenizer


def has_room(preset: str, window: int) -> bool:
    """A policy with a fixed reserve of 10,500 tokens has none in a small window."""
    policy = POLICIES[preset]
    if policy.section("entity_tracking") and window < 32_768:
        return False
    try:
        return window_budget(policy.window, window).max_input >= LEAST_ROOM
    except NoInputRoom:
        return False


def catalogue_cells() -> list[Cell]:
    """Every distinct window and counter of the models we know, if any profile has room in it."""
    cells = {(model.context_window, model.tokenizer) for model in all_models() if model.context_window}
    return sorted(cell for cell in cells if any(has_room(name, cell[0]) for name in PRESETS))


CELLS = catalogue_cells()
WIDE_CELLS = [cell for cell in CELLS if TIGHT_WINDOWS[-1] < cell[0] <= WIDEST]
WINDOWS = sorted({*TIGHT_WINDOWS, *(window for window, _ in CELLS)})


def drawn(seed: int) -> Draw:
    """Odd seeds are tight, even ones walk the catalogue; now and then a source outgrows a wide window."""
    number, is_wide = seed // 2, seed % WIDE_EVERY == WIDE_EVERY // 2 - 1
    if is_wide:
        window, tokenizer = WIDE_CELLS[seed // WIDE_EVERY % len(WIDE_CELLS)]
    elif seed % 2:
        window = random.Random(-1 - seed).choice(TIGHT_WINDOWS)
        tokenizer = TOKENIZERS[number % len(TOKENIZERS)]
    else:
        window, tokenizer = CELLS[number % len(CELLS)]
    presets = [name for name in PRESETS if has_room(name, window)]
    # The second term moves on with each walk, so that a cell meets every profile.
    preset = presets[(number // len(TOKENIZERS) + number // len(CELLS)) % len(presets)]
    return Draw(window=window, tokenizer=tokenizer, preset=preset, is_wide=is_wide)


def run_history(seed: int, assembler: Assembler = assemble) -> Run:
    """A few turns of one history; window, counter and preset follow from the seed."""
    rng = random.Random(-1 - seed)
    draw = drawn(seed)
    ruler = _ruler(draw.tokenizer)
    messages = _stored(seed, draw, ruler)
    sticky = rng.random() < 0.5
    request = _request(rng, draw, ruler, sticky=sticky)
    findings: list[Finding] = []
    contexts = overflowing = refused = 0
    least = 10_000
    for turn in _turns(rng, len(messages), draw):
        request = _at_turn(rng, request, messages[:turn], draw)
        overflowing += _offered(request) > request.window.max_input
        try:
            plan = assembler(request)
        except ContextTooLarge:
            refused += 1
            continue
        contexts += 1
        problems = violations(_source(request, draw.preset), plan, recount_with(draw.tokenizer))
        problems += _format_problems(plan)
        fill = _fill_bp(request, plan)
        least = min(least, fill)
        if fill < _fill_promised(request, draw.preset, sticky):
            problems.append(f"filled only {fill} bp")
        if problems:
            findings.append(Finding(seed=seed, turn=turn, preset=draw.preset, problems=tuple(problems)))
        request = replace(request, cut_seq=plan.cut_seq, previous_prefix=plan.prefix)
    return Run(
        cell=draw.cell,
        findings=tuple(findings),
        contexts=contexts,
        overflowing=overflowing,
        refused=refused,
        least_fill_bp=least,
    )


def _turns(rng: random.Random, length: int, draw: Draw) -> list[int]:
    """Where a context is asked for; a wide source is counted twice, near its end."""
    if draw.is_wide:
        return [length - min(5, length - 1), length]
    return sorted({rng.randint(1, length) for _ in range(3)} | {length})


def _ruler(tokenizer: str) -> Ruler:
    counter = counter_for(tokenizer)
    return Ruler(
        count=counter.count,
        cut=lambda text, limit: cut_to_tokens(counter, text, limit),
        count_message=lambda body: message_tokens(counter, body),
        high=counter.high,
    )


def _stored(seed: int, draw: Draw, ruler: Ruler) -> list[StoredMessage]:
    history = wide_history(seed, tokens=draw.window) if draw.is_wide else random_history(seed)
    return [
        stored_message(
            seq=seq,
            body=body,
            count_message=ruler.count_message,
            pinned=seq in history.pinned,
            is_human=seq in history.human,
        )
        for seq, body in enumerate(history.bodies, start=1)
    ]


def _request(rng: random.Random, draw: Draw, ruler: Ruler, *, sticky: bool) -> AssemblyRequest:
    policy = POLICIES[draw.preset]
    texts = {
        "system_prompt": "You are a careful agent. " * rng.choice([0, 1, 20]),
        "goal": "Fix the parser.",
        "working_state": "editing parser.py " * rng.choice([0, 1, 200]),
        "scaffolding_reminder": "Answer briefly." * rng.choice([0, 1]),
    }
    memory = [
        MemoryItem(id=f"m{n}", kind="fact", text=f"fact {n} is known", tokens=5, priority=n % 3, seq=n)
        for n in range(rng.choice([0, 2, 300]))
    ]
    hits = [
        Hit(ref=f"seq:{n}", text="an older chunk " * 30, tokens=90, score=n)
        for n in range(rng.choice([0, 5]))
    ]
    return AssemblyRequest(
        policy=policy,
        window=window_budget(policy.window, draw.window),
        model="a-model",
        ruler=ruler,
        sections={name: text for name, text in texts.items() if text},
        memory=memory,
        hits=hits,
        sticky=sticky,
        overhead_tokens=3,
    )


def _at_turn(
    rng: random.Random, request: AssemblyRequest, messages: list[StoredMessage], draw: Draw
) -> AssemblyRequest:
    """The session now holds these messages; sometimes it was compacted or its model was switched."""
    base = request.base_seq
    if rng.random() < 0.2:
        base = _compactable(messages, rng.randint(base, max(base, len(messages) // 2)))
    window = request.window
    if rng.random() < 0.2 and not draw.is_wide:
        others = [size for size in WINDOWS if has_room(draw.preset, size)]
        window = window_budget(request.policy.window, rng.choice(others))
    summaries = [SummaryItem(from_seq=1, to_seq=base, text="Fact 1 is known\nWork goes on.", tokens=9)]
    live = messages[base:]
    return replace(
        request,
        window=window,
        base_seq=base,
        head_seq=len(messages),
        summaries=summaries if base else [],
        tail=live,
        anchors=anchors_of(messages),
        interventions="/compact focus on the parser" if rng.random() < 0.1 else "",
    )


def _compactable(messages: list[StoredMessage], base: int) -> int:
    """The nearest boundary at or before `base` that splits no group."""
    groups = source_groups({message.seq: message.body for message in messages})
    for call, results in sorted(groups.items(), reverse=True):
        if call <= base and (not results or results[-1] > base):
            base = call - 1
    return base


def _source(request: AssemblyRequest, preset: str) -> Source:
    anchors = request.anchors
    known = (*anchors.system, *anchors.pinned, anchors.first_user, anchors.latest_user, *request.tail)
    bodies = {message.seq: message.body for message in known if message is not None}
    keep = [*anchors.system, *anchors.pinned, anchors.latest_user, *request.tail[-1:]]
    if preset != "compact-chat":
        keep.append(anchors.first_user)
    must = {message.seq for message in keep if message is not None}
    return Source(
        bodies=bodies,
        base_seq=request.base_seq,
        must_keep=frozenset(must),
        max_input=request.window.max_input,
        overhead=request.overhead_tokens,
    )


def _format_problems(plan: ContextPlan) -> list[str]:
    """What the providers' own rules say; open calls get the results that the agent will add."""
    waiting: list[str] = []
    for message in plan.messages:
        if message["role"] == "tool":
            waiting = [call_id for call_id in waiting if call_id != message.get("tool_call_id")]
        else:
            waiting = [call.get("id", "") for call in message.get("tool_calls") or ()]
    answers = [{"role": "tool", "tool_call_id": call_id, "content": "done"} for call_id in waiting]
    whole = [*plan.messages, *answers]
    return [
        f"{name}: {problem}"
        for name in RENDER_FORMATS
        for problem in validate(render(plan.system, whole, name).messages, name)
    ]


def _fill_bp(request: AssemblyRequest, plan: ContextPlan) -> int:
    """By the upper estimate, with what could not be shortened of the first group that did not fit."""
    first = next((m for m in reversed(request.tail) if m.seq not in plan.seqs), None)
    frames = (_frame_tokens(request, first) if first else 0) + _lost_images(request, plan)
    high = request.ruler.high or int
    return high(plan.tokens + frames) * 10_000 // request.window.max_input


def _frame_tokens(request: AssemblyRequest, message: StoredMessage) -> int:
    """The least that a group of parallel calls takes: no clipping goes below it."""
    bodies = {m.seq: m.body for m in request.tail}
    groups = source_groups(bodies)
    group = next(
        ([call, *results] for call, results in groups.items() if message.seq in (call, *results)), []
    )
    if len(group) < 3:
        return 0
    return sum(request.ruler.count_message(_emptied(bodies[seq])) for seq in group)


def _lost_images(request: AssemblyRequest, plan: ContextPlan) -> int:
    """An image is sent whole or not at all."""
    shown = dict(zip(plan.seqs, plan.messages, strict=True))
    lost = [m for m in request.tail if isinstance(m.body["content"], list) and m.seq in shown]
    return max((m.tokens for m in lost if shown[m.seq] != m.body), default=0)


def _emptied(body: Body) -> Body:
    calls = [
        {**call, "function": {**call["function"], "arguments": "{}"}} for call in body.get("tool_calls") or ()
    ]
    return {**body, "content": "[clipped]", "tool_calls": calls}


def _fill_promised(request: AssemblyRequest, preset: str, sticky: bool) -> int:
    """Only where the source is larger than the budget, by the tail that promises it."""
    if preset in ("compact-chat", "long-story") or _offered(request) <= request.window.max_input:
        return 0
    return 6_000 if sticky else 9_000


def _offered(request: AssemblyRequest) -> int:
    return sum(message.tokens for message in request.tail)
