"""Where the pages about sessions answer."""

from django.urls import path

from sessions.views import actions, approvals, detail, listing

urlpatterns = [
    path("sessions", listing.listing),
    path("sessions/bulk", listing.bulk),
    path("sessions/<str:session_id>", detail.detail),
    path("sessions/<str:session_id>/live", detail.live),
    path("sessions/<str:session_id>/compact", actions.compact),
    path("sessions/<str:session_id>/checkpoint", actions.checkpoint),
    path("sessions/<str:session_id>/state", actions.set_state),
    path("sessions/<str:session_id>/model", actions.switch_model),
    path("sessions/<str:session_id>/diff", actions.diff),
    path("sessions/<str:session_id>/restore/<str:number>", actions.restore),
    path("sessions/<str:session_id>/dead-ends/<str:note_id>/dismiss", actions.dismiss_dead_end),
    path("approvals", approvals.listing),
    path("approvals/decide", approvals.decide_many),
    path("approvals/<str:approval_id>", approvals.detail),
    path("approvals/<str:approval_id>/approve", approvals.approve),
    path("approvals/<str:approval_id>/decline", approvals.decline),
]
