"""What all lists and rows of the support pages have in common.

They read and never write; they show named columns only, none that is encrypted and no free text but
what the desk itself writes; and they hold rows of teams that let support look, each look an event.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured, ValidationError
from django.core.paginator import Paginator
from django.db import models
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import formats, timezone
from django.utils.functional import cached_property

from approvals.templatetags.theirs import revealed
from mcpdesk.accounts.access import open_to_support, seen_by_support
from mcpdesk.accounts.models import Team, User
from mcpdesk.encryption import EncryptedJSONField
from mcpdesk.support import looks
from tasks_monitor.models import Server

#: A list goes back this far; filters reach what is older.
MOST = 1_000
#: Columns of text that may be shown: names that stand in the log too, and words of the desk.
TEXTS: Final = frozenset(
    {
        "name",
        "slug",
        "tool_name",
        "process",
        "protocol_version",
        "not_before_reason",
        "last_problem",
        "last_error",
        "off_because",
        "event",
    }
)
#: Rows that another row may show the name of.
_NAMED = (Team, Server, User)
_PLAIN = (
    models.AutoField,
    models.BooleanField,
    models.DateTimeField,
    models.IntegerField,
    models.UUIDField,
)


def is_plain(column: "models.Field[Any, Any]") -> bool:
    """Whether support may see this column: ids, states, counts, times, and TEXTS."""
    if isinstance(column, EncryptedJSONField):
        return False
    if column.is_relation:
        return column.primary_key or column.related_model in _NAMED
    is_state = isinstance(column, models.CharField) and bool(column.choices)
    return is_state or isinstance(column, _PLAIN) or column.name in TEXTS


def _column(model: type[Model], path: str) -> "models.Field[Any, Any]":
    """The column at the end of a path over relations. Raises FieldDoesNotExist."""
    *relations, name = path.split("__")
    for relation in relations:
        model = model._meta.get_field(relation).related_model  # type: ignore[assignment]
    return model._meta.get_field(name)  # type: ignore[return-value]


def along(path: str, label: str) -> Callable[[Any, Any], Any]:
    """What stands at the end of a path (a column, or one of `related`), as it may be shown."""

    @admin.display(description=label)
    def value(self: Any, row: Any) -> Any:
        for name in path.split("__"):
            row = None if row is None else getattr(row, name, None)
        return _said(row)

    return value


def _said(value: Any) -> Any:
    """What somebody wrote without what hides in it; times in the reader's zone, with its name."""
    match value:
        case str():
            return revealed(value)
        case bool():
            return "yes" if value else "no"
        case datetime():
            return formats.localize(timezone.localtime(value))
    return value


