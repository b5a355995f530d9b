from django.http import HttpRequest, HttpResponse
from django.urls import path


def health(request: HttpRequest) -> HttpResponse:
    """The web process answers; says nothing else, since anybody may ask."""
    return HttpResponse("ok", content_type="text/plain")


urlpatterns = [path("health/", health, name="health")]
