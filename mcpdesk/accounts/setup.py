"""The first start: a team and its admin, when there is nobody yet."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.text import slugify

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.mailbox import MAILBOX, mailbox
from mcpdesk.accounts.models import Membership, Role, Team, User


def needs_first_admin() -> bool:
    """Whether nobody can sign in yet."""
    return not User.objects.exists()


@transaction.atomic
def create_first_admin(email: str, password: str, name: str, team_name: str) -> User:
    """Make the team and its admin.

    Raises `Refused` (with a sentence) for an address or a password that will not do, and when
    there are people already: they add others on the Team page.
    """
    if not needs_first_admin():
        raise Refused("There are accounts already. An admin adds people on the Team page.")
    user = User(email=checked_email(email), name=name.strip() or email)
    check_password(password, user)
    user.set_password(password)
    user.save()
    team = Team.objects.create(name=team_name.strip() or "Team", slug=free_slug(team_name))
    Membership.objects.create(team=team, user=user, role=Role.ADMIN)
    return user


def checked_email(email: str) -> str:
    """The address as it is kept (lower case). Raises `Refused` when it is not one.

    Only plain ones are taken: letters that look like others, and quotes that mean nothing, would
    make a second account of one address.
    """
    kept = email.strip().lower()
    try:
        validate_email(kept)
    except ValidationError:
        raise Refused(f"{email or 'Nothing'} is not an e-mail address.") from None
    if not kept.isascii() or '"' in kept:
        raise Refused(
            "Write the address in plain ASCII characters and without quotes; "
            "a domain with other letters in its xn-- form."
        )
    return kept


def refuse_second_account(email: str) -> None:
    """Raise `Refused` where a checked address is another spelling of somebody's mailbox."""
    same = User.objects.alias(mailbox=MAILBOX).filter(mailbox=mailbox(email))
    other = same.exclude(email__iexact=email).first()
    if other is not None:
        raise Refused(
            f"{email} and {other.email} are one mailbox, and a person has one account: "
            f"the one of {other.email}."
        )


def check_password(password: str, user: User) -> None:
    """Raise `Refused` with every reason why this password is too weak for this person."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from None


def free_slug(team_name: str) -> str:
    """A slug for a new team that no other team has."""
    wanted = slugify(team_name)[:34] or "team"
    taken = set(Team.objects.filter(slug__startswith=wanted).values_list("slug", flat=True))
    number, slug = 1, wanted
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug
