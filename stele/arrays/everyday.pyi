"""Functions of NumPy that scripts use beside the standard's, loaded when one of them is named."""
# Written by tools/make_stubs.py.
from collections.abc import Sequence
from typing import Literal
from typing import overload
from stele.arrays.tensor import Tensor
from stele.arrays.tensor import TensorLike

def gcd(x: TensorLike, z: TensorLike) -> Tensor:
    """The greatest common divisors of integers, 0 or more; of 0 and 0 it is 0. Shapes and dtypes meet as in `add`.

    Raises DTypeError for other than integers.

    >>> st.gcd(st.tensor([12, -8, 0]), st.tensor([18, 12, 5])).tolist()
    [6, 4, 5]
    """
def lcm(x: TensorLike, z: TensorLike) -> Tensor:
    """The least common multiples of integers, 0 or more; of 0 and anything it is 0. Shapes and dtypes meet as in `add`.
    What the dtype cannot hold wraps around, as in NumPy.

    Raises DTypeError for other than integers.

    >>> st.lcm(st.tensor([4, 0]), st.tensor([-6, 5])).tolist()
    [12, 0]
    """
def divmod(x: TensorLike, z: TensorLike) -> tuple[Tensor, Tensor]:
    """The pair (x // z, x % z). Shapes and dtypes meet as in `add`.

    Raises ShapeError where shapes do not broadcast, DTypeError for complex numbers.

    >>> [part.tolist() for part in st.divmod(st.tensor([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """
def modf(x: TensorLike) -> tuple[Tensor, Tensor]:
    """The fractions and the whole parts of x, both of its sign. Integers become float32.

    Zeros too have the sign of x; fractions of infinities are zeros. The derivatives are 1 and 0. x has any shape.
    Raises DTypeError for complex numbers.

    >>> [part.tolist() for part in st.modf(st.tensor([1.75, -2.5]))]
    [[0.75, -0.5], [1.0, -2.0]]
    """
def bitwise_count(x: TensorLike) -> Tensor:
    """How many bits of the absolute value of each integer are set, as uint8. Raises DTypeError for floats.

    By sums in halves of ever more bits (Warren, Hacker's Delight, 5-1). x has any shape.

    >>> st.bitwise_count(st.tensor([0, 7, -8])).tolist()
    [0, 3, 1]
    """
def isreal(x: TensorLike) -> Tensor:
    """Whether the imaginary part of each element is 0: True of real numbers.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.isreal(st.tensor([1 + 0j, 2j])).tolist()
    [True, False]
    """
def iscomplex(x: TensorLike) -> Tensor:
    """Whether the imaginary part of each element is other than 0: False of real numbers.

    x has any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.iscomplex(st.tensor([1 + 0j, 2j])).tolist()
    [False, True]
    """
def array_equal(x: TensorLike, z: TensorLike, equal_nan: bool=False) -> Tensor:
    """Whether x and z have one shape and equal elements, as one bool; a NaN equals a NaN with `equal_nan` alone.

    Shapes and dtypes are any. Raises ArgumentError for what is neither an array nor a number.

    >>> st.array_equal(st.tensor([1, 2]), st.tensor([1.0, 2.0])).tolist()
    True
    """
def array_equiv(x: TensorLike, z: TensorLike) -> Tensor:
    """Whether x and z broadcast to each other and have equal elements there, as one bool.

    Shapes and dtypes are any. Raises ArgumentError for what is neither an array nor a number.

    >>> st.array_equiv(st.tensor([1, 1]), st.tensor(1)).tolist()
    True
    """
@overload
def average(x: TensorLike, axis: int | Sequence[int] | None=None, weights: TensorLike | None=None, keepdims: bool=False,
        returned: Literal[False]=False) -> Tensor:
    """The mean over one axis, several, or all of them, in which each element counts as much as its `weights` say.

    These have the shape of x, or are one row for one axis. Without them as `mean`. With `returned` a pair, of the mean
    and the sum of the weights in its shape. Integers become float32. Raises ShapeError for other shapes.

    >>> st.average(st.tensor([1.0, 2.0, 6.0]), weights=st.tensor([1.0, 0.0, 3.0])).tolist()
    4.75
    """
