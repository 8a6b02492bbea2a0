"""retrieve: search hits by score, each with where it came from (R14)."""

from dataclasses import replace

from sessions.core.fills.text import Filled, TextAsk, clip_text
from sessions.core.message import Hit
from sessions.core.request import Cut


def fill_retrieve(ask: TextAsk) -> Filled:
    ranked = sorted(ask.hits, key=lambda hit: (-hit.score, hit.ref))
    kept = _chosen(ask, ranked)
    chosen = set(map(id, kept))
    cuts = [
        Cut(reason="over_budget", detail=hit.ref, tokens=hit.tokens)
        for hit in ranked
        if id(hit) not in chosen
    ]
    text = _written(ask, kept)
    if not kept and ranked and (text := clip_text(ask, written_hit(ranked[0]))):
        kept = [ranked[0]]
        cuts[0] = replace(cuts[0], reason="clipped")
    return Filled(
        text=text, tokens=ask.cost(text), kept=len(kept), dropped=len(ranked) - len(kept), cuts=tuple(cuts)
    )


def _chosen(ask: TextAsk, ranked: list[Hit]) -> list[Hit]:
    if ask.cost(_written(ask, ranked)) <= ask.room:
        return ranked
    kept: list[Hit] = []
    used = ask.cost(ask.text or ".")
    for hit in ranked:
        tokens = ask.ruler.count(written_hit(hit)) + 1
        if used + tokens <= ask.room:
            kept.append(hit)
            used += tokens
    while kept and ask.cost(_written(ask, kept)) > ask.room:
        kept.pop()
    return kept


def written_hit(hit: Hit) -> str:
    return f"[{hit.ref}] {hit.text}"


def _written(ask: TextAsk, hits: list[Hit]) -> str:
    return "\n".join(filter(None, [ask.text, *map(written_hit, hits)]))
