"""Stele: a deep-learning framework that compiles itself."""
