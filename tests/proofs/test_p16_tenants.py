"""P16: no operation of the OpenAPI file lets one tenant read, change or count what is another's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from django.db import models

from budgets.models.catalogue import DatedQuerySet
from budgets.models.money import CapQuerySet
from budgets.models.profiles import ProfileQuerySet
from budgets.services import holds
from kernel import rows
from sessions.models.approvals import ApprovalQuerySet
from sessions.models.notes import ProtocolQuerySet
from sessions.models.sessions import SessionQuerySet
from sessions.services import store
from teams.models import Project, WebhookQuerySet
from tests.proofs.tenants import VISITS, Tenant, controls, furnish, operations, portrait, trespasses

# Every tenant filter of the tables that operations read.
FILTERS: list[tuple[type[models.QuerySet[Any]], str]] = [
    (ProfileQuerySet, "of_project"),
    (DatedQuerySet, "for_project"),
    (CapQuerySet, "of_project"),
    (SessionQuerySet, "of_project"),
    (ProtocolQuerySet, "of_project"),
    (ApprovalQuerySet, "of_project"),
    (WebhookQuerySet, "of_project"),
]


@pytest.fixture
def otter(project: Project) -> Tenant:
    return furnish(project, "otter")


@pytest.fixture
def zebra(other_project: Project) -> Tenant:
    return furnish(other_project, "zebra")


def test_p16_every_operation_is_in_the_walk(db: None) -> None:
    listed = set(operations())
    assert listed - set(VISITS) == set()
    assert set(VISITS) - listed == set()


def test_p16_the_walk_finds_what_is_its_own(zebra: Tenant) -> None:
    assert controls(zebra) == []


def test_p16_nobody_meets_anything_of_another_tenant(otter: Tenant, zebra: Tenant) -> None:
    before = portrait(zebra)
    assert list(trespasses(otter, zebra)) == []
    assert portrait(zebra) == before


@pytest.mark.parametrize(("queryset", "method"), FILTERS, ids=lambda value: getattr(value, "__name__", value))
def test_p16_a_dropped_tenant_filter_is_caught(
    otter: Tenant,
    zebra: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    queryset: type[models.QuerySet[Any]],
    method: str,
) -> None:
    monkeypatch.setattr(queryset, method, lambda self, project_id: self.all())
    assert next(trespasses(otter, zebra), None) is not None


@pytest.mark.parametrize("module", [store, holds], ids=["sessions", "holds"])
def test_p16_a_row_fetched_without_its_project_is_caught(
    otter: Tenant, zebra: Tenant, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    def fetch_anybodys(
        model: type[models.Model], values: dict[str, Any], **options: Any
    ) -> models.Model | None:
        wanted = {name: value for name, value in values.items() if name != "project_id"}
        return rows.fetch_row(model, wanted, **options)

    monkeypatch.setattr(module, "fetch_row", fetch_anybodys)
    assert next(trespasses(otter, zebra), None) is not None
