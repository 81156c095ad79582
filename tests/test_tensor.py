"""Tensors: numbers when somebody looks, gradients, indexing, and what others may take from them."""
from __future__ import annotations

import copy
import gc
import math
import pickle
import weakref
from dataclasses import FrozenInstanceError, asdict, dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import config, nn
from stele.eager.evaluate import EVALUATOR, TRIALS
from stele.errors import BadAxis, DTypeError, GraphError, IndexOutOfRange, ShapeError
from stele.ir.graph import Value, parameter
from stele.ir.types import Type

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_numbers_and_dtypes() -> None:
    assert st.tensor([1.0, 2.0]).dtype == st.float32
    assert st.tensor([1, 2]).dtype == st.int64
    assert st.tensor([True]).dtype == st.bool_
    assert st.tensor(np.ones(2)).dtype == st.float64
    assert st.tensor([1, 2], dtype="float16").dtype == st.float16
    assert st.tensor([st.tensor(1.0), 2.0]).tolist() == [1.0, 2.0]
    assert (st.tensor([1, 2]) / 2).dtype == st.float32
    assert (st.tensor([1.0]) + np.float64(1)).dtype == st.float32


@pytest.mark.parametrize(("data", "error"), [
    (["a"], DTypeError), ([[1], [1, 2]], ShapeError), ([object()], DTypeError),
])
def test_what_holds_no_numbers_is_refused(data: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        st.tensor(data)


@pytest.mark.parametrize("key", [
    0, -1, slice(1, None), (slice(None), 1), (Ellipsis, 2), (None, 0, slice(None, None, -1)), (0, slice(0, 3, 2), None),
    (slice(None), slice(-2, None)), (1, 2, 3), slice(5, 2),
])
def test_reading_like_numpy(key: Any) -> None:
    np.testing.assert_array_equal(st.tensor(A)[key].numpy(), A[key])


@pytest.mark.parametrize("index", [[0, 1, 1], [[-1, 0], [1, 1]]])
def test_reading_by_integer_tensors(index: Any) -> None:
    np.testing.assert_array_equal(st.tensor(A)[st.tensor(index)].numpy(), A[np.array(index)])
    np.testing.assert_array_equal(st.tensor(A)[:, st.tensor(index)].numpy(), A[:, np.array(index)])


@pytest.mark.parametrize("key", [
    0, (0, 1), (slice(None), slice(0, 3, 2)), (Ellipsis, slice(None, None, -1)), (1, 2, 3),
])
def test_writing_like_numpy(key: Any) -> None:
    x, a = st.tensor(A), A.copy()
    x[key], a[key] = 7, 7
    np.testing.assert_array_equal(x.numpy(), a)
    new = RANDOM.standard_normal(a[key].shape).astype(np.float32)
    x[key], a[key] = st.tensor(new), new
    np.testing.assert_array_equal(x.numpy(), a)


RANDOM = np.random.default_rng(0)


def test_an_index_out_of_range_is_an_error() -> None:
    with pytest.raises(IndexOutOfRange):
        st.tensor(A)[2]
    with pytest.raises(IndexOutOfRange):
        st.tensor(A)[st.tensor([2])].numpy()


def test_values_never_change() -> None:
    x = st.zeros(3)
    y, view = x + 0, x.numpy()
    x += 1
    x[0] = 9
    assert y.tolist() == [0, 0, 0] == view.tolist()
    assert x.tolist() == [9, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 1


def test_a_value_refuses_assignment() -> None:
    v = parameter("x", Type(st.float32, (2,))) + 1
    for name in ("op", "args", "type", "where", "data", "owner"):
        with pytest.raises(FrozenInstanceError):
            setattr(v, name, None)


def test_graphs_hold_no_values_that_the_front_may_change() -> None:
    large = np.ones((20, 20), np.float32)
    w = st.tensor(A[0], requires_grad=True)

    @st.compile(dims={"x": {0: "n"}})
    def step(x: Any) -> Any:
        total, sums = st.scan(lambda s, row: (s + row @ w.T, s), st.zeros(3), x)
        loss = (total.sum() + sums.mean() * len(x)) + st.tensor(large + 1).sum()
        loss.backward()
        return loss

    loss = step(st.tensor(A[1]))
    assert step.graphs and math.isfinite(float(loss)) and w.grad is not None
    x = st.placeholder(("n", 4))
    f = st.function([x], st.scan(lambda s, row: (s + row, s), w[0], x))
    (w * 2).sum().backward()
    seen = [v for graph in (*step.graphs, f.graph, EVALUATOR.last.graph) for v in graph.everything]
    assert len(seen) > 20 and {type(v) for v in seen} == {Value}


def test_a_dead_intermediate_costs_no_buffer() -> None:
    a, b = (st.tensor(RANDOM.standard_normal(1 << 16).astype(np.float32)) for _ in range(2))
    c = b * a
    dead = weakref.ref(c)
    d = c + 1
    value = c.value
    del c
    gc.collect()
    assert dead() is None
    d.numpy()
    assert value.data is None and d.value.data is not None
    if config.BACKEND() == "cpu":
        assert len(EVALUATOR.last.report().kernels) == 1


def test_a_live_intermediate_keeps_its_numbers() -> None:
    a = st.tensor(A)
    c = a * 2
    d = c + 1
    d.numpy()
    assert c.value.data is not None


def test_the_same_expression_compiles_once() -> None:
    x = st.tensor(A)
    for scale in range(TRIALS + 1):
        (x * (scale + 0.5) - 1).numpy()
    before = EVALUATOR.compiles
    for scale in (5.5, 6.5):
        np.testing.assert_allclose((x * scale - 1).numpy(), A * np.float32(scale) - 1, rtol=1e-6)
    assert EVALUATOR.compiles == before


def test_looking_at_the_loss_runs_the_forward_part_once() -> None:
    w = st.tensor(A[0], requires_grad=True)
    hidden = (w @ st.tensor(A[0].T)).tanh()
    value = hidden.value
    loss = (hidden * hidden).sum()
    del hidden
    float(loss)
    assert value.data is not None
    loss.backward()
    assert w.grad is not None


def test_history_is_cut_where_no_gradient_needs_it() -> None:
    total = st.tensor(0.0)
    for _ in range(5):
        total = total + st.tensor(1.0)
        float(total)
    assert total.value.args == ()


def test_long_expressions_are_evaluated_on_the_way() -> None:
    x = st.tensor(0.0)
    for _ in range(2500):
        x = x + 1
    assert x.item() == 2500


def test_backward_accumulates_on_leaves_only() -> None:
    x, y = st.tensor([1.0, 2.0], requires_grad=True), st.tensor([3.0, 4.0])
    (x * y).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [5.0, 8.0] and y.grad is None


def test_no_grad_and_detach_stop_gradients() -> None:
    x = st.tensor(3.0, requires_grad=True)
    with st.no_grad():
        y = x * x
    z = x * y * x.detach()
    assert not y.requires_grad
    z.backward()
    assert x.grad.tolist() == 27.0


def test_backward_needs_a_number_that_requires_gradients() -> None:
    x = st.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ShapeError, match="sum"):
        (x * 2).backward()
    (x * 2).backward(st.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 20.0]
    with pytest.raises(GraphError, match="requires_grad=True"):
        st.tensor(1.0).backward()


def test_a_leaf_of_numbers_that_are_there_shares_them_until_one_of_both_is_written() -> None:
    x = st.tensor(np.arange(6, dtype=np.float32))
    st.eval(x)
    runs, p, kept = EVALUATOR.runs, nn.Parameter(x), x.numpy()
    assert np.shares_memory(p.detach().numpy(), kept) and EVALUATOR.runs == runs
    optimizer = st.optim.SGD([p], lr=1.0)

    @st.compile
    def step() -> None:
        p.grad = None
        p.sum().backward()
        optimizer.step()

    x += 1
    for _ in range(3):
        step()      # which overwrites what nobody else holds
    assert x.tolist() == [1, 2, 3, 4, 5, 6] and kept.tolist() == [0, 1, 2, 3, 4, 5]
    assert p.tolist() == [-3, -2, -1, 0, 1, 2]


def test_shared_values_keep_their_owners_apart() -> None:
    x = st.tensor([1.0], requires_grad=True)
    y = x.clone().detach().requires_grad_()
    (x * 2 + y * 3).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0], [3.0])
    z = st.tensor([0.0], requires_grad=True)
    with st.no_grad():
        z.assign(x)
    x.grad = None
    (x * 2 + z * 5).sum().backward()
    assert (x.grad.tolist(), z.grad.tolist()) == ([2.0], [5.0])


