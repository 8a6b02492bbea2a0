"""Where the pages about sessions answer."""

from django.urls import path

# Imported for its registration: profiles and caps ask it what sessions use.
from sessions.services import in_use as in_use
from sessions.views import actions, approvals, detail, exports, jobs, listing

urlpatterns = [
    path("sessions", listing.listing),
    path("sessions/bulk", listing.bulk),
    path("sessions/<str:session_id>", detail.detail),
    path("sessions/<str:session_id>/live", detail.live),
    path("sessions/<str:session_id>/compact", actions.compact),
    path("sessions/<str:session_id>/checkpoint", actions.checkpoint),
    path("sessions/<str:session_id>/state", actions.set_state),
    path("sessions/<str:session_id>/model", actions.switch_model),
    path("sessions/<str:session_id>/pin", actions.pin),
    path("sessions/<str:session_id>/erase", actions.erase),
    path("sessions/<str:session_id>/export", exports.messages),
    path("sessions/<str:session_id>/diff", actions.diff),
    path("sessions/<str:session_id>/restore/<str:number>", actions.restore),
    path("sessions/<str:session_id>/dead-ends/<str:note_id>/dismiss", actions.dismiss_dead_end),
    path("jobs", jobs.jobs),
    path("jobs/<str:job_id>", jobs.change),
    path("approvals", approvals.listing),
    path("approvals/decide", approvals.decide_many),
    path("approvals/<str:approval_id>", approvals.detail),
    path("approvals/<str:approval_id>/approve", approvals.approve),
    path("approvals/<str:approval_id>/decline", approvals.decline),
]
