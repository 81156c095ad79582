"""Ops on single elements: those that ONNX has under a name, all others by what they say of a scalar."""
from __future__ import annotations

from typing import Any

from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.scope import Rule, Scope
from stele.ir.graph import Op, Value
from stele.ir.types import bool_, float64
from stele.ops import ALL
from stele.ops.elementwise import arithmetic as a
from stele.ops.elementwise import unary as u
from stele.ops.elementwise.binary import Pow
from stele.ops.gather import CheckCount, CheckIndex
from stele.ops.linear import Cast
from stele.ops.random import Philox, RandomBits

NAMES: dict[type[Op], str] = {
    a.Add: "Add", a.Sub: "Sub", a.Mul: "Mul", a.Div: "Div", a.Maximum: "Max", a.Minimum: "Min",
    a.Less: "Less", a.LessEqual: "LessOrEqual", a.Greater: "Greater", a.GreaterEqual: "GreaterOrEqual",
    a.Equal: "Equal", a.Select: "Where",
    u.Exp: "Exp", u.Log: "Log", u.Sqrt: "Sqrt", u.Sin: "Sin", u.Cos: "Cos", u.Tanh: "Tanh", u.Sigmoid: "Sigmoid",
    u.Abs: "Abs", u.Sign: "Sign", u.Reciprocal: "Reciprocal", u.IsNan: "IsNaN", u.IsInf: "IsInf",
}
OF_FLOATS: dict[type[Op], str] = {
    a.Neg: "Neg", u.Floor: "Floor", u.Ceil: "Ceil", u.Round: "Round", u.Relu: "Relu", Pow: "Pow",
    u.Erf: "Erf", u.Tan: "Tan", u.Atan: "Atan", u.Sinh: "Sinh", u.Cosh: "Cosh",
}
SINGLE = u.Erf, u.Tan, u.Atan, u.Sinh, u.Cosh       # of which ONNX Runtime has none for float64


def named(s: Scope, v: Value, *x: Node) -> Node:
    """One node, of the op of ONNX."""
    return s.node(NAMES[type(v.op)], *x, dtype=v.dtype)


def of_floats(s: Scope, v: Value, *x: Node) -> Node:
    """One node where the numbers are floats."""
    if not v.dtype.is_float or (v.dtype == float64 and isinstance(v.op, SINGLE)):
        return said(s, v, *x)
    return s.node(OF_FLOATS[type(v.op)], *x, dtype=v.dtype)


def said(s: Scope, v: Value, *x: Node) -> Node:
    """What an op says of a scalar, of whole arrays."""
    op: Any = v.op
    return op.scalar(s, *x)


def cast(s: Scope, v: Value, x: Node) -> Node:
    """A conversion."""
    return s.cast(x, v.dtype)


def negated(s: Scope, v: Value, x: Node) -> Node:
    """Not, of bools or of bits."""
    return s.node("Not" if v.dtype == bool_ else "BitwiseNot", x)


def bits(s: Scope, v: Value, *x: Node) -> Node:
    """Random bits, as the op says them of an index."""
    op: Any = v.op
    index = [s.expanded(s.reshaped(s.range(n), [-1 if j == k else 1 for j in range(v.ndim)]), v.shape)
             for k, n in enumerate(v.shape)]
    y = op.generate(s, tuple(index), *x)
    return y if index else s.reshaped(y, ())


def same(s: Scope, v: Value, x: Node) -> Node:
    """The operand itself."""
    return s.node("Identity", x)


RULES: dict[type[Op], Rule] = {
    **{op: said for op in ALL.values() if op.family == "elementwise"},
    **dict.fromkeys(NAMES, named), **dict.fromkeys(OF_FLOATS, of_floats),
    Cast: cast, u.Not: negated, Philox: said, RandomBits: bits,
    **dict.fromkeys((u.StopGradient, CheckIndex, CheckCount), same),
}
