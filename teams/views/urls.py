"""Where the pages about people, keys and settings answer."""

from django.urls import path

from teams.views import keys, members, records, webhooks

urlpatterns = [
    path("keys", keys.keys),
    path("keys/<str:key_id>/rotate", keys.rotate),
    path("keys/<str:key_id>/revoke", keys.revoke),
    path("webhooks", webhooks.webhooks),
    path("webhooks/<str:webhook_id>", webhooks.webhook),
    path("members", members.members),
    path("members/<int:member_id>", members.change),
    path("audit", records.audit),
    path("settings", records.settings),
    path("projects/new", records.new_project),
    path("account", records.account),
]