@overload
def average(x: TensorLike, axis: int | Sequence[int] | None=None, weights: TensorLike | None=None, keepdims: bool=False,
        *, returned: Literal[True]) -> tuple[Tensor, Tensor]: ...
def ptp(x: TensorLike, axis: int | Sequence[int] | None=None, keepdims: bool=False) -> Tensor:
    """The largest element less the smallest over one axis, several, or all of them, as of `max` and `min`.

    Raises ShapeError for an axis that x does not have and where there is no element, DTypeError for bools and complex
    numbers.

    >>> st.ptp(st.tensor([[1, 5], [2, 9]]), axis=0).tolist()
    [1, 4]
    """
def trace(x: TensorLike, offset: int=0, axis1: int=0, axis2: int=1) -> Tensor:
    """The sum of diagonal `offset` of the matrices on the axes `axis1` and `axis2`; of a stack, `st.linalg.trace`.

    Dtype as of `sum`. Raises ShapeError for fewer than two axes, and unless both are axes of x.

    >>> st.trace(st.tensor([[1, 2], [3, 4]])).tolist()
    5
    """
def vdot(x: TensorLike, z: TensorLike) -> Tensor:
    """The sum of the products of the elements of x, conjugated, and z, both taken flat. Dtypes meet as in `add`.

    Any shapes of as many elements. Raises ShapeError where they are not as many.

    >>> st.vdot(st.tensor([[1, 2], [3, 4]]), st.tensor([1, 1, 1, 1])).tolist()
    10
    """
def matvec(x: TensorLike, z: TensorLike) -> Tensor:
    """The products of matrices x (..., m, n) and vectors z (..., n), which broadcast against each other: (..., m).

    Dtypes meet as in `matmul`. Raises ShapeError where lengths do not fit.

    >>> st.matvec(st.tensor([[1, 2], [3, 4]]), st.tensor([1, 1])).tolist()
    [3, 7]
    """
def vecmat(x: TensorLike, z: TensorLike) -> Tensor:
    """The products of vectors x (..., m), conjugated, and matrices z (..., m, n): (..., n).

    Dtypes meet as in `matmul`. Raises ShapeError where lengths do not fit.

    >>> st.vecmat(st.tensor([1, 1]), st.tensor([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """
def dot(x: TensorLike, z: TensorLike) -> Tensor:
    """The products of rows of x (..., k) with columns of z (..., k, m), all with all: NumPy's `dot`.

    Of vectors and matrices what `matmul` gives; of more axes (..., k) with (more, k, m) it is (..., more, m); a z of
    one axis is one column; of a number with anything it is `multiply`. Dtypes meet as in `multiply`. Raises ShapeError
    where k differs.

    >>> st.dot(st.tensor([1, 2]), st.tensor([3, 4])).tolist(), st.dot(st.ones(2, 3), st.ones(4, 3, 5)).shape
    (11, (2, 4, 5))
    """
def nancumsum(x: TensorLike, axis: int | None=None) -> Tensor:
    """The running sums along an axis, of the flat array without one, in which NaN counts as 0.

    In the dtype of `cumulative_sum`. Raises ShapeError for an axis that x does not have.

    >>> st.nancumsum(st.tensor([1.0, float("nan"), 3.0])).tolist()
    [1.0, 1.0, 4.0]
    """
def nancumprod(x: TensorLike, axis: int | None=None) -> Tensor:
    """The running products along an axis, of the flat array without one, in which NaN counts as 1.

    In the dtype of `cumulative_prod`. Raises ShapeError for an axis that x does not have.

    >>> st.nancumprod(st.tensor([2.0, float("nan"), 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """
