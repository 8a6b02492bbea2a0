"""Where the pages of the read side answer."""

from django.urls import path

from analytics.views import overview, tabs

urlpatterns = [
    path("", overview.overview),
    path("analytics", tabs.analytics),
]
