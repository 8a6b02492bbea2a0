"""A real gateway process on the test's database, in front of a local upstream."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from gateway.management.commands.gateway import gateway_command
from tests.gateway.upstream import KEY
from tests.product_processes import ProductProcess, answers, child_environment
from tests.services_processes import free_port

APPLICATION = "gateway.asgi:application"


@dataclass(kw_only=True)
class RunningGateway:
    process: ProductProcess
    port: int
    upstream_url: str
    application: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def restart(self) -> None:
        """On the same port, as its supervisor would."""
        self.process = _start(self.port, self.upstream_url, self.application)


def start_gateway(upstream_url: str, *, application: str = APPLICATION) -> RunningGateway:
    port = free_port()
    process = _start(port, upstream_url, application)
    return RunningGateway(process=process, port=port, upstream_url=upstream_url, application=application)


def _start(port: int, upstream_url: str, application: str) -> ProductProcess:
    environment = child_environment(
        CTXBUDGET_OPENAI_UPSTREAM=upstream_url,
        CTXBUDGET_OPENAI_API_KEY=KEY,
        CTXBUDGET_ANTHROPIC_UPSTREAM=upstream_url,
        CTXBUDGET_ANTHROPIC_API_KEY=KEY,
        CTXBUDGET_ALLOW_PRIVATE_ADDRESSES="1",
    )
    command = [sys.executable, "manage.py", "gateway", "--port", str(port)]
    if application != APPLICATION:
        command = [*gateway_command(host="127.0.0.1", port=port, workers=1)[:-1], application]
    process = ProductProcess(
        command,
        log=Path(settings.DATA_DIR) / "gateway.log",
        env=environment,
    )
    process.wait_until(lambda: answers(f"http://127.0.0.1:{port}/healthz"))
    return process
