"""Nodes of an ONNX graph as they are written: elements with operators, in the scalar vocabulary of `ir/scalars.py`."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from stele.errors import DTypeError
from stele.ir.graph import Array
from stele.ir.scalars import Number
from stele.ir.types import (
    DTYPES,
    DType,
    bool_,
    float32,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    whole_in,
)
from stele.kernel.functions import Functions
from stele.kernel.vocabulary import Element, Operand, is_half, result_dtype

Node = Element[str]
"""A value of the graph: its name, with its dtype."""

SHORT = {"int16": int32, "uint16": int32, "bfloat16": float32}
TINY = {**SHORT, "int8": int32, "uint8": int32}
ROWS: tuple[tuple[str, dict[str, DType]], ...] = (
    ("Add Sub Mul Div Mod Neg Abs Sign",           {"bool": int32, "bfloat16": float32}),
    ("Less LessOrEqual Greater GreaterOrEqual",    {"bool": uint8, "bfloat16": float32}),
    ("Max Min",                                    {"bool": int32, **SHORT}),
    ("Where",                                      {"bool": uint8, "uint64": int64, **SHORT}),
    ("Pad",                                        {"int16": int32, "uint16": int32}),
    ("ReduceMax ReduceMin ArgMax ArgMin",          {"bool": int32, "uint32": int64, **SHORT}),
    ("ReduceSum ReduceProd CumSum",                {"bool": int32, "uint32": int64, "uint64": int64, **TINY}),
    ("MatMul",                                     TINY),
    ("Equal Expand Exp Log Sqrt Sin Cos Tanh Sigmoid Tan Atan Sinh Cosh Erf Floor Ceil Round Pow Relu Reciprocal "
     "Softmax LogSoftmax Gelu LayerNormalization Conv ConvTranspose MaxPool AveragePool", {"bfloat16": float32}),
)
STAND_INS: Mapping[str, Mapping[str, DType]] = {op: row for ops, row in ROWS for op in ops.split()}
"""In which dtype an op is computed where ONNX, or ONNX Runtime on a CPU, has none for the operands'."""

BITS = {"and": ("And", "BitwiseAnd"), "or": ("Or", "BitwiseOr"), "xor": ("Xor", "BitwiseXor")}
BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min", "lt": "Less",
          "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "eq": "Equal"}
UNSIGNED = {"int8": uint8, "int16": uint16, "int32": uint32, "int64": uint64}


