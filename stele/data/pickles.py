"""A pickle of plain values and uint8 arrays, read by a machine that knows nothing else.

A pickle is a program for a machine with a stack. This one has the instructions that such data needs; another one is
refused where it stands. No instruction takes longer or more memory than its own bytes allow, nothing that the file
names is looked up or called, and nothing is hashed but text: `pickle` itself would hang, ask for gigabytes
or crash where a file wants it to.
"""

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stele.data.files import read_bytes
from stele.errors import DataError
from stele.ops.arguments import is_dict, is_series

LARGEST = 1 << 26       # bytes: a batch of CIFAR-10 has 31 million
INSTRUCTIONS = 1 << 21  # a batch of CIFAR-10 has 50,000
AXES = 8


_U8, _U16, _U32, _U64, _I32, _F64 = map(struct.Struct, ("B", "<H", "<I", "<Q", "<i", ">d"))


class _Array:
    """Stands for an array while its state is awaited."""

    value: np.ndarray | None = None


_MARK, _UINT8 = object(), object()
_ARRAY, _DTYPE, _ENCODE, _RECONSTRUCT = object(), object(), object(), object()
_ADMITTED = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): _DTYPE,
    ("_codecs", "encode"): _ENCODE,
}


def read_pickle(path: str | Path) -> dict[str, Any]:
    """The dict in a pickle file, its keys as text, its uint8 arrays as NumPy arrays; text from Python 2 stays bytes.

    Raises DataError when the file holds anything but plain values and uint8 arrays, or is truncated.
    """
    content = read_bytes(path, LARGEST)
    try:
        value = _Machine(content).run()
    except DataError as error:
        raise DataError(f"refused to read the pickle {path}: {error}. Use the binary version of the data set, or "
                        "a file from the official archive.") from None
    except (IndexError, TypeError, ValueError, struct.error) as error:  # the stack holds something else
        raise DataError(f"a pickle needs to be whole, got {type(error).__name__} ({error}) in {path}. "
                        "Download the archive again.") from None
    if not is_dict(value):
        raise DataError(f"a batch needs to be a pickled dict, got {type(value).__name__} in {path}.")
    return {_text(key): item.value if isinstance(item, _Array) else item for key, item in value.items()}


