"""Filters and tags that every page of the console uses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString

from budgets.core.remedies import TROUBLES
from budgets.services.scopes import shown_scope_id
from ctxbudget_site.console import wording
from teams.pages import who_can

register = template.Library()

register.filter("tokens", wording.tokens)
register.filter("exact", wording.exact)
register.filter("signed", wording.signed)
register.filter("dollars", wording.dollars)
register.filter("bp", wording.basis_points)
register.filter("plain_name", wording.plain_name)
register.filter("percent_of", wording.percent)
register.filter("span", wording.span)

_LEVELS = {"normal": ("●", "ok"), "warning": ("▲", "warn"), "critical": ("■", "bad")}
_STATES = {
    "active": ("▶", "ok", "active"),
    "paused": ("‖", "warn", "paused"),
    "wrapping_up": ("◐", "warn", "wrapping up"),
    "exhausted": ("■", "bad", "exhausted"),
    "ended": ("✓", "calm", "ended"),
    "erased": ("∅", "calm", "erased"),
    "queued": ("…", "calm", "queued"),
    "running": ("▶", "info", "running"),
    "done": ("✓", "ok", "done"),
    "dead": ("✕", "bad", "failed"),
    "cancelled": ("∅", "calm", "cancelled"),
    "pending": ("?", "warn", "waiting"),
    "waiting": ("…", "calm", "on its way"),
    "delivered": ("✓", "ok", "delivered"),
    "failed": ("✕", "bad", "failed"),
    "approved": ("✓", "ok", "approved"),
    "declined": ("✕", "bad", "declined"),
}


_MOMENTS: dict[str, Callable[[datetime], str]] = {
    "exact": lambda value: f"{value:%Y-%m-%d %H:%M} UTC",
    "clock": lambda value: f"{value:%H:%M} UTC",
    "span": lambda value: wording.span(datetime.now(UTC) - value),
}


@register.simple_tag
def moment(value: datetime | None, style: str = "since") -> SafeString:
    """UTC in the markup; the browser shows it in the viewer's own zone."""
    if value is None:
        return format_html('<span class="quiet">{}</span>', "never" if style == "since" else "—")
    text = _MOMENTS.get(style, wording.since)(value)
    stamp = value.isoformat().replace("+00:00", "Z")
    return format_html('<time datetime="{}" data-style="{}" title="{}">{}</time>', stamp, style, stamp, text)


@register.simple_tag
def level_pill(level: str, of: str = "") -> SafeString:
    sign, tone = _LEVELS.get(level, ("●", "calm"))
    shown = f"{of} {level}" if of else level
    return format_html(
        '<span class="pill {}"><span aria-hidden="true">{}</span> {}</span>', tone, sign, shown
    )


@register.simple_tag
def state_pill(state: str, reason: str = "") -> SafeString:
    sign, tone, words = _STATES.get(state, ("●", "calm", state))
    shown = f"{words}: {reason}" if reason else words
    return format_html(
        '<span class="pill {}"><span aria-hidden="true">{}</span> {}</span>', tone, sign, shown
    )


@register.simple_tag
def source_mark(source: str) -> SafeString:
    """Where a token number comes from; said beside every one."""
    meanings = {
        "reported": "the provider said so",
        "counted": "counted with the model's own tokenizer",
        "calibrated": "counted, then corrected by what this provider reported before",
        "estimated": "estimated: this model's tokenizer is not public",
        "stale": "reported before the last change",
        "catalogue": "from the shipped catalogue",
        "override": "set by hand for this project",
        "fallback": "unknown model: the profile's fallback window",
    }
    return format_html('<span class="source" title="{}">{}</span>', meanings.get(source, source), source)


@register.filter
def who_may(ability: str) -> str:
    return who_can(ability)


@register.filter
def at(table: Any, key: str) -> Any:
    """A value of a table by a name that is itself a variable."""
    return table.get(key)


@register.filter
def per_million(pico: int | str | None) -> str:
    """Pico-USD per token as dollars per million tokens."""
    if not isinstance(pico, int):
        return "—"
    return f"{pico // 10**6}.{pico % 10**6:06d}".rstrip("0").ljust(len(str(pico // 10**6)) + 3, "0")


@register.filter
def turn_price(session: Any) -> int | None:
    """Nano-USD of a session's turn on average; None where a turn has no price or none was taken."""
    return session.spent_nano // session.turns if session.turns and not session.has_unpriced else None


@register.filter
def cap_name(row: Any) -> str:
    """A cap, or a question about one, as people call it."""
    return wording.cap_name(row.scope, shown_scope_id(row.scope, row.scope_id), row.period, row.limit_nano)


@register.filter
def turns_for_a_dollar(turn_nano: int) -> int:
    return wording.NANO // turn_nano


@register.filter
def usd_text(text: str | None) -> str:
    """An exact decimal string, as people read money."""
    if text is None:
        return wording.NO_PRICE
    whole, _, fraction = text.partition(".")
    return wording.dollars(int(whole) * wording.NANO + int(fraction.ljust(9, "0") or "0"))


@register.filter
def ratio_text(ratio: float | None) -> str:
    return "—" if ratio is None else f"{ratio * 100:.0f} %"


@register.filter
def pointer_words(pointer: str) -> str:
    """/sections/goal/size/share_bp as Goal: size, share bp."""
    steps = [step.replace("_", " ") for step in pointer.strip("/").split("/")]
    named = steps[1:] if steps[0] in ("sections", "thresholds") and len(steps) > 1 else steps
    inner = ", ".join(named[1:])
    return wording.plain_name(named[0]) + (f": {inner}" if inner else "")


@register.filter
def share_text(amount: int | str) -> str:
    """Basis points as a percentage; what was typed and is no number is left to its problem."""
    return wording.basis_points(amount) if isinstance(amount, int) else ""


@register.filter
def threshold_prefix(index: int) -> str:
    return f"thresholds.{index}"


@register.filter
def size_name(kind: str) -> str:
    names = {"share_bp": "share, bp", "fixed_tokens": "tokens", "rest": "the rest"}
    return names.get(kind, kind)


@register.filter
def words(text: str) -> list[str]:
    return text.split()


@register.filter
def may(visitor: Any, ability: str) -> bool:
    return bool(visitor.may(ability))


@register.filter
def width_of(part: int, whole: int) -> str:
    """A percentage for SVG, 0 to 100, with one decimal."""
    tenths = min(1000, max(0, part) * 1000 // whole) if whole > 0 else 0
    return f"{tenths // 10}.{tenths % 10}"


@register.simple_tag(takes_context=True)
def with_query(context: dict[str, Any], **changes: Any) -> str:
    """The present address with some parameters changed; None removes one."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None and value != "":
            query[name] = value
    return f"?{query.urlencode()}" if query else "?"


@register.simple_tag
def chart_data(chart: dict[str, Any], number: int) -> SafeString:
    """A chart for the browser, as JSON in the page: no script of the page's own."""
    return json_script(chart, f"chart-{number}")


@register.inclusion_tag("console/remedies.html")
def remedies(slug: str) -> dict[str, Any]:
    """What helps against one of the four known troubles, said where it is met."""
    return {"trouble": next(trouble for trouble in TROUBLES if trouble.slug == slug)}


@register.inclusion_tag("console/gauge.html")
def gauge(part: int, whole: int, level: str = "", mark: int = 0) -> dict[str, Any]:
    tone = _LEVELS.get(level, ("", ""))[1]
    return {"part": part, "whole": whole, "tone": tone, "mark": mark}
