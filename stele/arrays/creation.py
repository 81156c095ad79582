"""Functions that make tensors: of numbers, of sizes, of what others hold."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stele.arrays import dlpack, shapes
from stele.arrays.calling import respelling
from stele.arrays.given import array_of
from stele.arrays.opensize import plain
from stele.arrays.tensor import (
    DeviceLike,
    DTypeLike,
    Tensor,
    TensorLike,
    constant,
    lift,
    placed,
    tensor,
)
from stele.backend.buffers import Borrowed
from stele.backend.devices import current, find
from stele.eager.handle import TRACING
from stele.eager.live import leaf
from stele.errors import CopyError, NoProtocol
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ir.sizes import Size
from stele.ir.types import HOME, DType, Type, int64, refuse_unfit
from stele.ir.types import dtype as type_named
from stele.ops import arguments, generate, joining
from stele.ops.elementwise.arithmetic import Equal
from stele.ops.linear import cast
from stele.ops.linear import full as everywhere

stacked, spread, filled = lift(joining.stack), lift(shapes.broadcast_to), lift(everywhere)
MOST = 1 << 62     # beyond every diagonal


def named(dtype: DTypeLike | None, usual: DTypeLike = "float32") -> DType:
    """The dtype that is meant; None means the usual one."""
    return type_named(usual if dtype is None else dtype)


def is_held(x: Any) -> bool:
    """Whether an argument is an array of elements, or a tensor of one, and no number."""
    return isinstance(x, Tensor | list | tuple) or (arguments.is_array(x) and x.ndim > 0)


def at_home(x: Tensor, device: DeviceLike, requires_grad: bool, dtype: DTypeLike | None = None) -> Tensor:
    """What was computed of tensors, on a device and in a dtype that are named; a leaf where that is asked for."""
    x = x if dtype is None else x.astype(dtype)
    made = x if device is None else x.to(device)
    return made if requires_grad is False else made.detach().requires_grad_(requires_grad)


def filled_with(number: int, shape: Any, sizes: tuple[Any, ...], dtype: DTypeLike | None, *place: Any) -> Tensor:
    """A tensor that holds a number everywhere, in a shape given as one sequence of sizes, or as a size and others; the
    dtype may stand behind them.
    """
    if sizes and dtype is None and isinstance(sizes[-1], str | type | DType | np.dtype):
        dtype = sizes[-1]  # type: ignore[reportUnknownVariableType]
        sizes = sizes[:-1]
    return full((shape, *sizes) if sizes else shape, number, named(dtype), *place)


@public
@respelling
def full(shape: int | Sequence[int], fill_value: TensorLike, dtype: DTypeLike | None = None, device: DeviceLike = None,
         requires_grad: bool = False) -> Tensor:
    """A tensor that holds the number `fill_value` everywhere, of a `shape`: a size, or a sequence of sizes.

    Without a dtype it is the number's: float32, int64, bool or complex64. A fraction is dropped for integers; raises
    DTypeError for a number that the dtype does not hold. A tensor, array or list is repeated to the shape, in its own
    dtype without another, with its gradients; raises ShapeError where it does not broadcast to the shape.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`. With `requires_grad`,
    here as in all functions that make tensors, it is a leaf whose gradient `backward` accumulates.

    >>> st.full((2,), 3.0).tolist(), st.full((2, 3), 7).dtype
    ([3.0, 3.0], int64)
    """
    if is_held(fill_value):
        made = spread(constant(fill_value, None if dtype is None else named(dtype)), shapes.shape_of((shape,)))
        return at_home(made, device, requires_grad)
    is_pair = isinstance(fill_value, complex)
    number: complex = fill_value if is_pair else arguments.number(fill_value, "fill_value of full")
    dtype = named(dtype, type(number))
    return placed(filled(shapes.shape_of((shape,)), number, dtype).value, device, requires_grad)


@public
@respelling
def zeros(shape: int | Sequence[int] = (), *sizes: int | DTypeLike, dtype: DTypeLike | None = None,
          device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros, of a `shape` given as one sequence of sizes, or as a size and further `sizes`.

    float32 without a `dtype`, which may also stand behind the shape; `device` and `requires_grad` as of `full`. Raises
    ShapeError for a negative size, DTypeError for another dtype than there is, DeviceError for a device that there is
    not.

    >>> st.zeros(2, 3).shape, st.zeros((2,), dtype="int64").tolist(), st.zeros(2, bool).tolist()
    ((2, 3), [0, 0], [False, False])
    """
    return filled_with(0, shape, sizes, dtype, device, requires_grad)


@public
@respelling
def ones(shape: int | Sequence[int] = (), *sizes: int | DTypeLike, dtype: DTypeLike | None = None,
         device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """A tensor of ones, of a `shape` given as one sequence of sizes, or as a size and further `sizes`.

    float32 without a `dtype`, which may also stand behind the shape; `device` and `requires_grad` as of `full`. Raises
    ShapeError for a negative size, DTypeError for another dtype than there is, DeviceError for a device that there is
    not.

    >>> st.ones(2).tolist(), st.ones((), dtype="bool").tolist()
    ([1.0, 1.0], True)
    """
    return filled_with(1, shape, sizes, dtype, device, requires_grad)


@public
@respelling
def empty(shape: int | Sequence[int] = (), *sizes: int | DTypeLike, dtype: DTypeLike | None = None,
          device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """A tensor of a `shape` whose numbers do not matter: they are zeros, which cost nothing here.

    The shape is one sequence of sizes, or a size and further `sizes`.
    float32 without a `dtype`, which may also stand behind the shape; `device` and `requires_grad` as of `full`. Raises
    ShapeError for a negative size, DTypeError for another dtype than there is, DeviceError for a device that there is
    not.

    >>> st.empty((2, 3), dtype="int8").shape
    (2, 3)
    """
    return filled_with(0, shape, sizes, dtype, device, requires_grad)


@public
def full_like(x: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None, device: DeviceLike = None,
              requires_grad: bool = False) -> Tensor:
    """A tensor that holds the number `fill_value` everywhere, in the shape of x, which may be an array or a list.

    In the dtype and on the device of x, where `dtype` and `device` name no other. A fraction is dropped for integers.
    `requires_grad` as of `full`. Raises DTypeError for another dtype than there is and for a number that it does not
    hold, DeviceError for a device that there is not.

    >>> st.full_like(st.tensor([[1.0, 2.0]]), 7).tolist()
    [[7.0, 7.0]]
    """
    x = constant(x)
    return full(x.shape, fill_value, named(dtype, x.dtype), x.device if device is None else device, requires_grad)


@public
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
               ) -> Tensor:
    """A tensor of zeros in the shape of x, which may be an array or a list.

    `dtype`, `device` and `requires_grad` as of `full_like`. Raises DTypeError for another dtype than there is,
    DeviceError for a device that there is not.

    >>> st.zeros_like(st.tensor([3, 4])).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype, device, requires_grad)


@public
def ones_like(x: TensorLike, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
              ) -> Tensor:
    """A tensor of ones in the shape of x, which may be an array or a list.

    `dtype`, `device` and `requires_grad` as of `full_like`. Raises DTypeError for another dtype than there is,
    DeviceError for a device that there is not.

    >>> st.ones_like(st.tensor([[0.5], [2.5]])).tolist()
    [[1.0], [1.0]]
    """
    return full_like(x, 1, dtype, device, requires_grad)


@public
def empty_like(x: TensorLike, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
               ) -> Tensor:
    """A tensor in the shape of x whose numbers do not matter, as of `empty`.

    `dtype`, `device` and `requires_grad` as of `full_like`. Raises DTypeError for another dtype than there is,
    DeviceError for a device that there is not.

    >>> st.empty_like(st.tensor([[1.0, 2.0]]), dtype="uint16").dtype
    uint16
    """
    return full_like(x, 0, dtype, device, requires_grad)


@public
@respelling
def arange(start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | None = None,
           device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """The numbers `start`, start + `step`, ... before `stop`, in one axis; from 0 where only one number is given.

    Without a `dtype`, int64 if all of them are whole and no floats, else float32. Element k is start + k * step,
    rounded once. Raises ShapeError for a step of 0 and for numbers that are not finite, DTypeError for a dtype that
    does not hold them. `device` and `requires_grad` as of `full`.

    >>> st.arange(4).tolist(), st.arange(2, 8, 3).tolist()
    ([0, 1, 2, 3], [2, 5])
    >>> st.arange(1, 0, -0.25).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    ends: tuple[Any, ...] = (0, start) if stop is None else (start, stop)
    number: Callable[[Any], float] = lambda n: arguments.number(n, "every number of arange")
    first, last, by = (n if isinstance(n, Size) else number(n) for n in map(plain, (*ends, step)))
    if dtype is not None and not any(isinstance(n, Size) for n in (first, last, by)):
        n: Any = generate.count(first, last, by)
        ends = (first, first + (n - 1) * by) if n else ()
        refuse_unfit(named(dtype), ends)
    if generate.are_whole(first, last, by):
        made = generate.arange(first, last, number(by), dtype=named(dtype, "int64"))  # type: ignore[arg-type]
        return placed(made, device, requires_grad)
    return tensor(generate.steps(number(first), number(last), number(by)), named(dtype), requires_grad, device)


@public
@respelling
def eye(n_rows: int, n_cols: int | None = None, k: int = 0, dtype: DTypeLike | None = None, device: DeviceLike = None,
        requires_grad: bool = False) -> Tensor:
    """A matrix (`n_rows`, `n_cols`) of zeros with ones on diagonal `k`, 0 the main one, 1 the one above it.

    Square without n_cols, and float32 without a `dtype`. `device` and `requires_grad` as of `full`. Raises ShapeError
    for a negative size, DTypeError for another dtype than there is, DeviceError for a device that there is not.

    >>> st.eye(2).tolist(), st.eye(2, 3, k=1, dtype="int64").tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0, 1, 0], [0, 0, 1]])
    """
    shape = shapes.shape_of((n_rows, n_rows if n_cols is None else n_cols))
    rows, columns = (generate.Iota(shape, axis, int64)() for axis in (0, 1))
    k = max(-MOST, min(MOST, arguments.whole(k, "k of eye")))
    return placed(cast(Equal()(rows + k if k else rows, columns), named(dtype)), device, requires_grad)


@public
def asarray(obj: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor of what `obj` holds, which is obj itself where it is a tensor of that dtype and on that device.

    It may be a number, nested lists of numbers and tensors, an array, anything with a buffer or with DLPack. Without a
    `dtype`, Python numbers become int64, float32 or bool, and arrays keep theirs. With `copy=True` the result shares
    nothing. None, the default, shares the memory of a read-only array whose elements lie in order in one of the dtypes
    here, unless another dtype or device is asked for, or a function is traced; others are copied, since expressions
    that wait to be computed would see what is written into them. False shares that of writable ones too, which are not
    to be written to meanwhile, and raises CopyError where that cannot be. It is made on `device`, where none is named
    on that of the innermost `with st.device(...)`, or where the tensor lies. Of the shape that it has there.

    >>> x = st.asarray([[1, 2], [3, 4]])
    >>> x.dtype, st.asarray(x) is x, st.asarray(x, copy=True) is x, st.asarray([x[0], x[1] * 2]).tolist()
    (int64, True, False, [[1, 2], [6, 8]])
    """
    arguments.optional(arguments.flag)(copy, "copy of asarray")
    if isinstance(obj, Tensor):
        made = obj if dtype is None or obj.dtype == type_named(dtype) else obj.astype(dtype)
        made = made if device is None else made.to(find(device))
        if copy is False and made is not obj:
            raise CopyError(f"{obj.dtype} on {obj.device} becomes {made.dtype} on {made.device} by a copy alone",
                            hint="Leave copy=False out.")
        return obj.clone() if copy and made is obj else made
    if arguments.is_series(obj) and has_tensor(obj):
        return asarray(stacked([asarray(part, device=device) for part in obj]), dtype, copy=copy and None)
    if hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray | np.generic):
        obj = dlpack.taken(obj, None)
    if copy is None and TRACING.get() is None and is_shareable(obj, dtype, device):    # type: ignore[reportUnknownArgumentType]
        return wrapped(obj)     # type: ignore[reportUnknownArgumentType]
    return tensor(obj, dtype, device=device) if copy is not False else shared(obj, dtype, device)


def is_shareable(x: Any, dtype: DTypeLike | None, device: DeviceLike) -> bool:
    """Whether x is an array that nobody writes to, on whose memory a tensor of that dtype on that device can be."""
    if not arguments.is_array(x) or x.flags.writeable or not is_plain(x):
        return False
    if x.dtype.kind not in "biufc" or x.dtype.itemsize > 16:
        return False
    place = current() or HOME if device is None else find(device).name
    return str(place) == HOME and (dtype is None or type_named(dtype) == type_named(x.dtype))


def has_tensor(x: Any) -> bool:
    """Whether there is a tensor in nested lists."""
    return isinstance(x, Tensor) or (arguments.is_series(x) and any(map(has_tensor, x)))


def shared(x: Any, dtype: DTypeLike | None, device: DeviceLike) -> Tensor:
    """A tensor on the memory of an array; CopyError where there cannot be one."""
    is_loose = isinstance(x, np.generic | complex | int | float) or arguments.is_series(x)
    array: Array = np.asarray(x)
    if is_loose or not is_plain(array) or named(dtype, array.dtype) != array.dtype:
        raise CopyError("copy=False is for arrays whose elements lie in order, in one of the dtypes here, "
                        f"got {x!r:.60}", hint="Leave copy=False out.")
    made = wrapped(array)
    if device is not None and find(device) != made.device:
        raise CopyError(f"memory of {made.device} cannot be shared with {device}", hint="Leave copy=False out.")
    return made


def is_plain(array: Array) -> bool:
    """Whether the numbers of an array can be read where they are."""
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


def wrapped(array: Array) -> Tensor:
    """A tensor on the memory of an array."""
    return Tensor(leaf(Type(type_named(array.dtype), array.shape), Borrowed(array), "array"))


@public
def from_numpy(array: Any) -> Tensor:
    """A tensor holding a copy of a NumPy `array`, in its dtype: float64 stays float64.

    Of the shape that it has there. Raises DTypeError for a dtype that tensors do not have, such as strings.

    >>> x = np.array([1.0, 2.0])
    >>> y = st.from_numpy(x)
    >>> x[0] = 7
    >>> y, y.dtype
    (tensor([1., 2.], dtype=float64), float64)
    """
    return tensor(array if isinstance(array, np.ndarray) else array_of(array))


@public
def from_dlpack(x: Any, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of x, any array that speaks DLPack: of NumPy, PyTorch, JAX and others, on the CPU.

    What is written there later is seen, also by expressions that wait to be computed. Where elements do not lie in
    order, with `copy=True`, and for another `device`, they are copied; with False CopyError is raised instead. In a
    compiled function they are always copied. In the dtype of the memory. Of the shape that it has there. Raises
    NoProtocol for what has no `__dlpack__`, an AttributeError (the array API standard's), DeviceError for memory
    of another kind.

    >>> x = np.arange(3)
    >>> y = st.from_dlpack(x)
    >>> x[0] = 7
    >>> y.tolist(), st.from_dlpack(x, copy=True).tolist()
    ([7, 1, 2], [7, 1, 2])
    """
    arguments.optional(arguments.flag)(copy, "copy of from_dlpack")
    if not hasattr(x, "__dlpack__") or (arguments.is_array(x) and x.dtype.kind not in "biufcV"):
        arguments.refuse("the argument of from_dlpack", "an array that speaks DLPack", x, "Write st.tensor(x).",
                         NoProtocol)
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    array = dlpack.taken(x, copy)
    if copy is False:
        return shared(array, None, device)
    if copy or TRACING.get() is not None or not is_plain(array):
        return tensor(array, device=device)
    return placed(wrapped(array).value, device)


__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "from_numpy", "full", "full_like",
           "ones", "ones_like", "zeros", "zeros_like"]
