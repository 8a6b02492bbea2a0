"""Jobs of sessions: registered here, done by the services."""

from __future__ import annotations