class _Machine:
    """Runs one pickle: a stack of values, marks in it, and a memory of values by number."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self.room = len(content)    # bytes that `encode` may make: no text is turned into bytes over and over

    def run(self) -> Any:
        """The value on the stack when the program stops."""
        content, stop = self.content, ord(".")
        for _ in range(INSTRUCTIONS):
            code = content[self.at]
            self.at += 1
            if code == stop:
                return self.stack.pop()
            if code not in _INSTRUCTIONS:
                raise DataError(f"only dicts, lists, text, numbers and uint8 arrays are admitted, got instruction "
                                f"{bytes((code,))!r} at {self.at - 1}")
            _INSTRUCTIONS[code](self)
        raise DataError(f"at most {INSTRUCTIONS:,} instructions are admitted, got more")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        found = self.content[self.at:self.at + count]
        if len(found) != count:
            raise ValueError(f"{count} bytes are needed at {self.at}, {len(found)} are left")
        self.at += count
        return found

    def number(self, form: struct.Struct) -> Any:
        found, = form.unpack_from(self.content, self.at)
        self.at += form.size
        return found

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self, count: int) -> tuple[Any, ...]:
        """The values on top, lowest first."""
        if len(self.stack) < count:
            raise ValueError(f"{count} values are needed on the stack, got {len(self.stack)}")
        values = tuple(self.stack[len(self.stack) - count:])
        del self.stack[len(self.stack) - count:]
        if any(value is _MARK for value in values):
            raise ValueError("a mark stands where a value is needed")
        return values

    def above(self) -> tuple[Any, ...]:
        """The values above the last mark, which goes."""
        count = 0
        while self.stack[-1 - count] is not _MARK:
            count += 1
        values = self.pop(count)
        self.stack.pop()
        return values

    def line(self) -> str:
        """Text up to the end of the line."""
        end = self.content.index(b"\n", self.at, self.at + 256)
        found = self.content[self.at:end].decode("ascii")
        self.at = end + 1
        return found

    def keep(self, number: int) -> None:
        if self.stack[-1] is _MARK:
            raise ValueError("a mark stands where a value is needed")
        self.memory[number] = self.stack[-1]

    def recall(self, number: int) -> None:
        if number not in self.memory:
            raise ValueError(f"nothing is kept as {number}")
        self.push(self.memory[number])

    def append(self, values: tuple[Any, ...]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError("items are for lists")
        self.stack[-1] += values

    def insert(self, values: tuple[Any, ...]) -> None:
        if not isinstance(self.stack[-1], dict) or len(values) % 2:
            raise TypeError("pairs are for dicts")
        for key, value in zip(values[::2], values[1::2]):
            if not isinstance(key, str | bytes):
                raise DataError(f"only text is admitted as a key, got {type(key).__name__}")
            self.stack[-1][key] = value

    def mention(self, module: object, name: object) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise TypeError("names are text")
        if (module, name) not in _ADMITTED:
            raise DataError(f"only dicts, lists, text, numbers and uint8 arrays are admitted, got {module}.{name:.60}")
        self.push(_ADMITTED[module, name])

    def integer(self) -> None:
        """A number of any length, of which 8 bytes are admitted."""
        length = self.number(_U8)
        if length > 8:
            raise DataError(f"only numbers of up to 8 bytes are admitted, got {length}")
        self.push(int.from_bytes(self.take(length), "little", signed=True))

    def call(self) -> None:
        """What the few functions that may be named would give."""
        called, arguments = self.pop(2)
        match called, arguments:
            case (_, tuple()) if called is _RECONSTRUCT:
                if not arguments or arguments[0] is not _ARRAY:
                    raise DataError("only numpy.ndarray may be rebuilt, got another class")
                self.push(_Array())
            case (_, (name, *_)) if called is _DTYPE:
                if name not in ("u1", b"u1", "uint8", b"uint8"):
                    raise DataError(f"arrays of this pickle need dtype uint8, got {_shown(name)}")
                self.push(_UINT8)
            case (_, (str(text), codec)) if called is _ENCODE:
                if codec != "latin1":
                    raise DataError(f"bytes of this pickle need codec latin1, got {_shown(codec)}")
                self.room -= len(text)
                if self.room < 0:
                    raise DataError("the same text is turned into bytes over and over")
                self.push(text.encode("latin1"))
            case _:
                raise TypeError("this cannot be called so")

    def build(self) -> None:
        """Gives an array its state; that of a dtype matters for no single bytes."""
        built, state = self.pop(2)
        if isinstance(built, _Array):
            built.value = _array(state)
        elif built is not _UINT8:
            raise TypeError("only arrays and dtypes have a state")
        self.push(built)


def _array(state: object) -> np.ndarray:
    match state if is_series(state) else ():
        case (_, shape, dtype, bool(fortran) | int(fortran), bytes(raw)) if dtype is _UINT8 \
                and is_series(shape) and len(shape) <= AXES and all(type(n) is int and n >= 0 for n in shape):
            if math.prod(shape) != len(raw):
                raise DataError(f"an array of shape {shape} needs {math.prod(shape)} bytes, got {len(raw)}")
            return np.frombuffer(raw, np.uint8).reshape(shape, order="F" if fortran else "C")
        case _:
            raise DataError("an array needs (version, shape, dtype, order, bytes) as its state, got something else")


def _shown(value: object) -> str:
    """Something of a pickle in a message: it may be long, or nested without end."""
    return repr(value[:40]) if isinstance(value, str | bytes) else type(value).__name__


def _text(key: str | bytes) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else key


# fmt: off
_INSTRUCTIONS: dict[int, Callable[[_Machine], None]] = {    # by byte, as in CPython's Lib/pickletools.py
    0x80:     lambda m: m.number(_U8) and None,                         # PROTO: the version that wrote it
    0x95:     lambda m: m.number(_U64) and None,                        # FRAME: a length, of use to who reads in pieces
    ord("("): lambda m: m.push(_MARK),
    ord("N"): lambda m: m.push(None),
    0x88:     lambda m: m.push(True),
    0x89:     lambda m: m.push(False),
    ord("J"): lambda m: m.push(m.number(_I32)),
    ord("K"): lambda m: m.push(m.number(_U8)),
    ord("M"): lambda m: m.push(m.number(_U16)),
    ord("G"): lambda m: m.push(m.number(_F64)),
    0x8A:     lambda m: m.integer(),
    ord("U"): lambda m: m.push(m.take(m.number(_U8))),
    ord("C"): lambda m: m.push(m.take(m.number(_U8))),
    ord("T"): lambda m: m.push(m.take(m.number(_U32))),
    ord("B"): lambda m: m.push(m.take(m.number(_U32))),
    0x8E:     lambda m: m.push(m.take(m.number(_U64))),
    0x8C:     lambda m: m.push(m.take(m.number(_U8)).decode()),
    ord("X"): lambda m: m.push(m.take(m.number(_U32)).decode()),
    0x8D:     lambda m: m.push(m.take(m.number(_U64)).decode()),
    ord("}"): lambda m: m.push({}),
    ord("]"): lambda m: m.push([]),
    ord(")"): lambda m: m.push(()),
    0x85:     lambda m: m.push(m.pop(1)),
    0x86:     lambda m: m.push(m.pop(2)),
    0x87:     lambda m: m.push(m.pop(3)),
    ord("t"): lambda m: m.push(m.above()),
    ord("a"): lambda m: m.append(m.pop(1)),
    ord("e"): lambda m: m.append(m.above()),
    ord("s"): lambda m: m.insert(m.pop(2)),
    ord("u"): lambda m: m.insert(m.above()),
    ord("q"): lambda m: m.keep(m.number(_U8)),
    ord("r"): lambda m: m.keep(m.number(_U32)),
    0x94:     lambda m: m.keep(len(m.memory)),
    ord("h"): lambda m: m.recall(m.number(_U8)),
    ord("j"): lambda m: m.recall(m.number(_U32)),
    ord("c"): lambda m: m.mention(m.line(), m.line()),
    0x93:     lambda m: m.mention(*m.pop(2)),
    ord("R"): lambda m: m.call(),
    ord("b"): lambda m: m.build(),
}
# fmt: on
