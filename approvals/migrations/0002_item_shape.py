from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='approval',
            name='shape',
            field=models.CharField(choices=[('run', 'Run this tool?'), ('confirm', 'Confirm'), ('form', 'Form'), ('choose', 'Choose'), ('link', 'Open link'), ('unshown', 'Cannot be shown as a form'), ('unoffered', 'Not offered by this desk')], default='form', max_length=9),
            preserve_default=False,
        ),
    ]
