"""The array a user holds: a handle on a value, with operators, methods, and numbers when somebody looks."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from functools import cache, wraps
from types import EllipsisType
from typing import Any
from weakref import ref

import numpy as np

from stele.arrays import shapes, spoken
from stele.arrays.apart import is_one, rows_of
from stele.arrays.calling import Arguments
from stele.arrays.familiar import WRITING, writing
from stele.arrays.given import array_of, whole
from stele.arrays.keys import is_simple, resolved, whole_numbers
from stele.arrays.looking import is_traced
from stele.arrays.operands import Operands, array_value
from stele.arrays.rebinding import PENDING_LIMIT, Rebinding, bounded, record
from stele.arrays.spellings import BORROWED, METHODS, Borrowed, absent
from stele.arrays.ufuncs import put_into
from stele.arrays.views import Back, crossed, imaginary_part, other_bits, real_part
from stele.backend.devices import Device, Stream, current, find, is_device
from stele.backend.newest import Newest
from stele.eager.backward import backward, settle
from stele.eager.evaluate import EVALUATOR
from stele.eager.follow import replaying
from stele.eager.handle import GRAD, STEPPING, TRACING
from stele.eager.hooks import added_up
from stele.eager.live import cut, held_as, result
from stele.eager.template import MOST, Recorded, Template, alike, template, token_of
from stele.errors import ArgumentError, DTypeError, GraphError, ShapeError
from stele.ir.door import leaving, public
from stele.ir.graph import Value, literal
from stele.ir.origin import Where, here
from stele.ir.types import HOME, DType, Shape
from stele.ops import contraction, diagonals, indexing, joining, linear, parts, selecting, shaping, statistics
from stele.ops.arguments import flag, shallow
from stele.ops.elementwise import binary, signs, unary
from stele.ops.linear import cast, transfer

new = object.__new__
COPIED = 1 << 12    # elements of a part of an array, up to which it is copied when it is asked for


def lift(f: Callable[..., Any], numbers: bool = False, seen_before: Newest[Any, Template] | None = None
         ) -> Callable[..., Any]:
    """A function of values as a function of tensors; keyword-only parameters may also be given by position.

    With `numbers`, a symbolic size among the arguments is an operand: a number known when the program runs. Templates
    of calls stand in `seen_before`, by kinds of arguments.
    """
    given, seen_before = cache(lambda: Arguments(f)), Newest(MOST) if seen_before is None else seen_before

    @wraps(f)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        operands: list[Value] = []
        try:
            if "out" in kwargs:
                return put_into(lifted, args, kwargs)
            key = kind_of(args, kwargs, operands) if TRACING.get() is None else None
            if (seen := seen_before.get(key)) is not None:
                return recorded(seen, operands, here())
            if key is None and (some := [a for a in (*args, *kwargs.values()) if isinstance(a, Chosen)]):
                return some[0].through(lifted, given().checks, args, kwargs)
            found = Operands(numbers)
            y = found.cut(given().applied(found.value, args, kwargs))
            carries = found.differentiable and GRAD.get()
            if key is not None and (made := template(operands, y, carries)) is not None:
                seen_before[key] = made
            return tensors(y, carries)
        except Exception as error:
            leaving(error, f.__name__)
            raise

    lifted.__wrapped__, lifted.__annotations__ = spoken.Said(f), {}     # type: ignore[attr-defined]
    return lifted


def kind_of(args: Sequence[Any], kwargs: Mapping[str, Any], operands: list[Value]) -> tuple[Any, ...] | None:
    """What of the arguments a result depends on, besides the operands' numbers: the operands are noted. None where that
    cannot be said: where open sizes leave guards, and for arrays and objects of other kinds. The last part is 1 where a
    result carries gradients, 2 where it is cut off from what does.
    """
    key: list[Any] = [*kwargs]
    carries = False
    for a in (*args, *kwargs.values()) if kwargs else args:
        if (kind := type(a)) is Tensor:
            if a._requires_grad:
                carries = True
            v = a._value
            if (mark := v.type.mark) in key and v in operands:
                key.append(operands.index(v))
            else:
                operands.append(v)
                key.append(mark)
        elif kind is float or kind is int:
            key.append((kind, a or str(a)))
        else:
            nested = kind is list or kind is tuple
            if (inner := kind_of(shallow(a), {}, operands) if nested else token_of(a)) is None:
                return None
            carries = carries or (nested and inner[-1] > 0)
            key.append((kind, inner))
    key.append(0 if not carries else 1 if GRAD.get() else 2)
    return tuple(key)


def tensors(y: Any, carries: bool) -> Any:
    """Results as tensors."""
    if isinstance(y, Value):
        return record(Tensor(y, carries and y.dtype.is_float))
    return alike(y, [tensors(part, carries) for part in y]) if isinstance(y, tuple | list) else y


def recorded(made: Template, operands: list[Value], where: Where) -> Any:
    """The results of a call outside of any trace: `record(Tensor(value))`, written out, in half the time."""
    if not made.form:
        return tensors(made.fill(operands, where), made.carries)
    v, x = new(Recorded), new(Tensor)
    v.type, v.where, v.data, v.call = made.type, where, None, (made, operands, [])
    x._value, x._grad, x.home, x._requires_grad, x.leaf = v, None, None, made.carries, False
    x.parts = x.tie = None
    v.owner = ref(x)
    EVALUATOR.recorded = count = EVALUATOR.recorded + 1
    return x if count % PENDING_LIMIT and not STEPPING else bounded(x)


def arithmetic(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of operands, which may be symbolic sizes."""
    return lift(f, numbers=True)


