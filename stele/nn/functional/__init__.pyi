"""The functions of networks under PyTorch's names, arguments and defaults, and some that it lacks.

`inplace` says that the input is not needed any more: programs write over what nobody reads, so it changes nothing here."""
# Written by tools/make_stubs.py.
from collections.abc import Sequence
from typing import Literal
from typing import overload
from stele.arrays.tensor import DTypeLike
from stele.arrays.tensor import Tensor
from stele.arrays.tensor import TensorLike
from typing import Any
from stele.nn.functional.attention import scaled_dot_product_attention
from stele.nn.functional.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, fractional_max_pool2d, fractional_max_pool3d, gumbel_softmax, rrelu
from stele.nn.functional.normalization import batch_norm, instance_norm
from stele.nn.functional.sparse import embedding, embedding_bag, one_hot
from stele.nn.functional.triplets import triplet_margin_with_distance_loss

__all__ = ['adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_avg_pool3d', 'adaptive_max_pool1d',
    'adaptive_max_pool2d', 'adaptive_max_pool3d', 'affine_grid', 'alpha_dropout', 'avg_pool1d', 'avg_pool2d',
    'avg_pool3d', 'batch_norm', 'bilinear', 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'celu',
    'channel_shuffle', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d',
    'cosine_embedding_loss', 'cosine_similarity', 'cross_entropy', 'ctc_loss', 'dice_loss', 'dropout', 'dropout1d',
    'dropout2d', 'dropout3d', 'elu', 'embedding', 'embedding_bag', 'feature_alpha_dropout', 'focal_loss', 'fold',
    'fractional_max_pool2d', 'fractional_max_pool3d', 'gaussian_nll_loss', 'gelu', 'glu', 'grid_sample', 'group_norm',
    'gumbel_softmax', 'hardshrink', 'hardsigmoid', 'hardswish', 'hardtanh', 'hinge_embedding_loss', 'huber_loss',
    'info_nce', 'instance_norm', 'interpolate', 'kl_div', 'l1_loss', 'layer_norm', 'leaky_relu', 'linear',
    'linear_cross_entropy', 'local_response_norm', 'log_softmax', 'logsigmoid', 'lp_pool1d', 'lp_pool2d', 'lp_pool3d',
    'margin_ranking_loss', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'max_unpool1d', 'max_unpool2d', 'max_unpool3d',
    'mish', 'mse_loss', 'multi_margin_loss', 'multilabel_margin_loss', 'multilabel_soft_margin_loss', 'nll_loss',
    'normalize', 'one_hot', 'pad', 'pairwise_distance', 'pdist', 'pixel_shuffle', 'pixel_unshuffle', 'poisson_nll_loss',
    'prelu', 'relu', 'relu6', 'rms_norm', 'rrelu', 'scaled_dot_product_attention', 'selu', 'sigmoid', 'silu',
    'smooth_l1_loss', 'soft_margin_loss', 'softmax', 'softmin', 'softplus', 'softshrink', 'softsign', 'tanh',
    'tanhshrink', 'threshold', 'triplet_margin_loss', 'triplet_margin_with_distance_loss', 'unfold', 'upsample']
