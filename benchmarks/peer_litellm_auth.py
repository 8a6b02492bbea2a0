"""Runs inside LiteLLM's proxy: keys without a database, with budgets of their own or for each session."""

from __future__ import annotations

from typing import Any

from litellm.proxy._types import UserAPIKeyAuth  # type: ignore[import-not-found]
from litellm.proxy.agent_endpoints.agent_registry import (  # type: ignore[import-not-found]
    global_agent_registry,
)

KEY_BUDGETS_USD = {"sk-key-budget": 0.05, "sk-roomy-budget": 1000.0}


async def authenticate(request: Any, api_key: str) -> UserAPIKeyAuth:
    if api_key == "sk-session-budget":
        agent = global_agent_registry.get_agent_by_name("capped")
        return UserAPIKeyAuth(api_key=api_key, agent_id=agent.agent_id)
    return UserAPIKeyAuth(api_key=api_key, token=api_key, max_budget=KEY_BUDGETS_USD[api_key], spend=0.0)
