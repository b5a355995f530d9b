from django.urls import path

from mcpdesk.accounts import views

urlpatterns = [
    path("team/switch/", views.team_switch, name="team_switch"),
]
