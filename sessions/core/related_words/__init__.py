"""How near two English stems are in meaning, by 256-bit codes that ship beside this module."""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from math import cos, pi
from pathlib import Path

CODE_BITS = 256
_CODE_BYTES = CODE_BITS // 8
# Below this cosine two words have nothing to do with each other; measured, the optimum is flat around it.
_UNRELATED_COSINE = 0.27


def _nearness(differing_bits: int) -> float:
    """From 0 (unrelated) to 1 (the same); the share of differing bits is the angle between the two words."""
    return max(0.0, (cos(pi * differing_bits / CODE_BITS) - _UNRELATED_COSINE) / (1 - _UNRELATED_COSINE))


_NEARNESS = [_nearness(bits) for bits in range(CODE_BITS + 1)]
_FARTHEST_BITS = max(bits for bits, nearness in enumerate(_NEARNESS) if nearness > 0)


def coded(terms: Iterable[str]) -> dict[str, int]:
    """The codes of those terms that are known."""
    codes = _codes()
    return {term: code for term in terms if (code := codes.get(term)) is not None}


def related_among(term: str, others: Mapping[str, int]) -> dict[str, float]:
    """Those of the coded terms that are related to this one, with their nearness; the term itself is not."""
    code = _codes().get(term)
    if code is None:
        return {}
    return {
        other: _NEARNESS[bits]
        for other, other_code in others.items()
        if (bits := (code ^ other_code).bit_count()) <= _FARTHEST_BITS and other != term
    }


@lru_cache(maxsize=4_096)
def closest(term: str, limit: int) -> tuple[str, ...]:
    """The most closely related stems of the whole vocabulary, nearest first."""
    near = related_among(term, _codes())
    return tuple(sorted(near, key=lambda other: (-near[other], other))[:limit])


@cache
def _codes() -> dict[str, int]:
    folder = Path(__file__).parent
    packed = (folder / "codes.bin").read_bytes()
    stems = (folder / "stems.txt").read_text(encoding="utf-8").split()
    return {
        stem: int.from_bytes(packed[start : start + _CODE_BYTES])
        for stem, start in zip(stems, range(0, len(packed), _CODE_BYTES), strict=True)
    }
