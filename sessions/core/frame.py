"""Everything in a context but the history: the filled text sections and the blocks they are written into."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from budgets.core.allocation import Allocation, allocate
from budgets.core.basis_points import WHOLE_BP, share_of
from budgets.core.lending import lend
from budgets.core.policy import Policy, SectionPolicy
from sessions.core.blocks import Layout, block, block_texts, made_block
from sessions.core.contents import MEMORY, Contents
from sessions.core.fills import TEXT_FILLS
from sessions.core.fills.text import Filled, TextAsk
from sessions.core.message import StoredMessage
from sessions.core.request import AssemblyRequest

# Of its planned room, what the newest messages keep for themselves in a one-off context.
ONE_OFF_HISTORY_BP = 2_000
FIRST_BORROWER = 1_000
# Fills that may be cut below their plan when what must be kept would not fit otherwise.
ELASTIC_FILLS = frozenset({"truncate", "priority", "retrieve"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """`planned` is of max input, `rooms` of what the counter's upper estimate leaves of it.

    `held` is the room of sections that do not lend what they leave unused.
    """

    planned: Mapping[str, int]
    rooms: Mapping[str, int]
    filled: Mapping[str, Filled]
    system: str
    system_tokens: int
    opening: tuple[StoredMessage, ...]
    trailing: tuple[StoredMessage, ...]
    held: int

    @property
    def tokens(self) -> int:
        blocks = sum(message.tokens for message in (*self.opening, *self.trailing))
        return self.system_tokens + blocks


def build_frame(
    request: AssemblyRequest,
    layout: Layout,
    contents: Contents,
    *,
    limit: int,
    history_wants: int,
    squeeze_bp: int,
) -> Frame:
    """`squeeze_bp` scales the rooms of the elastic sections."""
    wanted = {section.name: _cost(section, contents, request) for section in layout.texts}
    measured = {s.name: wanted[s.name] for s in layout.texts if s.size.kind in ("measured", "words")}
    planned = rooms = allocate(request.policy, request.window.max_input, measured)
    if limit != request.window.max_input:
        rooms = allocate(request.policy, max(limit, 0), measured)
    if request.one_off:
        history_wants = share_of(rooms.sections[layout.history.name], ONE_OFF_HISTORY_BP)
    lent = lend(_lending_policy(request), rooms, {**wanted, layout.history.name: history_wants})
    filled: dict[str, Filled] = {}
    for section in layout.texts:
        room = lent.sections[section.name]
        if section.fill in ELASTIC_FILLS:
            room = share_of(room, squeeze_bp)
        filled[section.name] = _fill(section, request, contents, room, limit)
    return _written(request, layout, planned, rooms, filled)


def _lending_policy(request: AssemblyRequest) -> Policy:
    """In a one-off context the search hits borrow first, whatever the profile says."""
    if not request.one_off:
        return request.policy
    sections = tuple(
        replace(section, borrows=True, priority=FIRST_BORROWER) if section.fill == "retrieve" else section
        for section in request.policy.sections
    )
    return replace(request.policy, sections=sections)


def _cost(section: SectionPolicy, contents: Contents, request: AssemblyRequest) -> int:
    written = block(section.name, contents.whole_text(section))
    return request.ruler.count(written) if written else 0


def _fill(
    section: SectionPolicy, request: AssemblyRequest, contents: Contents, room: int, limit: int
) -> Filled:
    ask = TextAsk(
        section=section,
        room=min(room, limit),
        hard_room=limit if section.max_tokens is None else min(limit, section.max_tokens),
        ruler=request.ruler,
        text=contents.texts.get(section.name, ""),
        memory=contents.memory,
        hits=contents.hits,
    )
    return TEXT_FILLS[section.fill](ask)


def _written(
    request: AssemblyRequest,
    layout: Layout,
    planned: Allocation,
    rooms: Allocation,
    filled: Mapping[str, Filled],
) -> Frame:
    texts = {name: part.text for name, part in filled.items()}
    system = block_texts(layout.system, texts)
    opening, trailing = block_texts(layout.opening, texts), block_texts(layout.trailing, texts)
    kept_back = (max(rooms.sections[s.name] - filled[s.name].tokens, 0) for s in layout.texts if not s.lends)
    return Frame(
        planned=planned.sections,
        rooms=rooms.sections,
        filled=filled,
        system=system,
        system_tokens=request.ruler.block_tokens("system", system) if system else 0,
        opening=_user_blocks(request, opening),
        trailing=_user_blocks(request, trailing, request.interventions),
        held=sum(kept_back),
    )


def _user_blocks(request: AssemblyRequest, *texts: str) -> tuple[StoredMessage, ...]:
    return tuple(made_block(text, request.ruler) for text in texts if text)


def room_for_history(frame: Frame, history: SectionPolicy, limit: int) -> int:
    """A section that borrows, or takes the rest, gets everything the others leave."""
    left = limit - frame.tokens - frame.held
    planned = frame.rooms.get(history.name)
    if planned is not None and not history.borrows and history.size.kind in ("share", "fixed"):
        left = min(left, planned * history.duplication_bp // WHOLE_BP)
    if history.max_tokens is not None:
        left = min(left, history.max_tokens * history.duplication_bp // WHOLE_BP)
    return left * WHOLE_BP // history.duplication_bp


def twin_lines(frame: Frame) -> str:
    """What memory says after it was cut."""
    return frame.filled[MEMORY].text if MEMORY in frame.filled else ""
