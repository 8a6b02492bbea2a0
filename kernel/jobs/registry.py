"""Which function does which kind of job, and what the sweeper does on every round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """A job in the hands of one worker; `attempt` fences off everybody who held it before."""

    id: str
    kind: str
    project_id: str
    subject_id: str
    payload: dict[str, Any]
    stage: dict[str, Any]
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadJob:
    """A job that nobody will try again, and why."""

    id: str
    kind: str
    project_id: str
    subject_id: str
    reason: str


class JobFailed(Exception):
    """The handler gave up for a reason that a person can read; retried unless `final`."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


JobHandler = Callable[[ClaimedJob], dict[str, Any]]
DeathWatcher = Callable[[DeadJob], None]

_handlers: dict[str, JobHandler] = {}
_sweeps: list[Callable[[], None]] = []
_death_watchers: list[DeathWatcher] = []


def job_handler(kind: str) -> Callable[[JobHandler], JobHandler]:
    def register(handler: JobHandler) -> JobHandler:
        _handlers[kind] = handler
        return handler

    return register


def handler_for(kind: str) -> JobHandler:
    return _handlers[kind]


def on_job_death(watcher: DeathWatcher) -> DeathWatcher:
    """Registers who is told of a job's death, in the transaction in which it dies."""
    _death_watchers.append(watcher)
    return watcher


def tell_of_death(job: DeadJob) -> None:
    for watcher in _death_watchers:
        watcher(job)


def sweep(function: Callable[[], None]) -> Callable[[], None]:
    """Registers periodic housekeeping that must be safe to run twice at once."""
    _sweeps.append(function)
    return function


def sweeps() -> tuple[Callable[[], None], ...]:
    return tuple(_sweeps)
