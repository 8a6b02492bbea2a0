"""Why a policy document is refused: its shape first, then the rules that tie fields together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from budgets.core.basis_points import WHOLE_BP
from budgets.core.errors import Problem
from budgets.core.policy_fields import check
from budgets.core.policy_schema import NO_OPTIONS, OPTIONS, POLICY, STORY_OPTIONS, default_size

# A budget is a flat table of sections beside its total.
RESERVED_NAMES = ("total",)


def problems(document: object) -> list[Problem]:
    shape = list(check(document, POLICY, ""))
    if shape:
        return shape
    assert isinstance(document, Mapping)
    return [*_section_problems(document), *_threshold_problems(document)]


def _section_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    sections = document["sections"]
    unit = document.get("unit", "tokens")
    for index, section in enumerate(sections):
        pointer = f"/sections/{index}"
        yield from _size_problems(section, unit, pointer)
        yield from _limit_problems(section, pointer)
        yield from _fill_problems(section, pointer)
    yield from _name_problems(sections)
    yield from _sum_problems(sections, unit)


def _size_problems(section: Mapping[str, Any], unit: str, pointer: str) -> Iterator[Problem]:
    if "size" not in section:
        if default_size(section["name"], unit) is None:
            yield Problem(
                pointer=f"{pointer}/size", detail=f"has no default for {section['name']}: say how large it is"
            )
        return
    if "words" in section["size"] and unit != "words":
        yield Problem(
            pointer=f"{pointer}/size/words", detail=f"words need the unit words, this policy counts {unit}"
        )
    if section.get("duplication_bp", WHOLE_BP) != WHOLE_BP and "rest" not in section["size"]:
        yield Problem(
            pointer=f"{pointer}/duplication_bp",
            detail="only a section that takes the rest can be rendered twice",
        )


def _limit_problems(section: Mapping[str, Any], pointer: str) -> Iterator[Problem]:
    least, most = section.get("min_tokens", 0), section.get("max_tokens")
    if most is not None and most < least:
        yield Problem(pointer=f"{pointer}/max_tokens", detail=f"is below min_tokens ({least:,})")
    target = section.get("target_tokens")
    if target is not None and target[0] > target[1]:
        yield Problem(pointer=f"{pointer}/target_tokens", detail="must go from low to high")


def _fill_problems(section: Mapping[str, Any], pointer: str) -> Iterator[Problem]:
    fill = section.get("fill", "truncate")
    options = section.get("options", {})
    shape = list(check(options, OPTIONS.get(fill, NO_OPTIONS), f"{pointer}/options"))
    yield from shape
    if fill == "reserve" and section.get("lends", False):
        yield Problem(
            pointer=f"{pointer}/lends", detail="a reserve is kept for what the agent adds, it cannot be lent"
        )
    if fill != "head_middle_tail" or shape:
        return
    filled = {**STORY_OPTIONS, **options}
    parts = filled["start_bp"] + filled["middle_bp"] + filled["end_bp"]
    if parts > WHOLE_BP:
        yield Problem(
            pointer=f"{pointer}/options", detail=f"start, middle and end are {_percent(parts)} of the section"
        )
    for end in ("start", "end"):
        if filled[f"min_{end}"] > filled[f"cap_{end}"]:
            yield Problem(pointer=f"{pointer}/options/min_{end}", detail=f"is above cap_{end}")


def _name_problems(sections: list[Mapping[str, Any]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, section in enumerate(sections):
        name = section["name"]
        if name in RESERVED_NAMES:
            yield Problem(pointer=f"/sections/{index}/name", detail=f"{name} is a reserved name")
        if name in seen:
            yield Problem(pointer=f"/sections/{index}/name", detail=f"{name} stands here twice")
        seen.add(name)


def _sum_problems(sections: list[Mapping[str, Any]], unit: str) -> Iterator[Problem]:
    sizes = [section.get("size") or default_size(section["name"], unit) or {} for section in sections]
    shares = sum(size.get("share_bp", 0) for size in sizes)
    if shares > WHOLE_BP:
        yield Problem(
            pointer="/sections", detail=f"the shares sum to {_percent(shares)}, at most 100 % can be given"
        )
    rests = [index for index, size in enumerate(sizes) if "rest" in size]
    for index in rests[1:]:
        yield Problem(pointer=f"/sections/{index}/size/rest", detail="only one section can take the rest")


def _threshold_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    overhead = fixed_overhead(document)
    flags: set[str] = set()
    for index, threshold in enumerate(document.get("thresholds", ())):
        pointer = f"/thresholds/{index}"
        yield from _measure_problems(threshold, pointer)
        yield from _clear_problems(threshold, pointer)
        if threshold.get("at_tokens", overhead) < overhead:
            detail = f"is below the fixed overhead of {overhead:,} tokens (base load and fixed sections)"
            yield Problem(pointer=f"{pointer}/at_tokens", detail=detail)
        if threshold["flag"] in flags:
            yield Problem(pointer=f"{pointer}/flag", detail=f"{threshold['flag']} stands here twice")
        flags.add(threshold["flag"])


def fixed_overhead(document: Mapping[str, Any]) -> int:
    """What is in every context before anybody speaks: base load and fixed sections."""
    fixed: int = sum(section.get("size", {}).get("fixed_tokens", 0) for section in document["sections"])
    base_load: int = document.get("base_load_tokens", 0)
    return base_load + fixed


def _measure_problems(threshold: Mapping[str, Any], pointer: str) -> Iterator[Problem]:
    given = [key for key in ("at_bp", "at_tokens") if key in threshold]
    if len(given) != 1:
        yield Problem(pointer=pointer, detail="must have exactly one of at_bp, at_tokens")
        return
    absolute = given == ["at_tokens"]
    basis = threshold.get("basis")
    if basis is not None and (basis == "tokens") != absolute:
        wanted = "at_tokens" if basis == "tokens" else "at_bp"
        yield Problem(pointer=f"{pointer}/basis", detail=f"{basis} needs {wanted}")


def _clear_problems(threshold: Mapping[str, Any], pointer: str) -> Iterator[Problem]:
    for unit in ("bp", "tokens"):
        clear, at = threshold.get(f"clear_{unit}"), threshold.get(f"at_{unit}")
        if clear is None:
            continue
        if at is None:
            yield Problem(pointer=f"{pointer}/clear_{unit}", detail=f"needs at_{unit}")
        elif clear > at:
            yield Problem(pointer=f"{pointer}/clear_{unit}", detail=f"is above the level it clears ({at:,})")


def _percent(share_bp: int) -> str:
    return f"{share_bp // 100}.{share_bp % 100:02d} %"
