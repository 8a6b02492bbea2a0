"""What the documents promise is there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from teams.models import Project
from teams.services import create_api_key
from tests.product_processes import REPOSITORY

PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *REPOSITORY.glob("do*/**/*.md")]


def test_every_setting_that_is_read_is_in_the_table() -> None:
    source = (REPOSITORY / "ctxbudget_site" / "settings.py").read_text()
    read = set(re.findall(r"env_(?:str|bool|int|list|by_project)\([\"']([A-Z_]+)[\"']", source))
    documented = set(
        re.findall(r"^\| `CTXBUDGET_([A-Z_]+)`", (REPOSITORY / "docs" / "settings.md").read_text(), re.M)
    )
    # TEST_SQLITE places the database of test runs and is of no use to anybody else.
    assert read - {"TEST_SQLITE"} == documented


def test_every_check_is_in_the_table() -> None:
    source = (REPOSITORY / "ctxbudget_site" / "checks.py").read_text()
    page = (REPOSITORY / "docs" / "settings.md").read_text()
    assert set(re.findall(r"ctxbudget\.[EW]\d{3}", source)) == set(re.findall(r"ctxbudget\.[EW]\d{3}", page))


def test_every_direct_dependency_has_its_reason() -> None:
    page = (REPOSITORY / "docs" / "decisions" / "0001-dependencies.md").read_text()
    reasons = {
        name.strip() for row in re.findall(r"^\| ([a-z].*?) \|", page, re.M) for name in row.split(",")
    }
    lines = [line for file in REPOSITORY.glob("requirements/*.in") for line in file.read_text().splitlines()]
    wanted = {re.split(r"[\[<>=~]", line)[0] for line in lines if line and line[0].isalpha()}
    assert wanted == reasons - {"package"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target


def test_the_tour_of_the_readme_works_as_printed(
    live_server_process: str, project: Project, tmp_path: Path
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    tour = (REPOSITORY / "README.md").read_text().split("## Five minutes")[1].split("\n## ")[0]
    script = "\n".join(re.findall(r"```sh\n(.*?)```", tour, re.S)).replace(
        "http://127.0.0.1:8000", live_server_process
    )
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "demo-key.txt").write_text(
        create_api_key(project=project, scopes=["agent", "manage"]).secret
    )
    ended = subprocess.run(["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    answers = [json.loads(line) for line in ended.stdout.splitlines() if line]
    assert answers[0]["sections"]["recent_messages"] == 2240
    assert answers[1]["window"]["max_input"] == 93_964
    assert answers[5]["budget"]["level"] == "warning"
    assert answers[6]["report"]["valid"] is True
    assert answers[-1]["id"].startswith("hold_")


def test_every_make_command_that_is_mentioned_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), re.M))
    mentioned = {
        name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.M)
    }
    assert mentioned <= targets
