"""What is heard of an answer: whole, streamed, broken off, malformed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.listening import ChatListener, Heard, Listener, MessagesListener, ResponsesListener
from gateway.core.sse import EventReader
from providers.formats import parse_events
from providers.usage import usage_from
from tests.gateway.upstream import Chat, Manner, Messages, Responses, Upstream

CASES: list[tuple[type[Any], type[Any], str]] = [
    (Chat, ChatListener, "openai"),
    (Messages, MessagesListener, "anthropic"),
    (Responses, ResponsesListener, "responses"),
]
MANNERS = [Manner(words=["One", " two"]), Manner(tool_calls=[("ls", {"path": "/"}), ("cat", {"n": [1, 2]})])]


class SilentUpstream(Upstream):
    """Speaks, without a server."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.billed = []
        self.input_tokens = lambda body: 9
        self._lock = threading.Lock()
        self._numbers = iter([1, 1])


@pytest.mark.parametrize(("speaker", "listener", "format"), CASES)
@pytest.mark.parametrize("manner", MANNERS, ids=["text", "calls"])
def test_a_stream_says_what_the_whole_answer_says(
    speaker: Any, listener: Any, format: str, manner: Manner
) -> None:
    body = {"model": "m", "stream_options": {"include_usage": True}}
    upstream = SilentUpstream(manner)
    whole, streamed = listener(), listener()
    whole.hear_body(speaker(upstream, body).whole())
    reader = EventReader()
    for piece in speaker(upstream, body).events():
        for event in reader.feed(piece):
            streamed.hear_event(event)
    first, second = whole.heard(), streamed.heard()
    assert first.complete and second.complete
    assert first.response_id == second.response_id
    assert usage_from({"usage": first.usage}) == usage_from({"usage": second.usage})
    assert _said(format, first) == _said(format, second)


def _said(format: str, heard: Heard) -> list[Any]:
    return [event.message for event in parse_events(format, [heard.response])]


def test_a_chat_that_breaks_off_leaves_what_was_said() -> None:
    listener = ChatListener()
    for word in ("Half", " a"):
        listener.hear_event({"id": "c1", "choices": [{"index": 0, "delta": {"content": word}}]})
    heard = listener.heard()
    assert (heard.complete, heard.usage, heard.response_id) == (False, None, "c1")
    assert heard.response is not None
    assert heard.response["choices"][0]["message"]["content"] == "Half a"


def test_further_choices_and_thoughts_are_heard_beside_the_conversation() -> None:
    listener = ChatListener()
    listener.hear_event({"choices": [{"index": 1, "delta": {"content": "other"}}]})
    listener.hear_event({"choices": [{"index": 0, "delta": {"reasoning_content": "hm", "content": "x"}}]})
    heard = listener.heard()
    assert heard.beside == "otherhm"
    assert heard.response is not None


def test_a_message_that_breaks_off_keeps_the_input_that_was_reported() -> None:
    listener = MessagesListener()
    usage = {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 5}
    listener.hear_event({"type": "message_start", "message": {"id": "m1", "usage": usage, "content": []}})
    listener.hear_event(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "ls", "input": {}},
        }
    )
    delta = {"type": "input_json_delta", "partial_json": '{"pa'}
    listener.hear_event({"type": "content_block_delta", "index": 0, "delta": delta})
    heard = listener.heard()
    assert (heard.complete, heard.usage) == (False, usage)
    assert heard.response is not None
    assert heard.response["content"][0]["input"] == {"_raw_arguments": '{"pa'}


def test_an_answer_of_responses_that_breaks_off_leaves_items_and_pieces() -> None:
    listener = ResponsesListener()
    listener.hear_event({"type": "response.created", "response": {"id": "r1"}})
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One"}]}
    listener.hear_event({"type": "response.output_text.delta", "delta": "One"})
    listener.hear_event({"type": "response.output_item.done", "item": item})
    listener.hear_event({"type": "response.output_text.delta", "delta": "Tw"})
    heard = listener.heard()
    assert (heard.complete, heard.response_id) == (False, "r1")
    assert heard.response is not None
    assert [str(item["content"]) for item in heard.response["output"]] == [str(item["content"]), "Tw"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["type", "index", "delta", "message", "usage", "choices", "response", "item", "content_block", "id"]
)


@pytest.mark.parametrize("listener", [ChatListener, MessagesListener, ResponsesListener])
@given(events=st.lists(st.dictionaries(NAMES, JSON, max_size=5), max_size=6))
def test_nothing_an_upstream_says_breaks_a_listener(listener: Any, events: list[dict[str, Any]]) -> None:
    heard: Listener = listener()
    for event in events:
        heard.hear_event(event)
    heard.heard()
