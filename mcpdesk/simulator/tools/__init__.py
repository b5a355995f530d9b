"""The tools, in groups: for the demo, for tests, for the official conformance suite."""
