"""Two tenants with something of everything, and the walk of one through what is the other's.

Every operation of the OpenAPI file has a row in VISITS. Each id that a row carries is replaced in turn by the
other tenant's, and by one that nobody has: both answers must be equal, and say nothing of the other tenant.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from kernel.ids import new_id
from kernel.jobs import queue
from teams.models import Project, Role
from teams.services import create_api_key, set_member
from tests.api.client import Answer, Api

Body = dict[str, Any]
# What an operation may answer to its own tenant: done, or refused by state, which proves that it was found.
FOUND = {200, 201, 202, 204, 402, 409}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """mark stands in every name and text of the tenant, and nowhere else."""

    mark: str
    api: Api
    approver: Api
    ids: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """path, query and body name the ids that they carry; body gets what the ids do not say."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body_ids: Mapping[str, str] = field(default_factory=dict)
    body: Body | None = None
    approver: bool = False
    headers: Mapping[str, str] = field(default_factory=lambda: {"If-Match": "*"})

    def slots(self) -> set[str]:
        return {*self.path.values(), *self.query.values(), *self.body_ids.values()}


def furnish(project: Project, mark: str) -> Tenant:
    api = Api(key=create_api_key(project=project, scopes=["agent", "manage", "read"]).secret)
    member = User.objects.create_user(mark)
    set_member(team=project.team, user=member, role=Role.OWNER, actor="system")
    approver = Api(key=create_api_key(project=project, scopes=["approve"], acts_for=member).secret)
    return Tenant(mark=mark, api=api, approver=approver, ids=_belongings(project, api, mark))


def _belongings(project: Project, api: Api, mark: str) -> dict[str, str]:
    ids = {"profile_name": f"{mark}-profile", "model": f"{mark}-model", "protocol": f"{mark}-protocol"}
    ids["profile"] = _made(api, "/profiles", {"name": ids["profile_name"], "title": mark})
    policy = api.get(f"/profiles/{ids['profile']}").json()["policy"]
    _made(api, f"/profiles/{ids['profile']}/revisions", {"policy": policy, "note": mark})
    _done(api, "POST", f"/profiles/{ids['profile']}/publish")
    _done(api, "POST", "/models/override", {"name": ids["model"], "context_window": 8192})
    _done(api, "POST", "/models/alias", {"name": f"{mark}-alias", "alias_of": ids["model"]})
    price = {"name": ids["model"], "input_usd_per_mtok": "3", "output_usd_per_mtok": "15"}
    ids["price"] = _made(api, "/models/prices", price)
    ids["webhook"] = _made(api, "/webhooks", {"url": f"{HOOK}/{mark}"})
    _made(api, "/protocols", {"name": ids["protocol"], "text": mark})
    ids |= _session_of(project, api, mark, ids)
    ids |= _money_of(api, mark, ids)
    return ids


def _session_of(project: Project, api: Api, mark: str, ids: Mapping[str, str]) -> dict[str, str]:
    opening = {
        "model": ids["model"],
        "profile": ids["profile"],
        "external_id": mark,
        "task": mark,
        "goal": mark,
    }
    session = _made(api, "/sessions", opening)
    base = f"/sessions/{session}"
    _done(api, "POST", f"{base}/events", {"events": _events(mark)})
    _done(api, "PUT", f"{base}/sections/working_state", {"content": mark})
    _done(api, "POST", f"{base}/scratch/dead-ends", {"description": mark})
    _done(api, "POST", f"{base}/scratch/state-changes", {"previous": mark, "new": mark})
    _done(api, "POST", f"{base}/protocols/{ids['protocol']}/load")
    context = api.post(f"{base}/context", {"query": mark}).json()
    child = _made(api, f"{base}/children", {"task": mark, "files": {mark: mark}})
    checkpoint = _made(api, f"{base}/checkpoints", {"epic": mark, "clear": True})
    job, _ = queue.enqueue(kind="nothing", dedupe_key=mark, project_id=project.pk, subject_id=session)
    return {
        "session": session,
        "external": f"ext:{mark}",
        "memory": _made(api, f"{base}/memory", {"text": mark, "pinned": True}),
        "assembly": context["report"]["assembly"],
        "child": child,
        "checkpoint": checkpoint,
        "note": api.get(f"{base}/scratch/dead-ends").json()["items"][0]["id"],
        "intervention": api.get(f"{base}/interventions").json()["items"][0]["id"],
        "job": job.pk,
    }


