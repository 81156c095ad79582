"""Digests of the code that is emitted, and of memory plans, for many kernels on machines that need not be there."""
