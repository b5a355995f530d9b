"""What layers above are told of the log."""

from django.dispatch import Signal

#: A verification found the first thing wrong in a team's log. Sent in its transaction, with
#: `team_id`, `sentence` (names the line) and `now` (UTC).
log_is_not_whole = Signal()
