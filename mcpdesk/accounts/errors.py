"""What people may do wrong with accounts."""


class Refused(Exception):
    """Nothing was written; `sentence` says why, for the person who asked."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
