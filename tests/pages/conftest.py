"""Two tenants and browsers signed in as members of the first."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.pages.world import Tenant, settle


@pytest.fixture
def acme(db: None) -> Tenant:
    return settle("Acme", "alpha")


@pytest.fixture
def globex(db: None) -> Tenant:
    """Another team: nothing of it may be seen from Acme's pages."""
    return settle("Globex", "beta")


@pytest.fixture
def browser(acme: Tenant) -> Client:
    """The owner of Acme."""
    client = Client()
    client.force_login(acme.owner)
    return client
