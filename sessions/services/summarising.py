"""Drafts a summary with the profile's summariser; the built-in one takes over where that fails."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings

from budgets.core.usage import TokenUsage
from budgets.services.models import ResolvedModel, resolve_model
from providers.summarisers import SummariserFailed, SummaryReply, summariser_for
from sessions.core.summary import summarise
from sessions.core.verification import Missing, looks_like_error_text, verify
from sessions.models import AgentSession
from sessions.services.frames import Frame
from sessions.services.summariser_input import SummariserInput, summariser_input
from sessions.services.summary_checks import Material, needed_lines, report
from sessions.services.summary_costs import Refused, hold_for_summary

BUILTIN = "builtin"
# Answers that another try may better; whoever cannot be reached has been tried often enough.
WORTH_ANOTHER_TRY = ("empty", "refusal", "truncated", "error_text", "delimiter_repeated", "too_long", "lost")
# Characters that show nothing: NUL, soft hyphen, zero-width ones, direction marks, byte order mark.
INVISIBLE = "".join(map(chr, (0, 0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060, 0xFEFF)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A summary that may be committed, and how it came about."""

    text: str
    source: str
    fallback_reason: str = ""
    checks: dict[str, Any] = field(default_factory=dict)
    spent: dict[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class _Tries:
    """What was asked of a model so far: the outcomes, and the tokens of all of them."""

    model: ResolvedModel
    usage: TokenUsage = field(default_factory=TokenUsage)
    outcomes: list[str] = field(default_factory=list)


class _Unusable(Exception):
    """An answer that must not be committed; `missing` is what it lost."""

    def __init__(self, reason: str, missing: list[Missing] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.missing = missing or []


def draft_summary(session: AgentSession, frame: Frame, material: Material) -> Draft:
    """Called outside any transaction: a model may take minutes to answer."""
    kind = frame.policy.compaction.summariser
    if kind == BUILTIN:
        return _builtin(frame, material)
    if not settings.SUMMARISER_MODEL:
        return _builtin(frame, material, fallback_reason="not_configured")
    model = resolve_model(project_id=session.project_id, name=settings.SUMMARISER_MODEL)
    asked = summariser_input(material, frame, model)
    hold = hold_for_summary(
        session, model, input_tokens=2 * asked.input_tokens, output_tokens=2 * asked.output_tokens
    )
    if isinstance(hold, Refused):
        return _builtin(frame, material, fallback_reason=hold.reason)
    tries = _Tries(model=model)
    text = _ask_twice(kind, frame, material, asked, tries)
    spent = {"model": model.name, "usage": asdict(tries.usage), "hold": hold}
    if text is None:
        return _builtin(
            frame, material, fallback_reason=tries.outcomes[-1], tries=tries.outcomes, spent=spent
        )
    checks = {**report(text, material.required), "tries": tries.outcomes}
    return Draft(text=text, source=model.name[:40], checks=checks, spent=spent)


def _builtin(
    frame: Frame,
    material: Material,
    *,
    fallback_reason: str = "",
    tries: list[str] | None = None,
    spent: dict[str, Any] | None = None,
) -> Draft:
    """Deterministic; what it would lose of the required is added in our own words, inside the same budget."""
    text = _summarised(frame, material, "")
    missing = verify(text, material.required)
    if missing:
        text = _summarised(frame, material, "\n".join(needed_lines(missing)))
    checks = report(text, material.required)
    if fallback_reason:
        checks |= {"fallback": fallback_reason, "tries": tries or []}
    return Draft(text=text, source=BUILTIN, fallback_reason=fallback_reason, checks=checks, spent=spent)


def _summarised(frame: Frame, material: Material, closing: str) -> str:
    count = frame.counter.count
    room = material.budget_tokens - (count(closing) + 1 if closing else 0)
    text = summarise(material.messages, material.previous, room, count)
    return f"{text}\n{closing}" if closing else text


def _ask_twice(
    kind: str, frame: Frame, material: Material, asked: SummariserInput, tries: _Tries
) -> str | None:
    """The summary, or None when neither of two tries gave one that may be committed."""
    focus = ""
    for _ in range(2):
        try:
            text = _asked(kind, frame, material, asked, tries, focus)
        except _Unusable as problem:
            tries.outcomes.append(problem.reason)
            if problem.reason not in WORTH_ANOTHER_TRY:
                return None
            focus = "\n".join(needed_lines(problem.missing))
        else:
            tries.outcomes.append("accepted")
            return text
    return None


def _asked(
    kind: str, frame: Frame, material: Material, asked: SummariserInput, tries: _Tries, focus: str
) -> str:
    try:
        summariser = summariser_for(
            kind,
            model=settings.SUMMARISER_MODEL,
            api_key=settings.SUMMARISER_API_KEY,
            base_url=settings.SUMMARISER_URL,
        )
        reply = summariser.summarise(asked.request(focus))
    except SummariserFailed as failure:
        tries.usage += failure.usage or TokenUsage()
        raise _Unusable(failure.reason) from None
    tries.usage += reply.usage or _counted(frame, asked, reply)
    return _judged(frame, material, f"{_header(material)}\n{plain_lines(reply.text)}")


def plain_lines(text: str) -> str:
    """One kind of line break and no invisible line starts: what looks like a heading is then found as one."""
    return "\n".join(line.lstrip(INVISIBLE) for line in text.splitlines())


def _header(material: Material) -> str:
    """Leads back to the originals, in the same words as the built-in summaries."""
    return f"Summary of messages {material.messages[0].seq}–{material.messages[-1].seq}."


def _judged(frame: Frame, material: Material, text: str) -> str:
    if looks_like_error_text(text.partition("\n")[2]):
        raise _Unusable("error_text")
    if frame.counter.count(text) > material.budget_tokens:
        raise _Unusable("too_long")
    missing = verify(text, material.required)
    if missing:
        raise _Unusable("lost", missing)
    return text


def _counted(frame: Frame, asked: SummariserInput, reply: SummaryReply) -> TokenUsage:
    """For servers that report no usage: what was sent and what came back, by our own counter."""
    return TokenUsage(input_tokens=asked.input_tokens, output_tokens=frame.counter.count(reply.text))