def operator(f: Callable[..., Any], numbers: bool = True) -> Callable[..., Any]:
    """A function of two operands as an operator. Between two tensors, which is asked most, and the result of a pattern
    seen before stands nothing else: 0.25 us less than `lift` takes.
    """
    seen_before = Newest[Any, Template](MOST)
    lifted = lift(f, numbers, seen_before)

    def called(x: Any, z: Any) -> Any:
        try:
            if type(x) is Tensor and type(z) is Tensor and not (x._requires_grad or z._requires_grad) and \
                    (v := x._value) is not (w := z._value) and TRACING.get() is None and \
                    (seen := seen_before.get((v.type.mark, w.type.mark, 0))) is not None:
                return recorded(seen, [v, w], here())
            return lifted(x, z)
        except Exception as error:
            leaving(error, f.__name__)
            raise

    return speaking(called, lifted)


def seeing(f: Callable[..., Any], back: Back | None = None, axes: int = 0) -> Callable[..., Any]:
    """A function whose results are parts of its operand, or that one seen otherwise, as NumPy's views share memory.

    `back` is for diagonals and for results of another dtype; of an operand of fewer `axes` they are its own.
    """
    lifted, given = lift(f), cache(lambda: Arguments(f))

    def anew(v: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return given().applied(Operands(False).value, (v, *args), kwargs)

    @wraps(f)
    def seen(*args: Any, **kwargs: Any) -> Any:
        try:
            y = lifted(*args, **kwargs)
        except Exception as error:
            leaving(error)
            raise
        if "out" in kwargs:
            return y
        if args:
            x, rest = args[0], args[1:]
        else:
            name, x = next((pair for pair in kwargs.items() if isinstance(pair[1], Tensor)), ("", None))
            rest, _ = args, kwargs.pop(name, None)
        if not isinstance(x, Tensor) or (axes and x.ndim < axes):
            return y
        if isinstance(y, Tensor):
            y.tie_to(x, anew, rest, kwargs, None, back if back is crossed or y.dtype != x.dtype else None)
        else:
            for place, part in enumerate(y):
                if part.ndim:       # NumPy takes numbers out
                    part.tie_to(x, anew, rest, kwargs, place)
        return y

    return speaking(seen, lifted)


def each_seen(f: Callable[..., Any], make: Callable[[Value, Shape], Value]) -> Callable[..., Any]:
    """A function of several operands, of each of which a result is a part, as of `seeing`: `make` gives that one, from
    the operand and the shape of the result."""
    lifted = lift(f)

    def anew(v: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return make(v, *args)

    @wraps(f)
    def seen(*args: Any) -> Any:
        y = lifted(*args)
        for x, part in zip(args, (y,) if isinstance(y, Tensor) else y):
            if isinstance(x, Tensor):
                part.tie_to(x, anew, (part.value.type.shape,), {})
        return y

    return speaking(public(seen), lifted)


def at_places(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose second argument says places on which a length depends: those of arrays are looked at."""
    lifted = lift(f)

    def called(x: Any, i: Any, *args: Any, **kwargs: Any) -> Any:
        return lifted(x, i.tolist() if isinstance(i, Tensor | np.ndarray) else i, *args, **kwargs)

    return speaking(public(called), lifted)


def taken(v: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A part of other numbers, at a key."""
    return indexing.index(v, *args)


def reflected(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as the method of its second operand."""
    lifted = arithmetic(f)
    return speaking(public(lambda z, x: lifted(x, z)), lifted)


def rebinding(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as an in-place operator: its result is what the handle stands for from now on."""
    lifted = operator(f)
    return speaking(public(lambda x, z: x.rebind(lifted(x, z))), lifted)


def speaking(method: Any, lifted: Any) -> Callable[..., Any]:
    """A method with the signature and the words of the function it is made of."""
    method.__wrapped__, method.__doc__ = lifted.__wrapped__, lifted.__doc__
    return method


def astype(x: Value, *, dtype: DType, copy: bool = True) -> Value:
    """This tensor as another dtype: float to integer truncates, to bool tests != 0.

    `copy` changes nothing: values are never written to, and the result is a tensor of its own.
    NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
    int32 and int64; integers of fewer bits keep the low bits of the int32, uint32 those of the int64. Raises DTypeError
    for complex numbers to real ones.

    >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
    [255, 44, 0]
    """
    return cast(x, whole(x.dtype, dtype))


class Tensor(Rebinding):
    """An array. Operations record an expression; numbers are computed when somebody looks.

    Made by `st.tensor`. Looking is printing, `x.tolist()`, `x.numpy()`, `float(x)`, `if x:`; inside of a compiled
    function that raises TraceError. A tensor never changes but by in-place operators and `assign`, its own and those of
    what shares its elements, as NumPy's views do: parts such as x[0], and x.T.

    >>> x = st.tensor([1.0, 2.0])
    >>> (x * 2 + 1).tolist()
    [3.0, 5.0]
    >>> x.shape, x.dtype, x
    ((2,), float32, tensor([1., 2.]))
    """

    __slots__ = ()

    grad: Tensor | None  # type: ignore[assignment]

    # Parts

    def _alike(self, x: Any) -> Tensor: return constant(x, self.dtype)

    @public
    def __setitem__(self, key: Index, new: Any) -> None:
        """Rebinds this tensor to itself with x[key] replaced by `new`, broadcast and cast to its dtype.

        Where a key names an element twice the last one stays.
        """
        simple = is_simple(key)
        if isinstance(new, Chosen):
            self.rebind(new.over(self, key))
            return
        if simple and isinstance(new, Tensor) and new.tie is not None and new.is_part(self, taken, key):
            return      # of x[key] += y, which has written it
        new = self.beside(new)
        x, key = (self, key) if simple else resolved(self, key, constant, new.ndim)
        made = replaced(x, new, key)
        self.rebind(made if x is self else made.reshape(self.shape))

    def __getitem__(self, key: Index) -> Tensor:
        if not is_simple(key) and not is_simple(key := whole_numbers(key)):
            x, own = resolved(self, key, constant)
            return part(x, own) if (found := all_places(x, own)) is None else chosen(x, own, *found)
        found = part(self, key) if (there := copied(self, key)) is None else there
        if found._value.type.shape or key is ... or (type(key) is tuple and ... in key):      # NumPy takes numbers out
            found.tie_to(self, taken, (key,), {})
        return found

    # Gradients

    def detach(self) -> Tensor:
        """The same numbers as a tensor that carries no gradient."""
        is_cut = not self.requires_grad and TRACING.get() is None
        return Tensor(self.value if is_cut else cut(self.value))

    @public
    def backward(self, gradient: Any = None, retain_graph: bool = False) -> None:
        """Adds the gradient of this number to `.grad` of every tensor it depends on that requires one.

        `gradient` stands for the ones that the derivative starts with, and lets it start from more than one number. The
        history is let go of afterwards, unless `retain_graph`. Raises GraphError where nothing requires gradients or
        the history is gone, ShapeError for more than one number without a gradient and for a gradient of another shape,
        DTypeError for whole numbers.

        >>> x = st.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad.tolist()
        [2.0, 4.0]
        """
        flag(retain_graph, "retain_graph of backward")
        if not self.dtype.is_float:
            raise DTypeError(f"backward() starts from a float number, got {self.dtype}: there is no derivative of it",
                             hint="Compute the loss of floats: .mean() instead of .sum(), 2.0 instead of 2; what "
                                  ".astype makes a whole number has none either.")
        if not self.requires_grad:
            raise GraphError("backward() on a tensor that depends on none that requires gradients",
                             hint="Make one with st.tensor(..., requires_grad=True), and compute outside of "
                                  "st.no_grad().")
        if gradient is None and self.size != 1:
            raise ShapeError(f"backward() starts from one number, got shape {self.shape}",
                             hint="Write y.sum().backward().")
        if gradient is None and self.dtype.is_complex:
            raise DTypeError(f"backward() starts from a real number, got {self.dtype}",
                             hint="Write z.real.backward(), or give the gradient: z.backward(gradient=1).")
        value = self.value
        seed = None if gradient is None else self.beside(gradient).value
        if seed is not None and seed.shape != value.shape:
            raise ShapeError(f"the gradient that backward() starts from has the shape {self.shape} of the tensor, got "
                             f"{seed.shape}")
        pairs = backward(value, seed, retain_graph)
        for handle, g in pairs:
            handle.grad = Tensor(g)
        settle(value, [g for _, g in pairs], retain_graph)
        for handle, _ in pairs:
            added_up(handle)

    # Operators

    __add__, __radd__           = operator(binary.sum_of), reflected(binary.sum_of)
    __sub__, __rsub__           = operator(binary.difference), reflected(binary.difference)
    __mul__, __rmul__           = operator(binary.multiply), reflected(binary.multiply)
    __truediv__, __rtruediv__   = operator(binary.quotient), reflected(binary.quotient)
    __floordiv__, __rfloordiv__ = operator(binary.floor_divide), reflected(binary.floor_divide)
    __mod__, __rmod__           = operator(binary.remainder), reflected(binary.remainder)
    def __divmod__(self, z: TensorLike) -> tuple[Tensor, Tensor]: return self // z, self % z
    def __rdivmod__(self, z: TensorLike) -> tuple[Tensor, Tensor]: return self.__rfloordiv__(z), self.__rmod__(z)
    __pow__, __rpow__           = operator(binary.pow), reflected(binary.pow)
    __matmul__, __rmatmul__     = operator(contraction.matmul, False), reflected(contraction.matmul)
    __and__, __rand__           = operator(binary.bitwise_and), reflected(binary.bitwise_and)
    __or__, __ror__             = operator(binary.bitwise_or), reflected(binary.bitwise_or)
    __xor__, __rxor__           = operator(binary.bitwise_xor), reflected(binary.bitwise_xor)
    __lshift__, __rlshift__     = operator(binary.shift_left), reflected(binary.shift_left)
    __rshift__, __rrshift__     = operator(binary.shift_right), reflected(binary.shift_right)
    __lt__, __le__              = operator(binary.less), operator(binary.less_equal)
    __gt__, __ge__              = operator(binary.greater), operator(binary.greater_equal)
    __eq__, __ne__              = operator(binary.equal), operator(binary.not_equal)  # type: ignore[assignment]
    __neg__, __abs__            = arithmetic(binary.negative), lift(unary.absolute)
    __invert__, __pos__         = lift(unary.invert), lift(signs.positive)
    __iadd__, __isub__          = rebinding(binary.sum_of), rebinding(binary.difference)
    __imul__, __itruediv__      = rebinding(binary.multiply), rebinding(binary.quotient)
    __ifloordiv__, __imod__     = rebinding(binary.floor_divide), rebinding(binary.remainder)
    __ipow__, __imatmul__       = rebinding(binary.pow), rebinding(contraction.matmul)
    __iand__, __ior__           = rebinding(binary.bitwise_and), rebinding(binary.bitwise_or)
    __ixor__                    = rebinding(binary.bitwise_xor)
    __ilshift__, __irshift__    = rebinding(binary.shift_left), rebinding(binary.shift_right)
    __hash__                    = object.__hash__

    # Methods

    exp, log, log1p, expm1 = lift(unary.exp), lift(unary.log), lift(unary.log1p), lift(unary.expm1)
    sqrt, rsqrt, square    = lift(unary.sqrt), lift(unary.rsqrt), lift(unary.square)
    sin, cos, tan, atan    = lift(unary.sin), lift(unary.cos), lift(unary.tan), lift(unary.atan)
    tanh, sigmoid, erf     = lift(unary.tanh), lift(unary.sigmoid), lift(unary.erf)
    relu, abs, sign        = lift(unary.relu), lift(unary.absolute), lift(unary.sign)
    floor, ceil, round     = lift(unary.floor), lift(unary.ceil), lift(binary.round)
    isnan, isinf, isfinite = lift(unary.isnan), lift(unary.isinf), lift(unary.isfinite)
    pow, clip, maximum     = arithmetic(binary.pow), arithmetic(binary.clip), arithmetic(binary.maximum)
    minimum, matmul        = arithmetic(binary.minimum), lift(contraction.matmul)
    sum, mean, prod        = lift(statistics.sum), lift(statistics.mean), lift(statistics.prod)
    max, min               = lift(statistics.max), lift(statistics.min)
    var, std               = lift(statistics.var), lift(statistics.std)
    argmax, argmin         = lift(statistics.argmax), lift(statistics.argmin)
    all, any               = lift(statistics.all), lift(statistics.any)
    reshape, view          = seeing(shapes.reshape), seeing(shapes.view, other_bits)
    permute, transpose     = seeing(shapes.permute), seeing(shapes.transpose)
    swapaxes, flatten      = seeing(shaping.swapaxes), lift(shapes.flatten)
    squeeze, unsqueeze     = seeing(shaping.squeeze), seeing(shapes.unsqueeze)
    expand, clone, copy    = seeing(shapes.expand), lift(shapes.copied), lift(shapes.copied)
    take, gather, ravel    = lift(selecting.take), lift(selecting.gather), seeing(shapes.flatten)
    index_select, narrow   = lift(selecting.index_select), seeing(selecting.narrow)
    masked_fill, unfold    = lift(selecting.masked_fill), seeing(shaping.unfold)
    split, chunk, unbind   = seeing(joining.split), seeing(joining.chunk), seeing(joining.unstack)
    unflatten, diagonal    = seeing(shaping.unflatten), seeing(diagonals.diagonal, crossed)
    T, mT                  = property(seeing(shapes.transposed)), property(seeing(linear.swap_last))
    real                   = property(seeing(parts.real, real_part), lambda x, new: x.real.assign(new))
    imag                   = property(seeing(parts.imag, imaginary_part), lambda x, new: x.imag.assign(new))
    conj, conjugate        = lift(parts.conj), lift(parts.conj)
    astype                 = lift(astype)

    @public
    def to(self, *what: DTypeLike | Device | Tensor, device: DeviceLike = None, dtype: DTypeLike | None = None
           ) -> Tensor:
        """This tensor on a `device`, as another `dtype`: itself where it is there, else a copy that gradients pass.

        Either may be given by its place, as `what`, or both by another tensor. Raises DeviceError for a device that
        there is not.

        >>> x = st.ones(2).to("cpu:1")
        >>> x + x
        tensor([2., 2.], device='cpu:1')
        """
        x = self
        if what and isinstance(other := what[0], Tensor):
            what = other.dtype, other.device, *what[1:]
        for wanted in (w for w in (*what, device, dtype) if w is not None):
            if not is_device(wanted):
                x = x if (y := x.astype(wanted)).dtype == x.dtype else y
            elif x.value.type.device != find(wanted).name:
                x = moved(x, device=find(wanted).name)
        return x

    def to_device(self, device: DeviceLike, *, stream: Any = None) -> Tensor:
        """This tensor on a device, as of `to`, in the order of a `stream` of that device where one is given.

        Raises ArgumentError for a stream that is none.
        """
        if stream is not None and not isinstance(stream, Stream):
            raise ArgumentError(f"stream of to_device must be a Stream or None, got {type(stream).__name__}")
        with stream or nullcontext():
            return self.to(find(device))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in METHODS]

    def __reduce__(self) -> Any:
        place = () if self.device == HOME else (self.device,)
        own = np.array(self.numpy()), None, self.requires_grad and self.leaf, *place
        return (tensor, own, (None, {"leaf": True})) if self.leaf and not self.requires_grad else (tensor, own)

    def __deepcopy__(self, memo: Any) -> Tensor:
        if (self.requires_grad and not self.leaf) or (TRACING.get() is not None and is_traced(self.value)):
            return self.clone()         # gradients pass
        make, own, *_ = self.__reduce__()
        made = make(*own)
        made.leaf, made.grad = self.leaf, deepcopy(self.grad, memo)
        return made

    def __copy__(self) -> Tensor:
        return self.__deepcopy__({})

    def float(self) -> Tensor:
        """This tensor as float32, as of `astype`."""
        return self.astype("float32")
    def double(self) -> Tensor:
        """This tensor as float64, as of `astype`."""
        return self.astype("float64")
    def int(self) -> Tensor:
        """This tensor as int32, as of `astype`."""
        return self.astype("int32")
    def long(self) -> Tensor:
        """This tensor as int64, as of `astype`."""
        return self.astype("int64")
    def bool(self) -> Tensor:
        """This tensor as bools: whether each element is other than 0."""
        return self.astype("bool")


# What an operand may be, what may stand in x[...], and what may name a dtype or a device.
TensorLike = Tensor | np.ndarray[Any, Any] | np.generic | complex | list[Any] | tuple[Any, ...]
Place = Tensor | np.ndarray[Any, Any] | np.integer[Any] | int | slice | EllipsisType | list[Any] | range | None
Index = Place | tuple[Place, ...]
DTypeLike = DType | str | type[Any] | np.dtype[Any]
DeviceLike = Device | str | None

spoken.publish(list(vars(Tensor).items()), __name__, "Tensor")
for name in BORROWED.split():
    setattr(Tensor, name, Borrowed(name))
for name in WRITING.split():
    setattr(Tensor, f"{name}_", writing(name))
for name in METHODS.keys() - vars(Tensor).keys():
    setattr(Tensor, name, absent("a tensor", name, METHODS))
converted, moved = lift(astype), lift(linear.transfer)
def copied(x: Tensor, key: Any) -> Tensor | None:
    """x[key] copied at once, where x has its numbers and the part is small; None elsewhere. What is then made of parts
    is one expression wherever they lie, where a program that reads them from x itself would be one for each place.
    """
    v = x._value
    if v.data is None or x._requires_grad or TRACING.get() is not None or not replaying(()) or v.type.device != HOME:
        return None
    with x.at_rest():
        buffer = v.data.part(key, COPIED)
    return None if buffer is None else Tensor(result(held_as(v.type.dtype.name, buffer.shape), here(), buffer))


part, replaced, where = lift(indexing.index), lift(indexing.set_index), arithmetic(binary.where)


def all_places(x: Tensor, key: tuple[Any, ...]) -> tuple[Tensor, Tensor, int, Any] | None:
    """Of a key with a mask of a program the part that all places of it make, the mask, along which axis of the part it
    chooses, and the key of the part. None for a key without one, and where other arrays or numbers stand about it.
    """
    masks = [k for k, e in enumerate(key) if isinstance(e, Tensor) and e.dtype.kind == "b"]
    rest = tuple([slice(None) if k in masks else e for k, e in enumerate(key)])
    points = [k for k, e in enumerate(rest) if k in masks or type(e) is int]
    if len(masks) != 1 or not is_simple(rest) or points[-1] - points[0] >= len(points):
        return None
    used = sum(e is not None and e is not ... for e in rest)
    axis = sum(x.ndim - used if e is ... else type(e) is not int for e in rest[:masks[0]])
    return part(x, rest), key[masks[0]], axis, rest


def chosen(x: Tensor, key: tuple[Any, ...], whole: Tensor, mask: Tensor, axis: int, _: Any) -> Chosen:
    """What a key chooses of x as it is now."""
    at = Tensor(mask.value)
    kept = where(spread(at, axis, whole), whole, 0.5 if x.dtype.is_float else True)
    x, key = Tensor(x.value), tuple([at if e is mask else e for e in key])
    return Chosen(kept, at, axis, lambda: part(x, key).value)


def spread(mask: Tensor, axis: int, x: Tensor) -> Tensor:
    """A mask along an axis of x."""
    return mask.reshape((-1, *[1] * (x.ndim - axis - 1)))


class Chosen(Tensor):
    """x[mask] of a mask whose numbers a program knows when it runs: nobody knows its length before.

    What is made of each row of all of x goes to the places of the same mask: `x[mask] += 1`,
    `x[:, mask] = st.exp(y[:, mask])`; sums, and what else takes `where=`, count those places alone. All else that asks
    for the numbers raises DTypeError, and says what to write. At other places stands a number at which most functions
    have a slope; no gradient comes back from there.
    """

    __slots__ = ("axis", "mask", "refused", "whole")

    def __init__(self, whole: Tensor, mask: Tensor, axis: int, refused: Callable[[], Any]) -> None:
        self.whole, self.mask, self.axis, self.refused = whole, mask, axis, refused
        self._grad = self.parts = self.tie = None
        self._requires_grad, self.leaf, self.home = whole._requires_grad, False, whole.home

    @property
    def value(self) -> Any:     # type: ignore[override]
        return self.refused()

    @property
    def dtype(self) -> DType:   # type: ignore[override]
        return self.whole.dtype

    @property
    def ndim(self) -> int:
        return self.whole.ndim

    def through(self, f: Callable[..., Any], checks: Mapping[str, Any], args: Sequence[Any], named: Any) -> Any:
        """What f makes of the numbers: of each row alone, or of all of them where it takes `where`."""
        rows: dict[Value, int] = {}
        args, named = [self.beside(a, rows) for a in args], {k: self.beside(a, rows) for k, a in named.items()}
        y = f(*args, **named)
        axis = rows_of(y.value, rows, [a.value for a in (*args, *named.values()) if isinstance(a, Tensor)]
                       ) if isinstance(y, Tensor) else None
        if axis is not None:
            return Chosen(y, self.mask, axis, self.refused)
        is_counted = "where" in checks.keys() - named.keys() and "return_indices" not in checks
        return f(*args, **named, where=spread(self.mask, self.axis, self.whole)) if is_counted else self.value

    def beside(self, a: Any, rows: dict[Value, int]) -> Any:
        """An argument at all places; of other masks there is none."""
        if not isinstance(a, Chosen):
            return a
        if not is_one(a.mask.value, self.mask.value):
            return a.value
        rows[a.whole.value] = a.axis
        return a.whole

    def rebind(self, new: Tensor) -> Tensor:
        if not isinstance(new, Chosen):
            return self.value
        self.whole = Tensor(self.whole.value, self.whole._requires_grad).rebind(new.whole)
        return self

    def tie_to(self, *_: Any) -> None:
        """Parts of what was chosen share nothing, so there are none."""
        self.refused()

    def over(self, x: Tensor, key: Any) -> Tensor:
        """x with the numbers at the places that they were chosen from."""
        rows, key = resolved(x, key, constant)
        found = all_places(rows, key)
        if found is None or not is_one(found[1].value, self.mask.value):
            return self.value
        old, mask, axis, rest = found
        made = where(spread(mask, axis, old), converted(self.whole, dtype=x.dtype), old)
        return replaced(rows, made, rest).reshape(x.shape) if made.shape == old.shape and \
            axis - old.ndim == self.axis - self.ndim else self.value


Chosen._value = Chosen.value     # type: ignore[assignment]    # what handles keep where nobody asks for it


def placed(v: Value, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """A new array as a tensor on a device: where none is named, on that of the innermost `with st.device(...)`."""
    if device is None:
        tracing = TRACING.get()
        device = (current() if tracing is None else tracing.place()) or HOME
    made = record(Tensor(transfer(v, find(device).name)))
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def constant(x: Any, like: DType | None = None) -> Tensor:
    """A tensor as it is; a number, a list or an array as a tensor, of dtype `like` where one is given."""
    if isinstance(x, Tensor):
        return x if like is None or x.dtype == like else converted(x, dtype=like)
    if isinstance(x, Value):
        return Tensor(x)
    if isinstance(x, bool | int | float | complex):
        return Tensor(literal(x, like))
    return tensor(x, dtype=like)


@public
def tensor(data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False, device: DeviceLike = None
           ) -> Tensor:
    """A tensor holding a copy of `data`: a number, nested lists of numbers, an array or another tensor.

    Python floats become float32, complex numbers complex64 and integers int64; arrays keep their dtype, and tensors
    their device unless another is named. With `requires_grad` it is a leaf whose gradient `backward` accumulates. Of
    the shape that it has there. Raises ShapeError for ragged lists, DTypeError for what are no numbers, for integers
    that the dtype does not hold, and for gradients of integers.

    >>> st.tensor([[1, 2], [3, 4]]).dtype, st.tensor(0.5).dtype
    (int64, float32)
    >>> st.tensor([1, 2], dtype="float16", requires_grad=True)
    tensor([1., 2.], dtype=float16, requires_grad=True)
    """
    if isinstance(data, Tensor):
        made = data.detach() if device is None else data.detach().to(find(device))
    else:
        made = placed(array_value(data if isinstance(data, np.ndarray) else array_of(data, dtype)), device)
    made = made if dtype is None else converted(made, dtype=dtype)
    return made if requires_grad is False else made.requires_grad_(requires_grad)
