"""What users mean, recognised in the ops they wrote: softmax, activations, masks, statistics of a batch."""
from __future__ import annotations

from collections.abc import Iterable

from stele.ir.graph import Constant, Literal, Parameter, Value
from stele.ir.types import float64
from stele.ops.composite import LogSoftmax, LogSumExp, Normalize, Softmax
from stele.ops.elementwise.arithmetic import (
    Add,
    Div,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Mul,
    Select,
    Sub,
)
from stele.ops.elementwise.base import Compare
from stele.ops.elementwise.unary import (
    Exp,
    Expm1,
    Floor,
    Log,
    Not,
    Relu,
    Rsqrt,
    Sigmoid,
    Softplus,
    Sqrt,
    Square,
    StopGradient,
    Tanh,
)
from stele.ops.linear import Broadcast, Cast, Reshape, Sum, Transpose
from stele.ops.random import RandomBits
from stele.ops.reduction import Max

STRETCHED = Broadcast, Cast, Reshape, StopGradient


def behind(v: Value) -> Value:
    """The value behind casts, reshapes and repetitions."""
    while isinstance(v.op, STRETCHED):
        v = v.args[0]
    return v


def number(v: Value) -> float | None:
    """The number that stands everywhere in a value, if it is one."""
    v = behind(v)
    return float(v.op.value) if isinstance(v.op, Literal) else None


# Softmax

def probabilities(v: Value) -> int | None:
    """The axis along which v is a softmax, or the logarithm of one, in any spelling."""
    match v:
        case Value(Softmax(axis) | LogSoftmax(axis)):
            return axis % v.ndim
        case Value(Exp() | Log(), [x]):
            return probabilities(x)
        case Value(Div(), [Value(Exp()) as e, total]):
            match behind(total):
                case Value(Sum((axis,)), [of]) if of is e:
                    return axis % e.ndim
    return None


def exponentiated(v: Value) -> tuple[Value, int] | None:
    """What a sum of exponentials is taken of, and along which axis: the part that all spellings of softmax share."""
    match v:
        case Value(Softmax(axis) | LogSoftmax(axis) | LogSumExp((axis,)), [x]):
            return x, axis % x.ndim
        case Value(Sum((axis,)), [Value(Exp(), [x])]):
            return unshifted(x), axis % x.ndim
    return None


def unshifted(x: Value) -> Value:
    """x before its largest element was subtracted."""
    match x:
        case Value(Sub(), [z, top]):
            match behind(top):
                case Value(Max(), [of]) if of is z:
                    return z
    return x


def made_of(x: Value, axis: int) -> tuple[Value, int]:
    """The value that x only shows in another dtype, order or shape, and which of its axes `axis` is."""
    while isinstance(x.op, Cast | StopGradient | Transpose | Reshape):
        (z,) = x.args
        if isinstance(x.op, Transpose):
            axis = x.op.axes[axis]
        elif isinstance(x.op, Reshape):
            if axis != x.ndim - 1 or z.ndim == 0 or z.shape[-1] != x.shape[-1]:
                return x, axis
            axis = z.ndim - 1
        x = z
    return x, axis


# Activations

def activated(v: Value) -> Value | None:
    """What an activation that never falls is applied to, so that it may come before a maximum or after it."""
    match v:
        case Value(Relu() | Sigmoid() | Tanh() | Softplus(), [x]):
            return x
        case Value(Maximum() | Minimum(), [x, z]):
            return x if number(z) is not None else z if number(x) is not None else None
        case Value(Select(), [Value(Less() | LessEqual() | Greater() | GreaterEqual(), [x, bound]), *branches]):
            return x if number(bound) == 0 and all(is_rising(b, x) for b in branches) else None
    return None


def is_rising(b: Value, x: Value) -> bool:
    """Whether a branch of an activation is x, zero, x times a positive number, or exp(x) - 1 times one."""
    match b:
        case Value(Mul(), [a, slope]):
            return (number(slope) or 0) > 0 and is_rising(a, x)
        case Value(Expm1(), [a]):
            return a is x or activated(a) is x
    return b is x or number(b) == 0


