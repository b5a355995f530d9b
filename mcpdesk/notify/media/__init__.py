"""The ways a message travels. Each takes messages and returns what became of them."""
