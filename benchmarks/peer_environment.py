"""A throw-away environment with a peer in it, so that no peer is ever installed into the project's own."""

from __future__ import annotations

import subprocess
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def peer_python(package: str) -> Iterator[str | None]:
    """The interpreter of an environment with the package, or None where it cannot be installed."""
    with tempfile.TemporaryDirectory(prefix="ctxbudget-peer-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
        failed = subprocess.run(install, capture_output=True, check=False).returncode
        yield None if failed else python
