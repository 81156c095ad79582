"""The array a user holds: a handle on a value, with operators, methods, and numbers when somebody looks."""
# Written by tools/make_stubs.py.
import builtins
from collections.abc import Sequence
from collections.abc import Callable, Collection
from types import EllipsisType
from typing import Any
import numpy as np
from stele.errors import ArgumentError
from stele.ir.graph import Array, Value
from stele.ir.types import DType
from stele.looking import Looking
from stele.ops.elementwise.unary import StopGradient

PENDING_LIMIT: int
KINDS: str
ELSEWHERE = ('cuda', 'gpu', 'mps', 'xpu', 'tpu', 'hip', 'meta')
CUT = StopGradient()
SMALL: int
def lift(f: Callable[..., Any], numbers: bool=False) -> Callable[..., Any]:
    """A function of values as a function of tensors; keyword-only parameters may also be given by position.

    With `numbers`, a symbolic size among the arguments is an operand: a number known when the program runs.
    """
def too_many(function: str, most: int, args: Sequence[Any], named: Collection[str]) -> ArgumentError:
    """The error for arguments of which some stand in no place, or in one that a name has taken."""
def respelled(function: str, given: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Arguments under the names they have here, as PyTorch and NumPy spell them too; ArgumentError for other names."""
class Operands:
    """Takes the values out of tensors, and remembers whether any of them carries gradients."""
    differentiable: bool
    numbers: bool
    values: list[Value]
    def __init__(self, numbers: builtins.bool) -> None: ...
    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What of the arguments a result depends on, besides the operands' numbers: the operands are noted. None where
        that cannot be said: in a trace, where open sizes leave guards, and for arrays and objects of other kinds.
        """
    def known(self, a: Any) -> Any:
        """What one argument says. Raises Unseen."""
    def value(self, a: Any) -> Any:
        """What an op takes for an argument of the user: values for tensors and arrays, also inside of lists."""
    def cut(self, y: Any) -> Any:
        """Under `no_grad` the results are cut off from what carries gradients."""
    def tensors(self, y: Any) -> Any:
        """The results as tensors."""
def record(x: Tensor) -> Tensor:
    """The tensor itself; after many operations that nobody looked at its numbers are computed, to bound the history."""
def arithmetic(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of operands, which may be symbolic sizes."""
def reflected(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as the method of its second operand."""
def rebinding(f: Callable[..., Any]) -> Callable[..., Any]:
    """A binary function as an in-place operator: its result is what the handle stands for from now on."""
def speaking(method: Any, lifted: Any) -> Callable[..., Any]:
    """A method with the signature and the words of the function it is made of."""
def astype(x: Value, *, dtype: DType) -> Value:
    """x as another dtype: float to integer truncates, to bool tests != 0.

    NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
    int32 and int64; uint8 keeps the low bits of the int32, uint32 those of the int64.

    >>> import stele as st
    >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
    [255, 44, 0]
    """
def cut(x: Value) -> Value:
    """x as a value of its own, through which no gradient passes."""
class Tensor(Looking):
    """An array. Operations record an expression; numbers are computed when somebody looks.

    >>> import stele as st
    >>> x = st.tensor([1.0, 2.0])
    >>> (x * 2 + 1).tolist()
    [3.0, 5.0]
    """
    grad: Tensor | None
    @property
    def data(self) -> Tensor:
        """The same numbers without gradients; `x.data = y` rebinds x and leaves its gradient settings alone."""
    @data.setter
    def data(self, new: Any) -> None: ...
    def assign(self, new: Any) -> Tensor:
        """Rebinds this tensor to new numbers of its own shape and dtype, whatever its gradient settings."""
    copy_ = assign
    def zero_(self) -> Tensor:
        """Rebinds this tensor to zeros."""
    def rebind(self, new: Tensor) -> Tensor:
        """This handle, standing for another expression of its type from now on."""
    def __setitem__(self, key: Index, new: Any) -> None: ...
    def requires_grad_(self, on: builtins.bool=True) -> Tensor:
        """Marks this tensor as one whose gradient `backward` accumulates."""
    @property
    def requires_grad(self) -> builtins.bool:
        """Whether `backward` passes through this tensor, or stops and accumulates at it; setting it makes it a leaf."""
    @requires_grad.setter
    def requires_grad(self, on: builtins.bool) -> None: ...
    def detach(self) -> Tensor:
        """The same numbers as a tensor that carries no gradient."""
    def backward(self, gradient: Any=None, retain_graph: builtins.bool=False) -> None:
        """Adds the gradient of this number to `.grad` of every tensor it depends on that requires one."""
    def __add__(self, z: TensorLike) -> Tensor:
        """x + z."""
    def __radd__(self, z: TensorLike) -> Tensor:
        """x + z."""
    def __sub__(self, z: TensorLike) -> Tensor:
        """x - z."""
    def __rsub__(self, z: TensorLike) -> Tensor:
        """x - z."""
    def __mul__(self, z: TensorLike) -> Tensor:
        """x * z."""
    def __rmul__(self, z: TensorLike) -> Tensor:
        """x * z."""
    def __truediv__(self, z: TensorLike) -> Tensor:
        """x / z, in floats."""
    def __rtruediv__(self, z: TensorLike) -> Tensor:
        """x / z, in floats."""
    def __floordiv__(self, z: TensorLike) -> Tensor:
        """x / z rounded down to a whole number; of integers 0 where z is 0."""
    def __rfloordiv__(self, z: TensorLike) -> Tensor:
        """x / z rounded down to a whole number; of integers 0 where z is 0."""
    def __mod__(self, z: TensorLike) -> Tensor:
        """x - z * floor(x / z): it has the sign of z; of integers 0 where z is 0."""
    def __rmod__(self, z: TensorLike) -> Tensor:
        """x - z * floor(x / z): it has the sign of z; of integers 0 where z is 0."""
    def __pow__(self, z: TensorLike) -> Tensor:
        """x to the power z; a small number as exponent becomes products or roots.

        Integers to the power of integers stay integers; a float as exponent makes them float32.
        """
    def __rpow__(self, z: TensorLike) -> Tensor:
        """x to the power z; a small number as exponent becomes products or roots.

        Integers to the power of integers stay integers; a float as exponent makes them float32.
        """
    def __matmul__(self, w: TensorLike) -> Tensor:
        """The matrix product; vectors count as a row on the left and a column on the right.

        A matrix `w` under leading axes of `x` is one product of x's rows.
        """
    def __rmatmul__(self, w: TensorLike) -> Tensor:
        """The matrix product; vectors count as a row on the left and a column on the right.

        A matrix `w` under leading axes of `x` is one product of x's rows.
        """
    def __and__(self, z: TensorLike) -> Tensor:
        """Bits that both have."""
    def __rand__(self, z: TensorLike) -> Tensor:
        """Bits that both have."""
    def __or__(self, z: TensorLike) -> Tensor:
        """Bits that either has."""
    def __ror__(self, z: TensorLike) -> Tensor:
        """Bits that either has."""
    def __xor__(self, z: TensorLike) -> Tensor:
        """Bits that differ."""
    def __rxor__(self, z: TensorLike) -> Tensor:
        """Bits that differ."""
    def __lshift__(self, z: TensorLike) -> Tensor:
        """x * 2**z, wrapping."""
    def __rlshift__(self, z: TensorLike) -> Tensor:
        """x * 2**z, wrapping."""
    def __rshift__(self, z: TensorLike) -> Tensor:
        """x / 2**z rounded down; unsigned dtypes shift zeros in."""
    def __rrshift__(self, z: TensorLike) -> Tensor:
        """x / 2**z rounded down; unsigned dtypes shift zeros in."""
    def __lt__(self, z: TensorLike) -> Tensor:
        """x < z."""
    def __le__(self, z: TensorLike) -> Tensor:
        """x <= z."""
    def __gt__(self, z: TensorLike) -> Tensor:
        """x > z."""
    def __ge__(self, z: TensorLike) -> Tensor:
        """x >= z."""
    def __eq__(self, z: TensorLike) -> Tensor:  # type: ignore[override]
        """x == z."""
    def __ne__(self, z: TensorLike) -> Tensor:  # type: ignore[override]
        """x != z."""
    def __neg__(self) -> Tensor:
        """The negative, -x."""
    def __abs__(self) -> Tensor:
        """x without its sign; the gradient at 0 is 0."""
    def __invert__(self) -> Tensor:
        """Every bit of a bool or an integer turned over."""
    def __getitem__(self, key: Index) -> Tensor:
        """x[key] for ints, slices, None, Ellipsis and integer arrays, in which negative positions count from the end.

        Arrays broadcast against each other; their axes stand where they stood, or in front where slices part them.

        >>> import stele as st
        >>> st.zeros((4, 5, 6))[0, 1::2, None].shape
        (2, 1, 6)
        """
    def __iadd__(self, z: TensorLike) -> Tensor:
        """x + z."""
    def __isub__(self, z: TensorLike) -> Tensor:
        """x - z."""
    def __imul__(self, z: TensorLike) -> Tensor:
        """x * z."""
    def __itruediv__(self, z: TensorLike) -> Tensor:
        """x / z, in floats."""
    def __ifloordiv__(self, z: TensorLike) -> Tensor:
        """x / z rounded down to a whole number; of integers 0 where z is 0."""
    def __imod__(self, z: TensorLike) -> Tensor:
        """x - z * floor(x / z): it has the sign of z; of integers 0 where z is 0."""
    def __ipow__(self, z: TensorLike) -> Tensor:
        """x to the power z; a small number as exponent becomes products or roots.

        Integers to the power of integers stay integers; a float as exponent makes them float32.
        """
    def __imatmul__(self, w: TensorLike) -> Tensor:
        """The matrix product; vectors count as a row on the left and a column on the right.

        A matrix `w` under leading axes of `x` is one product of x's rows.
        """
    def __iand__(self, z: TensorLike) -> Tensor:
        """Bits that both have."""
    def __ior__(self, z: TensorLike) -> Tensor:
        """Bits that either has."""
    def __ixor__(self, z: TensorLike) -> Tensor:
        """Bits that differ."""
    def __ilshift__(self, z: TensorLike) -> Tensor:
        """x * 2**z, wrapping."""
    def __irshift__(self, z: TensorLike) -> Tensor:
        """x / 2**z rounded down; unsigned dtypes shift zeros in."""
    def __hash__(self) -> int: ...
    def exp(self) -> Tensor:
        """e to the power x."""
    def log(self) -> Tensor:
        """Natural logarithm."""
    def log1p(self) -> Tensor:
        """log(1 + x), exact for small x."""
    def expm1(self) -> Tensor:
        """exp(x) - 1, exact for small x."""
    def sqrt(self) -> Tensor:
        """Square root."""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)."""
    def square(self) -> Tensor:
        """x * x."""
    def sin(self) -> Tensor:
        """Sine of x in radians."""
    def cos(self) -> Tensor:
        """Cosine of x in radians."""
    def tan(self) -> Tensor:
        """Tangent of x in radians."""
    def atan(self) -> Tensor:
        """The angle in (-pi/2, pi/2) whose tangent is x."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))."""
    def erf(self) -> Tensor:
        """The error function."""
    def relu(self) -> Tensor:
        """x where it is not negative, else 0; a NaN stays. The gradient at 0 is 0."""
    def abs(self) -> Tensor:
        """x without its sign; the gradient at 0 is 0."""
    def sign(self) -> Tensor:
        """-1, 0 or 1; a NaN stays."""
    def floor(self) -> Tensor:
        """The largest whole number not above x."""
    def ceil(self) -> Tensor:
        """The smallest whole number not below x."""
    def round(self) -> Tensor:
        """The nearest whole number, ties to even."""
    def isnan(self) -> Tensor:
        """Whether x is not a number."""
    def isinf(self) -> Tensor:
        """Whether x is plus or minus infinity."""
    def isfinite(self) -> Tensor:
        """Whether x is neither infinite nor NaN."""
    def pow(self, z: TensorLike) -> Tensor:
        """x to the power z; a small number as exponent becomes products or roots.

        Integers to the power of integers stay integers; a float as exponent makes them float32.
        """
    def clip(self, low: TensorLike | None=None, high: TensorLike | None=None) -> Tensor:
        """x held between low and high; the gradient at a bound is 1. Bounds beyond an integer dtype bound nothing."""
    def maximum(self, z: TensorLike) -> Tensor:
        """The larger of x and z; NaN if either is NaN; ties share the gradient evenly."""
    def minimum(self, z: TensorLike) -> Tensor:
        """The smaller of x and z; NaN if either is NaN; ties share the gradient evenly."""
    def matmul(self, w: TensorLike) -> Tensor:
        """The matrix product; vectors count as a row on the left and a column on the right.

        A matrix `w` under leading axes of `x` is one product of x's rows.
        """
    def sum(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False) -> Tensor:
        """Sum over axes (all by default); bool and integers add up as int64."""
    def mean(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False) -> Tensor:
        """The arithmetic mean over axes; integers are averaged as float32, and 16-bit floats add up in float32."""
    def prod(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False) -> Tensor:
        """The product over axes; bool and integers multiply as int64."""
    def max(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False) -> Tensor:
        """The largest element over axes; NaN if any is NaN."""
    def min(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False) -> Tensor:
        """The smallest element over axes; NaN if any is NaN."""
    def var(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, correction:
            builtins.int=0) -> Tensor:
        """The variance over axes, around the mean, divided by n - correction."""
    def std(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False, correction:
            builtins.int=0) -> Tensor:
        """The standard deviation over axes; its gradient where all elements are equal is 0."""
    def argmax(self, axis: builtins.int | None=None) -> Tensor:
        """The position of the first largest element along an axis, or in the flat array."""
    def argmin(self, axis: builtins.int | None=None) -> Tensor:
        """The position of the first smallest element along an axis, or in the flat array."""
    def all(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False) -> Tensor:
        """Whether every element over axes is true."""
    def any(self, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool=False) -> Tensor:
        """Whether any element over axes is true."""
    def reshape(self, *sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The same elements in row-major order under another shape; one entry may be -1."""
    def view(self, *sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """The same elements in row-major order under another shape; one entry may be -1."""
    def permute(self, *axes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """x with its axes in another order; reversed without one."""
    def transpose(self, *axes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """x with two axes exchanged, as in PyTorch; with all in another order, as in NumPy; reversed without one."""
    def swapaxes(self, a: builtins.int, b: builtins.int) -> Tensor:
        """x with two axes exchanged."""
    def flatten(self, start: builtins.int=0, end: builtins.int=-1) -> Tensor:
        """x with the axes from `start` to `end` as one."""
    def squeeze(self, axis: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """x without axes of length 1: the given ones, or all (of a placeholder those that are named stay)."""
    def unsqueeze(self, axis: builtins.int | Sequence[builtins.int]) -> Tensor:
        """x with axes of length 1 put in at the given positions of the result."""
    def expand(self, *sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """x repeated to a shape by NumPy's rule; -1 keeps an axis."""
    def clone(self) -> Tensor:
        """x itself: values never change, so a copy is the same value."""
    @property
    def T(self) -> Tensor:
        """x with its axes reversed."""
    @property
    def mT(self) -> Tensor:
        """x with its last two axes exchanged."""
    def astype(self, dtype: DTypeLike) -> Tensor:
        """x as another dtype: float to integer truncates, to bool tests != 0.

        NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
        int32 and int64; uint8 keeps the low bits of the int32, uint32 those of the int64.

        >>> import stele as st
        >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
        [255, 44, 0]
        """
    def to(self, what: DTypeLike) -> Tensor:
        """This tensor as another dtype, or on a device."""
    def __reduce__(self) -> Any: ...
    def float(self) -> Tensor: ...
    def double(self) -> Tensor: ...
    def int(self) -> Tensor: ...
    def long(self) -> Tensor: ...
    def bool(self) -> Tensor: ...
TensorLike = Tensor | np.ndarray[Any, Any] | np.generic | float
Place = Tensor | np.ndarray[Any, Any] | np.integer[Any] | int | slice | EllipsisType | None
Index = Place | tuple[Place, ...]
DTypeLike = DType | str | type[Any] | np.dtype[Any]
def converted(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """x as another dtype: float to integer truncates, to bool tests != 0.

    NaN and floats that do not fit become what NumPy makes of them on x86-64, whatever the machine: the least number of
    int32 and int64; uint8 keeps the low bits of the int32, uint32 those of the int64.

    >>> import stele as st
    >>> st.tensor([-1.5, 300.0, float("nan")]).astype("uint8").tolist()
    [255, 44, 0]
    """
def replaced(x: TensorLike, v: Any, key: Index) -> Tensor:
    """x with x[key] replaced by v, broadcast: a key of `index`, with an integer array alone, or a bool mask.

    Where an integer array names an element twice the last one stays.
    """
def is_here(what: Any) -> bool:
    """Whether this names the device that there is, the CPU; raises DeviceError where it names another."""
def constant(x: Any, like: DType | None=None) -> Tensor:
    """A tensor as it is; a number, a list or an array as a tensor, of dtype `like` where one is given."""
def tensor(data: Any, dtype: DTypeLike | None=None, requires_grad: bool=False) -> Tensor:
    """A tensor holding a copy of numbers, lists of numbers, an array or another tensor.

    Python floats become float32 and Python integers int64; arrays keep their dtype.

    >>> tensor([[1, 2], [3, 4]]).dtype, tensor(0.5).dtype
    (int64, float32)
    """
def array_value(array: Array) -> Value:
    """The value of an array: its numbers now, or in a traced function an input where calls can find the array again."""
def array_of(data: Any, dtype: Any=None) -> Array:
    """A fresh C-ordered array of a dtype that Stele has."""
def nested(data: Any) -> Any:
    """Lists of numbers, arrays and tensors as one array; ragged lists are refused."""
