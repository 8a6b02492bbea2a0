"""LiteLLM's proxy in a throw-away environment: one process, in memory, in front of a local upstream."""

from __future__ import annotations

import atexit
import json
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.peer_environment import peer_python
from benchmarks.processes import free_port, running

# 120 tokens in, 61 out (benchmarks/gateway_upstream.py): 0.00545 USD a call.
PRICES = {"input_cost_per_token": 0.00002, "output_cost_per_token": 0.00005}
CALL_USD = 0.00545
SESSION_KEY, BUDGET_KEY, ROOMY_KEY = "sk-session-budget", "sk-key-budget", "sk-roomy-budget"
AUTH = Path(__file__).parent / "peer_litellm_auth.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    url: str
    master_key: str
    pid: int


@contextmanager
def litellm_proxy(upstream: str, *, budgets: bool = False) -> Iterator[Proxy | None]:
    """None where LiteLLM cannot be installed. With budgets, its keys are those of peer_litellm_auth."""
    python = _installed()
    if python is None:
        yield None
        return
    port, master_key = free_port(), f"sk-{secrets.token_hex(32)}"
    with tempfile.TemporaryDirectory(prefix="ctxbudget-peer-") as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(json.dumps(_config(upstream, budgets=budgets)))
        shutil.copy(AUTH, folder)
        litellm = str(Path(python).parent / "litellm")
        command = [litellm, "--config", str(config), "--port", str(port)]
        environment = {"LITELLM_MASTER_KEY": master_key}
        with running(command, environment, port, path="/health/liveliness", seconds=180) as pid:
            yield Proxy(url=f"http://127.0.0.1:{port}", master_key=master_key, pid=pid)


@cache
def _installed() -> str | None:
    """Once per run; the environment goes with the run."""
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(peer_python("litellm[proxy]"))


def _config(upstream: str, *, budgets: bool) -> dict[str, object]:
    model = {"model": "openai/gpt-4o", "api_base": f"{upstream}/v1", "api_key": "sk-none", **PRICES}
    models = {"model_list": [{"model_name": "gpt-4o", "litellm_params": model}]}
    if not budgets:
        return models
    agent = {
        "agent_name": "capped",
        "litellm_params": {"max_budget_per_session": 0.05},
        "agent_card_params": {"name": "capped", "url": upstream},
    }
    return {
        **models,
        "agents": [agent],
        "general_settings": {
            "custom_auth": f"{AUTH.stem}.authenticate",
            "custom_auth_run_common_checks": True,
        },
        "litellm_settings": {"enable_post_custom_auth_checks": True},
    }
