"""One team of the world: its people, its things by name, and the marks it is given."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from mcpdesk.accounts.models import Team, User
from tests.access.actors import (
    ADMIN,
    APPROVER,
    AUDITOR,
    EVERYBODY,
    OPERATOR,
    VISITOR,
)
from tests.access.planted import Garden

#: Who may read what an operation carried, by whom its question was put to (domain.md).
PUT_TO_APPROVERS = (APPROVER, OPERATOR, AUDITOR, ADMIN)
PUT_TO_OTHERS = (OPERATOR, AUDITOR, ADMIN)
NOT_EVEN_ADMINS = ()


@dataclass(slots=True)
class Household:
    """One team and what it has. `ids` names its things for addresses and forms."""

    team: Team
    garden: Garden
    #: who stands for a reader of the team: elsewhere nobody but its admins is looked at
    insiders: Collection[str]
    people: dict[str, User] = field(default_factory=dict)
    ids: dict[str, Any] = field(default_factory=dict)

    def mark(self, thing: str, label: str, readers: Collection[str]) -> str:
        """A mark for these roles; every insider of another team has all rights there."""
        here = set(EVERYBODY) <= set(self.insiders)
        eyes = set(readers) if here else set(self.insiders if readers else ())
        if here and set(readers) == set(EVERYBODY):
            eyes.add(VISITOR)
        return self.garden.plant(thing, label, eyes)

    def name(self, label: str) -> str:
        """A mark for what everybody in the team may know."""
        return self.mark("team", label, EVERYBODY)
