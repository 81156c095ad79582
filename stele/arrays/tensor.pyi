"""The array a user holds: a handle on a value, with operators, methods, and numbers when somebody looks."""
# Written by tools/make_stubs.py.
import builtins
from typing import Literal
from typing import overload
from stele.ops.sorting import TopK
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any
import numpy as np
from stele.arrays.rebinding import Rebinding
from stele.arrays.views import Back
from stele.backend.devices import Device
from stele.backend.newest import Newest
from stele.eager.template import Template
from stele.ir.graph import Value
from stele.ir.origin import Where
from stele.ir.types import DType, Shape

new = object.__new__
COPIED: int
def lift(f: Callable[..., Any], numbers: bool=False, seen_before: Newest[Any, Template] |
        None=None) -> Callable[..., Any]:
    """A function of values as a function of tensors; keyword-only parameters may also be given by position.

    With `numbers`, a symbolic size among the arguments is an operand: a number known when the program runs. Templates
    of calls stand in `seen_before`, by kinds of arguments.
    """
def kind_of(args: Sequence[Any], kwargs: Mapping[str, Any], operands: list[Value]) -> tuple[Any, ...] | None:
    """What of the arguments a result depends on, besides the operands' numbers: the operands are noted. None where that
    cannot be said: where open sizes leave guards, and for arrays and objects of other kinds. The last part is 1 where a
    result carries gradients, 2 where it is cut off from what does.
    """
def tensors(y: Any, carries: bool) -> Any:
    """Results as tensors."""
def recorded(made: Template, operands: list[Value], where: Where) -> Any:
    """The results of a call outside of any trace: `record(Tensor(value))`, written out, in half the time."""
