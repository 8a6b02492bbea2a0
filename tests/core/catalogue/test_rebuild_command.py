"""The command that rebuilds the catalogue: what it prints, writes and refuses."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from budgets.catalogue.facts import CATALOGUE_FILE
from budgets.management.commands import rebuild_catalogue


@pytest.fixture
def outdated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped file in which one window is wrong."""
    copy = tmp_path / "models.json"
    shipped = CATALOGUE_FILE.read_text(encoding="utf-8")
    copy.write_text(
        shipped.replace('"context_window": 32768', '"context_window": 32000', 1), encoding="utf-8"
    )
    monkeypatch.setattr(rebuild_catalogue, "CATALOGUE_FILE", copy)
    return copy


def test_it_says_that_the_shipped_file_is_current() -> None:
    out = StringIO()
    call_command("rebuild_catalogue", "--check", stdout=out)
    assert "is current" in out.getvalue()


def test_check_prints_the_difference_refuses_and_writes_nothing(outdated: Path) -> None:
    out, before = StringIO(), outdated.read_text(encoding="utf-8")
    with pytest.raises(CommandError, match="not current"):
        call_command("rebuild_catalogue", "--check", stdout=out)
    assert "~ openai/gpt-4-32k context_window: 32000 → 32768" in out.getvalue()
    assert outdated.read_text(encoding="utf-8") == before


def test_it_writes_the_rebuilt_file(outdated: Path) -> None:
    call_command("rebuild_catalogue", stdout=StringIO())
    assert outdated.read_text(encoding="utf-8") == CATALOGUE_FILE.read_text(encoding="utf-8")


def test_it_writes_a_file_where_there_was_none(outdated: Path) -> None:
    outdated.unlink()
    call_command("rebuild_catalogue", stdout=StringIO())
    assert outdated.read_text(encoding="utf-8") == CATALOGUE_FILE.read_text(encoding="utf-8")
