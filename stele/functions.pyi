"""The functions of the public interface on tensors."""
# Written by tools/make_stubs.py.
from collections.abc import Sequence
from typing import Any
from stele.tensor import DTypeLike, Tensor, TensorLike

def exp(x: TensorLike) -> Tensor:
    """e to the power x."""
def log(x: TensorLike) -> Tensor:
    """Natural logarithm."""
def log1p(x: TensorLike) -> Tensor:
    """log(1 + x), exact for small x."""
def expm1(x: TensorLike) -> Tensor:
    """exp(x) - 1, exact for small x."""
def sqrt(x: TensorLike) -> Tensor:
    """Square root."""
def rsqrt(x: TensorLike) -> Tensor:
    """1 / sqrt(x)."""
def square(x: TensorLike) -> Tensor:
    """x * x."""
def sin(x: TensorLike) -> Tensor:
    """Sine of x in radians."""
def cos(x: TensorLike) -> Tensor:
    """Cosine of x in radians."""
def tan(x: TensorLike) -> Tensor:
    """Tangent of x in radians."""
def atan(x: TensorLike) -> Tensor:
    """The angle in (-pi/2, pi/2) whose tangent is x."""
def sinh(x: TensorLike) -> Tensor:
    """Hyperbolic sine."""
def cosh(x: TensorLike) -> Tensor:
    """Hyperbolic cosine."""
def tanh(x: TensorLike) -> Tensor:
    """Hyperbolic tangent."""
def sigmoid(x: TensorLike) -> Tensor:
    """1 / (1 + exp(-x))."""
def log_sigmoid(x: TensorLike) -> Tensor:
    """log(sigmoid(x)), for any x."""
def erf(x: TensorLike) -> Tensor:
    """The error function."""
def relu(x: TensorLike) -> Tensor:
    """x where it is not negative, else 0; a NaN stays. The gradient at 0 is 0."""
def leaky_relu(x: TensorLike, slope: float=0.01) -> Tensor:
    """x where it is not negative, else slope * x."""
