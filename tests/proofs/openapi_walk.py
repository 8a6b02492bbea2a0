"""Requests that Schemathesis makes up from the OpenAPI file, sent to what a real tenant owns."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any
from urllib.parse import urlencode

import schemathesis
from django.db import transaction
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from schemathesis.core import NotSet

from tests.api.client import BASE, Answer
from tests.proofs.tenants import VISITS, Tenant

CPU_SECONDS = 1.0


class Walk:
    """Every operation with `examples` bodies, on ids that exist and on ids that do not."""

    def __init__(self, tenant: Tenant, *, examples: int) -> None:
        self.tenant = tenant
        self.examples = examples
        self.statuses: Counter[int] = Counter()
        self.found: list[str] = []

    def run(self) -> None:
        document = self.tenant.api.get("/openapi.json").json()
        for offered in schemathesis.openapi.from_dict(document).get_all_operations():
            self._operation(offered.ok())

    def _operation(self, operation: Any) -> None:
        known = self._known_ids(f"{operation.method.upper()} {operation.path.removeprefix(BASE)}")

        @hypothesis_settings(
            max_examples=self.examples,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
            deadline=None,
            database=None,
            derandomize=True,
        )
        @given(case=operation.as_strategy())
        def send(case: Any) -> None:
            self._call(case, {})
            if known:
                self._call(case, known)

        send()

    def _known_ids(self, operation: str) -> dict[str, str]:
        visit = VISITS[operation][0]
        return {
            name: slot[1:] if slot.startswith("=") else self.tenant.ids[slot]
            for name, slot in visit.path.items()
        }

    def _call(self, case: Any, ids: dict[str, str]) -> None:
        case.path_parameters = {**(case.path_parameters or {}), **ids}
        # Waiting is what a long-poll is for.
        query = {name: value for name, value in (case.query or {}).items() if name != "wait"}
        path = case.formatted_path.removeprefix(BASE) + (f"?{urlencode(query, doseq=True)}" if query else "")
        raw = b"" if isinstance(case.body, NotSet) else json.dumps(case.body).encode()
        caller = self.tenant.approver if "/approvals/" in case.path else self.tenant.api
        started = time.process_time()
        with transaction.atomic():
            answer = caller.request(case.method, path, raw=raw, headers={"If-Match": "*"})
            transaction.set_rollback(True)
        self.statuses[answer.status_code] += 1
        self._judge(f"{case.method} {path} {raw[:400]!r}", answer, time.process_time() - started)

    def _judge(self, sent: str, answer: Answer, cpu_seconds: float) -> None:
        media = answer.headers.get("Content-Type", "")
        if answer.status_code >= 500:
            self.found.append(f"{answer.status_code}: {sent}")
        if answer.status_code >= 400 and media != "application/problem+json":
            self.found.append(f"{answer.status_code} as {media}: {sent}")
        if cpu_seconds > CPU_SECONDS:
            self.found.append(f"{cpu_seconds:.1f} s: {sent}")
