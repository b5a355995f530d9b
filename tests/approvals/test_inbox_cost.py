"""500 open items cost the inbox and the badge as many queries as a handful do."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.inbox import fill
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team
from tests.approvals.conftest import Join

pytestmark = pytest.mark.django_db

PAGES = ["/inbox/", "/shell/inbox-badge/", "/inbox/?tab=team", "/inbox/?text=release&near=yes"]
#: The list with a whole item beside it; more than this, and something asks for each row.
MOST_QUERIES = 28


def _queries(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    return len(queries)


@pytest.mark.parametrize("role", [Role.APPROVER, Role.ADMIN])
def test_500_open_items_cost_no_more_queries_than_ten(
    team: Team, join: Join, operator: Member, role: Role
) -> None:
    client = Client()
    client.force_login(join(role).user)
    fill(team, operator.user, 10)
    few = [_queries(client, path) for path in PAGES]
    fill(team, operator.user, 490)
    assert [_queries(client, path) for path in PAGES] == few
    assert max(few) <= MOST_QUERIES
