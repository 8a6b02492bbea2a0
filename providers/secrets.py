"""Finds and masks what must not be shown or sent on: keys of known formats, e-mail addresses, card numbers.

Every pattern is linear in the text: it starts at a literal and gives up after a bounded number of characters,
or it can start only once in a run of its characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Where something was found and of what kind; never the thing itself."""

    kind: str
    start: int
    end: int


KEY = r"[A-Za-z0-9_-]"
# As it is, inside JSON (also JSON within JSON), or inside HTML.
QUOTE = r"(?:\\{0,16}[\"']|&quot;|&#x27;|&#39;|&#34;)?"
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("aws_access_key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        (
            "aws_secret_key",
            rf"(?i:aws_?secret_?(?:access_?)?key){QUOTE}[ \t]{{0,4}}[=:]"
            rf"[ \t]{{0,4}}{QUOTE}[A-Za-z0-9/+]{{40}}",
        ),
        ("github_token", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
        ("github_token", r"github_pat_[A-Za-z0-9_]{22,255}"),
        ("gitlab_token", rf"glpat-{KEY}{{20,255}}"),
        # A digit among its first sixty characters: names such as sk-learn-… have none.
        ("api_key", rf"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{{0,60}}[0-9]){KEY}{{20,}}"),
        ("stripe_key", r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
        ("slack_token", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}"),
        ("slack_token", r"xapp-[0-9]-[A-Za-z0-9-]{10,255}"),
        ("slack_webhook", r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,255}"),
        ("google_key", rf"AIza{KEY}{{35}}"),
        ("google_key", rf"GOCSPX-{KEY}{{20,255}}"),
        ("google_key", r"ya29\.[A-Za-z0-9_-]{20,}"),
        ("huggingface_token", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,255}"),
        ("npm_token", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}"),
        ("pypi_token", rf"pypi-AgE{KEY}{{50,}}"),
        ("ctxbudget_key", rf"ctxb_{KEY}{{12,255}}"),
        ("jwt", rf"(?<!{KEY})eyJ{KEY}{{8,}}\.{KEY}{{8,}}\.{KEY}{{8,}}"),
        ("bearer_token", r"(?i:bearer)[ \t]{1,3}[A-Za-z0-9._~+/=-]{20,}"),
        ("url_password", r"(?<=://)[^\s:/@\"']{1,64}:[^\s:/@\"']{1,128}(?=@)"),
    )
)
EMAIL = re.compile(r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]++@[A-Za-z0-9.-]++")
CARD = re.compile(
    # Visa, Mastercard, Discover, JCB and UnionPay in fours; American Express 4-6-5; Diners 4-6-4.
    r"(?<![0-9])(?=((?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|6[0-9]{3}|35[0-9]{2})(?:[ -]?[0-9]{4}){3}"
    r"|3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}|3[0689][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{4})(?![0-9]))"
)
KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_BODY = re.compile(r"[A-Za-z0-9+/=\s\\]*+")
# The digits of a card number as bytes, every second one doubled and its own digits added.
DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
PLAIN = bytes.maketrans(b"0123456789", bytes(range(10)))


def mask_secrets(text: str) -> tuple[str, tuple[Finding, ...]]:
    """The text with every find replaced by its kind, and the finds; their places are those in `text`."""
    findings = _without_overlaps(sorted(_found(text), key=lambda found: (found.start, -found.end)))
    pieces: list[str] = []
    at = 0
    for found in findings:
        pieces += (text[at : found.start], f"[masked {found.kind}]")
        at = found.end
    return "".join([*pieces, text[at:]]), tuple(findings)


def _without_overlaps(findings: list[Finding]) -> list[Finding]:
    """Of finds that overlap, one from the first's start to the last's end."""
    merged: list[Finding] = []
    for found in findings:
        if merged and found.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Finding(kind=last.kind, start=last.start, end=max(last.end, found.end))
        else:
            merged.append(found)
    return merged


def _found(text: str) -> Iterator[Finding]:
    yield from _private_keys(text)
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(text):
            yield Finding(kind=kind, start=match.start(), end=match.end())
    if "@" in text:
        yield from _emails(text)
    for match in CARD.finditer(text):
        if passes_luhn(match.group(1)):
            yield Finding(kind="card_number", start=match.start(1), end=match.end(1))


def _private_keys(text: str) -> Iterator[Finding]:
    """Whole blocks; one without an end reaches as far as its base64 does."""
    ends = [match.end() for match in KEY_END.finditer(text)]
    at = 0
    for begin in KEY_BEGIN.finditer(text):
        if begin.start() < at:
            continue
        position = bisect_left(ends, begin.end())
        body = KEY_BODY.match(text, begin.end())
        at = ends[position] if position < len(ends) else body.end() if body else begin.end()
        yield Finding(kind="private_key", start=begin.start(), end=at)


def _emails(text: str) -> Iterator[Finding]:
    for match in EMAIL.finditer(text):
        address = match.group().rstrip(".-")
        top_level = address.rpartition(".")[2]
        if "." in address.rpartition("@")[2] and 2 <= len(top_level) <= 24 and top_level.isalpha():
            yield Finding(kind="email", start=match.start(), end=match.start() + len(address))


def passes_luhn(number: str) -> bool:
    """The check digit of card numbers; separators do not count."""
    digits = number.encode().translate(None, b" -")
    return (sum(digits[::-2].translate(PLAIN)) + sum(digits[-2::-2].translate(DOUBLED))) % 10 == 0
