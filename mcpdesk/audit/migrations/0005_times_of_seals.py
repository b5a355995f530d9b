import datetime

from django.db import migrations, models

BEGINNING = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
# seals made before they held these times (in no release) cannot be verified any more
CLEAR = """
ALTER TABLE audit_seal DISABLE TRIGGER USER;
DELETE FROM audit_seal;
DELETE FROM audit_verification;
ALTER TABLE audit_seal ENABLE TRIGGER USER;
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_erased")]
    operations = [
        migrations.RunSQL(CLEAR, migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="seal", name="seal_by_time"),
        migrations.RenameField("seal", "last_event_at", "latest_at"),
        migrations.AddField(
            "seal", "earliest_at", models.DateTimeField(default=BEGINNING), preserve_default=False
        ),
        migrations.AddIndex(
            "seal", models.Index(fields=["team", "latest_at", "number"], name="seal_by_latest")
        ),
        migrations.AddIndex(
            "event",
            models.Index(
                condition=models.Q(approval_id__isnull=False),
                fields=["approval_id", "id"],
                name="event_by_approval",
            ),
        ),
    ]
