"""Tokenizer families: which shipped vocabulary stands in for a vendor's own, and by how much it differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    vocabulary: str
    ratio_bp: int
    margin_bp: int


# Recorded usage against o200k_base: Claude 1.0 to 1.25 times up to version 4.6, about 1.35 times after it;
# Gemini 1.0 to 1.15 times; DeepSeek, Llama, Mistral and Qwen alike. The ratios stand at the upper end.
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "o200k_base": Family(vocabulary="o200k_base", ratio_bp=10_000, margin_bp=0),
        "cl100k_base": Family(vocabulary="cl100k_base", ratio_bp=10_000, margin_bp=0),
        "claude": Family(vocabulary="o200k_base", ratio_bp=13_500, margin_bp=3_000),
        "generic": Family(vocabulary="o200k_base", ratio_bp=11_500, margin_bp=2_000),
    }
)
