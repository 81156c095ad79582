"""Functions of C as ops: where they are, what they take, and their derivatives in Stele's functions."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import cffi
import numpy as np

from stele.arrays.functions import broadcast_to
from stele.arrays.operands import Operands
from stele.arrays.sized import broadcast_shapes
from stele.arrays.tensor import Tensor, constant, tensor, tensors
from stele.eager.handle import GRAD, TRACING
from stele.errors import ArgumentError, DTypeError, kind
from stele.higher.called import differentiable, parts
from stele.higher.custom import is_derivative
from stele.ir.door import public
from stele.ir.graph import literal
from stele.ir.types import DType, int64
from stele.ops.arguments import flag, function
from stele.ops.foreign import HINT, Foreign, Held, Part, Prototype, prototype_of

FFI: Any = cffi.FFI()
KINDS = {"f": bool | int | float, "i": bool | int, "u": bool | int, "b": bool}     # of Python's numbers that none loses
SAMPLES = 0.25, -1.5, 0.75, 2.0       # where a formula is compared, each operand at another


@public
def foreign(f: Any, signature: str | None = None, *, vjp: Callable[..., Any] | None = None,
            jvp: Callable[..., Any] | None = None, formula: Callable[..., Any] | None = None, threads: bool = True
            ) -> Callable[..., Any]:
    """A function `f` of C as an op, which programs call at its address, without Python, in loops and branches too.

    f is what cffi, ctypes, Cython (an entry of `__pyx_capi__`) or Numba (`@cfunc`) make. Its
    `signature` is written as in C; those of numbers may be left out where f knows its own. One of numbers alone,
    "double(double)", is called for each element of operands that broadcast. One of arrays, "void(int64_t n, const
    float x[n], float a, float y[n])", takes the arrays that are const and the numbers that are no sizes, in order, and
    returns the others, whose sizes follow; sizes stay open in open programs, and memory is contiguous. Operands are
    cast to the types of C where no number can be lost.

    Derivatives are said as in `st.op`: `vjp(g, y, *x)` or `jvp(dx, y, *x)`. A `formula` in functions of tensors is
    what f means: programs run it in f's place, where it fuses with what is around, and it has derivatives of its own.
    With `threads` calls come from any threads, several at once; without, one after the other in order.
    It is as safe as f: a wrong signature reads what is not there. Saved programs and libraries refuse it. Raises
    ArgumentError for what is no function, for signatures that are none or not f's, and for a formula that says
    something else, DTypeError for operands that do not fit, and ShapeError for sizes that differ.

    >>> import ctypes
    >>> libm = ctypes.CDLL(None)
    >>> fabs = st.foreign(libm.fabs, "double(double)", vjp=lambda g, y, x: g * st.sign(x))
    >>> st.compile(st.value_and_grad(lambda x: fabs(x).sum()))(st.tensor([1.0, -2.0]))
    (tensor(3., dtype=float64), tensor([ 1., -1.]))
    >>> swapped = st.foreign(libm.swab, "void(const uint8_t x[n], uint8_t y[n], long n)")
    >>> swapped(st.tensor([1, 2, 3, 4], dtype="uint8")).tolist()
    [2, 1, 4, 3]
    """
    for given, name in ((vjp, "vjp of foreign"), (jvp, "jvp of foreign"), (formula, "formula of foreign")):
        if given is not None:
            function(given, name)
    if sum(given is not None for given in (vjp, jvp, formula)) > 1:
        raise ArgumentError("foreign takes one of vjp, jvp and formula", hint="Each of them serves both modes.")
    address, said = address_of(f), signature if signature is not None else signature_of(f)
    if not isinstance(said, str):
        raise ArgumentError(f"signature of foreign is a text, got {kind(said)}", hint=HINT)
    p, place = prototype_of(said), tensor(address, dtype=int64)
    if (own := signature_of(f)) is not None and not agrees(prototype_of(own), p):
        raise ArgumentError(f"this function is {own!r}, which {said!r} is not", hint="Leave the signature out.")
    plainly = caller(Foreign(said, 0, not flag(threads, "threads of foreign"), Held(f)), p, place, address)
    plainly.__name__ = getattr(f, "__name__", "a function of C")
    if formula is not None:
        return public(meant(plainly, formula, p))
    return public(differentiable(plainly, vjp, jvp))


def caller(op: Foreign, p: Prototype, place: Tensor, address: int) -> Callable[..., Any]:
    """A function of tensors that calls it. A derivative, which takes no more operands, has its address in the code."""
    def plainly(*x: Any) -> Any:
        operands = Operands(numbers=False)
        given = [*fitted(p, x)]
        if p.returns is not None:
            shape = broadcast_shapes(*(a.shape for a in given))
            given = [a if a.shape == () else broadcast_to(a, shape) for a in given]
        values = [operands.value(a) for a in given]
        where = literal(address, int64) if is_derivative(TRACING.get()) else place.value
        return tensors(parts(op(*values, where)), operands.differentiable and GRAD.get())

    return plainly


def fitted(p: Prototype, x: tuple[Any, ...]) -> Iterator[Tensor]:
    """Operands in the types of the function."""
    if len(x) != len(p.operands):
        raise ArgumentError(f"the function takes {len(p.operands)} operands ({', '.join(o.name for o in p.operands)}), "
                            f"got {len(x)}")
    for part, a in zip(p.operands, x):
        given = constant(a, part.dtype if isinstance(a, KINDS[part.dtype.kind]) else None)
        if given.dtype != part.dtype:
            if not np.can_cast(given.dtype.numpy, part.dtype.numpy, "safe"):
                raise DTypeError(f"{part.name} is {part.dtype} in the signature, got {given.dtype}",
                                 hint=f"Write x.astype({part.dtype.name!r}).")
            given = given.astype(part.dtype)
        yield given


def meant(plainly: Callable[..., Any], formula: Callable[..., Any], p: Prototype) -> Callable[..., Any]:
    """The formula, once it was seen to say what the function does."""
    if p.returns is None:
        raise ArgumentError("a formula stands for a function of numbers, this one takes arrays", hint="Write vjp=.")
    returns: DType = p.returns
    x = [tensor([sample(k + j, o.dtype) for k in range(len(SAMPLES))], dtype=o.dtype) for j, o in enumerate(p.operands)]
    want, got = np.asarray(plainly(*x)), np.asarray(formula(*x))
    if got.shape != want.shape:
        raise ArgumentError(f"formula of foreign gives the shape {got.shape} for operands of {want.shape}",
                            hint="A formula is a function of an element: write one without sums and the like, or vjp=.")
    if (differs := ~np.isclose(want, got, rtol=1e-5, atol=1e-6, equal_nan=True)).any():
        k = differs.argmax()
        raise ArgumentError(f"formula of foreign gives {got[k]} at {', '.join(str(a.numpy()[k]) for a in x)}, the "
                            f"function {want[k]}", hint="Write a formula that says the same of each element, or vjp=.")
    return wraps(plainly)(lambda *x: constant(formula(*fitted(p, x))).astype(returns))


def sample(k: int, of: DType) -> float:
    """The number number k at which a function is compared with its formula."""
    x = SAMPLES[k % len(SAMPLES)]
    return x if of.kind == "f" else k % 2 == 0 if of.kind == "b" else int(4 * (x if of.kind == "i" else abs(x)))


def address_of(f: Any) -> int:
    """Where a function is."""
    found: Any = getattr(f, "address", None)
    if isinstance(found, int):      # Numba's
        pass
    elif isinstance(f, ctypes._CFuncPtr):      # pyright: ignore[reportAttributeAccessIssue]
        found = ctypes.cast(f, ctypes.c_void_p).value or 0
    elif isinstance(f, FFI.CData) and "(*)" in str(FFI.typeof(f)):
        found = int(FFI.cast("uintptr_t", f))
    elif type(f).__name__ == "PyCapsule":
        found = pointer_of(f)
    else:
        raise ArgumentError(f"foreign takes a function of cffi, ctypes, Cython or Numba, got {kind(f)}",
                            hint="A function of Python is an op by @st.op, an address ctypes.CFUNCTYPE(...)(address).")
    if found <= 0 or found >= 1 << 63:
        raise ArgumentError(f"there is no function at the address {found}")
    return found


def pointer_of(capsule: Any) -> int:
    """The pointer in a capsule."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name_of(capsule)) or 0


