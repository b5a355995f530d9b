from django.urls import path

from approvals import policy_views, views

urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/<uuid:approval_id>/", views.inbox_item, name="inbox_item"),
    path("inbox/<uuid:approval_id>/live/", views.inbox_item_live, name="inbox_item_live"),
    path("inbox/<uuid:approval_id>/decide/", views.decide, name="inbox_decide"),
    path("inbox/<uuid:approval_id>/snooze/", views.snooze, name="inbox_snooze"),
    path("inbox/<uuid:approval_id>/draft/", views.draft, name="inbox_draft"),
    path("inbox/<uuid:approval_id>/cancel/", views.cancel_operation, name="inbox_cancel"),
    path("policies/", policy_views.policies, name="policies"),
    path("policies/try/", policy_views.try_out, name="policies_try"),
    path("policies/new/", policy_views.add, name="policy_new"),
    path("policies/<int:pk>/", policy_views.change, name="policy"),
    path("policies/<int:pk>/move/", policy_views.move, name="policy_move"),
    path("policies/<int:pk>/switch/", policy_views.switch, name="policy_switch"),
    path("policies/<int:pk>/delete/", policy_views.delete, name="policy_delete"),
]
