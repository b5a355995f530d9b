import django.db.models.functions.text
from django.db import migrations, models
from django.db.migrations.state import StateApps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from mcpdesk.accounts.mailbox import MAILBOX


def say_who_has_two(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A sentence instead of a constraint's error: the desk does not choose between accounts."""
    user = apps.get_model("accounts", "User")
    active = user.objects.filter(is_active=True).annotate(mailbox=MAILBOX)
    twice = active.values("mailbox").annotate(n=models.Count("pk")).filter(n__gt=1)
    several = active.filter(mailbox__in=twice.values("mailbox")).order_by("mailbox", "pk")
    if several:
        named = ", ".join(several.values_list("email", flat=True))
        raise RuntimeError(
            f"{named}: these accounts share a mailbox, and a person has one account. "
            "Deactivate all but one of each with the version before, then update again."
        )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_trust")]

    operations = [
        migrations.RunPython(say_who_has_two, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                models.Func(
                    django.db.models.functions.text.Lower("email"),
                    models.Value(r"([^@+])\+[^@]*@"),
                    models.Value(r"\1@"),
                    function="regexp_replace",
                ),
                condition=models.Q(("is_active", True)),
                name="one_active_user_per_mailbox",
            ),
        ),
    ]
