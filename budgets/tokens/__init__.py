"""Token counting without a network: counters, whole messages, cutting, and learning from reported usage."""

from budgets.tokens.calibration import Calibration, calibrate
from budgets.tokens.counters import (
    Counter,
    LineCounter,
    ScaledCounter,
    Source,
    VocabularyCounter,
    WordCounter,
    counter_for,
    cut_to_tokens,
    cut_to_words,
)
from budgets.tokens.errors import TokenError, UnknownTokenizer, VocabularyDamaged
from budgets.tokens.messages import message_tokens, reply_tokens, tools_tokens
from budgets.tokens.rules import RULES_VERSION
from budgets.tokens.vocabularies import load_vocabularies

__all__ = [
    "RULES_VERSION",
    "Calibration",
    "Counter",
    "LineCounter",
    "ScaledCounter",
    "Source",
    "TokenError",
    "UnknownTokenizer",
    "VocabularyCounter",
    "VocabularyDamaged",
    "WordCounter",
    "calibrate",
    "counter_for",
    "cut_to_tokens",
    "cut_to_words",
    "load_vocabularies",
    "message_tokens",
    "reply_tokens",
    "tools_tokens",
]
