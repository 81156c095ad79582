"""The array a user holds: a handle on a value, with operators, methods, and numbers when somebody looks."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from itertools import chain, repeat
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from stele import shapes, spoken
from stele.backward import backward, settle
from stele.errors import ArgumentError, DeviceError, DTypeError, GraphError, ShapeError, SteleError, TraceError
from stele.evaluate import EVALUATOR, evaluate, known
from stele.handle import GRAD, TRACING, is_symbolic, owner
from stele.ir.door import leaving, public
from stele.ir.graph import Array, Constant, Value, literal, walk
from stele.ir.origin import here, inherit
from stele.ir.sizes import Size
from stele.ir.types import DType, holds, int64, unfit
from stele.ir.types import dtype as type_named
from stele.looking import Looking
from stele.opensize import plain
from stele.ops import contraction, indexing, linear, shaping, statistics
from stele.ops.arguments import FORMS, choice
from stele.ops.elementwise import binary, unary
from stele.ops.elementwise.unary import StopGradient
from stele.ops.generate import quantity
from stele.ops.linear import broadcast, cast, full
from stele.spellings import METHODS, argument, unknown
from stele.template import MOST, Template, Unseen, template, token_of

PENDING_LIMIT = 1000
KINDS = "buif"  # of dtypes; an in-place result is not of a later one (NumPy's casting "same_kind")
ELSEWHERE = ("cuda", "gpu", "mps", "xpu", "tpu", "hip", "meta")  # devices of other frameworks
CUT = StopGradient()
SMALL = 64      # elements of an array made while tracing, up to which it is written into the graph


def lift(f: Callable[..., Any], numbers: bool = False) -> Callable[..., Any]:
    """A function of values as a function of tensors; keyword-only parameters may also be given by position.

    With `numbers`, a symbolic size among the arguments is an operand: a number known when the program runs.
    """
    said, parameters = spoken.signature(f), spoken.own(f).parameters.values()
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    places = None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters) - len(keywords)
    checks = {p.name: (FORMS[p.annotation], f"{p.name} of {f.__name__}") for p in parameters}
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    in_order = list(checks.values())[:len(parameters) - len(keywords)]
    seen_before: dict[Any, Template] = {}

    def applied(found: Operands, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if places is not None and len(args) > places:
            named = dict(zip(keywords, args[places:]))
            if (most := places + len(keywords)) < len(args) or named.keys() & kwargs.keys():
                raise too_many(f.__name__, most, args, kwargs)
            args, kwargs = args[:places], kwargs | named
        if kwargs.keys() - checks.keys():
            kwargs = respelled(f.__name__, kwargs, checks)
        if len(args) < len(required) and (missing := [name for name in required[len(args):] if name not in kwargs]):
            raise ArgumentError(f"{f.__name__} needs {' and '.join(missing)}", hint=f"It is {f.__name__}{said}.")
        with inherit(here()):
            given = [form(found.value(a), what) for (form, what), a in zip(chain(in_order, repeat(in_order[-1])), args)]
            named = {name: checks[name][0](found.value(a), checks[name][1]) for name, a in kwargs.items()}
            return f(*given, **named)

    @wraps(f)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        found = Operands(numbers)
        key = found.key(args, kwargs)
        if key is not None and (seen := seen_before.get(key)) is not None:
            return found.tensors(seen.fill(found.values, here()))
        try:
            y = found.cut(applied(found, args, kwargs))
        except SteleError as error:
            leaving(error, f.__name__)
            raise
        if key is not None and (made := template(found.values, y)) is not None:
            seen_before[key] = made
            if len(seen_before) > MOST:
                del seen_before[next(iter(seen_before))]
        return found.tensors(y)

    lifted.__signature__, lifted.__annotations__ = said, {}     # type: ignore[attr-defined]
    return lifted


def too_many(function: str, most: int, args: Sequence[Any], named: Collection[str]) -> ArgumentError:
    """The error for arguments of which some stand in no place, or in one that a name has taken."""
    return ArgumentError(f"{function} takes at most {most} argument{'s' * (most > 1)}, each once; got {len(args)}"
                         + "".join(f" and {name}=" for name in named))


def respelled(function: str, given: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Arguments under the names they have here, as PyTorch and NumPy spell them too; ArgumentError for other names."""
    found = {name: a for name, a in given.items() if name in known}
    for name in given.keys() - found.keys():
        own = argument(name, known, found)
        found[own or choice(name, f"an argument of {function}", known, ArgumentError)] = given[name]
    return found


