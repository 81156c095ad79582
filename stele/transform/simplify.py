"""Identities of arithmetic: canonical order, constants folded, nothing computed twice or undone."""
# pyright: reportMatchNotExhaustive=false
from __future__ import annotations

from collections.abc import Collection

import numpy as np

from stele.ir.graph import Graph, Literal, Op, Value, literal
from stele.ir.report import Report
from stele.ir.rewrite import rewrite, rule
from stele.ir.types import Type, bool_
from stele.ops.elementwise import arithmetic, binary, unary
from stele.ops.elementwise.arithmetic import (
    Add,
    Div,
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Mul,
    Neg,
    NotEqual,
    Select,
    Sub,
)
from stele.ops.elementwise.base import Elementwise
from stele.ops.elementwise.binary import POWERS, And, Or, Pow, Xor
from stele.ops.elementwise.unary import (
    Abs,
    Exp,
    Not,
    Reciprocal,
    Relu,
    Rsqrt,
    Sqrt,
    Square,
    StopGradient,
    absolute,
    exp,
    logical_not,
    reciprocal,
    relu,
    sqrt,
    square,
    stop_gradient,
)
from stele.ops.linear import Cast, Reshape, Sum, Transpose, broadcast
from stele.transform import movement, picks
from stele.transform.patterns import FLOATS, INTEGERS, NUMBERS, SIGNED, WIDE, is_number, is_power_of_two, number

COMMUTATIVE: tuple[type[Op], ...] = (Add, Mul, Maximum, Minimum, Equal, NotEqual, And, Or, Xor)
ELEMENTWISE: tuple[type[Op], ...] = (*arithmetic.ALL, *binary.ALL, *unary.ALL, Cast)
EXACT: tuple[type[Op], ...] = (*arithmetic.ALL, And, Or, Xor, Not, Sqrt, Square, Reciprocal, Relu, Abs, Cast)
BOOLS = Type(bool_, (2, 3))


@rule(lambda x: 2 + x, also=COMMUTATIVE)
def number_last(v: Value) -> Value | None:
    """c op x = x op c for commutative ops"""
    x, z = v.args
    return v.op(z, x) if number(x) is not None and number(z) is None else None


@rule(lambda x: x * (literal(2.0, x.dtype) + 3), also=EXACT)
def fold_exact(v: Value) -> Value | None:
    """exact ops on numbers = the number"""
    return folded(v)


@rule(lambda x: x * exp(literal(2.0, x.dtype)), also=tuple(c for c in ELEMENTWISE if c not in EXACT), error=8)
def fold_function(v: Value) -> Value | None:
    """functions of numbers = the number"""
    return folded(v)


def folded(v: Value) -> Value | None:
    """An elementwise value of numbers, computed by the ops' meaning; ops without operands stay."""
    numbers = [number(a) for a in v.args]
    if not numbers or None in numbers or not isinstance(v.op, Elementwise | Cast):
        return None
    with np.errstate(all="ignore"):
        result = v.op.reference(*(np.asarray(n).astype(a.dtype.numpy) for n, a in zip(numbers, v.args)))
    return broadcast(Literal(np.asarray(result).item(), v.dtype)(), v.shape)


@rule(lambda x: x + literal(-0.0, x.dtype), dtypes=NUMBERS)
def add_zero(v: Value) -> Value | None:
    """x + -0 = x, and x + 0 = x of integers, and of sums, which begin with 0; of other floats -0 + 0 is 0"""
    made = v.args[0]
    while isinstance(made.op, Reshape | Transpose):
        made = made.args[0]
    plus = v.dtype in INTEGERS or made.op.family == "contraction" or isinstance(made.op, Sum)
    return v.args[0] if is_number(v.args[1], -0.0) or (plus and number(v.args[1]) == 0) else None


@rule(lambda x: x - 0)
def subtract_zero(v: Value) -> Value | None:
    """x - 0 = x"""
    return v.args[0] if is_number(v.args[1], 0) else None


@rule(lambda x: literal(-0.0, x.dtype) - x, dtypes=NUMBERS)
def subtract_from_zero(v: Value) -> Value | None:
    """-0 - x = -x, and 0 - x = -x of integers; of floats 0 - 0 is 0"""
    return -v.args[1] if is_number(v.args[0], 0 if v.dtype in INTEGERS else -0.0) else None


@rule(lambda x: x * 1, also=(Div,))
def multiply_by_one(v: Value) -> Value | None:
    """x * 1 = x / 1 = x"""
    return v.args[0] if number(v.args[1]) == 1 else None


@rule(lambda x: x * -1, also=(Div,))
def multiply_by_minus_one(v: Value) -> Value | None:
    """x * -1 = x / -1 = -x"""
    return -v.args[0] if number(v.args[1]) == -1 else None


