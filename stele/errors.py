"""The exceptions of Stele: each says what was asked, what came, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["ArgumentError", "BadAxis", "BadKey", "Cancelled", "CompileError", "ConfigError", "CopyError",
           "DTypeError", "DataError", "DeviceError", "GraphError", "IndexOutOfRange", "NoProtocol", "NotANumber",
           "OptionError", "OutOfMemory", "ShapeError", "SteleError", "StorageError", "TraceError", "UnknownImport",
           "UnknownName"]


class SteleError(Exception):
    """An error that teaches: the message, the user's line (`where`), and what to write instead (`hint`).

    >>> print(ShapeError("matmul needs x.shape[-1] == w.shape[-2], got (8, 3) @ (4, 5)",
    ...                  where="model.py:12", hint="Did you mean w.T?"))
    matmul needs x.shape[-1] == w.shape[-2], got (8, 3) @ (4, 5) at model.py:12. Did you mean w.T?
    """

    asked = ""
    """The function that was called, where the message does not say it."""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = str(self.args[0])
        if self.asked.replace("_", "") not in text.lower().replace("_", ""):
            text = f"{self.asked}: {text}"
        if self.where:
            text = f"{text.rstrip('.')} at {self.where}"
        if not self.hint:
            return text
        return f"{text}{'' if text.endswith(('.', '?', '!')) else '.'} {self.hint}"


# fmt: off
class ConfigError(SteleError, ValueError):      """A STELE_* variable holds a value that it cannot have."""
class ShapeError(SteleError, ValueError):       """Shapes do not fit the operation."""
class DTypeError(SteleError, TypeError):        """Element types do not fit the operation."""
class ArgumentError(SteleError, TypeError):     """An argument is not of the kind that the function takes."""
class NoProtocol(ArgumentError, AttributeError): """An argument lacks the methods of a protocol."""
class OptionError(SteleError, ValueError):      """An option is none of those there are."""
class UnknownName(SteleError, AttributeError): """A name that does not exist here; the message says which one does."""
class UnknownImport(SteleError, ImportError): """The same of a name that is imported, `from stele import name`."""
class GraphError(SteleError, ValueError):       """A graph breaks one of its invariants."""
class TraceError(SteleError, RuntimeError):     """A Python function did something that no graph can hold."""
class DataError(SteleError, ValueError):        """Data from outside (a file, an array) is not what it should be."""
class DeviceError(SteleError, RuntimeError):    """A device is missing, or does not have what was asked of it."""
class CompileError(SteleError, RuntimeError):   """LLVM refused a module, or an object refers to a forbidden symbol."""
class IndexOutOfRange(SteleError, IndexError):  """An index lies outside of its axis."""
class BadAxis(ShapeError, IndexError):          """An axis that the array does not have."""
class BadKey(ShapeError, IndexError):           """What stands in x[...] does not fit the axes of x."""
class CopyError(SteleError, BufferError, ValueError): """A copy would be needed where none may be made."""
class Cancelled(SteleError, RuntimeError):      """A running program was asked to stop."""
class NotANumber(SteleError, FloatingPointError): """A program made NaN, where STELE_CHECK=nan looks for it."""
class OutOfMemory(SteleError, MemoryError):     """There is no memory for an array of so many bytes."""
# fmt: on


class StorageError(SteleError, OSError):
    """A file cannot be written; `errno` says why, as of any OSError."""

    def __init__(self, message: str, *, code: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.errno = code


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that was probably meant, if one is so much alike (`cutoff`: 1 is equal), in whatever case.

    >>> nearest("flaot32", ["float32", "int32"]), nearest("x", ["float32"]), nearest("rgb", ["RGB", "L"])
    ('float32', None, 'RGB')
    """
    from difflib import get_close_matches  # imported late: 1 ms, and only for errors

    names = list(known)
    folded = {name.lower(): name for name in names}
    return next(iter(get_close_matches(name, names, 1, cutoff)), None) or \
        next((folded[near] for near in get_close_matches(name.lower(), folded, 1, cutoff)), None)


def kind(x: object) -> str:
    """What x is, as a message says it.

    >>> kind([1]), kind(None)
    ('a list', 'None')
    """
    name, home = type(x).__name__, type(x).__module__.partition(".")[0]
    name = name if home in ("builtins", "__main__", "stele") else f"{home}.{name}"
    return "None" if x is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def advice(x: Any) -> str | None:
    """What to write where a tensor is wanted and x was given.

    >>> advice([1, 2])
    'Write st.tensor(x) of it.'
    """
    if x is None:
        return "Does a function before it return nothing?"
    if isinstance(x, list | tuple):
        return "Write st.tensor(x) of it."
    if hasattr(x, "__dlpack__"):
        return "Write st.from_dlpack(x) of it."
    return "Write st.tensor(x) of it." if hasattr(x, "__array__") else None
