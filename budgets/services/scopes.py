"""Who spends, and under which names of scopes that spending is counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from budgets.models import Scope
from budgets.services.models import resolve_model
from kernel.errors import FieldProblem, Invalid, NotFound
from teams.models import ApiKey

# Finds the id of a scope that lives in a room above this one; registered by that room.
Resolver = Callable[[str, str], str]
_resolvers: dict[str, Resolver] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """Everything that a hold or a usage report counts against."""

    team_id: str
    project_id: str
    session_id: str
    key_id: str
    model: str

    @property
    def scopes(self) -> tuple[tuple[str, str], ...]:
        return (
            (Scope.TEAM.value, self.team_id),
            (Scope.PROJECT.value, self.project_id),
            (Scope.MODEL.value, model_scope_id(self.project_id, self.model)),
            (Scope.KEY.value, self.key_id),
            (Scope.SESSION.value, self.session_id),
        )


def model_scope_id(project_id: str, model: str) -> str:
    return f"{project_id}/{model}"


def register_resolver(scope: str, resolver: Resolver) -> None:
    _resolvers[scope] = resolver


def resolve_scope_id(*, project_id: str, scope: str, given: str | None) -> str:
    """The stored id of a scope that a caller of this project names; another project's is not found."""
    if scope == Scope.PROJECT:
        if given not in (None, project_id):
            raise NotFound()
        return project_id
    if not given:
        problem = FieldProblem(pointer="/scope_id", detail=f"names the {scope} that the cap is for")
        raise Invalid(f"A {scope} cap needs a scope_id.", errors=(problem,))
    if scope == Scope.MODEL:
        canonical = resolve_model(project_id=project_id, name=given).canonical_name
        return model_scope_id(project_id, canonical)
    if scope == Scope.KEY:
        return _key_id(project_id, given)
    return _resolvers[scope](project_id, given)


def shown_scope_id(scope: str, scope_id: str) -> str:
    """As people and callers name it: a model without its project."""
    return scope_id.partition("/")[2] if scope == Scope.MODEL else scope_id


def _key_id(project_id: str, given: str) -> str:
    key_id = ApiKey.objects.of_project(project_id).filter(pk=given).values_list("pk", flat=True).first()
    if key_id is None:
        raise NotFound()
    return str(key_id)