@rule(lambda x: x * 0.25 * 3.0, error=2, dtypes=WIDE)
def multiply_twice(v: Value) -> Value | None:
    """x * a * b = x * (a*b)"""
    match v:
        case Value(Mul(), [Value(Mul(), [x, a]), b]):
            p, q = number(a), number(b)
            if p and q and 1e-4 < abs(p * q) < 1e4 and (abs(p) <= 1 or abs(q) >= 1):    # x * p overflows, or all does
                return x * (p * q)
    return None


@rule(lambda x: x / 4, dtypes=FLOATS)
def divide_by_power_of_two(v: Value) -> Value | None:
    """x / 2**k = x * 2**-k"""
    c = number(v.args[1])
    return v.args[0] * (1 / c) if c is not None and is_power_of_two(c) else None


@rule(lambda x: 1 / x, domain=(0.5, 3), dtypes=FLOATS)
def divide_one(v: Value) -> Value | None:
    """1 / x = reciprocal(x)"""
    return reciprocal(v.args[1]) if number(v.args[0]) == 1 else None


@rule(lambda x: reciprocal(sqrt(x)), domain=(0.5, 3), dtypes=FLOATS)
def reciprocal_of_sqrt(v: Value) -> Value | None:
    """1 / sqrt(x) = rsqrt(x)"""
    match v:
        case Value(Reciprocal(), [Value(Sqrt(), [x])]): return Rsqrt()(x)
    return None


@rule(lambda x: x * x, dtypes=NUMBERS)
def multiply_by_itself(v: Value) -> Value | None:
    """x * x = square(x)"""
    return square(v.args[0]) if v.args[0] is v.args[1] else None


@rule(lambda x: x + x, dtypes=NUMBERS)
def add_to_itself(v: Value) -> Value | None:
    """x + x = x * 2"""
    return v.args[0] * 2 if v.args[0] is v.args[1] else None


@rule(lambda x: Pow()(x, 2.0), error=4, domain=(0.2, 3), dtypes=FLOATS)
def power_of_number(v: Value) -> Value | None:
    """x ** c = products and roots for c = 1, 2, 3, 4, 1/2 and their reciprocals"""
    c = number(v.args[1])
    return POWERS[c](v.args[0]) if c in POWERS and v.dtype.is_float else None


@rule(lambda x: -Neg()(x), dtypes=NUMBERS)
def negate_twice(v: Value) -> Value | None:
    """--x = x"""
    match v:
        case Value(Neg(), [Value(Neg(), [x])]): return x
    return None


@rule(lambda x, z: -(x - z), dtypes=tuple(d for d in INTEGERS if d in NUMBERS))
def negate_difference(v: Value) -> Value | None:
    """-(x - z) = z - x of integers; of equal floats the one is -0, the other 0"""
    match v:
        case Value(Neg(), [Value(Sub(), [x, z])]): return z - x
    return None


@rule(lambda x: -(x * 3), dtypes=FLOATS)
def negate_multiple(v: Value) -> Value | None:
    """-(x * c) = x * -c"""
    match v:
        case Value(Neg(), [Value(Mul(), [x, c])]) if (n := number(c)) is not None: return x * -n
    return None


@rule(lambda x: -x * 3, dtypes=FLOATS)
def multiple_of_negative(v: Value) -> Value | None:
    """-x * c = x * -c"""
    match v:
        case Value(Mul(), [Value(Neg(), [x]), c]) if (n := number(c)) is not None: return x * -n
    return None


@rule(lambda x, z: -x * -z, also=(Div,), domain=(0.5, 3), dtypes=NUMBERS)
def product_of_negatives(v: Value) -> Value | None:
    """-x * -z = x * z"""
    match v:
        case Value(Mul() | Div() as op, [Value(Neg(), [x]), Value(Neg(), [z])]): return op(x, z)
    return None


@rule(lambda x, z: x + -z, dtypes=NUMBERS)
def add_negative(v: Value) -> Value | None:
    """x + -z = x - z"""
    match v:
        case Value(Add(), [x, Value(Neg(), [z])]) | Value(Add(), [Value(Neg(), [z]), x]): return x - z
    return None


@rule(lambda x, z: x - (-z), dtypes=NUMBERS)
def subtract_negative(v: Value) -> Value | None:
    """x - -z = x + z"""
    match v:
        case Value(Sub(), [x, Value(Neg(), [z])]): return x + z
    return None


@rule(lambda x: absolute(-x), also=(Square,), dtypes=SIGNED)
def even_of_negative(v: Value) -> Value | None:
    """abs(-x) = abs(abs(x)) = abs(x); square likewise"""
    match v:
        case Value(Abs() | Square() as op, [Value(Neg() | Abs(), [x])]) if op.type(x.type) == v.type: return op(x)
    return None


@rule(lambda x: relu(relu(x)))
def relu_twice(v: Value) -> Value | None:
    """relu(relu(x)) = relu(x)"""
    match v:
        case Value(Relu(), [Value(Relu(), [_]) as y]): return y
    return None


