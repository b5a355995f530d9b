"""What PostgreSQL itself refuses to do to the log, and the two doors that are left.

A door is a setting of one transaction that names what it is for. Erasure
(`mcpdesk.erasing` = the id of a person) may put commitments in place of that person's names, and
nothing else. Pruning (`mcpdesk.pruning` = the number of a seal) may remove the events of a seal
that says it is pruned, all of them or none. audit_commitment() is canonical.commitment() in SQL
(migration 0003), audit_erased() is what a person's erasure makes of an event (0004).
"""

import pgtrigger

ERASING = "mcpdesk.erasing"
PRUNING = "mcpdesk.pruning"

_ERASE = """
erasing := nullif(current_setting('mcpdesk.erasing', true), '')::bigint;
IF erasing IS NULL THEN
    RAISE EXCEPTION 'the log is append-only: an event cannot be changed';
END IF;
expected := audit_erased(OLD, erasing);
IF NEW IS DISTINCT FROM expected THEN
    RAISE EXCEPTION 'erasure puts commitments in place of names, and changes nothing else';
END IF;
RETURN NEW;
"""

_PRUNE = """
IF NOT EXISTS (
    SELECT FROM audit_seal
    WHERE team_id = OLD.team_id
        AND number = nullif(current_setting('mcpdesk.pruning', true), '')::int
        AND OLD.id BETWEEN first_event_id AND last_event_id
        AND pruned_at IS NOT NULL
) THEN
    RAISE EXCEPTION 'the log is append-only: only a sealed batch that is pruned can go';
END IF;
RETURN OLD;
"""

_WHOLE = """
IF EXISTS (
    SELECT FROM (SELECT team_id, min(id) AS first, max(id) AS last FROM gone GROUP BY team_id) g
    JOIN audit_seal s ON s.team_id = g.team_id
        AND s.first_event_id <= g.last AND s.last_event_id >= g.first
    JOIN audit_event e ON e.team_id = s.team_id
        AND e.id BETWEEN s.first_event_id AND s.last_event_id
) THEN
    RAISE EXCEPTION 'a sealed batch of the log goes as a whole, or stays';
END IF;
RETURN NULL;
"""

_SEAL = """
expected := OLD;
expected.pruned_at := NEW.pruned_at;
expected.pruned_signature := NEW.pruned_signature;
IF NEW IS DISTINCT FROM expected OR OLD.pruned_at IS NOT NULL
    OR NEW.pruned_at IS NULL OR NEW.pruned_signature IS NULL
THEN
    RAISE EXCEPTION 'a seal can be marked as pruned, once, and is never changed otherwise';
END IF;
IF EXISTS (
    SELECT FROM audit_seal
    WHERE team_id = OLD.team_id AND number < OLD.number AND pruned_at IS NULL
) THEN
    RAISE EXCEPTION 'the log is pruned from its beginning on';
END IF;
RETURN NEW;
"""

EVENT_TRIGGERS = [
    pgtrigger.Trigger(
        name="event_changes_names_only",
        operation=pgtrigger.Update,
        when=pgtrigger.Before,
        declare=[("erasing", "bigint"), ("expected", "audit_event")],
        func=_ERASE,
    ),
    pgtrigger.Trigger(
        name="event_goes_with_its_batch",
        operation=pgtrigger.Delete,
        when=pgtrigger.Before,
        func=_PRUNE,
    ),
    pgtrigger.Trigger(
        name="event_batch_goes_whole",
        operation=pgtrigger.Delete,
        when=pgtrigger.After,
        level=pgtrigger.Statement,
        referencing=pgtrigger.Referencing(old="gone"),  # type: ignore[no-untyped-call]
        func=_WHOLE,
    ),
    pgtrigger.Trigger(
        name="event_truncate",
        operation=pgtrigger.Truncate,
        when=pgtrigger.Before,
        level=pgtrigger.Statement,
        func="RAISE EXCEPTION 'the log is append-only: it cannot be emptied';",
    ),
]

SEAL_TRIGGERS = [
    pgtrigger.Trigger(
        name="seal_is_pruned_once",
        operation=pgtrigger.Update,
        when=pgtrigger.Before,
        declare=[("expected", "audit_seal")],
        func=_SEAL,
    ),
    pgtrigger.Trigger(
        name="seal_stays",
        operation=pgtrigger.Delete,
        when=pgtrigger.Before,
        func="RAISE EXCEPTION 'seals of the log stay for ever';",
    ),
    pgtrigger.Trigger(
        name="seal_truncate",
        operation=pgtrigger.Truncate,
        when=pgtrigger.Before,
        level=pgtrigger.Statement,
        func="RAISE EXCEPTION 'seals of the log stay for ever';",
    ),
]