class Operands:
    """Takes the values out of tensors, and remembers whether any of them carries gradients."""

    __slots__ = ("differentiable", "numbers", "values")

    differentiable: bool
    numbers: bool
    values: list[Value]

    def __init__(self, numbers: bool) -> None:
        self.differentiable, self.numbers = False, numbers
        self.values = []

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What of the arguments a result depends on, besides the operands' numbers: the operands are noted. None where
        that cannot be said: in a trace, where open sizes leave guards, and for arrays and objects of other kinds.
        """
        if TRACING.get() is not None:
            return None
        try:
            key = (*map(self.known, args), *kwargs, *map(self.known, kwargs.values())) if kwargs else \
                tuple(map(self.known, args))
        except Unseen:
            self.values.clear()
            self.differentiable = False
            return None
        return (CUT, key) if self.differentiable and not GRAD.get() else key

    def known(self, a: Any) -> Any:
        """What one argument says. Raises Unseen."""
        if type(a) is Tensor:
            self.differentiable = self.differentiable or a._requires_grad
            v, values = a._value, self.values
            if v in values:
                return values.index(v)
            values.append(v)
            return v.type
        return (type(a), *map(self.known, a)) if type(a) is list or type(a) is tuple else token_of(a)

    def value(self, a: Any) -> Any:
        """What an op takes for an argument of the user: values for tensors and arrays, also inside of lists."""
        if isinstance(a, Tensor):
            self.differentiable = self.differentiable or a._requires_grad
            return a.value
        if isinstance(a, np.ndarray):
            return array_value(a)
        if isinstance(a, Size):
            return quantity(plain(a)) if self.numbers else plain(a)
        if isinstance(a, list | tuple) and any(isinstance(part, Tensor | np.ndarray) for part in a):
            return tuple(self.value(part) for part in a)
        return plain(a) if isinstance(a, list | tuple | slice) else a

    def cut(self, y: Any) -> Any:
        """Under `no_grad` the results are cut off from what carries gradients."""
        if GRAD.get() or not self.differentiable:
            return y
        if not isinstance(y, Value):
            return tuple(map(self.cut, y)) if isinstance(y, tuple | list) else y
        return cut(y) if y.dtype.is_float else y

    def tensors(self, y: Any) -> Any:
        """The results as tensors."""
        if isinstance(y, Value):
            return record(Tensor(y, self.differentiable and y.dtype.is_float and GRAD.get()))
        return tuple(map(self.tensors, y)) if isinstance(y, tuple | list) else y


def record(x: Tensor) -> Tensor:
    """The tensor itself; after many operations that nobody looked at its numbers are computed, to bound the history."""
    EVALUATOR.recorded += 1
    if EVALUATOR.recorded % PENDING_LIMIT == 0 and TRACING.get() is None and not any(map(is_symbolic, walk([x.value]))):
        evaluate([x.value])
    return x


def arithmetic(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of operands, which may be symbolic sizes."""
    return lift(f, numbers=True)


