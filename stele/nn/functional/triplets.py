"""The loss of triplets by a distance of the user's."""
from __future__ import annotations

from collections.abc import Callable

from stele.arrays.checked import checked
from stele.arrays.tensor import Tensor, TensorLike, constant, lift
from stele.errors import ShapeError
from stele.nn.functional.distances import pairwise_distance
from stele.nn.functional.losses import hinge
from stele.ops.arguments import Reduction, flag, function, number

distance, compared = lift(pairwise_distance), lift(hinge)


@checked
def triplet_margin_with_distance_loss(anchor: TensorLike, positive: TensorLike, negative: TensorLike, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: Reduction = "mean") -> Tensor:
    """The loss max(0, d(`anchor`, `positive`) - d(anchor, `negative`) + `margin`) of any `distance_function` d.

    It is `pairwise_distance` without one. `swap` and `reduction` are as in `triplet_margin_loss`. Integers become
    float32. The three have shapes that broadcast. Raises ShapeError for a margin that is not above 0.

    >>> far = lambda a, b: st.abs(a - b).max(axis=1)
    >>> a = st.zeros((1, 2))
    >>> F.triplet_margin_with_distance_loss(a, a + 3.0, a + 2.0, distance_function=far).tolist()
    2.0
    """
    a, b, c = constant(anchor), constant(positive), constant(negative)
    d = distance if distance_function is None else function(distance_function, "distance_function")
    if not number(margin, "margin of triplet_margin_with_distance_loss") > 0:
        raise ShapeError(f"margin of triplet_margin_with_distance_loss must be above 0, got {margin}")
    nearer = d(b, c) if flag(swap, "swap") else None
    return compared(d(a, b), d(a, c), nearer, margin=margin, reduction=reduction)
