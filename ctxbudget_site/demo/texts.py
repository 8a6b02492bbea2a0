"""What the agents of the demo say, read and break: plausible text, the same in every run."""

from __future__ import annotations

from random import Random

FILES = (
    "shop/refunds/service.py", "shop/refunds/models.py", "shop/payments/gateway.py", "shop/api/orders.py",
    "shop/ledger/entries.py", "tests/test_refunds.py", "tests/test_gateway.py", "web/src/RefundDialog.tsx",
    "docs/refunds.md", "deploy/values.yaml",
)  # fmt: skip
ASKS = (
    "Partial refunds book the tax twice. Find out why and fix it.",
    "Please keep amounts in integer cents everywhere; I never want to see a float near money.",
    "The gateway times out after 30 s on Fridays. Can we retry safely?",
    "Add a test for a refund that is larger than what is left.",
    "Write the changelog entry, two sentences, no marketing.",
    "Does the ledger stay balanced when the webhook arrives twice?",
    "Rename `amount` to `amount_cents` in the public API, with a deprecation.",
    "Run the whole suite before you go on.",
)
THOUGHTS = (
    "The tax line is written by `book_refund` and again by the `after_refund` hook; the hook has to go.",
    "Decision: keep the idempotency key on the refund, not on the payment, because a payment may have many.",
    "The retry is only safe with the same idempotency key, so it is stored before the call.",
    "The failing assertion compares 1999 with 1998: a rounding of halves, fixed by integer arithmetic.",
    "I will touch shop/refunds/service.py and its test, and leave the gateway as it is.",
    "All 214 tests pass now; the slowest takes 3.2 s because it waits for the fake gateway.",
)
_VOCABULARY = """
order refund payment ledger entry tax cents customer invoice webhook retry key status amount currency
partial booked pending settled balance account journal line total gateway timeout idempotent request
"""
_WORDS = _VOCABULARY.split()
_NAMES = ("book_refund", "reverse_entry", "refundable_cents", "close_period", "post_entry", "retry_with_key")


def code(random: Random, tokens: int) -> str:
    """About `tokens` tokens of Python that nobody has to run."""
    lines: list[str] = []
    while len(lines) * 11 < tokens:
        name, first, second = random.choice(_NAMES), random.choice(_WORDS), random.choice(_WORDS)
        lines += [
            f"def {name}_{random.randrange(900)}({first}: Order, *, {second}_cents: int) -> Entry:",
            f'    """Books the {second} of one {first}; a second call with the same key changes nothing."""',
            f"    if {second}_cents > {first}.refundable_cents:",
            f'        raise TooMuch(f"{{{second}_cents}} of {{{first}.refundable_cents}} cents are left")',
            f"    return journal.post({first}.account, cents={second}_cents, key={first}.key)",
            "",
        ]
    return "\n".join(lines)


def log(random: Random, tokens: int) -> str:
    lines: list[str] = []
    while len(lines) * 24 < tokens:
        clock = f"{random.randrange(24):02d}:{random.randrange(60):02d}:{random.randrange(60):02d}"
        words = " ".join(random.choices(_WORDS, k=7))
        lines.append(f"{clock} INFO order={random.randrange(10**6)} {words} took={random.randrange(900)}ms")
    return "\n".join(lines)


def failure(path: str, line: int) -> str:
    return (
        f"{path}:{line}: AssertionError\nE   assert 1999 == 1998\n"
        f"FAILED {path}::test_partial_refund - assert 1999 == 1998\n1 failed, 213 passed in 41.20s"
    )


def prose(random: Random, sentences: int) -> str:
    return " ".join(random.choice(THOUGHTS) for _ in range(sentences))


def scene(random: Random, number: int) -> str:
    places = ("the dining car", "platform nine", "the signal box", "a compartment without a number")
    return (
        f"Scene {number}. In {random.choice(places)} Mara counts the {random.choice(_WORDS)}s again. "
        + " ".join(
            f"She remembers the {random.choice(_WORDS)} and lets it go past the window." for _ in range(14)
        )
    )
