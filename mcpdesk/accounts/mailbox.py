"""When two e-mail addresses are one mailbox: a person must not get a second account by spelling."""

import re
from typing import Final

from django.db.models import Func, Value
from django.db.models.functions import Lower

# what stands behind a plus in the local part is a label of the mailbox's owner (RFC 5233)
_LABEL: Final = r"([^@+])\+[^@]*@"
_WITHOUT: Final = r"\1@"

#: mailbox() as an expression on users, for the constraint and for look-ups.
MAILBOX: Final = Func(Lower("email"), Value(_LABEL), Value(_WITHOUT), function="regexp_replace")


def mailbox(email: str) -> str:
    """The mailbox of a plain address: lower case, without what stands behind a plus."""
    return re.sub(_LABEL, _WITHOUT, email.lower(), count=1)