class ReadOnly:
    """Shared by lists with their rows, and by rows that stand within another's page.

    `shown`: what a row's page shows; `related`: columns of other rows that are read along.
    """

    model: type[Model]
    admin_site: Any
    shown: ClassVar[Sequence[str]]
    related: ClassVar[Sequence[str]] = ()

    @classmethod
    def refuse_secrets(cls, model: type[Model]) -> None:
        """Raise ImproperlyConfigured where a column is shown that support must not see."""
        for path in (*cls.names(), *cls.related):
            if hasattr(cls, path):
                continue  # along(): its path is one of `related`
            try:
                column = _column(model, path)
            except FieldDoesNotExist as error:
                raise ImproperlyConfigured(f"{model.__name__} has no {path}") from error
            if not is_plain(column):
                raise ImproperlyConfigured(f"support may not see {model.__name__}.{path}")

    @classmethod
    def names(cls) -> Iterator[str]:
        """Every column that is shown somewhere."""
        yield from cls.shown

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return bool(self.admin_site.has_permission(request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(self.admin_site.has_permission(request))

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: object = None) -> Any:
        return self.shown

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> Any:
        return self.shown

    def only_plain(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        """The rows without any column that support must not see: it is not even read."""
        columns = rows.model._meta.concrete_fields
        plain = [one.name for one in columns if one.is_relation or is_plain(one)]
        others = sorted({path.rpartition("__")[0] for path in self.related})
        found = rows.select_related(*others) if others else rows
        return found.only(*plain, *self.related)


class Part(ReadOnly, admin.TabularInline):  # type: ignore[type-arg]
    """Rows within the page of the row that they belong to."""

    extra = 0
    can_delete = False
    show_change_link = False
    template = "admin/support_part.html"

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        return self.only_plain(super().get_queryset(request))


class TeamFilter(admin.SimpleListFilter):
    """One team at a time, among those that let support look; the first where none is chosen."""

    title = "team"
    parameter_name = "team"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.team_path = model_admin.team_path
        grants = open_to_support(datetime.now(UTC))
        return [(str(grant.team_id), str(grant.team)) for grant in grants]

    def chosen(self) -> str | None:
        """The id of a team that lets support look, as it stands in the address; None: no such."""
        allowed = [team for team, _ in self.lookup_choices]
        wanted = self.value() or next(iter(allowed), None)
        return wanted if wanted in allowed else None

    def choices(self, changelist: Any) -> Iterator[Any]:
        for team, name in self.lookup_choices:
            here = changelist.get_query_string({self.parameter_name: team})
            yield {"selected": team == self.chosen(), "query_string": here, "display": name}

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        chosen = self.chosen()
        return queryset.none() if chosen is None else queryset.filter(**{self.team_path: chosen})


class FewPages(Paginator):  # type: ignore[type-arg]
    """Counts no further than MOST."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows[:MOST].count())


class ReadOnlyAdmin(ReadOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    """A list, and the page of one row.

    `listed`: the columns of the list. `team_path`: from a row to its team's id; empty for rows of
    the desk itself, which are about no team.
    """

    listed: ClassVar[Sequence[str]]
    team_path: ClassVar[str] = "team_id"

    actions = None
    paginator = FewPages
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    search_fields = ("pk",)
    search_help_text = "A whole id"
    view_on_site = False
    empty_value_display = "–"

    @classmethod
    def names(cls) -> Iterator[str]:
        yield from (*cls.shown, *cls.listed)

    @classmethod
    def refuse_secrets(cls, model: type[Model]) -> None:
        super().refuse_secrets(model)
        for part in cls.inlines:
            part.refuse_secrets(part.model)  # type: ignore[attr-defined]

    def get_urls(self) -> list[Any]:
        kept = ("_changelist", "_change")
        return [page for page in super().get_urls() if str(page.name).endswith(kept)]

    def get_list_display(self, request: HttpRequest) -> Any:
        return self.listed

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        rows = self.only_plain(super().get_queryset(request))
        if not self.team_path:
            return rows
        return seen_by_support(rows, self.team_path, datetime.now(UTC))

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> "tuple[QuerySet[Any], bool]":
        """The row with this id; words are not searched."""
        if not search_term.strip():
            return queryset, False
        try:
            wanted = self.opts.pk.to_python(search_term.strip())
        except ValidationError:
            return queryset.none(), False
        return queryset.filter(pk=wanted), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what the filters of the page ask: others would find out what is not shown."""
        if lookup == TeamFilter.parameter_name:
            return TeamFilter in self.list_filter
        column, _, how = lookup.rpartition("__")
        return column in self.list_filter and how in {"exact", "isnull", "gte", "lt"}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list; nothing of it is shown before it is in the team's log."""
        title = str(self.opts.verbose_name_plural)
        more = {"most": MOST, "title": title[:1].upper() + title[1:], **(extra_context or {})}
        page = super().changelist_view(request, more)
        shown = (getattr(page, "context_data", None) or {}).get("cl")
        for spec in shown.filter_specs if shown is not None else ():
            if isinstance(spec, TeamFilter):
                self._note_list(request, spec.chosen())
        return page

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """One row; nothing of it is shown before it is in the team's log."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        if self.team_path:
            self._note_row(request, row)
        title = f"{self.opts.verbose_name} {row.pk}"
        more = {"title": title[:1].upper() + title[1:], "subtitle": None, **(extra_context or {})}
        return super().change_view(request, object_id, form_url, more)

    def _note_list(self, request: HttpRequest, team: str | None) -> None:
        if team is not None and isinstance(request.user, User):
            what = str(self.opts.verbose_name_plural)
            looks.note_list(request.user, int(team), what, datetime.now(UTC))

    def _note_row(self, request: HttpRequest, row: Any) -> None:
        team = row
        for name in self.team_path.split("__"):
            team = getattr(team, name)
        if isinstance(request.user, User):
            what = str(self.opts.verbose_name)
            looks.note_row(request.user, team, what, row.pk, datetime.now(UTC))