def _money_of(api: Api, mark: str, ids: Mapping[str, str]) -> dict[str, str]:
    """A second session that has spent its cap and waits for an answer."""
    hold = _made(api, f"/sessions/{ids['session']}/holds", {"estimate": {"cost_usd": "0.01"}})
    spender = _made(api, "/sessions", {"model": ids["model"], "task": mark})
    cap = _made(api, "/caps", {"scope": "session", "scope_id": spender, "limit_usd": "0.05"})
    spent = _made(api, f"/sessions/{spender}/holds", {"estimate": {"cost_usd": "0.04"}})
    _done(api, "POST", f"/holds/{spent}/settle", {"cost_usd": "0.04"})
    refused = api.post(f"/sessions/{spender}/holds", {"estimate": {"cost_usd": "0.03"}})
    return {"hold": hold, "cap": cap, "approval": refused.json()["approval"]}


def _events(mark: str) -> list[Body]:
    return [
        {"event_id": "e1", "type": "message", "message": {"role": "user", "content": mark}},
        {"event_id": "e2", "type": "message", "message": {"role": "assistant", "content": f"{mark} done"}},
        {"event_id": "e3", "type": "usage", "usage": {"input_tokens": 100, "output_tokens": 10}},
        {"event_id": "e4", "type": "phase", "phase": mark},
    ]


def _done(api: Api, method: str, path: str, body: Body | None = None) -> None:
    answer = api.request(method, path, body)
    assert answer.status_code < 300, (path, answer.content)


def _made(api: Api, path: str, body: Body) -> str:
    answer = api.post(path, body)
    assert answer.status_code == 201, (path, answer.content)
    return str(answer.json().get("id", ""))


PROFILE = {"ref": "profile"}
BY_NAME = {"ref": "profile_name"}
SESSION = {"session_id": "session"}
EXTERNAL = {"session_id": "external"}
MODEL = {"model": "model"}
POLICY = {"sections": [{"name": "memory", "size": {"share_bp": 5000}}]}
EVENTS = {"events": [{"event_id": "walk", "type": "note", "text": "n"}]}
HOOK = "https://1.1.1.1/hook"
COST = {"estimate": {"cost_usd": "0.001"}}

