"""Runs the product's processes as children: prefixes their logs, restarts what dies, ends them together."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# A child that lived this long was healthy: its next restart is quick again.
HEALTHY_SECONDS = 60
LONGEST_PAUSE_SECONDS = 30
# Celery finishes the job in hand before it goes; the job table recovers what is cut off here.
GRACE_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a child runs, and the name its log lines carry."""

    name: str
    command: tuple[str, ...]


class Child:
    """A program and its present process, which leads a process group of its own."""

    def __init__(self, program: Program, launch: Callable[[Program], subprocess.Popen[str]]) -> None:
        self.program = program
        self._launch = launch
        self._failures = 0
        self._restart_at = 0.0
        self.start()

    def start(self) -> None:
        self.process = self._launch(self.program)
        self._started_at = time.monotonic()
        self._restart_at = 0.0

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def restart_when_due(self) -> str | None:
        """What happened, when something did; called about five times a second."""
        if self.is_alive():
            return None
        now = time.monotonic()
        if not self._restart_at:
            return self._schedule_restart(now)
        if now >= self._restart_at:
            self.start()
        return None

    def _schedule_restart(self, now: float) -> str:
        self.kill_group()
        self._failures = 0 if now - self._started_at > HEALTHY_SECONDS else self._failures + 1
        pause = min(2**self._failures / 2, LONGEST_PAUSE_SECONDS)
        self._restart_at = now + pause
        return f"ended with {self.process.returncode}; starts again in {pause:g} s"

    def terminate(self) -> None:
        if self.is_alive():
            self.process.terminate()

    def kill_group(self) -> None:
        """Everything the child started and left behind goes with it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Supervisor:
    """Children until a signal; leaving the `with` block ends every one of them."""

    def __init__(self, *, folder: Path, environment: Mapping[str, str], write: Callable[[str], None]) -> None:
        self._folder = folder
        self._environment = {**environment, "PYTHONUNBUFFERED": "1"}
        self._write = write
        self._lock = threading.Lock()
        self._children: list[Child] = []
        self._readers: list[threading.Thread] = []
        self._signals = 0
        self.stopping = threading.Event()
        # Without it a supervisor that is killed leaves its children behind, and the port busy.
        self._leash = ("setpriv", "--pdeathsig", "TERM", "--") if shutil.which("setpriv") else ()

    def __enter__(self) -> Supervisor:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_children()

    def start(self, program: Program) -> Child:
        child = Child(program, self._launch)
        self._children.append(child)
        return child

    def watch(self) -> None:
        """Restarts what dies until a signal asks to stop."""
        while not self.stopping.wait(0.2):
            for child in self._children:
                happened = child.restart_when_due()
                if happened:
                    self._log(child.program.name, happened)

    def _note_signal(self, *_: object) -> None:
        self._signals += 1
        self.stopping.set()

    def _launch(self, program: Program) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            (*self._leash, *program.command),
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._readers = [reader for reader in self._readers if reader.is_alive()]
        self._readers.append(
            threading.Thread(target=self._copy_lines, args=(program.name, process), daemon=True)
        )
        self._readers[-1].start()
        return process

    def _copy_lines(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._log(name, line.rstrip())

    def _log(self, name: str, line: str) -> None:
        with self._lock:
            self._write(f"{name:<7} | {line}")

    def _stop_children(self) -> None:
        for child in self._children:
            child.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        while any(child.is_alive() for child in self._children):
            # A second Ctrl-C does not wait.
            if time.monotonic() > deadline or self._signals > 1:
                break
            time.sleep(0.05)
        for child in self._children:
            child.kill_group()
            child.process.wait()
        for reader in self._readers:
            reader.join(timeout=1)