def name_of(capsule: Any) -> bytes:
    """What a capsule is called: of Cython's, the signature."""
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule) or b""


def signature_of(f: Any) -> str | None:
    """What a function of numbers says of itself; None where it does not, or takes pointers."""
    found: str | None = None
    if isinstance(f, FFI.CData):
        found = FFI.typeof(f).cname
    elif type(f).__name__ == "PyCapsule":
        found = name_of(f).decode()
    elif (types := getattr(getattr(f, "ctypes", f), "argtypes", None)) is not None:
        returns = getattr(f, "ctypes", f).restype
        names = [C_NAMES.get(t) for t in (returns, *types)]
        found = f"{names[0]}({', '.join(map(str, names[1:]))})" if None not in names else None
    return found if found is not None and found.count("*") == found.count("(*)") else None


C_NAMES: dict[Any, str] = {getattr(ctypes, f"c_{name}"): f"{name}_t" for name in (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")} | {
    ctypes.c_double: "double", ctypes.c_float: "float", ctypes.c_bool: "bool"}


def agrees(own: Prototype, said: Prototype) -> bool:
    """Whether a signature is what a function says of itself."""
    kinds: Callable[[Part], Any] = lambda part: (part.dtype, part.shape is None)
    return own.returns == said.returns and [*map(kinds, own.parts)] == [*map(kinds, said.parts)]
