"""Products of matrices and convolutions, with the gradients of these."""
from __future__ import annotations

from typing import Any

from stele.interop.onnx.out.movement import padded, sliced, spread
from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.scope import Rule, Scope
from stele.ir.graph import Op, Value
from stele.ir.types import float64
from stele.ops.contraction import (
    ALL,
    Conv2d,
    Conv2dInputGrad,
    Conv2dWeightGrad,
    Convolution,
    Correlation,
    InputGrad,
    MatMul,
)
from stele.transform.contractions import convolution as written_out


def matmul(s: Scope, v: Value, *x: Node) -> Node:
    """A product of matrices."""
    return s.node("MatMul", *x)


def geometry(op: Any) -> dict[str, Any]:
    """The attributes that all convolutions have."""
    return {"strides": op.stride, "dilations": op.dilation, "group": op.groups}


def correlation(s: Scope, v: Value, x: Node, w: Node) -> Node | None:
    """A convolution."""
    op: Any = v.op
    if v.dtype == float64:
        return None
    return s.node("Conv", x, w, pads=[side[k] for k in (0, 1) for side in op.padding], **geometry(op))


def input_grad(s: Scope, v: Value, g: Node, w: Node) -> Node | None:
    """A transposed convolution without padding, of which the part inside of the padding is kept."""
    op: Any = v.op
    if v.dtype == float64:
        return None
    if op.groups > 1:
        return in_groups(s, v, g, w)
    whole = s.node("ConvTranspose", g, w, **geometry(op))
    kernel, sizes = v.args[1].shape[2:], v.args[0].shape[2:]
    made = [(n - 1) * st + d * (k - 1) + 1 for n, st, d, k in zip(sizes, op.stride, op.dilation, kernel)]
    low = [lo for lo, _ in op.padding]
    more = [lo + n - m for lo, n, m in zip(low, op.size, made)]     # rows that no window reaches
    lack = [max(0, n) if isinstance(n, int) else 0 for n in more]
    if any(lack):
        whole = padded(s, whole, [0] * v.ndim, [0, 0, *lack])
    shape = (*v.shape[:2], *(m + n for m, n in zip(made, lack)))
    return sliced(s, whole, [0, 0, *low], v.shape, [1] * v.ndim, shape)


def in_groups(s: Scope, v: Value, g: Node, w: Node) -> Node:
    """The same by groups, of which not every runtime can transpose a convolution: g, spread by the strides, with the
    kernels turned."""
    op: Any = v.op
    (shape, (o, c, *kernel)), groups = (a.shape for a in v.args), op.groups
    rank = len(kernel)
    reach = [d * (k - 1) for d, k in zip(op.dilation, kernel)]
    low = [r - lo for r, (lo, _) in zip(reach, op.padding)]
    made = [(n - 1) * st + 1 for n, st in zip(shape[2:], op.stride)]
    high = [n + r - lo - m for n, r, lo, m in zip(op.size, reach, low, made)]
    x = spread(s, g, shape, (0, 0, *low), (0, 0, *high), (0, 0, *(st - 1 for st in op.stride)))
    turned = s.transposed(s.reshaped(w, (groups, o // groups, c, *kernel)), (0, 2, 1, *range(3, 3 + rank)))
    turned = s.reshaped(turned, (groups * c, o // groups, *kernel))
    last = [n - 1 for n in kernel]
    turned = sliced(s, turned, (0, 0, *last), (groups * c, o // groups, *kernel), (1, 1, *(-1 for _ in kernel)),
                    (groups * c, o // groups, *kernel))
    return s.node("Conv", x, turned, dilations=op.dilation, group=groups)


def weight_grad(s: Scope, v: Value, g: Node, x: Node) -> Node | None:
    """The convolution of x with g, whose examples are then what is summed over: strides and dilations change places."""
    op: Any = v.op
    if v.dtype == float64:
        return None
    (n, o, *out), (_, c, *size) = (a.shape for a in v.args)
    rank, groups = len(out), op.groups
    rest = tuple(range(3, 3 + rank))
    image = s.transposed(s.reshaped(x, (n, groups, c // groups, *size)), (2, 1, 0, *rest))
    image = s.reshaped(image, (c // groups, groups * n, *size))
    kernel = s.transposed(g, (1, 0, *range(2, 2 + rank)))
    y = s.node("Conv", image, kernel, pads=[side[k] for k in (0, 1) for side in op.padding], strides=op.dilation,
               dilations=op.stride, group=groups)
    made = [(m + lo + hi - st * (k - 1) - 1) // d + 1
            for m, (lo, hi), st, k, d in zip(size, op.padding, op.stride, out, op.dilation)]
    y = sliced(s, y, [0] * v.ndim, (c // groups, o, *op.kernel), [1] * v.ndim, (c // groups, o, *made))
    return s.transposed(y, (1, 0, *range(2, 2 + rank)))


def convolution(op: type[Convolution]) -> Rule:
    """The rule for one of them."""
    return correlation if issubclass(op, Correlation) else input_grad if issubclass(op, InputGrad) else weight_grad


MEANINGS: dict[type[Op], Rule] = dict.fromkeys((Conv2d, Conv2dInputGrad, Conv2dWeightGrad), written_out)
RULES: dict[type[Op], Rule] = {MatMul: matmul, **{op: convolution(op) for op in ALL if issubclass(op, Convolution)}}
