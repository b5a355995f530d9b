"""PostgreSQL itself keeps the history of roles and absences, so that no path can forget it.

Times are the database's own (clock_timestamp(): later for whoever waited for a lock). A span that
was closed stays as it is.
"""

import pgtrigger

# The person is locked against a change of is_active: of a deactivation and a new membership at
# once, the second sees the first.
_MEMBERSHIP = """
IF TG_OP = 'UPDATE' AND (OLD.team_id, OLD.user_id, OLD.role)
    IS NOT DISTINCT FROM (NEW.team_id, NEW.user_id, NEW.role)
THEN
    RETURN NULL;
END IF;
moment := clock_timestamp();
IF TG_OP <> 'INSERT' THEN
    PERFORM FROM accounts_user WHERE id = OLD.user_id FOR SHARE;
    UPDATE accounts_rolespan SET ends_at = moment
        WHERE team_id = OLD.team_id AND user_id = OLD.user_id AND ends_at IS NULL;
END IF;
IF TG_OP <> 'DELETE' THEN
    PERFORM FROM accounts_user WHERE id = NEW.user_id AND is_active FOR SHARE;
    IF FOUND THEN
        INSERT INTO accounts_rolespan (team_id, user_id, role, starts_at)
            VALUES (NEW.team_id, NEW.user_id, NEW.role, moment);
    END IF;
END IF;
RETURN NULL;
"""

_USER = """
moment := clock_timestamp();
IF NEW.is_active THEN
    INSERT INTO accounts_rolespan (team_id, user_id, role, starts_at)
        SELECT team_id, user_id, role, moment FROM accounts_membership WHERE user_id = NEW.id;
ELSE
    UPDATE accounts_rolespan SET ends_at = moment WHERE user_id = NEW.id AND ends_at IS NULL;
END IF;
RETURN NULL;
"""

_ABSENCE = """
IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
    RETURN NULL;
END IF;
moment := clock_timestamp();
IF TG_OP <> 'INSERT' THEN
    UPDATE accounts_absencespan SET said_until = moment
        WHERE absence_id = OLD.id AND said_until IS NULL;
END IF;
IF TG_OP <> 'DELETE' THEN
    INSERT INTO accounts_absencespan
        (absence_id, team_id, user_id, stand_in_id, starts_at, ends_at, said_from)
        VALUES (NEW.id, NEW.team_id, NEW.user_id, NEW.stand_in_id,
            NEW.starts_at, NEW.ends_at, moment);
END IF;
RETURN NULL;
"""

_MOMENT = [("moment", "timestamptz")]


def _closed_once(name: str, table: str, end: str) -> pgtrigger.Trigger:
    return pgtrigger.Trigger(
        name=name,
        operation=pgtrigger.Update | pgtrigger.Delete,
        when=pgtrigger.Before,
        declare=[("expected", table)],
        func=f"""
IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'the history of people stays';
END IF;
expected := OLD;
expected.{end} := NEW.{end};
IF NEW IS DISTINCT FROM expected OR OLD.{end} IS NOT NULL OR NEW.{end} IS NULL THEN
    RAISE EXCEPTION 'the history of people is closed once, and never changed otherwise';
END IF;
RETURN NEW;
""",
    )


MEMBERSHIP_TRIGGERS = [
    pgtrigger.Trigger(
        name="membership_keeps_its_history",
        operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
        when=pgtrigger.After,
        declare=_MOMENT,
        func=_MEMBERSHIP,
    ),
]

USER_TRIGGERS = [
    pgtrigger.Trigger(
        name="user_keeps_history_of_roles",
        operation=pgtrigger.UpdateOf("is_active"),  # type: ignore[no-untyped-call]
        when=pgtrigger.After,
        condition=pgtrigger.Q(old__is_active__df=pgtrigger.F("new__is_active")),
        declare=_MOMENT,
        func=_USER,
    ),
]

ABSENCE_TRIGGERS = [
    pgtrigger.Trigger(
        name="absence_keeps_its_history",
        operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
        when=pgtrigger.After,
        declare=_MOMENT,
        func=_ABSENCE,
    ),
]

ROLE_SPAN_TRIGGERS = [_closed_once("role_span_is_closed_once", "accounts_rolespan", "ends_at")]
ABSENCE_SPAN_TRIGGERS = [
    _closed_once("absence_span_is_closed_once", "accounts_absencespan", "said_until")
]
