"""truncate: the beginning of the text, by words or tokens; also what an agent put into a reserve."""

from sessions.core.fills.text import Filled, TextAsk, cut_text
from sessions.core.request import Cut


def fill_truncate(ask: TextAsk) -> Filled:
    text = cut_text(ask, ask.text)
    tokens = ask.cost(text)
    if text == ask.text:
        return Filled(text=text, tokens=tokens, kept=int(tokens > 0))
    lost = ask.cost(ask.text) - tokens
    limit = f"{ask.words} words" if ask.words is not None else f"{ask.room:,} tokens"
    cut = Cut(reason="truncated", detail=f"cut to its first part, limit {limit}", tokens=max(0, lost))
    return Filled(text=text, tokens=tokens, kept=int(tokens > 0), dropped=int(tokens == 0), cuts=(cut,))
