"""Activations, normalisations and losses as users write them."""
from __future__ import annotations

from collections.abc import Callable

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import DType, axis_of, float32, int32, int64, same, show
from stele.ops.arguments import Reduction, choice, number, whole
from stele.ops.composite import Gelu, LogSoftmax, LogSumExp, Normalize, Silu, Softmax
from stele.ops.contraction import matmul
from stele.ops.elementwise.arithmetic import Equal, NotEqual, Select
from stele.ops.elementwise.unary import softplus, square
from stele.ops.gather import CheckIndex, Gather
from stele.ops.generate import Iota, extent, iota_like
from stele.ops.linear import cast, expand_dims, reshape, rowed, swap_last, zeros_like
from stele.ops.statistics import Axes, fold, mean, over, sum, widened


def softmax(x: Value, *, axis: int = -1, dtype: DType | None = None) -> Value:
    """The probabilities exp(x) / sum(exp(x)) along an axis; of x less its largest element, so that nothing overflows.

    Shape and dtype of x, which becomes another `dtype` first where one is given. NaN where all of them are -inf, or one
    is inf, as in PyTorch. Raises DTypeError for other dtypes than floats. For the logarithm use `log_softmax`, for a
    loss `cross_entropy`: both take x itself.

    >>> st.softmax(st.tensor([[0.0, 0.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    >>> st.softmax(st.zeros((2, 4)), axis=0)[0].tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return along(Softmax, x, axis, dtype)


def along(op: type[Softmax | LogSoftmax], x: Value, axis: int, dtype: DType | None) -> Value:
    """An op along an axis, in a dtype."""
    row = rowed(x if dtype is None else cast(x, dtype))
    return reshape(op(axis_of(axis, row.ndim))(row), x.shape)


def log_softmax(x: Value, *, axis: int = -1, dtype: DType | None = None) -> Value:
    """The logarithm of `softmax(x)` along an axis, without rounding small probabilities to 0.

    Shape and dtype of x, or another `dtype` as in `softmax`.
    Written out, st.log(st.softmax(x)) is made this too where a program sees both steps. Raises DTypeError for other
    dtypes than floats.

    >>> st.log_softmax(st.tensor([0.0, -1000.0])).tolist()
    [0.0, -1000.0]
    """
    return along(LogSoftmax, x, axis, dtype)


def logsumexp(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The number log(sum(exp(x))) over one axis, several, or all of them, in the dtype of x; no x overflows.

    -inf of no elements, and where all of them are -inf. Its gradient is `softmax(x)`. Raises DTypeError for other
    dtypes than floats.

    >>> st.logsumexp(st.tensor([[1000.0, 1000.0], [0.0, 0.0]]), axis=1)
    tensor([1.0006932e+03, 6.9314718e-01])
    """
    return fold(LogSumExp, x, axis, keepdims)


def gelu(x: Value, *, approximate: str = "none") -> Value:
    """The Gaussian error linear unit: x times the probability that a standard normal number is below x.

    Shape and dtype of x (Hendrycks and Gimpel, 2016); `approximate="tanh"` takes their formula with tanh, any other
    than "none" raises OptionError. Raises DTypeError for other dtypes than floats.

    >>> x = st.tensor([-1.0, 0.0, 1.0])
    >>> st.gelu(x)
    tensor([-0.15865526,  0.        ,  0.8413447 ])
    >>> st.gelu(x, approximate="tanh")
    tensor([-0.158808,  0.      ,  0.841192])
    """
    return Gelu(choice(approximate, "approximate", ("none", "tanh")) == "tanh")(x)


def silu(x: Value) -> Value:
    """The sigmoid linear unit x * sigmoid(x), also called swish (Ramachandran et al., 2017), in the dtype of x.

    x has any shape. Raises DTypeError for other dtypes than floats.

    >>> st.silu(st.tensor([-200.0, 0.0, 1.0]))
    tensor([-0.       ,  0.       ,  0.7310586])
    """
    return Silu()(x)


