"""The desk of the engine's tests: what is logged, measured and traced of it."""

from tests.engine.conftest import scripted

__all__ = ["scripted"]
