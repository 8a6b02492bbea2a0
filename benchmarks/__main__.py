"""`python -m benchmarks [name …]`: runs benchmarks/*_bench.py and prints their rows as one table.

Each module has `rows()`, which returns (work, ours, peer, ratio) as text. They run on a throw-away SQLite
database.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import traceback
from pathlib import Path

HEADER = ("work", "ours", "peer", "ratio")
FAILED = "failed"

Row = tuple[str, str, str, str]


def main(chosen: list[str]) -> int:
    names = _bench_names(chosen)
    with tempfile.TemporaryDirectory(prefix="ctxbudget-bench-") as folder:
        set_up_django(Path(folder))
        table = [HEADER]
        for name in names:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            table += _rows_of(name)
    _print(table)
    return 1 if any(row[1] == FAILED for row in table) else 0


def _rows_of(name: str) -> list[Row]:
    """A benchmark that breaks takes its own rows with it and nobody else's."""
    try:
        measured: list[Row] = importlib.import_module(f"benchmarks.{name}").rows()
    except Exception as error:
        traceback.print_exc()
        return [(name, FAILED, f"{type(error).__name__}: {error}".splitlines()[0][:80], "–")]
    return measured


def _bench_names(chosen: list[str]) -> list[str]:
    found = sorted(path.stem for path in Path(__file__).parent.glob("*_bench.py"))
    unknown = [name for name in chosen if f"{name}_bench" not in found]
    if unknown:
        raise SystemExit(f"There is no benchmark {unknown[0]}; there are {', '.join(found)}.")
    return [f"{name}_bench" for name in chosen] or found


def set_up_django(folder: Path) -> None:
    (folder / "static").mkdir()
    os.environ["DJANGO_SETTINGS_MODULE"] = "ctxbudget_site.settings"
    os.environ["CTXBUDGET_DATA_DIR"] = str(folder)
    os.environ["CTXBUDGET_STATIC_ROOT"] = str(folder / "static")
    # Refusals are measured too, and would be logged one by one.
    os.environ.setdefault("CTXBUDGET_LOG_LEVEL", "ERROR")
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)


def _print(table: list[Row]) -> None:
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
