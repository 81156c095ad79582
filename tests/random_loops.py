"""Random nests of loops, with their gradients, from a seed: what is carried, stacked and read is any value there is."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from stele.ir.graph import Array, Graph, Value, literal, parameter
from stele.ir.types import Type, float64
from stele.ops.contraction import matmul
from stele.ops.control import scan
from stele.ops.elementwise.unary import sin, tanh
from stele.ops.linear import Sum, broadcast, flip, reshape, slice_axis
from stele.transform.autodiff import gradients
from tests.host_ops import Running

T = TypeVar("T")
SHAPES = ((), (3,), (2,), (2, 3), (3, 3), (1, 3), (2, 2, 3), (3, 1, 3), (0, 3))


class Nest:
    """Loops around loops, at most `deep`."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.deep = int(self.rng.integers(2, 4))
        self.parameters = [parameter(f"x{k}", Type(float64, self.choose(SHAPES)))
                           for k in range(int(self.rng.integers(2, 4)))]
        self.arrays = [self.rng.uniform(-1, 1, p.shape) for p in self.parameters]

    def choose(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(len(options)))]

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        return [self.choose(options) for _ in range(int(self.rng.integers(least, most + 1)))]

    def cell(self, seen: list[Value]) -> Value:
        """One op on values there are."""
        x, kind = self.choose(seen), int(self.rng.integers(9))
        alike = [z for z in seen if z.shape == x.shape]
        if kind < 2:
            return tanh(x * self.choose(alike))
        if kind == 2:
            return sin(x) + self.choose(alike)
        if kind == 3 and x.ndim:
            return tanh(Sum((int(self.rng.integers(x.ndim)),))(x))
        if kind == 4:
            return tanh(broadcast(x, (self.choose((1, 2, 3)), *x.shape))) if x.ndim < 3 else -x
        if kind == 5 and x.ndim and x.shape[0]:
            return slice_axis(x, 0, 0, 1) if x.shape[0] == 1 else flip(x, (0,))
        if kind == 6 and x.ndim == 2:
            fitting = [z for z in seen if z.ndim == 2 and z.shape[0] == x.shape[1] and z.type.size * x.type.size]
            return tanh(matmul(x, self.choose(fitting))) if fitting else x * 0.5
        if kind == 7:
            return broadcast(literal(self.choose((0.0, 1.0, 0.25)), float64), x.shape)
        if kind == 8 and x.ndim:
            return sin(Running(int(self.rng.integers(x.ndim)), bool(self.rng.integers(2)))(x))
        return reshape(x, (*x.shape, 1)) if x.ndim < 3 else x

    def fit(self, v: Value, shape: tuple[int, ...]) -> Value:
        """v as a value of that shape."""
        if v.shape == shape:
            return v
        return broadcast(tanh(Sum(tuple(range(v.ndim)))(v)) if v.ndim else v, shape)

    def grown(self, seen: Sequence[Value], depth: int, ops: int) -> list[Value]:
        """Values there are, and some made of them; loops among these."""
        found = list(seen)
        for _ in range(ops):
            if depth < self.deep and self.rng.random() < 0.6:
                found += self.loop(found, depth + 1)
            else:
                found.append(self.cell(found))
        return found

    def loop(self, seen: list[Value], depth: int) -> tuple[Value, ...]:
        """The results of a loop whose step may take, carry on and stack any value in its sight."""
        stacks = [v for v in seen if v.ndim]
        init = self.some(seen, 0, 3)
        length = self.choose((0, 1, 1, 2, 3)) if not stacks or self.rng.random() < 0.2 else None
        xs = [] if length is not None else self.some(stacks, 1, 1)
        if xs:
            xs += self.some([v for v in stacks if v.shape[0] == xs[0].shape[0]], 0, 2)

        def step(carries: tuple[Value, ...], slices: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
            known = [*carries, *slices]
            inside = self.grown([*known, *known, *self.some(seen, 1, 2)], depth, int(self.rng.integers(0, 5)))
            new: list[Value] = []
            for c in carries:
                alike = [v for v in inside[::-1] if v.shape == c.shape]
                new.append(self.choose(alike) if self.rng.random() < 0.7 else self.fit(inside[-1], c.shape))
            return new, self.some([*inside, *inside[-2:], *new], 0 if new else 1, 3)

        last, ys = scan(step, init, xs, length=length, reverse=bool(self.rng.integers(2)))
        return (*last, *ys)


def random_nest(seed: int) -> tuple[Graph, list[Array]]:
    """A graph of loops, with gradients of it three times out of four; and arguments for it."""
    nest = Nest(seed)
    seen = list(nest.loop(nest.grown(nest.parameters, nest.deep, 2), 1))
    seen = nest.grown(seen, 0, 2)
    results = [v for v in nest.some(seen, 1, 3) if v.type.size]
    if results and nest.rng.random() < 0.75:
        y = [tanh(v) for v in results]
        given = [broadcast(literal(1.0, float64), v.shape) for v in y]
        results += [g for g in gradients(y, given, nest.parameters) if g is not None]
    return Graph(tuple(nest.parameters), (*results, *seen[-1:])), nest.arrays
