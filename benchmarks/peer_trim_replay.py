"""LangChain's trim_messages before every call of recorded runs; reads and prints JSON.

Not part of the product: `input_cost_bench` installs langchain-core elsewhere and starts this file there.
"""

import json
import sys

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages import trim_messages as trim

SYSTEM = "system"


def main() -> None:
    sources = json.load(sys.stdin)
    json.dump({name: [_kept(run) for run in runs] for name, runs in sources.items()}, sys.stdout)


def _kept(run: dict) -> list[tuple[bool, list[int]]]:
    """For every call of the model: is the system prompt left, and which messages. Counts are looked up."""
    tokens = {str(place): count for place, count in enumerate(run["tokens"])} | {SYSTEM: run["system_tokens"]}
    messages = [_message(place, body) for place, body in enumerate(run["messages"])]
    opening = [SystemMessage(content=run["system"], id=SYSTEM)] if run["system"] else []

    def count(chosen: list[BaseMessage]) -> int:
        return sum(tokens[message.id] for message in chosen)

    found = []
    for call in run["calls"]:
        history = [*opening, *messages[:call]]
        left = trim(
            history, max_tokens=run["budget"], token_counter=count, strategy="last", include_system=True
        )
        ids = [message.id for message in left]
        found.append((SYSTEM in ids, [int(name) for name in ids if name != SYSTEM]))
    return found


def _message(place: int, body: dict) -> BaseMessage:
    text, name = body.get("content") or "", str(place)
    if body["role"] == "tool":
        return ToolMessage(content=text, tool_call_id=body.get("tool_call_id") or "", id=name)
    return {"system": SystemMessage, "user": HumanMessage}.get(body["role"], AIMessage)(content=text, id=name)


if __name__ == "__main__":
    main()
