"""Statistics of order, and those that leave NaN out; covariances, interpolation."""
from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from stele.errors import ArgumentError, OptionError, ShapeError
from stele.ir.graph import Array, OneOrPair, Value, literal
from stele.ir.types import DType, Shape, below, bool_, float32, float64, int64, is_zero, product, promote, same, show
from stele.ops.along import take_along
from stele.ops.arguments import choice, number, refuse
from stele.ops.contraction import matmul
from stele.ops.elementwise.arithmetic import Equal, Less, Maximum, Minimum, Select
from stele.ops.elementwise.base import Numbers, Operand
from stele.ops.elementwise.binary import remainder
from stele.ops.elementwise.unary import Ceil, Floor, Round, isnan, logical_not, sqrt
from stele.ops.gather import Gather
from stele.ops.generate import iota, quantity
from stele.ops.linear import (
    Sum,
    broadcast,
    cast,
    flip,
    full,
    kept_shape,
    pad_axis,
    reshape,
    slice_axis,
    swap_last,
    transpose,
)
from stele.ops.parts import complex, conj, imag, real
from stele.ops.shaping import concatenate, moveaxis
from stele.ops.sorting import ArgSort, Search, Sort
from stele.ops.statistics import Axes, all, max, mean, min, over, prod, std, sum, var
from stele.ops.windows import Window

