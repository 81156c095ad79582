"""Functions of networks: what they are called with."""