def normalize(x: Value, *, axis: Axes = -1, eps: float = 1e-5) -> Value:
    """The numbers (x - mean) / sqrt(variance + `eps`), with both taken over axis: one, several, or None for all.

    Shape and dtype of x; the variance is divided by n. 16-bit floats are averaged in float32. Raises DTypeError for
    other dtypes than floats. `layer_norm` is this over the last axes, with a scale.

    >>> st.normalize(st.tensor([[1.0, 3.0], [10.0, 30.0]]), eps=0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    return Normalize(over(axis, x.ndim), eps)(x)


def layer_norm(x: Value, weight: Value | None = None, bias: Value | None = None, *, axes: int = 1,
               eps: float = 1e-5) -> Value:
    """The elements of x normalised over its last `axes` axes, times `weight`, plus `bias` (Ba et al., 2016).

    (x - mean) / sqrt(variance + `eps`), with the variance divided by n; weight and bias have the shape of those axes.
    Raises ShapeError where axes is more than x has, and DTypeError for other dtypes than floats.

    >>> x = st.tensor([[1.0, 3.0], [10.0, 30.0]])
    >>> st.layer_norm(x, weight=st.tensor([1.0, 2.0]), bias=st.ones(2), eps=0).tolist()
    [[0.0, 3.0], [0.0, 3.0]]
    """
    y = normalize(x, axis=tuple(range(-whole(axes, "axes of layer_norm", 1, x.ndim), 0)), eps=eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def linear(x: Value, weight: Value, bias: Value | None = None) -> Value:
    """x @ weight.T + bias: (..., inputs) -> (..., outputs) for a weight (outputs, inputs)."""
    y = matmul(x, swap_last(weight))
    return y if bias is None else y + bias


def pick(x: Value, labels: Value, *, axis: int = -1) -> Value:
    """The element of x at each label along an axis: y[i, j] = x[i, `labels`[i, j], j] for axis 1 of three.

    labels are integers in the shape of x without that axis, which is that of the result. An element is compared with
    its position, not fetched, so the pick fuses with what made x, and so does its gradient. Raises ShapeError for
    labels of another shape, DTypeError for other than integers and, when run, IndexOutOfRange for one outside of 0 .. n
    - 1.

    >>> st.pick(st.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), st.tensor([2, 0])).tolist()
    [3.0, 4.0]
    """
    axis = axis_of(axis, x.ndim)
    outer = (*x.shape[:axis], *x.shape[axis + 1:])
    if len(outer) != labels.ndim or not all(same(a, b) for a, b in zip(outer, labels.shape)):
        raise ShapeError(f"labels need the shape {show(outer)} of x without axis {axis}, got {show(labels.shape)}")
    n = x.shape[axis]
    index = int32 if isinstance(n, int) and n < 1 << 31 else int64
    checked = cast(expand_dims(labelled(labels, n), (axis,)), index)
    return cast(sum(Select()(Equal()(iota_like(x, axis, index), checked), x, 0), axis=axis), x.dtype)


def labelled(labels: Value, classes: Dim) -> Value:
    """Integer labels, each checked to be one of 0 .. classes - 1 when the program runs."""
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"labels are integers, each the number of a class, got {labels.type}",
                         hint="Write labels.astype('int64'), or labels.argmax(axis=1) of one-hot ones.")
    return CheckIndex(classes)(labels)


def one_hot(labels: Value, *, classes: int, dtype: DType = float32) -> Value:
    """The labels as rows of 0 with a 1 at the label: labels.shape + (`classes`,), float32 unless a dtype is given.

    Raises DTypeError for `labels` other than integers and, when run, IndexOutOfRange for one outside of 0 .. classes -
    1.

    >>> st.one_hot(st.tensor([2, 0]), classes=3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    checked = expand_dims(cast(labelled(labels, classes), int64), (labels.ndim,))
    return cast(Equal()(Iota((*labels.shape, classes), labels.ndim, int64)(), checked), dtype)


def cross_entropy(logits: Value, labels: Value, *, axis: int = -1, reduction: Reduction = "mean",
                  weight: Value | None = None, ignore_index: int | None = None, label_smoothing: float = 0.0) -> Value:
    """The mean of -log(softmax(logits)[label]) along an axis, for integer labels or for probabilities of the classes.

    Integer `labels` have the shape of `logits` without the axis of classes, probabilities have that of the logits. A
    `weight` for each class multiplies its losses, a label of `ignore_index` has none, and the mean is then over the
    weights that took part; `label_smoothing` mixes the labels with as much of a uniform distribution (PyTorch's rules).
    `reduction` is "mean", "sum", or "none" for the losses one by one. Raises ShapeError for labels of another shape,
    DTypeError for logits that are no floats and labels that are no integers, OptionError for another reduction and,
    when run, IndexOutOfRange for a label that is no class.

    >>> logits = st.tensor([[0.0, 0.0], [0.0, 1000.0]])
    >>> st.cross_entropy(logits, st.tensor([0, 1]), reduction="none")
    tensor([0.6931472, 0.       ])
    >>> st.cross_entropy(logits, st.tensor([0, 0]))
    tensor(500.3466)
    >>> st.cross_entropy(logits, st.tensor([0, -1]), ignore_index=-1), st.cross_entropy(logits, st.ones((2, 2)) / 2)
    (tensor(0.6931472), tensor(250.34657))
    """
    axis = axis_of(axis, logits.ndim)
    log_p, smoothing = log_softmax(logits, axis=axis), number(label_smoothing, "label_smoothing", 0, 1)
    if not labels.dtype.is_float or labels.ndim != logits.ndim:
        return likelihood(log_p, labels, axis, reduction, weight, ignore_index, smoothing)
    if not all(same(a, b) for a, b in zip(labels.shape, logits.shape)):
        raise ShapeError(f"probabilities need the shape {show(logits.shape)} of the logits, got {show(labels.shape)}")
    spread = labels * (1 - smoothing) + smoothing / cast(extent(logits.shape[axis]), log_p.dtype) \
        if smoothing else labels
    return reduced(-sum(by_class(log_p, weight, axis) * spread, axis=axis), reduction)


def likelihood(log_p: Value, labels: Value, axis: int, reduction: str, weight: Value | None = None,
               ignored: int | None = None, smoothing: float = 0.0) -> Value:
    """The loss -log_p[label], with weights, an ignored label and smoothing as of `cross_entropy`."""
    kept = None if ignored is None or labels.dtype.kind not in "iu" else NotEqual()(cast(labels, int64), ignored)
    labels = labels if kept is None else Select()(kept, labels, zeros_like(labels))
    loss = -pick(log_p, labels, axis=axis)
    shares = None if weight is None else Gather(0)(
        per_class(weight, log_p.shape[axis]), labelled(labels, log_p.shape[axis]))
    loss = loss if shares is None else loss * shares
    if smoothing:
        loss = loss * (1 - smoothing) - mean(by_class(log_p, weight, axis), axis=axis) * smoothing
    loss = loss if kept is None else Select()(kept, loss, zeros_like(loss))
    if reduction != "mean" or (kept is None and shares is None):
        return reduced(loss, reduction)
    shares = cast(kept, loss.dtype) if shares is None else shares  # type: ignore[arg-type]
    shares = shares if kept is None else Select()(kept, shares, zeros_like(shares))
    return cast(sum(widened(loss)) / sum(widened(shares)), loss.dtype)


def by_class(x: Value, weight: Value | None, axis: int) -> Value:
    """x times a weight for each class along an axis."""
    return x if weight is None else x * reshape(per_class(weight, x.shape[axis]), (-1, *(1,) * (x.ndim - 1 - axis)))


def per_class(weight: Value, classes: Dim) -> Value:
    """A weight of each class; raises ShapeError for one of other classes."""
    if weight.ndim != 1 or not same(weight.shape[0], classes):
        raise ShapeError(f"a weight has a number for each of {classes} classes, got shape {show(weight.shape)}")
    return weight


def binary_cross_entropy(logits: Value, targets: Value, *, reduction: Reduction = "mean") -> Value:
    """The mean of -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), for `logits` x and `targets` t from 0 to 1.

    Computed as softplus(x) - x t, so that no x overflows: give what goes into a sigmoid, not what comes out. Both
    broadcast; `reduction` is "mean", "sum", or "none" for the losses one by one (OptionError for another). Integers
    become float32.

    >>> st.binary_cross_entropy(st.tensor([0.0, 1000.0]), st.tensor([1.0, 0.0]), reduction="none")
    tensor([6.931472e-01, 1.000000e+03])
    """
    return reduced(softplus(logits) - logits * targets, reduction)


def mse(x: Value, target: Value, *, reduction: Reduction = "mean") -> Value:
    """The mean squared difference of x and `target`, which broadcast against each other.

    `reduction` is "mean", "sum", or "none" for the squares one by one; OptionError for another. `nn.mse_loss` refuses
    shapes that differ, where (N, 1) and (N,) would make (N, N). Integers become float32.

    >>> st.mse(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    4.5
    >>> st.mse(st.zeros((3, 1)), st.zeros(3), reduction="none").shape
    (3, 3)
    """
    return reduced(square(x - target), reduction)


def reduced(loss: Value, reduction: str) -> Value:
    """A loss per element under its reduction."""
    return REDUCTIONS[reduction](loss)


REDUCTIONS: dict[str, Callable[[Value], Value]] = {"mean": mean, "sum": sum, "none": lambda loss: loss}
