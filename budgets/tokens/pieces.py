"""Text made safe for the tokenizer: encodable and in bounded pieces, so that no input panics or stalls it."""

import re
from collections.abc import Iterator

# tiktoken panics on whitespace runs of about 10^6; a cut inside a run of 128-space tokens, the longest there
# are, adds at most 1 token to the 1,024 of such a piece.
PIECE_CHARS = 131_072
_LOOK_BACK_CHARS = 4_096
# Both patterns always begin a new token where a space follows a non-space, so a cut there changes no count.
_LAST_FREE_CUT = re.compile(r".*\S(?= )", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """The text with each lone surrogate as U+FFFD: the same length, so positions still hold."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = _cut_after(text, start)
        yield text[start:end]
        start = end
    yield text[start:]


def _cut_after(text: str, start: int) -> int:
    end = start + PIECE_CHARS
    free_cut = _LAST_FREE_CUT.match(text, end - _LOOK_BACK_CHARS, end + 1)
    return free_cut.end() if free_cut else end
