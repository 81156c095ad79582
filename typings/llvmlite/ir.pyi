"""llvmlite has no types of its own; what is not said here is Any."""
from typing import Any

def __getattr__(name: str) -> Any: ...
