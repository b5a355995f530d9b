"""The site: its own door, its own few addresses, and nothing but reading."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, include, path

from mcpdesk.accounts.access import open_to_support
from mcpdesk.support import door
from mcpdesk.support.reading import ReadOnlyAdmin

READING = ("GET", "HEAD")
Page = Callable[..., HttpResponseBase]


class SupportSite(AdminSite):
    """Django's admin without its sign-in, its forms, its actions and its own log."""

    site_title = site_header = "mcpdesk support"
    index_title = "What support may look at"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return door.standing(request) is door.Standing.IN

    def admin_view(self, view: Page, cacheable: bool = False) -> Any:
        """A page behind the door, which is only ever read; middleware keeps it out of caches."""

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not self.has_permission(request):
                return door.way_in(request)
            if request.method not in READING:
                return HttpResponseNotAllowed(READING)
            return view(request, *args, **kwargs)

        return guarded

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Raises ImproperlyConfigured for what does not only read, or shows what it must not."""
        models = [model_or_iterable] if isinstance(model_or_iterable, type) else model_or_iterable
        if admin_class is None or not issubclass(admin_class, ReadOnlyAdmin):
            raise ImproperlyConfigured(f"{models}: support only reads (ReadOnlyAdmin)")
        for model in models:
            admin_class.refuse_secrets(model)
        super().register(models, admin_class, **options)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """The index, and of each kind of row its list and one row: no other page of the admin."""
        pages: list[URLPattern | URLResolver] = [
            path("", self.admin_view(self.index), name="index"),
            path("<slug:app_label>/", self.admin_view(self.app_index), name="app_list"),
        ]
        for model, rows in self._registry.items():
            place = f"{model._meta.app_label}/{model._meta.model_name}/"
            pages.append(path(place, include(rows.urls)))
        return pages

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """What there is to look at, and which teams let support look until when."""
        grants = list(open_to_support(datetime.now(UTC)))
        return super().index(request, {"grants": grants, **(extra_context or {})})
