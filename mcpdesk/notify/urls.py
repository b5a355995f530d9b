from django.urls import path

from mcpdesk.notify.views import alerts, channels, mine

urlpatterns = [
    path("team/channels/", channels.overview, name="channels"),
    path("team/channels/arguments/", channels.arguments, name="channel_arguments"),
    path("team/channels/new/<slug:kind>/", channels.new, name="channel_new"),
    path("team/channels/<int:pk>/", channels.channel, name="channel"),
    path("team/channels/<int:pk>/switch/", channels.switch, name="channel_switch"),
    path("team/channels/<int:pk>/rotate/", channels.rotate, name="channel_rotate"),
    path("team/channels/<int:pk>/test/", channels.test, name="channel_test"),
    path("team/channels/<int:pk>/delete/", channels.delete, name="channel_delete"),
    path("team/messages/<uuid:message_id>/again/", channels.again, name="message_again"),
    path("alerts/", alerts.overview, name="alerts"),
    path("alerts/<int:pk>/seen/", alerts.seen, name="alert_seen"),
    path("shell/alerts-badge/", alerts.badge, name="alerts_badge"),
    path("profile/notifications/", mine.mine, name="my_notifications"),
    path("profile/notifications/browsers/", mine.subscribe, name="browser_subscribe"),
    path(
        "profile/notifications/browsers/<int:pk>/remove/",
        mine.unsubscribe,
        name="browser_unsubscribe",
    ),
    path("push-worker.js", mine.worker, name="push_worker"),
]
