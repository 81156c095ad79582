"""What ONNX has one op for and a graph several, put together again: normalisations, attention, rotary positions."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.scope import Rule, Scope, bare
from stele.ir.graph import Graph, Op, Value, users
from stele.ir.origin import inherit
from stele.ir.rewrite import everywhere, rewrite, substituted
from stele.ir.types import Type, axes_of, axis_of, bool_, float32, product
from stele.ops.composite import Normalize, Softmax
from stele.ops.contraction import MatMul
from stele.ops.elementwise import arithmetic as a
from stele.ops.elementwise import unary as u
from stele.ops.generate import Iota
from stele.ops.linear import (
    Broadcast,
    Concatenate,
    Reshape,
    Slice,
    Sum,
    Transpose,
    broadcast,
    expand_dims,
    reshape,
    slice_axis,
    swap_last,
)
from stele.ops.reduction import Any as Some
from stele.transform.patterns import number
from stele.transform.share import share
from stele.transform.simplify import multiply_by_one, number_last

Users = Mapping[Value, Sequence[Value]]
Found = Iterator[Value]


class Native(Op):
    """An op of ONNX by its name, in place of those that mean it; its result is of the type of what it stands for."""

    word: str
    options: tuple[tuple[str, Any], ...]
    of: Type

    def type(self, *x: Type) -> Type: return self.of


def named(v: Value, word: str, *x: Value, **options: Any) -> Value:
    """An op of ONNX that gives a result of the type of v."""
    return Native(word, tuple(options.items()), v.type)(*x)


def written(s: Scope, v: Value, *x: Node) -> Node:
    """The node of such an op."""
    op: Any = v.op
    return s.node(op.word, *x, dtype=v.dtype, **dict(op.options))


RULES: dict[type[Op], Rule] = {Native: written}


def together(graph: Graph, opset: int) -> Graph:
    """The graph, and those it holds, with ops of ONNX in place of what means them, where the opset has such an op.

    Products with 1, where every gradient begins, are left out: ONNX Runtime 1.32 refuses some graphs that have them.
    """
    return everywhere(partial(joined, opset=opset), share(rewrite(graph, (number_last, multiply_by_one))))


def joined(graph: Graph, opset: int) -> Graph:
    """One level of `together`."""
    taken = users(graph.values)
    for v in graph.results:
        taken[v] = [*taken.get(v, ()), v]
    becomes: dict[Value, Value] = {}
    for v in graph.values:
        if type(v.op) in PATTERNS and v.dtype == float32 and 0 not in v.shape:
            with inherit(v.where):
                for first, pattern in PATTERNS[type(v.op)]:
                    new = next(pattern(v, taken), None) if first <= opset else None
                    if new is not None:
                        becomes[v] = new
                        break
    return substituted(graph, becomes) if becomes else graph


def operands(v: Value, kind: type[Op]) -> Iterator[Sequence[Value]]:
    """The two operands of an op of a kind, in either order."""
    if isinstance(v.op, kind):
        yield v.args
        yield v.args[::-1]


def unshaped(v: Value) -> Value:
    """A value before it was repeated and reshaped."""
    return unshaped(v.args[0]) if isinstance(v.op, Broadcast | Reshape) else v


def is_one_of(v: Value, shape: Sequence[Any]) -> bool:
    """Whether a value has a shape."""
    return v.shape == (*shape,)


# normalisations


def affine(v: Value) -> Iterator[tuple[Value, Value, Value]]:
    """x, scale and bias of x * scale + bias."""
    for y, bias in operands(v, a.Add):
        for x, scale in operands(y, a.Mul):
            yield x, bare(scale), bare(bias)


def last(v: Value, axes: Sequence[int]) -> int | None:
    """The first of all last axes, where they are these."""
    axes = sorted(axes_of(tuple(axes), v.ndim))
    return axes[0] if axes and axes == [*range(axes[0], v.ndim)] else None


def layer_norm(v: Value, taken: Users) -> Found:
    """The last axes by their mean and variance, times a scale, and a bias."""
    for y, scale, bias in affine(v):
        match y.op:
            case Normalize(axes, eps) if (axis := last(y, axes)) is not None:
                if is_one_of(scale, y.shape[axis:]) and is_one_of(bias, y.shape[axis:]):
                    yield named(v, "LayerNormalization", y.args[0], scale, bias, axis=axis, epsilon=eps)
            case _: pass


def channels(v: Value, x: Value) -> Value | None:
    """A vector of one number for each channel (axis 1) of x, which v repeats over the other axes."""
    v = bare(v)
    inner = v.args[0] if isinstance(v.op, Reshape) else v
    tail = (x.shape[1], *(1,) * (x.ndim - 2))
    fits = is_one_of(v, tail) or is_one_of(v, (1, *tail))
    return inner if fits and is_one_of(inner, tail[:1]) else None


def channel_norms(v: Value, taken: Users) -> Found:
    """Groups of channels, or each channel, by the mean and variance of an example; a scale and a bias of channels."""
    for y, scale, bias in affine(v):
        w, b = (channels(p, y) if y.ndim > 1 else None for p in (scale, bias))
        if w is None or b is None:
            continue
        match y:
            case Value(Normalize(axes, eps), [x]) if last(x, axes) == 2:
                yield named(v, "InstanceNormalization", x, w, b, epsilon=eps)
            case Value(Reshape(), [Value(Normalize(axes, eps), [Value(Reshape(), [x]) as parts])]) if (
                    last(parts, axes) == 2 and x.shape == y.shape and parts.shape[0] == x.shape[0]):
                if isinstance(parts.shape[1], int):
                    yield named(v, "GroupNormalization", x, w, b, epsilon=eps, num_groups=parts.shape[1])
            case _: pass


def batch_norm(v: Value, taken: Users) -> Found:
    """Each channel by numbers that are known: x * f + (bias - mean * f), of f = scale / sqrt(variance + eps)."""
    for x, by, rest in affine(v):
        f, shift = (channels(p, x) if x.ndim > 1 else None for p in (by, rest))
        if f is None or shift is None or not isinstance(shift.op, a.Sub):
            continue
        bias, moved = shift.args
        for scale, spread in quotients(f):
            for mean, factor in operands(moved, a.Mul):
                if factor is f and all(is_one_of(p, f.shape) for p in (scale, bias, mean, spread[0])):
                    yield named(v, "BatchNormalization", x, scale, bias, mean, spread[0], epsilon=spread[1])


def quotients(v: Value) -> Iterator[tuple[Value, tuple[Value, float]]]:
    """x, y and eps of x / sqrt(y + eps), y as it is before it is repeated."""
    candidates = [(x, bare(root)) for x, root in operands(v, a.Mul) if isinstance(bare(root).op, u.Rsqrt)]
    if isinstance(v.op, a.Div) and isinstance(bare(v.args[1]).op, u.Sqrt):
        candidates.append((v.args[0], bare(v.args[1])))
    for x, root in candidates:
        for y, small in operands(root.args[0], a.Add):
            eps = number(small)
            if eps is not None and number(y) is None:
                yield x, (y, float(eps))


def mean_of(v: Value) -> tuple[Value, int] | None:
    """x and the first of the last axes over all of which v is the mean."""
    v = unshaped(v)
    for total, by in [*operands(v, a.Mul), v.args] if isinstance(v.op, a.Mul | a.Div) else []:
        n, s = number(by), unshaped(total)
        if n and isinstance(s.op, Sum) and (axis := last(s.args[0], s.op.axes)) is not None:
            size = product(s.args[0].shape[axis:])
            if isinstance(size, int) and math.isclose(n, size if isinstance(v.op, a.Div) else 1 / size, rel_tol=1e-6):
                return s.args[0], axis
    return None


def is_square(v: Value, x: Value) -> bool:
    """Whether v is x * x."""
    return (isinstance(v.op, u.Square) and v.args[0] is x) or (isinstance(v.op, a.Mul) and v.args == (x, x)) or (
        v.op.name == "Pow" and v.args[0] is x and number(v.args[1]) == 2)


def rms_norm(v: Value, taken: Users) -> Found:
    """The last axes over the root of the mean of their squares, times a scale."""
    for y, scale in operands(v, a.Mul):
        for x, (spread, eps) in quotients(y):
            found = mean_of(spread)
            if found is not None and is_square(found[0], x) and is_one_of(bare(scale), x.shape[found[1]:]):
                yield named(v, "RMSNormalization", x, bare(scale), axis=found[1], epsilon=eps)


# attention


class Scores(NamedTuple):
    """How queries fit keys (..., E, S), times a number; what is added to that, and where they may look."""

    q: Value
    k: Value
    scale: float = 1.0
    added: tuple[Value, ...] = ()
    seen: tuple[Value, ...] = ()


def scores(v: Value) -> Scores | None:
    """What a product of queries and keys went through."""
    match v:
        case Value(MatMul(), [q, k]): return Scores(q, k)
        case Value(a.Select(), [here, x, nothing]) if number(nothing) == -math.inf:
            return (found := scores(x)) and found._replace(seen=(*found.seen, here))
        case Value(a.Div(), [x, by]) if (n := number(by)): return scaled(x, 1 / n)
        case Value(a.Mul(), [x, y]):
            for one, by in ((x, y), (y, x)):
                if (n := number(by)) is not None:
                    return scaled(one, n)
        case Value(a.Add(), [x, y]):
            for one, mask in ((x, y), (y, x)):
                if (found := scores(one)) is not None:
                    return found._replace(added=(*found.added, mask))
        case _: pass
    return None


def scaled(v: Value, n: float) -> Scores | None:
    """Scores times a number, where nothing has been added to them yet."""
    found = scores(v)
    return None if found is None or found.added else found._replace(scale=found.scale * n)


def attention(v: Value, taken: Users) -> Found:
    """Values by the softmax of scores; zeros for queries that may look nowhere, where the graph says so."""
    p, values = v.args
    scored, blind = softened(p)
    if scored is None or len(taken[p]) > 1:
        return
    found = scores(scored)
    if found is None or not 2 <= v.ndim <= 5 or found.q.dtype != float32:
        return
    k = keys(found.k)
    if v.ndim == 5 and not (bare(k).shape[2:3] == bare(values).shape[2:3] == (1,)):
        return
    is_causal = blind is None and any(map(is_triangle, found.seen))
    mask = whole(p, [m for m in found.seen if not (is_causal and is_triangle(m))], found.added)
    x = [in_four(found.q, True), in_four(k, False), in_four(values, False), *([] if mask is None else [mask])]
    shape = (*x[0].shape[:-1], v.shape[-1])
    y = Native("Attention", (("scale", found.scale), ("is_causal", int(is_causal))), v.type.with_shape(shape))(*x)
    if blind is not None:
        if mask is None:
            return
        sees = mask if mask.dtype == bool_ else a.NotEqual()(mask, -math.inf)
        y = a.Select()(expand_dims(Some((-1,))(sees), (-1,)), y, 0.0)
    yield reshape(y, v.shape)


def softened(p: Value) -> tuple[Value | None, Value | None]:
    """Of what weights are the softmax over the last axis, and whose weights are zeros instead."""
    match p:
        case Value(a.Select(), [blind, zero, Value(Softmax(axis), [Value(a.Select(), [other, nothing, x])])]):
            is_guard = other is blind and number(zero) == 0 and number(nothing) == 0
            return (x if is_guard and axis_of(axis, p.ndim) == p.ndim - 1 else None), blind
        case Value(Softmax(axis), [x]) if axis_of(axis, p.ndim) == p.ndim - 1: return x, None
        case _: return None, None


def keys(k: Value) -> Value:
    """Keys (..., S, E) of those that queries are multiplied with, (..., E, S)."""
    match bare(k):
        case Value(Transpose(axes), [x]) if axes == (*range(k.ndim - 2), k.ndim - 1, k.ndim - 2):
            return x if k.ndim == 5 else broadcast(x, (*k.shape[:-2], *x.shape[-2:]))
        case _: return swap_last(k)


def in_four(x: Value, is_query: bool) -> Value:
    """Rows (..., L, E) as (N, H, L, E); those of groups that look at one head each, (N, G, r, L, E), as heads."""
    if x.ndim < 5:
        return reshape(x, (*(x.shape[:-2] or (1,)), 1, *x.shape[-2:])) if x.ndim < 4 else x
    n, groups, each, *rows = (x if is_query else bare(x)).shape
    return reshape(x if is_query else bare(x), (n, groups * each, *rows))


def is_triangle(v: Value) -> bool:
    """Whether a mask says i >= j, of as many queries as keys."""
    match bare(v):
        case Value(a.GreaterEqual(), [Value(Iota((queries, among), 0)), Value(Iota(_, 1))]): return queries == among
        case _: return False


def whole(p: Value, seen: Sequence[Value], added: Sequence[Value]) -> Value | None:
    """Masks of weights p as one, (L, S) or of four axes: bools, or what is added."""
    here = reduce(lambda x, y: x & y, map(bare, seen)) if seen else None
    more = reduce(add, map(bare, added)) if added else None
    m = here if more is None else more if here is None else a.Select()(here, more, -math.inf)
    if m is None:
        return None
    m = broadcast(m, (*m.shape[:-2], *p.shape[-2:]))
    if m.ndim == 2:
        return m
    m = reshape(m, (*(1,) * (p.ndim - m.ndim), *m.shape))
    if p.ndim < 5:
        return reshape(m, (m.shape[0], 1, *m.shape[1:])) if p.ndim == 3 else m
    n, groups, each, *rows = m.shape if m.shape[1:3] == (1, 1) else (m.shape[0], *p.shape[1:])
    return reshape(broadcast(m, (n, groups, each, *rows)), (n, groups * each, *rows))


# rotary positions


class Turned(NamedTuple):
    """Pairs of the last axis of x, halves of it or neighbours, turned by angles of which these are cosine and sine."""

    x: Value
    cos: Value
    sin: Value
    interleaved: bool = False


def rotary(v: Value, taken: Users) -> Found:
    """Pairs of features turned by the angles of their positions."""
    found = by_parts(v) or by_halves(v)
    if found is None or found.x.ndim not in (3, 4):
        return
    x = reshape(found.x, (found.x.shape[0], 1, *found.x.shape[1:])) if found.x.ndim == 3 else found.x
    tables = [table(t, found.x) for t in (found.cos, found.sin)]
    if None not in tables:
        options = (("interleaved", int(found.interleaved)),)
        yield reshape(Native("RotaryEmbedding", options, x.type)(x, *tables), v.shape)


def table(t: Value, x: Value) -> Value | None:
    """Cosines or sines as (N, L, half), where they are the same for all heads."""
    *lead, _, _ = bare(t).shape if bare(t).ndim > 1 else (1, *bare(t).shape)
    lead = [1] * (x.ndim - 2 - len(lead)) + lead
    if any(n != 1 for n in lead[1:]):
        return None
    rows = (x.shape[-2], t.shape[-1])
    own = broadcast(bare(t), (*bare(t).shape[:-2], *rows))
    return broadcast(reshape(own, (lead[0], *rows)), (x.shape[0], *rows))


def by_parts(v: Value) -> Turned | None:
    """The two parts of pairs, apart: (a cos - b sin, a sin + b cos)."""
    is_stacked = isinstance(v.op, Reshape) and isinstance(v.args[0].op, Concatenate) and v.args[0].shape[-1] == 2
    joint = v.args[0] if is_stacked else v
    if not isinstance(joint.op, Concatenate) or axis_of(joint.op.axis, joint.ndim) != joint.ndim - 1 or (
            len(joint.args) != 2):
        return None
    first, second = (part.args[0] if is_stacked and isinstance(part.op, Reshape) else part for part in joint.args)
    if not isinstance(first.op, a.Sub):
        return None
    for one, cos in operands(first.args[0], a.Mul):
        for other, sin in operands(first.args[1], a.Mul):
            for p, q in operands(second, a.Add):
                if is_product(p, one, sin) and is_product(q, other, cos) and (
                        x := whole_of(one, other, is_stacked)) is not None and is_one_of(x, v.shape):
                    return Turned(x, cos, sin, is_stacked)
    return None


def by_halves(v: Value) -> Turned | None:
    """x * cos + (-its second half, its first half) * sin, where both have each angle twice."""
    for p, q in operands(v, a.Add):
        for x, cos in operands(p, a.Mul):
            for turned, sin in operands(q, a.Mul):
                match turned:
                    case Value(Concatenate(), [Value(a.Neg(), [high]), low]) if (
                            whole_of(low, high, False) is x and is_twice(cos) and is_twice(sin)):
                        first, second = (slice_axis(t, t.ndim - 1, 0, low.shape[-1]) for t in (bare(cos), bare(sin)))
                        return Turned(x, first, second)
                    case _: pass
    return None


def is_product(v: Value, x: Value, by: Value) -> bool:
    """Whether v is x * by, however often that is repeated."""
    return any(one is x and bare(other) is bare(by) for one, other in operands(v, a.Mul))


def whole_of(low: Value, high: Value, by_turns: bool) -> Value | None:
    """x, of whose last axis these are the halves, or every other element."""
    match low, high:
        case Value(Slice(start, shape, steps), [x]), Value(Slice(then, _, strides), [y]) if x is y and steps == strides:
            half = shape[-1]
            still = all(s == 0 for s in (*start, *then[:-1])) and all(s == 1 for s in steps[:-1])
            is_whole = is_one_of(x, (*shape[:-1], 2 * half)) and low.shape == high.shape
            fits = (then[-1], steps[-1]) == ((1, 2) if by_turns else (half, 1))
            return x if still and is_whole and fits else None
        case _: return None


def is_twice(v: Value) -> bool:
    """Whether both halves of the last axis are the same."""
    match bare(v):
        case Value(Concatenate(), [x, y]): return x is y
        case Value(u.Cos() | u.Sin(), [x]): return is_twice(x)
        case Value(a.Mul(), [x, y]): return any(is_twice(p) and number(q) is not None for p, q in ((x, y), (y, x)))
        case Value(Reshape(), [x]) as w: return x.shape[-1:] == w.shape[-1:] and is_twice(x)
        case _: return False


Pattern = Callable[[Value, Users], Found]
PATTERNS: Mapping[type[Op], Sequence[tuple[int, Pattern]]] = {
    a.Add: ((17, layer_norm), (21, channel_norms), (15, batch_norm), (23, rotary)),
    a.Mul: ((23, rms_norm),), MatMul: ((23, attention),), Concatenate: ((23, rotary),), Reshape: ((23, rotary),),
}
