"""Plays an agent: asks for its context, reports messages and usage, and lets due jobs be done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from ctxbudget_site.demo import texts
from kernel import clock
from kernel.errors import ProblemError
from kernel.models import Job
from kernel.tasks import run_job
from sessions.models import AgentSession
from sessions.services import lifecycle
from sessions.services.contexts import ContextWish, next_context
from sessions.services.ingest import record_events

Events = list[dict[str, Any]]
Script = Callable[[Random, int, int], Events]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One session of the week; `step_tokens` is about what a turn adds to its context."""

    external_id: str
    task: str
    model: str
    profile: str
    turns: int
    hours_ago: int
    step_tokens: int = 1_500
    minutes_apart: int = 4
    goal: str = ""
    parent: str | None = None
    script: str = "coding"
    reports_usage: bool = True
    hidden_tokens: int = 0


class Stage:
    """A project on which parts are played, at the moments of a week that lies behind us."""

    def __init__(self, *, project_id: str, key_id: str, seed: int = 7) -> None:
        self.project_id, self.key_id = project_id, key_id
        self.random = Random(seed)

    def play(self, part: Part) -> AgentSession:
        session = self.open(part)
        self.go_on(session, part)
        return session

    def open(self, part: Part) -> AgentSession:
        # The week is lived through, so that charts, windows and trends are what they would have been.
        with at_moment(datetime.now(UTC) - timedelta(hours=part.hours_ago)):
            session, _ = lifecycle.open_session(
                project_id=self.project_id,
                key_id=self.key_id,
                opening=lifecycle.Opening(
                    model=part.model,
                    profile=part.profile,
                    external_id=part.external_id,
                    task=part.task,
                    goal=part.goal or None,
                    parent=part.parent,
                ),
            )
        return session

    def go_on(self, session: AgentSession, part: Part) -> None:
        """Turns until the script ends or somebody stops the session."""
        start = datetime.now(UTC) - timedelta(hours=part.hours_ago)
        for turn in range(session.turns, part.turns):
            with at_moment(start + timedelta(minutes=part.minutes_apart * turn)):
                if not self._take_turn(session, part, turn):
                    return

    def _take_turn(self, session: AgentSession, part: Part, turn: int) -> bool:
        script = SCRIPTS[part.script]
        self.report(session, script(self.random, turn, part.step_tokens))
        prompt = self._assembled(session) + part.hidden_tokens
        if prompt and part.reports_usage:
            self.report(session, [self._answer(session, turn, prompt)])
        do_due_jobs()
        session.refresh_from_db()
        return session.state == AgentSession.State.ACTIVE

    def _assembled(self, session: AgentSession) -> int:
        context = next_context(project_id=self.project_id, ref=session.pk, wish=ContextWish())
        return session.used_tokens if isinstance(context, ProblemError) else int(context["report"]["tokens"])

    def _answer(self, session: AgentSession, turn: int, prompt: int) -> dict[str, Any]:
        """The assistant's words with the usage that its provider reported."""
        cached = prompt * self.random.randrange(55, 93) // 100 if turn else 0
        written = min(prompt - cached, 4_000)
        return {
            "type": "message",
            "message": {"role": "assistant", "content": texts.prose(self.random, 3)},
            "response_id": f"resp_{session.pk[-8:]}_{turn}",
            "usage": {
                "input_tokens": prompt - cached - written,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": written,
                "output_tokens": self.random.randrange(250, 1_600),
            },
        }

    def report(self, session: AgentSession, events: Events) -> None:
        record_events(project_id=self.project_id, ref=session.pk, format="native", events=events)


@contextmanager
def at_moment(moment: datetime) -> Iterator[None]:
    """The services' clock stands there; this process alone is moved, and only for the demo."""
    clock.set_test_offset(min(timedelta(0), moment - datetime.now(UTC)))
    try:
        yield
    finally:
        clock.set_test_offset(timedelta(0))


def do_due_jobs() -> None:
    """What a worker would do; one that is running already may be faster, which is as well."""
    for job_id in list(Job.objects.filter(state=Job.State.QUEUED).values_list("pk", flat=True)[:20]):
        run_job.run(job_id)


def _said(role: str, content: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content}}


def _call(call_id: str, tool: str, arguments: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": arguments}}
    return {"type": "message", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}


def _result(call_id: str, content: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": "tool", "tool_call_id": call_id, "content": content}}


def _opening(turn: int) -> Events:
    if turn:
        return []
    text = "You are a careful engineer. Read before you write, run the tests, keep money in integers."
    return [_said("system", f"{text}\n\nTools: read_file, edit_file, run_tests, search.\n" * 6)]


def coding(random: Random, turn: int, tokens: int) -> Events:
    path, call_id = random.choice(texts.FILES), f"call_{turn}_{random.randrange(10**6)}"
    events = _opening(turn)
    if turn % 5 == 0:
        events.append(_said("user", texts.ASKS[turn // 5 % len(texts.ASKS)]))
    if turn % 7 == 6:
        test = "tests/test_refunds.py"
        return [
            *events,
            _call(call_id, "run_tests", '{"path": "tests/test_refunds.py"}'),
            _result(call_id, texts.failure(test, 120 + turn)),
        ]
    if turn % 3 == 2:
        arguments = json.dumps({"path": path, "content": "…"})
        return [*events, _call(call_id, "edit_file", arguments), _result(call_id, f"Wrote {path}.")]
    read = texts.code if turn % 2 else texts.log
    return [
        *events,
        _call(call_id, "read_file", json.dumps({"path": path})),
        _result(call_id, read(random, tokens)),
    ]


def stuck(random: Random, turn: int, tokens: int) -> Events:
    """The same command fails the same way again and again: a dead end."""
    call_id = f"call_{turn}"
    return [
        *_opening(turn),
        *([_said("user", texts.ASKS[2])] if turn == 0 else []),
        _call(call_id, "run_tests", '{"path": "tests/test_gateway.py", "timeout": 30}'),
        _result(call_id, "Error: connect ETIMEDOUT 10.0.0.12:443\n" + texts.log(random, tokens)),
    ]


def chat(random: Random, turn: int, tokens: int) -> Events:
    return [
        *_opening(turn),
        _said("user", f"{texts.ASKS[turn % len(texts.ASKS)]} {texts.prose(random, max(1, tokens // 40))}"),
    ]


def story(random: Random, turn: int, tokens: int) -> Events:
    return [
        *_opening(turn),
        _said("user", "Go on with the next scene."),
        _said("assistant", texts.scene(random, turn + 1)),
    ]


def staged(random: Random, turn: int, tokens: int) -> Events:
    """Work in phases, with a story finished now and then."""
    events = coding(random, turn, tokens)
    phases = ("analyse", "build", "verify", "hand over")
    if turn % 6 == 0:
        before = phases[(turn // 6 - 1) % 4] if turn else ""
        events.append({"type": "state_change", "previous": before, "new": phases[turn // 6 % 4]})
    if turn % 12 == 11:
        events.append({"type": "story_complete", "epic": "billing", "story": f"BILL-{turn}"})
    return events


SCRIPTS: dict[str, Script] = {
    "coding": coding,
    "stuck": stuck,
    "chat": chat,
    "story": story,
    "staged": staged,
}
