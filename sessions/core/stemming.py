"""Porter's stemmer for English (1980), the steps that concern inflection and the commonest derivations."""

import re
from functools import lru_cache

_VOWEL = "(?:[aeiou]|(?<=[^aeiou])y)"
_HAS_VOWEL = re.compile(_VOWEL)
_MEASURE = re.compile(rf"{_VOWEL}+[^aeiouy]+|{_VOWEL}+y(?=[aeiou])")
_SHORT_END = re.compile(r"[^aeiou][aeiouy][^aeiouwxy]\Z")
_DOUBLED = re.compile(r"([bdfgmnprt])\1\Z")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Plural, past and participle endings and a final e or y: baking, baked and bakes are bake's."""
    if len(word) < 4:
        return word
    return _final(_participle(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _participle(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("edly", "ingly", "ed", "ing", "ly"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) > 2 and _HAS_VOWEL.search(root):
            return root if ending == "ly" else _completed(root)
    return word


def _completed(root: str) -> str:
    """What an ending had swallowed or doubled: hop(p)ing, hop(e)ing."""
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if _DOUBLED.search(root):
        return root[:-1]
    if _SHORT_END.search(root) and len(_MEASURE.findall(root)) == 1:
        return root + "e"
    return root


def _final(word: str) -> str:
    """A final y becomes i and a silent e goes, so that happy meets happily and create meets creation's."""
    if word.endswith("e") and len(word) > 4:
        return word[:-1]
    return word
