import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_tokens_and_role_spans'),
        ('approvals', '0008_repairs'),
        ('tasks_monitor', '0012_history_lists'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='approval',
            name='server',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasks_monitor.server'),
        ),
        migrations.AddField(
            model_name='approval',
            name='started_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='approval',
            name='tool_name',
            field=models.CharField(default='', max_length=256),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='approval',
            name='words',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None),
        ),
        # what was there before is found in the history too
        migrations.RunSQL(
            """
            UPDATE approvals_approval a
            SET server_id = o.server_id, tool_name = o.tool_name, started_by_id = o.started_by_id
            FROM tasks_monitor_operation o WHERE o.id = a.operation_id;
            -- the rows' foreign keys are checked before the table is changed again
            SET CONSTRAINTS ALL IMMEDIATE;
            SET CONSTRAINTS ALL DEFERRED
            """,
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name='approval',
            name='server',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasks_monitor.server'),
        ),
        migrations.AddField(
            model_name='approval',
            name='took_ms',
            field=models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Cast(django.db.models.expressions.CombinedExpression(django.db.models.functions.datetime.Extract(django.db.models.expressions.CombinedExpression(models.F('closed_at'), '-', models.F('created_at')), 'epoch'), '*', models.Value(1000)), models.BigIntegerField()), output_field=models.BigIntegerField(null=True)),
        ),
        migrations.RemoveConstraint(model_name='savedfilter', name='filter_name_once'),
        migrations.AddField(
            model_name='savedfilter',
            name='place',
            field=models.CharField(choices=[('inbox', 'Inbox'), ('operations', 'History of operations'), ('approvals', 'History of approvals'), ('events', 'Audit')], default='inbox', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='savedfilter',
            constraint=models.UniqueConstraint(fields=('team', 'user', 'place', 'name'), name='filter_name_once', nulls_distinct=False),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['team', 'created_at', 'id'], name='approval_by_age'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['team', 'state', 'created_at', 'id'], name='approval_by_state'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['team', 'decision', 'created_at', 'id'], name='approval_by_decision'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['server', 'created_at', 'id'], name='approval_by_server'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['team', 'tool_name', 'created_at', 'id'], name='approval_by_tool'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['team', 'started_by', 'created_at', 'id'], name='approval_by_starter'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['team', 'took_ms', 'id'], name='approval_by_time_taken'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=django.contrib.postgres.indexes.GinIndex(fields=['words'], name='approval_words'),
        ),
        # so that the planner knows how rare a word is: most are, and then the index of words is best
        migrations.RunSQL(
            'ALTER TABLE approvals_approval ALTER COLUMN words SET STATISTICS 1000',
            'ALTER TABLE approvals_approval ALTER COLUMN words SET STATISTICS -1',
        ),
    ]
