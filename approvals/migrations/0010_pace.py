from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0009_history_lists")]

    operations = [
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                condition=models.Q(("decided_at__isnull", False)),
                fields=["team", "decided_at"],
                include=("server", "tool_name", "took_ms"),
                name="approval_decided",
            ),
        ),
    ]
