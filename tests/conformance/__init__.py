"""Samples made by PyTorch, and how Stele spells the same calls."""
