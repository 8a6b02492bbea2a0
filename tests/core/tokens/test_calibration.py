"""Calibration: what pairs of counted and reported tokens teach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgets.tokens import calibrate, counter_for


def test_a_constant_ratio_is_learned_exactly_and_still_not_called_exact() -> None:
    learned = calibrate([(1_000, 1_250)] * 10)
    assert learned is not None
    assert (learned.ratio_bp, learned.margin_bp, learned.drift_bp, learned.pairs) == (12_500, 100, 0, 10)


@pytest.mark.parametrize("pairs", [[], [(100, 120)] * 4, [(0, 5), (5, 0), (-1, 3)] * 9])
def test_too_few_usable_pairs_teach_nothing(pairs: list[tuple[int, int]]) -> None:
    assert calibrate(pairs) is None


def test_one_absurd_report_moves_neither_ratio_nor_margin() -> None:
    learned = calibrate([(1_000, 1_200)] * 19 + [(1_000, 90_000)])
    assert learned is not None
    assert (learned.ratio_bp, learned.margin_bp) == (12_000, 100)


def test_the_margin_covers_nine_in_ten_pairs() -> None:
    pairs = [(1_000, 1_000 + 10 * step) for step in range(-50, 51)]
    learned = calibrate(pairs)
    assert learned is not None
    low, high = ((10_000 + sign * learned.margin_bp) * learned.ratio_bp for sign in (-1, 1))
    covered = [reported for counted, reported in pairs if low * counted <= reported * 10**8 <= high * counted]
    assert len(covered) >= 0.9 * len(pairs)
    assert len(covered) < len(pairs)


def test_a_changed_tokenizer_shows_as_drift() -> None:
    learned = calibrate([(1_000, 1_000)] * 30 + [(1_000, 1_350)] * 10)
    assert learned is not None
    assert learned.drift_bp == 3_500


def test_what_was_learned_corrects_the_counter_it_was_learned_from() -> None:
    text = "the quick brown fox " * 500
    counted = counter_for("claude").count(text)
    learned = calibrate([(counted, counted * 9 // 10)] * 6)
    assert learned is not None
    corrected = counter_for("claude", learned.ratio_bp, learned.margin_bp)
    assert abs(corrected.count(text) - counted * 9 // 10) <= counted // 1_000
    assert corrected.source == "calibrated"


@given(st.lists(st.tuples(st.integers(-10, 10**9), st.integers(-10, 10**9)), max_size=40))
def test_any_pairs_give_a_usable_calibration_or_none(pairs: list[tuple[int, int]]) -> None:
    learned = calibrate(pairs)
    if learned is not None:
        assert counter_for("generic", learned.ratio_bp, learned.margin_bp).count("some text") > 0
