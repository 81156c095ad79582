"""What Stele uses of llvmlite, for type checkers."""
__version__: str
