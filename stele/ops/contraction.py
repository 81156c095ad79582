"""Products that sum over shared axes: matrix product and convolution with its two transposes."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.origin import note
from stele.ir.sizes import Dim
from stele.ir.types import SIZES, Type, below, broadcast_shapes, float32, float64, product, promote, same, show
from stele.ops.linear import along, broadcast, cast, expand_dims, fold, reshape, swap_last, transpose, unfold

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]


class Contraction(Op):
    """Linear in each of its two operands."""

    family: ClassVar[str] = "contraction"

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x, w = super().prepare(*args)
        dtype = promote(x.dtype, w.dtype)
        if {x.dtype, w.dtype} == {float32, float64}:
            note("float32 meets float64 in a product here, and all that follows is computed in float64, at half the "
                 "speed or less. NumPy makes float64 where nobody says otherwise: write x.astype('float32'), or "
                 ".astype('float64') on the other to mean it.")
        return cast(x, dtype), cast(w, dtype)

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        parts = [self(*(t if j == k else v for j, v in enumerate(x))) for k, t in enumerate(dx) if t is not None]
        return reduce(lambda a, b: a + b, parts) if parts else None


class MatMul(Contraction):
    """(..., M, K) @ (..., K, N) -> (..., M, N); leading axes broadcast."""

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x, w = super().prepare(*args)
        if x.ndim < 2 or w.ndim < 2:
            raise ShapeError(f"MatMul needs matrices, got {show(x.shape)} @ {show(w.shape)}",
                             hint="st.matmul takes vectors too.")
        lead = broadcast_shapes(x.shape[:-2], w.shape[:-2])
        return broadcast(x, (*lead, *x.shape[-2:])), broadcast(w, (*lead, *w.shape[-2:]))

    def type(self, *x: Type) -> Type:
        a, b = x
        if not same(a.shape[-1], b.shape[-2]):
            raise ShapeError(f"matmul needs x.shape[-1] == w.shape[-2], got {show(a.shape)} @ {show(b.shape)}",
                             hint="Did you mean w.T?" if a.shape[-1] == b.shape[-1] else None)
        return a.with_shape((*a.shape[:-1], b.shape[-1]))

    def reference(self, *x: Array) -> Array:
        return np.matmul(*x).astype(x[0].dtype, copy=False)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self(g, swap_last(x[1])), self(swap_last(x[0]), g)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (a, _), (w, is_placed) = x
        if is_placed or w.ndim > 2:
            return self(*(along(v, n) for v in x))
        rows = self(reshape(a, (product(a.shape[:-1]), a.shape[-1])), w)
        return reshape(rows, (*a.shape[:-1], w.shape[-1]))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 4)), Type(float32, (4, 5)))), \
               (cls(), (Type(float32, (2, 3, 4)), Type(float32, (2, 4, 2))))


class Convolution(Contraction):
    """Cross-correlation over the last two axes of NCHW, and its transposes."""

    stride: Pair
    padding: Padding
    dilation: Pair
    groups: int

    @property
    def attributes(self) -> tuple[Pair, Padding, Pair, int]:
        return self.stride, self.padding, self.dilation, self.groups

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """One convolution of more images under one kernel; else, of known places, of more groups."""
        (a, is_placed), (w, has_own) = x
        if is_placed and not has_own and not isinstance(self, Conv2dWeightGrad):
            return unfold(self(fold(a), w), n)
        if not isinstance(n, int):
            return None
        a, w = (along(v, n) for v in x)
        more = replace(self, groups=self.groups * n)
        if isinstance(self, Conv2dWeightGrad):
            return unfold(more(beside(a), beside(w)), n)
        made = more(beside(a), fold(w))
        return transpose(reshape(made, (made.shape[0], n, made.shape[1] // n, *made.shape[2:])), (1, 0, 2, 3, 4))

    def out(self, size: tuple[Dim, ...], kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Height and width of the result for those of the input."""
        return tuple((n + lo + hi - d * (k - 1) - 1) // s + 1
                     for n, k, s, (lo, hi), d in zip(size, kernel, self.stride, self.padding, self.dilation))

    def taps(self, x: Array, kernel: tuple[int, ...], out: tuple[int, ...]) -> Array:
        """A writable view (KH, KW, N, C, OH, OW) of a padded input: what each tap of the kernel meets."""
        (sh, sw), (dh, dw) = self.stride, self.dilation
        n, c, h, w = x.strides
        return np.lib.stride_tricks.as_strided(x, (*kernel, *x.shape[:2], *out), (h * dh, w * dw, n, c, h * sh, w * sw))

    def check(self, x: Type, w: Type) -> None:
        """Raises unless x is (N, C, H, W), w is (O, C/groups, KH, KW) and the kernel fits."""
        if min(*self.stride, *self.dilation, self.groups) < 1:
            raise ShapeError(f"{self.name} needs stride, dilation and groups of 1 or more, got {self}")
        if x.ndim != 4 or w.ndim != 4:
            raise ShapeError(f"{self.name} needs x as (N, C, H, W) and w as (O, C/groups, KH, KW), "
                             f"got {show(x.shape)} and {show(w.shape)}")
        if not same(x.shape[1], w.shape[1] * self.groups):
            raise ShapeError(f"{self.name} with groups={self.groups} needs x.shape[1] == w.shape[1] * groups, "
                             f"got {show(x.shape)} and {show(w.shape)}")
        if w.shape[0] % self.groups != 0:
            raise ShapeError(f"{self.name} needs the {w.shape[0]} output channels to divide by groups={self.groups}")
        if any(is_empty(n) for n in self.out(x.shape[2:], w.shape[2:])):
            raise ShapeError(f"{self.name}: the kernel {show(w.shape[2:])} with dilation {self.dilation} does not fit "
                             f"in {show(x.shape[2:])} padded by {self.padding}", hint="Use more padding.")