# Several rows for one operation where an id can be said in several ways.
VISITS: dict[str, tuple[Visit, ...]] = {
    "POST /budgets/calculate": (
        Visit(body_ids=MODEL, body={}),
        Visit(body_ids={"profile": "profile"}, body={"total": 10}),
        Visit(body_ids={"profile": "profile_name"}, body={"total": 10}),
    ),
    "POST /budgets/adjust": (Visit(body={"budget": {"total": 1}, "new_total": 2}),),
    "POST /budgets/available": (Visit(body={"budget": {"total": 1}, "used": {}}),),
    "POST /budgets/compare": (
        Visit(body_ids={"profile": "profile"}, body={"models": ["gpt-4"]}),
        Visit(body_ids={"models": "model"}, body={}),
    ),
    "POST /tokens/count": (Visit(body_ids=MODEL, body={"text": "a"}),),
    "GET /profiles": (Visit(),),
    "POST /profiles": (
        Visit(body={"name": "walked"}),
        Visit(body_ids={"copy_of": "profile"}, body={"name": "walked"}),
        Visit(body_ids={"copy_of": "profile_name"}, body={"name": "walked"}),
    ),
    "GET /profiles/presets": (Visit(),),
    "GET /profiles/{ref}": (Visit(path=PROFILE), Visit(path=BY_NAME)),
    "PATCH /profiles/{ref}": (
        Visit(path=PROFILE, body={"title": "t"}),
        Visit(path=BY_NAME, body={"title": "t"}),
    ),
    "GET /profiles/{ref}/revisions": (Visit(path=PROFILE), Visit(path=BY_NAME)),
    "POST /profiles/{ref}/revisions": (Visit(path=PROFILE, body={"policy": POLICY}),),
    "POST /profiles/{ref}/publish": (Visit(path=PROFILE, body={"revision": 1}),),
    "POST /profiles/{ref}/rollback": (Visit(path=PROFILE),),
    "POST /profiles/{ref}/preview": (Visit(path=PROFILE), Visit(path=BY_NAME)),
    "GET /models": (Visit(), Visit(query={"name": "model"}), Visit(query={"q": "model"})),
    "POST /models/override": (Visit(body={"name": "walked", "context_window": 5}),),
    "POST /models/alias": (Visit(body_ids={"alias_of": "model"}, body={"name": "walked"}),),
    "GET /models/prices": (Visit(), Visit(query={"name": "model"})),
    "POST /models/prices": (
        Visit(body={"name": "walked", "input_usd_per_mtok": "1", "output_usd_per_mtok": "1"}),
    ),
    "GET /caps": (Visit(),),
    "POST /caps": (
        Visit(body={"scope": "project", "limit_usd": "1", "period": "week"}),
        Visit(body_ids={"scope_id": "session"}, body={"scope": "session", "limit_usd": "1"}),
    ),
    "GET /caps/{cap_id}": (Visit(path={"cap_id": "cap"}),),
    "PATCH /caps/{cap_id}": (Visit(path={"cap_id": "cap"}, body={"limit_usd": "7"}),),
    "DELETE /caps/{cap_id}": (Visit(path={"cap_id": "cap"}),),
    "POST /caps/{cap_id}/raise": (Visit(path={"cap_id": "cap"}, body={"amount_usd": "7"}),),
    "GET /webhooks": (Visit(),),
    "POST /webhooks": (Visit(body={"url": HOOK}),),
    "GET /webhooks/{webhook_id}": (Visit(path={"webhook_id": "webhook"}),),
    "PATCH /webhooks/{webhook_id}": (Visit(path={"webhook_id": "webhook"}, body={"active": False}),),
    "DELETE /webhooks/{webhook_id}": (Visit(path={"webhook_id": "webhook"}),),
    "POST /webhooks/{webhook_id}/test": (Visit(path={"webhook_id": "webhook"}),),
    "GET /webhooks/{webhook_id}/deliveries": (Visit(path={"webhook_id": "webhook"}),),
    "GET /usage": (Visit(), Visit(query={"session": "session"}), Visit(query={"model": "model"})),
    "GET /usage/summary": (Visit(), Visit(query={"model": "model"}), Visit(query={"profile": "profile"})),
    "GET /analytics/usage": (Visit(), Visit(query={"model": "model"}), Visit(query={"profile": "profile"})),
    "GET /analytics/models": (Visit(), Visit(query={"profile": "profile"})),
    "GET /analytics/sections": (
        Visit(),
        Visit(query={"model": "model"}),
        Visit(query={"profile": "profile"}),
    ),
    "GET /analytics/over-budget": (Visit(), Visit(query={"model": "model"})),
    "GET /analytics/compaction": (Visit(),),
    "GET /analytics/forecast": (Visit(),),
    "GET /sessions": (Visit(), Visit(query={"parent": "session"}), Visit(query={"model": "model"})),
    "POST /sessions": (
        Visit(body={"model": "gpt-4"}),
        Visit(body_ids={"parent": "session"}, body={"model": "gpt-4"}),
        Visit(body_ids={"profile": "profile"}, body={"model": "gpt-4"}),
        Visit(body_ids={"profile": "profile_name"}, body={"model": "gpt-4"}),
    ),
    "GET /sessions/{session_id}": (Visit(path=SESSION), Visit(path=EXTERNAL)),
    "PATCH /sessions/{session_id}": (
        Visit(path=SESSION, body={"task": "t"}),
        Visit(path=SESSION, body_ids={"profile": "profile"}, body={}),
    ),
    "GET /sessions/{session_id}/budget": (Visit(path=SESSION), Visit(path=EXTERNAL)),
    "PUT /sessions/{session_id}/sections/{name}": (
        Visit(path={**SESSION, "name": "=working_state"}, body={"content": "t"}),
    ),
    "POST /sessions/{session_id}/pressure/clear": (Visit(path=SESSION, body={"flags": ["warning"]}),),
    "GET /sessions/{session_id}/messages": (Visit(path=SESSION), Visit(path=EXTERNAL)),
    "POST /sessions/{session_id}/events": (
        Visit(path=SESSION, body=EVENTS),
        Visit(path=EXTERNAL, body=EVENTS),
    ),
    "POST /sessions/{session_id}/context": (Visit(path=SESSION, body={}), Visit(path=EXTERNAL, body={})),
    "GET /sessions/{session_id}/assemblies": (Visit(path=SESSION),),
    "GET /sessions/{session_id}/assemblies/{number}": (Visit(path={**SESSION, "number": "assembly"}),),
    "GET /sessions/{session_id}/signals": (Visit(path=SESSION),),
    "GET /sessions/{session_id}/interventions": (Visit(path=SESSION),),
    "POST /sessions/{session_id}/interventions/{number}/ack": (
        Visit(path={**SESSION, "number": "intervention"}),
    ),
    "GET /sessions/{session_id}/memory": (Visit(path=SESSION),),
    "POST /sessions/{session_id}/memory": (Visit(path=SESSION, body={"text": "t"}),),
    "PATCH /sessions/{session_id}/memory/{entry_id}": (
        Visit(path={**SESSION, "entry_id": "memory"}, body={"priority": 1}),
    ),
    "DELETE /sessions/{session_id}/memory/{entry_id}": (Visit(path={**SESSION, "entry_id": "memory"}),),
    "POST /sessions/{session_id}/compact": (Visit(path=SESSION), Visit(path=SESSION, body={"dry_run": True})),
    "GET /sessions/{session_id}/checkpoints": (Visit(path=SESSION),),
    "POST /sessions/{session_id}/checkpoints": (Visit(path=SESSION, body={}),),
    "GET /sessions/{session_id}/checkpoints/{number}": (Visit(path={**SESSION, "number": "checkpoint"}),),
    "GET /sessions/{session_id}/checkpoints/{number}/diff": (
        Visit(path={**SESSION, "number": "checkpoint"}, query={"against": "checkpoint"}),
    ),
    "POST /sessions/{session_id}/checkpoints/{number}/restore": (
        Visit(path={**SESSION, "number": "checkpoint"}, body={}),
        Visit(path={**SESSION, "number": "checkpoint"}, body={"mode": "fork"}),
    ),
    "GET /sessions/{session_id}/scratch": (Visit(path=SESSION),),
    "GET /sessions/{session_id}/scratch/dead-ends": (Visit(path=SESSION),),
    "GET /sessions/{session_id}/scratch/state-changes": (Visit(path=SESSION),),
    "GET /sessions/{session_id}/scratch/{document}": (Visit(path={**SESSION, "document": "=human-input"}),),
    "POST /sessions/{session_id}/scratch/dead-ends": (Visit(path=SESSION, body={"description": "t"}),),
    "POST /sessions/{session_id}/scratch/dead-ends/{note_id}/dismiss": (
        Visit(path={**SESSION, "note_id": "note"}),
    ),
    "POST /sessions/{session_id}/scratch/state-changes": (Visit(path=SESSION, body={"new": "t"}),),
    "GET /protocols": (Visit(),),
    "POST /protocols": (Visit(body={"name": "walked", "text": "t"}),),
    "POST /sessions/{session_id}/protocols/{name}/load": (Visit(path={**SESSION, "name": "protocol"}),),
    "POST /sessions/{session_id}/protocols/{name}/unload": (Visit(path={**SESSION, "name": "protocol"}),),
    "POST /sessions/{session_id}/children": (
        Visit(path=SESSION, body={"task": "t"}),
        Visit(path=SESSION, body_ids={"profile": "profile"}, body={"task": "t"}),
    ),
    "POST /sessions/{session_id}/result": (Visit(path={"session_id": "child"}, body={"result": {}}),),
    "POST /sessions/{session_id}/holds": (Visit(path=SESSION, body=COST), Visit(path=EXTERNAL, body=COST)),
    "GET /holds/{hold_id}": (Visit(path={"hold_id": "hold"}),),
    "POST /holds/{hold_id}/settle": (Visit(path={"hold_id": "hold"}, body={"cost_usd": "0.001"}),),
    "POST /holds/{hold_id}/void": (Visit(path={"hold_id": "hold"}),),
    "POST /holds/{hold_id}/extend": (Visit(path={"hold_id": "hold"}),),
    "GET /approvals": (Visit(), Visit(approver=True)),
    "GET /approvals/{approval_id}": (
        Visit(path={"approval_id": "approval"}),
        Visit(path={"approval_id": "approval"}, approver=True),
    ),
    "POST /approvals/{approval_id}/approve": (
        Visit(path={"approval_id": "approval"}, body={"amount_usd": "1"}, approver=True),
    ),
    "POST /approvals/{approval_id}/decline": (Visit(path={"approval_id": "approval"}, approver=True),),
    "GET /jobs": (Visit(),),
    "GET /jobs/{job_id}": (Visit(path={"job_id": "job"}),),
    "POST /jobs/{job_id}/retry": (Visit(path={"job_id": "job"}),),
    "POST /jobs/{job_id}/cancel": (Visit(path={"job_id": "job"}),),
    # Last: nothing is left to visit in what it erases.
    "POST /sessions/{session_id}/erase": (Visit(path=SESSION),),
}


