"""The words that items are told apart by, and what people can say to them."""

from django.db import models


class Kind(models.TextChoices):
    GATE = "gate", "Run this tool?"
    ANSWER = "answer", "The server asks"


class Shape(models.TextChoices):
    """What kind of answer an item takes; fixed when it is made, so that lists can filter by it."""

    RUN = "run", "Run this tool?"
    CONFIRM = "confirm", "Confirm"
    FORM = "form", "Form"
    CHOOSE = "choose", "Choose"
    LINK = "link", "Open link"
    # it can be declined or cancelled
    UNSHOWN = "unshown", "Cannot be shown as a form"
    # it can only end with its operation
    UNOFFERED = "unoffered", "Not offered by this desk"


class Audience(models.TextChoices):
    """Who may decide, fixed when the approval is made (access.put_to reads it)."""

    REQUESTER = "requester", "whoever started it"
    APPROVERS = "approvers", "the team's approvers"
    ADMINS = "admins", "the team's admins"
    PEOPLE = "people", "named people"


class ApprovalState(models.TextChoices):
    OPEN = "open", "Open"
    DECIDED = "decided", "Decided"
    WITHDRAWN = "withdrawn", "Withdrawn by the server"
    SUPERSEDED = "superseded", "Replaced by a changed question"
    EXPIRED = "expired", "Expired"
    CLOSED = "closed", "Closed with its operation"


class Choice(models.TextChoices):
    """What a person can say to a server's question (ElicitResult.action)."""

    ACCEPT = "accept", "Accepted"
    DECLINE = "decline", "Declined"
    CANCEL = "cancel", "Cancelled"


class Verdict(models.TextChoices):
    """What a person can say to a gate, and what a gate comes to."""

    APPROVE = "approve", "Approved"
    DENY = "deny", "Denied"
