"""The four known troubles with a context budget: how they show and what helps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    slug: str
    title: str
    signs: tuple[str, ...]
    remedies: tuple[str, ...]


TROUBLES = (
    Trouble(
        slug="overflow",
        title="The context overflows",
        signs=(
            "The provider answers that the context length is exceeded.",
            "Answers stop in the middle of a sentence.",
            "The model ends without finishing the task.",
        ),
        remedies=(
            "Keep more back: set the window's safety to 70 % instead of 80 %.",
            "Compact earlier and deeper: lower the compaction threshold or its target.",
            "Give less to sections that matter less.",
            "Watch earlier: let the first warning come at a lower level.",
        ),
    ),
    Trouble(
        slug="memory",
        title="The agent forgets",
        signs=(
            "Preferences that were stated are not followed.",
            "Decisions are not recalled.",
            "The same facts are found out again and again.",
        ),
        remedies=(
            "Give the memory section a larger share.",
            "Write entries shorter: one fact per entry.",
            "Pin what must never be left out, and set priorities for the rest.",
            "Compact deeper, so that the memory has room beside the conversation.",
        ),
    ),
    Trouble(
        slug="recent",
        title="Too little of the recent conversation",
        signs=(
            "The conversation feels disjointed.",
            "The agent loses track of the last exchanges.",
            "It often asks for context that was just given.",
        ),
        remedies=(
            "Give recent_messages a larger share.",
            "Fold the older history away more aggressively.",
            "Shorten the system prompt.",
            "Use fewer scaffolding reminders.",
        ),
    ),
    Trouble(
        slug="warnings",
        title="Too many warnings",
        signs=(
            "Warnings come often, but nothing overflows.",
            "Constant checks cost time.",
            "People no longer know what a warning means.",
        ),
        remedies=(
            "Warn later: raise the threshold from 80 % to 90 %.",
            "Use a clear level: warn at 80 %, clear at 70 %, so that it does not flicker.",
            "Mark the warning debug only, so that production stays quiet.",
            "Set a cool-down between two warnings.",
        ),
    ),
)
