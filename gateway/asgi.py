"""The gateway as an ASGI server loads it."""

from __future__ import annotations

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ctxbudget_site.settings")
django.setup()

from gateway.app import Gateway  # noqa: E402  # models can be imported only after the set-up

# The server's threads must not wait five milliseconds for the interpreter while the store is at work.
sys.setswitchinterval(0.0005)

application = Gateway()
