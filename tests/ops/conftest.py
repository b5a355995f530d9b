"""The desks of the engine's tests: what is logged, measured and traced of them."""

from tests.engine.conftest import desk, engine_network, scripted

__all__ = ["desk", "engine_network", "scripted"]
