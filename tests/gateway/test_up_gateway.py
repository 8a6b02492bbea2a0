"""`manage.py up` starts the gateway where an upstream is configured."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from openai import OpenAI

from tests.gateway.fixtures import upstream, upstream_server, wait_for
from tests.gateway.upstream import KEY, Upstream
from tests.plugin import chosen_database
from tests.product_processes import ProductProcess, answers
from tests.services_processes import free_port

__all__ = ["upstream", "upstream_server"]

pytestmark = pytest.mark.skipif(chosen_database() != "sqlite", reason="the embedded default is SQLite")


def test_one_command_runs_it_beside_the_rest_and_records_what_passed(
    upstream: Upstream, tmp_path: Path
) -> None:
    port, gateway_port = free_port(), free_port()
    environment = {
        "PATH": "/usr/bin:/bin",
        "CTXBUDGET_DATA_DIR": str(tmp_path / "var"),
        "CTXBUDGET_PORT": str(port),
        "CTXBUDGET_GATEWAY_PORT": str(gateway_port),
        "CTXBUDGET_OPENAI_UPSTREAM": upstream.url,
        "CTXBUDGET_OPENAI_API_KEY": KEY,
        "CTXBUDGET_ALLOW_PRIVATE_ADDRESSES": "1",
    }
    up = ProductProcess([sys.executable, "manage.py", "up"], log=tmp_path / "up.log", env=environment)
    try:
        up.wait_until(lambda: "Ctrl-C ends it." in up.output(), seconds=90)
        assert f"http://127.0.0.1:{gateway_port}/gateway/" in up.output()
        key = up.output().partition("Bearer ")[2].partition("'")[0]
        up.wait_until(lambda: answers(f"http://127.0.0.1:{gateway_port}/healthz"), seconds=60)
        client = OpenAI(base_url=f"http://127.0.0.1:{gateway_port}/gateway/openai/v1", api_key=key)
        client.chat.completions.create(
            model="gpt-4o",
            messages=[{"role": "user", "content": "Hi"}],
            extra_headers={"X-Ctxbudget-Session": "ext:run-1"},
        )
        _wait_for_messages(f"http://127.0.0.1:{port}/api/v1/sessions/ext:run-1/messages", key, count=2)
    finally:
        up.stop()
    assert KEY not in up.output()


def _wait_for_messages(url: str, key: str, *, count: int) -> None:

    def found() -> bool:
        with urlopen(Request(url, headers={"Authorization": f"Bearer {key}"}), timeout=5) as answer:
            return len(json.load(answer)["items"]) == count

    wait_for(found, seconds=30)