def beside(x: Value) -> Value:
    """Images (n, N, C, H, W) of n places as channels of N images, (N, n*C, H, W)."""
    moved = transpose(x, (1, 0, 2, 3, 4))
    return reshape(moved, (moved.shape[0], moved.shape[1] * moved.shape[2], *moved.shape[3:]))


def is_empty(n: Dim) -> bool:
    """Whether a size is below 1; what stays open outside of a trace is told when a program runs."""
    return n < 1 if isinstance(n, int) else SIZES.get() is not None and below(n, 1)


def widened(x: Array) -> Array:
    """float16 and bfloat16 as float32, in which their products are added up."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def grouped(x: Array, axis: int, groups: int) -> Array:
    """x with an axis of channels split into (groups, channels per group)."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1:])


def padded(x: Array, padding: Padding) -> Array:
    """x with zeros around its last two axes."""
    return np.ascontiguousarray(np.pad(x, ((0, 0), (0, 0), *padding)))


class Conv2d(Convolution):
    """x (N, C, H, W) with w (O, C/groups, KH, KW) -> (N, O, OH, OW); padding is ((top, bottom), (left, right))."""

    def type(self, *x: Type) -> Type:
        self.check(*x)
        return x[0].with_shape((x[0].shape[0], x[1].shape[0], *self.out(x[0].shape[2:], x[1].shape[2:])))

    def reference(self, *x: Array) -> Array:
        y = self.type(*(Type(float32, v.shape) for v in x)).shape
        image, w = map(widened, x)
        taps = self.taps(padded(image, self.padding), w.shape[2:], y[2:])  # type: ignore[arg-type]
        product = np.einsum("yxngchw,gocyx->ngohw", grouped(taps, 3, self.groups), grouped(w, 0, self.groups),
                            optimize=True)
        return product.reshape(y).astype(x[0].dtype)  # type: ignore[arg-type]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return (Conv2dInputGrad(*self.attributes, x[0].shape[2:])(g, x[1]),
                Conv2dWeightGrad(*self.attributes, x[1].shape[2:])(g, x[0]))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(*a), (Type(float32, x), Type(float32, w))) for a, x, w, _ in CONVOLUTIONS)


class Conv2dInputGrad(Convolution):
    """The transpose of Conv2d in x: g (N, O, OH, OW) with w -> (N, C, *size)."""

    size: tuple[Dim, ...]

    def type(self, *x: Type) -> Type:
        g, w = x
        y = g.with_shape((g.shape[0], w.shape[1] * self.groups, *self.size))
        self.check(y, w)
        check_cotangent(self, g, (g.shape[0], w.shape[0], *self.out(self.size, w.shape[2:])))
        return y

    def reference(self, *x: Array) -> Array:
        g, w = map(widened, x)
        (top, bottom), (left, right) = self.padding
        height, width = self.size
        y = np.zeros((g.shape[0], w.shape[1] * self.groups, height + top + bottom, width + left + right), g.dtype)
        parts = np.einsum("ngohw,gocyx->yxngchw", grouped(g, 1, self.groups), grouped(w, 0, self.groups), optimize=True)
        taps = self.taps(y, w.shape[2:], g.shape[2:])
        for k in np.ndindex(*w.shape[2:]):
            taps[k] += parts[k].reshape(taps[k].shape)
        return y[:, :, top: top + height, left: left + width].astype(x[0].dtype)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return (Conv2d(*self.attributes)(g, x[1]),
                Conv2dWeightGrad(*self.attributes, x[1].shape[2:])(x[0], g))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(*a, size=x[2:]), (Type(float32, y), Type(float32, w))) for a, x, w, y in CONVOLUTIONS)


