"""What the pages of the log read."""

from dataclasses import dataclass

from django.db.models import Max, Min, Q, QuerySet

from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import User
from mcpdesk.audit.event_filters import EventFilters
from mcpdesk.audit.lines import seals_of
from mcpdesk.audit.models import Event, Seal, Verification
from mcpdesk.keyset import Order

#: The log as a page shows it, and as a file has it.
NEWEST_FIRST = Order("pk")
OLDEST_FIRST = Order("pk", descending=False)


def events(member: Member, filters: EventFilters) -> QuerySet[Event]:
    """The team's events that the filters leave; nothing for who may not read the history."""
    if not member.may(Permission.READ_HISTORY):
        return Event.objects.none()
    found = Event.objects.filter(filters.conditions(), team_id=member.team_id)
    return found.filter(_ids(member.team_id, filters))


def _ids(team_id: int, filters: EventFilters) -> Q:
    """Between which ids events of the wanted days lie, as their seals tell.

    Without it, a page of a day in March would be looked for from today on, event by event.
    """
    seals = Seal.objects.filter(team_id=team_id)
    found = Q()
    if filters.begins_at:
        first = seals.filter(latest_at__gte=filters.begins_at).aggregate(n=Min("number"))["n"]
        found &= Q(pk__gt=_last_before(seals, first))
    if filters.ends_before and not _unsealed_before(team_id, seals, filters):
        last = seals.filter(earliest_at__lt=filters.ends_before).aggregate(n=Max("number"))["n"]
        found &= Q(pk__lte=_last_of(seals, last))
    return found


def _last_before(seals: QuerySet[Seal], number: int | None) -> int:
    """The last id before a seal; before what is not sealed, where no seal fits."""
    before = seals if number is None else seals.filter(number__lt=number)
    # ids go up with the numbers of seals: the last one alone is read
    return before.order_by("-number").values_list("last_event_id", flat=True).first() or 0


def _last_of(seals: QuerySet[Seal], number: int | None) -> int:
    if number is None:
        return 0
    return seals.values_list("last_event_id", flat=True).get(number=number)


def _unsealed_before(team_id: int, seals: QuerySet[Seal], filters: EventFilters) -> bool:
    """Whether an event that is not sealed yet belongs to the wanted days: few are not."""
    sealed_to = _last_of(seals, seals.aggregate(n=Max("number"))["n"])
    unsealed = Event.objects.filter(team_id=team_id, pk__gt=sealed_to)
    return unsealed.filter(at__lt=filters.ends_before).exists()


def people(team_id: int) -> list[User]:
    """Whoever may have done something in the team, by name: its members, and those it had."""
    theirs = Q(memberships__team=team_id) | Q(role_spans__team=team_id)
    return list(User.objects.filter(theirs).only("name", "email").distinct().order_by("name", "pk"))


@dataclass(frozen=True, slots=True)
class State:
    """How far the log is sealed and verified."""

    last: Seal | None
    verification: Verification | None

    @property
    def is_under_way(self) -> bool:
        """Whether the log is being verified from its beginning on now."""
        return self.verification is not None and self.verification.finished_at is None

    @property
    def percent(self) -> int:
        """How far this pass has come."""
        if self.last is None or self.verification is None:
            return 0
        return min(100, 100 * self.verification.number // self.last.number)


def state(team_id: int) -> State:
    """In two queries; nothing but the rows is looked at."""
    seals = seals_of(team_id).defer("lines").order_by("-number")
    return State(seals.first(), Verification.objects.filter(pk=team_id).first())
