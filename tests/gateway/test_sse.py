"""Events are read whole, however the network cut them."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from gateway.core import sse
from gateway.core.sse import EventReader

EVENTS = [{"type": "ping"}, {"text": "a\nb", "ü": 1}, {"deep": [{"x": None}]}]
STREAM = b"".join(
    b"event: e\r\ndata: " + json.dumps(event).encode() + b"\r\n\r\n: a comment\n\n" for event in EVENTS
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_every_way_of_cutting_the_stream_gives_the_same_events(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    reader = EventReader()
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(edges)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


def test_data_over_several_lines_is_one_event() -> None:
    assert list(EventReader().feed(b'data: {"a":\ndata: 1}\n\n')) == [{"a": 1}]


def test_what_is_no_json_object_is_not_an_event() -> None:
    assert list(EventReader().feed(b"data: [DONE]\n\ndata: {broken\n\ndata: 7\n\n")) == []


def test_an_endless_event_is_not_kept() -> None:
    reader = EventReader()
    for _ in range(40):
        assert list(reader.feed(b"data: " + b"x" * 1024**2)) == []
    assert len(reader._tail) <= sse.MAX_EVENT_BYTES
    assert list(reader.feed(b'\n\ndata: {"a": 1}\n\n')) == [{"a": 1}]
