"""Losses: the one that most networks end with, and all of them as layers."""
from __future__ import annotations

from collections.abc import Callable
from math import prod

from stele.arrays import functions as F
from stele.arrays.tensor import Tensor, constant
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.ir.door import public
from stele.nn import functional
from stele.nn.applied import Applied
from stele.nn.layers import Linear
from stele.nn.module import Module
from stele.ops.arguments import FORMS, flag, is_array, positive, wholes


@public
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log(softmax(logits)[label]) over a batch, with classes on axis 1 (PyTorch's CrossEntropyLoss).

    `logits` are (N, C) with `labels` (N,), or (N, C, ...) with (N, ...), a label for each pixel; labels are integers
    from 0 to C - 1. `nn.functional.cross_entropy` knows weights, labels to ignore, smoothing and probabilities. Raises
    ShapeError for other shapes and, when run, IndexOutOfRange for another label.

    >>> logits = st.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> nn.cross_entropy(logits, st.tensor([0, 2]))
    tensor(0.2395448)
    >>> nn.cross_entropy(st.zeros((8, 10, 4, 4)), st.zeros((8, 4, 4), dtype="int64"))
    tensor(2.3025854)
    """
    logits, labels = constant(logits), constant(labels)
    if logits.ndim < 2 or labels.shape != (logits.shape[0], *logits.shape[2:]):
        hint = None
        if labels.ndim == logits.ndim > 1:
            hint = "Write labels.squeeze(1)." if labels.shape[1] == 1 else \
                "One-hot labels become integers with labels.argmax(axis=1)."
        elif logits.shape[-1:] != logits.shape[1:2] and labels.shape == logits.shape[:-1]:
            hint = "Classes stand on axis 1: write st.moveaxis(logits, -1, 1)."
        raise ShapeError("cross_entropy needs logits (N, C) and labels (N,), or (N, C, ...) and (N, ...), "
                         f"got {logits.shape} and {labels.shape}", hint=hint)
    return F.cross_entropy(logits, labels, axis=1)


class L1Loss(Applied):
    """The mean absolute difference, as of `nn.functional.l1_loss`.

    `reduction` is "mean", "sum" or "none". Both have one shape. Integers become float32. Raises ShapeError where they
    differ, OptionError for another reduction.

    >>> nn.L1Loss()(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    1.5
    """

    function = staticmethod(functional.l1_loss)

    @speaks
    def __init__(self, reduction: str = "mean") -> None:
        self.keep(reduction=reduction)


class MSELoss(Applied):
    """The mean squared difference, as of `nn.functional.mse_loss`.

    `reduction` is "mean", "sum" or "none". Both have one shape. Integers become float32. Raises ShapeError where they
    differ, OptionError for another reduction.

    >>> nn.MSELoss()(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    4.5
    """

    function = staticmethod(functional.mse_loss)

    @speaks
    def __init__(self, reduction: str = "mean") -> None:
        self.keep(reduction=reduction)


class SmoothL1Loss(Applied):
    """The mean of squared differences below `beta` and absolute ones above, as of `nn.functional.smooth_l1_loss`.

    `reduction` is "mean", "sum" or "none". Both have one shape. Integers become float32. Raises ShapeError where they
    differ, OptionError for another reduction.

    >>> nn.SmoothL1Loss()(st.tensor([3.0]), st.zeros(1)).tolist()
    2.5
    """

    function = staticmethod(functional.smooth_l1_loss)

    @speaks
    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        self.keep(reduction=reduction, beta=beta)


class HuberLoss(Applied):
    """The mean of squared differences up to `delta` and absolute ones above, as of `nn.functional.huber_loss`.

    `reduction` is "mean", "sum" or "none". Both have one shape. Integers become float32. Raises ShapeError where they
    differ, OptionError for another reduction.

    >>> nn.HuberLoss()(st.tensor([3.0]), st.zeros(1)).tolist()
    2.5
    """

    function = staticmethod(functional.huber_loss)

    @speaks
    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self.keep(reduction=reduction, delta=delta)


class CrossEntropyLoss(Applied):
    """The cross-entropy of logits and labels, or probabilities, as of `nn.functional.cross_entropy`.

    `weight`, `ignore_index` and `label_smoothing` are those of the function; `reduction` is "mean", "sum" or "none". An
    input (N, C) has a target (N,), one (N, C, ...) one (N, ...). Raises ShapeError for other shapes, DTypeError for
    other dtypes than floats, OptionError for another reduction.

    >>> nn.CrossEntropyLoss()(st.zeros((8, 10)), st.zeros(8, dtype="int64"))
    tensor(2.3025854)
    """

    function = staticmethod(functional.cross_entropy)

    @speaks
    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        self.keep(weight=weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)


class LinearCrossEntropyLoss(Module):
    """A `Linear` layer and the cross-entropy of its logits, which are never all in memory.

    Called with features (N, `in_features`) or (in_features,) and a target, labels (N,) or () from 0 to `num_classes` -
    1, as of `nn.functional.linear_cross_entropy`; `linear` holds the weight (num_classes, in_features) and, with
    `bias`, the bias. With `out_features` there are so many predictions for each row: the weight has num_classes times
    as many rows, and the target is (N, *out_features). `weight`, `ignore_index` and `label_smoothing` are those of the
    function; `reduction` is "mean", "sum" or "none". Raises ShapeError for other shapes, OptionError for another
    reduction. In the dtype of the features.

    >>> layer = nn.LinearCrossEntropyLoss(4, 10)
    >>> layer(st.zeros((8, 4)), st.arange(8)).detach()
    tensor(2.3025851)
    """

    @speaks
    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
                 reduction: str = "mean", weight: Tensor | None = None, ignore_index: int | None = None,
                 label_smoothing: float = 0.0) -> None:
        name = type(self).__name__
        self.in_features = positive(in_features, f"in_features of {name}")
        self.num_classes = positive(num_classes, f"num_classes of {name}")
        self.out_features = wholes(out_features, f"out_features of {name}", 1)
        self.linear = Linear(in_features, num_classes * prod(self.out_features), flag(bias, f"bias of {name}"))
        self.weight = constant(weight) if is_array(weight) else weight
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.reduction = FORMS["Reduction"](reduction, f"reduction of {name}")

    def extra_repr(self) -> str:
        more = {"out_features": (), "reduction": "mean", "ignore_index": None, "label_smoothing": 0.0}
        said = [f"{name}={held!r}" for name, usual in more.items() if (held := getattr(self, name)) != usual]
        return ", ".join([f"{self.in_features}, {self.num_classes}", *["bias=True"] * (self.linear.bias is not None),
                          *said])

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        w, b = self.linear.weight, self.linear.bias
        if self.out_features:
            shape = self.num_classes, *self.out_features
            w, b = w.reshape(*shape, -1), None if b is None else b.reshape(shape)
        return functional.linear_cross_entropy(
            constant(x), w, target, linear_bias=b, weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing)


class NLLLoss(Applied):
    """The negative log-likelihood of labels under log-probabilities, as of `nn.functional.nll_loss`.

    `weight` and `ignore_index` are those of the function; `reduction` is "mean", "sum" or "none". An input (N, C) has a
    target (N,), one (N, C, ...) one (N, ...). Raises ShapeError for other shapes, DTypeError for labels that are no
    integers, OptionError for another reduction.

    >>> nn.NLLLoss()(st.tensor([[-1.0, -3.0]]), st.tensor([1])).tolist()
    3.0
    """

    function = staticmethod(functional.nll_loss)

    @speaks
    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        self.keep(weight=weight, ignore_index=ignore_index, reduction=reduction)


class BCELoss(Applied):
    """The binary cross-entropy of probabilities, as of `nn.functional.binary_cross_entropy`.

    A `weight` multiplies each loss; `reduction` is "mean", "sum" or "none". Both have one shape. Raises ShapeError
    where they differ, DTypeError for bools and complex numbers, OptionError for another reduction.

    >>> nn.BCELoss()(st.tensor([0.5]), st.tensor([1.0]))
    tensor(0.6931472)
    """

    function = staticmethod(functional.binary_cross_entropy)

    @speaks
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        self.keep(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(Applied):
    """The binary cross-entropy of what goes into a sigmoid, as of `nn.functional.binary_cross_entropy_with_logits`.

    A `weight` multiplies each loss, a `pos_weight` what belongs to the target; `reduction` is "mean", "sum" or "none".
    Both have one shape. Raises ShapeError where they differ, DTypeError for complex numbers, OptionError for another
    reduction.

    >>> nn.BCEWithLogitsLoss()(st.tensor([0.0]), st.tensor([1.0]))
    tensor(0.6931472)
    """

    function = staticmethod(functional.binary_cross_entropy_with_logits)

    @speaks
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        self.keep(weight=weight, reduction=reduction, pos_weight=pos_weight)


class KLDivLoss(Applied):
    """The divergence of Kullback and Leibler of log-probabilities, as of `nn.functional.kl_div`.

    With `log_target` the target is given by its logarithms. `reduction` is "mean", "batchmean", "sum" or "none". Shapes
    broadcast. Raises ShapeError where they do not, DTypeError for a complex target, OptionError for another reduction.

    >>> nn.KLDivLoss(reduction="batchmean")(st.log(st.tensor([[0.25, 0.75]])), st.tensor([[0.5, 0.5]]))
    tensor(0.14384103)
    """

    function = staticmethod(functional.kl_div)

    @speaks
    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        self.keep(reduction=reduction, log_target=log_target)


class PoissonNLLLoss(Applied):
    """The negative log-likelihood of counts under Poisson distributions, as of `nn.functional.poisson_nll_loss`.

    `log_input`, `full` and `eps` are those of the function; `reduction` is "mean", "sum" or "none". Shapes broadcast.
    Integers become float32. Raises ShapeError where they do not, OptionError for another reduction.

    >>> nn.PoissonNLLLoss()(st.tensor([0.0]), st.tensor([2.0])).tolist()
    1.0
    """

    function = staticmethod(functional.poisson_nll_loss)

    @speaks
    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        self.keep(log_input=log_input, full=full, eps=eps, reduction=reduction)


class GaussianNLLLoss(Applied):
    """The negative log-likelihood under normal distributions, as of `nn.functional.gaussian_nll_loss`.

    Called with means, a target and variances. `full` and `eps` are those of the function; `reduction` is "mean", "sum"
    or "none". Shapes broadcast. Raises ShapeError where they do not, DTypeError for complex variances, OptionError for
    another reduction.

    >>> nn.GaussianNLLLoss()(st.tensor([2.0]), st.zeros(1), st.ones(1)).tolist()
    2.0
    """

    function = staticmethod(functional.gaussian_nll_loss)

    @speaks
    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.keep(full=full, eps=eps, reduction=reduction)


class SoftMarginLoss(Applied):
    """The logistic loss of targets -1 and 1, as of `nn.functional.soft_margin_loss`.

    `reduction` is "mean", "sum" or "none". Both have one shape. Raises ShapeError where they differ, DTypeError for
    complex numbers, OptionError for another reduction.

    >>> nn.SoftMarginLoss()(st.tensor([0.0]), st.tensor([1.0]))
    tensor(0.6931472)
    """

    function = staticmethod(functional.soft_margin_loss)

    @speaks
    def __init__(self, reduction: str = "mean") -> None:
        self.keep(reduction=reduction)


class HingeEmbeddingLoss(Applied):
    """The loss of distances of pairs that belong together, 1, or do not, -1.

    The latter are to be `margin` apart; `reduction` is "mean", "sum" or "none". As of
    `nn.functional.hinge_embedding_loss`. Shapes broadcast. Raises ShapeError where they do not, DTypeError for complex
    numbers, OptionError for another reduction.

    >>> nn.HingeEmbeddingLoss()(st.tensor([0.25]), st.tensor([-1.0])).tolist()
    0.75
    """

    function = staticmethod(functional.hinge_embedding_loss)

    @speaks
    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        self.keep(margin=margin, reduction=reduction)


class MarginRankingLoss(Applied):
    """The loss of pairs, of which one is to be larger by a `margin`, as of `nn.functional.margin_ranking_loss`.

    Called with both and a target of 1 or -1; `reduction` is "mean", "sum" or "none". Shapes broadcast. Raises
    ShapeError where they do not, DTypeError for complex numbers, OptionError for another reduction.

    >>> nn.MarginRankingLoss()(st.tensor([3.0]), st.tensor([1.0]), st.tensor([-1.0])).tolist()
    2.0
    """

    function = staticmethod(functional.margin_ranking_loss)

    @speaks
    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.keep(margin=margin, reduction=reduction)


class CosineEmbeddingLoss(Applied):
    """The loss of angles of vectors that belong together, 1, or do not, -1.

    The cosine of the latter is to be below the `margin`; `reduction` is "mean", "sum" or "none". As of
    `nn.functional.cosine_embedding_loss`. Raises ShapeError for other shapes, DTypeError for complex numbers,
    OptionError for another reduction.

    >>> nn.CosineEmbeddingLoss()(st.ones((1, 2)), st.tensor([[1.0, -1.0]]), st.tensor([1.0])).tolist()
    1.0
    """

    function = staticmethod(functional.cosine_embedding_loss)

    @speaks
    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.keep(margin=margin, reduction=reduction)


class TripletMarginLoss(Applied):
    """The loss of triplets: what is like the first is to be nearer than what is not.

    By a `margin`; `p`, `eps` and `swap` are those of the function; `reduction` is "mean", "sum" or "none". As of
    `nn.functional.triplet_margin_loss`. Shapes broadcast. Integers become float32. Raises ShapeError where they do not,
    OptionError for another reduction.

    >>> nn.TripletMarginLoss()(st.zeros((1, 2)), st.ones((1, 2)), st.ones((1, 2))).tolist()
    1.0
    """

    function = staticmethod(functional.triplet_margin_loss)

    @speaks
    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                 reduction: str = "mean") -> None:
        self.keep(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)


class TripletMarginWithDistanceLoss(Applied):
    """The loss of triplets by a distance of one's own, as of `nn.functional.triplet_margin_with_distance_loss`.

    `distance_function`, `margin` and `swap` are those of the function; `reduction` is "mean", "sum" or "none". Shapes
    broadcast. Integers become float32. Raises ShapeError where they do not, OptionError for another reduction.

    >>> nn.TripletMarginWithDistanceLoss()(st.zeros((1, 2)), st.ones((1, 2)), st.ones((1, 2))).tolist()
    1.0
    """

    function = staticmethod(functional.triplet_margin_with_distance_loss)

    @speaks
    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
                 swap: bool = False, reduction: str = "mean") -> None:
        self.keep(distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)


class MultiMarginLoss(Applied):
    """The hinge loss of classes, as of `nn.functional.multi_margin_loss`.

    `p`, `margin` and `weight` are those of the function; `reduction` is "mean", "sum" or "none". An input (N, C) has a
    target (N,). Raises ShapeError for other shapes, DTypeError for bools and complex numbers, OptionError for another
    reduction.

    >>> nn.MultiMarginLoss()(st.tensor([[1.0, 0.5]]), st.tensor([0])).tolist()
    0.25
    """

    function = staticmethod(functional.multi_margin_loss)

    @speaks
    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean") -> None:
        self.keep(p=p, margin=margin, weight=weight, reduction=reduction)


class MultiLabelMarginLoss(Applied):
    """The hinge loss of several labels at once, as of `nn.functional.multilabel_margin_loss`.

    `reduction` is "mean", "sum" or "none". Both have one shape. Raises ShapeError where they differ, DTypeError for
    complex numbers, OptionError for another reduction.

    >>> nn.MultiLabelMarginLoss()(st.tensor([0.0, 1.0]), st.tensor([1, -1])).tolist()
    0.0
    """

    function = staticmethod(functional.multilabel_margin_loss)

    @speaks
    def __init__(self, reduction: str = "mean") -> None:
        self.keep(reduction=reduction)


class MultiLabelSoftMarginLoss(Applied):
    """The binary cross-entropy of several labels at once, as of `nn.functional.multilabel_soft_margin_loss`.

    A `weight` multiplies what belongs to a class; `reduction` is "mean", "sum" or "none". Both have one shape. Raises
    ShapeError where they differ, DTypeError for complex numbers, OptionError for another reduction.

    >>> nn.MultiLabelSoftMarginLoss()(st.zeros((1, 2)), st.tensor([[1.0, 0.0]]))
    tensor(0.6931472)
    """

    function = staticmethod(functional.multilabel_soft_margin_loss)

    @speaks
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        self.keep(weight=weight, reduction=reduction)


class CTCLoss(Applied):
    """The loss of sequences of labels over all their alignments, as of `nn.functional.ctc_loss`.

    Called with log-probabilities (T, N, C), labels, and both lengths. `blank` and `zero_infinity` are those of the
    function; `reduction` is "mean", "sum" or "none". Raises ShapeError for other shapes, DTypeError for complex
    numbers, OptionError for another reduction.

    >>> st.exp(-nn.CTCLoss()(st.log(st.full((2, 1, 2), 0.5)), st.tensor([[1]]), [2], [1]))
    tensor(0.75)
    """

    function = staticmethod(functional.ctc_loss)

    @speaks
    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        self.keep(blank=blank, reduction=reduction, zero_infinity=zero_infinity)


class FocalLoss(Applied):
    """The cross-entropy of each example times (1 - p) ** `gamma`, as of `nn.functional.focal_loss`.

    `alpha` is for targets of yes and no, `weight` and `ignore_index` are for labels, as of the function; `reduction` is
    "mean", "sum" or "none". Logits (N, C, ...) have labels (N, ...), or a target of their shape. Raises ShapeError for
    other shapes, DTypeError for complex numbers, OptionError for another reduction.

    >>> nn.FocalLoss(gamma=1.0)(st.zeros((1, 2)), st.tensor([0]))
    tensor(0.3465736)
    """

    function = staticmethod(functional.focal_loss)

    @speaks
    def __init__(self, gamma: float = 2.0, alpha: float | None = None, weight: Tensor | None = None,
                 ignore_index: int = -100, reduction: str = "mean") -> None:
        self.keep(gamma=gamma, alpha=alpha, weight=weight, ignore_index=ignore_index, reduction=reduction)


class DiceLoss(Applied):
    """1 - 2 * sum(p * t) / (sum(p) + sum(t)) of the masks of each class, as of `nn.functional.dice_loss`.

    `smooth` and `ignore_index` are those of the function; `reduction` is "mean", "sum" or "none". Logits (N, C, ...)
    have labels (N, ...), or masks of their shape. Raises ShapeError for other shapes, DTypeError for complex numbers,
    OptionError for another reduction.

    >>> nn.DiceLoss()(st.zeros((1, 1, 4)), st.ones((1, 1, 4)))
    tensor(0.28571427)
    """

    function = staticmethod(functional.dice_loss)

    @speaks
    def __init__(self, smooth: float = 1.0, ignore_index: int = -100, reduction: str = "mean") -> None:
        self.keep(smooth=smooth, ignore_index=ignore_index, reduction=reduction)


class InfoNCELoss(Applied):
    """The cross-entropy of telling which vector belongs to which, as of `nn.functional.info_nce`.

    Called with queries (N, D), what belongs to them (N, D) and, if there are others, negatives (M, D) or (N, M, D).
    Cosines are divided by `temperature`; `reduction` is "mean", "sum" or "none". Raises ShapeError for other shapes,
    DTypeError for complex numbers, OptionError for another reduction.

    >>> nn.InfoNCELoss(temperature=1.0)(st.eye(2), st.eye(2))
    tensor(0.31326166)
    """

    function = staticmethod(functional.info_nce)

    @speaks
    def __init__(self, temperature: float = 0.1, reduction: str = "mean") -> None:
        self.keep(temperature=temperature, reduction=reduction)
