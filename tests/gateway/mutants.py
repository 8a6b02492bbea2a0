"""Gateways with one thing left out, to show that the proofs would notice; served instead of the real one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.asgi import application
from gateway.services import opening

_place_hold = opening.place_hold


def _forgetting_the_output(*, wish: Any, **where: Any) -> Any:
    return _place_hold(wish=replace(wish, output_tokens=0), **where)


opening.place_hold = _forgetting_the_output
forgets_the_output = application
