"""verbatim: the whole text, or a refusal."""

from sessions.core.errors import NoRoom
from sessions.core.fills.text import Filled, TextAsk


def fill_verbatim(ask: TextAsk) -> Filled:
    tokens = ask.cost(ask.text)
    if tokens > ask.hard_room:
        raise NoRoom(section=ask.section.name, needed=tokens, room=ask.hard_room)
    return Filled(text=ask.text, tokens=tokens, kept=int(tokens > 0))
