"""The web application with a fault installed from the environment, see tests/faulty_worker.py."""

from __future__ import annotations

import os

from ctxbudget_site.wsgi import application
from tests.faulty_worker import install_fault

__all__ = ["application"]

install_fault(os.environ["FAULT"])
