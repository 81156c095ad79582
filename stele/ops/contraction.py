"""Products that sum over shared axes: matrix product and convolutions with their two transposes."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Op, Placed, Value
from stele.ir.origin import note
from stele.ir.sizes import Dim
from stele.ir.types import SIZES, Shape, Type, below, broadcast_shapes, float32, float64, product, promote, same, show
from stele.ops.linear import (
    along,
    broadcast,
    cast,
    expand_dims,
    flip,
    fold,
    pad_axis,
    reshape,
    slice_axis,
    swap_last,
    transpose,
    unfold,
)
from stele.ops.windows import Unwindow, Window

Pair = tuple[int, int]


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
    """(..., M, K) @ (..., K, N) -> (..., M, N); leading axes broadcast. It `rounds` its factors to bfloat16 where a
    program's precision says so."""

    rounds: bool = True

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
    """Cross-correlation over the axes behind (N, C), and its transposes; fields have an entry for each axis."""

    stride: tuple[int, ...]
    padding: tuple[Pair, ...]
    dilation: tuple[int, ...]
    groups: int
    axes: ClassVar[str] = "HW"

    @property
    def attributes(self) -> tuple[Any, Any, Any, int]:
        return self.stride, self.padding, self.dilation, self.groups

    @property
    def kin(self) -> tuple[Any, Any, Any]:
        """The convolution of as many axes, its transpose in x and that in w."""
        return KIN[len(self.axes)]

    @property
    def letters(self) -> dict[str, str]:
        """Axes as einsum knows them: positions of the result, elements of the kernel."""
        rank = len(self.axes)
        return {"o": "dhw"[-rank:], "k": "zyx"[-rank:]}

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """One convolution of more images under one kernel; else, of known places, of more groups."""
        (a, is_placed), (w, has_own) = x
        if is_placed and not has_own and not isinstance(self, WeightGrad):
            return unfold(self(fold(a), w), n)
        if not isinstance(n, int):
            return None
        a, w = (along(v, n) for v in x)
        more = replace(self, groups=self.groups * n)
        if isinstance(self, WeightGrad):
            return unfold(more(beside(a), beside(w)), n)
        made = more(beside(a), fold(w))
        made = reshape(made, (made.shape[0], n, made.shape[1] // n, *made.shape[2:]))
        return transpose(made, (1, 0, *range(2, made.ndim)))

    def out(self, size: tuple[Dim, ...], kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Sizes of the result for those of the input."""
        return tuple((n + lo + hi - d * (k - 1) - 1) // s + 1
                     for n, k, s, (lo, hi), d in zip(size, kernel, self.stride, self.padding, self.dilation))

    def taps(self, x: Array, kernel: tuple[int, ...], out: tuple[int, ...]) -> Array:
        """A writable view (*kernel, N, C, *out) of a padded input: what each tap of the kernel meets."""
        down, across = ([n * k for n, k in zip(x.strides[2:], steps)] for steps in (self.dilation, self.stride))
        return np.lib.stride_tricks.as_strided(x, (*kernel, *x.shape[:2], *out), (*down, *x.strides[:2], *across))

    def check(self, x: Type, w: Type) -> None:
        """Raises unless x is (N, C, *axes), w is (O, C/groups, *kernel) and the kernel fits."""
        rank, kernel = len(self.axes), ", ".join(f"K{a}" for a in self.axes)
        if min(*self.stride, *self.dilation, self.groups) < 1:
            raise ShapeError(f"{self.name} needs stride, dilation and groups of 1 or more, got {self}")
        if x.ndim != rank + 2 or w.ndim != rank + 2:
            raise ShapeError(f"{self.name} needs x as (N, C, {', '.join(self.axes)}) and w as (O, C/groups, {kernel}), "
                             f"got {show(x.shape)} and {show(w.shape)}")
        if not same(x.shape[1], w.shape[1] * self.groups):
            raise ShapeError(f"{self.name} with groups={self.groups} needs x.shape[1] == w.shape[1] * groups, "
                             f"got {show(x.shape)} and {show(w.shape)}")
        if w.shape[0] % self.groups != 0:
            raise ShapeError(f"{self.name} needs the {w.shape[0]} output channels to divide by groups={self.groups}")
        if any(is_empty(n) for n in self.out(x.shape[2:], w.shape[2:])):
            raise ShapeError(f"{self.name}: the kernel {show(w.shape[2:])} with dilation {self.dilation} does not fit "
                             f"in {show(x.shape[2:])} padded by {self.padding}", hint="Use more padding.")

    def check_cotangent(self, g: Type, shape: tuple[Dim, ...]) -> None:
        """Raises ShapeError unless g has the shape of the convolution's result."""
        if g.ndim != len(shape) or not all(same(a, b) for a, b in zip(g.shape, shape)):
            raise ShapeError(f"{self.name} needs g of shape {show(shape)}, got {show(g.shape)}")


def has_patches(kernel: Shape, stride: Sequence[int], padding: Sequence[Pair], dilation: Sequence[int], groups: int
                ) -> bool:
    """Whether Winograd's algorithm is one for a convolution over two axes: of 3x3 kernels, at stride 1."""
    is_plain = kernel == (3, 3) and {*stride, *dilation, groups} == {1}
    return is_plain and max(low for low, _ in padding) <= 2


def beside(x: Value) -> Value:
    """Images (n, N, C, ...) of n places as channels of N images, (N, n*C, ...)."""
    moved = transpose(x, (1, 0, *range(2, x.ndim)))
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


def padded(x: Array, padding: Sequence[Pair]) -> Array:
    """x with zeros around the axes behind (N, C)."""
    return np.ascontiguousarray(np.pad(x, ((0, 0), (0, 0), *padding)))


class Correlation(Convolution):
    """x (N, C, ...) with w (O, C/groups, ...) -> (N, O, ...); padding has the zeros (before, behind) each axis."""

    def type(self, *x: Type) -> Type:
        self.check(*x)
        return x[0].with_shape((x[0].shape[0], x[1].shape[0], *self.out(x[0].shape[2:], x[1].shape[2:])))

    def reference(self, *x: Array) -> Array:
        y = self.type(*(Type(float32, v.shape) for v in x)).shape
        image, w = map(widened, x)
        taps = self.taps(padded(image, self.padding), w.shape[2:], y[2:])  # type: ignore[arg-type]
        product = np.einsum("{k}ngc{o},goc{k}->ngo{o}".format(**self.letters),
                            grouped(taps, 1 + w.ndim - 2, self.groups), grouped(w, 0, self.groups), optimize=True)
        return product.reshape(y).astype(x[0].dtype)  # type: ignore[arg-type]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        _, back, slope = self.kin
        return back(*self.attributes, x[0].shape[2:])(g, x[1]), slope(*self.attributes, x[1].shape[2:])(g, x[0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(*a), (Type(float32, x), Type(float32, w))) for a, x, w, _ in CONVOLUTIONS[len(cls.axes)])


class InputGrad(Convolution):
    """The transpose of a convolution in x: g (N, O, ...) with w -> (N, C, *size)."""

    size: tuple[Dim, ...]

    def type(self, *x: Type) -> Type:
        g, w = x
        y = g.with_shape((g.shape[0], w.shape[1] * self.groups, *self.size))
        self.check(y, w)
        self.check_cotangent(g, (g.shape[0], w.shape[0], *self.out(self.size, w.shape[2:])))
        return y

    def reference(self, *x: Array) -> Array:
        g, w = map(widened, x)
        whole = [n + lo + hi for n, (lo, hi) in zip(self.size, self.padding)]
        y = np.zeros((g.shape[0], w.shape[1] * self.groups, *whole), g.dtype)  # type: ignore[arg-type]
        parts = np.einsum("ngo{o},goc{k}->{k}ngc{o}".format(**self.letters), grouped(g, 1, self.groups),
                          grouped(w, 0, self.groups), optimize=True)
        taps = self.taps(y, w.shape[2:], g.shape[2:])
        for k in np.ndindex(*w.shape[2:]):
            taps[k] += parts[k].reshape(taps[k].shape)
        cut: Any = tuple(slice(lo, lo + n) for n, (lo, _) in zip(self.size, self.padding))  # type: ignore[operator]
        return y[(..., *cut)].astype(x[0].dtype)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        ahead, _, slope = self.kin
        return ahead(*self.attributes)(g, x[1]), slope(*self.attributes, x[1].shape[2:])(x[0], g)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(*a, size=x[2:]), (Type(float32, y), Type(float32, w)))
                     for a, x, w, y in CONVOLUTIONS[len(cls.axes)])


class WeightGrad(Convolution):
    """The transpose of a convolution in w: g (N, O, ...) with x -> (O, C/groups, *kernel)."""

    kernel: tuple[Dim, ...]

    def type(self, *x: Type) -> Type:
        g, v = x
        y = g.with_shape((g.shape[1], v.shape[1] // self.groups, *self.kernel))
        self.check(v, y)
        self.check_cotangent(g, (v.shape[0], g.shape[1], *self.out(v.shape[2:], self.kernel)))
        return y

    def reference(self, *x: Array) -> Array:
        g, v = map(widened, x)
        taps = self.taps(padded(v, self.padding), self.kernel, g.shape[2:])  # type: ignore[arg-type]
        product = np.einsum("ngo{o},{k}ngc{o}->goc{k}".format(**self.letters), grouped(g, 1, self.groups),
                            grouped(taps, 1 + v.ndim - 2, self.groups), optimize=True)
        return product.reshape(g.shape[1], v.shape[1] // self.groups, *self.kernel).astype(x[0].dtype)  # type: ignore[arg-type]

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        ahead, back, _ = self.kin
        return ahead(*self.attributes)(x[1], g), back(*self.attributes, x[1].shape[2:])(x[0], g)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(*a, kernel=w[2:]), (Type(float32, y), Type(float32, x)))
                     for a, x, w, y in CONVOLUTIONS[len(cls.axes)])


class Conv2d(Correlation):
    """x (N, C, H, W) with w (O, C/groups, KH, KW) -> (N, O, OH, OW); padding is ((top, bottom), (left, right))."""


class Conv2dInputGrad(InputGrad):
    """The transpose of Conv2d in x: g (N, O, OH, OW) with w -> (N, C, *size)."""


class Conv2dWeightGrad(WeightGrad):
    """The transpose of Conv2d in w: g (N, O, OH, OW) with x -> (O, C/groups, *kernel)."""


class Line(Convolution):
    """Over one axis: as over two, of which the first is 1 long."""

    axes: ClassVar[str] = "L"
    family: ClassVar[str] = "composite"

    def expand(self, *x: Value) -> Value:
        row = (1, *self.stride), ((0, 0), *self.padding), (1, *self.dilation), self.groups
        rest = ((1, *more) for more in (getattr(self, "size", None), getattr(self, "kernel", None)) if more)
        y = KIN[2][self.kin.index(type(self))](*row, *rest)(*(expand_dims(v, (2,)) for v in x))
        return reshape(y, (*y.shape[:2], y.shape[3]))


class Conv1d(Line, Correlation):
    """x (N, C, L) with w (O, C/groups, K) -> (N, O, OL)."""


class Conv1dInputGrad(Line, InputGrad):
    """The transpose of Conv1d in x: g (N, O, OL) with w -> (N, C, *size)."""


class Conv1dWeightGrad(Line, WeightGrad):
    """The transpose of Conv1d in w: g (N, O, OL) with x -> (O, C/groups, *kernel)."""


class Volume(Convolution):
    """Over three axes: as over two, of images whose channels are what the kernel meets of C channels in depth."""

    axes: ClassVar[str] = "DHW"
    family: ClassVar[str] = "composite"

    @property
    def flat(self) -> tuple[Any, Any, Any, int]:
        """The attributes without depth."""
        return self.stride[1:], self.padding[1:], self.dilation[1:], self.groups

    def layers(self, x: Value, kernel: Dim, low: Dim, high: Dim, stride: int) -> Value:
        """(N, C, D, H, W), padded in depth, as images (N*OD, C*kernel, H, W)."""
        seen = Window(2, kernel, stride, self.dilation[0])(pad_axis(x, 2, low, high))
        return images(transpose(seen, (0, 1, 5, 2, 3, 4)))


def images(x: Value) -> Value:
    """(N, C, ..., D, H, W) as (N*D, C*..., H, W)."""
    k = x.ndim - 3
    moved = transpose(x, (0, k, *range(1, k), k + 1, k + 2))
    return reshape(moved, (x.shape[0] * x.shape[k], product(x.shape[1:k]), *x.shape[k + 1:]))


def volumes(x: Value, n: Dim, depth: Dim) -> Value:
    """(N*D, C, H, W) as (N, C, D, H, W)."""
    return transpose(reshape(x, (n, depth, *x.shape[1:])), (0, 2, 1, 3, 4))


def thin(w: Value) -> Value:
    """Kernels (O, C, K, KH, KW) as those (O, C*K, KH, KW) of `layers`."""
    return reshape(w, (w.shape[0], w.shape[1] * w.shape[2], *w.shape[3:]))


class Conv3d(Volume, Correlation):
    """x (N, C, D, H, W) with w (O, C/groups, KD, KH, KW) -> (N, O, OD, OH, OW)."""

    def expand(self, x: Value, w: Value) -> Value:
        seen = self.layers(x, w.shape[2], *self.padding[0], self.stride[0])
        depth, = Correlation.out(self, x.shape[2:3], w.shape[2:3])
        return volumes(Conv2d(*self.flat)(seen, thin(w)), x.shape[0], depth)


class Conv3dInputGrad(Volume, InputGrad):
    """The transpose of Conv3d in x: g (N, O, OD, OH, OW) with w -> (N, C, *size)."""

    def expand(self, g: Value, w: Value) -> Value:
        (low, high), (stride, *_), (dilation, *_), k = self.padding[0], self.stride, self.dilation, w.shape[2]
        depth, *size = self.size
        back = Conv2dInputGrad(*self.flat, tuple(size))
        if stride == 1:
            reach = dilation * (k - 1)
            seen = self.layers(g, k, reach - low, reach - high, 1)
            turned = transpose(flip(w, (2,)), (0, 2, 1, 3, 4))
            return volumes(back(seen, reshape(turned, (w.shape[0] * k, *turned.shape[2:]))), g.shape[0], depth)
        wide = float32 if g.dtype.bits == 16 else g.dtype
        y = back(images(cast(g, wide)), thin(cast(w, wide)))
        y = reshape(y, (g.shape[0], g.shape[2], y.shape[1] // k, k, *size))
        y = Unwindow(2, int(k), stride, dilation, depth + low + high)(transpose(y, (0, 2, 1, 4, 5, 3)))
        return cast(slice_axis(y, 2, low, depth), g.dtype)


class Conv3dWeightGrad(Volume, WeightGrad):
    """The transpose of Conv3d in w: g (N, O, OD, OH, OW) with x -> (O, C/groups, *kernel)."""

    def expand(self, g: Value, x: Value) -> Value:
        k, *kernel = self.kernel
        seen = self.layers(x, k, *self.padding[0], self.stride[0])
        y = Conv2dWeightGrad(*self.flat, tuple(kernel))(images(g), seen)
        return reshape(y, (y.shape[0], x.shape[1] // self.groups, *self.kernel))


KIN: dict[int, tuple[Any, Any, Any]] = {
    1: (Conv1d, Conv1dInputGrad, Conv1dWeightGrad),
    2: (Conv2d, Conv2dInputGrad, Conv2dWeightGrad),
    3: (Conv3d, Conv3dInputGrad, Conv3dWeightGrad),
}
CONVOLUTIONS: dict[int, tuple[Any, ...]] = {        # attributes, shapes of x, w and the result
    1: ((((1,), ((0, 0),), (1,), 1), (2, 3, 5), (4, 3, 3), (2, 4, 3)),
        (((2,), ((1, 2),), (3,), 2), (1, 4, 8), (6, 2, 3), (1, 6, 3))),
    2: ((((1, 1), ((0, 0), (0, 0)), (1, 1), 1), (2, 3, 5, 4), (4, 3, 3, 2), (2, 4, 3, 3)),
        (((2, 1), ((1, 0), (1, 2)), (1, 2), 1), (2, 2, 6, 5), (3, 2, 3, 2), (2, 3, 3, 6)),
        (((1, 2), ((1, 1), (1, 1)), (1, 1), 2), (1, 4, 4, 5), (6, 2, 3, 3), (1, 6, 4, 3))),
    3: ((((1, 1, 1), ((1, 0), (1, 1), (0, 0)), (2, 1, 1), 1), (2, 2, 4, 3, 4), (2, 2, 3, 3, 2), (2, 2, 1, 3, 3)),
        (((2, 1, 2), ((1, 1), (0, 0), (1, 0)), (1, 2, 1), 2), (1, 2, 5, 4, 3), (2, 1, 2, 2, 2), (1, 2, 3, 2, 2))),
}


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


ALL = (MatMul, *(op for kin in KIN.values() for op in kin))
