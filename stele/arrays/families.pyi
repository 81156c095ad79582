"""Functions of the public interface on tensors, continued: families that are loaded when one of them is first named."""
# Written by tools/make_stubs.py.
from collections.abc import Sequence
from typing import Literal
from typing import overload
from stele.ops.sorting import TopK
from stele.arrays.tensor import DTypeLike
from stele.arrays.tensor import Tensor
from stele.arrays.tensor import TensorLike

def lgamma(x: TensorLike) -> Tensor:
    """The logarithm of the absolute value of the gamma function: inf at 0, -1, -2, ... Integers become float32.

    Its derivative is `digamma`. x has any shape. Raises DTypeError for complex numbers.

    >>> st.lgamma(st.tensor([1.0, 5.0, -0.5, 0.0]))
    tensor([0.       , 3.1780539, 1.2655121,       inf])
    """
def digamma(x: TensorLike) -> Tensor:
    """The derivative of `lgamma`: -inf at 0, NaN at -1, -2, ... Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.digamma(st.tensor([1.0, 2.0, 0.0, -1.0]))
    tensor([-0.5772157 ,  0.42278433,        -inf,         nan])
    """
def polygamma(n: int, x: TensorLike) -> Tensor:
    """Derivative number `n` of `digamma`: itself for 0, trigamma for 1. Integers become float32.

    x has any shape. Raises ShapeError for an n below 0 and above 160: soon after that n! is beyond float64.

    >>> st.polygamma(1, st.tensor([1.0, 2.0]))
    tensor([1.644934 , 0.644934])
    """
def zeta(x: TensorLike, z: TensorLike) -> Tensor:
    """The sum of 1 / (k + z) ** x over k = 0, 1, 2, ..., the zeta function of Hurwitz; Riemann's for z = 1.

    inf at x = 1 and, for x above 1, at its poles z = 0, -1, -2, ... NaN for x below 1 and, at other z below 0, for x
    that is not whole. Shapes and dtypes meet as in `add`; integers become float32. Raises ShapeError where shapes do
    not broadcast, DTypeError for complex numbers.

    >>> st.zeta(st.tensor([2.0, 4.0, 1.0]), 1.0)
    tensor([1.6449341, 1.0823232,       inf])
    """
def sinc(x: TensorLike) -> Tensor:
    """The quotient sin(pi x) / (pi x), and 1 at 0: 0 at every other whole number. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.sinc(st.tensor([0.0, 0.5, 1.0]))
    tensor([1.        , 0.63661975, 0.        ])
    """
def logit(x: TensorLike, eps: float | None=None) -> Tensor:
    """The number whose `sigmoid` is x, log(x / (1 - x)): infinities at 0 and 1, NaN outside of them.

    With `eps`, x is first held between eps and 1 - eps. Integers become float32. x has any shape. Raises DTypeError for
    complex numbers.

    >>> st.logit(st.tensor([0.5, 0.0, 0.9]))
    tensor([0.       ,      -inf, 2.1972244])
    """
def entr(x: TensorLike) -> Tensor:
    """The entropy -x * log(x) of each element: 0 at 0, -inf below. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.entr(st.tensor([0.0, 0.5, 1.0]))
    tensor([ 0.        ,  0.34657359, -0.        ])
    """
