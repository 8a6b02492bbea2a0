"""Sign-in with a brake: ten failures in a quarter of an hour close the door for that name and address."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse

MAX_FAILURES = 10
WINDOW_SECONDS = 15 * 60


class SignIn(LoginView):
    template_name = "console/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if failures(request) >= MAX_FAILURES:
            context = self.get_context_data(form=AuthenticationForm(request), locked=True)
            return self.render_to_response(context, status=429, headers={"Retry-After": str(WINDOW_SECONDS)})
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        _count_failure(self.request)
        return super().form_invalid(form)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        cache.delete(_key(self.request))
        return super().form_valid(form)


def failures(request: HttpRequest) -> int:
    return int(cache.get(_key(request), 0))


def _count_failure(request: HttpRequest) -> None:
    key = _key(request)
    cache.add(key, 0, WINDOW_SECONDS)
    try:
        cache.incr(key)
    except ValueError:
        # It ran out between the two calls: this failure is the first of a new window.
        cache.set(key, 1, WINDOW_SECONDS)


def _key(request: HttpRequest) -> str:
    who = f"{request.POST.get('username', '').lower()}|{request.META.get('REMOTE_ADDR', '')}"
    return f"login:{hashlib.sha256(who.encode('utf-8', 'replace')).hexdigest()}"
