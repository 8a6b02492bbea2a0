"""LangChain's trim_messages on the work of fit_bench; runs in an environment of its own and prints JSON.

Not part of the product: `fit_bench` installs langchain-core elsewhere and starts this file there.
"""

import json
import sys
import time
from functools import partial

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately


def main(room: int, characters: int, sizes: list[int]) -> None:
    print(json.dumps({size: _measured(size, room, characters) for size in sizes}))


def _measured(size: int, room: int, characters: int) -> tuple[float, float]:
    """Milliseconds with LangChain's own counter, and with counts that are looked up."""
    kinds = (HumanMessage, AIMessage)
    messages = [kinds[n % 2](content="x" * characters, id=str(n)) for n in range(size)]
    known = {message.id: count_tokens_approximately([message]) for message in messages}

    def looked_up(chosen: list[BaseMessage]) -> int:
        return sum(known[message.id] for message in chosen)

    trim = partial(trim_messages, messages, max_tokens=room, strategy="last")
    return _cpu_ms(partial(trim, token_counter=count_tokens_approximately)), _cpu_ms(
        partial(trim, token_counter=looked_up)
    )


def _cpu_ms(work: partial, runs: int = 5) -> float:
    best = float("inf")
    for _ in range(runs):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1_000


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [int(size) for size in sys.argv[3:]])
