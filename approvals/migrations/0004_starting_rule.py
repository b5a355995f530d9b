"""Teams from before there was a gate keep what they had: starting is the permission."""

from django.db import migrations
from django.utils import timezone

NAME = "Starting is the permission"


def give_starting_rule(apps, schema_editor):
    """One rule that allows every call, for each team there is, with its event."""
    PolicyRule = apps.get_model("approvals", "PolicyRule")
    Event = apps.get_model("audit", "Event")
    now = timezone.now()
    for team in apps.get_model("accounts", "Team").objects.order_by("pk"):
        PolicyRule.objects.create(
            team=team, position=1, name=NAME, effect="allow", match={}, ask={}, changed_at=now
        )
        Event.objects.create(
            at=now,
            team=team,
            kind="policy.added",
            actor_name="The desk",
            channel="command",
            data={"rule": NAME, "effect": "allow", "number": 1},
        )


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0003_gate"),
        ("accounts", "0001_initial"),
        ("audit", "0001_initial"),
    ]

    operations = [migrations.RunPython(give_starting_rule, migrations.RunPython.noop)]