class Conv2dWeightGrad(Convolution):
    """The transpose of Conv2d in w: g (N, O, OH, OW) with x -> (O, C/groups, *kernel)."""

    kernel: tuple[Dim, ...]

    def type(self, *x: Type) -> Type:
        g, v = x
        y = g.with_shape((g.shape[1], v.shape[1] // self.groups, *self.kernel))
        self.check(v, y)
        check_cotangent(self, g, (v.shape[0], g.shape[1], *self.out(v.shape[2:], self.kernel)))
        return y

    def reference(self, *x: Array) -> Array:
        g, v = map(widened, x)
        taps = self.taps(padded(v, self.padding), self.kernel, g.shape[2:])  # type: ignore[arg-type]
        product = np.einsum("ngohw,yxngchw->gocyx", grouped(g, 1, self.groups), grouped(taps, 3, self.groups),
                            optimize=True)
        return product.reshape(g.shape[1], v.shape[1] // self.groups, *self.kernel).astype(x[0].dtype)  # type: ignore[arg-type]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return (Conv2d(*self.attributes)(x[1], g),
                Conv2dInputGrad(*self.attributes, x[1].shape[2:])(x[0], g))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(*a, kernel=w[2:]), (Type(float32, y), Type(float32, x))) for a, x, w, y in CONVOLUTIONS)


def check_cotangent(op: Op, g: Type, shape: tuple[Dim, ...]) -> None:
    """Raises ShapeError unless g has the shape of the convolution's result."""
    if g.ndim != 4 or not all(same(a, b) for a, b in zip(g.shape, shape)):
        raise ShapeError(f"{op.name} needs g of shape {show(shape)}, got {show(g.shape)}")


CONVOLUTIONS: tuple[Any, ...] = (
    (((1, 1), ((0, 0), (0, 0)), (1, 1), 1), (2, 3, 5, 4), (4, 3, 3, 2), (2, 4, 3, 3)),
    (((2, 1), ((1, 0), (1, 2)), (1, 2), 1), (2, 2, 6, 5), (3, 2, 3, 2), (2, 3, 3, 6)),
    (((1, 2), ((1, 1), (1, 1)), (1, 1), 2), (1, 4, 4, 5), (6, 2, 3, 3), (1, 6, 4, 3)),
)


def matmul(x: Value, w: Value) -> Value:
    """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast.

    A vector counts as a row on the left and as a column on the right, whose axis is dropped. Dtypes meet as in `add`;
    integers wrap, 16-bit floats are summed in float32. Raises ShapeError where the inner sizes differ, and for a number
    (write x * w).

    >>> x = st.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> (x @ st.tensor([1.0, 10.0])).tolist(), (x @ x).tolist()
    ([21.0, 43.0], [[7.0, 10.0], [15.0, 22.0]])
    >>> st.matmul(st.zeros((8, 2, 3)), st.zeros((3, 5))).shape
    (8, 2, 5)
    """
    if x.ndim == 0 or w.ndim == 0:
        raise ShapeError(f"matmul needs arrays of one axis or more, got {show(x.shape)} @ {show(w.shape)}",
                         hint="Write x * w.")
    if x.ndim == 1:
        return reshape(y := matmul(expand_dims(x, (0,)), w), (*y.shape[:-2], y.shape[-1])) if w.ndim > 1 \
            else reshape(matmul(expand_dims(x, (0,)), w), ())
    if w.ndim == 1:
        y = matmul(x, expand_dims(w, (1,)))
        return reshape(y, y.shape[:-1])
    if w.ndim == 2 and x.ndim > 2:
        rows = reshape(x, (reduce(lambda a, b: a * b, x.shape[:-1]), x.shape[-1]))
        return reshape(MatMul()(rows, w), (*x.shape[:-1], w.shape[-1]))
    return MatMul()(x, w)


def pair(n: int | Pair) -> Pair:
    """A number for both axes, or one for each."""
    return (n, n) if isinstance(n, int) else (n[0], n[1])


def pads(padding: int | Pair | Padding | str, kernel: tuple[Dim, ...], stride: Pair, dilation: Pair) -> Padding:
    """Padding as ((top, bottom), (left, right)): from a number, one per axis, or 'valid' and 'same' (stride 1)."""
    if padding == "valid":
        return (0, 0), (0, 0)
    if isinstance(padding, str):
        if padding != "same" or stride != (1, 1):
            raise ShapeError(f"padding must be a number, a pair, 'valid', or 'same' with stride 1; got {padding!r} "
                             f"with stride {stride}")
        reach = [d * (int(k) - 1) for k, d in zip(kernel, dilation)]
        return (reach[0] // 2, reach[0] - reach[0] // 2), (reach[1] // 2, reach[1] - reach[1] // 2)
    if isinstance(padding, int):
        return (padding, padding), (padding, padding)
    return pair(padding[0]), pair(padding[1])


def conv2d(x: Value, w: Value, *, stride: int | Pair = 1, padding: int | Pair | Padding | str = 0,
           dilation: int | Pair = 1, groups: int = 1) -> Value:
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
    if not x.dtype.is_float or not w.dtype.is_float:
        raise DTypeError(f"conv2d needs float operands, got {x.dtype} and {w.dtype}",
                         hint="Convert with .astype('float32').")
    stride, dilation = pair(stride), pair(dilation)
    return Conv2d(stride, pads(padding, w.shape[2:], stride, dilation), dilation, groups)(x, w)


ALL = (MatMul, Conv2d, Conv2dInputGrad, Conv2dWeightGrad)
