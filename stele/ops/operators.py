"""Gives `Value` its operators: the only patch in the system."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele.ir.graph import Value
from stele.ops.contraction import matmul
from stele.ops.elementwise.arithmetic import Add, Div, Greater, GreaterEqual, Less, LessEqual, Mul, Neg, Sub
from stele.ops.elementwise.binary import And, FloorDivide, Or, Remainder, ShiftLeft, ShiftRight, Xor, pow
from stele.ops.elementwise.unary import Abs, Not
from stele.ops.indexing import index

Method = Callable[..., Value]


def method(op: Callable[..., Value]) -> Method:
    """The op as a method of its first operand."""
    def apply(x: Any, *z: Any) -> Value:
        return op(x, *z)

    return apply


def reflected(op: Callable[..., Value]) -> Method:
    """The op as a method of its second operand."""
    def apply(z: Any, x: Any) -> Value:
        return op(x, z)

    return apply


OPERATORS: dict[str, Method] = {
    "__add__":      method(Add()),         "__radd__":      reflected(Add()),
    "__sub__":      method(Sub()),         "__rsub__":      reflected(Sub()),
    "__mul__":      method(Mul()),         "__rmul__":      reflected(Mul()),
    "__truediv__":  method(Div()),         "__rtruediv__":  reflected(Div()),
    "__floordiv__": method(FloorDivide()), "__rfloordiv__": reflected(FloorDivide()),
    "__mod__":      method(Remainder()),   "__rmod__":      reflected(Remainder()),
    "__and__":      method(And()),         "__rand__":      reflected(And()),
    "__or__":       method(Or()),          "__ror__":       reflected(Or()),
    "__xor__":      method(Xor()),         "__rxor__":      reflected(Xor()),
    "__lshift__":   method(ShiftLeft()),   "__rshift__":    method(ShiftRight()),
    "__lt__": method(Less()),     "__le__": method(LessEqual()),
    "__gt__": method(Greater()),  "__ge__": method(GreaterEqual()),
    "__neg__": method(Neg()),     "__abs__": method(Abs()),        "__invert__": method(Not()),
    "__pow__": pow,               "__rpow__": reflected(pow),
    "__matmul__": matmul,         "__getitem__": index,
}

for name, operator in OPERATORS.items():
    setattr(Value, name, operator)
