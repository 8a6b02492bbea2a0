"""Short ways to walk a session in tests: open, say, ask for the context, let the workers' jobs run."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from budgets.core.presets import PRESETS
from kernel.models import Job
from kernel.tasks import run_job
from sessions.models import AgentSession
from teams.webhooks import DELIVER_JOB
from tests.api.client import Api

Body = dict[str, Any]


def opened(api: Api, **fields: Any) -> str:
    """The path of a new session."""
    answer = api.post("/sessions", {"model": "gpt-4", **fields})
    assert answer.status_code == 201, answer.content
    return f"/sessions/{answer.json()['id']}"


def profiled(manager: Api, name: str, preset: str, **changes: Any) -> str:
    """A profile like the preset, with some parts of its policy replaced."""
    policy = {**copy.deepcopy(PRESETS[preset].document), **changes}
    answer = manager.post("/profiles", {"name": name, "policy": policy})
    assert answer.status_code == 201, answer.content
    return name


def record(api: Api, session: str, *events: Body, **fields: Any) -> Body:
    answer = api.post(f"{session}/events", {"events": list(events), **fields})
    assert answer.status_code == 201, answer.content
    body: Body = answer.json()
    return body


def say(api: Api, session: str, *messages: Body, pinned: bool = False) -> Body:
    return record(api, session, *({"type": "message", "message": m, "pinned": pinned} for m in messages))


def user(text: str) -> Body:
    return {"role": "user", "content": text}


def assistant(text: str) -> Body:
    return {"role": "assistant", "content": text}


def tool_turn(call_id: str, output: str, *, name: str = "bash", arguments: str = "{}") -> list[Body]:
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": output},
    ]


def usage(prompt: int, output: int = 0) -> Body:
    return {"type": "usage", "usage": {"input_tokens": prompt, "output_tokens": output}}


def turns(count: int, *, first: int = 0, words: int = 60) -> list[Body]:
    """Questions and answers that name a file, a number and a decision each."""
    found: list[Body] = []
    for n in range(first, first + count):
        found.append(
            user(f"Question {n}: what does src/module_{n}.py do with order {1000 + n}? " + "so " * words)
        )
        found.append(assistant(f"It adds them up. We decided to keep format v{n}. " + "thus " * words))
    return found


def context(api: Api, session: str, **wish: Any) -> Body:
    answer = api.post(f"{session}/context", wish)
    assert answer.status_code == 200, answer.content
    body: Body = answer.json()
    return body


def sent_text(context: Body) -> str:
    """Everything that a model would read."""
    return "\n".join([context["system"], *(str(message.get("content")) for message in context["messages"])])


def signals(api: Api, session: str) -> list[Body]:
    rows: list[Body] = api.get(f"{session}/signals?limit=200").json()["items"]
    return rows


def signal_kinds(api: Api, session: str) -> list[str]:
    return [row["kind"] for row in signals(api, session)]


def originals(api: Api, session: str) -> list[Body]:
    """Every stored message, page by page."""
    found: list[Body] = []
    cursor = ""
    while True:
        page = api.get(f"{session}/messages?limit=200{cursor}").json()
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def row_of(session: str) -> AgentSession:
    return AgentSession.objects.get(pk=session.removeprefix("/sessions/"))


def work_off() -> list[Job]:
    """Does every open job in this process, as a worker would; returns them as they ended.

    Webhooks are not delivered: nothing may leave the machine, and P20 has receivers of its own.
    """
    rows = Job.objects.filter(state__in=Job.OPEN).exclude(kind=DELIVER_JOB).order_by("id")
    ids = list(rows.values_list("pk", flat=True))
    for job_id in ids:
        run_job(job_id)
    return list(Job.objects.filter(pk__in=ids).order_by("id"))


def compacted(api: Api, session: str) -> Body:
    """Compacts by hand and returns the job's result."""
    answer = api.post(f"{session}/compact", {})
    assert answer.status_code == 202, answer.content
    work_off()
    job: Body = api.get(f"/jobs/{answer.json()['job']}").json()
    assert job["state"] == "done", job
    result: Body = job["result"]
    return result


def contents(messages: Iterable[Body]) -> list[Any]:
    return [message["content"] for message in messages]
