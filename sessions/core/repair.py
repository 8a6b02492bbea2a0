"""Makes a history valid for every provider: results follow calls, every call is answered, ids are unique."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sessions.core.message import Body, StoredMessage

MISSING_RESULT = "[no result in this context]"
ORPHAN_RESULT = "[tool result without its call]"
# OpenAI takes ids of up to 40 characters; a repeated one gets its sequence number behind it.
KEPT_ID_CHARACTERS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    kind: str
    call_id: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """`changed` are the sequence numbers with a new body; `open_from` is where open calls start."""

    messages: tuple[StoredMessage, ...]
    changed: frozenset[int]
    repairs: tuple[Repair, ...]
    open_from: int | None


@dataclass(slots=True)
class _Group:
    """A message and the results of its calls; `waiting` maps the ids of open calls to those in the output."""

    lead: StoredMessage
    results: list[StoredMessage] = field(default_factory=list)
    waiting: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Mending:
    count_message: Callable[[Body], int]
    groups: list[_Group] = field(default_factory=list)
    calling: dict[str, _Group] = field(default_factory=dict)
    used_ids: set[str] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    repairs: list[Repair] = field(default_factory=list)

    def add(self, message: StoredMessage) -> None:
        if message.call_ids:
            self._add_call(message)
        elif message.result_id is not None:
            self._add_result(message, message.result_id)
        else:
            self.groups.append(_Group(message))

    def _add_call(self, message: StoredMessage) -> None:
        names = [self._unique(call_id, message.seq) for call_id in message.call_ids]
        if tuple(names) != message.call_ids:
            message = self._renamed(message, names)
        group = _Group(message)
        for old, new in zip(message.call_ids, names, strict=True):
            group.waiting.setdefault(old, []).append(new)
            self.calling[old] = group
        self.groups.append(group)

    def _unique(self, call_id: str, seq: int) -> str:
        name, attempt = call_id, 0
        while not name or name in self.used_ids:
            name = f"{call_id[:KEPT_ID_CHARACTERS] or 'call'}_{seq}" + (f"_{attempt}" if attempt else "")
            attempt += 1
        self.used_ids.add(name)
        return name

    def _renamed(self, message: StoredMessage, names: Sequence[str]) -> StoredMessage:
        fresh = iter(names)
        calls = [{**c, "id": next(fresh)} if isinstance(c, dict) else c for c in message.body["tool_calls"]]
        self._note("duplicate_call_id", message.call_ids[0], message.seq)
        return self._rewritten(message, {**message.body, "tool_calls": calls})

    def _add_result(self, message: StoredMessage, result_id: str) -> None:
        group = self.calling.get(result_id)
        if group is None or not group.waiting.get(result_id):
            self._note("result_without_call", result_id, message.seq)
            as_user = replace(message, role="user", result_id=None)
            self.groups.append(_Group(self._rewritten(as_user, _as_user(message.body))))
            return
        name = group.waiting[result_id].pop(0)
        if name != result_id:
            message = self._rewritten(message, {**message.body, "tool_call_id": name})
        group.results.append(message)

    def _note(self, kind: str, call_id: str, seq: int) -> None:
        self.repairs.append(Repair(kind=kind, call_id=call_id, seq=seq))

    def _rewritten(self, message: StoredMessage, body: Body) -> StoredMessage:
        self.changed.add(message.seq)
        return replace(message, body=body, tokens=self.count_message(body))

    def move_open_last(self, newest: StoredMessage) -> None:
        """A group that results still arrive for stands last, behind what was said meanwhile."""
        for index in range(len(self.groups) - 2, -1, -1):
            group = self.groups[index]
            if group.results and group.results[-1].seq == newest.seq:
                if any(group.waiting.values()):
                    self.groups.append(self.groups.pop(index))
                return

    def answer_missing(self) -> None:
        """Calls of the newest group are open: their results are still to come."""
        for group in self.groups[:-1]:
            for name in [name for names in group.waiting.values() for name in names] if group.waiting else ():
                body = {"role": "tool", "tool_call_id": name, "content": MISSING_RESULT}
                self._note("call_without_result", name, group.lead.seq)
                made = StoredMessage(seq=0, role="tool", tokens=self.count_message(body), words=0, body=body)
                group.results.append(made)


def repair(messages: Sequence[StoredMessage], count_message: Callable[[Body], int]) -> Repaired:
    if not any(message.call_ids or message.result_id is not None for message in messages):
        return Repaired(messages=tuple(messages), changed=frozenset(), repairs=(), open_from=None)
    mending = _Mending(count_message)
    for message in messages:
        mending.add(message)
    if messages and messages[-1].result_id is not None:
        mending.move_open_last(messages[-1])
    mending.answer_missing()
    ordered = tuple(m for group in mending.groups for m in (group.lead, *group.results))
    newest = mending.groups[-1] if mending.groups else None
    is_open = newest is not None and any(newest.waiting.values())
    return Repaired(
        messages=ordered,
        changed=frozenset(mending.changed),
        repairs=tuple(mending.repairs),
        open_from=len(ordered) - 1 - len(newest.results) if newest and is_open else None,
    )


def _as_user(body: Body) -> Body:
    content = body.get("content")
    if isinstance(content, list):
        return {"role": "user", "content": [{"type": "text", "text": ORPHAN_RESULT}, *content]}
    return {"role": "user", "content": f"{ORPHAN_RESULT}\n{content if isinstance(content, str) else ''}"}
