"""Entries by name, as JSON in files that others wrote."""
from __future__ import annotations

import json
from typing import Any

from stele.errors import DataError, kind


def entries(content: bytes, source: str) -> dict[str, Any]:
    """An object of JSON. Raises DataError, which says of the source what is wrong with it."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is no JSON: {one_line(error)}") from None
    if not isinstance(found, dict):
        raise DataError(f"{source} is an object of JSON, got {kind(found)}")
    return found    # pyright: ignore[reportUnknownVariableType]


def one_line(error: Exception) -> str:
    """What a library says, in one line of a fair length."""
    return " ".join(str(error).split())[:200]
