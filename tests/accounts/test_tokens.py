"""Tokens: how they look, who stands behind one, what each may."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.accounts import tokens
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.accounts.tokens import Scope, State
from tests.api.calling import a_token
from tests.factories import MembershipFactory, TeamFactory

NOW = datetime(2026, 11, 29, 14, 0, tzinfo=UTC)


@pytest.fixture
def member(db: None) -> Membership:
    return MembershipFactory(role=Role.OPERATOR)


def test_a_new_token_is_well_formed_and_none_comes_twice() -> None:
    made = {tokens.new_secret() for _ in range(200)}
    assert len(made) == 200
    assert all(tokens.is_well_formed(secret) and len(secret) == 42 for secret in made)


@given(st.integers(4, 41), st.sampled_from("0aZ_é"))
def test_one_letter_changed_is_seen_without_asking_the_database(place: int, letter: str) -> None:
    secret = tokens.new_secret()
    changed = f"{secret[:place]}{letter}{secret[place + 1 :]}"
    assert tokens.is_well_formed(changed) == (changed == secret)


@given(st.text())
def test_anything_that_is_no_token_is_no_token(text: str) -> None:
    assert not tokens.is_well_formed(text)
    assert not tokens.is_well_formed(f"mdk_{text}")


def test_what_is_shown_of_a_token_leaves_its_secret_a_secret() -> None:
    secret = tokens.new_secret()
    # 26 letters and digits besides the check sum stay unknown: 154 bits
    assert len(secret) - len(tokens.shown_part(secret)) - 6 == 26


def test_a_token_is_found_by_its_secret_until_it_ends_or_is_revoked(member: Membership) -> None:
    token, secret = a_token(member.team, member.user, expires_at=NOW + timedelta(days=1))
    assert tokens.find(secret, NOW) == token
    assert tokens.find(secret, NOW + timedelta(days=1)) is None
    assert tokens.find(tokens.new_secret(), NOW) is None
    token.revoked_at = NOW
    token.save()
    assert tokens.find(secret, NOW) is None


def test_no_row_holds_what_opens_doors(member: Membership) -> None:
    token, secret = a_token(member.team, member.user)
    kept = " ".join(str(getattr(token, field.attname)) for field in token._meta.fields)
    assert secret not in kept
    assert secret[12:] not in kept


def test_a_person_acts_in_the_role_of_the_moment(member: Membership) -> None:
    token, _ = a_token(member.team, member.user)
    Membership.objects.filter(pk=member.pk).update(role=Role.VIEWER)
    holder = tokens.holder(token, NOW)
    assert holder is not None
    assert holder.role is Role.VIEWER


def test_nobody_acts_by_a_token_whose_person_has_left_or_is_deactivated(
    member: Membership,
) -> None:
    token, _ = a_token(member.team, member.user)
    member.user.is_active = False
    member.user.save()
    assert tokens.holder(token, NOW) is None
    member.user.is_active = True
    member.user.save()
    member.delete()
    assert tokens.holder(token, NOW) is None


def test_membership_of_another_team_is_none_in_this_one(member: Membership) -> None:
    token, _ = a_token(TeamFactory(), member.user)
    assert tokens.holder(token, NOW) is None


def test_a_service_decides_nothing_even_where_its_row_says_so(member: Membership) -> None:
    token, _ = a_token(member.team, scopes=list(Scope))
    assert [scope for scope in Scope if not tokens.allows(token, scope)] == [
        Scope.DECIDE,
        Scope.REPAIR,
    ]


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        (Role.VIEWER, {"read"}),
        (Role.APPROVER, {"read", "decide"}),
        (Role.OPERATOR, {"read", "start", "cancel", "decide", "repair"}),
        (Role.AUDITOR, {"read", "export"}),
        (Role.ADMIN, {"read", "start", "cancel", "decide", "export", "repair"}),
    ],
)
def test_the_scopes_on_offer_are_those_of_the_role(role: Role, scopes: set[str], db: None) -> None:
    token, _ = a_token((member := MembershipFactory(role=role)).team, member.user)
    holder = tokens.holder(token, NOW)
    assert holder is not None
    assert set(tokens.scopes_of(holder)) == scopes


def test_the_last_use_is_kept_to_the_minute_and_written_once_in_one(member: Membership) -> None:
    token, _ = a_token(member.team, member.user)
    tokens.note_use(token, NOW + timedelta(seconds=42))
    token.refresh_from_db()
    assert token.last_used_at == NOW
    tokens.note_use(token, NOW + timedelta(seconds=59))
    token.refresh_from_db()
    assert token.last_used_at == NOW
    tokens.note_use(token, NOW + timedelta(seconds=61))
    token.refresh_from_db()
    assert token.last_used_at == NOW + timedelta(minutes=1)


def test_each_state_has_its_words(member: Membership) -> None:
    token, _ = a_token(member.team, member.user, expires_at=NOW)
    before = NOW - timedelta(seconds=1)
    assert tokens.state(token, before) is State.ACTIVE
    assert tokens.state(token, before, in_team=False) is State.ASLEEP
    assert tokens.state(token, NOW) is State.EXPIRED
    token.revoked_at = before
    assert tokens.state(token, before) is State.REVOKED
