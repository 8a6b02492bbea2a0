"""Where everything answers."""

from django.contrib import admin
from django.urls import include, path

from ctxbudget_site.api import api
from ctxbudget_site.health import healthz, readyz
from ctxbudget_site.metrics import metrics

urlpatterns = [
    path("api/v1/", api.urls),
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("admin/", admin.site.urls),
    path("", include("ctxbudget_site.console.urls")),
]
