"""The softmax over many classes, of which the rare ones share what tells them from the frequent ones."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stele.arrays import functions as F
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.ir.door import public
from stele.nn.containers import Sequential
from stele.nn.layers import Linear
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import flag, number, positive, wholes


class AdaptiveOutput(NamedTuple):
    """The logarithm of the probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-likelihood of targets among many classes, sorted by how frequent they are (Grave et al., 2017).

    Called with (N, `in_features`) and targets (N,), or one of each, it gives (output (N,), loss). The first `cutoffs`
    are the classes that `head` knows; of those between two cutoffs, up to `n_classes`, head knows that it is one of
    them, and `tail` which, from in_features // `div_value`**k features. `head_bias` adds a bias to head. Weights are
    PyTorch's. What each cluster says is computed for all rows, so that one program serves any targets. Raises
    ShapeError for cutoffs that do not go up from 1 to less than n_classes, where a cluster has no feature left, and for
    other shapes; when run, IndexOutOfRange for a target that is no class. Of floats.

    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 100, cutoffs=[10, 50])
    >>> output, loss = layer(st.zeros((8, 16)), st.arange(0, 96, 12))
    >>> output.shape, layer.log_prob(st.zeros((8, 16))).shape, layer.predict(st.zeros((8, 16))).shape
    ((8,), (8, 100), (8,))
    """

    @speaks
    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False) -> None:
        name = type(self).__name__
        self.in_features = positive(in_features, f"in_features of {name}")
        self.n_classes = positive(n_classes, f"n_classes of {name}")
        ends = wholes(cutoffs, f"cutoffs of {name}", 1)
        if not ends or any(a >= b for a, b in zip(ends, (*ends[1:], n_classes))):
            raise ShapeError(f"cutoffs of {name} go up from 1 to less than n_classes={n_classes}, got {list(ends)}")
        self.cutoffs, self.div_value = [*ends, n_classes], number(div_value, f"div_value of {name}", 0, apart=0)
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_bias = flag(head_bias, f"head_bias of {name}")
        self.head = Linear(in_features, ends[0] + len(ends), bias=head_bias)
        widths = [int(in_features // self.div_value ** (k + 1)) for k in range(len(ends))]
        if 0 in widths:
            raise ShapeError(f"{name}: {in_features} features over div_value={div_value} to the power of {len(ends)} "
                             "leave none for the last cluster", hint="Give it a smaller div_value, or fewer cutoffs.")
        self.tail = [Sequential(Linear(in_features, width, bias=False), Linear(width, high - low, bias=False))
                     for width, low, high in zip(widths, self.cutoffs, self.cutoffs[1:])]

    def extra_repr(self) -> str:
        more = f", div_value={self.div_value}" * (self.div_value != 4.0) + ", head_bias=True" * self.head_bias
        return f"{self.in_features}, {self.n_classes}, {self.cutoffs[:-1]}{more}"

    def rows(self, x: Tensor, ndims: tuple[int, ...] = (2,)) -> Tensor:
        """The input, of as many features."""
        x = given(self, x)
        if x.ndim not in ndims or x.shape[-1] != self.in_features:
            raise wrong(self, f"(N, {self.in_features})", x, {"Write x[None] for one of them.": x.ndim == 1})
        return x

    def forward(self, x: Tensor, target: Tensor) -> AdaptiveOutput:
        x, target = self.rows(x, (1, 2)), given(self, target)
        if target.shape != x.shape[:-1]:
            raise ShapeError(f"AdaptiveLogSoftmaxWithLoss takes (N, {self.in_features}) and targets (N,), "
                             f"got {x.shape} and {target.shape}")
        chosen, found = target, None
        for k, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            is_here = (target >= low) & (target < high) if high != self.n_classes else target >= low
            chosen = where(is_here, self.shortlist_size + k, chosen)
            own = F.pick(F.log_softmax(self.tail[k](x), axis=-1), where(is_here, target - low, 0))
            own = where(is_here, own, 0.0)
            found = own if found is None else found + own
        output = F.pick(F.log_softmax(self.head(x), axis=-1), chosen)
        output = output if found is None else output + found
        return AdaptiveOutput(output, -output.mean())

    @public
    def log_prob(self, x: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes: (N, in_features) -> (N, n_classes).

        Raises ShapeError for another `x`.

        >>> float(st.exp(nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3]).log_prob(st.ones((1, 4)))).sum().round(5))
        1.0
        """
        head, n = F.log_softmax(self.head(self.rows(x)), axis=-1), self.shortlist_size
        parts = [F.log_softmax(tail(x), axis=-1) + head[:, n + k:n + k + 1] for k, tail in enumerate(self.tail)]
        return F.concatenate([head[:, :n], *parts], axis=1)

    @public
    def predict(self, x: Tensor) -> Tensor:
        """The classes of the largest probabilities: (N, in_features) -> (N,), int64; errors are as of `log_prob`.

        `x` is a batch of features.

        >>> nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3]).predict(st.ones((5, 4))).shape
        (5,)
        """
        return self.log_prob(x).argmax(axis=1)
