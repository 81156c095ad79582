"""Random graphs of every family of ops, with their gradients and loops, from a seed."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from stele.ir.graph import Array, Graph, Value, literal, parameter
from stele.ir.types import Type, float64
from stele.ops.composite import LogSoftmax, Normalize, Silu, Softmax
from stele.ops.contraction import matmul
from stele.ops.control import scan
from stele.ops.elementwise.arithmetic import Neg, Select
from stele.ops.elementwise.unary import (
    absolute,
    cos,
    exp,
    log,
    log1p,
    reciprocal,
    relu,
    sigmoid,
    sin,
    softplus,
    sqrt,
    square,
    tanh,
)
from stele.ops.linear import Concatenate, Pad, Slice, Sum, broadcast, flip, reshape, slice_axis, swap_last, transpose
from stele.ops.reduction import Max, Prod
from stele.transform.autodiff import gradients

T = TypeVar("T")
LARGEST = 100.0
SHAPES = ((2, 3), (3,), (3, 2), (), (1, 3), (2, 3, 2))

UNARY: tuple[Callable[[Value], Value], ...] = (
    tanh, sigmoid, sin, cos, exp, softplus, square, lambda x: -x, lambda x: x * x, lambda x: Neg()(-x),
    lambda x: log(exp(x)), lambda x: log(1 + exp(x)), lambda x: exp(x) - 1, lambda x: log(sigmoid(x)),
    lambda x: 1 - sigmoid(x), lambda x: log(1 - sigmoid(x)), lambda x: 1 / (1 + exp(-x)), lambda x: sqrt(square(x) + 1),
    lambda x: reciprocal(square(x) + 1), lambda x: exp(x) / (1 + exp(x)), lambda x: log1p(square(x)),
    lambda x: 1 - cos(x),
    lambda x: x + 0, lambda x: x * 1, lambda x: x / 4, lambda x: x - 0.5, lambda x: 2 - x, lambda x: x * 3 * 0.5,
    lambda x: x * literal(0.5, float64) + (literal(1.0, float64) + 2), Silu(), lambda x: x + x,
)
AXIS: tuple[Callable[[Value, int], Value], ...] = (
    lambda x, k: Softmax(k)(x), lambda x, k: LogSoftmax(k)(x), lambda x, k: log(Softmax(k)(x)),
    lambda x, k: Normalize((k,), 0.1)(x), lambda x, k: Sum((k,))(x), lambda x, k: Sum((k,))(-x * 3),
    lambda x, k: exp(x) / keep(Sum((k,))(exp(x)), k, x), lambda x, k: log(Sum((k,))(exp(x))),
    lambda x, k: flip(x, (k,)),
    lambda x, k: Concatenate(k)(x, x * 2), lambda x, k: slice_axis(x, k, 0, 1),
    lambda x, k: Sum((k,))(broadcast(slice_axis(x, k, 0, 1), x.shape)), lambda x, k: Prod((k,))(tanh(x)),
    lambda x, k: Concatenate(k)(slice_axis(x, k, 0, 1), slice_axis(x, k, 1, x.shape[k] - 1)), lambda x, k: padded(x, k),
    lambda x, k: slice_axis(padded(x, k), k, 1, x.shape[k]), lambda x, k: Sum((k,))(Sum((k,))(square(wider(x, k)))),
)
SHAPE: tuple[Callable[[Value], Value], ...] = (
    lambda x: reshape(x, (-1,)), lambda x: transpose(x, tuple(reversed(range(x.ndim)))),
    lambda x: transpose(transpose(x, tuple(reversed(range(x.ndim)))), tuple(reversed(range(x.ndim)))),
    lambda x: broadcast(x, (2, *x.shape)), lambda x: reshape(x, (1, *x.shape)), lambda x: wider(x, 0),
    lambda x: Slice((0,) * x.ndim, x.shape, (1,) * x.ndim)(x),
)
BINARY: tuple[Callable[[Value, Value], Value], ...] = (
    lambda x, z: x + z, lambda x, z: x - z, lambda x, z: x * z, lambda x, z: x + -z, lambda x, z: -x * -z,
    lambda x, z: x / (square(z) + 1), lambda x, z: -(x - z), lambda x, z: exp(x) / exp(z), lambda x, z: z - (-x),
)
KINKED: tuple[Callable[[Value], Value], ...] = (
    relu, absolute, lambda x: relu(relu(x)), lambda x: sqrt(x * x), lambda x: Select()(x > 0, x, x * 0.1),
    lambda x: Max((0,))(x) if x.ndim else x,
)


def keep(y: Value, axis: int, x: Value) -> Value:
    return broadcast(reshape(y, tuple(1 if k == axis else n for k, n in enumerate(x.shape))), x.shape)


def wider(x: Value, axis: int) -> Value:
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def padded(x: Value, axis: int) -> Value:
    low = tuple(int(k == axis) for k in range(x.ndim))
    return Pad(low, low, (0,) * x.ndim)(x)


class Growth:
    """A graph that grows by random ops whose values, for one random input, stay moderate."""

    def __init__(self, seed: int, run: Callable[[Graph, list[Array]], list[Array]]) -> None:
        self.rng, self.run = np.random.default_rng(seed), run
        count = int(self.rng.integers(2, 5))
        self.parameters = [parameter(f"x{k}", Type(float64, self.choose(SHAPES))) for k in range(count)]
        self.arrays = [self.rng.uniform(-2, 2, p.shape) for p in self.parameters]
        self.values: list[Value] = list(self.parameters)

    def choose(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(len(options)))]

    def candidate(self) -> Value | None:
        """One more op on values there are."""
        x, kind = self.choose(self.values), int(self.rng.integers(10))
        if kind < 3:
            return self.choose(UNARY)(x)
        if kind < 5 and x.ndim:
            return self.choose(AXIS)(x, int(self.rng.integers(x.ndim)))
        if kind == 5:
            return self.choose(SHAPE)(x) if x.ndim < 4 else None
        if kind == 6:
            return self.choose(KINKED)(self.choose(self.parameters))
        fitting = [z for z in self.values if z.shape == x.shape or not z.ndim]
        if kind == 7 and x.ndim == 2:
            rows = [z for z in self.values if z.ndim == 2 and x.shape[1] in z.shape]
            z = self.choose(rows) if rows else x
            return matmul(x, z if z.shape[0] == x.shape[1] else swap_last(z))
        if kind == 8 and x.ndim > 1:
            return self.loop(x)
        return self.choose(BINARY)(x, self.choose(fitting))

    def loop(self, x: Value) -> Value:
        """A short recurrent loop over the first axis."""
        w = [z for z in self.values if z.shape == x.shape[1:]]
        square_ = [z for z in self.values if z.ndim == 2 and z.shape == (x.shape[-1],) * 2] if x.ndim == 3 else []
        factor = self.choose(w) if w else x * 0.5

        def step(c: tuple[Value, ...], xs: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
            a = matmul(xs[0], square_[0]) if square_ else xs[0]
            h = tanh(c[0] * (factor if w else Sum((0,))(factor)) + a)
            return [h], [h * xs[0]]

        (last,), (ys,) = scan(step, [Sum((0,))(x)], [x],
                              reverse=bool(self.rng.integers(2)))
        return last if self.rng.random() < 0.5 else ys

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            v = self.candidate()
            if v is None or (isinstance(v.type.size, int) and v.type.size > 400):
                continue
            (y,) = self.run(Graph(tuple(self.parameters), (v,)), self.arrays)
            if np.isfinite(y).all() and float(np.abs(y).max(initial=0)) < LARGEST:
                self.values.append(v)


def random_graph(seed: int, run: Callable[[Graph, list[Array]], list[Array]]) -> tuple[Graph, list[Array]]:
    """A graph with one to three results, and their gradients half of the time; and arguments for it."""
    growth = Growth(seed, run)
    growth.grow(int(growth.rng.integers(3, 16)))
    count = int(growth.rng.integers(1, 4))
    results = [growth.choose(growth.values[-6:]) for _ in range(count)]
    if growth.rng.random() < 0.5:
        ones = [broadcast(literal(1.0, float64), v.shape) for v in results]
        results += [g for g in gradients(results, ones, growth.parameters) if g is not None]
    return Graph(tuple(growth.parameters), tuple(results)), growth.arrays