# Random masks

def masked(values: Iterable[Value]) -> list[Value]:
    """The values that are something known with random elements set to zero: dropout, in any spelling."""
    random, masks, found = set[Value](), set[Value](), list[Value]()
    for v in values:
        from_random = [a for a in v.args if a in random]
        if isinstance(v.op, RandomBits) or (from_random and v.op.family in ("elementwise", "movement")):
            random.add(v)
        if from_random and (isinstance(v.op, Compare | Floor) or is_scaled_mask(v, masks)):
            masks.add(v)
        elif is_dropout(v, masks, random):
            found.append(v)
    return found


def is_scaled_mask(v: Value, masks: set[Value]) -> bool:
    """Whether v is a mask in another dtype or shape, turned over, or times a number."""
    match v:
        case Value(Mul() | Div(), [m, c]):
            return m in masks and number(c) is not None
    return isinstance(v.op, (*STRETCHED, Not)) and v.args[0] in masks


def is_dropout(v: Value, masks: set[Value], random: set[Value]) -> bool:
    """Whether v chooses between zero and something not random, by a mask."""
    match v:
        case Value(Select(), [m, x, z]):
            kept = z if number(x) == 0 else x if number(z) == 0 else None
            return m in masks and kept is not None and is_data(kept, random)
        case Value(Mul(), [x, z]):
            return (x in masks and is_data(z, random)) or (z in masks and is_data(x, random))
    return False


def is_data(x: Value, random: set[Value]) -> bool:
    return x not in random and number(x) is None


# Statistics of a batch

def batch_normalised(v: Value) -> Value | None:
    """What is divided here by its own deviation over the batch, axis 0, and perhaps others, but not over all axes."""
    match v:
        case Value(Normalize(axes), [x]):
            return x if is_over_batch(axes, x) else None
        case Value(Rsqrt() | Sqrt(), [spread]):
            return varied(spread)
    return None


def varied(v: Value) -> Value | None:
    """What v is the variance of over the batch, perhaps plus a small number."""
    match behind(v):
        case Value(Add() | Maximum(), [x, eps]) if number(eps) is not None:
            return varied(x)
        case Value(Select(), [_, instead, x]) if number(instead) is not None:   # std, where a variance is 0
            return varied(x)
        case Value(Sub(), [squares, squared]) if isinstance(behind(squared).op, Square | Mul):
            return averaged(squares)
        case Value() as one:
            return averaged(one)


def averaged(v: Value) -> Value | None:
    """What v is the mean square of over the batch, around its mean or not."""
    match behind(v):
        case Value(Div() | Mul(), [total, _]):
            match behind(total):
                case Value(Sum(axes), [Value(Square() | Mul(), [x, *_])]) if is_over_batch(axes, x):
                    return x
    return None


def is_over_batch(axes: tuple[int, ...], x: Value) -> bool:
    """Whether axes are that of the batch and perhaps those of an image, so that features stay apart."""
    return 0 < len(axes) < x.ndim and 0 in {a % x.ndim for a in axes}


# Float64

def is_widened(a: Value, v: Value) -> bool:
    """Whether v took its operand a as float64 by itself, though it came as another float."""
    while isinstance(a.op, Broadcast):
        a = a.args[0]
    return isinstance(a.op, Cast) and a.dtype == float64 and a.where == v.where and a.args[0].dtype.is_float


def float64_leaves(v: Value) -> list[Value] | None:
    """The arrays that make v float64; None where somebody asked for it in words."""
    leaves: dict[Value, None] = {}
    stack, seen = [v], {v}
    while stack:
        v = stack.pop()
        if isinstance(v.op, Parameter | Constant):
            leaves[v] = None
        elif isinstance(v.op, Cast) and v.args[0].dtype != float64:
            return None
        new = [a for a in v.args if a.dtype == float64 and a not in seen and not is_widened(a, v)]
        seen.update(new)
        stack += new
    return list(leaves)
