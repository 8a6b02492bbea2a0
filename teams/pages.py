"""Pages: who is looking, at which project, what they may do, and how a refusal is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import F, Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from kernel.errors import Forbidden, NotFound, ProblemError
from kernel.http.requests import request_id_of
from teams.models import ABILITIES, Project, Role

Row = TypeVar("Row", bound=Model)

# After these a person stays on the page and reads why; the others have a page of their own.
_SAID_ON_THE_PAGE = (402, 409, 412, 413, 422)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A signed-in person at one project; `projects` are all that their memberships show them."""

    user: User
    project: Project
    role: str
    projects: tuple[Project, ...]

    @property
    def actor(self) -> str:
        return f"user:{self.user.get_username()}"

    @property
    def abilities(self) -> frozenset[str]:
        return ABILITIES[self.role]

    def may(self, ability: str) -> bool:
        return ability in self.abilities

    def require(self, ability: str) -> None:
        if not self.may(ability):
            raise Forbidden(f"Your role is {self.role}; {who_can(ability)} can do this.", code="role_missing")

    def at(self, project_id: str) -> Visitor:
        """The same person at another project; one that is not theirs does not exist for them."""
        found = next((project for project in self.projects if project.pk == project_id), None)
        if found is None:
            raise NotFound()
        return replace(self, project=found, role=role_in(found))

    @property
    def project_ids(self) -> list[str]:
        return [project.pk for project in self.projects]


class PageRequest(HttpRequest):
    visitor: Visitor


PageView = Callable[..., HttpResponseBase]


def who_can(ability: str) -> str:
    names = [role.value + "s" for role in Role if ability in ABILITIES[role]]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def role_in(project: Project) -> str:
    """Annotated by `visible_projects`: the visitor's role in the project's team."""
    return str(project.visitor_role)  # type: ignore[attr-defined]


def visible_projects(user: User) -> tuple[Project, ...]:
    rows = Project.objects.visible_to(user).select_related("team")
    return tuple(rows.annotate(visitor_role=F("team__memberships__role")).order_by("team__name", "name"))


def visitor_of(request: HttpRequest) -> Visitor | None:
    """At the project that the address names, else the one visited last, else the first."""
    assert isinstance(request.user, User)
    projects = visible_projects(request.user)
    if not projects:
        return None
    by_id = {project.pk: project for project in projects}
    named = request.GET.get("project")
    if named is not None and named not in by_id:
        raise NotFound()
    project = by_id.get(named or request.session.get("project", "")) or projects[0]
    if named and request.session.get("project") != named:
        request.session["project"] = named
    return Visitor(user=request.user, project=project, role=role_in(project), projects=projects)


def visible_row(request: PageRequest, rows: QuerySet[Row], pk: str) -> Row:
    """A row of one of the visitor's projects, who moves there; what is not theirs does not exist.

    Ask for abilities after it: the role in the row's own team decides.
    """
    theirs: Any = rows.filter(project_id__in=request.visitor.project_ids)
    found: Any = theirs.filter(pk=pk).first() if "\x00" not in pk else None
    if found is None:
        raise NotFound()
    request.visitor = request.visitor.at(found.project_id)
    row: Row = found
    return row


def page(view: PageView) -> PageView:
    """For signed-in members; a refusal becomes a page or, after a form, a sentence on the page before."""

    @login_required
    @wraps(view)
    def answer(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            visitor = visitor_of(request)
            if visitor is None:
                return render(request, "console/no_project.html", status=403)
            request.visitor = visitor
            return view(request, *args, **kwargs)
        except ProblemError as problem:
            return _refused(request, problem)

    return answer


def _refused(request: HttpRequest, problem: ProblemError) -> HttpResponse:
    came_from = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, request.is_secure())
    if request.method == "POST" and problem.status in _SAID_ON_THE_PAGE and is_ours:
        messages.error(request, problem.detail)
        return HttpResponseRedirect(came_from)
    context = {"problem": problem, "request_id": request_id_of(request)}
    return render(request, "console/problem.html", context, status=problem.status)
