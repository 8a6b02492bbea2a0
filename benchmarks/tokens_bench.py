"""Token counting beside plain tiktoken, in CPU time: ordinary text, messages, hostile text, first use."""

import random
import string
import time
from collections.abc import Callable
from functools import partial

from budgets.tokens import counter_for, cut_to_tokens, message_tokens
from budgets.tokens.vocabularies import encoding, read_encoding

RUNS = 5
MILLION = 1_000_000
Row = tuple[str, str, str, str]

_rng = random.Random(11)
_WORDS = [
    "the", "agent", "reads", "src/app.py", "and", "calls", "`edit_file`", "with", '{"path":', '"a/b.ts"},',
    "it", "doesn't", "fail,", "naïve", "—", "Zürich", "日本語", "1,024", "tokens", "==", "3.5", "%", "of",
    "def", "main(argv):", "return", "None", "#", "2026-11-18T06:42",
]  # fmt: skip


def rows() -> list[Row]:
    """(work, ours, peer, ratio); a ratio below 1 is faster than the peer."""
    return [*_ordinary(), *_hostile(), *_cutting(), *_first_use()]


def _ordinary() -> list[Row]:
    counter, plain = counter_for("o200k_base"), encoding("o200k_base")
    prose = " ".join(_rng.choices(_WORDS, k=200_000))
    messages = [{"role": "user", "content": " ".join(_rng.choices(_WORDS, k=100))} for _ in range(2_000)]
    return [
        _row(
            f"count {len(prose) / MILLION:.1f} M characters of text and code",
            lambda: counter.count(prose),
            lambda: len(plain.encode_ordinary(prose)),
        ),
        _row(
            "count 2,000 messages of 100 words, frames included",
            lambda: sum(message_tokens(counter, message) for message in messages),
            lambda: sum(len(plain.encode_ordinary(message["content"])) for message in messages),
        ),
    ]


def _hostile() -> list[Row]:
    counter, plain = counter_for("o200k_base"), encoding("o200k_base")
    texts = {
        "'a'": "a" * MILLION,
        "'^'": "^" * MILLION,
        "random letters": "".join(_rng.choices(string.ascii_lowercase, k=MILLION)),
    }
    measured = [
        _row(f"count 10⁶ {kind}", partial(counter.count, text), partial(plain.encode_ordinary, text))
        for kind, text in texts.items()
    ]
    # tiktoken panics here, so there is no peer time to print.
    spaces = _milliseconds(lambda: counter.count(" " * MILLION))
    return [*measured, ("count 10⁶ spaces", f"{spaces:.0f} ms", "panics", "–")]


def _cutting() -> list[Row]:
    counter, plain = counter_for("o200k_base"), encoding("o200k_base")
    prose = " ".join(_rng.choices(_WORDS, k=200_000))
    return [
        _row(
            "cut that text to 2,000 tokens",
            lambda: cut_to_tokens(counter, prose, 2_000),
            lambda: plain.decode(plain.encode_ordinary(prose)[:2_000]),
        )
    ]


def _first_use() -> list[Row]:
    names = ("o200k_base", "cl100k_base")
    times = [_milliseconds(partial(read_encoding, name), runs=2) for name in names]
    return [
        (f"load {name}, verified", f"{taken:.0f} ms", "network", "–")
        for name, taken in zip(names, times, strict=True)
    ]


def _row(work: str, ours: Callable[[], object], peer: Callable[[], object]) -> Row:
    own, other = _milliseconds(ours), _milliseconds(peer)
    return work, f"{own:.1f} ms", f"tiktoken {other:.1f} ms", f"{own / other:.2f}"


def _milliseconds(work: Callable[[], object], runs: int = RUNS) -> float:
    """CPU time of the best run."""
    best = float("inf")
    for _ in range(runs):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1_000


if __name__ == "__main__":
    for row in rows():
        print("{:<55} {:>12} {:>22} {:>6}".format(*row))
