"""Fixtures that every test may use: two tenants, their keys, the API, the clock, real processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings
from hypothesis import settings as hypothesis_settings

from kernel import clock as kernel_clock
from teams.models import Project
from teams.services import create_api_key, ensure_project
from tests.api.client import Api, LiveApi
from tests.product_processes import ProductProcess, start_web, start_worker
from tests.recordings import recorded, shared_data  # noqa: F401

# CI machines pause at will; examples are few in everyday runs and many in `make proofs`.
hypothesis_settings.register_profile("everyday", max_examples=25, deadline=None)
hypothesis_settings.register_profile("full", max_examples=500, deadline=None)


def pytest_configure() -> None:
    hypothesis_settings.load_profile("full" if os.environ.get("CTXBUDGET_PROOF") == "full" else "everyday")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def project(db: None) -> Project:
    return ensure_project(team_name="Acme", project_name="alpha")


@pytest.fixture
def other_project(db: None) -> Project:
    """Another team's: nothing of it may ever be seen through `project`'s keys."""
    return ensure_project(team_name="Globex", project_name="beta")


@pytest.fixture
def agent_key(project: Project) -> str:
    return create_api_key(project=project, scopes=["agent"]).secret


@pytest.fixture
def manage_key(project: Project) -> str:
    return create_api_key(project=project, scopes=["manage"]).secret


@pytest.fixture
def read_key(project: Project) -> str:
    return create_api_key(project=project, scopes=["read"]).secret


@pytest.fixture
def other_key(other_project: Project) -> str:
    """A key of another tenant that may do everything a key without a member may do."""
    return create_api_key(project=other_project, scopes=["agent", "manage", "read"]).secret


@pytest.fixture
def api(agent_key: str) -> Api:
    """The API in this process, called with the agent key unless a call names another."""
    return Api(key=agent_key)


class Clock:
    """Database time that only this test moves."""

    def __init__(self) -> None:
        self._offset = timedelta(0)

    def advance(self, **amount: float) -> None:
        """`advance(hours=2)`: arguments as for timedelta."""
        self._offset += timedelta(**amount)
        kernel_clock.set_test_offset(self._offset)


@pytest.fixture
def clock() -> Iterator[Clock]:
    yield Clock()
    kernel_clock.set_test_offset(timedelta(0))


@pytest.fixture
def live_worker(transactional_db: None) -> Iterator[ProductProcess]:
    """A real Celery worker on this test's database; for tests that commit."""
    worker = start_worker()
    yield worker
    worker.kill()


@pytest.fixture
def live_server_process(transactional_db: None) -> Iterator[str]:
    """The address of a real web server on this test's database; for tests that commit."""
    web, url = start_web()
    yield url
    web.stop()


@pytest.fixture
def live_api(live_server_process: str, agent_key: str) -> LiveApi:
    return LiveApi(url=live_server_process, key=agent_key)
