"""What a verb of the engine refuses."""


class Refused(Exception):
    """The verb was not done and nothing was written. `sentence` says why and what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