def reflected(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as the method of its second operand."""
    lifted = arithmetic(f)
    return speaking(public(lambda z, x: lifted(x, z)), lifted)


def rebinding(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as an in-place operator: its result is what the handle stands for from now on."""
    lifted = arithmetic(f)
    return speaking(public(lambda x, z: x.rebind(lifted(x, z))), lifted)


def speaking(method: Any, lifted: Any) -> Callable[..., Any]:
    """A method with the signature and the words of the function it is made of."""
    method.__signature__, method.__doc__ = lifted.__signature__, lifted.__doc__
    return method


def astype(x: Value, *, dtype: DType) -> Value:
    """x as another dtype: float to integer truncates, to bool tests != 0.

    NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
    int32 and int64; uint8 keeps the low bits of the int32, uint32 those of the int64.

    >>> import stele as st
    >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
    [255, 44, 0]
    """
    return cast(x, dtype)


def cut(x: Value) -> Value:
    """x as a value of its own, through which no gradient passes."""
    return Value(CUT, (x,), x.type, x.where)


class Tensor(Looking):
    """An array. Operations record an expression; numbers are computed when somebody looks.

    >>> import stele as st
    >>> x = st.tensor([1.0, 2.0])
    >>> (x * 2 + 1).tolist()
    [3.0, 5.0]
    """

    __slots__ = ()

    grad: Tensor | None  # type: ignore[assignment]

    # Rebinding

    @property
    def data(self) -> Tensor:
        """The same numbers without gradients; `x.data = y` rebinds x and leaves its gradient settings alone."""
        return self.detach()

    @data.setter
    @public
    def data(self, new: Any) -> None:
        self.assign(new)

    @public
    def assign(self, new: Any) -> Tensor:
        """Rebinds this tensor to new numbers of its own shape and dtype, whatever its gradient settings."""
        value = broadcast(constant(new, self.dtype).value, self.value.shape)
        other = owner(value)
        shared = other is not None and (self.leaf or other.leaf or other.requires_grad)
        self.value = cut(value) if shared else value
        return self

    copy_ = assign

    @public
    def zero_(self) -> Tensor:
        """Rebinds this tensor to zeros."""
        return self.assign(full(self.value.shape, 0, self.dtype))

    def rebind(self, new: Tensor) -> Tensor:
        """This handle, standing for another expression of its type from now on."""
        if self.leaf and self.requires_grad and GRAD.get():
            raise GraphError("a tensor that requires gradients is rebound in place, so its gradient would be lost",
                             hint="Do it inside `with st.no_grad():`, or write y = x + 1.")
        if new.shape != self.shape:
            raise ShapeError(f"an in-place operation keeps the shape: {self.shape} cannot become {new.shape}",
                             hint="Write x = x + y instead.")
        if KINDS.index(new.dtype.kind) > KINDS.index(self.dtype.kind):
            raise DTypeError(f"an in-place operation keeps the dtype: {self.dtype} cannot become {new.dtype}",
                             hint=f"Write x = x / y instead, or convert first with x.astype({new.dtype.name!r}).")
        self.value = cast(new.value, self.dtype)
        if self.home is TRACING.get():
            self._requires_grad = self._requires_grad or new._requires_grad
        return self

    @public
    def __setitem__(self, key: Index, new: Any) -> None:
        self.rebind(replaced(self, constant(new, self.dtype), key))

    # Gradients

    @public
    def requires_grad_(self, on: bool = True) -> Tensor:
        """Marks this tensor as one whose gradient `backward` accumulates."""
        if on and not self.dtype.is_float:
            raise DTypeError(f"only float tensors carry gradients, got {self.dtype}",
                             hint="Write st.tensor([1.0, 2.0], requires_grad=True), or x.astype('float32') first.")
        if self.home is not TRACING.get():
            raise TraceError("requires_grad_ on a tensor from outside, inside of a compiled function",
                             hint="Choose what carries gradients before the call.")
        if on and owner(self.value) is not self:
            self.value = cut(self.value)
        self._requires_grad, self.leaf = on, on
        return self

    @property
    def requires_grad(self) -> bool:
        """Whether `backward` passes through this tensor, or stops and accumulates at it; setting it makes it a leaf."""
        return self._requires_grad

    @requires_grad.setter
    @public
    def requires_grad(self, on: bool) -> None:
        self.requires_grad_(on)

    def detach(self) -> Tensor:
        """The same numbers as a tensor that carries no gradient."""
        is_cut = not self.requires_grad and TRACING.get() is None
        return Tensor(self.value if is_cut else cut(self.value))

    @public
    def backward(self, gradient: Any = None, retain_graph: bool = False) -> None:
        """Adds the gradient of this number to `.grad` of every tensor it depends on that requires one."""
        if not self.requires_grad:
            raise GraphError("backward() on a tensor that depends on none that requires gradients",
                             hint="Make one with st.tensor(..., requires_grad=True), and compute outside of "
                                  "st.no_grad().")
        if gradient is None and self.size != 1:
            raise ShapeError(f"backward() starts from one number, got shape {self.shape}",
                             hint="Write y.sum().backward().")
        seed = None if gradient is None else constant(gradient, self.dtype).value
        value = self.value
        pairs = backward(value, seed, retain_graph)
        for handle, g in pairs:
            handle.grad = Tensor(g)
        settle(value, [g for _, g in pairs], retain_graph)

    # Operators

    __add__, __radd__           = arithmetic(binary.add), reflected(binary.add)
    __sub__, __rsub__           = arithmetic(binary.subtract), reflected(binary.subtract)
    __mul__, __rmul__           = arithmetic(binary.multiply), reflected(binary.multiply)
    __truediv__, __rtruediv__   = arithmetic(binary.divide), reflected(binary.divide)
    __floordiv__, __rfloordiv__ = arithmetic(binary.floor_divide), reflected(binary.floor_divide)
    __mod__, __rmod__           = arithmetic(binary.remainder), reflected(binary.remainder)
    __pow__, __rpow__           = arithmetic(binary.pow), reflected(binary.pow)
    __matmul__, __rmatmul__     = lift(contraction.matmul), reflected(contraction.matmul)
    __and__, __rand__           = arithmetic(binary.bitwise_and), reflected(binary.bitwise_and)
    __or__, __ror__             = arithmetic(binary.bitwise_or), reflected(binary.bitwise_or)
    __xor__, __rxor__           = arithmetic(binary.bitwise_xor), reflected(binary.bitwise_xor)
    __lshift__, __rlshift__     = arithmetic(binary.shift_left), reflected(binary.shift_left)
    __rshift__, __rrshift__     = arithmetic(binary.shift_right), reflected(binary.shift_right)
    __lt__, __le__              = arithmetic(binary.less), arithmetic(binary.less_equal)
    __gt__, __ge__              = arithmetic(binary.greater), arithmetic(binary.greater_equal)
    __eq__, __ne__              = arithmetic(binary.equal), arithmetic(binary.not_equal)  # type: ignore[assignment]
    __neg__, __abs__            = arithmetic(binary.negative), lift(unary.absolute)
    __invert__                  = lift(unary.invert)
    __getitem__                 = lift(indexing.index)
    __iadd__, __isub__          = rebinding(binary.add), rebinding(binary.subtract)
    __imul__, __itruediv__      = rebinding(binary.multiply), rebinding(binary.divide)
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
    floor, ceil, round     = lift(unary.floor), lift(unary.ceil), lift(unary.round)
    isnan, isinf, isfinite = lift(unary.isnan), lift(unary.isinf), lift(unary.isfinite)
    pow, clip, maximum     = arithmetic(binary.pow), arithmetic(binary.clip), arithmetic(binary.maximum)
    minimum, matmul        = arithmetic(binary.minimum), lift(contraction.matmul)
    sum, mean, prod        = lift(statistics.sum), lift(statistics.mean), lift(statistics.prod)
    max, min               = lift(statistics.max), lift(statistics.min)
    var, std               = lift(statistics.var), lift(statistics.std)
    argmax, argmin         = lift(statistics.argmax), lift(statistics.argmin)
    all, any               = lift(statistics.all), lift(statistics.any)
    reshape, view          = lift(shapes.reshape), lift(shapes.reshape)
    permute, transpose     = lift(shapes.permute), lift(shapes.transpose)
    swapaxes, flatten      = lift(shaping.swapaxes), lift(shapes.flatten)
    squeeze, unsqueeze     = lift(shaping.squeeze), lift(shapes.unsqueeze)
    expand, clone          = lift(shapes.expand), lift(shapes.copied)
    T, mT                  = property(lift(shapes.transposed)), property(lift(linear.swap_last))
    astype                 = lift(astype)

    @public
    def to(self, what: DTypeLike) -> Tensor:
        """This tensor as another dtype, or on a device."""
        return self if is_here(what) else self.astype(what)

    if not TYPE_CHECKING:   # or every name would be one to a type checker
        def __getattr__(self, name: str) -> Any:
            """No such name; the error says which one there is."""
            if name.startswith("__"):
                raise AttributeError(name)
            raise unknown("a tensor", name, [own for own in dir(type(self)) if own[0] != "_"], METHODS)

    def __reduce__(self) -> Any:
        return tensor, (np.array(self.numpy()), None, self.requires_grad and self.leaf)

    def float(self) -> Tensor: return self.astype("float32")
    def double(self) -> Tensor: return self.astype("float64")
    def int(self) -> Tensor: return self.astype("int32")
    def long(self) -> Tensor: return self.astype("int64")
    def bool(self) -> Tensor: return self.astype("bool")


# What an operand may be, what may stand in x[...], and what may name a dtype.
TensorLike = Tensor | np.ndarray[Any, Any] | np.generic | float
Place = Tensor | np.ndarray[Any, Any] | np.integer[Any] | int | slice | EllipsisType | None
Index = Place | tuple[Place, ...]
DTypeLike = DType | str | type[Any] | np.dtype[Any]

spoken.publish(list(vars(Tensor).items()), __name__, "Tensor")
converted = lift(astype)
replaced = lift(indexing.set_index)


def is_here(what: Any) -> bool:
    """Whether this names the device that there is, the CPU; raises DeviceError where it names another."""
    place = str(what).partition(":")[0]
    if place in ELSEWHERE:
        raise DeviceError(f"there is no device {str(what)!r}: programs run on the CPU",
                          hint="Leave .to(...) out, or write .to('cpu').")
    return place == "cpu"


def constant(x: Any, like: DType | None = None) -> Tensor:
    """A tensor as it is; a number, a list or an array as a tensor, of dtype `like` where one is given."""
    if isinstance(x, Tensor):
        return x if like is None or x.dtype == like else converted(x, dtype=like)
    if isinstance(x, Value):
        return Tensor(x)
    if isinstance(x, bool | int | float):
        return Tensor(literal(x, like))
    return tensor(x, dtype=like)


@public
def tensor(data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """A tensor holding a copy of numbers, lists of numbers, an array or another tensor.

    Python floats become float32 and Python integers int64; arrays keep their dtype.

    >>> tensor([[1, 2], [3, 4]]).dtype, tensor(0.5).dtype
    (int64, float32)
    """
    if isinstance(data, Tensor | np.ndarray):
        made = data.detach() if isinstance(data, Tensor) else Tensor(array_value(data))
        made = made if dtype is None else converted(made, dtype=dtype)
    else:
        made = Tensor(array_value(array_of(data, dtype)))
    return made.requires_grad_() if requires_grad else made


def array_value(array: Array) -> Value:
    """The value of an array: its numbers now, or in a traced function an input where calls can find the array again."""
    tracing = TRACING.get()
    found = None if tracing is None else tracing.array(array)
    if found is not None:
        return found
    array = array_of(array)
    return known(array, "array") if tracing is None or array.size > SMALL else Constant(array)()


def array_of(data: Any, dtype: Any = None) -> Array:
    """A fresh C-ordered array of a dtype that Stele has."""
    if isinstance(data, list | tuple):
        data = nested(data)
    elif not isinstance(data, np.ndarray | np.generic | bool | int | float):
        data = np.asarray(data)
    own = isinstance(data, np.ndarray | np.generic)
    array = np.asarray(data)
    huge = array.dtype == object and all(isinstance(n, int | float) for n in array.flat)    # beyond 64 bits
    if array.dtype.kind in "OUSmMcV" and array.dtype.name != "bfloat16" and not huge:
        raise DTypeError(f"a tensor holds numbers, got {array.dtype} from {data!r:.60}")
    if dtype is not None:
        wanted = type_named(dtype)
    elif not own and array.dtype.kind in "uO":
        wanted = int64
    else:
        wanted = type_named(array.dtype) if own or array.dtype.kind != "f" else type_named("float32")
    if array.size and (huge or (not own and wanted.kind in "ui")):
        for number in array.flat if huge else (array.min(), array.max()):
            if not holds(wanted, number):
                raise unfit(number, wanted)
    return np.array(array, dtype=wanted.numpy, order="C")


def nested(data: Any) -> Any:
    """Lists of numbers, arrays and tensors as one array; ragged lists are refused."""
    parts = [nested(p) if isinstance(p, list | tuple) else np.asarray(p) if isinstance(p, Tensor) else p for p in data]
    shapes = {np.shape(p) for p in parts}
    if len(shapes) > 1:
        raise ShapeError(f"the rows of a tensor need one shape, got {sorted(shapes)}")
    if any(isinstance(p, np.ndarray | np.generic) for p in parts):
        return np.stack([np.asarray(p) for p in parts])
    return parts
