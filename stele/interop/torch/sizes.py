"""What PyTorch's programs do with sizes, numbers and branches."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
import operator
from typing import Any

import stele as st
from stele.interop.torch.elementwise import Rules
from stele.interop.torch.indexing import size

ARITHMETIC = ("add", "sub", "mul", "floordiv", "mod", "neg", "truediv", "pow", "eq", "ne", "lt", "le", "gt", "ge",
              "and_", "or_", "not_", "getitem")


def stride(x: Any, dim: int) -> Any:
    """How many elements lie between two neighbours along an axis, where all lie in order."""
    return size(x.shape[dim % x.ndim + 1:])


def nothing(*_: Any) -> None:
    """What was asserted held when the model was exported: programs check sizes themselves."""


def alone(x: Any) -> Any:
    """The one result of a graph."""
    return x[0] if isinstance(x, tuple | list) else x


def scanned(f: Any, carried: Any, xs: Any, more: Any = ()) -> Any:
    """What is carried through a loop over the first axes of arrays, and what its steps give, stacked."""
    def step(state: Any, x: Any) -> Any:
        made = f(*state, *x, *more)
        return tuple(made[:len(carried)]), tuple(made[len(carried):])

    last, outputs = st.scan(step, tuple(carried), tuple(xs))
    return *last, *outputs


RULES: Rules = {
    **{f"operator.{name}": getattr(operator, name) for name in ARITHMETIC},
    "math.ceil": math.ceil, "math.floor": math.floor, "math.trunc": math.trunc,
    "torch.sym_max": max, "torch.sym_min": min, "torch.sym_int": math.trunc, "torch.sym_float": lambda n: n / 1,
    "torch.sym_not": operator.not_, "torch.sym_sum": sum,
    "sym_size.int": lambda x, dim: x.shape[dim], "sym_numel": lambda x: size(x.shape), "sym_stride.int": stride,
    "sym_storage_offset": lambda x: 0, "sym_is_contiguous": lambda x, how=None: True,
    "_local_scalar_dense item": lambda x: x.item(),
    "_assert_scalar _assert_tensor_metadata sym_constrain_range_for_size sym_constrain_range _assert_async.msg":
        nothing,
    "higher_order.cond": lambda test, yes, no, operands=(): st.cond(
        test, lambda *x: tuple(yes(*x)), lambda *x: tuple(no(*x)), *operands),
    "higher_order.while_loop": lambda test, body, carried, more=(): st.while_loop(
        lambda x: alone(test(*x, *more)), lambda x: tuple(body(*x, *more)), tuple(carried)),
    "higher_order.scan": scanned, "higher_order.map_impl": lambda f, xs, more=(): scanned(f, (), xs, more),
    "higher_order.with_effects": lambda token, op, *x: (token,),
}
