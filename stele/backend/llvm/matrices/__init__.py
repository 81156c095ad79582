"""Algorithms on many small matrices, one in each lane."""