def operations() -> list[str]:
    paths = Api().get("/openapi.json").json()["paths"]
    return [
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, methods in paths.items()
        for method in methods
    ]


def visits() -> Iterator[tuple[str, Visit]]:
    for operation, rows in VISITS.items():
        for visit in rows:
            yield operation, visit


def call(tenant: Tenant, operation: str, visit: Visit, ids: Mapping[str, str]) -> Answer:
    method, path = operation.split()
    for name, slot in visit.path.items():
        path = path.replace(f"{{{name}}}", _value(ids, slot))
    query = "&".join(f"{name}={_value(ids, slot)}" for name, slot in visit.query.items())
    body = visit.body
    if visit.body_ids:
        said = {name: _value(ids, slot) for name, slot in visit.body_ids.items()}
        body = {**(visit.body or {}), **{n: [v] if n == "models" else v for n, v in said.items()}}
    caller = tenant.approver if visit.approver else tenant.api
    return caller.request(method, f"{path}?{query}" if query else path, body, headers=visit.headers)


def controls(tenant: Tenant) -> list[str]:
    """Visits that do not even find what is the tenant's own: they would prove nothing."""
    lost = []
    for operation, visit in visits():
        with transaction.atomic():
            answer = call(tenant, operation, visit, tenant.ids)
            transaction.set_rollback(True)
        if answer.status_code not in FOUND:
            lost.append(f"{operation}: {answer.status_code} {answer.content[:200]!r}")
    return lost


