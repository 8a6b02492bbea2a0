"""What the documents promise is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.product_processes import REPOSITORY

PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *REPOSITORY.glob("do*/**/*.md")]


def test_every_setting_that_is_read_is_in_the_table() -> None:
    source = (REPOSITORY / "ctxbudget_site" / "settings.py").read_text()
    read = set(re.findall(r"env_(?:str|bool|int|list)\([\"']([A-Z_]+)[\"']", source))
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


def test_every_make_command_that_is_mentioned_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), re.M))
    mentioned = {
        name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.M)
    }
    assert mentioned <= targets
