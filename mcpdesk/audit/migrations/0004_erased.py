import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations

# what the erasure of a person makes of an event: commitments in place of their names
ERASED = """
CREATE FUNCTION audit_erased(event audit_event, person bigint) RETURNS audit_event
LANGUAGE plpgsql STABLE AS $$
DECLARE
    erased audit_event := event;
    person_salt uuid;
    field text;
BEGIN
    SELECT log_salt INTO person_salt FROM accounts_user WHERE id = person;
    IF event.actor_id = person AND event.actor_name !~ '^erased:[0-9a-f]{64}$' THEN
        erased.actor_name := 'erased:' || audit_commitment(person_salt, event.actor_name);
    END IF;
    FOR field IN SELECT left(key, -3) FROM jsonb_each(event.data)
        WHERE right(key, 3) = '_id' AND value = to_jsonb(person)
    LOOP
        IF jsonb_typeof(event.data -> field) = 'string'
            AND event.data ->> field !~ '^erased:[0-9a-f]{64}$'
        THEN
            erased.data := jsonb_set(erased.data, ARRAY[field],
                to_jsonb('erased:' || audit_commitment(person_salt, event.data ->> field)));
        END IF;
    END LOOP;
    RETURN erased;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_append_only")]
    operations = [
        migrations.RunSQL(ERASED, "DROP FUNCTION audit_erased(audit_event, bigint)"),
        pgtrigger.migrations.RemoveTrigger(
            model_name='event',
            name='event_changes_names_only',
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='event',
            trigger=pgtrigger.compiler.Trigger(name='event_changes_names_only', sql=pgtrigger.compiler.UpsertTriggerSql(declare='DECLARE erasing bigint; expected audit_event;', func="\nerasing := nullif(current_setting('mcpdesk.erasing', true), '')::bigint;\nIF erasing IS NULL THEN\n    RAISE EXCEPTION 'the log is append-only: an event cannot be changed';\nEND IF;\nexpected := audit_erased(OLD, erasing);\nIF NEW IS DISTINCT FROM expected THEN\n    RAISE EXCEPTION 'erasure puts commitments in place of names, and changes nothing else';\nEND IF;\nRETURN NEW;\n", hash='85f39bcb1bda53a91a338d049ac877ef83ffef99', operation='UPDATE', pgid='pgtrigger_event_changes_names_only_4e8de', table='audit_event', when='BEFORE')),
        ),
    ]