class Nodes(Functions[str]):
    """A list of nodes that grows: each word of the vocabulary is one node, or some; bits are in `words.py`.

    `fresh` gives names, `number` those of arrays that all graphs of a model share; `said` is written beside each node.
    Nodes of one op on the same operands are one.
    """

    fused = False

    def __init__(self, fresh: Callable[[str], str], number: Callable[[Array], str]) -> None:
        self.fresh, self.number = fresh, number
        self.known: dict[Any, tuple[Node, ...]] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.said: dict[str, str] = {}

    def many(self, op: str, *x: Node | None, dtypes: Sequence[DType], **attributes: Any) -> tuple[Node, ...]:
        """The results of a node, of these dtypes."""
        key = (op, *(v and v.value for v in x), *dtypes, *((k, repr(a)) for k, a in attributes.items()))
        if key in self.known and not any(isinstance(a, onnx.GraphProto) for a in attributes.values()):
            return self.known[key]
        layer = self.said.get("layer", "")
        made = [self.fresh(f"{layer}/{op}" if layer else op) for _ in dtypes]
        node = helper.make_node(op, ["" if v is None else v.value for v in x], made, made[0], **attributes)
        node.doc_string = self.said.get("source", "")
        for key, text in self.said.items():
            node.metadata_props.add(key=key, value=text)
        self.nodes.append(node)
        self.known[key] = tuple(Element(self, name, dtype) for name, dtype in zip(made, dtypes))
        return self.known[key]

    def node(self, op: str, *x: Node | None, dtype: DType | None = None, **attributes: Any) -> Node:
        """The result of a node: of the dtype of the last operand, unless another is given.

        Where nothing computes in that dtype, operands of it go by way of another one.
        """
        main = next(v for v in reversed(x) if v is not None).dtype if dtype is None else dtype
        first = int(op == "Where")      # whose first operand stays what it is
        operands = {v.dtype.name for v in x[first:] if v is not None}
        found = STAND_INS.get(op, {})
        lacking = next((name for name in found if name in operands), None)
        if lacking is None:
            return self.many(op, *x, dtypes=(main,), **attributes)[0]
        by = found[lacking]
        wide = [v if v is None or k < first or v.dtype != lacking else self.converted(v, by) for k, v in enumerate(x)]
        return self.converted(self.many(op, *wide, dtypes=(by if main == lacking else main,), **attributes)[0], main)

    def converted(self, x: Node, dtype: DType) -> Node:
        """x by a Cast; itself where it has the dtype."""
        return x if x.dtype == dtype else self.many("Cast", x, dtypes=(dtype,), to=number_of(dtype))[0]

    def element(self, name: str, dtype: DType) -> Node:
        """A value by its name."""
        return Element(self, name, dtype)

    def array(self, x: Any) -> Node:
        """An array that is known; equal ones are one."""
        held: Array = np.asarray(x)
        return Element(self, self.number(held), DTYPES[held.dtype.name])

    def here(self, x: Node) -> Node:
        """A value of a graph around this one."""
        return Element(self, x.value, x.dtype)

    def ints(self, *n: int) -> Node:
        """A vector of whole numbers."""
        return self.array(np.array(n, np.int64))

    def constant(self, value: Number, dtype: DType) -> Node:
        """A number."""
        wrapped = int(value) % 2**dtype.bits if dtype.kind == "u" else value
        return self.array(dtype.array(wrapped))

    def convert(self, x: Node, dtype: DType) -> Node:
        return self.converted(x, dtype)

    def cast(self, x: Node, dtype: DType) -> Node:
        if x.dtype.is_float and dtype == uint64:
            return super().cast(x, dtype)
        signed = whole_in(dtype) if x.dtype.is_float and dtype.kind in "iu" else dtype
        return self.converted(self.converted(x, signed), dtype)

    def widen(self, x: Node) -> Node:
        return self.converted(x, float32) if is_half(x.dtype) else x

    def narrow(self, x: Node, dtype: DType) -> Node:
        return self.converted(x, dtype)

    def select(self, c: Node, x: Operand, y: Operand) -> Node:
        return self.node("Where", c, *self.meet(x, y))

    def fma(self, x: Node, y: Operand, z: Operand) -> Node:
        x, y, z = self.meet(x, y, z)
        return x * y + z

    def rare(self, mask: Node, slow: Callable[[], Node], fast: Node) -> Node:
        return self.select(mask, slow(), fast)

    def unary(self, name: str, x: Node) -> Node:
        (x,) = self.meet(x)
        match name:
            case "neg" if x.dtype.kind == "u":
                return self.binary("sub", 0, x)
            case "trunc":
                return self.select(x < 0, self.ceil(x), self.floor(x)) if x.dtype.is_float else x
            case "floor" | "ceil" | "round" if not x.dtype.is_float:
                return x
            case "invert":
                return self.node("Not" if x.dtype == bool_ else "BitwiseNot", x)
            case _:
                return self.node(name.capitalize(), x)

    def binary(self, name: str, x: Operand, y: Operand) -> Node:
        x, y = self.meet(x, y)
        if name in BITS:
            return self.node(BITS[name][x.dtype != bool_], x, y)
        if name == "ne":
            return self.node("Not", self.binary("eq", x, y))
        if name in BINARY:
            return self.node(BINARY[name], x, y, dtype=result_dtype(name, x.dtype))
        if x.dtype.is_float:
            raise DTypeError(f"{name} has no meaning on {x.dtype}; cast the operands first")
        if name == "mulhi":
            product = self.converted(x, uint64) * self.converted(y, uint64)
            return self.converted(self.shifted(product, self.constant(32, uint64), "RIGHT"), x.dtype)
        return self.whole_quotient(x, y) if name == "idiv" else self.shift(x, y, name)

    def shifted(self, x: Node, by: Node, way: str) -> Node:
        """The bits of an unsigned integer moved by less than its width."""
        return self.node("BitShift", x, by, direction=way)

    def shift(self, x: Node, by: Node, name: str) -> Node:
        """x << by and x >> by, by any number: what leaves the dtype is lost, signs stay."""
        plain = UNSIGNED.get(x.dtype.name, x.dtype)
        places = self.converted(by, plain)
        fits = self.binary("lt", places, x.dtype.bits)
        places = self.select(fits, places, 0)
        if name == "shl":
            return self.select(fits, self.converted(self.shifted(self.converted(x, plain), places, "LEFT"), x.dtype), 0)
        if x.dtype.kind == "u":
            return self.select(fits, self.shifted(x, places, "RIGHT"), 0)
        turned = self.select(x < 0, ~x, x)
        down = self.converted(self.shifted(self.converted(turned, plain), places, "RIGHT"), x.dtype)
        down = self.select(fits, down, 0)
        return self.select(x < 0, ~down, down)

    def whole_quotient(self, x: Node, y: Node) -> Node:
        """x // y of integers, 0 where y is 0; no division is left that a processor would stop at."""
        odd = self.eq(y, 0) if x.dtype.kind == "u" else self.eq(y, 0) | self.eq(y, -1)
        by = self.select(odd, 1, y)
        q = self.node("Div", x, by)
        if x.dtype.kind == "u":
            return self.select(odd, 0, q)
        down = self.ne(q * by, x) & ((x < 0) ^ (by < 0))
        return self.select(self.eq(y, 0), 0, self.select(self.eq(y, -1), -x, self.select(down, q - 1, q)))


def number_of(dtype: DType) -> int:
    """The number that ONNX has for a dtype."""
    return helper.np_dtype_to_tensor_dtype(dtype.numpy)


def tensor(x: Array, name: str = "") -> onnx.TensorProto:
    """An array as a file has it."""
    return numpy_helper.from_array(np.ascontiguousarray(x).reshape(x.shape), name)