def i0(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind and order 0. Integers become float32.

    Overflows to inf beyond 91.9 in float32: for large x see `i0e`. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.i0(st.tensor([0.0, 1.0, -10.0]))
    tensor([1.0000000e+00, 1.2660659e+00, 2.8157168e+03])
    """
def i0e(x: TensorLike) -> Tensor:
    """The product exp(-|x|) * i0(x), which overflows nowhere. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.i0e(st.tensor([0.0, 1.0, 1000.0]))
    tensor([1.        , 0.46575963, 0.01261724])
    """
def i1(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind and order 1, the derivative of `i0`. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.i1(st.tensor([0.0, 1.0, -10.0]))
    tensor([ 0.0000000e+00,  5.6515908e-01, -2.6709883e+03])
    """
def i1e(x: TensorLike) -> Tensor:
    """The product exp(-|x|) * i1(x), which overflows nowhere. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.i1e(st.tensor([0.0, 1.0, 1000.0]))
    tensor([0.        , 0.20791042, 0.01261093])
    """
def erfinv(x: TensorLike) -> Tensor:
    """The number whose `erf` is x: infinities at 1 and -1, NaN beyond. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.erfinv(st.tensor([0.0, 0.5, -1.0, 2.0]))
    tensor([0.        , 0.47693628,       -inf,        nan])
    """
def erfcx(x: TensorLike) -> Tensor:
    """The product exp(x * x) * erfc(x), which falls as 1 / x where erfc vanishes. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.erfcx(st.tensor([0.0, 1.0, 1000.0]))
    tensor([1.0000000e+00, 4.2758358e-01, 5.6418933e-04])
    """
def ndtr(x: TensorLike) -> Tensor:
    """The probability that a standard normal number is below x. Integers become float32.

    x has any shape. Raises DTypeError for complex numbers.

    >>> st.ndtr(st.tensor([0.0, 1.0, -10.0]))
    tensor([5.0000000e-01, 8.4134477e-01, 7.6198530e-24])
    """
def ndtri(x: TensorLike) -> Tensor:
    """The number below which a standard normal one is with probability x: the inverse of `ndtr`.

    -inf at 0, inf at 1, NaN outside of them. Integers become float32. x has any shape. Raises DTypeError for complex
    numbers.

    >>> st.ndtri(st.tensor([0.5, 0.975, 0.0]))
    tensor([0.      , 1.959964,     -inf])
    """
def log_ndtr(x: TensorLike) -> Tensor:
    """The logarithm of the probability that a standard normal number is below x. Integers become float32.

    Finite also where `ndtr(x)` is 0. x has any shape. Raises DTypeError for complex numbers.

    >>> st.log_ndtr(st.tensor([0.0, -100.0]))
    tensor([-6.9314718e-01, -5.0055244e+03])
    """
def xlogy(x: TensorLike, z: TensorLike) -> Tensor:
    """The product x * log(z), and 0 where x is 0, unless z is NaN. Shapes and dtypes meet as in `add`.

    Integers become float32. The gradient is 0 where x is 0 and z is not positive. Raises ShapeError
    where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.xlogy(st.tensor([0.0, 2.0]), st.tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
def xlog1py(x: TensorLike, z: TensorLike) -> Tensor:
    """The product x * log(1 + z), and 0 where x is 0, unless z is NaN. Shapes and dtypes meet as in `add`.

    Integers become float32. The gradient is 0 where x is 0 and z is -1 or less. Raises ShapeError
    where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.xlog1py(st.tensor([0.0, 2.0]), st.tensor([-1.0, 1e-8]))
    tensor([0.e+00, 2.e-08])
    """
def logaddexp2(x: TensorLike, z: TensorLike) -> Tensor:
    """The number log2(2 ** x + 2 ** z), where no x or z overflows. Integers become float32.

    Shapes and dtypes meet as in `add`. Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> st.logaddexp2(st.tensor([0.0, 2000.0]), st.tensor([0.0, 2000.0])).tolist()
    [1.0, 2001.0]
    """
def addmm(x: TensorLike, y: TensorLike, z: TensorLike, beta: float=1, alpha: float=1) -> Tensor:
    """The sum `beta` * x + `alpha` * (y @ z), of matrices or stacks of them, or of vectors as of `matmul`.

    x broadcasts to the shape of the product; where beta is 0 its elements do not matter, NaN neither. A z of one axis
    is a vector, as of PyTorch's addmv. Dtypes meet as in `add`. Raises ShapeError where shapes do not fit.

    >>> st.addmm(st.tensor([1.0, 2.0]), st.eye(2), st.ones(2, 2), alpha=10).tolist()
    [[11.0, 12.0], [11.0, 12.0]]
    """
def vecdot(x: TensorLike, z: TensorLike, axis: int=-1) -> Tensor:
    """The sum of conj(x) * z along an axis, which both have in one size; the other axes broadcast.

    Dtypes meet as in `multiply`, and stay: integers wrap. Raises ShapeError where the sizes differ.

    >>> st.vecdot(st.tensor([[1, 2], [3, 4]]), st.tensor([1, 10])).tolist()
    [21, 43]
    """
def tensordot(x: TensorLike, z: TensorLike, axes: int | Sequence[int | Sequence[int]]=2) -> Tensor:
    """The sum of products over `axes`: the last so many of x with the first of z, or a pair of lists of axes.

    The other axes of x stand first, then those of z. Dtypes meet as in `matmul`. Of a pair of axes one may have length
    1, which repeats (PyTorch's rule). Raises ShapeError where the axes do not pair up, or differ in size.

    >>> x, z = st.ones(2, 3, 4), st.ones(4, 3, 5)
    >>> st.tensordot(x, z, axes=1).shape, st.tensordot(x, z, axes=([1, 2], [1, 0])).shape
    ((2, 3, 3, 5), (2, 5))
    """
def conv1d(x: TensorLike, w: TensorLike, stride: int | Sequence[int]=1, padding: int | Sequence[int | Sequence[int]] |
        str=0, dilation: int | Sequence[int]=1, groups: int=1) -> Tensor:
    """The cross-correlation of signals x (N, C, L) with kernels `w` (O, C/groups, K): (N, O, OL).

    OL = (L + before + behind - `dilation` * (K - 1) - 1) // `stride` + 1; the rest is as in `conv2d`: `padding`, in
    ((before, behind),) too, `groups`, dtypes and errors. Raises ShapeError where channels do not fit or nothing is
    left, DTypeError for other dtypes than floats, OptionError for another word as padding.

    >>> x = st.tensor([[[1.0, 2.0, 4.0, 8.0]]])
    >>> st.conv1d(x, st.tensor([[[-1.0, 1.0]]])).tolist()
    [[[1.0, 2.0, 4.0]]]
    >>> st.conv1d(x, st.ones((2, 1, 3)), stride=2, padding=1).shape
    (1, 2, 2)
    """
def conv_transpose1d(x: TensorLike, w: TensorLike, stride: int | Sequence[int]=1, padding: int | Sequence[int |
        Sequence[int]]=0, output_padding: int | Sequence[int]=0, groups: int=1, dilation: int |
        Sequence[int]=1) -> Tensor:
    """The transpose of `conv1d`, signals x (N, C, L) with kernels `w` (C, O/groups, K): (N, O, OL).

    OL = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1; `stride`, `padding`,
    `output_padding`, `groups`, `dilation` and errors are as in `conv_transpose2d`. Raises ShapeError where channels do
    not fit or nothing is left, DTypeError for other dtypes than floats, OptionError for another word as padding.

    >>> st.conv_transpose1d(st.tensor([[[1.0, 2.0]]]), st.tensor([[[1.0, 10.0, 100.0]]]), stride=2).tolist()
    [[[1.0, 10.0, 102.0, 20.0, 200.0]]]
    """
def conv2d(x: TensorLike, w: TensorLike, stride: int | Sequence[int]=1, padding: int | Sequence[int | Sequence[int]] |
        str=0, dilation: int | Sequence[int]=1, groups: int=1) -> Tensor:
    """The cross-correlation of images x (N, C, H, W) with kernels `w` (O, C/groups, KH, KW): (N, O, OH, OW).

    OH = (H + top + bottom - `dilation` * (KH - 1) - 1) // `stride` + 1, and so OW. stride and dilation are a number, or
    one per axis; `padding` with zeros too, or ((top, bottom), (left, right)), "valid", or "same" (of stride 1). With
    `groups`, each group of C/groups channels makes O/groups. Sums are in float32 at least. Raises ShapeError where
    channels do not fit or the kernel is larger than the padded image, and DTypeError for other dtypes than floats.

    >>> x, w = st.ones((1, 1, 4, 4)), st.ones((1, 1, 3, 3))
    >>> st.conv2d(x, w, padding="same")[0, 0].tolist()
    [[4.0, 6.0, 6.0, 4.0], [6.0, 9.0, 9.0, 6.0], [6.0, 9.0, 9.0, 6.0], [4.0, 6.0, 6.0, 4.0]]
    >>> st.conv2d(x, w, stride=2, padding=(1, 0)).shape
    (1, 1, 2, 1)
    """
def conv_transpose2d(x: TensorLike, w: TensorLike, stride: int | Sequence[int]=1, padding: int | Sequence[int |
        Sequence[int]]=0, output_padding: int | Sequence[int]=0, groups: int=1, dilation: int |
        Sequence[int]=1) -> Tensor:
    """The transpose of `conv2d`, images x (N, C, H, W) with kernels `w` (C, O/groups, KH, KW): (N, O, OH, OW).

    Each element of x adds a kernel, times itself, to the result, `stride` apart. `padding` cuts the result at both ends
    of an axis, `output_padding`, which is below the stride or the dilation, makes it longer at the end:
    OH = (H - 1) * stride - 2 * padding + dilation * (KH - 1) + output_padding + 1. All are a number, or one per axis.
    With `groups`, each group of C/groups channels makes O/groups; `dilation` is as in `conv2d`. It is the gradient of
    conv2d in x. Raises ShapeError where channels do not fit or nothing is left, DTypeError for others than floats.

    >>> x, w = st.ones((1, 1, 2, 2)), st.ones((1, 1, 2, 2))
    >>> st.conv_transpose2d(x, w)[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    >>> st.conv_transpose2d(st.ones((1, 3, 8, 8)), st.ones((3, 4, 4, 4)), stride=2, padding=1).shape
    (1, 4, 16, 16)
    """
def conv3d(x: TensorLike, w: TensorLike, stride: int | Sequence[int]=1, padding: int | Sequence[int | Sequence[int]] |
        str=0, dilation: int | Sequence[int]=1, groups: int=1) -> Tensor:
    """The cross-correlation of volumes x (N, C, D, H, W) with kernels `w` (O, C/groups, KD, KH, KW).

    It is (N, O, OD, OH, OW). `stride`, `padding`, `dilation` and `groups` are as in `conv2d`, for three axes, and so
    are dtypes. Raises ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats,
    OptionError for another word as padding.

    >>> x, w = st.ones((1, 2, 3, 4, 5)), st.ones((6, 2, 3, 3, 3))
    >>> st.conv3d(x, w, padding=(0, 1, 1)).shape, float(st.conv3d(x, w).max())
    ((1, 6, 1, 4, 5), 54.0)
    """
def conv_transpose3d(x: TensorLike, w: TensorLike, stride: int | Sequence[int]=1, padding: int | Sequence[int |
        Sequence[int]]=0, output_padding: int | Sequence[int]=0, groups: int=1, dilation: int |
        Sequence[int]=1) -> Tensor:
    """The transpose of `conv3d`, volumes x (N, C, D, H, W) with kernels `w` (C, O/groups, KD, KH, KW).

    It is (N, O, OD, OH, OW). `stride`, `padding`, `output_padding`, `groups`, `dilation` and errors are as in
    `conv_transpose2d`, for three axes. Raises ShapeError where channels do not fit or nothing is left, DTypeError for
    other dtypes than floats, OptionError for another word as padding.

    >>> x, w = st.ones((1, 2, 3, 4, 4)), st.ones((2, 5, 3, 3, 3))
    >>> st.conv_transpose3d(x, w, stride=2, padding=1, output_padding=1).shape
    (1, 5, 6, 8, 8)
    """
def max_pool2d(x: TensorLike, size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding: int |
        Sequence[int | Sequence[int]] | str=0, dilation: int | Sequence[int]=1, ceil_mode: bool=False) -> Tensor:
    """The largest element of each window of images (N, C, H, W): (N, C, OH, OW), in their dtype.

    `size`, `stride` (the size without one), `padding` and `dilation` are a number, or one per axis;
    OH = (H + 2 * padding - dilation * (size - 1) - 1) // stride + 1, so a rest is left out, unless `ceil_mode` asks for
    a last window that reaches beyond. Padding never wins; the gradient goes to the first largest. Raises ShapeError for
    padding of a window's size or more and for windows that do not fit, DTypeError for other dtypes than floats.

    >>> x = st.arange(16.0).reshape(1, 1, 4, 4)
    >>> st.max_pool2d(x, 2)[0, 0].tolist(), st.max_pool2d(x, 3, stride=1, padding=1).shape
    ([[5.0, 7.0], [13.0, 15.0]], (1, 1, 4, 4))
    """
def avg_pool2d(x: TensorLike, size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding: int |
        Sequence[int | Sequence[int]] | str=0, ceil_mode: bool=False, count_include_pad: bool=True, divisor_override:
        float | None=None) -> Tensor:
    """The mean of each window of images (N, C, H, W): (N, C, OH, OW), in their dtype; padding counts as zeros.

    `size`, `stride` (the size without one), `padding` and `ceil_mode` are as in `max_pool2d`. With
    count_include_pad=False the mean is that of the image's own elements; a `divisor_override` divides the sums in place
    of their number. What lies beyond the padding is in no `count_include_pad`. Raises ShapeError where no window fits,
    DTypeError for other dtypes than floats, OptionError for another word as `padding`.

    >>> st.avg_pool2d(st.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0].tolist()
    [[2.5, 4.5], [10.5, 12.5]]
    >>> st.avg_pool2d(st.ones((1, 1, 2, 2)), 2, padding=1)[0, 0].tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
@overload
def cummax(x: TensorLike, axis: int | None=None, return_indices: Literal[False]=False) -> Tensor:
    """The largest of all elements up to each one along an axis: y[k] = max(x[0], ..., x[k]), in the type of x.

    The axis may be left out where there is no more than one. From the first NaN on it is NaN. Values alone, as of
    `st.max`, NumPy's `maximum.accumulate` and JAX's `cummax`; with `return_indices` their positions too, as int64, as
    of PyTorch's. Of elements that tie the latest counts, which has the gradient. Raises ShapeError for an axis that x
    does not have.

    >>> x = st.tensor([[3.0, 1.0, 4.0], [1.0, 5.0, 2.0]])
    >>> st.cummax(x, axis=1).tolist()
    [[3.0, 3.0, 4.0], [1.0, 5.0, 5.0]]
    >>> st.grad(lambda x: st.cummax(x, axis=1).sum())(x).tolist()
    [[2.0, 0.0, 1.0], [1.0, 2.0, 0.0]]
    """
@overload
def cummax(x: TensorLike, axis: int | None=None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def cummin(x: TensorLike, axis: int | None=None, return_indices: Literal[False]=False) -> Tensor:
    """The smallest of all elements up to each one along an axis: y[k] = min(x[0], ..., x[k]), in the type of x.

    Axis, NaN, ties, `return_indices` and errors as of `cummax`. Raises ShapeError for an axis that x does not have and
    for more axes without one, DTypeError for complex numbers.

    >>> st.cummin(st.tensor([[3, 1, 4], [1, 5, 2]]), axis=1).tolist()
    [[3, 1, 1], [1, 1, 1]]
    """
@overload
def cummin(x: TensorLike, axis: int | None=None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def cumulative_sum(x: TensorLike, axis: int | None=None, dtype: DTypeLike | None=None, include_initial:
        bool=False) -> Tensor:
    """The sum of all elements up to each one along an axis: y[k] = x[0] + ... + x[k].

    The shape of x, with one element more along the axis where `include_initial` puts a 0 in front. Integers and bools
    add up in the dtype of their `sum` and floats in their own, unless a `dtype` is given. The axis may be left out
    where there is no more than one (the array API standard's rule). Elements are added in an order that depends on the
    shape alone. Raises ShapeError for an axis that x does not have.

    >>> st.cumulative_sum(st.tensor([1, 2, 3])).tolist()
    [1, 3, 6]
    >>> st.cumulative_sum(st.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0, include_initial=True).tolist()
    [[0.0, 0.0], [1.0, 2.0], [4.0, 6.0]]
    """
def cumulative_prod(x: TensorLike, axis: int | None=None, dtype: DTypeLike | None=None, include_initial:
        bool=False) -> Tensor:
    """The product of all elements up to each one along an axis: y[k] = x[0] * ... * x[k].

    Shape, dtype, axis, `dtype` and `include_initial`, which puts a 1 in front, as of `cumulative_sum`. The gradient is
    right where elements are 0 too. Raises ShapeError for an axis that x does not have and for more axes without one,
    DTypeError for another dtype than there is.

    >>> st.cumulative_prod(st.tensor([2.0, 3.0, 4.0])).tolist()
    [2.0, 6.0, 24.0]
    >>> st.grad(lambda x: st.cumulative_prod(x).sum())(st.tensor([0.0, 3.0, 4.0])).tolist()
    [16.0, 0.0, 0.0]
    """
def cumsum(x: TensorLike, axis: int | None=None, dtype: DTypeLike | None=None) -> Tensor:
    """The running sums of `cumulative_sum`, as NumPy has them: of all elements in a row where no axis is given.

    `dtype` and errors as there. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.cumsum(x).tolist(), st.cumsum(x, axis=0).tolist()
    ([1, 3, 6, 10], [[1, 2], [4, 6]])
    """
def cumprod(x: TensorLike, axis: int | None=None, dtype: DTypeLike | None=None) -> Tensor:
    """The running products of `cumulative_prod`, as NumPy has them: of all elements in a row where no axis is given.

    `dtype` and errors as there. Raises ShapeError for an axis that x does not have.

    >>> st.cumprod(st.tensor([[1, 2], [3, 4]])).tolist()
    [1, 2, 6, 24]
    """
def logcumsumexp(x: TensorLike, axis: int | None=None) -> Tensor:
    """The numbers log(exp(x[0]) + ... + exp(x[k])) along an axis, in the type of x; no x overflows.

    The axis may be left out where there is no more than one. Raises DTypeError for other dtypes than floats, and
    ShapeError for an axis that x does not have.

    >>> st.logcumsumexp(st.tensor([1000.0, 1000.0]))
    tensor([1000.    , 1000.6932])
    """
def diff(x: TensorLike, n: int=1, axis: int=-1, prepend: TensorLike | None=None, append: TensorLike |
        None=None) -> Tensor:
    """The differences of neighbours along an axis, x[k + 1] - x[k], taken `n` times over.

    `prepend` and `append` are joined to x first, unless n is 0: arrays that fit it but along the axis, or numbers. The
    axis is shorter by n, at least empty; integers keep their dtype and wrap, bools tell whether neighbours differ.
    Raises ShapeError for an axis that x does not have and for n < 0.

    >>> st.diff(st.tensor([1, 4, 9, 16])).tolist(), st.diff(st.tensor([1, 4, 9, 16]), n=2).tolist()
    ([3, 5, 7], [2, 2])
    >>> st.diff(st.tensor([1, 4, 9]), prepend=st.tensor([0])).tolist()
    [1, 3, 5]
    """
def trapezoid(y: TensorLike, x: TensorLike | None=None, dx: float=1.0, axis: int=-1) -> Tensor:
    """The integral of `y` along an axis by the trapezoidal rule: the sum of (y[k] + y[k + 1]) / 2 times their distance.

    The distance is `dx`, or that of neighbours of `x`, which holds positions in the shape of y or of its axis alone.
    Integers become float32. Raises ShapeError for an axis that y does not have.

    >>> st.trapezoid(st.tensor([1.0, 2.0, 3.0])).tolist()
    4.0
    >>> st.trapezoid(st.tensor([1.0, 2.0, 3.0]), st.tensor([4.0, 6.0, 8.0])).tolist()
    8.0
    """
@overload
def sort(x: TensorLike, axis: int | None=-1, descending: bool=False, stable: bool=True, return_indices:
        Literal[False]=False, kind: str='stable') -> Tensor:
    """The elements along an axis, of the flat array for None, in ascending order, or `descending`; in the dtype of x.

    NaN is larger than any number: last of ascending, first of descending elements. 0.0 and -0.0 are equal, and equal
    elements stay in the order they have, `stable` or not and whatever `kind` NumPy is told. With `return_indices` also
    their positions, as `argsort` gives them: a pair, PyTorch's result. The gradient goes where the elements came from.
    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers, OptionError for another kind
    than NumPy has.

    >>> st.sort(st.tensor([3.0, float("nan"), 1.0])).tolist()
    [1.0, 3.0, nan]
    >>> st.sort(st.tensor([[3, 1], [2, 4]]), axis=0, descending=True).tolist()
    [[3, 4], [2, 1]]
    """
@overload
def sort(x: TensorLike, axis: int | None=-1, descending: bool=False, stable: bool=True, kind: str='stable', *,
        return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def argsort(x: TensorLike, axis: int | None=-1, descending: bool=False, stable: bool=True, kind:
        str='stable') -> Tensor:
    """The positions along an axis of the elements in order, as int64: x at these positions is `sort(x)`.

    Without an axis those in the flat array. Order, ties, `descending`, `stable`, `kind` and errors as of `sort`. Raises
    ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> st.argsort(st.tensor([30, 10, 20, 10])).tolist()
    [1, 3, 2, 0]
    """
def topk(x: TensorLike, k: int, axis: int=-1, largest: bool=True, sorted: bool=True) -> TopK:
    """The `k` largest elements along an axis, largest first, and their positions; or the smallest, not `largest`.

    Both have the shape of x but for k along the axis; positions are int64. NaN counts as largest, and of equal elements
    the first come first; in order, `sorted` or not. Of a number, along axis 0 or -1, it is itself where k is 1. Raises
    ShapeError for an axis that x does not have, and unless k is from 0 to its length.

    >>> values, positions = st.topk(st.tensor([1.0, 9.0, 3.0, 9.0]), 3)
    >>> values.tolist(), positions.tolist()
    ([9.0, 9.0, 3.0], [1, 3, 2])
    """
def kthvalue(x: TensorLike, k: int, axis: int=-1, keepdims: bool=False) -> tuple[Tensor, Tensor]:
    """The element along an axis that is the `k`-th in ascending order, from 1 on, and its position, as int64.

    The axis is dropped, or left with length 1 by `keepdims`. Order as of `sort`. Raises ShapeError unless k is from 1
    to the length of the axis.

    >>> value, position = st.kthvalue(st.tensor([30.0, 10.0, 20.0]), 2)
    >>> float(value), int(position)
    (20.0, 2)
    """
def isin(x: TensorLike, z: TensorLike, assume_unique: bool=False, invert: bool=False) -> Tensor:
    """Whether each element of x is one of the elements of `z`, or with `invert` none of them, as bools in x's shape.

    NaN is no element of anything. Dtypes meet as in `equal`; `assume_unique` changes nothing. One of both is an array.
    Raises DTypeError for what is no number.

    >>> st.isin(st.tensor([[1, 2], [3, 4]]), st.tensor([4, 1])).tolist()
    [[True, False], [False, True]]
    """
def top_k(x: TensorLike, k: int, axis: int=-1, mode: str='largest') -> TopK:
    """The `k` elements along an axis that are the "largest", or the "smallest" in another `mode`, and their indices.

    Shapes, dtypes, order and errors are those of `topk`; this is what the array API standard's draft calls it. Raises
    OptionError for another mode.

    >>> st.top_k(st.tensor([1.0, 9.0, 3.0]), 2).indices.tolist()
    [1, 2]
    >>> st.top_k(st.tensor([1.0, 9.0, 3.0]), 2, mode="smallest").values.tolist()
    [1.0, 3.0]
    """
def searchsorted(x: TensorLike, z: TensorLike, side: str='left', sorter: TensorLike | None=None, right: bool=False,
        out_int32: bool=False) -> Tensor:
    """Where the elements of `z` would go into sorted x so that it stays sorted: positions from 0 to n, as int64.

    Of equal elements in front of the first ("left") or behind the last (`side` "right", PyTorch's `right`). x is one
    row (n,), in ascending order, or in that of the positions `sorter`; z has any shape, which is that of the result.
    Rows x (..., n) are searched for rows z (..., m) each (PyTorch's form). Order as of `sort`; dtypes meet as in `add`.
    int32 with `out_int32`. Raises OptionError for another side, and ShapeError for a number x and for other numbers of
    rows.

    >>> x = st.tensor([10, 20, 20, 30])
    >>> st.searchsorted(x, st.tensor([20, 35])).tolist(), st.searchsorted(x, 20, side="right").tolist()
    ([1, 4], 3)
    """
def bucketize(x: TensorLike, boundaries: TensorLike, out_int32: bool=False, right: bool=False) -> Tensor:
    """The number of the bucket that each element of x falls into, between ascending `boundaries` (n,), from 0 to n.

    `searchsorted(boundaries, x)` with PyTorch's order of arguments: bucket k holds what is above boundary k - 1 and not
    above boundary k, with `right` what is below it and not below k - 1. int64, or int32 with `out_int32`. Raises
    ShapeError unless boundaries are one row, DTypeError for complex numbers.

    >>> st.bucketize(st.tensor([1, 5, 9]), st.tensor([1, 5])).tolist()
    [0, 1, 2]
    """
def norm(x: TensorLike, p: float | str='fro', axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype:
        DTypeLike | None=None) -> Tensor:
    """The `linalg.vector_norm` of order `p` over one axis, several, or all of them (PyTorch's norm).

    "fro" is order 2, and "nuc" the `linalg.matrix_norm` of that name, over a pair of axes or the last two. `dtype` as
    of both. Of a matrix, p = 2 is so the root of the sum of squares, where `linalg.norm` has its largest singular
    value. Raises ShapeError for an axis that x does not have, OptionError for another word as p, DTypeError for another
    dtype than there is.

    >>> st.norm(st.tensor([[3.0, 0.0], [4.0, 0.0]])).tolist()
    5.0
    """
def take_along_axis(x: TensorLike, i: TensorLike, axis: int | None=-1) -> Tensor:
    """The elements of x at the positions `i` along an axis, an own position for each place beside it.

    y[a, k, b] = x[a, i[a, k, b], b] for an axis in the middle: `argsort` gives such positions. x and i broadcast
    against each other beside the axis; negative positions count from the end; with None for the axis both are taken
    flat. Positions named twice sum their gradients. Raises ShapeError where the numbers of axes differ, DTypeError for
    other than integers and, when run, IndexOutOfRange for a position outside of the axis.

    >>> x = st.tensor([[30, 10, 20], [1, 3, 2]])
    >>> st.take_along_axis(x, st.argsort(x), axis=1).tolist()
    [[10, 20, 30], [1, 2, 3]]
    """
def scatter(x: TensorLike, i: TensorLike, v: TensorLike, axis: int=0, mode: str='set') -> Tensor:
    """The array x with the elements of `v` put in at the positions `i` along an axis, or combined with what is there.

    What `take_along_axis` reads at i: y[a, i[a, k, b], b] becomes v[a, k, b] under `mode` "set", and the sum, product,
    maximum or minimum of x's element and all those of v under "add", "mul", "max" and "min". i has as many axes as x,
    each but `axis` no longer than that of x, v the shape of i at least (PyTorch's rule) or is a number. Where i names
    an element twice the last one stays, and others combine in an order that shapes say, on any number of threads.
    Negative positions count from the end. v and x have one dtype, which the result has. Raises ShapeError for shapes
    that do not fit, OptionError for another mode and, when run, IndexOutOfRange for a position outside of the axis.

    >>> i = st.tensor([0, 2, 0])
    >>> st.scatter(st.zeros(3), i, st.tensor([1.0, 2.0, 3.0]), mode="add").tolist()
    [4.0, 0.0, 2.0]
    >>> st.scatter(st.zeros(3), i, st.tensor([1.0, 2.0, 3.0])).tolist()
    [3.0, 0.0, 2.0]
    """
def index_add(x: TensorLike, i: TensorLike, v: TensorLike, axis: int=0, alpha: float=1) -> Tensor:
    """The array x with the parts of `v` along an axis, `alpha` times, added at the positions `i` of it, integers (k,).

    v has the shape of x but for k along the axis. Positions may repeat, and negative ones count from the end; sums are
    made in an order that the shapes say. Raises ShapeError for shapes that do not fit and, when run, IndexOutOfRange.

    >>> st.index_add(st.zeros((2, 2)), st.tensor([1, 1]), st.ones((2, 2))).tolist()
    [[0.0, 0.0], [2.0, 2.0]]
    """
def segment_sum(x: TensorLike, i: TensorLike, segments: int) -> Tensor:
    """The sum of those rows of x whose entry of `i` names the same of so many `segments`: (segments, ...).

    i holds integers from 0 to segments - 1, one for each row of x (n, ...), sorted or not. 0 where a segment has none;
    sums are made in an order that the shapes say.
    Raises ShapeError where i does not fit and, when run, IndexOutOfRange for another segment.

    >>> st.segment_sum(st.tensor([1.0, 2.0, 3.0]), st.tensor([0, 0, 2]), 3).tolist()
    [3.0, 0.0, 3.0]
    """
def segment_prod(x: TensorLike, i: TensorLike, segments: int) -> Tensor:
    """The product of those rows of x whose entry of `i` names the same segment; 1 where it has none.

    Shapes, order and errors as of `segment_sum`, of so many `segments`. Raises ShapeError where i is not as long as x,
    DTypeError for other positions than integers.

    >>> st.segment_prod(st.tensor([2.0, 3.0, 4.0]), st.tensor([0, 0, 2]), 3).tolist()
    [6.0, 1.0, 4.0]
    """
def segment_max(x: TensorLike, i: TensorLike, segments: int) -> Tensor:
    """The largest of those rows of x whose entry of `i` names the same segment, element by element; NaN if one is.

    Where a segment has none it is -inf, of integers the lowest number. Shapes and errors as of `segment_sum`, of so
    many `segments`; elements that tie share the gradient. Raises ShapeError where i is not as long as x, DTypeError for
    complex numbers and for other positions than integers.

    >>> st.segment_max(st.tensor([1, 5, 3]), st.tensor([0, 0, 1]), 2).tolist()
    [5, 3]
    """
def segment_min(x: TensorLike, i: TensorLike, segments: int) -> Tensor:
    """The smallest of those rows of x whose entry of `i` names the same segment, element by element; NaN if one is.

    Where a segment has none it is inf, of integers the highest number. Shapes and errors as of `segment_sum`, of so
    many `segments`; elements that tie share the gradient. Raises ShapeError where i is not as long as x, DTypeError for
    complex numbers and for other positions than integers.

    >>> st.segment_min(st.tensor([1, 5, 3]), st.tensor([0, 0, 1]), 2).tolist()
    [1, 3]
    """
def count_nonzero(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """How many elements over one axis, several, or all of them are not 0, as int64; NaN is not 0.

    x has any dtype. Raises ShapeError for an axis that x does not have.

    >>> st.count_nonzero(st.tensor([[0, 1], [2, 3]]), axis=0).tolist()
    [1, 2]
    """
def histogram(x: TensorLike, bins: int | TensorLike=10, range: TensorLike | None=None, weights: TensorLike | None=None,
        density: bool=False) -> tuple[Tensor, Tensor]:
    """How many elements of x fall into each of `bins`, and the edges of the bins (NumPy's histogram).

    bins is a number of equal bins between the two ends `range`, the smallest and the largest element where it is not
    given, or the edges themselves, ascending. A bin holds its left edge, the last its right one too. Counts are int64;
    with `weights`, of the shape of x, they are sums of these; `density` divides them by their sum and by the widths of
    bins. Elements outside, and NaN, count nowhere. Raises ShapeError for no bins, and for a range that is not two.

    >>> counts, edges = st.histogram(st.tensor([1.0, 2.0, 1.0, 4.0]), 3)
    >>> counts.tolist(), edges.tolist()
    ([2, 1, 1], [1.0, 2.0, 3.0, 4.0])
    """
@overload
def median(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method: str='linear',
        return_indices: Literal[False]=False) -> Tensor:
    """The median over one axis, several, or all of them: of an even number of elements the mean of two in the middle.

    So has NumPy, and integers become float32; under `method` "lower" it is the lower of the two, in the dtype of x, as
    of PyTorch's, and with `return_indices` a pair, of the median and of its position along the axis, or in the flat
    array. The other methods are those of `quantile`. NaN where an element is NaN. Raises ShapeError where there is no
    element, and OptionError for positions of other medians than the lower one.

    >>> x = st.tensor([[1.0, 9.0, 2.0, 3.0]])
    >>> st.median(x).tolist(), st.median(x, method="lower").tolist()
    (2.5, 2.0)
    """
@overload
def median(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method: str='linear', *,
        return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def nanmedian(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method: str='linear',
        return_indices: Literal[False]=False) -> Tensor:
    """The median of those elements that are not NaN, as of `median`; NaN where all of them are.

    `method` and `return_indices` as of `median`. Raises ShapeError for an axis that x does not have and where there is
    no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.nanmedian(st.tensor([1.0, float("nan"), 9.0])).tolist()
    5.0
    """
@overload
def nanmedian(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method: str='linear', *,
        return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def quantile(x: TensorLike, q: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method:
        str='linear') -> Tensor:
    """The quantiles `q` (0 to 1: a number, or an array of them) over one axis, several, or all of them.

    q.shape, then the shape of x without the axes, which `keepdims` leaves with length 1. `method` says what stands
    between two elements, in NumPy's words: "linear" (the default), "lower", "higher", "midpoint", "nearest" and those
    of Hyndman and Fan (1996). NaN where an element is NaN; `nanquantile` leaves them out. Integers become float32.
    Raises OptionError for another method, and ShapeError where there is no element.

    >>> x = st.tensor([[1.0, 2.0], [3.0, 10.0]])
    >>> st.quantile(x, 0.5).tolist(), st.quantile(x, st.tensor([0.0, 1.0]), axis=1).tolist()
    (2.5, [[1.0, 3.0], [2.0, 10.0]])
    """
def nanquantile(x: TensorLike, q: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method:
        str='linear') -> Tensor:
    """The quantiles `q` of those elements that are not NaN, as of `quantile`; NaN where all of them are.

    Shape, `method` and errors as of `quantile`. Raises ShapeError for q outside of 0 to 1, for an axis that x does not
    have and where there is no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.nanquantile(st.tensor([1.0, float("nan"), 3.0]), 0.5).tolist()
    2.0
    """
def percentile(x: TensorLike, q: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method:
        str='linear') -> Tensor:
    """The percentiles `q` (0 to 100) over one axis, several, or all of them: `quantile(x, q / 100)`.

    Shape, `method` and errors as of `quantile`. Raises ShapeError for q outside of 0 to 100, for an axis that x does
    not have and where there is no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.percentile(st.arange(101), 25).tolist()
    25.0
    """
def nanpercentile(x: TensorLike, q: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, method:
        str='linear') -> Tensor:
    """The percentiles `q` (0 to 100) of those elements that are not NaN: `nanquantile(x, q / 100)`.

    Shape, `method` and errors as of `quantile`. Raises ShapeError for q outside of 0 to 100, for an axis that x does
    not have and where there is no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.nanpercentile(st.tensor([float("nan"), 4.0]), 25).tolist()
    4.0
    """
def nansum(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype: DTypeLike | None=None,
        initial: float | None=None, where: TensorLike | None=None) -> Tensor:
    """The sum of those elements that are not NaN over one axis, several, or all of them, as of `sum`; 0 of none.

    It is computed in `dtype`, where one is given; `initial` and `where` as of `sum`. Raises ShapeError for an axis that
    x does not have, DTypeError for another `dtype` than there is.

    >>> st.nansum(st.tensor([1.0, float("nan"), 3.0])).tolist()
    4.0
    """
def nanprod(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype: DTypeLike | None=None,
        initial: float | None=None, where: TensorLike | None=None) -> Tensor:
    """The product of those elements that are not NaN over one axis, several, or all of them, as of `prod`; 1 of none.

    It is computed in `dtype`, where one is given; `initial` and `where` as of `sum`. Raises ShapeError for an axis that
    x does not have, DTypeError for another `dtype` than there is.

    >>> st.nanprod(st.tensor([2.0, float("nan"), 3.0])).tolist()
    6.0
    """
def nanmean(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype: DTypeLike | None=None,
        where: TensorLike | None=None) -> Tensor:
    """The mean of those elements that are not NaN over one axis, several, or all of them, as of `mean`; NaN of none.

    It is computed in `dtype`, where one is given; `where` as of `sum`. Raises ShapeError for an axis that x does not
    have, DTypeError for another `dtype` than there is.

    >>> st.nanmean(st.tensor([1.0, float("nan"), 3.0])).tolist()
    2.0
    """
def nanmax(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, initial: float | None=None,
        where: TensorLike | None=None) -> Tensor:
    """The largest of those elements that are not NaN over one axis, several, or all of them, as of `max`.

    NaN where all of them are. In the dtype of x; `initial` and `where` as of `max`. Raises ShapeError where there is no
    element.

    >>> st.nanmax(st.tensor([1.0, float("nan"), 3.0])).tolist()
    3.0
    """
def nanmin(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, initial: float | None=None,
        where: TensorLike | None=None) -> Tensor:
    """The smallest of those elements that are not NaN over one axis, several, or all of them, as of `min`.

    NaN where all of them are. In the dtype of x; `initial` and `where` as of `max`. Raises ShapeError where there is no
    element.

    >>> st.nanmin(st.tensor([1.0, float("nan"), 3.0])).tolist()
    1.0
    """
def nanvar(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction: float=0, dtype:
        DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
    """The variance of those elements that are not NaN over one axis, several, or all of them, as of `var`.

    The squares are divided by how many there are, less `correction`; NaN where that is not positive. `dtype` and
    `where` as of `var`. Integers become float32. Raises ShapeError for an axis that x does not have.

    >>> st.nanvar(st.tensor([1.0, float("nan"), 3.0])).tolist()
    1.0
    """
def nanstd(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False, correction: float=0, dtype:
        DTypeLike | None=None, where: TensorLike | None=None) -> Tensor:
    """The standard deviation of those elements that are not NaN over one axis, several, or all of them, as of `std`.

    It is the root of `nanvar`, with the same `correction`, `dtype` and `where`. Integers become float32. Raises
    ShapeError for an axis that x does not have.

    >>> st.nanstd(st.tensor([1.0, float("nan"), 5.0])).tolist()
    2.0
    """
def cov(x: TensorLike, y: TensorLike | None=None, rowvar: bool=True, correction: int | None=None, fweights: TensorLike |
        None=None, aweights: TensorLike | None=None, bias: bool=False) -> Tensor:
    """The covariances of variables, of which each row of x holds the observations (each column, not `rowvar`).

    (n, n) for n variables, a number for one axis; those of `y` follow those of x. The products are divided by the
    number of observations less `correction`: 1, the default, is unbiased; with `bias` it is 0. `fweights` says how
    often each observation is there, `aweights` how much it weighs (NumPy's formulas). Integers become float32; of
    complex numbers the second factor is conjugated. Raises ShapeError for more than two axes, and where y has other
    observations than x.

    >>> st.cov(st.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
def corrcoef(x: TensorLike, y: TensorLike | None=None, rowvar: bool=True) -> Tensor:
    """The correlation coefficients of variables, of which each row of x holds the observations: from -1 to 1.

    (n, n) for n variables, a number for one axis; columns, not `rowvar`; those of `y` follow those of x. NaN for a
    variable that does not vary. Integers become float32. Raises ShapeError for more than two axes.

    >>> st.corrcoef(st.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
def interp(x: TensorLike, xp: TensorLike, fp: TensorLike, left: TensorLike | None=None, right: TensorLike | None=None,
        period: float | None=None) -> Tensor:
    """The values at x of the line through the points (`xp`, `fp`), whose xp (n,) ascend; in the shape of x.

    Before the first point it is `left`, behind the last one `right`: the first and the last of fp, if not given. With
    a `period` the line is repeated, xp is in any order, and there are no such ends.
    Integers become float32. Raises ShapeError unless xp and fp are two rows of one length, of 1 or more, ArgumentError
    for a period of 0.

    >>> st.interp(st.tensor([0.0, 1.5, 9.0]), st.tensor([1.0, 2.0]), st.tensor([10.0, 20.0])).tolist()
    [10.0, 15.0, 20.0]
    """
def convolve(x: TensorLike, v: TensorLike, mode: str='full') -> Tensor:
    """The convolution of the rows x (n,) and `v` (m,): y[k] is the sum of x[i] * v[k - i].

    n + m - 1 elements under `mode` "full", those in the middle of them: as many as the longer row has under "same",
    those for which all of the shorter row is needed under "valid". Dtypes meet as in `add`, and integers stay so. For
    images and stacks of rows there are `conv1d` and `conv2d`. Raises ShapeError unless both are rows of 1 or more.

    >>> st.convolve(st.tensor([1, 2, 3]), st.tensor([0, 1])).tolist()
    [0, 1, 2, 3]
    >>> st.convolve(st.tensor([1, 2, 3]), st.tensor([1, 1]), mode="valid").tolist()
    [3, 5]
    """
def einsum(equation: str | TensorLike, *operands: TensorLike | Sequence[int]) -> Tensor:
    """The sum of products that an `equation` says: "ij,jk->ik" is a matrix product, "ij->j" sums columns.

    Each of the `operands` has a letter for each axis; axes of one letter go along together, those that the result does
    not name are summed. Without -> the result has the letters that stand once, in the order of the alphabet; `...` are
    axes that broadcast; a letter twice in one operand is its diagonal; axes of length 1 broadcast. NumPy's other form,
    einsum(x, [0, 1], y, [1, 2], [0, 2]), works too. Several operands are multiplied two at a time, by the path of
    fewest products (every one of up to 8 operands is looked at). Operands meet in one dtype, that of the result, of
    16 bits at the end alone; bools say whether any product is true. Raises ShapeError where axes of one letter differ,
    and for letters that do not fit.

    >>> x, y = st.arange(6.0).reshape(2, 3), st.ones((3, 4))
    >>> st.einsum("ij,jk->ik", x, y).shape, st.einsum("ij->j", x).tolist(), st.einsum("ii", st.eye(3)).tolist()
    ((2, 4), [3.0, 5.0, 7.0], 3.0)
    >>> st.einsum("...ij,...jk", st.ones((5, 2, 3)), y).shape
    (5, 2, 4)
    """
def kron(x: TensorLike, z: TensorLike) -> Tensor:
    """The Kronecker product: each entry of x times all of z, sizes multiplied; axes count from the last.

    Raises ArgumentError for what is neither an array nor a number. Dtypes meet as in `multiply`.

    >>> st.linalg.kron(st.tensor([[1, 2]]), st.tensor([[1], [10]])).tolist()
    [[1, 2], [10, 20]]
    """
def outer(x: TensorLike, z: TensorLike) -> Tensor:
    """Every element of x times every one of z, both taken flat: a matrix (x.size, z.size).

    Raises ArgumentError for what is neither an array nor a number. Dtypes meet as in `multiply`.

    >>> st.outer(st.tensor([1, 2]), st.tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
def inner(x: TensorLike, z: TensorLike) -> Tensor:
    """The sums of products over the last axes of x and z: (..., n) and (***, n) -> (..., ***). Of a number x * z.

    Dtypes meet as in `add`. Raises ShapeError where the last axes differ.

    >>> st.inner(st.tensor([[1, 2], [3, 4]]), st.tensor([10, 1])).tolist()
    [12, 34]
    """
__all__ = ['lgamma', 'digamma', 'polygamma', 'zeta', 'sinc', 'logit', 'entr', 'i0', 'i0e', 'i1', 'i1e', 'erfinv',
    'erfcx', 'ndtr', 'ndtri', 'log_ndtr', 'xlogy', 'xlog1py', 'logaddexp2', 'addmm', 'vecdot', 'tensordot', 'conv1d',
    'conv_transpose1d', 'conv2d', 'conv_transpose2d', 'conv3d', 'conv_transpose3d', 'max_pool2d', 'avg_pool2d',
    'cummax', 'cummin', 'cumulative_sum', 'cumulative_prod', 'cumsum', 'cumprod', 'logcumsumexp', 'diff', 'trapezoid',
    'sort', 'argsort', 'topk', 'kthvalue', 'isin', 'top_k', 'searchsorted', 'bucketize', 'norm', 'take_along_axis',
    'scatter', 'index_add', 'segment_sum', 'segment_prod', 'segment_max', 'segment_min', 'count_nonzero', 'histogram',
    'median', 'nanmedian', 'quantile', 'nanquantile', 'percentile', 'nanpercentile', 'nansum', 'nanprod', 'nanmean',
    'nanmax', 'nanmin', 'nanvar', 'nanstd', 'cov', 'corrcoef', 'interp', 'convolve', 'einsum', 'kron', 'outer', 'inner',
    'take_along_dim', 'baddbmm', 'addmv', 'gammaln', 'psi', 'trapz', 'ger']
take_along_dim = take_along_axis
baddbmm = addmm
addmv = addmm
gammaln = lgamma
psi = digamma
trapz = trapezoid
ger = outer