def nanargmax(x: TensorLike, axis: int | None=None, keepdims: bool=False) -> Tensor:
    """The position of the largest element that is not NaN, as of `argmax`; 0 where all of them are.

    int64. Raises ShapeError for an axis that x does not have and where there is no element, DTypeError for complex
    numbers.

    >>> st.nanargmax(st.tensor([1.0, float("nan"), 3.0])).tolist()
    2
    """
def nanargmin(x: TensorLike, axis: int | None=None, keepdims: bool=False) -> Tensor:
    """The position of the smallest element that is not NaN, as of `argmin`; 0 where all of them are.

    int64. Raises ShapeError for an axis that x does not have and where there is no element, DTypeError for complex
    numbers.

    >>> st.nanargmin(st.tensor([float("nan"), 1.0, 3.0])).tolist()
    1
    """
def partition(x: TensorLike, kth: int | Sequence[int], axis: int | None=-1) -> Tensor:
    """The elements along an axis with number `kth`, or several, where they stand in order: here all of them are.

    Of the flat array for None. In the dtype of x. Raises ShapeError for a kth that there is not.

    >>> st.partition(st.tensor([3, 1, 2]), 1).tolist()
    [1, 2, 3]
    """
def argpartition(x: TensorLike, kth: int | Sequence[int], axis: int | None=-1) -> Tensor:
    """The positions of the elements of `partition` with the same `kth` and axis: those of `argsort`.

    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> st.argpartition(st.tensor([3, 1, 2]), 1).tolist()
    [1, 2, 0]
    """
def lexsort(keys: Sequence[TensorLike], axis: int=-1) -> Tensor:
    """Positions along an axis in the order of the last of `keys`, where those tie of the one before, and so on.

    keys is a list of arrays of one shape, or an array whose first axis lists them. int64. Raises ShapeError for other
    shapes.

    >>> st.lexsort([st.tensor([3, 1, 2]), st.tensor([0, 1, 0])]).tolist()
    [2, 0, 1]
    """
def choose(i: TensorLike, choices: Sequence[TensorLike], mode: str='raise') -> Tensor:
    """For each element the one of `choices`, arrays that broadcast to i, that has its number.

    Out of range it is an error of the program; under `mode` "clip" the nearest, under "wrap" counted round. Dtypes meet
    as in `multiply`. Raises OptionError for another mode.

    >>> st.choose(st.tensor([1, 0]), [st.tensor([1, 2]), st.tensor([3, 4])]).tolist()
    [3, 2]
    """
def diagflat(x: TensorLike, k: int=0) -> Tensor:
    """A matrix with the elements of x, taken flat, on diagonal `k`, and zeros elsewhere.

    Of any shape and dtype. Raises ArgumentError for what is neither an array nor a number.

    >>> st.diagflat(st.tensor([[1, 2]])).tolist()
    [[1, 0], [0, 2]]
    """
def rollaxis(x: TensorLike, axis: int, start: int=0) -> Tensor:
    """The array with an axis moved before the one that stands at `start`; `moveaxis` says it more plainly.

    In the dtype of x. Raises ShapeError for an axis or a start that x does not have.

    >>> st.rollaxis(st.zeros((2, 3, 5)), 2).shape
    (5, 2, 3)
    """