def relu(input: TensorLike, inplace: bool=False) -> Tensor:
    """The rectified linear unit max(x, 0), in the dtype of the input.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.relu(st.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
def relu6(input: TensorLike, inplace: bool=False) -> Tensor:
    """The rectifier between bounds, min(max(x, 0), 6). Its derivative is 0 at both of them.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.relu6(st.tensor([-1.0, 2.0, 9.0])).tolist()
    [0.0, 2.0, 6.0]
    """
def hardtanh(input: TensorLike, min_val: float=-1.0, max_val: float=1.0, inplace: bool=False) -> Tensor:
    """The elements of x, those below `min_val` or above `max_val` set to these. The derivative at both bounds is 0.

    Integers become float32. x has any shape. Raises ShapeError where min_val is above max_val.

    >>> F.hardtanh(st.tensor([-2.0, 0.5, 2.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
def threshold(input: TensorLike, threshold: float, value: float, inplace: bool=False) -> Tensor:
    """The elements of x above a `threshold`, and the number `value` in place of the others.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.threshold(st.tensor([0.5, 2.0]), 1.0, -7.0).tolist()
    [-7.0, 2.0]
    """
def leaky_relu(input: TensorLike, negative_slope: float=0.01, inplace: bool=False) -> Tensor:
    """The leaky rectifier: x where it is positive, else `negative_slope` * x, the derivative at 0 too (PyTorch's).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.leaky_relu(st.tensor([-2.0, 3.0]), 0.1)
    tensor([-0.2,  3. ])
    """
def prelu(input: TensorLike, weight: TensorLike) -> Tensor:
    """The leaky rectifier whose slope is a parameter: x where it is positive, else `weight` * x (He et al., 2015).

    weight is one number, or one for each channel, which stands on axis 1. Dtypes meet as in `multiply`. Raises
    ShapeError for another number of them.

    >>> F.prelu(st.tensor([[-2.0, -2.0]]), st.tensor([0.1, 0.5])).tolist()
    [[-0.2, -1.0]]
    """
def elu(input: TensorLike, alpha: float=1.0, inplace: bool=False) -> Tensor:
    """The exponential linear unit: x where it is positive, else `alpha` * (exp(x) - 1) (Clevert et al., 2016).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.elu(st.tensor([-100.0, 2.0])).tolist()
    [-1.0, 2.0]
    """
def selu(input: TensorLike, inplace: bool=False) -> Tensor:
    """The scaled exponential linear unit, which keeps mean 0 and variance 1 (Klambauer et al., 2017).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.selu(st.tensor([0.0, 1.0]))
    tensor([0.      , 1.050701])
    """
def celu(input: TensorLike, alpha: float=1.0, inplace: bool=False) -> Tensor:
    """The continuously differentiable `elu`: max(x, 0) + min(0, `alpha` * (exp(x / alpha) - 1)) (Barron, 2017).

    Integers become float32. Raises ShapeError for an alpha of 0.

    >>> F.celu(st.tensor([-100.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
def gelu(input: TensorLike, approximate: str='none') -> Tensor:
    """The Gaussian error linear unit, x times the probability that a standard normal number is below x.

    `approximate="tanh"` takes the formula with tanh of Hendrycks and Gimpel (2016). x has any shape. Raises DTypeError
    for other dtypes than floats, OptionError for another formula.

    >>> F.gelu(st.tensor([-1.0, 1.0]))
    tensor([-0.15865526,  0.8413447 ])
    """
def silu(input: TensorLike, inplace: bool=False) -> Tensor:
    """The sigmoid linear unit x * sigmoid(x), also called swish (Ramachandran et al., 2017).

    x has any shape. Raises DTypeError for other dtypes than floats.

    >>> F.silu(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.7310586])
    """
def mish(input: TensorLike, inplace: bool=False) -> Tensor:
    """The smooth activation x * tanh(softplus(x)) (Misra, 2019).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.mish(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.8650984])
    """
def hardsigmoid(input: TensorLike, inplace: bool=False) -> Tensor:
    """The sigmoid in three straight parts: x / 6 + 1/2, between 0 and 1. Its derivative is 0 at -3, 3 and NaN.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.hardsigmoid(st.tensor([-3.0, 0.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
def hardswish(input: TensorLike, inplace: bool=False) -> Tensor:
    """The swish in straight parts, x * hardsigmoid(x) (Howard et al., 2019).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.hardswish(st.tensor([-3.0, 1.0, 9.0]))
    tensor([0.       , 0.6666667, 9.       ])
    """
def hardshrink(input: TensorLike, lambd: float=0.5) -> Tensor:
    """The elements of x, those from -`lambd` to lambd set to 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.hardshrink(st.tensor([-2.0, 0.3])).tolist()
    [-2.0, 0.0]
    """
def softshrink(input: TensorLike, lambd: float=0.5) -> Tensor:
    """The elements of x moved towards 0 by `lambd`, and 0 where they would pass it. Raises ShapeError for lambd < 0.

    Integers become float32. x has any shape.

    >>> F.softshrink(st.tensor([-2.0, 0.3])).tolist()
    [-1.5, 0.0]
    """
def tanhshrink(input: TensorLike) -> Tensor:
    """The difference x - tanh(x).

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is neither an array nor a number.

    >>> F.tanhshrink(st.tensor([0.0, 1.0]))
    tensor([0.        , 0.23840582])
    """
def softsign(input: TensorLike) -> Tensor:
    """The sigmoid without exponentials, x / (1 + |x|).

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is neither an array nor a number.

    >>> F.softsign(st.tensor([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """
def softplus(input: TensorLike, beta: float=1.0, threshold: float=20.0) -> Tensor:
    """The smooth rectifier log(1 + exp(`beta` * x)) / beta, and x itself where beta * x is above the `threshold`.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.softplus(st.tensor([0.0, 30.0])).tolist()[1], F.softplus(st.tensor(0.0), beta=2.0)
    (30.0, tensor(0.3465736))
    """
def logsigmoid(input: TensorLike) -> Tensor:
    """The logarithm of the sigmoid of x, finite also where that rounds to 0.

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.logsigmoid(st.tensor([0.0, -200.0]))
    tensor([  -0.6931472, -200.       ])
    """
def sigmoid(input: TensorLike) -> Tensor:
    """The logistic function 1 / (1 + exp(-x)).

    x has any shape. Raises DTypeError for complex numbers.

    >>> F.sigmoid(st.tensor([0.0, 2.0]))
    tensor([0.5      , 0.8807971])
    """
def tanh(input: TensorLike) -> Tensor:
    """The hyperbolic tangent, element by element.

    x has any shape and dtype; integers become float32. Raises ArgumentError for what is neither an array nor a number.

    >>> F.tanh(st.tensor([0.0, 1.0]))
    tensor([0.       , 0.7615942])
    """
def glu(input: TensorLike, dim: int=-1) -> Tensor:
    """The gated linear unit a * sigmoid(b) of the first half a and the second half b of an axis (Dauphin et al., 2016).

    The result is half as long along `dim`. Integers become float32. Raises ShapeError for an axis of odd length.

    >>> F.glu(st.tensor([3.0, 4.0, 0.0, 0.0])).tolist()
    [1.5, 2.0]
    """
def softmax(input: TensorLike, dim: int | None=None, dtype: DTypeLike | None=None) -> Tensor:
    """The probabilities exp(x) / sum(exp(x)) along the axis `dim`, after a conversion to `dtype` where one is given.

    PyTorch guesses a dim that is not given from the number of axes; here ArgumentError asks for it.

    >>> F.softmax(st.tensor([[0.0, 0.0], [1000.0, 0.0]]), dim=1).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
def log_softmax(input: TensorLike, dim: int | None=None, dtype: DTypeLike | None=None) -> Tensor:
    """The logarithm of the softmax of x along the axis `dim`, as in `softmax`.

    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> F.log_softmax(st.tensor([0.0, -1000.0]), dim=0).tolist()
    [0.0, -1000.0]
    """
def softmin(input: TensorLike, dim: int | None=None, dtype: DTypeLike | None=None) -> Tensor:
    """The softmax of -x along the axis `dim`, as in `softmax`: the smallest element weighs most.

    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> F.softmin(st.tensor([0.0, 1000.0]), dim=0).tolist()
    [1.0, 0.0]
    """
def adaptive_avg_pool1d(input: TensorLike, output_size: Any) -> Tensor:
    """The means of `output_size` windows that share signals (N, C, L) or (C, L) as evenly as they can.

    Windows and errors are as in `adaptive_avg_pool2d`. Integers become float32. Raises ShapeError for other axes and
    for less than 1 window.

    >>> F.adaptive_avg_pool1d(st.tensor([[1.0, 3.0, 2.0]]), 2).tolist()
    [[2.0, 2.5]]
    """
def adaptive_avg_pool2d(input: TensorLike, output_size: Any) -> Tensor:
    """The means of windows that share images (N, C, H, W) or (C, H, W) as evenly as they can.

    `output_size` is a number, or one for each axis, of which None keeps the axis as it is. Window i of OH has the rows
    i * H // OH to (i + 1) * H / OH, rounded up, so that windows overlap where OH does not divide H. Integers become
    float32. Raises ShapeError for another number of sizes and for sizes below 1.

    >>> F.adaptive_avg_pool2d(st.arange(6.0).reshape(1, 2, 3), (1, 2)).tolist()
    [[[2.0, 3.0]]]
    >>> F.adaptive_avg_pool2d(st.ones((8, 3, 7, 5)), 1).shape
    (8, 3, 1, 1)
    """
def adaptive_avg_pool3d(input: TensorLike, output_size: Any) -> Tensor:
    """The means of windows that share volumes (N, C, D, H, W) or (C, D, H, W) as evenly as they can.

    `output_size` and errors are as in `adaptive_avg_pool2d`. Integers become float32. Raises ShapeError for other axes
    and for less than 1 window.

    >>> F.adaptive_avg_pool3d(st.ones((1, 4, 5, 6)), (2, None, 1)).shape
    (1, 2, 5, 1)
    """
@overload
def adaptive_max_pool1d(input: TensorLike, output_size: Any, return_indices: Literal[False]=False) -> Tensor:
    """The largest elements of `output_size` windows that share signals (N, C, L) or (C, L) as evenly as they can.

    Windows are those of `adaptive_avg_pool2d`, `return_indices` is as in `max_pool2d`. Raises ShapeError for other axes
    and for less than 1 window, DTypeError for complex numbers.

    >>> F.adaptive_max_pool1d(st.tensor([[1.0, 3.0, 2.0]]), 2).tolist()
    [[3.0, 3.0]]
    """
@overload
def adaptive_max_pool1d(input: TensorLike, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
        ...
@overload
def adaptive_max_pool2d(input: TensorLike, output_size: Any, return_indices: Literal[False]=False) -> Tensor:
    """The largest elements of windows that share images (N, C, H, W) or (C, H, W) as evenly as they can.

    `output_size` and windows are as in `adaptive_avg_pool2d`, `return_indices` as in `max_pool2d`. Raises ShapeError
    for other axes and for less than 1 window, DTypeError for complex numbers.

    >>> F.adaptive_max_pool2d(st.arange(6.0).reshape(1, 2, 3), (1, 2)).tolist()
    [[[4.0, 5.0]]]
    """
@overload
def adaptive_max_pool2d(input: TensorLike, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
        ...
@overload
def adaptive_max_pool3d(input: TensorLike, output_size: Any, return_indices: Literal[False]=False) -> Tensor:
    """The largest elements of windows that share volumes (N, C, D, H, W) or (C, D, H, W) as evenly as they can.

    `output_size` and windows are as in `adaptive_avg_pool2d`, `return_indices` as in `max_pool2d`. Raises ShapeError
    for other axes and for less than 1 window, DTypeError for complex numbers.

    >>> F.adaptive_max_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 1).tolist()
    [[[[7.0]]]]
    """
@overload
def adaptive_max_pool3d(input: TensorLike, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
        ...
def nll_loss(input: TensorLike, target: TensorLike, weight: TensorLike | None=None, ignore_index: int=-100, reduction:
        str='mean') -> Tensor:
    """The mean of -x[label] for log-probabilities (N, C), (N, C, ...) or (C,) with classes on axis 1, or alone.

    `target` holds the labels, without the axis of classes. A `weight` (C,) multiplies the loss of each class, a label
    of `ignore_index` has none, and "mean" is over the weights that took part; `reduction` "sum" and "none" are the
    others. Raises ShapeError for other shapes, DTypeError for labels that are no integers and, when run,
    IndexOutOfRange for a label that is no class.

    >>> F.nll_loss(st.log(st.tensor([[0.5, 0.5], [0.25, 0.75]])), st.tensor([0, 1]), reduction="none")
    tensor([0.6931472 , 0.28768212])
    """
def cross_entropy(input: TensorLike, target: TensorLike, weight: TensorLike | None=None, ignore_index: int=-100,
        reduction: str='mean', label_smoothing: float=0.0) -> Tensor:
    """The mean of -log(softmax(x)[label]) for an input (N, C), (N, C, ...) or (C,), classes on axis 1, or alone.

    `target` holds integer labels, without the axis of classes, or floats in the shape of the input: the probabilities
    of the classes. A `weight` (C,) multiplies the loss of each class, a label of `ignore_index` has none, and "mean" is
    over the weights that took part; `reduction` "sum" and "none" are the others. `label_smoothing` s mixes the target
    with s / C for each class. Raises ShapeError for other shapes and, when run, IndexOutOfRange for a label that is no
    class.

    >>> logits = st.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> F.cross_entropy(logits, st.tensor([0, 2])), F.cross_entropy(logits, st.tensor([0, -100]))
    (tensor(0.2395448), tensor(0.2395448))
    """
def multi_margin_loss(input: TensorLike, target: TensorLike, p: int=1, margin: float=1.0, weight: TensorLike |
        None=None, reduction: str='mean') -> Tensor:
    """The hinge loss of classes: the sum of max(0, `margin` - x[y] + x[i]) ** `p` over the others i, over C.

    The input is (N, C) or (C,), `target` y holds labels; p is 1 or 2, a `weight` (C,) multiplies by that of the label.
    `reduction` is "mean", "sum" or "none". Integers become float32. Raises ShapeError for other shapes, OptionError for
    another p.

    >>> F.multi_margin_loss(st.tensor([[1.0, 0.5]]), st.tensor([0])).tolist()
    0.25
    """
def multilabel_margin_loss(input: TensorLike, target: TensorLike, reduction: str='mean') -> Tensor:
    """The hinge loss of several labels: the sum of max(0, 1 - x[y] + x[i]) over labels y and other classes i, over C.

    The input is (N, C) or (C,), `target` of its shape holds labels up to the first negative one. `reduction` is "mean",
    "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> F.multilabel_margin_loss(st.tensor([0.0, 1.0]), st.tensor([1, -1])).tolist()
    0.0
    """
def multilabel_soft_margin_loss(input: TensorLike, target: TensorLike, weight: TensorLike | None=None, reduction:
        str='mean') -> Tensor:
    """The mean over classes, the last axis, of the binary cross-entropy of each, with a `target` of 0 and 1.

    A `weight` multiplies what belongs to a class; `reduction` is "mean", "sum" or "none" of what examples have.
    Integers become float32. Raises ShapeError for a target of another shape.

    >>> F.multilabel_soft_margin_loss(st.zeros((1, 2)), st.tensor([[1.0, 0.0]]))
    tensor(0.6931472)
    """
def conv1d(input: TensorLike, weight: TensorLike, bias: TensorLike | None=None, stride: int | Sequence[int]=1, padding:
        int | Sequence[int | Sequence[int]] | str=0, dilation: int | Sequence[int]=1, groups: int=1) -> Tensor:
    """The cross-correlation of signals (N, C, L) or (C, L) with a `weight` (O, C/groups, K), plus a `bias` (O,).

    `stride`, `padding`, `dilation`, `groups` and errors are as in `conv2d`, for one axis. Raises ShapeError where
    channels do not fit or nothing is left, DTypeError for other dtypes than floats, OptionError for another word as
    padding.

    >>> F.conv1d(st.tensor([[1.0, 2.0, 4.0]]), st.tensor([[[-1.0, 1.0]]]), st.tensor([0.5])).tolist()
    [[1.5, 2.5]]
    """
def conv2d(input: TensorLike, weight: TensorLike, bias: TensorLike | None=None, stride: int | Sequence[int]=1, padding:
        int | Sequence[int | Sequence[int]] | str=0, dilation: int | Sequence[int]=1, groups: int=1) -> Tensor:
    """The cross-correlation of images (N, C, H, W) or (C, H, W) with a `weight` (O, C/groups, KH, KW), plus a `bias`.

    As `st.conv2d`: `stride` and `dilation` are a number, or one per axis; `padding` with zeros too, or
    ((top, bottom), (left, right)), "valid", or "same" (of stride 1). With `groups`, each group of C/groups channels
    makes O/groups. Raises ShapeError where channels do not fit or the kernel is larger than the padded image, and
    DTypeError for other dtypes than floats.

    >>> F.conv2d(st.ones((1, 4, 4)), st.ones((1, 1, 3, 3)), padding="same")[0, 0].tolist()
    [4.0, 6.0, 6.0, 4.0]
    """
def conv3d(input: TensorLike, weight: TensorLike, bias: TensorLike | None=None, stride: int | Sequence[int]=1, padding:
        int | Sequence[int | Sequence[int]] | str=0, dilation: int | Sequence[int]=1, groups: int=1) -> Tensor:
    """The cross-correlation of volumes (N, C, D, H, W) or (C, D, H, W) with a `weight` (O, C/groups, KD, KH, KW).

    A `bias` (O,) is added; `stride`, `padding`, `dilation`, `groups` and errors are as in `conv2d`, for three axes.
    Raises ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats, OptionError
    for another word as padding.

    >>> F.conv3d(st.ones((1, 2, 3, 4, 5)), st.ones((6, 2, 3, 3, 3)), padding=(0, 1, 1)).shape
    (1, 6, 1, 4, 5)
    """
def conv_transpose1d(input: TensorLike, weight: TensorLike, bias: TensorLike | None=None, stride: int | Sequence[int]=1,
        padding: int | Sequence[int | Sequence[int]]=0, output_padding: int | Sequence[int]=0, groups: int=1, dilation:
        int | Sequence[int]=1) -> Tensor:
    """The transpose of `conv1d`, signals (N, C, L) or (C, L) with a `weight` (C, O/groups, K), plus a `bias` (O,).

    `stride`, `padding`, `output_padding`, `groups`, `dilation` and errors are as in `conv_transpose2d`. Raises
    ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats, OptionError for
    another word as padding.

    >>> F.conv_transpose1d(st.tensor([[1.0, 2.0]]), st.tensor([[[1.0, 10.0]]]), stride=2).tolist()
    [[1.0, 10.0, 2.0, 20.0]]
    """
def conv_transpose2d(input: TensorLike, weight: TensorLike, bias: TensorLike | None=None, stride: int | Sequence[int]=1,
        padding: int | Sequence[int | Sequence[int]]=0, output_padding: int | Sequence[int]=0, groups: int=1, dilation:
        int | Sequence[int]=1) -> Tensor:
    """The transpose of `conv2d`, images (N, C, H, W) or (C, H, W) with a `weight` (C, O/groups, KH, KW), plus a `bias`.

    As `st.conv_transpose2d`: OH = (H - 1) * `stride` - 2 * `padding` + `dilation` * (KH - 1) + `output_padding` + 1,
    all of them a number or one per axis. With `groups`, each group of C/groups channels makes O/groups. Raises
    ShapeError where channels do not fit or nothing is left, DTypeError for other dtypes than floats.

    >>> F.conv_transpose2d(st.ones((1, 2, 2)), st.ones((1, 1, 2, 2)))[0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
def conv_transpose3d(input: TensorLike, weight: TensorLike, bias: TensorLike | None=None, stride: int | Sequence[int]=1,
        padding: int | Sequence[int | Sequence[int]]=0, output_padding: int | Sequence[int]=0, groups: int=1, dilation:
        int | Sequence[int]=1) -> Tensor:
    """The transpose of `conv3d`, volumes (N, C, D, H, W) or (C, D, H, W) with a `weight` (C, O/groups, KD, KH, KW).

    A `bias` (O,) is added; `stride`, `padding`, `output_padding`, `groups`, `dilation` and errors are as in
    `conv_transpose2d`, for three axes. Raises ShapeError where channels do not fit or nothing is left, DTypeError for
    other dtypes than floats, OptionError for another word as padding.

    >>> F.conv_transpose3d(st.ones((1, 2, 3, 4, 4)), st.ones((2, 5, 3, 3, 3)), stride=2, padding=1).shape
    (1, 5, 5, 7, 7)
    """
def linear(input: TensorLike, weight: TensorLike, bias: TensorLike | None=None) -> Tensor:
    """The affine map x @ weight.T + bias of the last axis: (..., inputs) -> (..., outputs).

    `weight` is (outputs, inputs) and `bias` (outputs,), or a row (inputs,) and a number. Dtypes meet as in `multiply`.
    Raises ShapeError for another last axis.

    >>> F.linear(st.tensor([1.0, 2.0]), st.tensor([[1.0, 1.0], [0.0, 3.0]]), st.ones(2)).tolist()
    [4.0, 7.0]
    """
def bilinear(input1: TensorLike, input2: TensorLike, weight: TensorLike, bias: TensorLike | None=None) -> Tensor:
    """The sum over i and j of a[i] * weight[o, i, j] * b[j], plus bias[o], of last axes: (..., outputs).

    `input1` (..., I) holds a, `input2` (..., J) b; `weight` is (outputs, I, J) and `bias` (outputs,). Dtypes meet as in
    `multiply`. Raises ShapeError where they do not fit.

    >>> F.bilinear(st.tensor([1.0, 2.0]), st.tensor([3.0]), st.ones((1, 2, 1))).tolist()
    [9.0]
    """
def ctc_loss(log_probs: TensorLike, targets: TensorLike, input_lengths: Any, target_lengths: Any, blank: int=0,
        reduction: str='mean', zero_infinity: bool=False) -> Tensor:
    """The negative log-probability of sequences of labels, over all their alignments (Graves et al., 2006).

    `log_probs` are (T, N, C), what `log_softmax` gives, of T steps; `targets` (N, S) hold the labels, or all of them
    one behind the other, (sum of lengths,). Of example n the first `input_lengths[n]` steps and `target_lengths[n]`
    labels count; both are tensors or sequences of numbers. `blank` is the class between labels. One example, without N,
    is taken too. `reduction` "mean" divides each loss by its number of labels and takes the mean, "sum" and "none" are
    the others. A sequence that its steps cannot hold has an infinite loss, or 0 with `zero_infinity`; no steps hold no
    labels. The gradient is that of the scores which a log_softmax made the probabilities of (PyTorch's rule): after one
    it is the same. Of floats. Raises ShapeError for other shapes, IndexOutOfRange for a length of more than there is.

    >>> x = st.log(st.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]))
    >>> st.exp(-F.ctc_loss(x, st.tensor([[1]]), [2], [1]))
    tensor(0.75)
    """
def normalize(input: TensorLike, p: float=2.0, dim: int | Sequence[int]=1, eps: float=1e-12) -> Tensor:
    """The elements of x divided by their `p`-norm over the axis `dim`, or over several; norms count as `eps` at least.

    A number is what `dim=0` of it says, as in PyTorch. (`st.normalize` is another: it subtracts the mean.) Integers
    become float32. Raises ShapeError for an axis that x does not have.

    >>> F.normalize(st.tensor([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
def cosine_similarity(x1: TensorLike, x2: TensorLike, dim: int=1, eps: float=1e-08) -> Tensor:
    """The cosine of the angle between the vectors along the axis `dim` of `x1` and `x2`, which broadcast.

    Their dot product over the product of their norms, each of which counts as `eps` at least, without a derivative for
    that (PyTorch's rule). Integers become float32. Raises ShapeError where they do not broadcast and for an axis that
    they do not have.

    >>> F.cosine_similarity(st.tensor([[1.0, 0.0], [1.0, 0.0]]), st.tensor([[2.0, 0.0], [3.0, 3.0]]))
    tensor([1.        , 0.70710677])
    """
def pairwise_distance(x1: TensorLike, x2: TensorLike, p: float=2.0, eps: float=1e-06, keepdim: bool=False) -> Tensor:
    """The `p`-norm of x1 - x2 + `eps` over the last axis, of `x1` and `x2` (N, D) or (D,), which broadcast.

    The axis is dropped unless `keepdim`. Integers become float32. Raises ShapeError where they do not broadcast.

    >>> F.pairwise_distance(st.tensor([[0.0, 3.0]]), st.tensor([[4.0, 0.0]]))
    tensor([5.])
    """
def pdist(input: TensorLike, p: float=2.0) -> Tensor:
    """The `p`-norms of the differences of all pairs of rows of x (N, M): (N * (N - 1) / 2,), row 0 with 1, 2 and so on.

    Integers become float32. Raises ShapeError for other than two axes, and for a negative p.

    >>> F.pdist(st.tensor([[0.0], [1.0], [3.0]])).tolist()
    [1.0, 3.0, 2.0]
    """
def focal_loss(input: TensorLike, target: TensorLike, gamma: float=2.0, alpha: float | None=None, weight: TensorLike |
        None=None, ignore_index: int=-100, reduction: str='mean') -> Tensor:
    """The cross-entropy of each example times (1 - p) ** `gamma`, p being the probability of what is right.

    (Lin et al., 2017.) The input holds logits: (N, C) or (N, C, ...) with classes on axis 1 for integer labels as the
    `target`, as of `cross_entropy`, or of any shape for a target of that shape that says yes, 1, or no, 0, of each, as
    of `binary_cross_entropy_with_logits`. A `weight` (C,) multiplies the loss of each class and a label of
    `ignore_index` has none; of yes and no `alpha` multiplies yes and 1 - alpha no. `reduction` is "mean", over what is
    not ignored, "sum" or "none". Raises ShapeError for other shapes, and for a negative gamma.

    >>> x = st.tensor([[4.0, 0.0], [0.0, 0.0]])
    >>> F.focal_loss(x, st.tensor([0, 0]), reduction="none")
    tensor([5.871601e-06, 1.732868e-01])
    >>> F.focal_loss(st.zeros(2), st.tensor([1.0, 0.0]), alpha=0.25, reduction="none")
    tensor([0.0433217, 0.1299651])
    """
def dice_loss(input: TensorLike, target: TensorLike, smooth: float=1.0, ignore_index: int=-100, reduction:
        str='mean') -> Tensor:
    """1 - (2 * sum(p * t) + smooth) / (sum(p) + sum(t) + smooth), sums over what an example has of each class.

    (Milletari et al., 2016.) The input holds logits (N, C, ...) with classes on axis 1. For integer labels (N, ...) as
    the `target` p is the softmax over classes and t says where the label is; a label of `ignore_index` counts nowhere.
    For a target of the input's shape, with 1 where the class is, p is the sigmoid: one mask for each picture is (N, 1,
    ...). `smooth` keeps a class that is nowhere from dividing by 0. `reduction` of the losses (N, C) is "mean", "sum"
    or "none". Raises ShapeError for other shapes and, when run, IndexOutOfRange for a label that is no class.

    >>> masks = st.tensor([[[1.0, 1.0, 0.0, 0.0]]])
    >>> F.dice_loss(masks * 200 - 100, masks), F.dice_loss(100 - masks * 200, masks)
    (tensor(0.), tensor(0.8))
    """
def info_nce(query: TensorLike, positive: TensorLike, negatives: TensorLike | None=None, temperature: float=0.1,
        reduction: str='mean') -> Tensor:
    """The cross-entropy of telling which vector belongs to each `query` (N, D), by cosines over a `temperature`.

    (van den Oord et al., 2018, equation 4.) `positive` (N, D) are those that do; what does not are `negatives` (M, D)
    for all, or (N, M, D) for each, and without them the positives of the other queries. `reduction` is "mean", "sum" or
    "none". Two views of the same, each sought among the other's, are F.info_nce(a, b) + F.info_nce(b, a).
    Integers become float32. Raises ShapeError for other shapes, and for a temperature that is not above 0.

    >>> x = st.eye(4)
    >>> F.info_nce(x, x), F.info_nce(x, x, -x, temperature=1.0)
    (tensor(0.00013625), tensor(0.8060175))
    """
def interpolate(input: TensorLike, size: Any=None, scale_factor: Any=None, mode: str='nearest', align_corners: bool |
        None=None, recompute_scale_factor: bool | None=None, antialias: bool=False) -> Tensor:
    """Signals (N, C, L), images (N, C, H, W) or volumes (N, C, D, H, W) at another size.

    The `size` of the last axes, or a `scale_factor` which makes n floor(n * scale_factor): one number, or one for each.
    `mode` is "nearest" (the element at floor(i * n / m)), "nearest-exact" (that at the centre), "linear", "bilinear"
    and "trilinear" (of the two around, by axis), "bicubic" (of four, by Keys, 1981, with a = -0.75) or "area" (the mean
    of what a pixel covers). Positions are those of pixel centres, or, with `align_corners`, such that the first and the
    last elements meet. `antialias` widens what a smaller image is made of (of "bilinear" and "bicubic", as in Pillow).
    With `recompute_scale_factor` positions follow from the rounded size, else from the factor. Raises ShapeError for
    sizes that do not fit, OptionError for a mode of other axes, DTypeError for integers in a mode that makes means.

    >>> x = st.tensor([[[1.0, 3.0]]])
    >>> F.interpolate(x, scale_factor=2).tolist(), F.interpolate(x, 4, mode="linear").tolist()
    ([[[1.0, 1.0, 3.0, 3.0]]], [[[1.0, 1.5, 2.5, 3.0]]])
    >>> F.interpolate(st.ones((1, 3, 8, 8)), (4, 5), mode="bicubic", antialias=True).shape
    (1, 3, 4, 5)
    """
def upsample(input: TensorLike, size: Any=None, scale_factor: Any=None, mode: str='nearest', align_corners: bool |
        None=None) -> Tensor:
    """Another name of `interpolate`, with its `size`, `scale_factor`, `mode` and `align_corners` (PyTorch's older one).

    In the dtype of x. Raises ShapeError for other axes and where nothing is left, OptionError for another mode.

    >>> F.upsample(st.tensor([[[1.0, 3.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 3.0, 3.0]]]
    """
def l1_loss(input: TensorLike, target: TensorLike, reduction: str='mean', weight: TensorLike | None=None) -> Tensor:
    """The mean absolute difference of the input and a `target` of its shape, derivative 0 where they are equal.

    Each times its `weight` where there is one. `reduction` is "mean" (with weights their mean: the sum of losses over
    that of weights), "sum", or "none" for the losses one by one. Integers become float32. Raises ShapeError for another
    shape.

    >>> F.l1_loss(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    1.5
    """
def mse_loss(input: TensorLike, target: TensorLike, reduction: str='mean', weight: TensorLike | None=None) -> Tensor:
    """The mean squared difference of the input and a `target` of its shape, each times its `weight` where there is one.

    `reduction` is "mean" (with weights their mean: the sum of losses over that of weights), "sum" or "none". Integers
    become float32. Raises ShapeError for another shape.

    >>> F.mse_loss(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    4.5
    """
def smooth_l1_loss(input: TensorLike, target: TensorLike, reduction: str='mean', beta: float=1.0) -> Tensor:
    """The loss d**2 / (2 * `beta`) of differences d below beta, and |d| - beta / 2 of others (Girshick, 2015).

    With beta 0 it is `l1_loss`. `target` and `reduction` are as there. Integers become float32. Raises ShapeError for
    another shape and for a negative beta.

    >>> F.smooth_l1_loss(st.tensor([0.5, 3.0]), st.zeros(2), reduction="none").tolist()
    [0.125, 2.5]
    """
def huber_loss(input: TensorLike, target: TensorLike, reduction: str='mean', delta: float=1.0, weight: TensorLike |
        None=None) -> Tensor:
    """The loss d**2 / 2 of differences d up to `delta`, and delta * (|d| - delta / 2) of others (Huber, 1964).

    Each times its `weight` where there is one. `target` and `reduction` are as in `mse_loss`. Integers become float32.
    Raises ShapeError for another shape and for a delta that is not above 0.

    >>> F.huber_loss(st.tensor([0.5, 3.0]), st.zeros(2), reduction="none").tolist()
    [0.125, 2.5]
    """
def binary_cross_entropy(input: TensorLike, target: TensorLike, weight: TensorLike | None=None, reduction:
        str='mean') -> Tensor:
    """The mean of -t log(p) - (1 - t) log(1 - p) for probabilities p and a `target` t of their shape, from 0 to 1.

    Logarithms count as -100 at least (PyTorch's rule), so that the loss is finite; what comes out of a sigmoid is
    better given to `binary_cross_entropy_with_logits` before it. A `weight` multiplies each loss; `reduction` is
    "mean", "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> F.binary_cross_entropy(st.tensor([0.5, 0.0]), st.tensor([1.0, 1.0]), reduction="none")
    tensor([  0.6931472, 100.       ])
    """
def binary_cross_entropy_with_logits(input: TensorLike, target: TensorLike, weight: TensorLike | None=None, reduction:
        str='mean', pos_weight: TensorLike | None=None) -> Tensor:
    """The mean of -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), for a `target` t of the shape of x, from 0 to 1.

    In a form that no x overflows. A `weight` multiplies each loss, a `pos_weight` what belongs to t; both broadcast.
    `reduction` is "mean", "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> x = st.tensor([0.0, 1000.0])
    >>> F.binary_cross_entropy_with_logits(x, st.tensor([1.0, 0.0]), reduction="none")
    tensor([6.931472e-01, 1.000000e+03])
    """
def kl_div(input: TensorLike, target: TensorLike, reduction: str='mean', log_target: bool=False) -> Tensor:
    """The divergence of Kullback and Leibler, target * (log(target) - input), for an input of log-probabilities.

    `target` holds probabilities, or with `log_target` their logarithms. `reduction` is "mean" (over elements),
    "batchmean" (the sum over the length of the first axis, which is the divergence), "sum" or "none". Raises ShapeError
    where shapes do not broadcast, DTypeError for a complex target, OptionError for another reduction.

    >>> p = st.tensor([[0.5, 0.5]])
    >>> F.kl_div(st.log(st.tensor([[0.25, 0.75]])), p, reduction="batchmean")
    tensor(0.14384103)
    """
def poisson_nll_loss(input: TensorLike, target: TensorLike, log_input: bool=True, full: bool=False, eps: float=1e-08,
        reduction: str='mean') -> Tensor:
    """The negative log-likelihood of counts `target` under Poisson distributions of rate exp(x): exp(x) - t * x.

    With log_input=False the input is the rate itself, x - t * log(x + `eps`). `full` adds Stirling's approximation of
    log(t!) where t is above 1, `log_input` and eps are numbers of this call; `reduction` is "mean", "sum" or "none".
    Integers become float32. Raises ShapeError where shapes do not broadcast, OptionError for another reduction.

    >>> F.poisson_nll_loss(st.tensor([0.0, 1.0]), st.tensor([2.0, 0.0]), reduction="none")
    tensor([1.       , 2.7182817])
    """
def gaussian_nll_loss(input: TensorLike, target: TensorLike, var: TensorLike, full: bool=False, eps: float=1e-06,
        reduction: str='mean') -> Tensor:
    """The negative log-likelihood of a `target` under normal distributions whose means are the input (Nix, 1994).

    (log(var) + (x - t)**2 / var) / 2, with variances `var` of the input's shape, or of that without its last axis, or
    with 1 there. They count as `eps` at least, without a derivative for that; `full` adds log(2 pi) / 2. `reduction` is
    "mean", "sum" or "none". Raises ShapeError where shapes do not broadcast, DTypeError for complex variances,
    OptionError for another reduction.

    >>> F.gaussian_nll_loss(st.tensor([0.0, 2.0]), st.zeros(2), st.ones(2), reduction="none").tolist()
    [0.0, 2.0]
    """
def soft_margin_loss(input: TensorLike, target: TensorLike, reduction: str='mean') -> Tensor:
    """The logistic loss log(1 + exp(-t * x)) of a `target` t of -1 and 1, of the input's shape.

    `reduction` is "mean", "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> F.soft_margin_loss(st.tensor([0.0, 1000.0]), st.tensor([1.0, -1.0]), reduction="none")
    tensor([6.931472e-01, 1.000000e+03])
    """
def hinge_embedding_loss(input: TensorLike, target: TensorLike, margin: float=1.0, reduction: str='mean') -> Tensor:
    """The loss of distances x: x itself where `target` is 1, and max(0, `margin` - x) where it is -1.

    `reduction` is "mean", "sum" or "none". Raises ShapeError for other shapes, DTypeError for complex numbers,
    OptionError for another reduction.

    >>> F.hinge_embedding_loss(st.tensor([0.25, 0.25]), st.tensor([1.0, -1.0]), reduction="none").tolist()
    [0.25, 0.75]
    """
def margin_ranking_loss(input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float=0.0, reduction:
        str='mean') -> Tensor:
    """The loss max(0, -t * (a - b) + `margin`) of pairs a and b, of which a is to be larger where t is 1.

    `input1` holds a, `input2` b and `target` 1 or -1; `reduction` is "mean", "sum" or "none". Raises ShapeError for
    other shapes, DTypeError for complex numbers, OptionError for another reduction.

    >>> F.margin_ranking_loss(st.tensor([3.0]), st.tensor([1.0]), st.tensor([-1.0])).tolist()
    2.0
    """
def cosine_embedding_loss(input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float=0.0, reduction:
        str='mean') -> Tensor:
    """The loss 1 - cos of vectors that belong together, target 1, and max(0, cos - `margin`) of others, target -1.

    `input1` and `input2` are (N, D) with a `target` (N,), or (D,) with a number; `reduction` is "mean", "sum" or
    "none". Raises ShapeError for other shapes, DTypeError for complex numbers, OptionError for another reduction.

    >>> a, b = st.tensor([[1.0, 0.0], [1.0, 0.0]]), st.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> F.cosine_embedding_loss(a, b, st.tensor([1.0, 1.0]), reduction="none").tolist()
    [0.0, 1.0]
    """
def triplet_margin_loss(anchor: TensorLike, positive: TensorLike, negative: TensorLike, margin: float=1.0, p: float=2.0,
        eps: float=1e-06, swap: bool=False, reduction: str='mean') -> Tensor:
    """The loss max(0, d(`anchor`, `positive`) - d(anchor, `negative`) + `margin`) for d the `pairwise_distance`.

    The three are (N, D) or (D,). With `swap` the negative is compared with the nearer of anchor and positive (Balntas
    et al., 2016). `p` and `eps` are those of the distance; `reduction` is "mean", "sum" or "none". Integers become
    float32. Raises ShapeError for a margin that is not above 0.

    >>> a = st.zeros((1, 2))
    >>> F.triplet_margin_loss(a, a + 3.0, a + 3.0).tolist()
    1.0
    """
def layer_norm(input: TensorLike, normalized_shape: int | Sequence[int], weight: TensorLike | None=None, bias:
        TensorLike | None=None, eps: float=1e-05) -> Tensor:
    """The elements of x normalised over its last axes, times `weight`, plus `bias` (Ba et al., 2016).

    (x - mean) / sqrt(variance + `eps`); `normalized_shape` is the shape of those axes, of weight and of bias. Raises
    ShapeError where x or they have another, DTypeError for other dtypes than floats.

    >>> F.layer_norm(st.tensor([[1.0, 3.0], [10.0, 30.0]]), (2,), eps=0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
def rms_norm(input: TensorLike, normalized_shape: int | Sequence[int], weight: TensorLike | None=None, eps: float |
        None=None) -> Tensor:
    """The elements of x over the root of the mean of their squares over its last axes (Zhang and Sennrich, 2019).

    x / sqrt(mean(x**2) + `eps`), times `weight` where there is one; eps is the spacing of x's dtype at 1 without one.
    `normalized_shape` and errors are as in `layer_norm`; 16-bit floats are averaged in float32. Raises ShapeError where
    these are not the last axes of x.

    >>> F.rms_norm(st.tensor([3.0, 3.0]), 2, eps=0).tolist()
    [1.0, 1.0]
    """
def group_norm(input: TensorLike, num_groups: int, weight: TensorLike | None=None, bias: TensorLike | None=None, eps:
        float=1e-05) -> Tensor:
    """Examples (N, C, *) normalised per group of neighbouring channels (Wu and He, 2018).

    (x - mean) / sqrt(variance + `eps`) over a group and all that stands behind it, times `weight`, plus `bias`, both
    (C,). Of floats. Raises ShapeError where `num_groups` does not divide the channels, and for one example of which a
    group has one number (PyTorch's rule).

    >>> F.group_norm(st.tensor([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
def local_response_norm(input: TensorLike, size: int, alpha: float=0.0001, beta: float=0.75, k: float=1.0) -> Tensor:
    """The elements of x (N, C, *) over what their neighbours of `size` channels say (Krizhevsky et al., 2012).

    x / (`k` + `alpha` * mean(x**2)) ** `beta`, the mean over size channels around, of which those that are not there
    count as zeros. Of floats. Raises ShapeError for fewer than three axes.

    >>> F.local_response_norm(st.ones((1, 2, 1)), 2, alpha=2.0, beta=1.0, k=0.0)[0, :, 0].tolist()
    [1.0, 0.5]
    """
def linear_cross_entropy(input: TensorLike, linear_weight: TensorLike, target: TensorLike, linear_bias: TensorLike |
        None=None, weight: TensorLike | None=None, reduction: str='mean', ignore_index: int | None=None,
        label_smoothing: float=0.0) -> Tensor:
    """The `cross_entropy` of `linear(input, linear_weight, linear_bias)` and a target, without all logits in memory.

    `input` is (N, D) or (D,), `linear_weight` (C, D), `linear_bias` (C,) and `target` holds labels, (N,) or ().
    The logits, (N, C), are computed for some rows at a time, and again for the gradient; with classes by the ten
    thousands that is most of the memory of a step. `weight`, `reduction`, `ignore_index` (None is -100) and
    `label_smoothing` are those of `cross_entropy`. A linear_weight (C, ..., D), with a target (N, ...), and targets
    that are probabilities, which are as many as logits, go by all logits. In the dtype of the input. Raises ShapeError
    for other shapes, DTypeError for labels that are no integers and, when run, IndexOutOfRange for a label that is no
    class.

    >>> x, w = st.tensor([[2.0, 0.0], [0.0, 2.0]]), st.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> F.linear_cross_entropy(x, w, st.tensor([0, 2])), F.cross_entropy(x @ w.T, st.tensor([0, 2]))
    (tensor(0.2395448), tensor(0.2395448))
    """
@overload
def max_pool1d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, dilation: int | Sequence[int]=1, ceil_mode: bool=False, return_indices:
        Literal[False]=False) -> Tensor:
    """The largest element of each window of signals (N, C, L) or (C, L).

    `kernel_size`, `stride`, `padding`, `dilation`, `ceil_mode`, `return_indices` and errors are as in `max_pool2d`.
    Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.max_pool1d(st.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[3.0, 2.0]]
    """
@overload
def max_pool1d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, dilation: int | Sequence[int]=1, ceil_mode: bool=False, *, return_indices:
        Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, dilation: int | Sequence[int]=1, ceil_mode: bool=False, return_indices:
        Literal[False]=False) -> Tensor:
    """The largest element of each window of images (N, C, H, W) or (C, H, W), in their dtype.

    `kernel_size`, `stride` (the kernel size without one), `padding` and `dilation` are a number, or one per axis;
    OH = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1, rounded up with `ceil_mode`, where a window
    begins inside. Padding never wins; the gradient goes to the first largest. With `return_indices` its place comes
    too, as int64, counted over rows and columns. Raises ShapeError where no window fits, DTypeError for other dtypes
    than floats.

    >>> y, i = F.max_pool2d(st.arange(16.0).reshape(1, 4, 4), 2, return_indices=True)
    >>> y.tolist(), i.tolist()
    ([[[5.0, 7.0], [13.0, 15.0]]], [[[5, 7], [13, 15]]])
    """
@overload
def max_pool2d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, dilation: int | Sequence[int]=1, ceil_mode: bool=False, *, return_indices:
        Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, dilation: int | Sequence[int]=1, ceil_mode: bool=False, return_indices:
        Literal[False]=False) -> Tensor:
    """The largest element of each window of volumes (N, C, D, H, W) or (C, D, H, W).

    `kernel_size`, `stride`, `padding`, `dilation`, `ceil_mode`, `return_indices` and errors are as in `max_pool2d`.
    Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.max_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 2).tolist()
    [[[[7.0]]]]
    """
@overload
def max_pool3d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, dilation: int | Sequence[int]=1, ceil_mode: bool=False, *, return_indices:
        Literal[True]) -> tuple[Tensor, Tensor]: ...
def avg_pool1d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, ceil_mode: bool=False, count_include_pad: bool=True) -> Tensor:
    """The mean of each window of signals (N, C, L) or (C, L).

    `kernel_size`, `stride`, `padding`, `ceil_mode`, `count_include_pad` and errors are as in `avg_pool2d`. Raises
    ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.avg_pool1d(st.tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[2.0, 1.0]]
    """
def avg_pool2d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, ceil_mode: bool=False, count_include_pad: bool=True, divisor_override: int |
        None=None) -> Tensor:
    """The mean of each window of images (N, C, H, W) or (C, H, W), in their dtype.

    `kernel_size`, `stride`, `padding` and `ceil_mode` are as in `max_pool2d`. Padding counts as zeros, unless
    count_include_pad=False: then neither sums nor counts have it; what `ceil_mode` adds beyond it counts in no case. A
    `divisor_override` divides the sums in place of the counts of `count_include_pad`. Raises ShapeError where no window
    fits, DTypeError for other dtypes than floats.

    >>> F.avg_pool2d(st.arange(16.0).reshape(1, 4, 4), 2).tolist()
    [[[2.5, 4.5], [10.5, 12.5]]]
    """
def avg_pool3d(input: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None=None, padding:
        int | Sequence[int]=0, ceil_mode: bool=False, count_include_pad: bool=True, divisor_override: int |
        None=None) -> Tensor:
    """The mean of each window of volumes (N, C, D, H, W) or (C, D, H, W).

    `kernel_size`, `stride`, `padding`, `ceil_mode`, `count_include_pad`, `divisor_override` and errors are as in
    `avg_pool2d`. Raises ShapeError where no window fits, DTypeError for other dtypes than floats.

    >>> F.avg_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 2).tolist()
    [[[[3.5]]]]
    """
def lp_pool1d(input: TensorLike, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] |
        None=None, ceil_mode: bool=False) -> Tensor:
    """The norm sum(x ** p) ** (1 / p) of each window of signals (N, C, L) or (C, L), for p = `norm_type`.

    `kernel_size`, `stride`, `ceil_mode` and errors are as in `lp_pool2d`. Raises ShapeError where no window fits,
    DTypeError for complex numbers.

    >>> F.lp_pool1d(st.tensor([[3.0, 4.0, 0.0, 2.0]]), 2.0, 2).tolist()
    [[5.0, 2.0]]
    """
def lp_pool2d(input: TensorLike, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] |
        None=None, ceil_mode: bool=False) -> Tensor:
    """The norm sum(x ** p) ** (1 / p) of each window of images (N, C, H, W) or (C, H, W), for p = `norm_type`.

    With p infinite it is the largest absolute value. `kernel_size`, `stride` and `ceil_mode` are as in `max_pool2d`,
    and so are errors; a window that `ceil_mode` lets reach beyond counts as full (PyTorch's rule). Where a norm is 0
    its derivative is 0. Raises ShapeError where no window fits, DTypeError for complex numbers.

    >>> F.lp_pool2d(st.tensor([[[3.0, 4.0], [0.0, 0.0]]]), 2.0, 2).tolist()
    [[[5.0]]]
    """
def lp_pool3d(input: TensorLike, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] |
        None=None, ceil_mode: bool=False) -> Tensor:
    """The norm sum(x ** p) ** (1 / p) of each window of volumes (N, C, D, H, W) or (C, D, H, W), for p = `norm_type`.

    `kernel_size`, `stride`, `ceil_mode` and errors are as in `lp_pool2d`. Raises ShapeError where no window fits,
    DTypeError for complex numbers.

    >>> F.lp_pool3d(st.ones((1, 2, 2, 2)), 1.0, 2).tolist()
    [[[[8.0]]]]
    """
def max_unpool1d(input: TensorLike, indices: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] |
        None=None, padding: int | Sequence[int]=0, output_size: int | Sequence[int] | None=None) -> Tensor:
    """The maxima of `max_pool1d` put back where its `indices` say, among zeros: (N, C, L) or (C, L).

    `kernel_size`, `stride`, `padding`, `output_size` and errors are as in `max_unpool2d`. Raises ShapeError where
    indices have another shape, DTypeError for indices that are no integers.

    >>> y, i = F.max_pool1d(st.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> F.max_unpool1d(y, i, 2).tolist()
    [[0.0, 3.0, 2.0, 0.0]]
    """
def max_unpool2d(input: TensorLike, indices: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] |
        None=None, padding: int | Sequence[int]=0, output_size: int | Sequence[int] | None=None) -> Tensor:
    """The maxima of `max_pool2d` put back where its `indices` say, among zeros: (N, C, H, W) or (C, H, W).

    H is (OH - 1) * stride - 2 * padding + kernel_size unless an `output_size` says it, that of the last axes or of all;
    `kernel_size`, `stride` and `padding` are those of the pool. In the dtype of the input; indices are integers. Raises
    ShapeError for indices of another shape and, when run, IndexOutOfRange for one beyond the result.

    >>> y, i = F.max_pool2d(st.arange(4.0).reshape(1, 2, 2), 2, return_indices=True)
    >>> F.max_unpool2d(y, i, 2).tolist()
    [[[0.0, 0.0], [0.0, 3.0]]]
    """
def max_unpool3d(input: TensorLike, indices: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] |
        None=None, padding: int | Sequence[int]=0, output_size: int | Sequence[int] | None=None) -> Tensor:
    """The maxima of `max_pool3d` put back where its `indices` say, among zeros: (N, C, D, H, W) or (C, D, H, W).

    `kernel_size`, `stride`, `padding`, `output_size` and errors are as in `max_unpool2d`. Raises ShapeError where
    indices have another shape, DTypeError for indices that are no integers.

    >>> y, i = F.max_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 2, return_indices=True)
    >>> F.max_unpool3d(y, i, 2).shape
    (1, 2, 2, 2)
    """
def affine_grid(theta: TensorLike, size: Sequence[int], align_corners: bool | None=None) -> Tensor:
    """The places that affine maps give to the pixels of images: (N, H, W, 2), or (N, D, H, W, 3) for volumes.

    `theta` is (N, 2, 3), or (N, 3, 4): the maps on (x, y, 1), where -1 and 1 are the outer edges of the image, or, with
    `align_corners`, the centres of its outer pixels. `size` is that of the images, (N, C, H, W) or (N, C, D, H, W). For
    `grid_sample`. Integers become float32. Raises ShapeError where they do not fit.

    >>> F.affine_grid(st.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
def grid_sample(input: TensorLike, grid: TensorLike, mode: str='bilinear', padding_mode: str='zeros', align_corners:
        bool | None=None) -> Tensor:
    """The elements of images at places: (N, C, H, W) and a `grid` (N, OH, OW, 2) give (N, C, OH, OW).

    A place is (x, y), from -1 at the left or upper edge to 1 at the other, or, with `align_corners`, at the centres of
    the outer pixels. `mode` is "bilinear", "nearest" (halves to even) or "bicubic" (Keys, 1981, with a = -0.75);
    `padding_mode` what lies outside: "zeros", the "border", or the image's "reflection". Volumes (N, C, D, H, W) with a
    grid (N, OD, OH, OW, 3) are taken too, but not by "bicubic". Integers become float32. What is "nearest" has no
    derivative in the grid. Raises ShapeError where they do not fit, OptionError for another mode.

    >>> x = st.tensor([[[[1.0, 3.0]]]])
    >>> F.grid_sample(x, st.tensor([[[[0.0, 0.0], [-0.5, 0.0]]]])).tolist()
    [[[[2.0, 1.0]]]]
    """
def pad(input: TensorLike, pad: Sequence[int], mode: str='constant', value: float | None=None) -> Tensor:
    """The array with something around it; `pad` has (before, behind) of the last axis, then of the one before it.

    Negative widths cut. `mode` "constant" puts a `value` there, 0 without one; "reflect", "replicate" and "circular"
    what `st.pad` says of them. In the dtype of x and of the value, where they meet. Raises ShapeError for an odd number
    of widths and for more than there are axes.

    >>> F.pad(st.tensor([[1.0, 2.0]]), (1, 0, 0, 1), value=9.0).tolist()
    [[9.0, 1.0, 2.0], [9.0, 9.0, 9.0]]
    >>> F.pad(st.tensor([1.0, 2.0, 3.0]), (2, -1), mode="reflect").tolist()
    [3.0, 2.0, 1.0, 2.0]
    """
def pixel_shuffle(input: TensorLike, upscale_factor: int) -> Tensor:
    """Blocks of r * r channels as pixels: (*, C * r**2, H, W) -> (*, C, H * r, W * r) for r = `upscale_factor`.

    Shi et al. (2016). In the dtype of x. Raises ShapeError where r * r does not divide the channels.

    >>> F.pixel_shuffle(st.arange(4.0).reshape(4, 1, 1), 2).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """
def pixel_unshuffle(input: TensorLike, downscale_factor: int) -> Tensor:
    """Blocks of r * r pixels as channels, the inverse of `pixel_shuffle`: (*, C, H * r, W * r) -> (*, C * r**2, H, W).

    r is `downscale_factor`. In the dtype of x. Raises ShapeError where it does not divide the last two axes.

    >>> F.pixel_unshuffle(st.arange(4.0).reshape(1, 2, 2), 2).tolist()
    [[[0.0]], [[1.0]], [[2.0]], [[3.0]]]
    """
def channel_shuffle(input: TensorLike, groups: int) -> Tensor:
    """The channels of (N, C, *) in another order: the first of each of the `groups`, the second of each, and so on.

    Zhang et al. (2018). In the dtype of x. Raises ShapeError where groups does not divide C.

    >>> F.channel_shuffle(st.arange(4.0).reshape(1, 4), 2).tolist()
    [[0.0, 2.0, 1.0, 3.0]]
    """
def unfold(input: TensorLike, kernel_size: int | Sequence[int], dilation: int | Sequence[int]=1, padding: int |
        Sequence[int]=0, stride: int | Sequence[int]=1) -> Tensor:
    """The patches of images (N, C, H, W) or (C, H, W) as columns (N, C * KH * KW, patches), row by row (im2col).

    `kernel_size`, `dilation`, `padding` (with zeros) and `stride` are a number, or one per axis. (`st.unfold` is of one
    axis.) In the dtype of x. Raises ShapeError where no patch fits.

    >>> F.unfold(st.arange(4.0).reshape(1, 2, 2), (1, 2)).tolist()
    [[0.0, 2.0], [1.0, 3.0]]
    """
def fold(input: TensorLike, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int |
        Sequence[int]=1, padding: int | Sequence[int]=0, stride: int | Sequence[int]=1) -> Tensor:
    """The transpose of `unfold`: columns (N, C * KH * KW, patches) added up to images (N, C, *output_size).

    `kernel_size`, `dilation`, `padding` and `stride` are as there, `output_size` is (H, W). One example, without N, is
    taken too. In the dtype of x. Raises ShapeError where the columns are not as many.

    >>> F.fold(st.ones((2, 2)), (1, 3), (1, 2)).tolist()
    [[[1.0, 2.0, 1.0]]]
    """
def __dir__() -> list[str]:
    """The public names alone."""
