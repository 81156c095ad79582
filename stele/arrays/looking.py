"""Looking at an array: its type at once, its numbers when somebody asks."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from stele.arrays.opensize import Count, counted_out, opened
from stele.backend.devices import Device, find
from stele.backend.locks import HOST, RUNNING, held
from stele.eager.evaluate import devices, numbers
from stele.eager.follow import FOLLOWER
from stele.eager.handle import TRACING, Handle, refuse_symbolic
from stele.eager.live import Live, is_open, is_symbolic, is_there
from stele.errors import ArgumentError, DTypeError, ShapeError
from stele.ir.door import public
from stele.ir.graph import Array, Value, walk
from stele.ir.types import HOME, DType

REDUCED = "Write x.tolist(), take one out with x[0], or make one of them with x.sum() or x.mean()."
KEPT = "Keep it a tensor: x * y and st.exp(x) take tensors. Return it, and look at it outside of the function."
CHOSEN = "Write st.where(x > 0, y, z) for each element, st.cond for if, st.while_loop or st.scan for loops; or have " \
    "Python's own rewritten: @st.compile(control='python')."


def is_traced(v: Value) -> bool:
    """Whether a value has no numbers before a program runs."""
    return not is_there(v) and any(is_symbolic(a) or is_open(a) for a in walk([v], stop=is_there))


class Looking(Handle):
    """The part of a tensor that reads: types, numbers, and the protocols by which others take them."""

    __slots__ = ()
    __array_priority__ = 1000

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes. One that is open compares by assumption: the answer becomes a guard of the program."""
        return tuple(map(opened, self.value.type.shape))

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise ArgumentError("the shape of a tensor cannot be set", hint="Write x = x.reshape(shape).")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.value.type.shape)

    @property
    def dtype(self) -> DType:
        """The element type, such as st.float32, which also equals "float32" and np.float32."""
        return self.value.type.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        raise ArgumentError("the dtype of a tensor cannot be set", hint="Write x = x.astype(dtype), or x.view(dtype).")

    @property
    def device(self) -> Device:
        """Where the numbers lie; it equals its name."""
        return find(self.value.type.device)

    @property
    def size(self) -> Count:
        """The number of elements; 1 where there are no axes. Called, as in PyTorch, it says the shape: `x.size(0)`."""
        type = self.value.type
        return counted_out(type.size, type.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.bytes

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.bytes

    @public
    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a tensor of no axes has no length; float(x) takes its number out")
        return int(self.shape[0])

    @public
    def __iter__(self) -> Iterator[Self]:
        return (self[k] for k in range(len(self)))  # type: ignore[index]

    # Looking at the numbers

    def read(self, asked: str, hint: str = "Return it, and look at it outside of the function.") -> Array:
        """The numbers for what was asked; raises TraceError for a tensor of a function that is being compiled."""
        v = self._value
        if TRACING.get() is not None and is_traced(v := self.value):
            if (follower := FOLLOWER.get()) is not None:
                follower.looked(v)
            raise refuse_symbolic(v, f"{asked} asks for its numbers", hint)
        with self.at_rest(v):
            return numbers(v).array

    def at_rest(self, v: Live | None = None) -> Any:
        """A context in which no program runs on the device of this tensor, or of a value."""
        return HOST if len(RUNNING) == 1 else held(devices([self._value if v is None else v]))

    @public
    def numpy(self) -> Array:
        """The numbers as a read-only NumPy array: a lease on the tensor's own memory, no copy but of another device.

        Of the tensor's shape and dtype (bfloat16 as `ml_dtypes` has it), as `np.asarray(x)`. Others may share that
        memory, so NumPy refuses to write there ("assignment destination is read-only"), and an array that was asked
        for before keeps its numbers when the tensor is written to. Write to the tensor, or to a copy. Raises TraceError
        for a tensor of a function that is being compiled.

        >>> x = st.zeros(3)
        >>> x[0] = 1                        # the tensor
        >>> a = np.array(x)                 # a copy
        >>> a[1] = 5
        >>> x.numpy().tolist(), a.tolist(), x.numpy().flags.writeable
        ([1.0, 0.0, 0.0], [1.0, 5.0, 0.0], False)
        """
        return self.read("x.numpy()")

    def one(self, asked: str, many: str, traced: str) -> Any:
        """The one number of a tensor of one element, with hints for one of many and for a traced one."""
        if self.size != 1:
            raise ShapeError(f"{asked} needs a tensor of one element, got shape {self.shape}", hint=many)
        return self.read(asked, traced).reshape(()).item()

    @public
    def item(self, *place: Any) -> Any:
        """The one number of a tensor of one element, or that at a `place`, as a Python number.

        A place is one of the flat tensor, or has one along each axis. Raises ShapeError where there are more numbers,
        IndexOutOfRange for a place that there is not.
        """
        if not place:
            return self.one("x.item()", REDUCED, KEPT)
        x: Any = self
        at = place[0] if len(place) == 1 else place
        return (x[at] if isinstance(at, tuple) else x.flatten()[at]).item()

    @public
    def tolist(self) -> Any:
        """The numbers as nested lists of Python numbers; without axes, as one number."""
        return self.read("x.tolist()").tolist()

    @public
    def __bool__(self) -> bool:
        return bool(self.one("the truth of a tensor (if, while, and, or, not)", "Write (x > 0).all() or (x > 0).any().",
                             CHOSEN))

    def refuse_complex(self, asked: str) -> None:
        """Raises DTypeError where a real number is asked for and the tensor holds complex ones."""
        if self.dtype.is_complex:
            raise DTypeError(f"{asked} needs a real number, got {self.dtype}",
                             hint="Write complex(z), or float(z.real).")

    @public
    def __int__(self) -> int:
        self.refuse_complex("int(x)")
        return int(self.one("int(x)", REDUCED, "Write x.astype('int64'). A length or a count for range() is a Python "
                            "number: pass it as one, or take it from x.shape."))

    @public
    def __float__(self) -> float:
        self.refuse_complex("float(x)")
        return float(self.one("float(x)", REDUCED, KEPT))

    @public
    def __complex__(self) -> complex:
        return complex(self.one("complex(x)", REDUCED, KEPT))

    @public
    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise DTypeError(f"only an integer tensor is an index, got {self.dtype}; write int(x)")
        return int(self.one("an index or a count", REDUCED,
                            "Write st.take(x, i, axis) for x[i], and st.scan for a loop; or pass a Python number."))

    @public
    def __format__(self, form: str) -> str:
        if not form:        # one number as NumPy and PyTorch write it there
            return str(self) if self.ndim or is_traced(self.value) else str(self.numpy()[()])
        return format(self.one(f"the format {form!r}", REDUCED, KEPT), form)

    @public
    def __repr__(self) -> str:
        traced = self.value
        if is_traced(traced):
            later = "" if TRACING.get() is None else ": it has numbers when the program runs; return it to print them"
            return f"tensor(symbolic {traced.type}{later})"
        text = np.array2string(self.numpy(), separator=", ", prefix="tensor(")
        marks = ("" if self.dtype.name in ("float32", "int64", "bool") else f", dtype={self.dtype}") + \
                (", requires_grad=True" if self.requires_grad else "") + \
                ("" if traced.type.device == HOME else f", device={traced.type.device!r}")
        return f"tensor({text}{marks})"
