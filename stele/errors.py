"""The exceptions of Stele: each says what was asked, what came, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["ArgumentError", "BadAxis", "BadKey", "Cancelled", "CompileError", "ConfigError", "CopyError",
           "DTypeError", "DataError", "DeviceError", "GraphError", "IndexOutOfRange", "NoProtocol", "NotANumber",
           "OptionError", "OutOfMemory", "ShapeError", "SteleError", "StorageError", "TraceError", "UnknownImport",
           "UnknownName"]


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)


class SteleError(Exception):
    """An error that teaches: the message, the user's line (`where`), and what to write instead (`hint`).

    >>> issubclass(st.errors.ShapeError, st.errors.SteleError)
    True
    >>> print(st.errors.ShapeError("matmul needs x.shape[-1] == w.shape[-2], got (8, 3) @ (4, 5)",
    ...                            where="model.py:12", hint="Did you mean w.T?"))
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


class ConfigError(SteleError, ValueError):
    """A STELE_* variable holds a value that it cannot have.

    >>> import os
    >>> os.environ["STELE_CHECK"] = "everything"
    >>> try:
    ...     st.compile(lambda x: x + 1)(st.ones(2))
    ... except st.errors.ConfigError as error:
    ...     print(str(error).partition(" (")[0])
    STELE_CHECK must be 0, 1
    >>> del os.environ["STELE_CHECK"]
    """


class ShapeError(SteleError, ValueError):
    """Shapes do not fit the operation.

    >>> try:
    ...     st.zeros((2, 3)) @ st.zeros((2, 3))
    ... except st.errors.ShapeError as error:
    ...     print(error.args[0], error.hint)
    matmul needs x.shape[-1] == w.shape[-2], got (2, 3) @ (2, 3) Did you mean w.T?
    """


class DTypeError(SteleError, TypeError):
    """Element types do not fit the operation.

    >>> try:
    ...     st.zeros(2, dtype="int7")
    ... except st.errors.DTypeError as error:
    ...     print(error.hint)
    Did you mean 'int8'?
    """


class ArgumentError(SteleError, TypeError):
    """An argument is not of the kind that the function takes.

    >>> try:
    ...     st.sum(None)
    ... except st.errors.ArgumentError as error:
    ...     print(error.args[0])
    x of sum must be a tensor, an array or a number, got NoneType: None
    """


class NoProtocol(ArgumentError, AttributeError):
    """An argument lacks the methods of a protocol.

    >>> try:
    ...     st.from_dlpack(3)
    ... except st.errors.NoProtocol as error:
    ...     print(error.args[0])
    the argument of from_dlpack must be an array that speaks DLPack, got int: 3
    """


class OptionError(SteleError, ValueError):
    """An option is none of those there are.

    >>> try:
    ...     nn.functional.mse_loss(st.ones(2), st.ones(2), reduction="avg")
    ... except st.errors.OptionError as error:
    ...     print(error.args[0])
    reduction of mse_loss must be 'mean', 'sum' or 'none', got 'avg'
    """


class UnknownName(SteleError, AttributeError):
    """A name that does not exist here; the message says which one does.

    >>> try:
    ...     st.arrange(3)
    ... except st.errors.UnknownName as error:
    ...     print(error)
    stele has no 'arrange'. Did you mean 'arange'?
    """


class UnknownImport(SteleError, ModuleNotFoundError):
    """The same of a name that is imported, `from stele import name`, or of a module, `import stele.name`.

    >>> try:
    ...     from stele import arrange
    ... except st.errors.UnknownImport as error:
    ...     print(error)
    stele has no 'arrange'. Did you mean 'arange'?
    """


class GraphError(SteleError, ValueError):
    """A graph breaks one of its invariants, or an optimiser gets what it cannot move.

    >>> try:
    ...     optim.SGD([st.zeros(2)], lr=0.1)
    ... except st.errors.GraphError as error:
    ...     print(error.args[0])
    parameter 0 of SGD, float32[2], requires no gradients, so it would never move
    """


