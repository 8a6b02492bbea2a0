"""The container files are sound, and their very commands run the product on a real Postgres and Redis."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psycopg
import pytest
import yaml
from django.conf import settings

from tests.plugin import chosen_database
from tests.product_processes import REPOSITORY, ProductProcess, answers
from tests.services_processes import free_port

DOCKER = REPOSITORY / "docker"
PRODUCT = ("migrate", "web", "worker", "sweeper")
# Every test process has its own.
DATABASE = f"compose_{os.environ.get('PYTEST_XDIST_WORKER', 'gw0')}"

on_postgres = pytest.mark.skipif(
    chosen_database() != "postgres", reason="needs the Postgres and Redis of that run"
)


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return loaded


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with their continuation lines joined, comments left out."""
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def image_environment() -> dict[str, str]:
    given = [rest for name, rest in instructions() if name == "ENV"]
    return dict(pair.split("=", 1) for rest in given for pair in rest.split())


def test_the_image_runs_as_an_ordinary_user_with_a_health_check() -> None:
    names = [name for name, _ in instructions()]
    assert set(names) <= {
        "FROM",
        "ENV",
        "WORKDIR",
        "COPY",
        "RUN",
        "USER",
        "VOLUME",
        "EXPOSE",
        "HEALTHCHECK",
        "CMD",
    }
    assert ("USER", "ctxbudget") in instructions()
    # Nothing that runs as root comes after it.
    assert "RUN" not in names[names.index("USER") :]
    assert names.count("HEALTHCHECK") == names.count("CMD") == 1


def test_the_image_installs_hash_pinned_packages_and_collects_static_files() -> None:
    runs = " ".join(rest for name, rest in instructions() if name == "RUN")
    assert "pip install --require-hashes -r requirements/prod.txt" in runs
    assert "collectstatic --noinput" in runs
    assert "migrate" not in runs


def test_the_image_starts_what_compose_starts_as_web() -> None:
    command = next(rest for name, rest in instructions() if name == "CMD")
    assert json.loads(command) == compose()["services"]["web"]["command"]


def test_everything_the_image_copies_exists_and_no_code_is_left_out() -> None:
    allowed = {
        line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"
    }
    apps = {name.split(".")[0] for name in settings.INSTALLED_APPS}
    ours = {name for name in apps if (REPOSITORY / name).is_dir()}
    assert ours <= allowed
    assert {"manage.py", "requirements", "docker", "templates"} <= allowed


def test_compose_starts_in_order_and_says_which_secrets_it_needs() -> None:
    services = compose()["services"]
    assert set(services) == {"postgres", "redis", *PRODUCT}
    for name in ("web", "worker", "sweeper"):
        assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        assert services[name]["image"] == services["migrate"]["image"]
    needed = re.findall(r"\$\{(\w+):\?", (DOCKER / "compose.yaml").read_text())
    assert set(needed) == {"CTXBUDGET_SECRET_KEY", "POSTGRES_PASSWORD"}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the containers would see, with this run's Postgres and Redis in place of compose's."""
    host = settings.DATABASES["default"]["HOST"]
    with psycopg.connect(host=host, user="ctxbudget", dbname="postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {DATABASE}")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CTXBUDGET_", "PYTEST_"))}
        given = compose()["services"]["web"]["environment"]
        defaults = {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for name, value in given.items()}
        yield {
            **inherited,
            **image_environment(),
            **defaults,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "CTXBUDGET_SECRET_KEY": "s" * 40,
            "CTXBUDGET_DATABASE_URL": f"postgres://ctxbudget@/{DATABASE}?host={host}",
            "CTXBUDGET_REDIS_URL": settings.REDIS_URL.rsplit("/", 1)[0] + "/63",
            "CTXBUDGET_DATA_DIR": str(tmp_path_factory.mktemp("data")),
            "CTXBUDGET_STATIC_ROOT": str(tmp_path_factory.mktemp("static")),
            "GRANIAN_HOST": "127.0.0.1",
            "GRANIAN_PORT": str(free_port()),
        }
        server.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


@pytest.fixture(scope="module")
def containers(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Migrated, then web, worker and sweeper by compose's own commands; gives the address."""
    services = compose()["services"]
    subprocess.run(
        services["migrate"]["command"], cwd=REPOSITORY, env=environment, check=True, capture_output=True
    )
    logs = tmp_path_factory.mktemp("logs")
    started = [
        ProductProcess(services[name]["command"], log=logs / name, env=environment)
        for name in ("web", "worker", "sweeper")
    ]
    url = f"http://127.0.0.1:{environment['GRANIAN_PORT']}"
    started[0].wait_until(lambda: answers(f"{url}/healthz"))
    yield url
    for process in started:
        process.stop()


@on_postgres
def test_web_answers_and_counts_its_worker_and_sweeper(containers: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        with urlopen(f"{containers}/readyz", timeout=5) as response:
            ready = json.load(response)
        if ready["workers"] >= 1 and ready["sweepers"] >= 1:
            break
        assert time.monotonic() < deadline, ready
        time.sleep(0.1)
    assert ready["database"] == "postgresql"


@on_postgres
def test_the_health_check_follows_the_web_server(containers: str, environment: dict[str, str]) -> None:
    check = json.loads(
        next(rest for name, rest in instructions() if name == "HEALTHCHECK").split("CMD ", 1)[1]
    )
    assert subprocess.run(check, cwd=REPOSITORY, env=environment).returncode == 0
    elsewhere = {**environment, "GRANIAN_PORT": str(free_port())}
    assert subprocess.run(check, cwd=REPOSITORY, env=elsewhere).returncode == 1


@on_postgres
def test_a_key_made_by_the_printed_command_gets_a_budget(
    containers: str, environment: dict[str, str]
) -> None:
    printed = next(
        line for line in (DOCKER / "README.md").read_text().splitlines() if "create_api_key" in line
    )
    command = printed.split("run --rm web ", 1)[1].split()
    key = subprocess.run(
        command, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True
    ).stdout
    request = Request(
        f"{containers}/api/v1/budgets/calculate",
        data=b'{"total": 6400}',
        headers={"Authorization": f"Bearer {key.strip()}", "Content-Type": "application/json"},
    )
    with urlopen(request, timeout=10) as response:
        assert json.load(response)["sections"]["recent_messages"] == 2240


@on_postgres
@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        ("CTXBUDGET_SECRET_KEY", settings.DEMO_SECRET, "ctxbudget.E005"),
        ("CTXBUDGET_DEBUG", "1", "ctxbudget.E006"),
        ("CTXBUDGET_ALLOWED_HOSTS", "*", "ctxbudget.E007"),
    ],
)
def test_web_refuses_an_unsafe_setting(
    environment: dict[str, str], name: str, value: str, check: str
) -> None:
    ended = subprocess.run(
        compose()["services"]["web"]["command"],
        cwd=REPOSITORY,
        env={**environment, name: value},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert check in ended.stderr
