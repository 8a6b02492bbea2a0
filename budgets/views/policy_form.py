"""A policy as a form: fields by JSON pointer, so that problems stand beside the field that caused them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from budgets.core.policy import Policy, parse_policy, problems
from budgets.core.policy_schema import ACTIONS, BASES, FILLS, SIGNALS
from budgets.views.policy_text import read_policy

Document = dict[str, Any]
SIZES = ("share_bp", "fixed_tokens", "words", "measured", "rest")
_SECTION_NUMBERS = ("min_tokens", "max_tokens", "priority")
_SWITCHES = ("lends", "borrows")
_THRESHOLD_NUMBERS = ("at_bp", "at_tokens", "clear_bp", "clear_tokens", "cooldown_s")
_WINDOW_NUMBERS = ("safety_bp", "fallback_tokens")
_RESERVE_NUMBERS = ("ratio_bp", "minimum_tokens")
_COMPACTION_NUMBERS = ("target_bp", "memory_share_bp", "minimum_progress_bp")
CHOICES = {"fills": FILLS, "actions": ACTIONS, "bases": BASES, "signals": SIGNALS, "sizes": SIZES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What was typed: the document, what is wrong with it by pointer, and the policy when nothing is."""

    document: Document
    problems: Mapping[str, str]
    policy: Policy | None

    @property
    def share_sum_bp(self) -> int:
        sizes = [section.get("size", {}) for section in self.document.get("sections", [])]
        return sum(size["share_bp"] for size in sizes if isinstance(size.get("share_bp"), int))

    @property
    def unplaced(self) -> list[str]:
        """Problems of fields that the form does not show."""
        return [f"{pointer or 'the policy'}: {detail}" for pointer, detail in self.problems.items()]


def draft_of(document: Document) -> Draft:
    found = problems(document)
    return Draft(
        document=document,
        problems={problem.pointer: problem.detail for problem in found},
        policy=None if found else parse_policy(document),
    )


def read_form(base: Document, fields: Mapping[str, str]) -> Draft:
    """The document `base` with what the form says; a whole document that was pasted wins over the fields."""
    pasted = fields.get("policy", "").strip()
    if pasted:
        return _pasted(base, pasted)
    document = copy.deepcopy(base)
    for index, section in enumerate(document.get("sections", [])):
        _read_section(section, f"sections.{index}", fields)
    for index, threshold in enumerate(document.get("thresholds", [])):
        _read_threshold(threshold, f"thresholds.{index}", fields)
    window = document.setdefault("window", {})
    _read_numbers(window, "window", _WINDOW_NUMBERS, fields)
    _read_numbers(window.setdefault("output_reserve", {}), "reserve", _RESERVE_NUMBERS, fields)
    compaction = document.setdefault("compaction", {})
    _read_numbers(compaction, "compaction", _COMPACTION_NUMBERS, fields)
    if fields.get("compaction.mode"):
        compaction["mode"] = fields["compaction.mode"]
    return draft_of(document)


def _pasted(base: Document, text: str) -> Draft:
    try:
        draft = draft_of(read_policy(text))
    except ValueError as error:
        return Draft(document=base, problems={"": str(error)}, policy=None)
    return draft if _fits_the_form(draft.document) else replace(draft, document=base)


def _fits_the_form(document: Document) -> bool:
    """Whether there are rows to show; what is wrong inside them stands beside their fields."""
    rows = [document.get("sections", []), document.get("thresholds", [])]
    if not all(isinstance(found, list) and all(isinstance(row, dict) for row in found) for found in rows):
        return False
    parts = [section.get("size", {}) for section in rows[0]]
    parts += [document.get(name, {}) for name in ("window", "compaction")]
    return all(isinstance(part, dict) for part in parts)


def _read_section(section: Document, prefix: str, fields: Mapping[str, str]) -> None:
    if f"{prefix}.size" in fields:
        kind = fields[f"{prefix}.size"]
        amount = number(fields.get(f"{prefix}.amount", ""))
        section["size"] = {kind: True if kind in ("measured", "rest") else amount}
    _read_numbers(section, prefix, _SECTION_NUMBERS, fields)
    if f"{prefix}.fill" in fields:
        if fields[f"{prefix}.fill"] != section.get("fill"):
            section["options"] = {}
        section["fill"] = fields[f"{prefix}.fill"]
        # Unticked boxes are not sent: the fill's presence says that this row was in the form.
        for name in _SWITCHES:
            section[name] = f"{prefix}.{name}" in fields
    if section.get("max_tokens") == "":
        section["max_tokens"] = None


def _read_threshold(threshold: Document, prefix: str, fields: Mapping[str, str]) -> None:
    _read_numbers(threshold, prefix, _THRESHOLD_NUMBERS, fields)
    if f"{prefix}.action" in fields:
        threshold["action"] = fields[f"{prefix}.action"]
        threshold["debug_only"] = f"{prefix}.debug_only" in fields
    for name in ("clear_bp", "clear_tokens"):
        if threshold.get(name) == "":
            threshold[name] = None


def _read_numbers(target: Document, prefix: str, names: tuple[str, ...], fields: Mapping[str, str]) -> None:
    for name in names:
        if f"{prefix}.{name}" in fields:
            target[name] = number(fields[f"{prefix}.{name}"])


def number(text: str) -> int | str:
    """A whole number, or the text itself, which the policy's own check then refuses with a reason."""
    plain = text.strip().replace(",", "")
    digits = plain.removeprefix("-")
    return int(plain) if digits.isascii() and digits.isdigit() and len(digits) < 16 else plain


def changes(old: Any, new: Any, pointer: str = "") -> list[tuple[str, Any, Any]]:
    """Every field that differs, by pointer; rows of sections are told apart by name."""
    if isinstance(old, dict) and isinstance(new, dict):
        found: list[tuple[str, Any, Any]] = []
        for key in dict.fromkeys([*old, *new]):
            found += changes(old.get(key), new.get(key), f"{pointer}/{key}")
        return found
    if isinstance(old, list) and isinstance(new, list):
        return changes(_by_name(old), _by_name(new), pointer)
    return [] if old == new else [(pointer, old, new)]


def _by_name(rows: list[Any]) -> dict[str, Any]:
    return {
        str(row.get("name", row.get("flag", place)) if isinstance(row, dict) else place): row
        for place, row in enumerate(rows)
    }
