"""Ops on one element at a time."""
