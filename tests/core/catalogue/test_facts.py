"""Facts: every row of the shipped catalogue is usable and says where it comes from."""

import time

from budgets.catalogue import all_models, find_model
from budgets.tokens import counter_for


def test_every_row_has_a_window_a_tokenizer_and_a_source() -> None:
    for facts in all_models():
        assert facts.context_window > 0, facts
        assert counter_for(facts.tokenizer).name == facts.tokenizer
        assert facts.source, facts


def test_no_limit_reaches_beyond_the_window() -> None:
    for facts in all_models():
        for limit in (facts.max_input, facts.max_output, facts.latency_cap):
            assert limit is None or 0 < limit < facts.context_window, facts


def test_it_knows_todays_models_of_every_large_maker() -> None:
    names = "gpt-5 gpt-5.6-sol o3 claude-opus-5 gemini-2.5-pro grok-4 deepseek-chat mistral-large-2512"
    assert [name for name in names.split() if find_model(name) is None] == []


def test_where_the_prompt_has_its_own_limit_the_row_says_so() -> None:
    facts = find_model("gpt-5")
    assert facts is not None
    assert (facts.context_window, facts.max_input, facts.max_output) == (400_000, 272_000, 128_000)


def test_a_tokenizer_is_only_claimed_where_tiktoken_names_it() -> None:
    tokenizers = {
        name: getattr(find_model(name), "tokenizer", None)
        for name in ("gpt-4o", "gpt-4", "gpt-6-sol", "claude-3-opus")
    }
    assert tokenizers == {
        "gpt-4o": "o200k_base",
        "gpt-4": "cl100k_base",
        "gpt-6-sol": "generic",
        "claude-3-opus": "claude",
    }


def test_a_second_lookup_takes_microseconds() -> None:
    find_model("anthropic/claude-sonnet-4-5-20250929")
    started = time.process_time()
    for _ in range(10_000):
        find_model("anthropic/claude-sonnet-4-5-20250929")
    assert time.process_time() - started < 0.5