def elu(x: TensorLike, alpha: float=1.0) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1)."""
def softplus(x: TensorLike) -> Tensor:
    """log(1 + exp(x)), written so that no x overflows."""
def reciprocal(x: TensorLike) -> Tensor:
    """1 / x."""
def abs(x: TensorLike) -> Tensor:
    """x without its sign; the gradient at 0 is 0."""
def sign(x: TensorLike) -> Tensor:
    """-1, 0 or 1; a NaN stays."""
def floor(x: TensorLike) -> Tensor:
    """The largest whole number not above x."""
def ceil(x: TensorLike) -> Tensor:
    """The smallest whole number not below x."""
def round(x: TensorLike) -> Tensor:
    """The nearest whole number, ties to even."""
def trunc(x: TensorLike) -> Tensor:
    """x without its fraction."""
def isnan(x: TensorLike) -> Tensor:
    """Whether x is not a number."""
def isinf(x: TensorLike) -> Tensor:
    """Whether x is plus or minus infinity."""
def isfinite(x: TensorLike) -> Tensor:
    """Whether x is neither infinite nor NaN."""
def logical_not(x: TensorLike) -> Tensor:
    """Whether x is false: zero, if it is a number."""
def stop_gradient(x: TensorLike) -> Tensor:
    """x, seen as a constant by derivatives."""
def add(x: TensorLike, z: TensorLike) -> Tensor:
    """x + z."""
def subtract(x: TensorLike, z: TensorLike) -> Tensor:
    """x - z."""
def multiply(x: TensorLike, z: TensorLike) -> Tensor:
    """x * z."""
def divide(x: TensorLike, z: TensorLike) -> Tensor:
    """x / z, in floats."""
def negative(x: TensorLike) -> Tensor:
    """The negative, -x."""
def floor_divide(x: TensorLike, z: TensorLike) -> Tensor:
    """x / z rounded down to a whole number; of integers 0 where z is 0."""
def remainder(x: TensorLike, z: TensorLike) -> Tensor:
    """x - z * floor(x / z): it has the sign of z; of integers 0 where z is 0."""
def pow(x: TensorLike, z: TensorLike) -> Tensor:
    """x to the power z; a small number as exponent becomes products or roots.

    Integers to the power of integers stay integers; a float as exponent makes them float32.
    """
def clip(x: TensorLike, low: TensorLike | None=None, high: TensorLike | None=None) -> Tensor:
    """x held between low and high; the gradient at a bound is 1. Bounds beyond an integer dtype bound nothing."""
def maximum(x: TensorLike, z: TensorLike) -> Tensor:
    """The larger of x and z; NaN if either is NaN; ties share the gradient evenly."""
def minimum(x: TensorLike, z: TensorLike) -> Tensor:
    """The smaller of x and z; NaN if either is NaN; ties share the gradient evenly."""
def equal(x: TensorLike, z: TensorLike) -> Tensor:
    """x == z."""
def not_equal(x: TensorLike, z: TensorLike) -> Tensor:
    """x != z."""
def less(x: TensorLike, z: TensorLike) -> Tensor:
    """x < z."""
def less_equal(x: TensorLike, z: TensorLike) -> Tensor:
    """x <= z."""
def greater(x: TensorLike, z: TensorLike) -> Tensor:
    """x > z."""
def greater_equal(x: TensorLike, z: TensorLike) -> Tensor:
    """x >= z."""
def logical_and(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether both are true; a number is true unless it is zero."""
def logical_or(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether either is true; a number is true unless it is zero."""
def logical_xor(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether one is true and the other is not; a number is true unless it is zero."""
def where(condition: TensorLike, x: TensorLike | None=None, z: TensorLike | None=None) -> Tensor:
    """x where a condition holds, else z: where(condition, x, z)."""
def sum(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """Sum over axes (all by default); bool and integers add up as int64."""
def mean(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """The arithmetic mean over axes; integers are averaged as float32, and 16-bit floats add up in float32."""
def prod(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """The product over axes; bool and integers multiply as int64."""
def max(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """The largest element over axes; NaN if any is NaN."""
def min(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """The smallest element over axes; NaN if any is NaN."""
def var(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction: int=0) -> Tensor:
    """The variance over axes, around the mean, divided by n - correction."""
def std(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction: int=0) -> Tensor:
    """The standard deviation over axes; its gradient where all elements are equal is 0."""
def all(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """Whether every element over axes is true."""
def any(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """Whether any element over axes is true."""
def argmax(x: TensorLike, axis: int | None=None) -> Tensor:
    """The position of the first largest element along an axis, or in the flat array."""
def argmin(x: TensorLike, axis: int | None=None) -> Tensor:
    """The position of the first smallest element along an axis, or in the flat array."""
def matmul(x: TensorLike, w: TensorLike) -> Tensor:
    """The matrix product; vectors count as a row on the left and a column on the right.

    A matrix `w` under leading axes of `x` is one product of x's rows.
    """
def conv2d(x: TensorLike, w: TensorLike, stride: int | Sequence[int]=1, padding: int | Sequence[int | Sequence[int]] |
        str=0, dilation: int | Sequence[int]=1, groups: int=1) -> Tensor:
    """Cross-correlation of x (N, C, H, W) with w (O, C/groups, KH, KW) -> (N, O, OH, OW).

    `padding` is a number, one per axis, ((top, bottom), (left, right)), 'valid' or 'same'.
    """
def max_pool2d(x: TensorLike, size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding: int |
        Sequence[int | Sequence[int]] | str=0) -> Tensor:
    """The largest element of each window of (N, C, H, W); the stride is the window size by default."""
def avg_pool2d(x: TensorLike, size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding: int |
        Sequence[int | Sequence[int]] | str=0) -> Tensor:
    """The mean of each window of (N, C, H, W); the stride is the window size by default."""
def softmax(x: TensorLike, axis: int=-1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
def log_softmax(x: TensorLike, axis: int=-1) -> Tensor:
    """log(softmax(x)) along an axis."""
def logsumexp(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """log(sum(exp(x))) over axes (all by default)."""
def silu(x: TensorLike) -> Tensor:
    """x * sigmoid(x)."""
def normalize(x: TensorLike, axis: int | Sequence[int] | None=-1, eps: float=1e-05) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over axes."""
def layer_norm(x: TensorLike, weight: TensorLike | None=None, bias: TensorLike | None=None, axes: int=1, eps:
        float=1e-05) -> Tensor:
    """x normalised over its last `axes` axes, times weight, plus bias."""
def affine(x: TensorLike, weight: TensorLike, bias: TensorLike | None=None) -> Tensor:
    """x @ weight.T + bias: (..., inputs) -> (..., outputs) for a weight (outputs, inputs)."""
def pick(x: TensorLike, labels: TensorLike, axis: int=-1) -> Tensor:
    """x[..., labels[...]] along an axis: one element for each integer label.

    An element is compared with its position, not fetched, so the pick fuses with what made x, and so does its gradient.
    """
def one_hot(labels: TensorLike, classes: int, dtype: DTypeLike=...) -> Tensor:
    """1 where the new last axis of length `classes` stands at the label, else 0."""
def cross_entropy(logits: TensorLike, labels: TensorLike, axis: int=-1, reduction: str='mean') -> Tensor:
    """-log(softmax(logits)[label]) for integer labels, averaged, summed ('sum') or one by one ('none').

    >>> import stele as st
    >>> st.cross_entropy(st.zeros((8, 10)), st.arange(8), reduction="none").shape
    (8,)
    """
def mse(x: TensorLike, target: TensorLike, reduction: str='mean') -> Tensor:
    """The squared difference, averaged, summed ('sum') or element by element ('none')."""
def binary_cross_entropy(logits: TensorLike, targets: TensorLike, reduction: str='mean') -> Tensor:
    """-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) from logits, for targets from 0 to 1."""
def take(x: TensorLike, i: TensorLike, axis: int=0) -> Tensor:
    """Elements `i` of an axis: x.shape[:axis] + i.shape + x.shape[axis+1:]; negative ones count from the end.

    An index outside of the axis raises IndexOutOfRange when the numbers are computed.
    """
def embedding(table: TensorLike, i: TensorLike) -> Tensor:
    """Rows `i` of a table (rows, width): i.shape + (width,)."""
def reshape(x: TensorLike, *sizes: int | Sequence[int]) -> Tensor:
    """The same elements in row-major order under another shape; one entry may be -1."""
def permute(x: TensorLike, *axes: int | Sequence[int]) -> Tensor:
    """x with its axes in another order; reversed without one."""
def swapaxes(x: TensorLike, a: int, b: int) -> Tensor:
    """x with two axes exchanged."""
def flatten(x: TensorLike, start: int=0, end: int=-1) -> Tensor:
    """x with the axes from `start` to `end` as one."""
def squeeze(x: TensorLike, axis: int | Sequence[int] | None=None) -> Tensor:
    """x without axes of length 1: the given ones, or all (of a placeholder those that are named stay)."""
def unsqueeze(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """x with axes of length 1 put in at the given positions of the result."""
def concatenate(xs: Sequence[TensorLike], axis: int=0) -> Tensor:
    """The arrays one behind the other along an axis."""
def stack(xs: Sequence[TensorLike], axis: int=0) -> Tensor:
    """The arrays along a new axis."""
def split(x: TensorLike, size: int | Sequence[int], axis: int=0) -> tuple[Tensor, ...]:
    """Parts of `size` elements along an axis (the last may be shorter), or of the sizes given."""
def pad(x: TensorLike, widths: Sequence[int | Sequence[int]], value: float=0.0) -> Tensor:
    """x with `value` around it: (before, behind) for each axis."""
def roll(x: TensorLike, shift: int, axis: int) -> Tensor:
    """x moved along an axis by `shift` places; what leaves at the end enters at the start."""
def repeat(x: TensorLike, times: int, axis: int) -> Tensor:
    """Each element of an axis `times` times."""
def moveaxis(x: TensorLike, source: int, target: int) -> Tensor:
    """x with one axis moved to another place."""
def flip(x: TensorLike, axis: int | Sequence[int] | None=None) -> Tensor:
    """x with the order of some axes, or of all, reversed."""
def tril(x: TensorLike, k: int=0) -> Tensor:
    """x with zeros above diagonal k of its last two axes."""
def triu(x: TensorLike, k: int=0) -> Tensor:
    """x with zeros below diagonal k of its last two axes."""
def broadcast_to(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """x repeated to a shape by NumPy's rule."""
def matrix_transpose(x: TensorLike) -> Tensor:
    """x with its last two axes exchanged."""
def lifted_gelu(x: TensorLike, approximate: bool=False) -> Tensor:
    """x times the normal distribution function of x; `approximate` uses tanh instead of erf."""
def full(shape: int | Sequence[int], value: float, dtype: DTypeLike | None=None) -> Tensor:
    """A tensor that holds one number everywhere.

    >>> full((2,), 3.0).tolist()
    [3.0, 3.0]
    """
def zeros(*shape: int | Sequence[int], dtype: DTypeLike='float32') -> Tensor:
    """Zeros of a shape given as one sequence or as several numbers."""
def ones(*shape: int | Sequence[int], dtype: DTypeLike='float32') -> Tensor:
    """Ones of a shape given as one sequence or as several numbers."""
def full_like(x: TensorLike, value: float) -> Tensor:
    """One number everywhere, in the shape and dtype of x."""
def zeros_like(x: TensorLike) -> Tensor:
    """Zeros in the shape and dtype of x."""
def ones_like(x: TensorLike) -> Tensor:
    """Ones in the shape and dtype of x."""
def arange(start: float, stop: float | None=None, step: float=1, dtype: DTypeLike | None=None) -> Tensor:
    """start, start+step, ... before stop; from 0 where only one number is given.

    >>> arange(2, 8, 2).tolist()
    [2, 4, 6]
    """
def linspace(start: float, stop: float, count: int, dtype: DTypeLike='float32') -> Tensor:
    """`count` numbers evenly from start to stop, both included."""
def eye(n: int, m: int | None=None, dtype: DTypeLike='float32') -> Tensor:
    """Ones on the diagonal of an n x m matrix of zeros."""
def gelu(x: TensorLike, approximate: str='none') -> Tensor:
    """x times the normal distribution function of x; `approximate="tanh"` takes the tanh form."""
def from_numpy(array: Any) -> Tensor:
    """A tensor holding a copy of an array, in its dtype."""
def from_dlpack(x: Any) -> Tensor:
    """A tensor holding a copy of any array that speaks DLPack."""
def eval(*tensors: Tensor) -> Any:
    """Computes the numbers of tensors now, all in one program; returns them."""
