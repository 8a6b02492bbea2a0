"""What the pure calculations answer, for the OpenAPI document; a test holds the real answers to it."""

from __future__ import annotations

from typing import Literal

from ninja import Schema

TokensBySection = dict[str, int]


class WindowOut(Schema):
    context_window: int
    safe: int
    output_reserve: int
    max_input: int
    mode: str
    source: Literal["catalogue", "override", "fallback", "given"]


class BudgetOut(Schema):
    total: int
    sections: TokensBySection
    unallocated: int
    window: WindowOut | None
    scaffold_tokens: int
    duplicated_tokens: int
    shortfall: TokensBySection
    words: TokensBySection | None = None


class TableOut(Schema):
    total: int
    sections: TokensBySection
    unallocated: int


class AvailableOut(Schema):
    total: int
    sections: TokensBySection
    over: bool


class ComparedOut(Schema):
    """refusal says why a model has no budget under this profile; the other fields are then left out."""

    model: str
    source: Literal["catalogue", "override", "fallback"]
    refusal: str | None
    total: int | None = None
    sections: TokensBySection | None = None
    unallocated: int | None = None
    window: WindowOut | None = None


class ComparisonOut(Schema):
    profile: str
    models: list[ComparedOut]


class CountOut(Schema):
    model: str
    tokens: int
    low: int
    high: int
    source: Literal["counted", "calibrated", "estimated"]
    tokenizer: str
    parts: TokensBySection
    rules_version: int


class ProblemField(Schema):
    pointer: str
    detail: str


class ProblemOut(Schema):
    """application/problem+json"""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[ProblemField]