@rule(lambda x: relu(square(x)), dtypes=FLOATS)
def relu_of_never_negative(v: Value) -> Value | None:
    """relu of abs, square and exp, which integers that wrap make negative, is its operand"""
    match v:
        case Value(Relu(), [Value(Abs() | Square() | Exp(), [_]) as y]): return y
    return None


@rule(lambda x: Maximum()(x, x), also=(Minimum, And, Or))
def same_operands(v: Value) -> Value | None:
    """max(x, x) = min(x, x) = x & x = x | x = x"""
    return v.args[0] if v.args[0] is v.args[1] else None


@rule(lambda c: And()(c, literal(True)), c=BOOLS, also=(Or, Xor), dtypes=(bool_,))
def neutral_bool(v: Value) -> Value | None:
    """c & True = c | False = c ^ False = c"""
    return v.args[0] if number(v.args[1]) is isinstance(v.op, And) else None


@rule(lambda c: And()(c, literal(False)), c=BOOLS, also=(Or,), dtypes=(bool_,))
def absorbing_bool(v: Value) -> Value | None:
    """c & False = False, c | True = True"""
    return v.args[1] if number(v.args[1]) is isinstance(v.op, Or) else None


@rule(lambda x: logical_not(logical_not(x)), x=BOOLS, dtypes=INTEGERS)
def not_twice(v: Value) -> Value | None:
    """not not x = x"""
    match v:
        case Value(Not(), [Value(Not(), [x])]): return x
    return None


OPPOSITE: dict[type[Op], Op] = {Equal: NotEqual(), NotEqual: Equal()}
MIRROR: dict[type[Op], Op] = {Less: Greater(), Greater: Less(), LessEqual: GreaterEqual(), GreaterEqual: LessEqual()}


@rule(lambda x, z: logical_not(Equal()(x, z)), dtypes=(bool_,))
def not_of_equality(v: Value) -> Value | None:
    """not x == z is x != z, and the other way"""
    match v:
        case Value(Not(), [Value(op, [x, z])]) if type(op) in OPPOSITE: return OPPOSITE[type(op)](x, z)
    return None


@rule(lambda x: Less()(literal(0.0, x.dtype), x), also=tuple(MIRROR))
def compare_with_number_last(v: Value) -> Value | None:
    """c < x is x > c"""
    x, z = v.args
    return MIRROR[type(v.op)](z, x) if number(x) is not None and number(z) is None else None


@rule(lambda x, z: Select()(literal(True), x, z))
def select_known(v: Value) -> Value | None:
    """select(True, x, z) = x, select(False, x, z) = z"""
    c = number(v.args[0])
    return None if c is None else v.args[1] if c else v.args[2]


@rule(lambda c, x: Select()(c, x, x), c=BOOLS)
def select_same(v: Value) -> Value | None:
    """select(c, x, x) = x"""
    return v.args[1] if v.args[1] is v.args[2] else None


@rule(lambda c, x, z: Select()(logical_not(c), x, z), c=BOOLS)
def select_of_not(v: Value) -> Value | None:
    """select(not c, x, z) = select(c, z, x)"""
    match v:
        case Value(Select(), [Value(Not(), [c]), x, z]): return v.op(c, z, x)
    return None


@rule(lambda c, x, y, z: Select()(c, Select()(c, x, y), z), c=BOOLS)
def select_twice(v: Value) -> Value | None:
    """select(c, select(c, x, y), z) = select(c, x, z), and on the other side"""
    match v:
        case Value(Select(), [c, Value(Select(), [d, x, _]), z]) if c is d: return v.op(c, x, z)
        case Value(Select(), [c, x, Value(Select(), [d, _, z])]) if c is d: return v.op(c, x, z)
    return None


@rule(lambda x: stop_gradient(x))
def stop_gradient_is_done(v: Value) -> Value | None:
    """stop_gradient(x) = x, once derivatives are taken"""
    return v.args[0] if isinstance(v.op, StopGradient) else None


ARITHMETIC = (number_last, compare_with_number_last, fold_exact, fold_function, add_zero, subtract_zero,
              subtract_from_zero, multiply_by_one, multiply_by_minus_one, multiply_twice, divide_by_power_of_two,
              divide_one, reciprocal_of_sqrt, multiply_by_itself, add_to_itself, power_of_number, negate_twice,
              negate_difference, negate_multiple, multiple_of_negative, product_of_negatives, add_negative,
              subtract_negative, even_of_negative, relu_twice, relu_of_never_negative, same_operands,
              neutral_bool, absorbing_bool, not_twice, not_of_equality, select_known, select_same, select_of_not,
              select_twice, stop_gradient_is_done)
RULES = ARITHMETIC + movement.RULES + picks.RULES


def simplify(graph: Graph, off: Collection[str] = (), report: Report | None = None) -> Graph:
    """The graph with every rule of `RULES` applied until none fires; `off` names rules to leave out."""
    return rewrite(graph, RULES, off, report)