def test_derivatives_of_functions() -> None:
    f = lambda x: (x ** 3).sum()
    x = st.tensor([1.0, 2.0])
    assert st.grad(f)(x).tolist() == [3.0, 12.0]
    assert st.grad(lambda x: st.grad(f)(x).sum())(x).tolist() == [6.0, 12.0]
    assert st.hessian(f)(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    _, pull = st.vjp(lambda x: x * x, x)
    assert pull(st.tensor([1.0, 2.0]))[0].tolist() == [2.0, 8.0]
    assert st.jvp(lambda x: x * x, (x,), (st.ones(2),))[1].tolist() == [2.0, 4.0]


def test_derivatives_with_respect_to_containers() -> None:
    w = {"a": st.tensor(2.0), "b": [st.tensor(3.0)]}
    value, g = st.value_and_grad(lambda w, x: w["a"] * w["b"][0] * x)(w, st.tensor(5.0))
    assert (value.tolist(), g["a"].tolist(), g["b"][0].tolist()) == (30.0, 15.0, 10.0)
    both = st.value_and_grad(lambda a, x: (a * x, "more"), (0, 1), has_aux=True)
    (loss, more), (ga, gx) = both(st.tensor(2.0), st.tensor(3.0))
    assert (loss.tolist(), more, ga.tolist(), gx.tolist()) == (6.0, "more", 3.0, 2.0)


def test_a_captured_tensor_is_a_constant_of_the_gradient() -> None:
    x = st.tensor(3.0)
    assert st.grad(lambda a: a * x)(x).tolist() == 3.0


def test_gradients_say_what_the_loss_does_not_depend_on() -> None:
    x, y = st.tensor(1.0, requires_grad=True), st.tensor(1.0)
    with pytest.raises(GraphError, match="tensor 1 of wrt"):
        st.gradients(x * 2, [x, y])


def test_scan_differentiates() -> None:
    w = st.tensor(0.5, requires_grad=True)
    last, all_ = st.scan(lambda s, x: (s * w + x, {"s": s}), st.tensor(1.0), st.tensor([1.0, 2.0, 3.0]))
    assert last.tolist() == pytest.approx(1 * 0.125 + 0.25 + 1.0 + 3.0)
    assert all_["s"].shape == (3,)
    last.backward()
    assert w.grad.tolist() == pytest.approx(3 * 0.25 + 2 * 0.5 * 1 + 2)


def test_dlpack_both_ways() -> None:
    x = st.tensor(A)
    np.testing.assert_array_equal(np.from_dlpack(x), A)
    np.testing.assert_array_equal(st.from_dlpack(A.copy()).numpy(), A)


def test_numpy_functions_take_tensors() -> None:
    x = st.tensor(A)
    np.testing.assert_array_equal(np.asarray(x), A)
    assert isinstance(np.ones(4, np.float32) * x, st.Tensor)


def test_copies_and_pickles_are_tensors_of_their_own() -> None:
    w = st.tensor([1.0, 2.0], requires_grad=True)
    for other in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert other.requires_grad and other.tolist() == [1.0, 2.0]
        (other * w).sum().backward()
        assert other.grad.tolist() == [1.0, 2.0]


def test_one_number_is_formatted_as_a_number() -> None:
    for x in (st.tensor(0.1), st.tensor(3), st.tensor(True), st.tensor(1.5 + 2j), st.tensor(0.1, "float64")):
        assert f"{x}" == str(x.numpy()[()]) and f"{st.stack([x])}" == str(st.stack([x]))
        assert str(x).startswith("tensor(")
    assert f"{st.tensor(0.1)} {st.tensor(2.0):.2f}" == "0.1 2.00"
    assert f"{st.placeholder(())}".startswith("tensor(symbolic")


@dataclass
class Held:
    x: st.Tensor


def test_copies_keep_what_gradients_pass_and_what_they_gave() -> None:
    w = st.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    other = copy.deepcopy(w)
    assert other.grad is not w.grad and other.grad.tolist() == [2, 4] and other.is_leaf
    for f in (copy.copy, copy.deepcopy, lambda x: asdict(Held(x))["x"], lambda x: copy.deepcopy([x, {"x": x}])[1]["x"]):
        for power in (st.grad(lambda w, f=f: (f(w * w) * w).sum()), st.grad(lambda w, f=f: (f(w) * w * w).sum())):
            assert power(st.tensor([1.0, 2.0])).tolist() == [3, 12]
            assert st.compile(power)(st.tensor([1.0, 2.0])).tolist() == [3, 12]


def test_requires_grad_is_set_as_an_attribute() -> None:
    w = st.tensor([1.0, 2.0])
    w.requires_grad = True
    (w * w).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    w.requires_grad = False
    assert not (w * 2).requires_grad
    with pytest.raises(DTypeError, match="only float"):
        st.tensor([1]).requires_grad = True


def test_errors_are_raised_where_the_op_is_written() -> None:
    with pytest.raises(ShapeError):
        st.ones(2, 3) @ st.ones(2, 3)
    with pytest.raises(ShapeError):
        st.ones(2) + st.ones(3)


def test_printing() -> None:
    assert repr(st.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert repr(st.tensor([1], dtype="int32")) == "tensor([1], dtype=int32)"
    assert repr(st.tensor(1.0, requires_grad=True)) == "tensor(1., requires_grad=True)"
    assert repr(st.placeholder(("n", 3))) == "tensor(symbolic float32[n,3])"
    assert f"{st.tensor(1.25):.1f}" == "1.2"


def test_transpose_takes_the_axes_of_pytorch_and_of_numpy() -> None:
    x = st.tensor(A)
    for axes in ((0, 2), (2, 1, 0), (1, 2, 0), ((1, 0, 2),), ()):
        expected = A.swapaxes(*axes) if len(axes) == 2 else A.transpose(*axes)
        np.testing.assert_array_equal(x.transpose(*axes).numpy(), expected)


def test_axes_to_flatten_stand_in_order() -> None:
    x = st.zeros((2, 3, 4))
    assert x.flatten(1, -1).shape == (2, 12) and x.flatten(-1, 2).shape == (2, 3, 4)
    with pytest.raises(ShapeError, match=r"start=2 and end=1 for shape \(2, 3, 4\)"):
        x.flatten(2, 1)


def test_arguments_too_many_are_refused() -> None:
    x = st.tensor(A)
    with pytest.raises(TypeError, match="swapaxes takes at most 3 arguments, each once; got 4"):
        x.swapaxes(0, 1, 2)
    with pytest.raises(TypeError, match="each once; got 2 and axis="):
        x.sum(0, axis=1)


@pytest.mark.parametrize("given, dtype", [
    (["float32", 2.0], "float32"), (["int64", 2.5], "float32"), (["bool", 3], "int64"), (["int8", 3], "int8"),
    (["float32", 1j], "complex64"), (["bfloat16", "float16"], "float32"), (["uint16", "bfloat16"], "bfloat16"),
    (["int32", "float16"], "float16"), (["float64", 1.0], "float64"), (["float32", [1.0, 2.0]], "float32")], ids=str)
def test_tensors_in_a_list_meet_as_elsewhere_and_numbers_have_no_dtype(given: list[Any], dtype: str) -> None:
    shape = (2,) if any(isinstance(x, list) for x in given) else ()
    assert st.tensor([st.ones(shape, dtype=x) if isinstance(x, str) else x for x in given]).dtype == dtype


def test_a_number_beside_tensors_that_their_dtype_does_not_hold_is_refused() -> None:
    with pytest.raises(DTypeError, match="300 does not fit in int8"):
        st.tensor([st.tensor(1, dtype="int8"), 300])


def test_size_is_a_number_as_in_numpy_and_called_the_shape_as_in_pytorch() -> None:
    x = st.ones((2, 3))
    assert x.size == 6 and x.size() == (2, 3) and [x.size(0), x.size(-1), x.size(dim=1)] == [2, 3, 3]
    assert isinstance(x.size, int) and type(x.size * 2) is int and np.asarray(x.size).dtype == np.int64
    assert type(pickle.loads(pickle.dumps(x.size))) is int and type(copy.deepcopy(x.size)) is int
    assert (x.sum() / x.size).item() == 1 and x.view(x.size(0), -1).shape == (2, 3) and st.zeros(()).size() == ()
    with pytest.raises(BadAxis, match="axis 2 is out of range"):
        x.size(2)

    @st.compile(dims={"x": {0: "n"}})
    def mean(x: Any) -> Any:
        return x.view(x.size(0), -1).sum() / x.size + x.size(0) + x.size()[1]

    assert [mean(st.ones((n, 3))).item() for n in (2, 5)] == [6, 9] and mean.compiles == 1


def test_numbers_of_a_kind_of_ones_own_are_numbers() -> None:
    class Many(IntEnum):
        THREE = 3

    class Half(float): """A number."""

    x, n, half = st.ones(4), Many.THREE, Half(0.5)
    assert [y.tolist() for y in (x[:2] * n, st.full(1, n), x[:n], st.tensor([n, 2]), n + x[:1])] == [
        [3, 3], [3], [1, 1, 1], [3, 2], [4]]
    assert str(st.full(1, n).dtype) == "int64" and str((st.arange(2) + n).dtype) == "int64"
    assert (x * half).sum().item() == 2 and str(st.full(1, half).dtype) == "float32" and st.where(x > 0, n, 0)[0] == 3
    assert str(st.zeros(2, dtype=bool).dtype) == "bool" and str(st.zeros(2, dtype=np.float64).dtype) == "float64"
