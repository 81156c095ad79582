"""Gives `Value` its operators: the only patch in the system."""
from __future__ import annotations

from typing import Any

from ..ir.graph import Op, Value
from .elementwise.arithmetic import Add, Div, Greater, GreaterEqual, Less, LessEqual, Mul, Neg, Sub


def method(op: Op) -> Any:
    """The op as a method of its first operand."""
    return lambda x, *z: op(x, *z)


def reflected(op: Op) -> Any:
    """The op as a method of its second operand."""
    return lambda z, x: op(x, z)


OPERATORS = {
    "__add__": method(Add()), "__radd__": reflected(Add()),
    "__sub__": method(Sub()), "__rsub__": reflected(Sub()),
    "__mul__": method(Mul()), "__rmul__": reflected(Mul()),
    "__truediv__": method(Div()), "__rtruediv__": reflected(Div()),
    "__lt__": method(Less()), "__le__": method(LessEqual()),
    "__gt__": method(Greater()), "__ge__": method(GreaterEqual()),
    "__neg__": method(Neg()),
}

for name, operator in OPERATORS.items():
    setattr(Value, name, operator)
