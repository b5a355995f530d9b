"""The one exception of the embedded default: its text is what the person reads."""


class StartError(Exception):
    """Something a person must change before the desk can run: what it is, and what to do."""
