"""Opaque, prefixed, time-ordered identifiers."""

from __future__ import annotations

import secrets
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O, U
_TIME_CHARACTERS = 11  # microseconds since 1970 fit until the year 3111
_RANDOM_CHARACTERS = 11  # 55 bits beside each microsecond


def new_id(prefix: str) -> str:
    """`prefix_` + 11 characters of time + 11 random ones: sorts by creation, cannot be guessed.

    Microseconds, because lists sort by id and one request follows another within a millisecond.
    """
    return f"{prefix}_{_encode(time.time_ns() // 1_000, _TIME_CHARACTERS)}{_random(_RANDOM_CHARACTERS)}"


def _encode(number: int, length: int) -> str:
    characters = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        characters.append(_ALPHABET[digit])
    return "".join(reversed(characters))


def _random(length: int) -> str:
    return _encode(secrets.randbits(5 * length), length)
