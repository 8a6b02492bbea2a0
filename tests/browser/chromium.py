"""Which browser the pages are driven with, and how it is started."""

from __future__ import annotations

import os

CHROMIUM = os.environ.get("PYTEST_CHROMIUM", "/usr/bin/chromium")
# Nothing of the browser's own may ask another host, and a container has neither a screen nor a sandbox.
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
