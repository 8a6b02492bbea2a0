"""Numbers, money and filters as people read and type them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import Q
from hypothesis import given
from hypothesis import strategies as st

from analytics.section_use import suggested_shares
from budgets.views.money import nano_from
from ctxbudget_site.console import wording
from kernel.errors import Invalid
from sessions.models import AgentSession
from sessions.views.composition import CELLS, Row, map_cells
from sessions.views.filtering import parse_filter
from sessions.views.listing import FIELDS, WORDS


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (146_049, "146.0k"),
        (999_999, "999.9k"),  # rounded down: a budget is never shown fuller or emptier than it is
        (1_900_000, "1.9M"),
        (-1_500, "−1.5k"),
        (None, "—"),
    ],
)
def test_tokens_are_short(count: int | None, text: str) -> None:
    assert wording.tokens(count) == text


@pytest.mark.parametrize(
    ("nano", "text"),
    [
        (None, "— no price"),
        (0, "$0.00"),
        (5_020_000_000, "$5.02"),
        (5_025_000_000, "$5.03"),
        (4_200_000, "$0.0042"),
        (42_000, "$0.000042"),
        (1, "$0.000000001"),
        (1_234_567_890_000_000, "$1,234,567.89"),
        (-90_000_000, "−$0.09"),
    ],
)
def test_money_is_exact_enough_and_never_zero_when_unknown(nano: int | None, text: str) -> None:
    assert wording.dollars(nano) == text


@given(st.integers(1, 10**18))
def test_money_that_was_spent_is_never_shown_as_nothing(nano: int) -> None:
    assert wording.dollars(nano).strip("$0.,") != ""


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (146, 200, "73 %"),
        (146, 160, "91 %"),
        (1, 300, "0.3 %"),
        (1, 10**6, "<0.1 %"),
        (5, 0, "—"),
        (3, 2, "150 %"),
    ],
)
def test_percentages_are_rounded_down(part: int, whole: int, text: str) -> None:
    assert wording.percent(part, whole) == text


def test_a_span_is_said_in_its_largest_unit() -> None:
    spans = [timedelta(seconds=3), timedelta(minutes=12), timedelta(hours=25), timedelta(days=3)]
    assert [wording.span(length) for length in spans] == ["3 s", "12 min", "1 d", "3 d"]


@given(st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1))
def test_typed_money_is_read_exactly(dollars: int, nano: int) -> None:
    assert nano_from(f"{dollars}.{nano:09d}") == dollars * 10**9 + nano
    assert nano_from(f"${dollars:,}") == dollars * 10**9


@pytest.mark.parametrize(
    "text", ["", ".", "-1", "1e3", "1.2.3", "NaN", "1_0", "１", "1.0000000001", "9" * 12]
)
def test_typed_money_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        nano_from(text)


@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=9), st.integers(1, 200_000))
def test_the_map_has_200_cells_and_never_shows_more_than_there_is(sizes: list[int], total: int) -> None:
    rows = [
        Row(name=f"s{place}", purpose="", used=size, planned=0, source="counted", colour=1)
        for place, size in enumerate(sizes)
    ]
    window = 200_000
    cells = map_cells(rows, total=min(total, window), window=window)
    filled = [cell for cell in cells if cell.kind in ("used", "over")]
    assert len(cells) == CELLS
    # A cell is half a per cent: 1,000 tokens of this window.
    assert abs(len(filled) - min(window, sum(sizes)) // 1_000) <= 1
    assert all(cell.kind == "used" for cell in filled) or sum(sizes) > min(total, window) - 1_000


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 100_000), min_size=1),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 300_000)),
)
def test_suggested_shares_always_sum_to_the_whole(planned: dict[str, int], used: dict[str, int]) -> None:
    shares = suggested_shares(planned, used)
    assert set(shares) == set(planned)
    assert sum(shares.values()) == 10_000
    assert min(shares.values()) >= 0


def test_a_filter_without_fields_looks_for_words() -> None:
    wanted = parse_filter("refund", FIELDS, words=WORDS)
    assert wanted.problems == ()
    assert "task__icontains" in str(wanted.condition)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("turns:>3", Q(turns__gt=3)),
        ("input:>=5k", Q(input_tokens__gte=5_000)),
        ("cost:<0.05", Q(spent_nano__lt=50_000_000)),
        ("cost:1.5", Q(spent_nano=1_500_000_000)),
        ("-state:paused", ~Q(state__iexact="paused")),
    ],
)
def test_a_filter_reads_fields(text: str, condition: Q) -> None:
    assert parse_filter(text, FIELDS, words=WORDS).condition == Q() & condition


@pytest.mark.parametrize("text", ["turns:many", "state:>paused", "modle:x", "nothing:like:this"])
def test_a_filter_says_what_it_does_not_understand(text: str) -> None:
    assert len(parse_filter(text, FIELDS, words=WORDS).problems) == 1


@given(st.text(max_size=60))
@pytest.mark.django_db
def test_no_filter_breaks_the_list(text: str) -> None:
    wanted = parse_filter(text.encode("utf-8", "replace").decode(), FIELDS, words=WORDS)
    assert list(AgentSession.objects.filter(wanted.condition)) == []