# Where in n ordered numbers the quantile q is: element q * (n + 1 - a - b) + a, counted from 1, as Hyndman and Fan
# (1996) have it, by their a = b or (a, b).
BETWEEN: dict[str, tuple[float, float]] = {
    "linear": (1, 1), "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8)}
METHODS = (*BETWEEN, "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
           "closest_observation")


def place_of(q: Value, n: Value, method: str) -> Value:
    """Where the quantile q stands among n ordered numbers, from 0 on: at one of them, or between two."""
    if method in BETWEEN:
        a, b = BETWEEN[method]
        return q * (n + (1 - a - b)) + (a - 1)
    at, past = q * (n - 1), q * n
    match method:
        case "lower": return Floor()(at)
        case "higher": return Ceil()(at)
        case "nearest": return Round()(at)
        case "midpoint": return (Floor()(at) + Ceil()(at)) * 0.5
        case "inverted_cdf": return Ceil()(past) - 1
        case "closest_observation": return Round()(past) - 1
        case _: return Select()(Equal()(Floor()(past), past), past - 0.5, Ceil()(past) - 1)


def quantile(x: Value, q: Numbers, *, axis: Axes = None, keepdims: bool = False, method: str = "linear") -> Value:
    """The quantiles `q` (0 to 1: a number, or an array of them) over one axis, several, or all of them.

    q.shape, then the shape of x without the axes, which `keepdims` leaves with length 1. `method` says what stands
    between two elements, in NumPy's words: "linear" (the default), "lower", "higher", "midpoint", "nearest" and those
    of Hyndman and Fan (1996). NaN where an element is NaN; `nanquantile` leaves them out. Integers become float32.
    Raises OptionError for another method, and ShapeError where there is no element.

    >>> x = st.tensor([[1.0, 2.0], [3.0, 10.0]])
    >>> st.quantile(x, 0.5).tolist(), st.quantile(x, st.tensor([0.0, 1.0]), axis=1).tolist()
    (2.5, [[1.0, 3.0], [2.0, 10.0]])
    """
    return ordered(x, q, axis, keepdims, method, skips=False)


def nanquantile(x: Value, q: Numbers, *, axis: Axes = None, keepdims: bool = False, method: str = "linear") -> Value:
    """The quantiles `q` of those elements that are not NaN, as of `quantile`; NaN where all of them are.

    Shape, `method` and errors as of `quantile`. Raises ShapeError for q outside of 0 to 1, for an axis that x does not
    have and where there is no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.nanquantile(st.tensor([1.0, float("nan"), 3.0]), 0.5).tolist()
    2.0
    """
    return ordered(x, q, axis, keepdims, method, skips=True)


def percentile(x: Value, q: Numbers, *, axis: Axes = None, keepdims: bool = False, method: str = "linear") -> Value:
    """The percentiles `q` (0 to 100) over one axis, several, or all of them: `quantile(x, q / 100)`.

    Shape, `method` and errors as of `quantile`. Raises ShapeError for q outside of 0 to 100, for an axis that x does
    not have and where there is no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.percentile(st.arange(101), 25).tolist()
    25.0
    """
    return quantile(x, hundredth(q), axis=axis, keepdims=keepdims, method=method)


def nanpercentile(x: Value, q: Numbers, *, axis: Axes = None, keepdims: bool = False, method: str = "linear") -> Value:
    """The percentiles `q` (0 to 100) of those elements that are not NaN: `nanquantile(x, q / 100)`.

    Shape, `method` and errors as of `quantile`. Raises ShapeError for q outside of 0 to 100, for an axis that x does
    not have and where there is no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.nanpercentile(st.tensor([float("nan"), 4.0]), 25).tolist()
    4.0
    """
    return nanquantile(x, hundredth(q), axis=axis, keepdims=keepdims, method=method)


def hundredth(q: Numbers) -> Numbers:
    """A hundredth of a number, or of an array; lists become arrays."""
    if isinstance(q, Value):
        return q / 100
    try:
        return np.asarray(q, np.float64) / 100
    except (TypeError, ValueError, OverflowError):
        refuse("q", "a number from 0 to 100, or several", q)


def median(x: Value, *, axis: Axes = None, keepdims: bool = False, method: str = "linear", return_indices: bool = False
           ) -> OneOrPair:
    """The median over one axis, several, or all of them: of an even number of elements the mean of two in the middle.

    So has NumPy, and integers become float32; under `method` "lower" it is the lower of the two, in the dtype of x, as
    of PyTorch's, and with `return_indices` a pair, of the median and of its position along the axis, or in the flat
    array. The other methods are those of `quantile`. NaN where an element is NaN. Raises ShapeError where there is no
    element, and OptionError for positions of other medians than the lower one.

    >>> x = st.tensor([[1.0, 9.0, 2.0, 3.0]])
    >>> st.median(x).tolist(), st.median(x, method="lower").tolist()
    (2.5, 2.0)
    """
    return middle(x, axis, keepdims, method, return_indices, skips=False)


def nanmedian(x: Value, *, axis: Axes = None, keepdims: bool = False, method: str = "linear",
              return_indices: bool = False) -> OneOrPair:
    """The median of those elements that are not NaN, as of `median`; NaN where all of them are.

    `method` and `return_indices` as of `median`. Raises ShapeError for an axis that x does not have and where there is
    no element, OptionError for another method, DTypeError for complex numbers.

    >>> st.nanmedian(st.tensor([1.0, float("nan"), 9.0])).tolist()
    5.0
    """
    return middle(x, axis, keepdims, method, return_indices, skips=True)


def middle(x: Value, axis: Axes, keepdims: bool, method: str, with_places: bool, skips: bool) -> OneOrPair:
    """A median, or the lower of two with its position: NaN, where one counts, before all numbers."""
    if method != "lower":
        if with_places:
            raise OptionError(f"method {method!r} finds no element to return the position of", hint="Write 'lower'.")
        return ordered(x, 0.5, axis, keepdims, method, skips, means=method == "linear")
    rows, outer = lined(x, axis)
    n, order = quantity(rows.shape[-1]), ArgSort()(rows)
    count = sum(cast(logical_not(isnan(rows)), int64), axis=-1, keepdims=True) if x.dtype.is_float else n
    half = (Maximum()(count, 1) - 1) // 2
    at = half if skips else Select()(count < n, count, half)
    i = take_along(order, broadcast(at, (*outer, 1)), rows.ndim - 1)
    shape = kept_shape(x.shape, over(axis, x.ndim)) if keepdims else outer
    y = reshape(take_along(rows, i, rows.ndim - 1), shape)
    return (y, reshape(i, shape)) if with_places else y


def ordered(x: Value, q: Numbers, axis: Axes, keepdims: bool, method: str, skips: bool, means: bool = False) -> Value:
    """Quantiles of all numbers, or of those that are not NaN; where `means`, halfway between two is their mean."""
    choice(method, "method", METHODS)
    rows, outer = lined(x if x.dtype.is_float else cast(x, float32), axis)
    q = q if isinstance(q, Value) else literal(fractions(q))
    y = between(Sort()(rows), cast(reshape(q, (-1,)), float64), method, skips, means)
    y = reshape(moveaxis(y, y.ndim - 1, 0), (*q.shape, *outer))
    return reshape(y, (*q.shape, *kept_shape(x.shape, over(axis, x.ndim)))) if keepdims else y


def lined(x: Value, axis: Axes) -> tuple[Value, Shape]:
    """The elements of some axes as rows along a new last one, and the shape of the others."""
    axes = over(axis, x.ndim)
    if any(is_zero(x.shape[a]) for a in axes):
        raise ShapeError(f"there is no quantile of no elements, over axes {axes} of {show(x.shape)}")
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    outer = tuple(x.shape[k] for k in rest)
    return reshape(transpose(x, (*rest, *axes)), (*outer, product(tuple(x.shape[a] for a in axes)))), outer


def fractions(q: Numbers) -> Array:
    """Numbers from 0 to 1 as an array."""
    try:
        array = np.asarray(q, np.float64)
    except (TypeError, ValueError, OverflowError):
        refuse("q of quantile", "a number from 0 to 1 or a list of them", q)
    if not ((array >= 0) & (array <= 1)).all():
        raise ShapeError(f"a quantile is from 0 to 1, got {q}", hint="Percentiles from 0 to 100 are of st.percentile.")
    return array


def between(rows: Value, q: Value, method: str, skips: bool, means: bool) -> Value:
    """The quantiles q (k,) of sorted rows (..., n), in which NaN is last: (..., k). With `means` all are at an element
    or halfway between two."""
    n, last = rows.shape[-1], rows.ndim - 1
    count = sum(cast(logical_not(isnan(rows)), int64), axis=last, keepdims=True) if skips else quantity(n)
    most = Maximum()(cast(count, float64) - 1, 0.0)
    at = Maximum()(Minimum()(place_of(q, cast(count, float64), method), most), 0.0)
    shape = (*rows.shape[:-1], q.shape[0])
    low = Floor()(at)
    first, second = (take_along(rows, broadcast(cast(i, int64), shape), last) for i in (low, Ceil()(at)))
    far, apart = cast(at - low, rows.dtype), second - first     # from the nearer one: the other may be infinite
    y = first * 0.5 + second * 0.5 if means else \
        Select()(Less()(far, 0.5), first + apart * far, second - apart * (1 - far))
    y = Select()(Equal()(first, second), first, y)
    return y if skips else Select()(isnan(slice_axis(rows, last, n - 1, 1)), math.nan, y)


def nansum(x: Value, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None,
           initial: float | None = None, where: Value | None = None) -> Value:
    """The sum of those elements that are not NaN over one axis, several, or all of them, as of `sum`; 0 of none.

    It is computed in `dtype`, where one is given; `initial` and `where` as of `sum`. Raises ShapeError for an axis that
    x does not have, DTypeError for another `dtype` than there is.

    >>> st.nansum(st.tensor([1.0, float("nan"), 3.0])).tolist()
    4.0
    """
    return sum(x, axis=axis, keepdims=keepdims, dtype=dtype, initial=initial, where=counting(x, where))


def nanprod(x: Value, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None,
            initial: float | None = None, where: Value | None = None) -> Value:
    """The product of those elements that are not NaN over one axis, several, or all of them, as of `prod`; 1 of none.

    It is computed in `dtype`, where one is given; `initial` and `where` as of `sum`. Raises ShapeError for an axis that
    x does not have, DTypeError for another `dtype` than there is.

    >>> st.nanprod(st.tensor([2.0, float("nan"), 3.0])).tolist()
    6.0
    """
    return prod(x, axis=axis, keepdims=keepdims, dtype=dtype, initial=initial, where=counting(x, where))


def nanmax(x: Value, *, axis: Axes = None, keepdims: bool = False, initial: float | None = None,
           where: Value | None = None) -> Value:
    """The largest of those elements that are not NaN over one axis, several, or all of them, as of `max`.

    NaN where all of them are. In the dtype of x; `initial` and `where` as of `max`. Raises ShapeError where there is no
    element.

    >>> st.nanmax(st.tensor([1.0, float("nan"), 3.0])).tolist()
    3.0
    """
    y: Any = max(without_nan(x, -math.inf), axis=axis, keepdims=keepdims, initial=initial, where=where)
    return unless_none(y, x, axis, keepdims) if initial is None else y


def nanmin(x: Value, *, axis: Axes = None, keepdims: bool = False, initial: float | None = None,
           where: Value | None = None) -> Value:
    """The smallest of those elements that are not NaN over one axis, several, or all of them, as of `min`.

    NaN where all of them are. In the dtype of x; `initial` and `where` as of `max`. Raises ShapeError where there is no
    element.

    >>> st.nanmin(st.tensor([1.0, float("nan"), 3.0])).tolist()
    1.0
    """
    y: Any = min(without_nan(x, math.inf), axis=axis, keepdims=keepdims, initial=initial, where=where)
    return unless_none(y, x, axis, keepdims) if initial is None else y


def nanmean(x: Value, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None,
            where: Value | None = None) -> Value:
    """The mean of those elements that are not NaN over one axis, several, or all of them, as of `mean`; NaN of none.

    It is computed in `dtype`, where one is given; `where` as of `sum`. Raises ShapeError for an axis that x does not
    have, DTypeError for another `dtype` than there is.

    >>> st.nanmean(st.tensor([1.0, float("nan"), 3.0])).tolist()
    2.0
    """
    return mean(x, axis=axis, keepdims=keepdims, dtype=dtype, where=counting(x, where))


def nanvar(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: float = 0, dtype: DType | None = None,
           where: Value | None = None) -> Value:
    """The variance of those elements that are not NaN over one axis, several, or all of them, as of `var`.

    The squares are divided by how many there are, less `correction`; NaN where that is not positive. `dtype` and
    `where` as of `var`. Integers become float32. Raises ShapeError for an axis that x does not have.

    >>> st.nanvar(st.tensor([1.0, float("nan"), 3.0])).tolist()
    1.0
    """
    return var(x, axis=axis, keepdims=keepdims, correction=correction, dtype=dtype, where=counting(x, where))


def nanstd(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: float = 0, dtype: DType | None = None,
           where: Value | None = None) -> Value:
    """The standard deviation of those elements that are not NaN over one axis, several, or all of them, as of `std`.

    It is the root of `nanvar`, with the same `correction`, `dtype` and `where`. Integers become float32. Raises
    ShapeError for an axis that x does not have.

    >>> st.nanstd(st.tensor([1.0, float("nan"), 5.0])).tolist()
    2.0
    """
    return std(x, axis=axis, keepdims=keepdims, correction=correction, dtype=dtype, where=counting(x, where))


def without_nan(x: Value, instead: float) -> Value:
    """x with a number in the place of NaN."""
    return Select()(isnan(x), instead, x) if x.dtype.is_float else x


def counting(x: Value, where: Value | None) -> Value | None:
    """Which elements count: those that are not NaN, and of them those that `where` says."""
    there = logical_not(isnan(x)) if x.dtype.is_float else None
    return where if there is None else there if where is None else Select()(cast(where, bool_), there, False)


def unless_none(y: Value, x: Value, axis: Axes, keepdims: bool) -> Value:
    """y, or NaN where all elements are."""
    return Select()(all(isnan(x), axis=axis, keepdims=keepdims), math.nan, y) if x.dtype.is_float else y


def cov(x: Value, y: Value | None = None, *, rowvar: bool = True, correction: int | None = None,
        fweights: Value | None = None, aweights: Value | None = None, bias: bool = False) -> Value:
    """The covariances of variables, of which each row of x holds the observations (each column, not `rowvar`).

    (n, n) for n variables, a number for one axis; those of `y` follow those of x. The products are divided by the
    number of observations less `correction`: 1, the default, is unbiased; with `bias` it is 0. `fweights` says how
    often each observation is there, `aweights` how much it weighs (NumPy's formulas). Integers become float32; of
    complex numbers the second factor is conjugated. Raises ShapeError for more than two axes, and where y has other
    observations than x.

    >>> st.cov(st.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    parts = [variables(v, rowvar) for v in (x, y) if v is not None]
    if not same(parts[0].shape[1], parts[-1].shape[1]):
        raise ShapeError(f"cov needs as many observations of y as of x, got {show(parts[-1].shape)} beside "
                         f"{show(parts[0].shape)}")
    given = [w for w in (fweights, aweights) if w is not None]
    rows = parts[0] if y is None else concatenate(parts, axis=0)
    rows = cast(rows, reduce(promote, (w.dtype for w in given), rows.dtype))
    dtype = rows.dtype.real
    given = [cast(w, dtype) for w in given]
    w = reduce(lambda a, b: a * b, given) if given else full((rows.shape[1],), 1, dtype)
    total, correction = sum(w), int(not bias) if correction is None else correction
    less = total - correction if aweights is None else total - sum(w * cast(aweights, dtype)) * correction / total
    centred = rows - sum(rows * w, axis=1, keepdims=True) / total
    products = matmul(centred * w, conj(swap_last(centred))) / Maximum()(less, 0)
    return products if products.shape != (1, 1) else reshape(products, ())


def variables(x: Value, rowvar: bool) -> Value:
    """Floats whose rows are variables: a row of them is one."""
    if x.ndim > 2:
        raise ShapeError(f"cov needs variables in rows (n, k), got {show(x.shape)}")
    rows = reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else swap_last(x)
    return rows if rows.dtype.is_float else cast(rows, float32)


def corrcoef(x: Value, y: Value | None = None, *, rowvar: bool = True) -> Value:
    """The correlation coefficients of variables, of which each row of x holds the observations: from -1 to 1.

    (n, n) for n variables, a number for one axis; columns, not `rowvar`; those of `y` follow those of x. NaN for a
    variable that does not vary. Integers become float32. Raises ShapeError for more than two axes.

    >>> st.corrcoef(st.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    c = cov(x, y, rowvar=rowvar)
    if not c.ndim:
        return c / c
    n = c.shape[0]
    place = iota(n)
    on = Equal()(reshape(place, (-1, 1)), place)
    spread = sqrt(real(sum(Select()(on, c, 0), axis=0)))
    c = c / reshape(spread, (-1, 1)) / spread
    if c.dtype.is_complex:
        return complex(within(real(c)), within(imag(c)))
    return within(c)


def within(c: Value) -> Value:
    """Numbers that rounding took out of -1 to 1, at the end that they passed."""
    return Maximum()(Minimum()(c, 1), -1)


def interp(x: Value, xp: Value, fp: Value, *, left: Operand | None = None, right: Operand | None = None,
           period: float | None = None) -> Value:
    """The values at x of the line through the points (`xp`, `fp`), whose xp (n,) ascend; in the shape of x.

    Before the first point it is `left`, behind the last one `right`: the first and the last of fp, if not given. With
    a `period` the line is repeated, xp is in any order, and there are no such ends.
    Integers become float32. Raises ShapeError unless xp and fp are two rows of one length, of 1 or more, ArgumentError
    for a period of 0.

    >>> st.interp(st.tensor([0.0, 1.5, 9.0]), st.tensor([1.0, 2.0]), st.tensor([10.0, 20.0])).tolist()
    [10.0, 15.0, 20.0]
    """
    n = xp.shape[0] if xp.ndim == 1 else 0
    if n == 0 or xp.shape != fp.shape:
        raise ShapeError(f"interp needs points xp (n,) and fp (n,), got {show(xp.shape)} and {show(fp.shape)}")
    dtype = reduce(promote, (v.dtype for v in (x, xp, fp)))
    x, xp, fp = (cast(v, dtype if dtype.is_float else float32) for v in (x, xp, fp))
    if period is not None:
        period = abs(number(period, "period of interp"))
        if not period:
            raise ArgumentError("interp: a period of 0 repeats nothing", hint="Leave the period out.")
        x, xp = remainder(x, period), remainder(xp, period)
        order = ArgSort()(xp)
        xp, fp = Gather(0)(xp, order), Gather(0)(fp, order)
        xp = concatenate([slice_axis(xp, 0, n - 1, 1) - period, xp, slice_axis(xp, 0, 0, 1) + period])
        fp = concatenate([slice_axis(fp, 0, n - 1, 1), fp, slice_axis(fp, 0, 0, 1)])
        n = n + 2
    row = reshape(x, (-1,))
    i = Maximum()(Minimum()(Search(True)(xp, row) - 1, quantity(n - 2)), 0)
    after = Minimum()(i + 1, quantity(n - 1))
    x0, x1, y0, y1 = (Gather(0)(v, at) for v in (xp, fp) for at in (i, after))
    apart = Select()(Equal()(x1, x0), 1, x1 - x0)
    y = y0 + (y1 - y0) * ((row - x0) / apart)
    y = Select()(isnan(y), y1 + (y1 - y0) * ((row - x1) / apart), y)     # y0 may be infinite
    y = Select()(isnan(y), Select()(Equal()(row, x0), y0, y), y)         # or y1, at the point before it
    ends = (slice_axis(v, 0, k, 1) for k in (0, n - 1) for v in (xp, fp))
    first, start, last, end = ends
    y = Select()(row < first, start if left is None else left, y)
    y = Select()(row > last, end if right is None else right, y)
    return reshape(Select()(isnan(row), math.nan, y), x.shape)


def convolve(x: Value, v: Value, *, mode: str = "full") -> Value:
    """The convolution of the rows x (n,) and `v` (m,): y[k] is the sum of x[i] * v[k - i].

    n + m - 1 elements under `mode` "full", those in the middle of them: as many as the longer row has under "same",
    those for which all of the shorter row is needed under "valid". Dtypes meet as in `add`, and integers stay so. For
    images and stacks of rows there are `conv1d` and `conv2d`. Raises ShapeError unless both are rows of 1 or more.

    >>> st.convolve(st.tensor([1, 2, 3]), st.tensor([0, 1])).tolist()
    [0, 1, 2, 3]
    >>> st.convolve(st.tensor([1, 2, 3]), st.tensor([1, 1]), mode="valid").tolist()
    [3, 5]
    """
    choice(mode, "mode of convolve", ("full", "same", "valid"))
    if x.ndim != 1 or v.ndim != 1 or any(map(is_zero, (*x.shape, *v.shape))):
        raise ShapeError(f"convolve needs two rows of 1 element or more, got {show(x.shape)} and {show(v.shape)}")
    x, v = (v, x) if mode != "full" and below(x.shape[0], v.shape[0]) else (x, v)
    dtype, m = promote(x.dtype, v.dtype), v.shape[0]
    around = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}[mode]
    windows, there = (Window(0, m, 1, 1)(pad_axis(w, 0, *around)) for w in (cast(x, dtype), full(x.shape, True, bool_)))
    products = Select()(there, windows * flip(cast(v, dtype), (0,)), 0)     # an infinity beside nothing is nothing
    return cast(Sum((windows.ndim - 1,))(products), dtype)

