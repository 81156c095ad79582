"""Formulas that lose their digits, rewritten to forms that do not; each rule names an input where that shows."""
# pyright: reportMatchNotExhaustive=false
from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from stele.ir.graph import Graph, Value
from stele.ir.report import Report
from stele.ir.rewrite import rewrite, rule
from stele.ops.composite import LogSoftmax, LogSumExp, Softmax
from stele.ops.elementwise.arithmetic import Add, Div, Equal, Mul, Neg, Select, Sub
from stele.ops.elementwise.unary import (
    Cos,
    Exp,
    Expm1,
    Log,
    Log1p,
    Reciprocal,
    Sigmoid,
    Softplus,
    Sqrt,
    Square,
    StopGradient,
    absolute,
    cos,
    exp,
    expm1,
    log,
    log1p,
    reciprocal,
    sigmoid,
    sin,
    softplus,
    sqrt,
    square,
    tanh,
)
from stele.ops.generate import iota_like
from stele.ops.linear import Broadcast, Cast, Reshape, Sum, broadcast, cast, expand_dims, full
from stele.ops.reduction import Max
from stele.transform import simplify
from stele.transform.patterns import FLOATS, WIDE, axes_of, factors, holds, number, product_of

POSITIVE = Sigmoid | Exp | Softplus | Softmax


def plus_one(v: Value) -> Value | None:
    """x where v is x + 1 or 1 + x."""
    match v:
        case Value(Add(), [x, one]) if number(one) == 1: return x
        case Value(Add(), [one, x]) if number(one) == 1: return x
    return None


def one_minus(v: Value) -> Value | None:
    """x where v is 1 - x."""
    match v:
        case Value(Sub(), [one, x]) if number(one) == 1: return x
    return None


def inverse(v: Value) -> Value | None:
    """x where v is 1 / x."""
    match v:
        case Value(Reciprocal(), [x]): return x
        case Value(Div(), [one, x]) if number(one) == 1: return x
    return None


def alike(x: Value, z: Value, depth: int = 6) -> bool:
    """Whether two values are one, or plainly compute the same; looks `depth` levels down."""
    if x is z:
        return True
    if (n := number(x)) is not None:
        return n == number(z) and x.type == z.type
    return depth > 0 and x.op == z.op and len(x.args) == len(z.args) > 0 and all(
        alike(a, b, depth - 1) for a, b in zip(x.args, z.args))


def spread(v: Value) -> Value:
    """What v repeats along axes: v without its broadcasts, reshapes and stops of gradients."""
    while isinstance(v.op, Broadcast | Reshape | StopGradient):
        v = v.args[0]
    return v


def repeated(y: Value, axes: tuple[int, ...], x: Value) -> Value:
    """A reduction of x over axes, repeated to the shape of x."""
    return broadcast(expand_dims(y, axes), x.shape)


def is_repeated(v: Value, y: Value, x: Value) -> bool:
    """Whether v repeats the reduction y of x along the very axes y has dropped."""
    match v:
        case Value(Broadcast(), [Value(Reshape(shape), [z])]):
            kept = tuple(1 if k in axes_of(y) else n for k, n in enumerate(x.shape))
            return z is y and shape == kept and v.shape == x.shape
    return False


@rule(lambda x: log(exp(x)), error=8, hard=(1000, 1000), dtypes=FLOATS)
def log_of_exp(v: Value) -> Value | None:
    """log(exp(x)) = x"""
    match v:
        case Value(Log(), [Value(Exp(), [x])]): return x
    return None


@rule(lambda x: log(exp(x) + 1), error=8, hard=(1000, 1000), also=(Log1p,), dtypes=FLOATS)
def log_of_one_plus_exp(v: Value) -> Value | None:
    """log(1 + exp(x)) = log1p(exp(x)) = softplus(x)"""
    match v:
        case Value(Log(), [y]) if isinstance((z := plus_one(y) or y).op, Exp) and z is not y: return softplus(z.args[0])
        case Value(Log1p(), [Value(Exp(), [x])]): return softplus(x)
    return None


@rule(lambda x: log(x + 1), error=8, domain=(-0.5, 3), hard=(1e-20, 1e-20), dtypes=FLOATS)
def log_of_one_plus(v: Value) -> Value | None:
    """log(1 + x) = log1p(x)"""
    x = plus_one(v.args[0])
    return None if x is None or isinstance(x.op, Exp) else log1p(x)


