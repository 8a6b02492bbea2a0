"""W8: the model windows known at start."""

import pytest

from budgets.catalogue import find_model

WINDOWS = [
    ("gemini-2.0-flash", 1_000_000),
    ("zai-glm-4.6", 131_072),
    ("qwen-3-235b", 131_072),
    ("meta-llama/llama-3.1-70b", 131_072),
    ("llama-3.3-70b", 65_536),
    ("gpt-3.5-turbo", 4_096),
    ("gpt-4", 8_192),
    ("gpt-4-32k", 32_768),
    ("claude-3-opus", 200_000),
    ("gpt-4o", 128_000),
    ("claude-sonnet-5", 1_000_000),
]


@pytest.mark.parametrize(("name", "window"), WINDOWS)
def test_w8_a_models_window_is_known_at_start(name: str, window: int) -> None:
    facts = find_model(name)
    assert facts is not None
    assert (facts.name, facts.context_window) == (name, window)


def test_w8_gemini_has_a_latency_cap_and_no_other_seed_model_does() -> None:
    caps = {name: getattr(find_model(name), "latency_cap", 0) for name, _ in WINDOWS}
    assert {name: cap for name, cap in caps.items() if cap} == {"gemini-2.0-flash": 300_000}


@pytest.mark.parametrize(
    "name", ["OpenAI/GPT-4o-2024-08-06", "anthropic/claude-3-opus-20240229", "Claude-3-Opus"]
)
def test_w8_aliases_dates_and_case_lead_to_the_same_model(name: str) -> None:
    assert find_model(name) is not None


def test_w8_an_unknown_model_is_said_to_be_unknown() -> None:
    assert find_model("my-own-model") is None
