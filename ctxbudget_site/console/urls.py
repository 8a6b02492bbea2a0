"""Where the console answers: the frame's own pages, then each room's."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path

from ctxbudget_site.console import views
from ctxbudget_site.console.signing_in import SignIn

urlpatterns = [
    path("login", SignIn.as_view()),
    path("logout", LogoutView.as_view()),
    path("theme", views.choose_theme),
    path("", include("sessions.views.urls")),
]
