"""Random walks through a session by its services: talk, pin, remember, checkpoint, compact, restore."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from kernel.models import Job
from kernel.tasks import run_job
from sessions.models import AgentSession, Checkpoint
from sessions.services import forks, memory, restores
from sessions.services.checkpoints import clear_context, write_checkpoint
from sessions.services.compaction_requests import enqueue_compaction
from sessions.services.contexts import ContextWish, next_context
from sessions.services.frames import frame_of
from sessions.services.ingest import record_events
from sessions.services.lifecycle import Opening, open_session, set_section
from sessions.services.store import lock_session

STEPS = (
    "talk",
    "talk",
    "talk",
    "tools",
    "pin",
    "section",
    "memory",
    "context",
    "checkpoint",
    "compact",
    "clear",
    "restore",
)

steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 10**6)), min_size=5, max_size=40)


@dataclass(slots=True)
class Walk:
    """One session and what was seen of it at each checkpoint."""

    project_id: str
    ref: str
    seen: dict[str, str] = field(default_factory=dict)
    said: int = 0

    @classmethod
    def begin(cls, project_id: str, *, model: str = "gpt-3.5-turbo") -> Walk:
        session, _ = open_session(
            project_id=project_id, key_id="key_1", opening=Opening(model=model, goal="Reach the end.")
        )
        return cls(project_id=project_id, ref=session.pk)

    @property
    def session(self) -> AgentSession:
        return AgentSession.objects.select_related("profile__current", "manifest").get(pk=self.ref)

    def go(self, step: str, number: int) -> None:
        getattr(self, f"_{step}")(number)

    def assembled(self) -> dict[str, Any]:
        """Asks for the context as an agent would, after it has done what it was told."""
        self.session.interventions.all().delete()
        found = next_context(project_id=self.project_id, ref=self.ref, wish=ContextWish())
        assert isinstance(found, dict)
        return found

    def digest(self) -> str:
        found = self.assembled()
        shown = [found["system"], found["messages"], found["report"]["tokens"]]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()

    def checkpointed(self) -> str:
        """A checkpoint, and what the context looked like at that moment."""
        session = lock_session(project_id=self.project_id, ref=self.ref)
        checkpoint = write_checkpoint(session, frame_of(session), reason="walk")
        self.seen[checkpoint.pk] = self.digest()
        return str(checkpoint.pk)

    def restored(self, checkpoint_id: str) -> Checkpoint:
        _, _, undo = restores.restore_head(
            project_id=self.project_id, ref=self.ref, checkpoint_ref=checkpoint_id
        )
        return undo

    def forked(self, checkpoint_id: str) -> Walk:
        session, _ = forks.fork(
            project_id=self.project_id, ref=self.ref, checkpoint_ref=checkpoint_id, external_id=None
        )
        return Walk(project_id=self.project_id, ref=session.pk)

    def _say(self, *messages: dict[str, Any], pinned: bool = False) -> None:
        events = [{"type": "message", "message": message, "pinned": pinned} for message in messages]
        record_events(project_id=self.project_id, ref=self.ref, format="native", events=events)

    def _label(self) -> str:
        self.said += 1
        return f"<{self.said}>"

    def _talk(self, number: int) -> None:
        words = "word " * (number % 90)
        self._say(
            {"role": "user", "content": f"{self._label()} My port is {number}. {words}"},
            {"role": "assistant", "content": f"{self._label()} We decided to use port {number}. {words}"},
        )

    def _tools(self, number: int) -> None:
        call = {"id": f"c{self.said}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        self._say(
            {"role": "assistant", "content": self._label(), "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": f"{self._label()} " + "x.py " * (number % 120),
            },
        )

    def _pin(self, number: int) -> None:
        self._say({"role": "user", "content": f"{self._label()} Keep {number}."}, pinned=True)

    def _section(self, number: int) -> None:
        set_section(
            project_id=self.project_id, ref=self.ref, name="working_state", text=f"state {number % 50}"
        )

    def _memory(self, number: int) -> None:
        memory.add_entry(
            project_id=self.project_id,
            ref=self.ref,
            kind="fact",
            text=f"fact {number}",
            priority=number % 100,
            pinned=False,
            source="agent",
            key=f"k{number % 5}",
        )

    def _context(self, number: int) -> None:
        self.assembled()

    def _checkpoint(self, number: int) -> None:
        self.checkpointed()

    def _compact(self, number: int) -> None:
        job, _ = enqueue_compaction(lock_session(project_id=self.project_id, ref=self.ref), reason="by hand")
        run_job(job.pk)
        assert Job.objects.get(pk=job.pk).state == Job.State.DONE, Job.objects.get(pk=job.pk).error

    def _clear(self, number: int) -> None:
        session = lock_session(project_id=self.project_id, ref=self.ref)
        clear_context(session, frame_of(session), reasons=("walk",))
        session.save()

    def _restore(self, number: int) -> None:
        if self.seen:
            self.restored(sorted(self.seen)[number % len(self.seen)])
