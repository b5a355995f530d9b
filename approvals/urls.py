from django.urls import path

from approvals import views

urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/<uuid:approval_id>/", views.inbox_item, name="inbox_item"),
    path("inbox/<uuid:approval_id>/live/", views.inbox_item_live, name="inbox_item_live"),
    path("inbox/<uuid:approval_id>/decide/", views.decide, name="inbox_decide"),
    path("inbox/<uuid:approval_id>/snooze/", views.snooze, name="inbox_snooze"),
    path("inbox/<uuid:approval_id>/draft/", views.draft, name="inbox_draft"),
    path("inbox/<uuid:approval_id>/cancel/", views.cancel_operation, name="inbox_cancel"),
]
