"""Layers of networks: how they are made and called."""
