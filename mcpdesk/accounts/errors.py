"""What people may do wrong with accounts, channels, policies and what is remembered.

What they may do wrong with operations is an error of the engine (tasks_monitor.engine.errors).
"""


class Refused(Exception):
    """Nothing was written; `sentence` says why, for the person who asked."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
