"""What sessions use of this room: models, profiles, sections. The room above answers; it registers itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Users(Protocol):
    def models(self, project_id: str) -> list[str]:
        """Names of models that were active lately, the busiest first."""
        ...

    def sessions_by_profile(self, project_id: str) -> Mapping[str, int]:
        """Running sessions that follow each profile's current revision, by profile id."""
        ...

    def section_needs(self, project_id: str, profile_id: str) -> Mapping[tuple[str, str], int]:
        """Average tokens that assembled contexts really held, by model and section."""
        ...

    def recent_turns(self, project_id: str, profile_id: str) -> Sequence[tuple[str, int, int]]:
        """Model, tokens used and budget of the last week's turns under a profile, newest first."""
        ...

    def running_under(self, project_id: str, scope: str, scope_id: str) -> int:
        """Running sessions that a cap of this scope holds."""
        ...


_users: list[Users] = []


def register_users(users: Users) -> None:
    _users[:] = [users]


def users() -> Users:
    return _users[0]
