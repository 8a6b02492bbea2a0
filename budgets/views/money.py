"""Amounts as people type them, read exactly."""

from __future__ import annotations

from kernel.errors import FieldProblem, Invalid


def nano_from(text: str, *, field: str = "amount") -> int:
    """`5`, `0.50` or `$1,000`, in dollars."""
    return _scaled(text, places=9, field=field)


def pico_from(text: str, *, field: str) -> int:
    """Dollars per million tokens, which are micro-dollars per token."""
    return _scaled(text, places=6, field=field)


def _scaled(text: str, *, places: int, field: str) -> int:
    plain = text.strip().removeprefix("$").replace(",", "")
    whole, _, fraction = plain.partition(".")
    digits = whole + fraction
    if not digits or not digits.isascii() or not digits.isdigit() or len(whole) > 9 or len(fraction) > places:
        problem = FieldProblem(pointer=f"/{field}", detail="must be an amount in dollars, such as 5 or 0.50")
        raise Invalid(
            "Give an amount in dollars, such as 5 or 0.50.", code="invalid_amount", errors=(problem,)
        )
    return int((whole or "0") + fraction.ljust(places, "0"))
