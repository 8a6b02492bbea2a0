"""Where the console answers: the frame's own pages, then each room's."""

from django.contrib.auth.views import LogoutView, PasswordResetConfirmView
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from ctxbudget_site.console import views
from ctxbudget_site.console.signing_in import SignIn

urlpatterns = [
    path("favicon.ico", RedirectView.as_view(url=static("ctxbudget/icon.svg"))),
    path("login", SignIn.as_view()),
    path("logout", LogoutView.as_view()),
    path("theme", views.choose_theme),
    path("help", views.manual),
    path(
        "set-password/<uidb64>/<token>",
        PasswordResetConfirmView.as_view(template_name="console/set_password.html", success_url="/login"),
    ),
    path("", include("analytics.views.urls")),
    path("", include("sessions.views.urls")),
    path("", include("budgets.views.urls")),
    path("", include("teams.views.urls")),
]
