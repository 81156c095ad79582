"""Laws that all layers obey: float64 stays float64 all the way, and any tensor may be computed from others."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.ir.graph import Value
from stele.ir.types import TupleType, float32
from tests.functional.cases import CALLS as FUNCTIONS
from tests.functional.cases import Array, drawn, named
from tests.layers.cases import LAYERS
from tests.replay.cases import asked
from tests.test_functional import with_gradients
from tests.test_layers import Call, close, flat, module_of

BESIDE = {      # layers of files that have tables of their own, and how they are called with x (5, 3, 4)
    "nn.RNN(4, 6, 2)": "layer(x)", "nn.GRU(4, 6, bidirectional=True)": "layer(x)",
    "nn.LSTM(4, 6, 2, proj_size=3)": "layer(x)", "nn.LSTM(4, 6, bias=False, batch_first=True)": "layer(x)",
    "nn.RNNCell(4, 6)": "layer(x[0])", "nn.GRUCell(4, 6)": "layer(x[0])", "nn.LSTMCell(4, 6)": "layer(x[0])",
    "nn.Recurrent(nn.GRUCell(4, 6))": "layer(x)", "nn.MultiheadAttention(4, 2)": "layer(x, x, x)",
    "nn.MultiheadAttention(4, 2, add_bias_kv=True, kdim=4, vdim=4)": "layer(x, x, x)",
    "nn.TransformerEncoderLayer(4, 2, 8, 0.0)": "layer(x)", "nn.Transformer(4, 2, 1, 1, 8, 0.0)": "layer(x, x)",
    "nn.SinusoidalEmbedding(4)": "layer(x)", "nn.RotaryEmbedding(4)": "layer(x)"}
STATISTICS = "running_mean", "running_var", "num_batches_tracked"       # which a call moves
ROWS = [call for calls in LAYERS.values() for call in calls if not Call(call).is_made_inside] + list(BESIDE)


class Row(Call):
    """A layer of either table, and how it is called."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}(x)" if text in BESIDE else text)
        self.text = text
        if text in BESIDE:
            self.args = BESIDE[text]

    def arrays(self, n: int) -> list[Array]:
        x = np.random.default_rng(0).standard_normal((5, 3, 4)).astype("f4")
        return [x] if self.text in BESIDE else super().arrays(n)


def double(arrays: list[Array]) -> list[Array]:
    return [a.astype("f8") if a.dtype.kind == "f" else a for a in arrays]


def results_of(row: Row, layer: Any, arrays: Iterable[Any]) -> list[Any]:
    """What a layer gives, but for None."""
    return [y for y in flat(row.results(layer, *arrays)) if y is not None]


def total(moved: list[Any]) -> Any:
    return sum(moved[1:], moved[0])


def computed_in_float32(step: Any, *arrays: Array) -> list[Value]:
    """What a step, gradients with it, computes in float32."""
    tensors = [st.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    graph = asked(lambda: st.compile(step)(*tensors)).graph
    return [v for v in graph.everything if not isinstance(v.type, TupleType) and v.dtype == float32]


@pytest.mark.parametrize("text", ROWS)
def test_a_layer_of_float64_computes_nothing_in_float32(text: str) -> None:
    row = Row(text)
    layer: Any = row.layer()
    module: nn.Module = module_of(layer).double()

    def step(*arrays: Any) -> Any:
        moved = [y.sum() for y in results_of(row, layer, arrays) if y.dtype.is_float]
        wrt = [*(arrays[k] for k in row.moving), *module.parameters()]
        if moved and wrt:
            total(moved).backward()
        return moved, [x.grad for x in wrt]

    assert not computed_in_float32(step, *double(row.arrays(2)))


@pytest.mark.parametrize("text", [call for calls in FUNCTIONS.values() for call in calls])
def test_a_function_of_float64_computes_nothing_in_float32(text: str) -> None:
    arrays = drawn(2)
    assert not computed_in_float32(with_gradients(text, np.float64), *double([arrays[name] for name in named(text)]))


def test_tensors_of_attention_stand_in_pytorchs_order() -> None:
    """As `parameters()` gives them, where states of optimisers find them by their numbers."""
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, kdim=3, vdim=4)
    assert [name for name, _ in layer.named_parameters()] == [
        "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight",
        "out_proj.bias"]


@pytest.mark.parametrize("text", ROWS)
def test_any_tensor_of_a_layer_may_be_computed(text: str) -> None:
    """By what changes nothing: results are the same, and gradients come to the original."""
    row = Row(text)
    def found(is_computed: bool) -> list[Array]:
        layer: Any = row.layer()
        module: nn.Module = module_of(layer)
        for part in module.modules() if is_computed and "parametrizations" not in text else ():
            for name in [name for name, x in vars(part).items() if isinstance(x, st.Tensor) and name not in STATISTICS]:
                nn.utils.parametrize.register_parametrization(part, name, nn.Identity())
        st.manual_seed(0)
        results = results_of(row, layer, map(st.tensor, row.arrays(2)))
        if moved := [y.square().sum() for y in results if y.requires_grad]:
            total(moved).backward()
        slopes = [p.grad.numpy() for p in module.parameters() if p.grad is not None]
        return [y.detach().numpy() for y in results] + sorted(slopes, key=lambda g: (g.shape, g.tobytes()))

    close(found(True), found(False), text)
