"""Faults: the ways in which servers in the field misbehave, as data."""