def trespasses(tenant: Tenant, other: Tenant) -> Iterator[str]:
    """Every way in which the tenant, with its own keys, meets something of the other's."""
    for operation, visit in visits():
        with transaction.atomic():
            shown = call(tenant, operation, visit, tenant.ids).content.decode()
            transaction.set_rollback(True)
        if other.mark in shown:
            yield f"{operation} shows {other.mark}"
        for slot in sorted(slot for slot in visit.slots() if not slot.startswith("=")):
            theirs = _seen(tenant, operation, visit, slot, other.ids[slot])
            nobodys = _seen(tenant, operation, visit, slot, _nobodys(other.ids[slot]))
            if theirs != nobodys:
                yield f"{operation} tells {slot} apart: {theirs[:300]} / {nobodys[:300]}"
            if other.mark in theirs:
                yield f"{operation} with {slot} shows {other.mark}"


def portrait(tenant: Tenant) -> dict[str, Any]:
    """Everything that the tenant can read of its own."""
    return {
        f"{operation} {sorted(visit.path.items())}": call(tenant, operation, visit, tenant.ids).json()
        for operation, visit in visits()
        if operation.startswith("GET")
    }


def _seen(tenant: Tenant, operation: str, visit: Visit, slot: str, value: str) -> str:
    with transaction.atomic():
        answer = call(tenant, operation, visit, {**tenant.ids, slot: value})
        text = answer.content.decode()
        if answer.status_code < 300:
            # What it made of its own has new ids and times each time.
            transaction.set_rollback(True)
            text = _without_novelties(text)
    text = re.sub(r'"request_id": ?"[^"]*"', "", text)
    return f"{answer.status_code} {text.replace(json.dumps(value)[1:-1], '<id>')}"


def _without_novelties(text: str) -> str:
    text = re.sub(r"[a-z]{2,6}_[0-9A-Z]{22}", "<new>", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "<time>", text)


def _nobodys(value: str) -> str:
    """An id or name of the same shape that nobody has."""
    prefix, underscore, rest = value.partition("_")
    if underscore and len(rest) == 22:
        return new_id(prefix)
    letters = "".join(secrets.choice(string.ascii_lowercase) for _ in range(12))
    return f"ext:{letters}" if value.startswith("ext:") else letters


def _value(ids: Mapping[str, str], slot: str) -> str:
    """A slot that begins with = is a plain word, the same for everybody."""
    return slot[1:] if slot.startswith("=") else ids[slot]
