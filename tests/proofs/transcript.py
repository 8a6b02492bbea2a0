"""One scripted conversation with everything in it, run on a fresh database and written down.

`python -m tests.proofs.transcript <file> <profile …>` runs it on CTXBUDGET_DATABASE_URL; ids and times become
their order of appearance, everything else stays as it was answered.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

_ID = re.compile(r"\b[a-z]{2,6}_[0-9A-Z]{22}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?)?")
_KEY = re.compile(r"ctxb_[A-Za-z0-9]+")
_DIGEST = re.compile(r"\b[0-9a-f]{32,64}\b")
# Unknown to both sides alike: cursors are ids in another spelling, hashes are made of ids and times.
_HIDDEN = ("next", "request_id", "sha256", "etag", "secret", "prefix_sha256")

ODD_WORDS = [
    "zebra",
    "Zebra",
    "äpfel",
    "Äpfel",
    "éclair",
    "漢字",
    "😀",
    "a_b",
    "a-b",
    "a.b",
    "A%",
    "1",
    "10",
    "9",
]


class Transcript:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._names: dict[str, str] = {}

    def note(self, request: str, status: int, media: str, content: bytes) -> None:
        is_json = "json" in media and content
        body = self._plain(json.loads(content)) if is_json else self._named(content.decode(errors="replace"))
        self.entries.append({"request": self._named(request), "status": status, "type": media, "body": body})

    def _plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                self._named(name): "<hidden>" if name in _HIDDEN and child else self._plain(child)
                for name, child in value.items()
            }
        if isinstance(value, list):
            return [self._plain(child) for child in value]
        return self._named(value) if isinstance(value, str) else value

    def _named(self, text: str) -> str:
        text = _ID.sub(lambda found: self._names.setdefault(found[0], f"<id {len(self._names)}>"), text)
        return _DIGEST.sub("<digest>", _TIME.sub("<time>", _KEY.sub("<key>", text)))


def converse(transcript: Transcript, profiles: Sequence[str]) -> None:
    """Needs Django; every answer is written down."""
    from teams.services import ensure_project
    from tests.api.client import Api
    from tests.proofs.tenants import call, furnish, visits

    class WritingApi(Api):
        def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
            answer = super().request(method, path, body, **options)
            said = f"{method} {path} {json.dumps(body)[:300]}"
            transcript.note(said, answer.status_code, answer.headers.get("Content-Type", ""), answer.content)
            return answer

    tenant = furnish(ensure_project(team_name="Acme", project_name="alpha"), "otter")
    api = WritingApi(key=tenant.api.key)
    for profile in profiles:
        _talk(api, profile)
    tenant.api.request = api.request  # type: ignore[method-assign]
    for operation, visit in visits():
        call(tenant, operation, visit, tenant.ids)


def _talk(api: Any, profile: str) -> None:
    opening = {"model": "gpt-4", "profile": profile, "goal": "Ship the release", "task": "release"}
    session = f"/sessions/{api.post('/sessions', opening).json()['id']}"
    for batch in _batches():
        api.post(f"{session}/events", batch)
    for word in ODD_WORDS:
        api.post(f"{session}/memory", {"text": f"remember {word}", "key": word, "priority": len(word)})
    api.put(f"{session}/sections/goal", {"content": {"steps": ODD_WORDS, "nul": "\x00", "lone": "\ud800"}})
    _look(api, session)
    api.post(f"{session}/checkpoints", {"epic": "E", "story": "S"})
    api.post(f"{session}/compact", {"dry_run": True})
    api.post(f"{session}/compact", {})
    _work_off(api)
    _look(api, session)
    api.post(f"{session}/checkpoints/1/restore", {})
    api.get(f"{session}/checkpoints/1/diff?against=2")
    api.patch(session, {"model": "claude-3-opus", "metadata": {"z": 1, "a": [1.5, 10**20], "ä": None}})
    _look(api, session)


def _batches() -> Iterator[dict[str, Any]]:
    def said(number: int, word: str) -> list[dict[str, Any]]:
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "Edit", "arguments": f'{{"file_path": "src/{word}.py"}}'},
        }
        return [
            {
                "role": "user",
                "content": f"Look at {word} number {number}, please. " + f"{word} matters. " * 40,
            },
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"c{number}",
                "content": f"Error: {word} not found. " + "line " * 60,
            },
            {"role": "assistant", "content": f"Decision: we keep {word} in src/{word}.py. " + "reason " * 50},
        ]

    for number, word in enumerate(ODD_WORDS):
        usage = {
            "type": "usage",
            "usage": {"input_tokens": 1_000 + 400 * number, "output_tokens": 100 + number},
        }
        events = [
            {"event_id": f"{word}-{n}", "type": "message", "message": m}
            for n, m in enumerate(said(number, word))
        ]
        yield {"events": [*events, usage]}
    yield {
        "events": [{"type": "message", "message": {"role": "user", "content": "NUL \x00 and \ud800 alone"}}]
    }
    yield {
        "events": [
            {"event_id": "zebra-0", "type": "note", "text": "again"},
            {"type": "phase", "phase": "build"},
        ]
    }
    yield {"events": [{"type": "state_change", "previous": "PLAN", "new": "BUILD"}, {"type": "odd", "x": 1}]}
    yield {"format": "anthropic", "events": [{"role": "user", "content": [{"type": "text", "text": "more"}]}]}
    yield {"format": "claude-code", "events": [{"type": "result", "usage": {"input_tokens": 5_000}}]}
    yield {"events": [{"type": "usage", "usage": {"input_tokens": -1}}]}
    yield {"events": []}


def _look(api: Any, session: str) -> None:
    for format in ("openai", "anthropic", "plain"):
        api.post(f"{session}/context", {"format": format, "query": "Äpfel 漢字 src/zebra.py"})
    api.post(f"{session}/context", {"budget_tokens": 700})
    api.post(f"{session}/context", {"budget_tokens": 1})
    for part in (
        "",
        "/budget",
        "/memory",
        "/signals",
        "/interventions",
        "/assemblies",
        "/checkpoints",
        "/scratch",
    ):
        api.get(session + part)
    for query in (
        "limit=7",
        "q=äpfel",
        "q=漢字",
        "q=src/zebra.py",
        "q=NUL",
        "q=%25",
        "limit=0",
        "cursor=%00",
    ):
        api.get(f"{session}/messages?{query}")
    for query in ("limit=2", "model=gpt-4", "state=active", "limit=-1"):
        api.get(f"/sessions?{query}")


def _work_off(api: Any) -> None:
    """Every job that was not tried yet, in order of its id; the answer is what the API says about them.

    When a failed one is tried again is a matter of time, and the two conversations do not keep step.
    """
    from kernel.models import Job
    from kernel.tasks import run_job
    from teams.webhooks import DELIVER_JOB

    # Nobody listens to the webhooks of a transcript, and nothing may leave the machine to find that out.
    new = Job.objects.filter(state__in=Job.OPEN, attempt=0).exclude(kind=DELIVER_JOB)
    for job in new.order_by("id"):
        run_job(job.pk)
    api.get("/jobs")


def main(target: str, *profiles: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "ctxbudget_site.settings"
    import django
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    django.setup()
    setup_test_environment()
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    transcript = Transcript()
    converse(transcript, profiles)
    Path(target).write_text(json.dumps(transcript.entries, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
