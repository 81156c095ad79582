"""Layers that leave out elements, channels and examples in training."""
from __future__ import annotations

from typing import Any

from stele.arrays.creation import ones
from stele.arrays.tensor import Tensor
from stele.interop.keywords import speaks
from stele.nn import functional
from stele.nn.applied import Applied
from stele.nn.functional.dropout import probability
from stele.nn.module import Module, given
from stele.ops.arguments import flag


class Dropping(Applied):
    """A function that leaves out what it draws, in training alone."""

    p: float

    @speaks
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        self.keep(p=probability(p, type(self).__name__))

    def extra_repr(self) -> str:
        return f"{self.p}"

    def forward(self, *x: Any) -> Any:
        return self.function(*x, self.p, self.training)


class Dropout(Dropping):
    """In training the elements of x, each zero with probability `p` and divided by 1 - p otherwise; else x itself.

    As of `nn.functional.dropout`. `model.eval()` turns it off, `model.train()` on again. x has any shape and dtype,
    which stays; in training integers become float32. Raises ShapeError for a probability outside of 0 to 1.

    >>> layer = nn.Dropout(0.5)
    >>> layer.eval()(st.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    function = staticmethod(functional.dropout)


class Dropout1d(Dropping):
    """In training whole channels of signals (N, C, L) or (C, L), each zero with probability `p`.

    The others are divided by 1 - p; after `eval()` x itself. As of `nn.functional.dropout1d`. Integers that are dropped
    become float32. Raises ShapeError for other axes.

    >>> nn.Dropout1d().eval()(st.ones((1, 2, 1))).shape
    (1, 2, 1)
    """

    function = staticmethod(functional.dropout1d)


class Dropout2d(Dropping):
    """In training whole channels of images (N, C, H, W), each zero with probability `p`.

    The others are divided by 1 - p; after `eval()` x itself. As of `nn.functional.dropout2d`. Integers that are dropped
    become float32. Raises ShapeError for other axes.

    >>> nn.Dropout2d().eval()(st.ones((1, 2, 1, 1))).shape
    (1, 2, 1, 1)
    """

    function = staticmethod(functional.dropout2d)


class Dropout3d(Dropping):
    """In training whole channels of volumes (N, C, D, H, W), each zero with probability `p`.

    The others are divided by 1 - p; after `eval()` x itself. As of `nn.functional.dropout3d`. Integers that are dropped
    become float32. Raises ShapeError for other axes.

    >>> nn.Dropout3d().eval()(st.ones((1, 2, 1, 1, 1))).shape
    (1, 2, 1, 1, 1)
    """

    function = staticmethod(functional.dropout3d)


class AlphaDropout(Dropping):
    """Dropout that keeps mean 0 and variance 1 behind `nn.SELU`, as of `nn.functional.alpha_dropout`.

    Elements are dropped with probability `p` in training; after `eval()` x itself. x has any shape. Integers that are
    dropped become float32. Raises ShapeError for a probability outside of 0 to 1.

    >>> nn.AlphaDropout().eval()(st.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    function = staticmethod(functional.alpha_dropout)


class FeatureAlphaDropout(Dropping):
    """`nn.AlphaDropout` of whole channels, as of `nn.functional.feature_alpha_dropout`.

    They are dropped with probability `p` in training; after `eval()` x itself. x is (N, C, *). Integers that are
    dropped become float32. Raises ShapeError for a probability outside of 0 to 1.

    >>> nn.FeatureAlphaDropout().eval()(st.ones((1, 3, 2))).shape
    (1, 3, 2)
    """

    function = staticmethod(functional.feature_alpha_dropout)


class DropPath(Module):
    """In training examples (N, *), each zero as a whole with probability `drop_prob`: the end of a residual branch.

    The others are divided by 1 - drop_prob, unless scale_by_keep=False (`scale_by_keep`); after `eval()` x itself.
    Stochastic depth (Huang et al., 2016); the arguments are those of timm's layer. In the dtype of x; integers that are
    dropped become float32. Raises ShapeError for a probability outside of 0 to 1.

    >>> sorted(set(nn.DropPath(0.5)(st.ones((50, 2))).sum(axis=1).tolist()))
    [0.0, 4.0]
    """

    @speaks
    def __init__(self, drop_prob: float = 0.0, scale_by_keep: bool = True) -> None:
        self.drop_prob = probability(drop_prob, "DropPath")
        self.scale_by_keep = flag(scale_by_keep, "scale_by_keep of DropPath")

    def extra_repr(self) -> str:
        return f"{self.drop_prob}" + ", scale_by_keep=False" * (not self.scale_by_keep)

    def forward(self, x: Tensor) -> Tensor:
        x = given(self, x)
        if not self.training or not self.drop_prob:
            return x
        kept = functional.dropout(ones((*x.shape[:1], *(1,) * (x.ndim - 1)), dtype=x.dtype), self.drop_prob)
        return x * (kept if self.scale_by_keep else kept * (1 - self.drop_prob))
