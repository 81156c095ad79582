"""What stands for ONNX's values: tensors, NumPy arrays for what no tensor holds (texts, narrow numbers, shapes with
open sizes), lists for sequences, None for what is left out.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Protocol

import numpy as np
from onnx import helper

import stele as st
from stele.arrays.given import read
from stele.arrays.looking import is_traced
from stele.errors import DataError, DTypeError
from stele.interop.onnx.model import Array, Graph, Model, Node
from stele.ir.types import DTYPES

LOOKED_AT = ("Numbers such as these decide sizes or places, and a program has to know them: make them constants of the "
             "model, run it without st.compile, or by stele.interop.onnx.prepare, which runs it node by node.")


class Call(Protocol):
    """What a rule sees of the node that it computes."""

    node: Node
    version: int
    count: int                  # of outputs
    model: Model
    values: dict[str, Any]      # all that are known by now, by name

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or the default."""
        ...

    def wants(self, k: int) -> bool:
        """Whether somebody takes output k."""
        ...

    def run(self, graph: Graph, *inputs: Any) -> list[Any]:
        """The outputs of a graph of this node."""
        ...

    def again(self, nodes: Sequence[Node], values: dict[str, Any]) -> None:
        """Nodes of the model once more, on other values."""
        ...


Rule = Callable[Concatenate[Call, ...], Any]
"""`rule(c, *inputs)`: from a call and its inputs, None for one left out, to its output, or a tuple of them."""
Rules = dict[str, Rule]

NARROW = {
    "float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4_e2m1fn": 23, "float8_e8m0fnu": 24, "uint2": 25, "int2": 26,
}
"""Element types that no tensor has, by ONNX's number."""


def value(x: Any) -> Any:
    """What a caller gave, or a weight: a tensor where there is one of its dtype."""
    if x is None or isinstance(x, st.Tensor):
        return x
    if isinstance(x, list | tuple) and not all(isinstance(part, int | float | bool | str | list) for part in x):
        return [value(part) for part in x]
    array = read(x)
    if array.dtype.kind in "OUS" or array.dtype.name not in DTYPES:
        return array.astype(object) if array.dtype.kind in "US" else array
    return st.tensor(array)


def is_sizes(x: Any) -> bool:
    """Whether x holds sizes of a shape of which some are open."""
    return isinstance(x, np.ndarray) and x.dtype == object and any(not isinstance(n, str) for n in x.ravel())


def host(x: Any) -> Array:
    """The numbers of a value. Raises TraceError where only the running program knows them."""
    return x.read("a node of the ONNX model", LOOKED_AT) if isinstance(x, st.Tensor) else np.asarray(x)


def known(x: Any) -> bool:
    """Whether the numbers of a value can be looked at."""
    return not isinstance(x, st.Tensor) or not is_traced(x.value)


def ints(x: Any) -> list[Any]:
    """The whole numbers of a vector, sizes that are open among them."""
    return host(x).reshape(-1).tolist()


def number(x: Any) -> Any:
    """The one number of a value."""
    (one,) = host(x).reshape(-1).tolist()
    return one


def shape_of(x: Any) -> tuple[Any, ...]:
    """The sizes of a value."""
    return tuple(x.shape)


def vector(sizes: Sequence[Any]) -> Any:
    """Sizes as a value: a tensor where all are known."""
    if all(isinstance(n, int) for n in sizes):
        return st.tensor(np.asarray(sizes, np.int64))
    return np.array([*sizes, None], object)[:-1]


def dtype_of(x: Any) -> int:
    """The number that ONNX has for the dtype of a value."""
    name = str(x.dtype)
    if name == "object":
        return 8
    kind = x.dtype.numpy if isinstance(x, st.Tensor) else np.dtype(name)
    return NARROW.get(name) or helper.np_dtype_to_tensor_dtype(kind)


def dtype_named(number: int) -> np.dtype[Any]:
    """NumPy's dtype for ONNX's number; that of texts is object. Raises DataError where there is none."""
    if number not in helper.get_all_tensor_dtypes() or number == 0:
        raise DataError(f"there is no element type {number}")
    return np.dtype(object) if number == 8 else np.dtype(helper.tensor_dtype_to_np_dtype(number))


def tensor(x: Any) -> st.Tensor:
    """A value that must be a tensor. Raises DTypeError for what no op of a program takes."""
    if not isinstance(x, st.Tensor):
        made = value(x)
        if not isinstance(made, st.Tensor):
            raise DTypeError(f"no program computes with {getattr(x, 'dtype', type(x).__name__)}")
        return made
    return x
