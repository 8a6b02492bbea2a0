"""A light English stemmer after Porter (1980): inflections only, so that different words stay different."""

import re
from functools import lru_cache

from sessions.core.english import IRREGULAR_FORMS

_VOWEL = re.compile(r"[aeiou]|(?<=[^aeiou])y")
_SYLLABLE = re.compile(r"[aeiouy]+[^aeiouy]+")
_SHORT_END = re.compile(r"(?:\A|[^aeiou])[aeiouy][^aeiouwxy]\Z")
_DOUBLED = re.compile(r"([bdfgmnprt])\1\Z")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """One form for baking, baked and bakes, for went and goes, for child and children."""
    word = IRREGULAR_FORMS.get(word, word)
    if len(word) < 4:
        return word
    word = _without_ending(_singular(word))
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singular(word: str) -> str:
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_ending(word: str) -> str:
    if word.endswith("eed"):
        return word
    if word.endswith("ied"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    for ending, shortest in (("ed", 2), ("ing", 2), ("ly", 5)):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) >= shortest and _VOWEL.search(root):
            return root if ending == "ly" else _completed(root)
    return word


def _completed(root: str) -> str:
    """What the ending had swallowed or doubled: hop(p)ing, hop(e)ing."""
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if _DOUBLED.search(root):
        return root[:-1]
    if _SHORT_END.search(root) and len(_SYLLABLE.findall(root)) == 1:
        return root + "e"
    return root
