from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0005_trust"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="approval",
            name="people",
            field=models.ManyToManyField(
                blank=True, related_name="approvals_put_to", to=settings.AUTH_USER_MODEL
            ),
        ),
    ]