@rule(lambda x: exp(x) - 1, error=8, hard=(1e-20, 1e-20), also=(Add,), dtypes=FLOATS)
def exp_minus_one(v: Value) -> Value | None:
    """exp(x) - 1 = expm1(x)"""
    match v:
        case Value(Sub(), [Value(Exp(), [x]), one]) if number(one) == 1: return expm1(x)
        case Value(Add(), [Value(Exp(), [x]), one]) if number(one) == -1: return expm1(x)
    return None


@rule(lambda x: log1p(expm1(x)), error=16, hard=(1000, 1000), dtypes=FLOATS)
def log1p_of_expm1(v: Value) -> Value | None:
    """log1p(expm1(x)) = x"""
    match v:
        case Value(Log1p(), [Value(Expm1(), [x])]): return x
    return None


@rule(lambda x: log(sigmoid(x)), error=8, hard=(-1000, -1000), dtypes=FLOATS)
def log_of_sigmoid(v: Value) -> Value | None:
    """log(sigmoid(x)) = -softplus(-x)"""
    match v:
        case Value(Log(), [Value(Sigmoid(), [x])]): return -softplus(-x)
    return None


@rule(lambda x: log(1 - sigmoid(x)), error=64, hard=(1000, -1000), dtypes=FLOATS)
def log_of_one_minus_sigmoid(v: Value) -> Value | None:
    """log(1 - sigmoid(x)) = -softplus(x)"""
    match one_minus(v.args[0]):
        case Value(Sigmoid(), [x]): return -softplus(x)
    return None


@rule(lambda x: reciprocal(exp(-x) + 1), error=8, also=(Div,), dtypes=FLOATS)
def naive_sigmoid(v: Value) -> Value | None:
    """1 / (1 + exp(-x)) = sigmoid(x), whose gradient does not overflow"""
    below = inverse(v)
    match None if below is None else plus_one(below):
        case Value(Exp(), [Value(Neg(), [x])]): return sigmoid(x)
        case Value(Exp(), [x]): return sigmoid(-x)
    return None


@rule(lambda x: exp(x) / (exp(x) + 1), error=8, hard=(1000, 1), dtypes=FLOATS)
def exp_over_one_plus_exp(v: Value) -> Value | None:
    """exp(x) / (1 + exp(x)) = sigmoid(x)"""
    match v:
        case Value(Div(), [Value(Exp(), [x]) as y, z]) if (w := plus_one(z)) is not None and alike(w, y):
            return sigmoid(x)
    return None


