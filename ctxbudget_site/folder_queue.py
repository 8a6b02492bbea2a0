"""Celery's filesystem transport, with messages that appear whole."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps

SCHEME = "folder"


class Channel(filesystem.Channel):
    # kombu's own two definitions differ in the parameter's name.
    def _put(self, queue: str, message: Any, **_: Any) -> None:  # type: ignore[override]
        """Written aside and renamed: a worker that reads half a message would end on it."""
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        file = Path(self.data_folder_out) / name
        aside = file.with_suffix(".part")
        try:
            aside.write_text(dumps(message))
            os.replace(aside, file)
        except OSError as error:
            raise ChannelError(f"Cannot add {name} to the queue's folder.") from error


class Transport(filesystem.Transport):
    Channel = Channel


def register() -> None:
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