def resize(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """The elements of x in row-major order under another `shape`, from the first again where there are too few.

    In the dtype of x. Raises ShapeError for a negative size.

    >>> st.resize(st.tensor([1, 2, 3]), (2, 2)).tolist()
    [[1, 2], [3, 1]]
    """
def gradient(x: TensorLike, *spacing: TensorLike, axis: int | Sequence[int] | None=None, edge_order:
        int=1) -> Tensor | tuple[Tensor, ...]:
    """The slopes of x along an axis, or a tuple of them along several, all of them without `axis`: second order inside.

    `spacing` is the distance of elements, 1 where it is not given, or a row of their places, for each axis where there
    are several. At both ends they are differences of order `edge_order`, 1 or 2. Integers become float32. The formulas
    are those of NumPy's gradient (Quarteroni and others, Numerical Mathematics, 2007). Raises ShapeError for axes
    shorter than edge_order + 1.

    >>> st.gradient(st.tensor([1.0, 2.0, 4.0, 7.0])).tolist(), st.gradient(st.tensor([0.0, 4.0]), 2.0).tolist()
    ([1.0, 1.5, 2.5, 3.0], [2.0, 2.0])
    """
def ediff1d(x: TensorLike, to_end: TensorLike | None=None, to_begin: TensorLike | None=None) -> Tensor:
    """The differences of neighbours of the flat array, behind the elements of `to_begin` and before those of `to_end`.

    In the dtype of x. x has any shape. Raises ArgumentError for what is neither an array nor a number.

    >>> st.ediff1d(st.tensor([1, 2, 4])).tolist()
    [1, 2]
    """
def unwrap(x: TensorLike, discont: float | None=None, axis: int=-1, period: float=6.283185307179586) -> Tensor:
    """Phases along an axis without jumps: where neighbours differ by more than half a `period` whole ones go.

    Only where they differ by more than `discont`, if that is more. Integers become float32. Raises ShapeError for an
    axis that x does not have, DTypeError for complex numbers.

    >>> st.unwrap(st.tensor([0.0, 3.0, 6.0, 1.0]), period=8).tolist()
    [0.0, 3.0, 6.0, 9.0]
    """
def cumulative_trapezoid(y: TensorLike, x: TensorLike | None=None, dx: float=1.0, axis: int=-1, initial: float |
        None=None) -> Tensor:
    """The areas under the line through y from the first element to each of the others, by the trapezoidal rule.

    At the places x, a row or an array of the shape of y, or `dx` apart; with `initial` (0) that number stands in front.
    Integers become float32. As SciPy's. Raises ShapeError for an axis that y does not have, where there is no element,
    and where x does not fit.

    >>> st.cumulative_trapezoid(st.tensor([1.0, 3.0, 5.0])).tolist()
    [2.0, 6.0]
    """
def correlate(x: TensorLike, v: TensorLike, mode: str='valid') -> Tensor:
    """The sums of products of a row x with a row `v`, conjugated, at every place: of those `mode` says, as `convolve`.

    Dtypes meet as in `multiply`. Raises ShapeError for other shapes than rows of 1 element or more, OptionError for
    another mode.

    >>> st.correlate(st.tensor([1, 2, 3]), st.tensor([0, 1, 0.5])).tolist()
    [3.5]
    """
def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """The values at x of the polynomial with the coefficients `p` (n,), the highest power first, by Horner's rule.

    x has any shape; dtypes meet as in `add`. Raises ShapeError where p is no row.

    >>> st.polyval(st.tensor([1, 0, 2]), st.tensor([0, 3])).tolist()
    [2, 11]
    """
def polyfit(x: TensorLike, y: TensorLike, deg: int, w: TensorLike | None=None) -> Tensor:
    """The coefficients (`deg` + 1,), or (deg + 1, k) of y (n, k), of the polynomial of this degree nearest to y at x.

    In the sum of squares, in which each difference is first multiplied by its `w`; by the pseudo-inverse of a scaled
    Vandermonde matrix. Integers become float32. Raises ShapeError unless x is a row as long as y, and w too.

    >>> c = st.polyfit(st.tensor([0.0, 1.0, 2.0, 3.0]), st.tensor([1.0, 3.0, 5.0, 7.0]), 1)
    >>> [round(n, 3) for n in c.tolist()]
    [2.0, 1.0]
    """
def polyadd(p: TensorLike, q: TensorLike) -> Tensor:
    """The coefficients of the sum of two polynomials `p` and `q`.

    Both are rows, the highest power first; dtypes meet as in `add`. Raises ShapeError for other shapes than rows.

    >>> st.polyadd(st.tensor([1, 2]), st.tensor([9, 5, 4])).tolist()
    [9, 6, 6]
    """
def polysub(p: TensorLike, q: TensorLike) -> Tensor:
    """The coefficients of the difference of two polynomials `p` and `q`.

    Both are rows, the highest power first; dtypes meet as in `subtract`. Raises ShapeError for other shapes than rows,
    DTypeError for bools.

    >>> st.polysub(st.tensor([2, 10]), st.tensor([1, 1])).tolist()
    [1, 9]
    """
def polymul(p: TensorLike, q: TensorLike) -> Tensor:
    """The coefficients of the product of two polynomials `p` and `q`.

    Both are rows, the highest power first; dtypes meet as in `multiply`. Raises ShapeError for other shapes than rows
    of 1 coefficient or more.

    >>> st.polymul(st.tensor([1, 2]), st.tensor([1, 3])).tolist()
    [1, 5, 6]
    """
def polyder(p: TensorLike, m: int=1) -> Tensor:
    """The coefficients of derivative number `m` of the polynomial `p`.

    p is a row, the highest power first, and its dtype stays. Raises ShapeError for other shapes and a negative m.

    >>> st.polyder(st.tensor([1, 1, 1, 1])).tolist()
    [3, 2, 1]
    """
def packbits(x: TensorLike, axis: int | None=None, bitorder: str='big') -> Tensor:
    """Bytes, uint8, of each eight elements along an axis, of the flat array without one: a bit is set of what is not 0.

    The first is the highest bit, under `bitorder` "little" the lowest; zeros fill the last byte. x has any shape, of
    bools or integers. Raises DTypeError for others, OptionError for another order.

    >>> st.packbits(st.tensor([True, False, True])).tolist(), st.packbits(st.tensor([1, 0]), bitorder="little").tolist()
    ([160], [1])
    """
def unpackbits(x: TensorLike, axis: int | None=None, count: int | None=None, bitorder: str='big') -> Tensor:
    """The bits of bytes, 0 and 1, eight for each along an axis, or of the flat array: what `packbits` packed.

    `count` says how many of them, with zeros behind where there are fewer, or how many are left out if negative.
    uint8. Raises DTypeError for other than uint8, OptionError for another `bitorder`.

    >>> st.unpackbits(st.tensor([5], "uint8"), count=3, bitorder="little").tolist()
    [1, 0, 1]
    """
def polydiv(p: TensorLike, q: TensorLike) -> tuple[Tensor, Tensor]:
    """The coefficients of the quotient and of the remainder of two polynomials `p` and `q`. Integers become float32.

    Both are rows, the highest power first. The remainder has one coefficient less than q, of which NumPy drops those
    that are 0 in front. Raises ShapeError for other shapes than rows of 1 coefficient or more.

    >>> [v.tolist() for v in st.polydiv(st.tensor([3.0, 5.0, 2.0]), st.tensor([2.0, 1.0]))]
    [[1.5, 1.75], [0.25]]
    """
def polyint(p: TensorLike, m: int=1, k: float=0) -> Tensor:
    """The coefficients of the `m`-fold integral of the polynomial `p`, with constants `k`. Integers become float32.

    p is a row, the highest power first. Raises ShapeError for other shapes and a negative m.

    >>> st.polyint(st.tensor([3.0, 2.0, 1.0])).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
def poly(x: TensorLike) -> Tensor:
    """The coefficients of the polynomial whose zeros are x (n,), or the eigenvalues of a matrix x (n, n), 1 first.

    Of whole numbers they are float32. Raises ShapeError for other shapes, DTypeError for bools.

    >>> st.poly(st.tensor([1.0, 2.0])).tolist()
    [1.0, -3.0, 2.0]
    """
def roots(p: TensorLike) -> Tensor:
    """The zeros of the polynomial with the coefficients `p` (n + 1,), complex, as eigenvalues of its companion matrix.

    The first coefficient is to be other than 0. Raises ShapeError for fewer than two.

    >>> st.sort(st.real(st.roots(st.tensor([1.0, -3.0, 2.0])))).tolist()
    [1.0, 2.0]
    """
def vander(x: TensorLike, n: int | None=None, increasing: bool=False) -> Tensor:
    """The powers of the elements of a row x (k,) as columns (k, `n`), square without n: the highest first.

    With `increasing` the 0th first. In the dtype of x, of integers and bools in int64. Raises ShapeError where x is no
    row, and for a negative n.

    >>> st.vander(st.tensor([1, 2, 3]), 3).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
def digitize(x: TensorLike, bins: TensorLike, right: bool=False) -> Tensor:
    """In which of the `bins` (n,), edges that ascend or descend, each element lies, as int64: 0 before the first.

    Bin k is between bins[k - 1] and bins[k], of which the smaller one belongs to it; with `right` the larger one does.
    Raises ShapeError unless bins are one row, DTypeError for complex numbers.

    >>> st.digitize(st.tensor([0.2, 1.0, 6.4]), st.tensor([0.0, 1.0, 2.5])).tolist()
    [1, 2, 3]
    """
def histogram_bin_edges(x: TensorLike, bins: int | TensorLike=10, range: TensorLike | None=None) -> Tensor:
    """The edges of the `bins` of `histogram`: so many equal ones from end to end of `range`, or those that are given.

    In the dtype of `histogram`'s edges; x has any shape. Raises ShapeError for no bins, DTypeError for complex numbers.

    >>> st.histogram_bin_edges(st.tensor([0.0, 3.0]), 3).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
def histogram2d(x: TensorLike, y: TensorLike, bins: int | TensorLike | Sequence[int | TensorLike]=10, range: TensorLike
        | None=None, weights: TensorLike | None=None, density: bool=False) -> tuple[Tensor, Tensor, Tensor]:
    """How many of the points (x, y), rows of one length, fall into each bin of a grid, and the edges along both.

    `bins`, `range`, `weights` and `density` as of `histogramdd`. Raises ShapeError for other shapes and for no bins,
    DTypeError for complex numbers.

    >>> st.histogram2d(st.tensor([0.0, 1.0, 1.0]), st.tensor([0.0, 1.0, 1.0]), 2)[0].tolist()
    [[1, 0], [0, 2]]
    """
def histogramdd(sample: TensorLike, bins: int | TensorLike | Sequence[int | TensorLike]=10, range: TensorLike |
        None=None, weights: TensorLike | None=None, density: bool=False) -> tuple[Tensor, tuple[Tensor, ...]]:
    """How many of the points `sample` (n, d) fall into each bin of a grid, and the edges along each coordinate.

    `bins` is a number of equal bins, or for each coordinate a number or its edges; `range` has two ends for each, its
    least and its largest number where there is none. `weights` (n,) and `density` as of `histogram`. The counts are
    int64, of `weights` in their dtype; integers have edges of float32. Raises ShapeError for other shapes.

    >>> counts, edges = st.histogramdd(st.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]]), 2)
    >>> counts.tolist(), edges[0].tolist()
    ([[1, 0], [0, 2]], [0.0, 0.5, 1.0])
    """
__all__ = ['gcd', 'lcm', 'divmod', 'modf', 'bitwise_count', 'isreal', 'iscomplex', 'array_equal', 'array_equiv',
    'average', 'ptp', 'trace', 'vdot', 'matvec', 'vecmat', 'dot', 'nancumsum', 'nancumprod', 'nanargmax', 'nanargmin',
    'partition', 'argpartition', 'lexsort', 'choose', 'diagflat', 'rollaxis', 'resize', 'gradient', 'ediff1d', 'unwrap',
    'cumulative_trapezoid', 'correlate', 'polyval', 'polyfit', 'polyadd', 'polysub', 'polymul', 'polyder', 'packbits',
    'unpackbits', 'polydiv', 'polyint', 'poly', 'roots', 'vander', 'digitize', 'histogram_bin_edges', 'histogram2d',
    'histogramdd']
