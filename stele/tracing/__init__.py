"""A Python function becomes a graph."""
