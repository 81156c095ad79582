"""llvmlite has no types of its own."""

__version__: str
