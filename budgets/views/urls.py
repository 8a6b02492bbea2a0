"""Where the pages about what is allowed answer."""

from django.urls import path

from budgets.views import caps, models, profiles

urlpatterns = [
    path("profiles", profiles.listing),
    path("profiles/new", profiles.create),
    path("profiles/<str:profile_id>", profiles.editor),
    path("profiles/<str:profile_id>/preview", profiles.preview),
    path("profiles/<str:profile_id>/diff", profiles.diff),
    path("profiles/<str:profile_id>/publish", profiles.publish),
    path("profiles/<str:profile_id>/export", profiles.export),
    path("caps", caps.listing),
    path("caps/new", caps.new),
    path("caps/<str:cap_id>", caps.detail),
    path("caps/<str:cap_id>/raise", caps.raise_once),
    path("caps/<str:cap_id>/verify", caps.verify),
    path("models", models.models),
]
