"""Functions of functions: derivatives and loops."""
