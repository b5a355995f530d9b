from django.urls import path

from approvals import policy_file_views, policy_views, remembered_views
from approvals.views import deciding, items, lists, saved, several

urlpatterns = [
    path("inbox/", lists.inbox, name="inbox"),
    path("inbox/several/", several.several, name="inbox_several"),
    path("inbox/filters/", saved.filters, name="inbox_filters"),
    path("inbox/filters/save/", saved.save, name="inbox_filter_save"),
    path("inbox/filters/<int:pk>/rename/", saved.rename, name="inbox_filter_rename"),
    path("inbox/filters/<int:pk>/delete/", saved.delete, name="inbox_filter_delete"),
    path("inbox/<uuid:approval_id>/", items.inbox_item, name="inbox_item"),
    path("inbox/<uuid:approval_id>/live/", items.inbox_item_live, name="inbox_item_live"),
    path("inbox/<uuid:approval_id>/decide/", deciding.decide, name="inbox_decide"),
    path("inbox/<uuid:approval_id>/snooze/", deciding.snooze, name="inbox_snooze"),
    path("inbox/<uuid:approval_id>/draft/", deciding.draft, name="inbox_draft"),
    path("inbox/<uuid:approval_id>/cancel/", deciding.cancel_operation, name="inbox_cancel"),
    path("policies/", policy_views.policies, name="policies"),
    path("policies/try/", policy_views.try_out, name="policies_try"),
    path("policies/history/", policy_views.history, name="policies_history"),
    path("policies/export/", policy_file_views.export_file, name="policies_export"),
    path("policies/import/", policy_file_views.import_file, name="policies_import"),
    path("policies/remembered/", remembered_views.remembered, name="remembered"),
    path("policies/remembered/<int:pk>/revoke/", remembered_views.revoke, name="remembered_revoke"),
    path(
        "policies/remembered/<uuid:approval_id>/leave/",
        remembered_views.leave,
        name="remembered_leave",
    ),
    path("policies/new/", policy_views.add, name="policy_new"),
    path("policies/<int:pk>/", policy_views.change, name="policy"),
    path("policies/<int:pk>/move/", policy_views.move, name="policy_move"),
    path("policies/<int:pk>/switch/", policy_views.switch, name="policy_switch"),
    path("policies/<int:pk>/delete/", policy_views.delete, name="policy_delete"),
]