@rule(lambda x: (exp(x) - exp(-x)) / (exp(x) + exp(-x)), error=8, hard=(1000, 1), dtypes=FLOATS)
def naive_tanh(v: Value) -> Value | None:
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x)) = tanh(x)"""
    match v:
        case Value(Div(), [Value(Sub(), [Value(Exp(), [x]) as p, Value(Exp(), [Value(Neg(), [z])]) as q]),
                           Value(Add(), [r, s])]) if alike(x, z) and alike(p, r) and alike(q, s):
            return tanh(x)
    return None


@rule(lambda x: exp(x) / exp(x - 1), error=16, hard=(1000, math.e), dtypes=FLOATS)
def exp_over_exp(v: Value) -> Value | None:
    """exp(x) / exp(z) = exp(x - z)"""
    match v:
        case Value(Div(), [Value(Exp(), [x]), Value(Exp(), [z])]): return exp(x - z)
    return None


@rule(lambda x: sqrt(square(x)), error=4, hard=(1e200, 1e200), also=(Sqrt,), dtypes=FLOATS)
def sqrt_of_square(v: Value) -> Value | None:
    """sqrt(x * x) = abs(x)"""
    match v:
        case Value(Sqrt(), [Value(Square(), [x])]): return absolute(x)
        case Value(Sqrt(), [Value(Mul(), [x, z])]) if x is z: return absolute(x)
    return None


@rule(lambda x: x / sqrt(x), error=4, domain=(0.1, 3), hard=(0, 0), dtypes=FLOATS)
def over_own_sqrt(v: Value) -> Value | None:
    """x / sqrt(x) = sqrt(x), at zero too"""
    match v:
        case Value(Div(), [x, Value(Sqrt(), [z]) as y]) if x is z: return y
    return None


@rule(lambda x: 1 - cos(x), error=8, hard=(1e-9, 5e-19), dtypes=FLOATS)
def one_minus_cos(v: Value) -> Value | None:
    """1 - cos(x) = 2 sin(x/2)**2"""
    match one_minus(v):
        case Value(Cos(), [x]): return square(sin(x * 0.5)) * 2
    return None


@rule(lambda x: log(Sum((1,))(exp(x))), error=16, hard=(1000, 1000 + math.log(3)), dtypes=FLOATS)
def log_of_sum_of_exp(v: Value) -> Value | None:
    """log(sum(exp(x))) = logsumexp(x)"""
    match v:
        case Value(Log(), [y]):
            match spread(y):
                case Value(Sum(), [Value(Exp(), [x])]) as s \
                        if y.shape in (s.shape, widened(s, x)) and not is_shifted(x):
                    z = LogSumExp(axes_of(s))(x)
                    return z if y is s else expand_dims(z, axes_of(s))
    return None


def widened(s: Value, x: Value) -> tuple[object, ...]:
    """The shape of a reduction of x that keeps its axes as 1."""
    return tuple(1 if k in axes_of(s) else n for k, n in enumerate(x.shape))


def is_shifted(x: Value) -> bool:
    """Whether x is z - max(z) already, which is never above zero."""
    match x:
        case Value(Sub(), [z, m]):
            inner = spread(m)
            return isinstance(inner.op, Max) and spread(inner.args[0]) is spread(z)
    return False


@rule(lambda x: exp(x) / repeated(Sum((1,))(exp(x)), (1,), x), error=16, hard=(1000, 1 / 3), dtypes=FLOATS)
def naive_softmax(v: Value) -> Value | None:
    """exp(x) / sum(exp(x)) = softmax(x)"""
    match v:
        case Value(Div(), [Value(Exp(), [x]) as e, below]):
            match spread(below):
                case Value(Sum(), [f]) as s if alike(e, f) and not is_shifted(x) and is_repeated(below, s, x):
                    return softmax_over(axes_of(s), x)
    return None


def softmax_over(axes: tuple[int, ...], x: Value) -> Value:
    """exp(x) / sum(exp(x)) over axes."""
    return Softmax(axes[0])(x) if len(axes) == 1 else exp(x - repeated(LogSumExp(axes)(x), axes, x))


@rule(lambda x: log(exp(x) / repeated(Sum((1,))(exp(x)), (1,), x)), error=64, hard=(1000, -math.log(3)), dtypes=FLOATS)
def log_of_naive_softmax(v: Value) -> Value | None:
    """log(exp(x) / sum(exp(x))) = x - logsumexp(x)"""
    match v:
        case Value(Log(), [Value(Div(), [Value(Exp(), [x]) as e, below])]):
            match spread(below):
                case Value(Sum(), [f]) as s if alike(e, f) and is_repeated(below, s, x):
                    return x - repeated(log(s) if is_shifted(x) else LogSumExp(axes_of(s))(x), axes_of(s), x)
    return None


@rule(lambda x: log(Softmax(1)(x * iota_like(x, 1, x.dtype))), error=64, hard=(-1000, (0, -1000, -2000)), dtypes=FLOATS)
def log_of_softmax(v: Value) -> Value | None:
    """log(softmax(x)) = log_softmax(x)"""
    match unrounded(v.args[0]):
        case Value(Softmax(axis), [x]): return cast(LogSoftmax(axis)(x), v.dtype)
    return None


def unrounded(v: Value) -> Value:
    """What v was before it was rounded to a narrower float, or v."""
    match v:
        case Value(Cast(), [x]) if x.dtype.is_float and holds(x.dtype, v.dtype): return x
    return v


def is_positive(y: Value) -> bool:
    """Whether y is above zero for every x, but may round to it."""
    below = one_minus(y)
    return isinstance(y.op, POSITIVE) or (below is not None and isinstance(below.op, Sigmoid))


def left_over(parts: Sequence[Value], gone: Sequence[Value], like: Value) -> Value:
    """The product of all parts but those gone, each gone once; ones where none is left."""
    kept = list(parts)
    for g in gone:
        kept.remove(g)
    return product_of(kept) if kept else full(like.shape, 1, like.dtype)


@rule(lambda g, x: g * reciprocal(sigmoid(x)) * sigmoid(x), error=8, hard=(-1000, 1), dtypes=FLOATS)
def reciprocal_times_itself(v: Value) -> Value | None:
    """g * (1/y) * y = g for y never 0 that may underflow: exp, sigmoid, 1 - sigmoid, softmax; NaN where y is"""
    parts = list(factors(v))
    for below in parts:
        y = inverse(below)
        if y is not None and is_positive(y):
            for other in parts:
                if other is not below and alike(other, y):
                    left = left_over(parts, (below, other), v)
                    return left if follows(left, y) else Select()(Equal()(other, other), left, other)
    return None


def follows(v: Value, y: Value) -> bool:
    """Whether v is surely NaN wherever y is: a formula of what y is a function of."""
    while isinstance(y.op, POSITIVE) or one_minus(y) is not None:
        y = one_minus(y) or y.args[0]
    met, left = set[Value](), [v]
    while left:
        v = left.pop()
        if v is y:
            return True
        if isinstance(v.op, POSITIVE | Add | Sub | Mul | Div | Neg | Reciprocal) and v not in met:
            met.add(v)
            left.extend(v.args)
    return False


@rule(lambda g, b, x: Softmax(1)(x) * (g * reciprocal(Softmax(1)(x)) - b), error=64, dtypes=WIDE)
def gradient_of_log_of_softmax(v: Value) -> Value | None:
    """y * (g * (1/y) - b) = g - y * b for y that is never 0 but may underflow"""
    match v:
        case Value(Mul(), [y, Value(Sub(), [a, b])]) | Value(Mul(), [Value(Sub(), [a, b]), y]): pass
        case _: return None
    parts = list(factors(a))
    for below in parts if isinstance(y.op, POSITIVE) else ():
        if (z := inverse(below)) is not None and alike(z, y):
            return left_over(parts, (below,), y) - y * b
    return None


@rule(lambda g, x: g * reciprocal(exp(x) + 1) * exp(x), error=8, hard=(1000, 1), dtypes=FLOATS)
def gradient_of_log_of_one_plus_exp(v: Value) -> Value | None:
    """g / (1 + exp(x)) * exp(x) = g * sigmoid(x)"""
    parts = list(factors(v))
    for below in parts:
        y = inverse(below)
        e = None if y is None else plus_one(y)
        if e is None and isinstance(below.op, Sigmoid) and isinstance(below.args[0].op, Neg):
            e = next((p for p in parts if isinstance(p.op, Exp) and alike(p.args[0], below.args[0].args[0])), None)
        if e is not None and isinstance(e.op, Exp):
            for other in parts:
                if other is not below and alike(other, e):
                    return left_over(parts, (below, other), v) * sigmoid(e.args[0])
    return None


@rule(lambda g, x: repeated(g * reciprocal(Sum((1,))(exp(x))), (1,), x) * exp(x), g=(2,), error=16,
      hard=(1000, 1 / 3), dtypes=FLOATS)
def gradient_of_log_of_sum_of_exp(v: Value) -> Value | None:
    """g / sum(exp(x)) * exp(x) = g * softmax(x)"""
    match v:
        case Value(Mul(), [Value(Broadcast(), [Value(Reshape(), [h])]), Value(Exp(), [x]) as e]): pass
        case Value(Mul(), [Value(Exp(), [x]) as e, Value(Broadcast(), [Value(Reshape(), [h])])]): pass
        case _: return None
    for below in (parts := list(factors(h))):
        y = inverse(below)
        if y is not None and isinstance(y.op, Sum) and alike(y.args[0], e) and not is_shifted(x):
            return repeated(left_over(parts, (below,), h), axes_of(y), x) * softmax_over(axes_of(y), x)
    return None


RULES = (log_of_exp, log_of_one_plus_exp, log_of_one_plus, exp_minus_one, log1p_of_expm1, log_of_sigmoid,
         log_of_one_minus_sigmoid, naive_sigmoid, exp_over_one_plus_exp, naive_tanh, exp_over_exp, sqrt_of_square,
         over_own_sqrt, one_minus_cos, log_of_sum_of_exp, log_of_naive_softmax, log_of_softmax, naive_softmax,
         reciprocal_times_itself, gradient_of_log_of_softmax, gradient_of_log_of_one_plus_exp,
         gradient_of_log_of_sum_of_exp)


def stabilize(graph: Graph, off: Collection[str] = (), report: Report | None = None) -> Graph:
    """The graph with every rule of `RULES` applied until none fires, on top of the simplifications that feed them."""
    return rewrite(graph, (*RULES, *simplify.RULES), off, report)
