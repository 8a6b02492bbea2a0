"""Which browser the pages are driven with."""

from __future__ import annotations

import os

CHROMIUM = os.environ.get("PYTEST_CHROMIUM", "/usr/bin/chromium")