class TraceError(SteleError, RuntimeError):
    """A Python function did something that no graph can hold.

    >>> try:
    ...     st.compile(lambda x: int(x))(st.ones(()))
    ... except st.errors.TraceError as error:
    ...     print(error.args[0].partition(":")[0])
    int(x) asks for its numbers, but this tensor is symbolic
    """


class DataError(SteleError, ValueError):
    """Data from outside (a file, an array) is not what it should be.

    >>> try:
    ...     st.load("nothing.safetensors")
    ... except st.errors.DataError as error:
    ...     print(error.args[0])
    there is no file nothing.safetensors
    """


class DeviceError(SteleError, RuntimeError):
    """A device is missing, or does not have what was asked of it.

    >>> try:
    ...     st.zeros(2, device="cuda")
    ... except st.errors.DeviceError as error:
    ...     print(error.args[0].partition(":")[0])
    there is no device 'cuda'
    """


class CompileError(SteleError, RuntimeError):
    """LLVM refused a module, or an object refers to a forbidden symbol.

    >>> from stele.backend.cpu.jit import compile_module
    >>> from stele.backend.cpu.target import detect
    >>> try:
    ...     compile_module("define void @f() {", detect())
    ... except st.errors.CompileError as error:
    ...     print(error.args[0].partition(":")[0])
    LLVM refuses the module
    """


class IndexOutOfRange(SteleError, IndexError):
    """An index lies outside of its axis.

    >>> try:
    ...     st.zeros(3)[5]
    ... except st.errors.IndexOutOfRange as error:
    ...     print(error.args[0])
    index 5 is out of range for axis 0 of (3,)
    """


class BadAxis(ShapeError, IndexError):
    """An axis that the array does not have.

    >>> try:
    ...     st.sum(st.zeros((2, 3)), axis=2)
    ... except st.errors.BadAxis as error:
    ...     print(error.args[0])
    axis 2 is out of range for an array of 2 dimensions
    """


class BadKey(ShapeError, IndexError):
    """What stands in x[...] does not fit the axes of x.

    >>> try:
    ...     st.zeros(3)[0, 1]
    ... except st.errors.BadKey as error:
    ...     print(error.args[0])
    2 indices for an array of 1 axes (3,)
    """


class CopyError(SteleError, BufferError, ValueError):
    """A copy would be needed where none may be made.

    >>> try:
    ...     np.asarray(st.ones(3), dtype="float64", copy=False)
    ... except st.errors.CopyError as error:
    ...     print(error.args[0])
    float32 becomes float64 by a copy alone
    """


class Cancelled(SteleError, RuntimeError):
    """A running program was asked to stop, as the interpreter ends; no state was changed.

    >>> issubclass(st.errors.Cancelled, RuntimeError)
    True
    """


class NotANumber(SteleError, FloatingPointError):
    """A program made NaN, where STELE_CHECK=nan looks for it.

    >>> import os
    >>> os.environ["STELE_CHECK"] = "nan"
    >>> try:
    ...     st.compile(lambda x: st.log(x))(st.tensor([-1.0]))
    ... except st.errors.NotANumber as error:
    ...     print(error.args[0])
    Log made NaN of float32[1] -1.0, in call 1 of this program
    >>> del os.environ["STELE_CHECK"]
    """


class OutOfMemory(SteleError, MemoryError):
    """There is no memory for an array of so many bytes.

    >>> try:
    ...     st.zeros((1 << 30, 1 << 20)).numpy()
    ... except st.errors.OutOfMemory as error:
    ...     print(error.args[0].partition(":")[0])
    an array float32[1073741824, 1048576] does not fit
    """


class StorageError(SteleError, OSError):
    """A file cannot be written; `errno` says why, as of any OSError.

    >>> try:
    ...     st.save({"x": st.ones(2)}, "/dev/null/x.safetensors")
    ... except st.errors.StorageError as error:
    ...     print(error.errno, error.args[0])
    20 writing /dev/null/x.safetensors (208 bytes) failed: Not a directory
    """

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