def arithmetic(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of operands, which may be symbolic sizes."""
def operator(f: Callable[..., Any], numbers: bool=True) -> Callable[..., Any]:
    """A function of two operands as an operator. Between two tensors, which is asked most, and the result of a pattern
    seen before stands nothing else: 0.25 us less than `lift` takes.
    """
def seeing(f: Callable[..., Any], back: Back | None=None, axes: int=0) -> Callable[..., Any]:
    """A function whose results are parts of its operand, or that one seen otherwise, as NumPy's views share memory.

    `back` is for diagonals and for results of another dtype; of an operand of fewer `axes` they are its own.
    """
def each_seen(f: Callable[..., Any], make: Callable[[Value, Shape], Value]) -> Callable[..., Any]:
    """A function of several operands, of each of which a result is a part, as of `seeing`: `make` gives that one, from
    the operand and the shape of the result.
    """
def at_places(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose second argument says places on which a length depends: those of arrays are looked at."""
def taken(v: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A part of other numbers, at a key."""
def reflected(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as the method of its second operand."""
def rebinding(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as an in-place operator: its result is what the handle stands for from now on."""
def speaking(method: Any, lifted: Any) -> Callable[..., Any]:
    """A method with the signature and the words of the function it is made of."""
def astype(x: Value, *, dtype: DType, copy: bool=True) -> Value:
    """This tensor as another dtype: float to integer truncates, to bool tests != 0.

    `copy` changes nothing: values are never written to, and the result is a tensor of its own.
    NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
    int32 and int64; integers of fewer bits keep the low bits of the int32, uint32 those of the int64. Raises DTypeError
    for complex numbers to real ones.

    >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
    [255, 44, 0]
    """
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
    grad: Tensor | None
    def _alike(self, x: Any) -> Tensor: ...
    def __setitem__(self, key: Index, new: Any) -> None:
        """Rebinds this tensor to itself with x[key] replaced by `new`, broadcast and cast to its dtype.

        Where a key names an element twice the last one stays.
        """
    def __getitem__(self, key: Index) -> Tensor: ...
    def detach(self) -> Tensor:
        """The same numbers as a tensor that carries no gradient."""
    def backward(self, gradient: Any=None, retain_graph: builtins.bool=False) -> None:
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
    def __add__(self, z: TensorLike) -> Tensor:
        """The sum x + z. Integers wrap; bools are joined by or."""
    def __radd__(self, z: TensorLike) -> Tensor:
        """The sum x + z. Integers wrap; bools are joined by or."""
    def __sub__(self, z: TensorLike) -> Tensor:
        """The difference x - z. Bools have none."""
    def __rsub__(self, z: TensorLike) -> Tensor:
        """The difference x - z. Bools have none."""
    def __mul__(self, z: TensorLike) -> Tensor:
        """The product x * z, elementwise; shapes and dtypes meet as in `add`. Bools are joined by and."""
    def __rmul__(self, z: TensorLike) -> Tensor:
        """The product x * z, elementwise; shapes and dtypes meet as in `add`. Bools are joined by and."""
    def __truediv__(self, z: TensorLike) -> Tensor:
        """The quotient x / z, always a float, by IEEE 754."""
    def __rtruediv__(self, z: TensorLike) -> Tensor:
        """The quotient x / z, always a float, by IEEE 754."""
    def __floordiv__(self, z: TensorLike) -> Tensor:
        """The quotient x / z rounded down to a whole number, as Python's //; shapes and dtypes meet as in `add`."""
    def __rfloordiv__(self, z: TensorLike) -> Tensor:
        """The quotient x / z rounded down to a whole number, as Python's //; shapes and dtypes meet as in `add`."""
    def __mod__(self, z: TensorLike) -> Tensor:
        """The remainder x - z * floor(x / z), as Python's %: it has the sign of z. Shapes and dtypes meet as in `add`."""
    def __rmod__(self, z: TensorLike) -> Tensor:
        """The remainder x - z * floor(x / z), as Python's %: it has the sign of z. Shapes and dtypes meet as in `add`."""
    def __divmod__(self, z: TensorLike) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, z: TensorLike) -> tuple[Tensor, Tensor]: ...
    def __pow__(self, z: TensorLike) -> Tensor:
        """The power x ** z, elementwise; shapes and dtypes meet as in `add`."""
    def __rpow__(self, z: TensorLike) -> Tensor:
        """The power x ** z, elementwise; shapes and dtypes meet as in `add`."""
    def __matmul__(self, w: TensorLike) -> Tensor:
        """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast."""
    def __rmatmul__(self, w: TensorLike) -> Tensor:
        """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast."""
    def __and__(self, z: TensorLike) -> Tensor:
        """The bits that both x and z have, of one bool or integer dtype: x & z. Shapes and dtypes meet as in `add`."""
    def __rand__(self, z: TensorLike) -> Tensor:
        """The bits that both x and z have, of one bool or integer dtype: x & z. Shapes and dtypes meet as in `add`."""
    def __or__(self, z: TensorLike) -> Tensor:
        """The bits that x or z has, of one bool or integer dtype: x | z. Shapes and dtypes meet as in `add`."""
    def __ror__(self, z: TensorLike) -> Tensor:
        """The bits that x or z has, of one bool or integer dtype: x | z. Shapes and dtypes meet as in `add`."""
    def __xor__(self, z: TensorLike) -> Tensor:
        """The bits that one of x and z has and the other has not: x ^ z. Shapes and dtypes meet as in `add`."""
    def __rxor__(self, z: TensorLike) -> Tensor:
        """The bits that one of x and z has and the other has not: x ^ z. Shapes and dtypes meet as in `add`."""
    def __lshift__(self, z: TensorLike) -> Tensor:
        """The integer x * 2**z, whose bits move to the left by z places; those that leave the dtype are lost: x << z."""
    def __rlshift__(self, z: TensorLike) -> Tensor:
        """The integer x * 2**z, whose bits move to the left by z places; those that leave the dtype are lost: x << z."""
    def __rshift__(self, z: TensorLike) -> Tensor:
        """The integer x / 2**z rounded down, whose bits move to the right by z places: x >> z."""
    def __rrshift__(self, z: TensorLike) -> Tensor:
        """The integer x / 2**z rounded down, whose bits move to the right by z places: x >> z."""
    def __lt__(self, z: TensorLike) -> Tensor:
        """Whether x < z, elementwise, as bools; false where either is NaN. Shapes meet as in `add`."""
    def __le__(self, z: TensorLike) -> Tensor:
        """Whether x <= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def __gt__(self, z: TensorLike) -> Tensor:
        """Whether x > z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def __ge__(self, z: TensorLike) -> Tensor:
        """Whether x >= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def __eq__(self, z: TensorLike) -> Tensor:  # type: ignore[override]
        """Whether x == z, elementwise, as bools; NaN equals nothing, not even itself. Operands meet as in `less`."""
    def __ne__(self, z: TensorLike) -> Tensor:  # type: ignore[override]
        """Whether x != z, elementwise, as bools; NaN differs from everything, itself included. Operands meet as in `less`."""
    def __neg__(self) -> Tensor:
        """The negative of x, in its dtype; unsigned integers wrap. Raises DTypeError for bools."""
    def __abs__(self) -> Tensor:
        """The absolute value of x, in its dtype; the least integer of a dtype stays as it is, since nothing else fits."""
    def __invert__(self) -> Tensor:
        """Every bit of a bool or an integer turned over: ~x. Raises DTypeError for floats."""
    def __pos__(self) -> Tensor:
        """The elements of x themselves: +x. Raises DTypeError for bools."""
    def __iadd__(self, z: TensorLike) -> Tensor:
        """The sum x + z. Integers wrap; bools are joined by or."""
    def __isub__(self, z: TensorLike) -> Tensor:
        """The difference x - z. Bools have none."""
    def __imul__(self, z: TensorLike) -> Tensor:
        """The product x * z, elementwise; shapes and dtypes meet as in `add`. Bools are joined by and."""
    def __itruediv__(self, z: TensorLike) -> Tensor:
        """The quotient x / z, always a float, by IEEE 754."""
    def __ifloordiv__(self, z: TensorLike) -> Tensor:
        """The quotient x / z rounded down to a whole number, as Python's //; shapes and dtypes meet as in `add`."""
    def __imod__(self, z: TensorLike) -> Tensor:
        """The remainder x - z * floor(x / z), as Python's %: it has the sign of z. Shapes and dtypes meet as in `add`."""
    def __ipow__(self, z: TensorLike) -> Tensor:
        """The power x ** z, elementwise; shapes and dtypes meet as in `add`."""
    def __imatmul__(self, w: TensorLike) -> Tensor:
        """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast."""
    def __iand__(self, z: TensorLike) -> Tensor:
        """The bits that both x and z have, of one bool or integer dtype: x & z. Shapes and dtypes meet as in `add`."""
    def __ior__(self, z: TensorLike) -> Tensor:
        """The bits that x or z has, of one bool or integer dtype: x | z. Shapes and dtypes meet as in `add`."""
    def __ixor__(self, z: TensorLike) -> Tensor:
        """The bits that one of x and z has and the other has not: x ^ z. Shapes and dtypes meet as in `add`."""
    def __ilshift__(self, z: TensorLike) -> Tensor:
        """The integer x * 2**z, whose bits move to the left by z places; those that leave the dtype are lost: x << z."""
    def __irshift__(self, z: TensorLike) -> Tensor:
        """The integer x / 2**z rounded down, whose bits move to the right by z places: x >> z."""
    def __hash__(self) -> int: ...
    def exp(self) -> Tensor:
        """The exponential of x, e to the power x. Integers and bools become float32.

        Overflows to inf above 88.7 in float32; errors in units of the last place stand in docs/approximations.md. x has any
        shape and dtype. Raises DTypeError for what is no number.

        >>> st.exp(st.tensor([0.0, 1.0, 100.0]))
        tensor([1.       , 2.7182817,       inf])
        """
    def log(self) -> Tensor:
        """The natural logarithm of x: -inf at 0, NaN below it. Integers and bools become float32.

        The derivative is 1 / x wherever it is asked for, also below 0; at 0 it is inf, which times a zero cotangent is NaN:
        choose the argument, not the result (see `where`). x has any shape and dtype. Raises DTypeError for what is no
        number.

        >>> st.log(st.tensor([1.0, 0.0, -1.0])).tolist()
        [0.0, -inf, nan]
        """
    def log1p(self) -> Tensor:
        """The number log(1 + x), without losing the digits of a small x to the sum. Integers become float32.

        -inf at -1, NaN below it. Written out, st.log(1 + x) is made this too where a program sees both steps. x has any
        shape and dtype. Raises DTypeError for what is no number.

        >>> st.log1p(st.tensor([1e-8, -1.0]))
        tensor([1.e-08,   -inf])
        >>> float(np.log(np.float32(1) + np.float32(1e-8)))
        0.0
        """
    def expm1(self) -> Tensor:
        """The number exp(x) - 1, without cancellation where x is near 0. Integers become float32.

        Written out, st.exp(x) - 1 is made this too where a program sees both steps. x has any shape and dtype. Raises
        DTypeError for what is no number.

        >>> st.expm1(st.tensor([1e-6, -100.0]))
        tensor([ 1.0000005e-06, -1.0000000e+00])
        """
    def sqrt(self) -> Tensor:
        """The square root of x, correctly rounded; NaN below 0. Integers and bools become float32.

        The derivative at 0 is inf, as in PyTorch: add a small number under the root of what may be 0. x has any shape and
        dtype. Raises DTypeError for what is no number.

        >>> st.sqrt(st.tensor([4, 2]))
        tensor([2.       , 1.4142135])
        >>> st.grad(st.sqrt)(st.tensor(0.0)).tolist()
        inf
        """
    def rsqrt(self) -> Tensor:
        """The reciprocal of the square root of x: inf at 0, NaN below it. Integers become float32.

        It is 1 / sqrt(x), two rounded operations, and no approximation of the CPU's. x has any shape and dtype. Raises
        DTypeError for what is no number.

        >>> st.rsqrt(st.tensor([4.0, 0.0])).tolist()
        [0.5, inf]
        """
    def square(self) -> Tensor:
        """The square of x, in the dtype of x: integers wrap, bools stay bools.

        x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.square(st.tensor([-3, 4])).tolist()
        [9, 16]
        """
    def sin(self) -> Tensor:
        """The sine of x, which is in radians; NaN at infinities. Integers become float32.

        Never leaves [-1, 1]; far arguments are reduced by as many digits of pi as they need. x has any shape and dtype.
        Raises DTypeError for what is no number.

        >>> st.sin(st.tensor([0.0, 1.0, 1e10]))
        tensor([ 0.        ,  0.84147096, -0.48750603])
        """
    def cos(self) -> Tensor:
        """The cosine of x, which is in radians; NaN at infinities. Integers become float32.

        x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.cos(st.tensor([0.0, 3.1415927])).tolist()
        [1.0, -1.0]
        """
    def tan(self) -> Tensor:
        """The tangent of x, sin(x) / cos(x), with x in radians. Integers become float32.

        x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.tan(st.tensor([0.0, 0.5]))
        tensor([0.       , 0.5463025])
        """
    def atan(self) -> Tensor:
        """The angle in [-pi/2, pi/2], in radians, whose tangent is x. Integers become float32.

        x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.atan(st.tensor([0.0, 1.0, float("inf")]))
        tensor([0.       , 0.7853981, 1.5707964])
        """
    def tanh(self) -> Tensor:
        """The hyperbolic tangent of x, from -1 to 1. Integers and bools become float32.

        The derivative is 1 - y * y of the result y. x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.tanh(st.tensor([0.0, 1.0, 100.0]))
        tensor([0.       , 0.7615942, 1.       ])
        """
    def sigmoid(self) -> Tensor:
        """The logistic function 1 / (1 + exp(-x)), from 0 to 1. Integers and bools become float32.

        No x overflows. For the logarithm of it use `log_sigmoid`, for a loss of it `binary_cross_entropy`: both take x
        itself. x has any shape. Raises DTypeError for complex numbers.

        >>> st.sigmoid(st.tensor([0.0, 2.0, -1000.0]))
        tensor([0.5      , 0.8807971, 0.       ])
        """
    def erf(self) -> Tensor:
        """The error function of x, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x. Integers become float32.

        x has any shape. Raises DTypeError for complex numbers.

        >>> st.erf(st.tensor([0.0, 1.0, 10.0]))
        tensor([0.       , 0.8427008, 1.       ])
        """
    def relu(self) -> Tensor:
        """The rectified linear unit: x where it is not negative, else 0, in the dtype of x; a NaN stays.

        The derivative at 0 is 0, as in PyTorch. x has any shape. Raises DTypeError for complex numbers.

        >>> st.relu(st.tensor([-2.0, 0.0, 3.0])).tolist()
        [0.0, 0.0, 3.0]
        >>> st.grad(lambda x: st.relu(x).sum())(st.tensor([-2.0, 0.0, 3.0])).tolist()
        [0.0, 0.0, 1.0]
        """
    def abs(self) -> Tensor:
        """The absolute value of x, in its dtype; the least integer of a dtype stays as it is, since nothing else fits.

        Of complex numbers it is the distance from 0, a real number, which overflows only where it does not fit itself. The
        derivative at 0 is 0, as in PyTorch. x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.abs(st.tensor([-2.5, 0.0, 1.0])).tolist()
        [2.5, 0.0, 1.0]
        >>> st.grad(lambda x: st.abs(x).sum())(st.tensor([-2.5, 0.0, 1.0])).tolist()
        [-1.0, 0.0, 1.0]
        """
    def sign(self) -> Tensor:
        """The sign of x in its own dtype: -1, 0 or 1; a NaN stays. The derivative is 0.

        Of a complex number it is the number of absolute value 1 in its direction, x / abs(x), and 0 of 0 (the array API
        standard's rule), which has a derivative. x has any shape. Raises DTypeError for bools.

        >>> st.sign(st.tensor([-2.5, -0.0, 7.0])).tolist()
        [-1.0, 0.0, 1.0]
        >>> st.sign(st.tensor([3 + 4j, 0.0]))
        tensor([0.6+0.8j, 0. +0.j ], dtype=complex64)
        """
    def floor(self) -> Tensor:
        """The largest whole number not above x, in the dtype of x; integers stay as they are. The derivative is 0.

        x has any shape. Raises DTypeError for complex numbers.

        >>> st.floor(st.tensor([1.7, -1.2])).tolist()
        [1.0, -2.0]
        """
    def ceil(self) -> Tensor:
        """The smallest whole number not below x, in the dtype of x; integers stay as they are. The derivative is 0.

        x has any shape. Raises DTypeError for complex numbers.

        >>> st.ceil(st.tensor([1.2, -1.7])).tolist()
        [2.0, -1.0]
        """
    def round(self, decimals: builtins.int=0) -> Tensor:
        """The nearest whole number, or the nearest with so many `decimals`, a half to the even one, in the dtype of x.

        Negative decimals are tens, hundreds and so on, of integers too (NumPy's rules). The derivative is 0. x has any
        shape. Raises ArgumentError for decimals that are no whole number, DTypeError for what is no number.

        >>> st.round(st.tensor([0.5, 1.5, 2.5, -0.7])).tolist()
        [0.0, 2.0, 2.0, -1.0]
        >>> st.round(st.tensor([1.26, 1.74]), decimals=1).tolist() == st.tensor([1.3, 1.7]).tolist()
        True
        >>> st.round(st.tensor([14, 15, 25, 26]), decimals=-1).tolist()
        [10, 20, 20, 30]
        """
    def isnan(self) -> Tensor:
        """Whether each element of x is not a number, as bools; no integer is one of those.

        x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.isnan(st.tensor([1.0, float("nan")])).tolist()
        [False, True]
        """
    def isinf(self) -> Tensor:
        """Whether each element of x is plus or minus infinity, as bools.

        x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.isinf(st.tensor([1.0, float("-inf"), float("nan")])).tolist()
        [False, True, False]
        """
    def isfinite(self) -> Tensor:
        """Whether each element of x is neither infinite nor NaN, as bools.

        x has any shape and dtype. Raises DTypeError for what is no number.

        >>> st.isfinite(st.tensor([1.0, float("-inf"), float("nan")])).tolist()
        [True, False, False]
        """
    def pow(self, z: TensorLike) -> Tensor:
        """The power x ** z, elementwise; shapes and dtypes meet as in `add`.

        Integers to the power of integers stay integers, and wrap; a float exponent makes them float32. A negative base has
        powers of whole z only, others are NaN; z = 0 gives 1, even of NaN. Raises DTypeError for integers to a negative
        Python number; by an array of exponents those are 0, but for bases 1 and -1. The gradient in z is 0 where x is 0.

        >>> st.pow(st.tensor([2, 3]), 3).tolist(), st.pow(st.tensor([4, 9]), 0.5).tolist()
        ([8, 27], [2.0, 3.0])
        """
    def clip(self, min: TensorLike | None=None, max: TensorLike | None=None) -> Tensor:
        """The elements of x held between `min` and `max`, numbers or arrays; None, the default, bounds nothing.

        max where min > max, NaN where x is NaN (NumPy's rules). The derivative is 1 from bound to bound, both included,
        as in PyTorch. Of integers, a min below their dtype and a max above it bound nothing, and a float bound makes
        float32. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

        >>> st.clip(st.tensor([-2.0, 0.5, 9.0]), 0, 1).tolist()
        [0.0, 0.5, 1.0]
        >>> st.clip(st.tensor([1, 5, 9]), min=4).tolist()
        [4, 5, 9]
        """
    def maximum(self, z: TensorLike) -> Tensor:
        """The larger of x and z, elementwise; NaN if either is NaN. Shapes and dtypes meet as in `add`.

        Where they tie, each gets half of the gradient, as in PyTorch. For the largest element of one array see `max`.
        Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

        >>> st.maximum(st.tensor([1.0, 5.0]), 3.0).tolist()
        [3.0, 5.0]
        >>> st.grad(lambda x: st.maximum(x, 3.0).sum())(st.tensor([1.0, 3.0, 5.0])).tolist()
        [0.0, 0.5, 1.0]
        """
    def minimum(self, z: TensorLike) -> Tensor:
        """The smaller of x and z, elementwise; NaN if either is NaN. Shapes and dtypes meet as in `add`.

        Where they tie, each gets half of the gradient, as in PyTorch. For the smallest element of one array see `min`.
        Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

        >>> st.minimum(st.tensor([1.0, 5.0, float("nan")]), 3.0).tolist()
        [1.0, 3.0, nan]
        """
    def matmul(self, w: TensorLike) -> Tensor:
        """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast.

        A vector counts as a row on the left and as a column on the right, whose axis is dropped. Dtypes meet as in `add`;
        integers wrap, 16-bit floats are summed in float32. Raises ShapeError where the inner sizes differ, and for a number
        (write x * w).

        >>> x = st.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (x @ st.tensor([1.0, 10.0])).tolist(), (x @ x).tolist()
        ([21.0, 43.0], [[7.0, 10.0], [15.0, 22.0]])
        >>> st.matmul(st.zeros((8, 2, 3)), st.zeros((3, 5))).shape
        (8, 2, 5)
        """
    def sum(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, dtype:
            DTypeLike | None=None, initial: builtins.float | None=None, where: TensorLike | None=None) -> Tensor:
        """The sum over one axis, several, or all of them; keepdims leaves them with length 1. Of no elements it is 0.

        Bools and signed integers add up as int64, unsigned ones as uint64, floats in their dtype, unless a `dtype` is
        given. The number `initial` counts too, and of x those elements alone where `where`, bools that broadcast to x, is
        True. Raises ShapeError for an axis that x does not have.

        >>> x = st.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> st.sum(x).tolist(), st.sum(x, axis=0).tolist()
        (21.0, [5.0, 7.0, 9.0])
        >>> st.sum(x, axis=(0, -1), keepdims=True).shape
        (1, 1)
        """
    def mean(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, dtype:
            DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
        """The arithmetic mean over one axis, several, or all of them, with `where` as in `sum`. Of no elements it is NaN.

        Integers and bools are averaged as float32; float16 and bfloat16 add up in float32 and are rounded once. Where a
        `dtype` is given x is turned into it first. Parts of complex numbers are averaged each by itself: a NaN in one
        leaves the other. Raises ShapeError for an axis that x does not have, DTypeError for another dtype than there is.

        >>> x = st.tensor([[1, 2], [3, 6]])
        >>> st.mean(x).tolist(), st.mean(x, axis=1, keepdims=True).tolist()
        (3.0, [[1.5], [4.5]])
        """
    def prod(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, dtype:
            DTypeLike | None=None, initial: builtins.float | None=None, where: TensorLike | None=None) -> Tensor:
        """The product over one axis, several, or all of them, with `initial` and `where` as in `sum`. Of no elements: 1.

        Integers multiply as they add up, and wrap, unless a `dtype` is given. The gradient of an element is the product of
        the others, also beside zeros, where dividing the product by the element would be 0 / 0. Raises ShapeError for an
        axis that x does not have, DTypeError for another `dtype` than there is.

        >>> st.prod(st.tensor([2.0, 3.0, 4.0])).tolist()
        24.0
        >>> st.grad(st.prod)(st.tensor([0.0, 3.0, 4.0])).tolist()
        [12.0, 0.0, 0.0]
        """
    @overload
    def max(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False,
            return_indices: Literal[False]=False, initial: builtins.float | None=None, where: TensorLike |
            None=None) -> Tensor:
        """The largest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN.

        Elements that tie share the gradient evenly, as of PyTorch's amax. With `return_indices` a pair, of the elements
        that `argmax` finds along one axis or in the flat array and of their positions, as of PyTorch's max: these have the
        gradient alone. `initial` and `where` as of `sum`: which elements count is asked beside an initial alone. Raises
        ShapeError where there is no element, and no initial; ArgumentError for where without it, or positions beside them.

        >>> x = st.tensor([[1.0, 7.0], [7.0, 2.0]])
        >>> st.max(x).tolist(), st.max(x, axis=1).tolist()
        (7.0, [7.0, 7.0])
        >>> st.grad(st.max)(x).tolist()
        [[0.0, 0.5], [0.5, 0.0]]
        """
    @overload
    def max(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, initial:
            builtins.float | None=None, where: TensorLike | None=None, *, return_indices:
            Literal[True]) -> tuple[Tensor, Tensor]: ...
    @overload
    def min(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False,
            return_indices: Literal[False]=False, initial: builtins.float | None=None, where: TensorLike |
            None=None) -> Tensor:
        """The smallest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN.

        Elements that tie share the gradient evenly, as of PyTorch's amin. `return_indices` as of `max`, with `argmin`;
        `initial` and `where` too. Raises ShapeError where there is no element, and no initial.

        >>> st.min(st.tensor([[1.0, 7.0], [5.0, 2.0]]), axis=0, keepdims=True).tolist()
        [[1.0, 2.0]]
        """
    @overload
    def min(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, initial:
            builtins.float | None=None, where: TensorLike | None=None, *, return_indices:
            Literal[True]) -> tuple[Tensor, Tensor]: ...
    def var(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, correction:
            builtins.float=0, dtype: DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
        """The variance over one axis, several, or all of them, as in `sum`: the mean square distance from the mean.

        The squares are divided by n - `correction`: 0, the default, as in NumPy; PyTorch's default is 1, the unbiased
        estimate. NaN where that is not positive, as the array API standard has it; NumPy and PyTorch divide by 0. n counts
        the elements where `where` is True, as of `sum`. Integers and bools become float32; 16-bit floats add up in float32;
        a `dtype` is what x is turned into first. Of complex numbers it is real: the squares are those of distances. Raises
        ShapeError for an axis that x does not have, DTypeError for another dtype than there is.

        >>> x = st.tensor([1.0, 2.0, 3.0, 4.0])
        >>> st.var(x), st.var(x, correction=1)
        (tensor(1.25), tensor(1.6666666))
        """
    def std(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, correction:
            builtins.float=0, dtype: DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
        """The standard deviation over one axis, several, or all of them: the root of `var`, with the same `correction`.

        `dtype` and `where` too. The gradient where all elements are equal is 0, where that of a root would be NaN. Integers
        become float32. Raises ShapeError for an axis that x does not have.

        >>> st.std(st.tensor([[1.0, 3.0], [2.0, 8.0]]), axis=1).tolist()
        [1.0, 3.0]
        """
    def argmax(self, axis: builtins.int | None=None, keepdims: builtins.bool=False) -> Tensor:
        """The position of the largest element along an axis, or in the flat array, as int64.

        The axis is dropped, or left with length 1 by `keepdims`. The first of those that tie, and of NaN, which count as
        largest (NumPy's rules). Raises ShapeError along an axis of
        length 0.

        >>> x = st.tensor([[1.0, 7.0, 7.0], [9.0, 2.0, 0.0]])
        >>> st.argmax(x).tolist(), st.argmax(x, axis=1).tolist()
        (3, [1, 0])
        """
    def argmin(self, axis: builtins.int | None=None, keepdims: builtins.bool=False) -> Tensor:
        """The position of the smallest element along an axis, or in the flat array, as int64.

        The axis is dropped, or left with length 1 by `keepdims`. The first of those that tie, and of NaN, which count as
        smallest (NumPy's rules). Raises ShapeError along an axis of
        length 0.

        >>> st.argmin(st.tensor([[1.0, 7.0], [9.0, 2.0]]), axis=0).tolist()
        [0, 1]
        """
    def all(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, where:
            TensorLike | None=None) -> Tensor:
        """Whether every element over one axis, several, or all of them is true (not 0), as bools. Of no elements: True.

        x has any dtype; `where` as of `sum`. Raises ShapeError for an axis that x does not have.

        >>> x = st.tensor([[1, 2], [0, 3]])
        >>> st.all(x).tolist(), st.all(x, axis=1).tolist()
        (False, [True, False])
        """
    def any(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, where:
            TensorLike | None=None) -> Tensor:
        """Whether any element over one axis, several, or all of them is true (not 0), as bools. Of no elements: False.

        x has any dtype; `where` as of `sum`. Raises ShapeError for an axis that x does not have.

        >>> st.any(st.tensor([[1.0, -2.0], [3.0, 4.0]]) < 0, axis=1).tolist()
        [True, False]
        """
    def reshape(self, shape: builtins.int | Sequence[builtins.int], *more: builtins.int | Sequence[builtins.int], copy:
            builtins.bool | None=None) -> Tensor:
        """The same elements in row-major order under another `shape`, given as one sequence or as this size and `more`.

        One size may be -1: what is left. Values never change, so it is all the same whether they are to be a `copy`. In the
        dtype of x. Raises ShapeError where the numbers of elements differ, or two sizes are -1.

        >>> x = st.arange(6)
        >>> st.reshape(x, (2, 3)).tolist(), st.reshape(x, 3, -1).shape
        ([[0, 1, 2], [3, 4, 5]], (3, 2))
        """
    def view(self, *shape: builtins.int | Sequence[builtins.int] | DTypeLike, dtype: DTypeLike | None=None) -> Tensor:
        """The same elements under another `shape`, as of `reshape`; or, given a `dtype` alone, their bits as its elements.

        Bits stay as they are in memory, the lowest bytes first: along the last axis there are more elements of a narrower
        dtype, and fewer of a wider one. Of complex numbers the real part comes first, and a byte is a true bool unless it
        is 0. No gradient passes to another dtype. `float`, `int` and `complex` are those of the width of x. Raises
        ShapeError where sizes do not fit, DTypeError for what is no dtype, ArgumentError for a shape and a dtype.

        >>> x = st.tensor([[1.0, -2.0]])
        >>> x.view(2).shape, x.view("int32").tolist(), x.view(st.uint16).tolist()
        ((2,), [[1065353216, -1073741824]], [[0, 16256, 0, 49152]])
        """
    def permute(self, axes: builtins.int | Sequence[builtins.int]=(), *more: builtins.int |
            Sequence[builtins.int]) -> Tensor:
        """The array with its axes in the order of `axes`, one sequence or this number and `more`; reversed without them.

        Axis k of the result is axis axes[k] of x. In the dtype of x. Raises ShapeError unless each axis is named once.

        >>> x = st.zeros((2, 3, 5))
        >>> st.permute(x, 0, 2, 1).shape, st.permute(x).shape
        ((2, 5, 3), (5, 3, 2))
        """
    def transpose(self, *axes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The array with two axes exchanged, or with all of its `axes` in another order; reversed without any.

        Two numbers are the axes to exchange, as PyTorch's; a tuple, or as many as there are, are their order, as NumPy's.
        In the dtype of x. Raises ShapeError for axes that x does not have, and unless the order names each once.

        >>> x = st.zeros((2, 3, 5))
        >>> st.transpose(x, 0, 2).shape, x.transpose(1, 2, 0).shape, x.transpose().shape
        ((5, 3, 2), (3, 5, 2), (5, 3, 2))
        """
    def swapaxes(self, a: builtins.int, b: builtins.int) -> Tensor:
        """The array with its axes `a` and `b` exchanged; of a number, whose axes are 0 and -1, itself.

        In the dtype of x. Raises ShapeError for an axis that x does not have.

        >>> st.swapaxes(st.zeros((2, 3, 5)), 0, -1).shape
        (5, 3, 2)
        """
    def flatten(self, start: builtins.int=0, end: builtins.int=-1) -> Tensor:
        """The array with the axes from `start` to `end`, both included, as one; of no axes it becomes (1,).

        In the dtype of x. Raises ShapeError for an axis that x does not have, and where end stands before start.

        >>> x = st.zeros((8, 3, 5, 5))
        >>> st.flatten(x).shape, st.flatten(x, 1).shape, st.flatten(x, 2, 3).shape
        ((600,), (8, 75), (8, 3, 25))
        """
    def squeeze(self, axis: builtins.int | Sequence[builtins.int] | None=None, strict: builtins.bool=True) -> Tensor:
        """The array without axes of length 1: the given ones, or all of them (of a placeholder those that are named stay).

        In the dtype of x. Raises ShapeError for a given axis of another length, as NumPy; unless `strict` it stays, as
        PyTorch has it.

        >>> x = st.zeros((1, 3, 1))
        >>> st.squeeze(x).shape, st.squeeze(x, -1).shape
        ((3,), (1, 3))
        """
    def unsqueeze(self, axis: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The array with axes of length 1 put in, at the positions that axis gives them in the result: one, or several.

        In the dtype of x. Raises ShapeError for a position that the result does not have.

        >>> x = st.zeros((2, 3))
        >>> st.unsqueeze(x, 0).shape, st.unsqueeze(x, (0, -1)).shape
        ((1, 2, 3), (1, 2, 3, 1))
        """
    def expand(self, *sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The array repeated to a shape by NumPy's rule, given as one sequence or as several `sizes`; -1 keeps an axis.

        >>> st.tensor([[1], [2]]).expand(-1, 3).tolist()
        [[1, 1, 1], [2, 2, 2]]
        """
    def clone(self) -> Tensor:
        """The array itself: values never change, so a copy is the same value under another handle.

        >>> x = st.tensor([1, 2])
        >>> y = x.clone()
        >>> y += 1
        >>> x.tolist(), y.tolist()
        ([1, 2], [2, 3])
        """
    def copy(self) -> Tensor:
        """The array itself: values never change, so a copy is the same value under another handle.

        >>> x = st.tensor([1, 2])
        >>> y = x.clone()
        >>> y += 1
        >>> x.tolist(), y.tolist()
        ([1, 2], [2, 3])
        """
    def take(self, i: TensorLike | Sequence[builtins.int], axis: builtins.int | None=None, mode: str='raise') -> Tensor:
        """The elements `i` of an axis: x.shape[:axis] + i.shape + x.shape[axis+1:]; negative ones count from the end.

        Without an axis those of the elements in row-major order, as of NumPy and PyTorch. Elements named twice sum their
        gradients. An index outside of the axis is the nearest one under `mode` "clip", and counted round under "wrap".
        Raises DTypeError for other than integers, OptionError for another mode and, when run, IndexOutOfRange for an index
        outside of the axis.

        >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
        >>> st.take(x, st.tensor([0, -1]), axis=1).tolist()
        [[1, 3], [4, 6]]
        >>> st.take(x, st.tensor([[0, 5], [1, 1]])).tolist()
        [[1, 6], [2, 2]]
        """
    def gather(self, axis: builtins.int, i: TensorLike) -> Tensor:
        """The elements at positions `i` along an axis (PyTorch's gather): as `take_along_axis`, of as much of x as i names.

        Other axes of i may be shorter than those of x, whose rest is not looked at; nothing broadcasts. A number has one
        axis, 0 or -1. In the dtype of x. Raises ShapeError for an axis that x does not have and where i has other axes or
        is longer elsewhere, DTypeError for other positions than integers and, when run, IndexOutOfRange for one that the
        axis does not have.

        >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
        >>> st.gather(x, 1, st.tensor([[2, 0]])).tolist()
        [[3, 1]]
        """
    def ravel(self, start: builtins.int=0, end: builtins.int=-1) -> Tensor:
        """The array with the axes from `start` to `end`, both included, as one; of no axes it becomes (1,).

        In the dtype of x. Raises ShapeError for an axis that x does not have, and where end stands before start.

        >>> x = st.zeros((8, 3, 5, 5))
        >>> st.flatten(x).shape, st.flatten(x, 1).shape, st.flatten(x, 2, 3).shape
        ((600,), (8, 75), (8, 3, 25))
        """
    def index_select(self, axis: builtins.int, i: TensorLike) -> Tensor:
        """The elements `i` of an axis, a vector of positions: `take` with PyTorch's order of arguments.

        A number has one axis, 0 or -1, and so it stays a number where i is one position. In the dtype of x. Raises
        ShapeError for an axis that x does not have, DTypeError for other positions than integers and, when run,
        IndexOutOfRange for one that the axis does not have.

        >>> st.index_select(st.tensor([[1, 2], [3, 4]]), 1, st.tensor([1])).tolist()
        [[2], [4]]
        """
    def narrow(self, axis: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """The `length` elements of an axis from `start` on, which may count from the end (PyTorch's narrow).

        In the dtype of x. Raises BadKey where they do not lie within the axis.

        >>> st.narrow(st.arange(5), 0, 1, 3).tolist()
        [1, 2, 3]
        """
    def masked_fill(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """The array with the number `value` where `mask`, which broadcasts to its shape, is true; in the dtype of x.

        Raises DTypeError for other than a bool mask, ShapeError for a value of more than one element.

        >>> st.masked_fill(st.tensor([1.0, 2.0]), st.tensor([True, False]), 0).tolist()
        [0.0, 2.0]
        """
    def unfold(self, axis: builtins.int, size: builtins.int, step: builtins.int=1) -> Tensor:
        """The windows of `size` elements along an axis, one every `step`, as a new last axis (PyTorch's Tensor.unfold).

        Nothing is copied where a program reads them. A number has one axis, 0 or -1. In the dtype of x. Raises ShapeError
        where not one window fits.

        >>> st.unfold(st.arange(5), 0, 3, step=2).tolist()
        [[0, 1, 2], [2, 3, 4]]
        """
    def split(self, size: builtins.int | Sequence[builtins.int], axis: builtins.int=0) -> tuple[Tensor, ...]:
        """The parts of an array along an axis, as a tuple: of `size` elements each, or of the sizes that it lists.

        The last of equal parts may be shorter. In the dtype of x. Raises ShapeError for sizes that do not add up to the
        length of the axis.

        >>> [part.tolist() for part in st.split(st.arange(5), 2)]
        [[0, 1], [2, 3], [4]]
        >>> [part.shape for part in st.split(st.zeros((2, 5)), (1, 4), axis=1)]
        [(2, 1), (2, 4)]
        """
    def chunk(self, chunks: builtins.int, axis: builtins.int=0) -> tuple[Tensor, ...]:
        """The array in as many parts as `chunks` along an axis, or fewer: all but the last have ceil(n / chunks) elements.

        In the dtype of x. Raises ShapeError for an axis that x does not have and for no chunks.

        >>> [part.tolist() for part in st.chunk(st.arange(5), 3)]
        [[0, 1], [2, 3], [4]]
        """
    def unbind(self, axis: builtins.int=0) -> tuple[Tensor, ...]:
        """The parts of an array along an axis, which they lose, as a tuple: the inverse of `stack`.

        In the dtype of x. Raises ShapeError for an axis that x does not have.

        >>> [part.tolist() for part in st.unstack(st.tensor([[1, 2], [3, 4]]), axis=1)]
        [[1, 3], [2, 4]]
        """
    def unflatten(self, axis: builtins.int, sizes: Sequence[builtins.int]) -> Tensor:
        """The array with an axis as several, of these `sizes`, one of which may be -1: what is left.

        In the dtype of x. Raises ShapeError for an axis that x does not have and where sizes do not multiply to its length.

        >>> st.unflatten(st.zeros((2, 6)), 1, (3, -1)).shape
        (2, 3, 2)
        """
    def diagonal(self, offset: builtins.int=0, axis1: builtins.int=0, axis2: builtins.int=1) -> Tensor:
        """The elements x[i, i + `offset`] of the matrices on two axes, `axis1` and `axis2`, as a new last axis.

        In the dtype of x. Raises ShapeError for axes that x does not have, or that are one.

        >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
        >>> st.diagonal(x).tolist(), st.diagonal(x, offset=1).tolist(), st.diagonal(x, offset=-1).tolist()
        ([1, 5], [2, 6], [4])
        """
    @property
    def T(self) -> Tensor:
        """The array with its axes reversed: the transpose of a matrix.

        >>> st.tensor([[1, 2, 3], [4, 5, 6]]).T.tolist()
        [[1, 4], [2, 5], [3, 6]]
        """
    @property
    def mT(self) -> Tensor:
        """The array with its last two axes exchanged: each matrix of a stack transposed (`x.mT`).

        In the dtype of x. Raises ShapeError for fewer than two axes.

        >>> st.matrix_transpose(st.zeros((8, 2, 3))).shape
        (8, 3, 2)
        """
    @property
    def real(self) -> Tensor:
        """The real part of each element, in the dtype of the parts: float32 of complex64. Real numbers stay as they are.

        x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

        >>> st.real(st.tensor([1 + 2j, 3.0])).tolist()
        [1.0, 3.0]
        """
    @property
    def imag(self) -> Tensor:
        """The imaginary part of each element, in the dtype of the parts: float32 of complex64. Of real numbers it is 0.

        x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

        >>> st.imag(st.tensor([1 + 2j, 3.0])).tolist()
        [2.0, 0.0]
        """
    def conj(self) -> Tensor:
        """The complex conjugate of each element: its imaginary part is negated. Real numbers stay as they are.

        x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

        >>> st.conj(st.tensor([1 + 2j, -3j])).tolist()
        [(1-2j), (-0+3j)]
        """
    def conjugate(self) -> Tensor:
        """The complex conjugate of each element: its imaginary part is negated. Real numbers stay as they are.

        x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

        >>> st.conj(st.tensor([1 + 2j, -3j])).tolist()
        [(1-2j), (-0+3j)]
        """
    def astype(self, dtype: DTypeLike, copy: builtins.bool=True) -> Tensor:
        """This tensor as another dtype: float to integer truncates, to bool tests != 0.

        `copy` changes nothing: values are never written to, and the result is a tensor of its own.
        NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
        int32 and int64; integers of fewer bits keep the low bits of the int32, uint32 those of the int64. Raises DTypeError
        for complex numbers to real ones.

        >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
        [255, 44, 0]
        """
    def to(self, *what: DTypeLike | Device | Tensor, device: DeviceLike=None, dtype: DTypeLike | None=None) -> Tensor:
        """This tensor on a `device`, as another `dtype`: itself where it is there, else a copy that gradients pass.

        Either may be given by its place, as `what`, or both by another tensor. Raises DeviceError for a device that
        there is not.

        >>> x = st.ones(2).to("cpu:1")
        >>> x + x
        tensor([2., 2.], device='cpu:1')
        """
    def to_device(self, device: DeviceLike, *, stream: Any=None) -> Tensor:
        """This tensor on a device, as of `to`, in the order of a `stream` of that device where one is given.

        Raises ArgumentError for a stream that is none.
        """
    def __dir__(self) -> list[str]: ...
    def __reduce__(self) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Tensor: ...
    def __copy__(self) -> Tensor: ...
    def float(self) -> Tensor:
        """This tensor as float32, as of `astype`."""
    def double(self) -> Tensor:
        """This tensor as float64, as of `astype`."""
    def int(self) -> Tensor:
        """This tensor as int32, as of `astype`."""
    def long(self) -> Tensor:
        """This tensor as int64, as of `astype`."""
    def bool(self) -> Tensor:
        """This tensor as bools: whether each element is other than 0."""
    def absolute(self) -> Tensor:
        """The absolute value of x, in its dtype; the least integer of a dtype stays as it is, since nothing else fits."""
    def acos(self) -> Tensor:
        """The angle in [0, pi], in radians, whose cosine is x; NaN outside of [-1, 1]. Integers become float32."""
    def acosh(self) -> Tensor:
        """The number of 0 or more whose hyperbolic cosine is x; NaN below 1. Integers become float32."""
    def add(self, z: TensorLike, alpha: builtins.float=1) -> Tensor:
        """The sum x + z, or x + `alpha` * z, elementwise, broadcast by NumPy's rule."""
    def addmm(self, y: TensorLike, z: TensorLike, beta: builtins.float=1, alpha: builtins.float=1) -> Tensor:
        """The sum `beta` * x + `alpha` * (y @ z), of matrices or stacks of them, or of vectors as of `matmul`."""
    def allclose(self, z: TensorLike, rtol: builtins.float=1e-05, atol: builtins.float=1e-08, equal_nan:
            builtins.bool=False) -> Tensor:
        """Whether all of |x - z| <= `atol` + `rtol` * |z|, with x and z broadcast, as one bool; see `isclose`."""
    @overload
    def amax(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False,
            return_indices: Literal[False]=False, initial: builtins.float | None=None, where: TensorLike |
            None=None) -> Tensor:
        """The largest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN."""
    @overload
    def amax(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, initial:
            builtins.float | None=None, where: TensorLike | None=None, *, return_indices:
            Literal[True]) -> tuple[Tensor, Tensor]: ...
    @overload
    def amin(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False,
            return_indices: Literal[False]=False, initial: builtins.float | None=None, where: TensorLike |
            None=None) -> Tensor:
        """The smallest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN."""
    @overload
    def amin(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, initial:
            builtins.float | None=None, where: TensorLike | None=None, *, return_indices:
            Literal[True]) -> tuple[Tensor, Tensor]: ...
    def arccos(self) -> Tensor:
        """The angle in [0, pi], in radians, whose cosine is x; NaN outside of [-1, 1]. Integers become float32."""
    def arccosh(self) -> Tensor:
        """The number of 0 or more whose hyperbolic cosine is x; NaN below 1. Integers become float32."""
    def arcsin(self) -> Tensor:
        """The angle in [-pi/2, pi/2], in radians, whose sine is x; NaN outside of [-1, 1]. Integers become float32."""
    def arcsinh(self) -> Tensor:
        """The number whose hyperbolic sine is x, log(x + sqrt(x * x + 1)), without cancellation. Integers become float32."""
    def arctan(self) -> Tensor:
        """The angle in [-pi/2, pi/2], in radians, whose tangent is x. Integers become float32."""
    def arctan2(self, z: TensorLike) -> Tensor:
        """The angle in [-pi, pi], in radians, of the point (z, x): atan(x / z), in the quadrant that both signs say."""
    def arctanh(self) -> Tensor:
        """The number whose hyperbolic tangent is x: an infinity at 1 and -1, NaN beyond. Integers become float32."""
    def argpartition(self, kth: builtins.int | Sequence[builtins.int], axis: builtins.int | None=-1) -> Tensor:
        """The positions of the elements of `partition` with the same `kth` and axis: those of `argsort`."""
    def argsort(self, axis: builtins.int | None=-1, descending: builtins.bool=False, stable: builtins.bool=True, kind:
            str='stable') -> Tensor:
        """The positions along an axis of the elements in order, as int64: x at these positions is `sort(x)`."""
    def argwhere(self, size: builtins.int | None=None, fill: builtins.int=0) -> Tensor:
        """The positions of the elements of x that are not 0, each a row: int64 (how many, x.ndim), in row-major order."""
    def asin(self) -> Tensor:
        """The angle in [-pi/2, pi/2], in radians, whose sine is x; NaN outside of [-1, 1]. Integers become float32."""
    def asinh(self) -> Tensor:
        """The number whose hyperbolic sine is x, log(x + sqrt(x * x + 1)), without cancellation. Integers become float32."""
    def atan2(self, z: TensorLike) -> Tensor:
        """The angle in [-pi, pi], in radians, of the point (z, x): atan(x / z), in the quadrant that both signs say."""
    def atanh(self) -> Tensor:
        """The number whose hyperbolic tangent is x: an infinity at 1 and -1, NaN beyond. Integers become float32."""
    def baddbmm(self, y: TensorLike, z: TensorLike, beta: builtins.float=1, alpha: builtins.float=1) -> Tensor:
        """The sum `beta` * x + `alpha` * (y @ z), of matrices or stacks of them, or of vectors as of `matmul`."""
    def bincount(self, weights: TensorLike | None=None, minlength: builtins.int=0, size: builtins.int |
            None=None) -> Tensor:
        """How often each of 0, 1, ... is among the integers x (n,), as int64; or the sums of their `weights` (n,)."""
    def bitwise_and(self, z: TensorLike) -> Tensor:
        """The bits that both x and z have, of one bool or integer dtype: x & z. Shapes and dtypes meet as in `add`."""
    def bitwise_left_shift(self, z: TensorLike) -> Tensor:
        """The integer x * 2**z, whose bits move to the left by z places; those that leave the dtype are lost: x << z."""
    def bitwise_not(self) -> Tensor:
        """Every bit of a bool or an integer turned over: ~x. Raises DTypeError for floats."""
    def bitwise_or(self, z: TensorLike) -> Tensor:
        """The bits that x or z has, of one bool or integer dtype: x | z. Shapes and dtypes meet as in `add`."""
    def bitwise_right_shift(self, z: TensorLike) -> Tensor:
        """The integer x / 2**z rounded down, whose bits move to the right by z places: x >> z."""
    def bitwise_xor(self, z: TensorLike) -> Tensor:
        """The bits that one of x and z has and the other has not: x ^ z. Shapes and dtypes meet as in `add`."""
    def bmm(self, w: TensorLike) -> Tensor:
        """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast."""
    def broadcast_to(self, shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The array repeated to a `shape` by NumPy's rule: along axes of length 1, and along new ones in front."""
    def choose(self, choices: Sequence[TensorLike], mode: str='raise') -> Tensor:
        """For each element the one of `choices`, arrays that broadcast to i, that has its number."""
    def clamp(self, min: TensorLike | None=None, max: TensorLike | None=None) -> Tensor:
        """The elements of x held between `min` and `max`, numbers or arrays; None, the default, bounds nothing."""
    def copysign(self, z: TensorLike) -> Tensor:
        """The magnitude of x with the sign of z, which a zero and a NaN have too. Integers become float32."""
    def corrcoef(self, y: TensorLike | None=None, rowvar: builtins.bool=True) -> Tensor:
        """The correlation coefficients of variables, of which each row of x holds the observations: from -1 to 1."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine of x, (exp(x) + exp(-x)) / 2. Integers become float32."""
    def count_nonzero(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims:
            builtins.bool=False) -> Tensor:
        """How many elements over one axis, several, or all of them are not 0, as int64; NaN is not 0."""
    def cov(self, y: TensorLike | None=None, rowvar: builtins.bool=True, correction: builtins.int | None=None, fweights:
            TensorLike | None=None, aweights: TensorLike | None=None, bias: builtins.bool=False) -> Tensor:
        """The covariances of variables, of which each row of x holds the observations (each column, not `rowvar`)."""
    def cross(self, z: TensorLike, axis: builtins.int=-1) -> Tensor:
        """The cross product of vectors of three entries along an axis; the other axes broadcast."""
    @overload
    def cummax(self, axis: builtins.int | None=None, return_indices: Literal[False]=False) -> Tensor:
        """The largest of all elements up to each one along an axis: y[k] = max(x[0], ..., x[k]), in the type of x."""
    @overload
    def cummax(self, axis: builtins.int | None=None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
    @overload
    def cummin(self, axis: builtins.int | None=None, return_indices: Literal[False]=False) -> Tensor:
        """The smallest of all elements up to each one along an axis: y[k] = min(x[0], ..., x[k]), in the type of x."""
    @overload
    def cummin(self, axis: builtins.int | None=None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
    def cumprod(self, axis: builtins.int | None=None, dtype: DTypeLike | None=None) -> Tensor:
        """The running products of `cumulative_prod`, as NumPy has them: of all elements in a row where no axis is given."""
    def cumsum(self, axis: builtins.int | None=None, dtype: DTypeLike | None=None) -> Tensor:
        """The running sums of `cumulative_sum`, as NumPy has them: of all elements in a row where no axis is given."""
    def cumulative_prod(self, axis: builtins.int | None=None, dtype: DTypeLike | None=None, include_initial:
            builtins.bool=False) -> Tensor:
        """The product of all elements up to each one along an axis: y[k] = x[0] * ... * x[k]."""
    def cumulative_sum(self, axis: builtins.int | None=None, dtype: DTypeLike | None=None, include_initial:
            builtins.bool=False) -> Tensor:
        """The sum of all elements up to each one along an axis: y[k] = x[0] + ... + x[k]."""
    def deg2rad(self) -> Tensor:
        """Angles in radians of angles x in degrees, x * (pi / 180). Integers become float32."""
    def diag(self, k: builtins.int=0) -> Tensor:
        """Of a vector the matrix that has it on diagonal `k`, of a matrix its diagonal k (0 the main one, 1 above it)."""
    def diag_embed(self, offset: builtins.int=0, axis1: builtins.int=-2, axis2: builtins.int=-1) -> Tensor:
        """Matrices with the last axis of x on the diagonal `offset`, and zeros elsewhere."""
    def diagflat(self, k: builtins.int=0) -> Tensor:
        """A matrix with the elements of x, taken flat, on diagonal `k`, and zeros elsewhere."""
    def diff(self, n: builtins.int=1, axis: builtins.int=-1, prepend: TensorLike | None=None, append: TensorLike |
            None=None) -> Tensor:
        """The differences of neighbours along an axis, x[k + 1] - x[k], taken `n` times over."""
    def digamma(self) -> Tensor:
        """The derivative of `lgamma`: -inf at 0, NaN at -1, -2, ... Integers become float32."""
    def div(self, z: TensorLike, rounding_mode: str | None=None) -> Tensor:
        """The quotient x / z, elementwise, a float: integers and bools become float32. Shapes meet as in `add`."""
    def divide(self, z: TensorLike, rounding_mode: str | None=None) -> Tensor:
        """The quotient x / z, elementwise, a float: integers and bools become float32. Shapes meet as in `add`."""
    def dot(self, z: TensorLike) -> Tensor:
        """The products of rows of x (..., k) with columns of z (..., k, m), all with all: NumPy's `dot`."""
    def dsplit(self, sections: builtins.int | Sequence[builtins.int]) -> tuple[Tensor, ...]:
        """The array in equal `sections` along its third axis, or cut before the places it lists."""
    def eq(self, z: TensorLike) -> Tensor:
        """Whether x == z, elementwise, as bools; NaN equals nothing, not even itself. Operands meet as in `less`."""
    def erfc(self) -> Tensor:
        """The number 1 - erf(x), accurate also where erf(x) is near 1 and the difference cancels. Integers become float32."""
    def erfinv(self) -> Tensor:
        """The number whose `erf` is x: infinities at 1 and -1, NaN beyond. Integers become float32."""
    def exp2(self) -> Tensor:
        """The power 2 ** x, exact for whole x. Integers and bools become float32."""
    def expand_dims(self, axis: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The array with axes of length 1 put in, at the positions that axis gives them in the result: one, or several."""
    def fix(self) -> Tensor:
        """The whole number that is x without its fraction, towards 0, in the dtype of x. The derivative is 0."""
    def flip(self, axis: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """The array with the order along one axis, several, or all of them reversed; a number as it is."""
    def fliplr(self) -> Tensor:
        """The array with the order along its second axis reversed. Raises ShapeError for fewer than two axes."""
    def flipud(self) -> Tensor:
        """The array with the order along its first axis reversed. Raises ShapeError for a number."""
    def float_power(self, z: TensorLike) -> Tensor:
        """The power x ** z in float64, whatever the dtypes of x and z; of complex numbers in complex128."""
    def floor_divide(self, z: TensorLike) -> Tensor:
        """The quotient x / z rounded down to a whole number, as Python's //; shapes and dtypes meet as in `add`."""
    def fmax(self, z: TensorLike) -> Tensor:
        """The larger of x and z, elementwise; the other one where one is NaN. Shapes and dtypes meet as in `add`."""
    def fmin(self, z: TensorLike) -> Tensor:
        """The smaller of x and z, elementwise; the other one where one is NaN. Shapes and dtypes meet as in `add`."""
    def fmod(self, z: TensorLike) -> Tensor:
        """The remainder x - z * trunc(x / z), as C's fmod: it has the sign of x. Shapes and dtypes meet as in `add`."""
    def frac(self) -> Tensor:
        """The fraction x - trunc(x), of the sign of x; 0 of integers. The derivative is 1."""
    def gcd(self, z: TensorLike) -> Tensor:
        """The greatest common divisors of integers, 0 or more; of 0 and 0 it is 0. Shapes and dtypes meet as in `add`."""
    def ge(self, z: TensorLike) -> Tensor:
        """Whether x >= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def ger(self, z: TensorLike) -> Tensor:
        """Every element of x times every one of z, both taken flat: a matrix (x.size, z.size)."""
    def greater(self, z: TensorLike) -> Tensor:
        """Whether x > z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def greater_equal(self, z: TensorLike) -> Tensor:
        """Whether x >= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def gt(self, z: TensorLike) -> Tensor:
        """Whether x > z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def heaviside(self, z: TensorLike) -> Tensor:
        """The step function of x: 0 below 0, 1 above it, z at 0, NaN of NaN. Shapes and dtypes meet as in `add`."""
    def histogram(self, bins: builtins.int | TensorLike=10, range: TensorLike | None=None, weights: TensorLike |
            None=None, density: builtins.bool=False) -> tuple[Tensor, Tensor]:
        """How many elements of x fall into each of `bins`, and the edges of the bins (NumPy's histogram)."""
    def hsplit(self, sections: builtins.int | Sequence[builtins.int]) -> tuple[Tensor, ...]:
        """The array in equal `sections` along its second axis (a vector along its own), or cut before the places it lists."""
    def hypot(self, z: TensorLike) -> Tensor:
        """The length sqrt(x * x + z * z), without an over- or underflow of the squares. Integers become float32."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind and order 0. Integers become float32."""
    def index_copy(self, axis: builtins.int, i: TensorLike, source: TensorLike) -> Tensor:
        """The array with its elements `i` of an axis replaced by the parts of `source`; the last of those that name one."""
    def index_fill(self, axis: builtins.int, i: TensorLike, value: builtins.float) -> Tensor:
        """The array with its elements `i` of an axis replaced by the number `value`."""
    def index_put(self, indices: Sequence[TensorLike], values: TensorLike, accumulate: builtins.bool=False) -> Tensor:
        """The array with x[indices] replaced by `values`, or with them added if they are to `accumulate`."""
    def inner(self, z: TensorLike) -> Tensor:
        """The sums of products over the last axes of x and z: (..., n) and (***, n) -> (..., ***). Of a number x * z."""
    def isclose(self, z: TensorLike, rtol: builtins.float=1e-05, atol: builtins.float=1e-08, equal_nan:
            builtins.bool=False) -> Tensor:
        """Whether |x - z| <= `atol` + `rtol` * |z|, elementwise, as bools; infinities are close to themselves alone."""
    def kron(self, z: TensorLike) -> Tensor:
        """The Kronecker product: each entry of x times all of z, sizes multiplied; axes count from the last."""
    def kthvalue(self, k: builtins.int, axis: builtins.int=-1, keepdims: builtins.bool=False) -> tuple[Tensor, Tensor]:
        """The element along an axis that is the `k`-th in ascending order, from 1 on, and its position, as int64."""
    def lcm(self, z: TensorLike) -> Tensor:
        """The least common multiples of integers, 0 or more; of 0 and anything it is 0. Shapes and dtypes meet as in `add`."""
    def le(self, z: TensorLike) -> Tensor:
        """Whether x <= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def lerp(self, z: TensorLike, weight: TensorLike) -> Tensor:
        """The number x + `weight` * (z - x) on the way from x to z, exact at both ends. Shapes and dtypes meet as in `add`."""
    def less(self, z: TensorLike) -> Tensor:
        """Whether x < z, elementwise, as bools; false where either is NaN. Shapes meet as in `add`."""
    def less_equal(self, z: TensorLike) -> Tensor:
        """Whether x <= z, elementwise, as bools; false where either is NaN. Operands meet as in `less`."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function: inf at 0, -1, -2, ... Integers become float32."""
    def log10(self) -> Tensor:
        """The logarithm of x to base 10: -inf at 0, NaN below it. Integers and bools become float32."""
    def log2(self) -> Tensor:
        """The logarithm of x to base 2: -inf at 0, NaN below it. Integers and bools become float32."""
    def log_softmax(self, axis: builtins.int=-1, dtype: DTypeLike | None=None) -> Tensor:
        """The logarithm of `softmax(x)` along an axis, without rounding small probabilities to 0."""
    def logaddexp(self, z: TensorLike) -> Tensor:
        """The number log(exp(x) + exp(z)), where no x or z overflows. Integers become float32."""
    def logaddexp2(self, z: TensorLike) -> Tensor:
        """The number log2(2 ** x + 2 ** z), where no x or z overflows. Integers become float32."""
    def logcumsumexp(self, axis: builtins.int | None=None) -> Tensor:
        """The numbers log(exp(x[0]) + ... + exp(x[k])) along an axis, in the type of x; no x overflows."""
    def logical_and(self, z: TensorLike) -> Tensor:
        """Whether both x and z are true, elementwise, as bools; a number is true unless it is zero."""
    def logical_not(self) -> Tensor:
        """Whether each element of x is false, as bools: a number is false if it is zero, so NaN is true."""
    def logical_or(self, z: TensorLike) -> Tensor:
        """Whether x or z or both are true, elementwise, as bools; a number is true unless it is zero."""
    def logical_xor(self, z: TensorLike) -> Tensor:
        """Whether one of x and z is true and the other is not, elementwise, as bools; a number is true unless it is zero."""
    def logit(self, eps: builtins.float | None=None) -> Tensor:
        """The number whose `sigmoid` is x, log(x / (1 - x)): infinities at 0 and 1, NaN outside of them."""
    def logsumexp(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims:
            builtins.bool=False) -> Tensor:
        """The number log(sum(exp(x))) over one axis, several, or all of them, in the dtype of x; no x overflows."""
    def lt(self, z: TensorLike) -> Tensor:
        """Whether x < z, elementwise, as bools; false where either is NaN. Shapes meet as in `add`."""
    def masked_select(self, mask: TensorLike, size: builtins.int | None=None, fill: complex=0) -> Tensor:
        """The elements of x where `mask` is true, in row-major order, as a vector; both broadcast against each other."""
    @overload
    def median(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, method:
            str='linear', return_indices: Literal[False]=False) -> Tensor:
        """The median over one axis, several, or all of them: of an even number of elements the mean of two in the middle."""
    @overload
    def median(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, method:
            str='linear', *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
    def mm(self, w: TensorLike) -> Tensor:
        """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast."""
    def moveaxis(self, source: builtins.int | Sequence[builtins.int], target: builtins.int |
            Sequence[builtins.int]) -> Tensor:
        """The array with the axis `source` moved to the place `target`, or several to several; others keep their order."""
    def movedim(self, source: builtins.int | Sequence[builtins.int], target: builtins.int |
            Sequence[builtins.int]) -> Tensor:
        """The array with the axis `source` moved to the place `target`, or several to several; others keep their order."""
    def mul(self, z: TensorLike) -> Tensor:
        """The product x * z, elementwise; shapes and dtypes meet as in `add`. Bools are joined by and."""
    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool=False) -> Tensor:
        """Random places in rows p (..., n) of weights, so many as `num_samples` in each row, as int64."""
    def multiply(self, z: TensorLike) -> Tensor:
        """The product x * z, elementwise; shapes and dtypes meet as in `add`. Bools are joined by and."""
    def mv(self, w: TensorLike) -> Tensor:
        """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast."""
    def nan_to_num(self, nan: builtins.float=0.0, posinf: builtins.float | None=None, neginf: builtins.float |
            None=None) -> Tensor:
        """The elements of x, with `nan` for NaN, `posinf` and `neginf` for infinities: the ends of the dtype unless given."""
    def nanmean(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, dtype:
            DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
        """The mean of those elements that are not NaN over one axis, several, or all of them, as of `mean`; NaN of none."""
    @overload
    def nanmedian(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, method:
            str='linear', return_indices: Literal[False]=False) -> Tensor:
        """The median of those elements that are not NaN, as of `median`; NaN where all of them are."""
    @overload
    def nanmedian(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, method:
            str='linear', *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
    def nanquantile(self, q: TensorLike, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims:
            builtins.bool=False, method: str='linear') -> Tensor:
        """The quantiles `q` of those elements that are not NaN, as of `quantile`; NaN where all of them are."""
    def nansum(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, dtype:
            DTypeLike | None=None, initial: builtins.float | None=None, where: TensorLike | None=None) -> Tensor:
        """The sum of those elements that are not NaN over one axis, several, or all of them, as of `sum`; 0 of none."""
    def ne(self, z: TensorLike) -> Tensor:
        """Whether x != z, elementwise, as bools; NaN differs from everything, itself included. Operands meet as in `less`."""
    def neg(self) -> Tensor:
        """The negative of x, in its dtype; unsigned integers wrap. Raises DTypeError for bools."""
    def negative(self) -> Tensor:
        """The negative of x, in its dtype; unsigned integers wrap. Raises DTypeError for bools."""
    def nextafter(self, z: TensorLike) -> Tensor:
        """The number of the dtype that is next to x on the way to z: z where they are equal, NaN if either is."""
    def nonzero(self, size: builtins.int | None=None, fill: builtins.int=0) -> tuple[Tensor, ...]:
        """The positions of the elements of x that are not 0: for each axis a row of int64, in row-major order."""
    def norm(self, p: builtins.float | str='fro', axis: builtins.int | Sequence[builtins.int] | None=None, keepdims:
            builtins.bool=False, dtype: DTypeLike | None=None) -> Tensor:
        """The `linalg.vector_norm` of order `p` over one axis, several, or all of them (PyTorch's norm)."""
    def not_equal(self, z: TensorLike) -> Tensor:
        """Whether x != z, elementwise, as bools; NaN differs from everything, itself included. Operands meet as in `less`."""
    def outer(self, z: TensorLike) -> Tensor:
        """Every element of x times every one of z, both taken flat: a matrix (x.size, z.size)."""
    def permute_dims(self, axes: builtins.int | Sequence[builtins.int]=(), *more: builtins.int |
            Sequence[builtins.int]) -> Tensor:
        """The array with its axes in the order of `axes`, one sequence or this number and `more`; reversed without them."""
    def positive(self) -> Tensor:
        """The elements of x themselves: +x. Raises DTypeError for bools."""
    def quantile(self, q: TensorLike, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims:
            builtins.bool=False, method: str='linear') -> Tensor:
        """The quantiles `q` (0 to 1: a number, or an array of them) over one axis, several, or all of them."""
    def rad2deg(self) -> Tensor:
        """Angles in degrees of angles x in radians, x * (180 / pi). Integers become float32."""
    def reciprocal(self) -> Tensor:
        """The reciprocal 1 / x: inf of the sign of a zero. Integers and bools become float32, unlike NumPy's."""
    def remainder(self, z: TensorLike) -> Tensor:
        """The remainder x - z * floor(x / z), as Python's %: it has the sign of z. Shapes and dtypes meet as in `add`."""
    def repeat_interleave(self, repeats: builtins.int | Sequence[builtins.int] | Tensor, axis: builtins.int | None=None,
            size: builtins.int | None=None) -> Tensor:
        """A tensor with each element of an axis as often as `repeats` says, one beside the other, as NumPy's repeat."""
    def roll(self, shift: builtins.int | Sequence[builtins.int], axis: builtins.int | Sequence[builtins.int] |
            None=None) -> Tensor:
        """The array moved along an axis by `shift` places; what leaves at the end enters at the start."""
    def rot90(self, k: builtins.int=1, axes: Sequence[builtins.int]=(0, 1)) -> Tensor:
        """The array turned by 90 degrees, `k` times, in the plane of two `axes`: from the first towards the second."""
    def searchsorted(self, z: TensorLike, side: str='left', sorter: TensorLike | None=None, right: builtins.bool=False,
            out_int32: builtins.bool=False) -> Tensor:
        """Where the elements of `z` would go into sorted x so that it stays sorted: positions from 0 to n, as int64."""
    def sgn(self) -> Tensor:
        """The sign of x in its own dtype: -1, 0 or 1; a NaN stays. The derivative is 0."""
    def signbit(self) -> Tensor:
        """Whether the sign bit of x is set, as bools: true for -0.0 too, and for a NaN that has one."""
    def sinc(self) -> Tensor:
        """The quotient sin(pi x) / (pi x), and 1 at 0: 0 at every other whole number. Integers become float32."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine of x, (exp(x) - exp(-x)) / 2, exact to the last digits near 0 too. Integers become float32."""
    def softmax(self, axis: builtins.int=-1, dtype: DTypeLike | None=None) -> Tensor:
        """The probabilities exp(x) / sum(exp(x)) along an axis; of x less its largest element, so that nothing overflows."""
    def sub(self, z: TensorLike, alpha: builtins.float=1) -> Tensor:
        """The difference x - z, or x - `alpha` * z, elementwise; shapes and dtypes meet as in `add`."""
    def subtract(self, z: TensorLike, alpha: builtins.float=1) -> Tensor:
        """The difference x - z, or x - `alpha` * z, elementwise; shapes and dtypes meet as in `add`."""
    def swapdims(self, a: builtins.int, b: builtins.int) -> Tensor:
        """The array with its axes `a` and `b` exchanged; of a number, whose axes are 0 and -1, itself."""
    def take_along_axis(self, i: TensorLike, axis: builtins.int | None=-1) -> Tensor:
        """The elements of x at the positions `i` along an axis, an own position for each place beside it."""
    def take_along_dim(self, i: TensorLike, axis: builtins.int | None=-1) -> Tensor:
        """The elements of x at the positions `i` along an axis, an own position for each place beside it."""
    def tensor_split(self, sections: builtins.int | Sequence[builtins.int], axis: builtins.int=0) -> tuple[Tensor, ...]:
        """The array in so many `sections` along an axis, the first ones longer by one, or cut before each place it lists."""
    def tensordot(self, z: TensorLike, axes: builtins.int | Sequence[builtins.int |
            Sequence[builtins.int]]=2) -> Tensor:
        """The sum of products over `axes`: the last so many of x with the first of z, or a pair of lists of axes."""
    def tile(self, repetitions: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The array beside itself along each axis, as often as `repetitions` say: of the last axes, more add axes in front."""
    def topk(self, k: builtins.int, axis: builtins.int=-1, largest: builtins.bool=True, sorted:
            builtins.bool=True) -> TopK:
        """The `k` largest elements along an axis, largest first, and their positions; or the smallest, not `largest`."""
    def trace(self, offset: builtins.int=0, axis1: builtins.int=0, axis2: builtins.int=1) -> Tensor:
        """The sum of diagonal `offset` of the matrices on the axes `axis1` and `axis2`; of a stack, `st.linalg.trace`."""
    def tril(self, k: builtins.int=0) -> Tensor:
        """The lower triangle of x: zeros above diagonal `k` of its last two axes (0 the main one, 1 the one above it)."""
    def triu(self, k: builtins.int=0) -> Tensor:
        """The upper triangle of x: zeros below diagonal `k` of its last two axes (0 the main one, 1 the one above it)."""
    def true_divide(self, z: TensorLike, rounding_mode: str | None=None) -> Tensor:
        """The quotient x / z, elementwise, a float: integers and bools become float32. Shapes meet as in `add`."""
    def trunc(self) -> Tensor:
        """The whole number that is x without its fraction, towards 0, in the dtype of x. The derivative is 0."""
    def unique(self, *, return_index: builtins.bool=False, return_inverse: builtins.bool=False, return_counts:
            builtins.bool=False, axis: builtins.int | None=None, size: builtins.int | None=None, sorted:
            builtins.bool=True) -> Tensor | tuple[Tensor, ...]:
        """The distinct elements of x in ascending order, a row; or the distinct parts along an axis, in order of rows."""
    def unstack(self, axis: builtins.int=0) -> tuple[Tensor, ...]:
        """The parts of an array along an axis, which they lose, as a tuple: the inverse of `stack`."""
    def vdot(self, z: TensorLike) -> Tensor:
        """The sum of the products of the elements of x, conjugated, and z, both taken flat. Dtypes meet as in `add`."""
    def vsplit(self, sections: builtins.int | Sequence[builtins.int]) -> tuple[Tensor, ...]:
        """The array, of two axes or more, in equal `sections` along its first, or cut before the places it lists."""
    def xlogy(self, z: TensorLike) -> Tensor:
        """The product x * log(z), and 0 where x is 0, unless z is NaN. Shapes and dtypes meet as in `add`."""
    def abs_(self) -> Tensor:
        """Rebinds this tensor to what `abs` gives, in its own dtype, and returns it."""
    def absolute_(self) -> Tensor:
        """Rebinds this tensor to what `absolute` gives, in its own dtype, and returns it."""
    def acos_(self) -> Tensor:
        """Rebinds this tensor to what `acos` gives, in its own dtype, and returns it."""
    def acosh_(self) -> Tensor:
        """Rebinds this tensor to what `acosh` gives, in its own dtype, and returns it."""
    def add_(self, z: TensorLike, alpha: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `add` gives, in its own dtype, and returns it."""
    def addcdiv_(self, tensor1: Any, tensor2: Any, value: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `addcdiv` gives, in its own dtype, and returns it."""
    def addcmul_(self, tensor1: Any, tensor2: Any, value: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `addcmul` gives, in its own dtype, and returns it."""
    def addmm_(self, y: TensorLike, z: TensorLike, beta: builtins.float=1, alpha: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `addmm` gives, in its own dtype, and returns it."""
    def arccos_(self) -> Tensor:
        """Rebinds this tensor to what `arccos` gives, in its own dtype, and returns it."""
    def arcsin_(self) -> Tensor:
        """Rebinds this tensor to what `arcsin` gives, in its own dtype, and returns it."""
    def arctan_(self) -> Tensor:
        """Rebinds this tensor to what `arctan` gives, in its own dtype, and returns it."""
    def arctan2_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `arctan2` gives, in its own dtype, and returns it."""
    def asin_(self) -> Tensor:
        """Rebinds this tensor to what `asin` gives, in its own dtype, and returns it."""
    def asinh_(self) -> Tensor:
        """Rebinds this tensor to what `asinh` gives, in its own dtype, and returns it."""
    def atan_(self) -> Tensor:
        """Rebinds this tensor to what `atan` gives, in its own dtype, and returns it."""
    def atan2_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `atan2` gives, in its own dtype, and returns it."""
    def atanh_(self) -> Tensor:
        """Rebinds this tensor to what `atanh` gives, in its own dtype, and returns it."""
    def baddbmm_(self, y: TensorLike, z: TensorLike, beta: builtins.float=1, alpha: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `baddbmm` gives, in its own dtype, and returns it."""
    def bitwise_and_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `bitwise_and` gives, in its own dtype, and returns it."""
    def bitwise_or_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `bitwise_or` gives, in its own dtype, and returns it."""
    def bitwise_xor_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `bitwise_xor` gives, in its own dtype, and returns it."""
    def ceil_(self) -> Tensor:
        """Rebinds this tensor to what `ceil` gives, in its own dtype, and returns it."""
    def clamp_(self, min: TensorLike | None=None, max: TensorLike | None=None) -> Tensor:
        """Rebinds this tensor to what `clamp` gives, in its own dtype, and returns it."""
    def clip_(self, min: TensorLike | None=None, max: TensorLike | None=None) -> Tensor:
        """Rebinds this tensor to what `clip` gives, in its own dtype, and returns it."""
    def copysign_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `copysign` gives, in its own dtype, and returns it."""
    def cos_(self) -> Tensor:
        """Rebinds this tensor to what `cos` gives, in its own dtype, and returns it."""
    def cosh_(self) -> Tensor:
        """Rebinds this tensor to what `cosh` gives, in its own dtype, and returns it."""
    def cumprod_(self, axis: builtins.int | None=None, dtype: DTypeLike | None=None) -> Tensor:
        """Rebinds this tensor to what `cumprod` gives, in its own dtype, and returns it."""
    def cumsum_(self, axis: builtins.int | None=None, dtype: DTypeLike | None=None) -> Tensor:
        """Rebinds this tensor to what `cumsum` gives, in its own dtype, and returns it."""
    def deg2rad_(self) -> Tensor:
        """Rebinds this tensor to what `deg2rad` gives, in its own dtype, and returns it."""
    def digamma_(self) -> Tensor:
        """Rebinds this tensor to what `digamma` gives, in its own dtype, and returns it."""
    def div_(self, z: TensorLike, rounding_mode: str | None=None) -> Tensor:
        """Rebinds this tensor to what `div` gives, in its own dtype, and returns it."""
    def divide_(self, z: TensorLike, rounding_mode: str | None=None) -> Tensor:
        """Rebinds this tensor to what `divide` gives, in its own dtype, and returns it."""
    def erf_(self) -> Tensor:
        """Rebinds this tensor to what `erf` gives, in its own dtype, and returns it."""
    def erfc_(self) -> Tensor:
        """Rebinds this tensor to what `erfc` gives, in its own dtype, and returns it."""
    def erfinv_(self) -> Tensor:
        """Rebinds this tensor to what `erfinv` gives, in its own dtype, and returns it."""
    def exp_(self) -> Tensor:
        """Rebinds this tensor to what `exp` gives, in its own dtype, and returns it."""
    def exp2_(self) -> Tensor:
        """Rebinds this tensor to what `exp2` gives, in its own dtype, and returns it."""
    def expm1_(self) -> Tensor:
        """Rebinds this tensor to what `expm1` gives, in its own dtype, and returns it."""
    def fix_(self) -> Tensor:
        """Rebinds this tensor to what `fix` gives, in its own dtype, and returns it."""
    def float_power_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `float_power` gives, in its own dtype, and returns it."""
    def floor_(self) -> Tensor:
        """Rebinds this tensor to what `floor` gives, in its own dtype, and returns it."""
    def floor_divide_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `floor_divide` gives, in its own dtype, and returns it."""
    def fmod_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `fmod` gives, in its own dtype, and returns it."""
    def frac_(self) -> Tensor:
        """Rebinds this tensor to what `frac` gives, in its own dtype, and returns it."""
    def gcd_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `gcd` gives, in its own dtype, and returns it."""
    def heaviside_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `heaviside` gives, in its own dtype, and returns it."""
    def hypot_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `hypot` gives, in its own dtype, and returns it."""
    def i0_(self) -> Tensor:
        """Rebinds this tensor to what `i0` gives, in its own dtype, and returns it."""
    def index_add_(self, dim: builtins.int, index: Any, source: Any, alpha: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `index_add` gives, in its own dtype, and returns it."""
    def index_copy_(self, axis: builtins.int, i: TensorLike, source: TensorLike) -> Tensor:
        """Rebinds this tensor to what `index_copy` gives, in its own dtype, and returns it."""
    def index_fill_(self, axis: builtins.int, i: TensorLike, value: builtins.float) -> Tensor:
        """Rebinds this tensor to what `index_fill` gives, in its own dtype, and returns it."""
    def index_put_(self, indices: Sequence[TensorLike], values: TensorLike, accumulate: builtins.bool=False) -> Tensor:
        """Rebinds this tensor to what `index_put` gives, in its own dtype, and returns it."""
    def lcm_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `lcm` gives, in its own dtype, and returns it."""
    def lerp_(self, z: TensorLike, weight: TensorLike) -> Tensor:
        """Rebinds this tensor to what `lerp` gives, in its own dtype, and returns it."""
    def lgamma_(self) -> Tensor:
        """Rebinds this tensor to what `lgamma` gives, in its own dtype, and returns it."""
    def log_(self) -> Tensor:
        """Rebinds this tensor to what `log` gives, in its own dtype, and returns it."""
    def log10_(self) -> Tensor:
        """Rebinds this tensor to what `log10` gives, in its own dtype, and returns it."""
    def log1p_(self) -> Tensor:
        """Rebinds this tensor to what `log1p` gives, in its own dtype, and returns it."""
    def log2_(self) -> Tensor:
        """Rebinds this tensor to what `log2` gives, in its own dtype, and returns it."""
    def logical_and_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `logical_and` gives, in its own dtype, and returns it."""
    def logical_not_(self) -> Tensor:
        """Rebinds this tensor to what `logical_not` gives, in its own dtype, and returns it."""
    def logical_or_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `logical_or` gives, in its own dtype, and returns it."""
    def logical_xor_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `logical_xor` gives, in its own dtype, and returns it."""
    def logit_(self, eps: builtins.float | None=None) -> Tensor:
        """Rebinds this tensor to what `logit` gives, in its own dtype, and returns it."""
    def masked_fill_(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """Rebinds this tensor to what `masked_fill` gives, in its own dtype, and returns it."""
    def mul_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `mul` gives, in its own dtype, and returns it."""
    def multiply_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `multiply` gives, in its own dtype, and returns it."""
    def nan_to_num_(self, nan: builtins.float=0.0, posinf: builtins.float | None=None, neginf: builtins.float |
            None=None) -> Tensor:
        """Rebinds this tensor to what `nan_to_num` gives, in its own dtype, and returns it."""
    def neg_(self) -> Tensor:
        """Rebinds this tensor to what `neg` gives, in its own dtype, and returns it."""
    def negative_(self) -> Tensor:
        """Rebinds this tensor to what `negative` gives, in its own dtype, and returns it."""
    def nextafter_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `nextafter` gives, in its own dtype, and returns it."""
    def pow_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `pow` gives, in its own dtype, and returns it."""
    def rad2deg_(self) -> Tensor:
        """Rebinds this tensor to what `rad2deg` gives, in its own dtype, and returns it."""
    def reciprocal_(self) -> Tensor:
        """Rebinds this tensor to what `reciprocal` gives, in its own dtype, and returns it."""
    def relu_(self) -> Tensor:
        """Rebinds this tensor to what `relu` gives, in its own dtype, and returns it."""
    def remainder_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `remainder` gives, in its own dtype, and returns it."""
    def round_(self, decimals: builtins.int=0) -> Tensor:
        """Rebinds this tensor to what `round` gives, in its own dtype, and returns it."""
    def rsqrt_(self) -> Tensor:
        """Rebinds this tensor to what `rsqrt` gives, in its own dtype, and returns it."""
    def scatter_(self, dim: builtins.int, index: Any, src: Any) -> Tensor:
        """Rebinds this tensor to what `scatter` gives, in its own dtype, and returns it."""
    def scatter_add_(self, dim: builtins.int, index: Any, src: Any) -> Tensor:
        """Rebinds this tensor to what `scatter_add` gives, in its own dtype, and returns it."""
    def sigmoid_(self) -> Tensor:
        """Rebinds this tensor to what `sigmoid` gives, in its own dtype, and returns it."""
    def sign_(self) -> Tensor:
        """Rebinds this tensor to what `sign` gives, in its own dtype, and returns it."""
    def sin_(self) -> Tensor:
        """Rebinds this tensor to what `sin` gives, in its own dtype, and returns it."""
    def sinc_(self) -> Tensor:
        """Rebinds this tensor to what `sinc` gives, in its own dtype, and returns it."""
    def sinh_(self) -> Tensor:
        """Rebinds this tensor to what `sinh` gives, in its own dtype, and returns it."""
    def sqrt_(self) -> Tensor:
        """Rebinds this tensor to what `sqrt` gives, in its own dtype, and returns it."""
    def square_(self) -> Tensor:
        """Rebinds this tensor to what `square` gives, in its own dtype, and returns it."""
    def sub_(self, z: TensorLike, alpha: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `sub` gives, in its own dtype, and returns it."""
    def subtract_(self, z: TensorLike, alpha: builtins.float=1) -> Tensor:
        """Rebinds this tensor to what `subtract` gives, in its own dtype, and returns it."""
    def tan_(self) -> Tensor:
        """Rebinds this tensor to what `tan` gives, in its own dtype, and returns it."""
    def tanh_(self) -> Tensor:
        """Rebinds this tensor to what `tanh` gives, in its own dtype, and returns it."""
    def tril_(self, k: builtins.int=0) -> Tensor:
        """Rebinds this tensor to what `tril` gives, in its own dtype, and returns it."""
    def triu_(self, k: builtins.int=0) -> Tensor:
        """Rebinds this tensor to what `triu` gives, in its own dtype, and returns it."""
    def true_divide_(self, z: TensorLike, rounding_mode: str | None=None) -> Tensor:
        """Rebinds this tensor to what `true_divide` gives, in its own dtype, and returns it."""
    def trunc_(self) -> Tensor:
        """Rebinds this tensor to what `trunc` gives, in its own dtype, and returns it."""
    def xlogy_(self, z: TensorLike) -> Tensor:
        """Rebinds this tensor to what `xlogy` gives, in its own dtype, and returns it."""
TensorLike = Tensor | np.ndarray[Any, Any] | np.generic | complex | list[Any] | tuple[Any, ...]
Place = Tensor | np.ndarray[Any, Any] | np.integer[Any] | int | slice | EllipsisType | list[Any] | range | None
Index = Place | tuple[Place, ...]
DTypeLike = DType | str | type[Any] | np.dtype[Any]
DeviceLike = Device | str | None
def converted(x: TensorLike, dtype: DTypeLike, copy: bool=True) -> Tensor:
    """This tensor as another dtype: float to integer truncates, to bool tests != 0.

    `copy` changes nothing: values are never written to, and the result is a tensor of its own.
    NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
    int32 and int64; integers of fewer bits keep the low bits of the int32, uint32 those of the int64. Raises DTypeError
    for complex numbers to real ones.

    >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
    [255, 44, 0]
    """
def moved(x: TensorLike, device: str) -> Tensor:
    """x on a device; x itself where it is there."""
def copied(x: Tensor, key: Any) -> Tensor | None:
    """x[key] copied at once, where x has its numbers and the part is small; None elsewhere. What is then made of parts
    is one expression wherever they lie, where a program that reads them from x itself would be one for each place.
    """
def part(x: TensorLike, key: Index) -> Tensor:
    """The part x[key], for ints, slices, None, Ellipsis and integer arrays; negative positions count from the end.

    Arrays broadcast against each other; their axes stand where they stood, or in front where slices part them, from
    each other or from ints (NumPy's rule). Raises IndexOutOfRange for an int outside of its axis at once, for an array
    when run, BadKey for more entries than axes, and DTypeError for a bool mask of a program, whose
    result would have a length that depends on numbers.

    >>> x = st.arange(12).reshape(3, 4)
    >>> x[0, 1::2].tolist(), x[-1, None].shape, x[st.tensor([2, 0]), 1].tolist()
    ([1, 3], (1, 4), [9, 1])
    """
def replaced(x: TensorLike, v: Any, key: Index, adds: bool=False) -> Tensor:
    """x with x[key] replaced by v, broadcast: a key of `index`, in which one array may be a bool mask of one axis.

    Where integer arrays name an element twice the last one stays; if v `adds` to what is there, all of them do.
    """
def where(condition: TensorLike, x: TensorLike, z: TensorLike) -> Tensor:
    """The elements of x where the condition holds, else those of z, all three broadcast."""
def all_places(x: Tensor, key: tuple[Any, ...]) -> tuple[Tensor, Tensor, int, Any] | None:
    """Of a key with a mask of a program the part that all places of it make, the mask, along which axis of the part it
    chooses, and the key of the part. None for a key without one, and where other arrays or numbers stand about it.
    """
def chosen(x: Tensor, key: tuple[Any, ...], whole: Tensor, mask: Tensor, axis: int, _: Any) -> Chosen:
    """What a key chooses of x as it is now."""
def spread(mask: Tensor, axis: int, x: Tensor) -> Tensor:
    """A mask along an axis of x."""
class Chosen(Tensor):
    """x[mask] of a mask whose numbers a program knows when it runs: nobody knows its length before.

    What is made of each row of all of x goes to the places of the same mask: `x[mask] += 1`,
    `x[:, mask] = st.exp(y[:, mask])`; sums, and what else takes `where=`, count those places alone. All else that asks
    for the numbers raises DTypeError, and says what to write. At other places stands a number at which most functions
    have a slope; no gradient comes back from there.
    """
    def __init__(self, whole: Tensor, mask: Tensor, axis: builtins.int, refused: Callable[[], Any]) -> None: ...
    @property
    def value(self) -> Any: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def ndim(self) -> builtins.int: ...
    def through(self, f: Callable[..., Any], checks: Mapping[str, Any], args: Sequence[Any], named: Any) -> Any:
        """What f makes of the numbers: of each row alone, or of all of them where it takes `where`."""
    def beside(self, a: Any, rows: dict[Value, builtins.int]) -> Any:
        """An argument at all places; of other masks there is none."""
    def rebind(self, new: Tensor) -> Tensor: ...
    def tie_to(self, *_: Any) -> None:
        """Parts of what was chosen share nothing, so there are none."""
    def over(self, x: Tensor, key: Any) -> Tensor:
        """x with the numbers at the places that they were chosen from."""
def placed(v: Value, device: DeviceLike=None, requires_grad: bool=False) -> Tensor:
    """A new array as a tensor on a device: where none is named, on that of the innermost `with st.device(...)`."""
def constant(x: Any, like: DType | None=None) -> Tensor:
    """A tensor as it is; a number, a list or an array as a tensor, of dtype `like` where one is given."""
def tensor(data: Any, dtype: DTypeLike | None=None, requires_grad: bool=False, device: DeviceLike=None) -> Tensor:
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
