"""Compiled functions: sizes that stay open, guards, constants, memory updated in place, and the symbolic style."""
from __future__ import annotations

import warnings
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import config
from stele.errors import DTypeError, GraphError, IndexOutOfRange, ShapeError, TraceError
from stele.nn.layers import Linear
from stele.tracing.signature import leaf_names
from stele.tracing.tree import flatten

RANDOM = np.random.default_rng(0)
BATCHES = 1, 2, 7, 63, 64, 65, 200


def batch(n: int) -> Any:
    return RANDOM.standard_normal((n, 4)).astype(np.float32)


def network() -> Any:
    st.manual_seed(0)
    first, second = Linear(4, 6), Linear(6, 3)
    return lambda x: second(st.tanh(first(x))).mean()


def test_one_compile_for_all_batches_with_dims() -> None:
    f = network()
    g = st.compile(f, dims={"x": {0: "batch"}})
    for n in BATCHES:
        x = batch(n)
        assert float(g(x)) == pytest.approx(float(f(st.tensor(x))), rel=2e-6, abs=1e-6)
    assert g.compiles == 1 == g.traces


@pytest.mark.parametrize("order", [BATCHES, (64, 64, 65, 1, 200, 2)])
def test_at_most_two_compiles_without_dims(order: tuple[int, ...]) -> None:
    f = network()
    g = st.compile(f)
    for n in order:
        x = batch(n)
        assert float(g(x)) == pytest.approx(float(f(st.tensor(x))), rel=2e-6, abs=1e-6)
    assert g.compiles <= 2


def test_two_arguments_share_a_size_that_changes_with_both() -> None:
    g = st.compile(lambda x, y: ((x - y) ** 2).mean(axis=0))
    for n in BATCHES:
        x, y = batch(n), batch(n)
        np.testing.assert_allclose(g(x, y).numpy(), ((x - y) ** 2).mean(0), rtol=1e-5)
    assert g.compiles <= 2


def test_names_inside_of_containers() -> None:
    g = st.compile(lambda data: data["x"].sum() + data["y"].sum(), dims={"data.x": {0: "n"}, "data.y": {0: "n"}})
    for n in (2, 3):
        assert float(g({"x": np.ones((n, 2), np.float32), "y": np.ones(n, np.float32)})) == 3 * n
    assert g.compiles == 1
    with pytest.raises(ShapeError, match="different sizes"):
        g({"x": np.ones((2, 2), np.float32), "y": np.ones(5, np.float32)})


def test_dims_that_name_nothing_are_refused() -> None:
    with pytest.raises(TraceError, match="dims names the argument 'images'"):
        st.compile(lambda x: x, dims={"images": {0: "n"}})(st.ones(2))
    with pytest.raises(ShapeError, match="axis 3"):
        st.compile(lambda x: x, dims={"x": {3: "n"}})(st.ones(2))


def test_names_of_arguments_that_a_star_takes() -> None:
    """What `*x` takes stands in a tuple of that name, what `**named` takes has the name it was given."""
    def f(a: Any, *x: Any, scale: Any = 1, **named: Any) -> Any:
        return (a.sum() + sum(v.sum() for v in x) + named["b"].sum()) * scale

    spec = flatten(((1, 2, {"inner": 3}), {"scale": 4, "b": (5, 6)}))[1]
    assert leaf_names(f, spec) == ["a", "x.0", "x.1.inner", "scale", "b.0", "b.1"]
    g = st.compile(f, dims={"x": {0: "n"}, "b": {0: "n"}, "a": {0: "n"}})
    for n in (2, 5):
        assert float(g(*(np.ones(n, np.float32) for _ in range(3)), b=np.ones(n, np.float32))) == 4 * n
    assert g.compiles == 1
    with pytest.raises(TraceError, match=r"'named'.*\['a', 'x\.0', 'b'\]"):
        st.compile(f, dims={"named": {0: "n"}})(st.ones(2), st.ones(2), b=st.ones(2))


def test_a_size_that_breaks_a_guard_is_traced_again() -> None:
    table = st.ones(3)
    f = lambda x: x + table if x.shape[0] == 3 else x.sum()
    g = st.compile(f)
    for n in (4, 5, 6, 3, 4):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_allclose(g(x).numpy(), f(st.tensor(x)).numpy())
    assert g.compiles <= 3


@pytest.mark.filterwarnings("ignore:.* cannot stay open")
def test_python_that_loops_over_a_size_is_compiled_for_each() -> None:
    f = lambda x: st.concatenate([x[k:k + 1] * k for k in range(x.shape[0])])
    g = st.compile(f)
    for n in (4, 5, 6, 4):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_allclose(g(x).numpy(), f(st.tensor(x)).numpy())
    assert g.compiles == 3
    with pytest.warns(UserWarning, match=r"x \(n,\) cannot stay open: .* n at test_compile.py:\d+"):
        assert st.compile(f, dims={"x": {0: "n"}})(st.ones(4)).shape == (4,)


def test_what_cannot_be_traced_with_open_sizes_runs_at_fixed_ones() -> None:
    def f(x: Any) -> Any:
        if not isinstance(x.shape[0], int):
            raise KeyError("sizes")
        return x * 2

    g = st.compile(f)
    g(st.ones(2))
    with pytest.warns(UserWarning, match=r"f is compiled for each size, since x \(n0,\) cannot stay open: KeyError"):
        assert g(st.ones(3)).tolist() == [2, 2, 2]
    assert g(st.ones(4)).tolist() == [2, 2, 2, 2] and (g.compiles, g.traces) == (3, 4)


@pytest.mark.parametrize("f", [
    lambda x: x.sum() / x.shape[0], lambda x: x.reshape(x.shape[0] // 1, 1), lambda x: x * (2 - x.shape[0]) + x.size,
    lambda x: st.zeros(x.shape[0] + 1) + x.sum(), lambda x: x[1:] - x[:-1],
])
def test_open_sizes_compute(f: Any) -> None:
    g = st.compile(f, dims={"x": {0: "n"}})
    for n in (4, 5, 2):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_allclose(g(x).numpy(), f(st.tensor(x)).numpy())
    assert g.compiles == 1


def test_python_numbers_are_constants_and_guards() -> None:
    settings = SimpleNamespace(scale=2.0, name="a")
    f = st.compile(lambda x, k: x * settings.scale + k)
    x = st.ones(2)
    assert f(x, 1).tolist() == [3, 3]
    assert f(x, 2).tolist() == [4, 4]
    settings.scale = 5.0
    assert f(x, 1).tolist() == [6, 6]
    settings.name = "b"
    assert f(x, 1).tolist() == [6, 6]
    assert f.traces == 3
    assert "settings.scale == 5.0" in f.guards
    assert "settings.scale = 2.0" in f.constants
    assert not any("name" in guard for guard in f.guards)


def test_arrays_made_inside_are_listed_as_constants() -> None:
    f = st.compile(lambda x: x * st.tensor([1.0, 2.0]))
    assert f(st.ones(2)).tolist() == [1, 2]
    assert any(c.startswith("float32[2] at test_compile.py:") for c in f.constants)


def test_a_number_that_changes_every_time_is_worth_a_warning() -> None:
    holder = SimpleNamespace(rate=0)
    f = st.compile(lambda x: x * holder.rate)
    with pytest.warns(UserWarning, match=r"holder.rate was 6, now 7.*tensor"):
        for holder.rate in range(9):
            f(st.ones(1))


def test_an_equal_graph_is_compiled_once() -> None:
    holder = SimpleNamespace(flag=True)
    f = st.compile(lambda x: x * (2 if holder.flag else 1 + 1))
    f(st.ones(2))
    holder.flag = False
    f(st.ones(2))
    assert (f.traces, f.compiles) == (2, 1)


def test_parameters_are_updated_in_place_unless_somebody_looks() -> None:
    w, v = st.zeros(1 << 12), st.zeros(1 << 12)

    @st.compile
    def step() -> None:
        w.assign(w + 1)
        v.assign(v * 2 + w)

    step()
    places = [x.value.data.address for x in (w, v)]
    for _ in range(3):
        step()
    if config.BACKEND() == "cpu":
        assert [x.value.data.address for x in (w, v)] == places
    kept = w.detach()
    step()
    view = w.numpy()
    step()
    pending = w * 2
    step()
    assert (float(kept[0]), view[0], float(pending[0]), float(w[0])) == (4, 5, 12, 7)


def test_the_same_tensor_twice_is_not_two() -> None:
    def f(a: Any, b: Any) -> Any:
        a += 1
        return a * b
    g = st.compile(f)
    x, y = st.ones(2), st.ones(2)
    assert g(x, y).tolist() == [2, 2]
    assert g(x, x).tolist() == [9, 9]
    assert g(y, x).tolist() == [6, 6]
    assert x.tolist() == [3, 3] and y.tolist() == [2, 2]


def test_a_tensor_that_is_argument_and_state() -> None:
    holder = SimpleNamespace(w=st.ones(2))
    def f(x: Any) -> Any:
        holder.w = holder.w + x
        return x * 1
    g = st.compile(f)
    g(holder.w)
    g(st.ones(2))
    g(holder.w)
    assert holder.w.tolist() == [6, 6]


def test_containers_in_and_out() -> None:
    f = st.compile(lambda d, *rest, scale=1: {"sum": d["x"] + rest[0][0], "many": [rest[0][1] * scale, None], "n": 3})
    y = f({"x": st.ones(2)}, (st.ones(2), st.zeros(2)), scale=2)
    assert y["sum"].tolist() == [2, 2] and y["many"][0].tolist() == [0, 0] and y["many"][1] is None and y["n"] == 3


def test_an_array_handed_through_is_a_copy() -> None:
    a = np.ones(3, np.float32)
    y = st.compile(lambda x: x)(a)
    a[:] = 2
    assert y.tolist() == [1, 1, 1]


def test_methods_compile() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = st.ones(2)

        @st.compile
        def step(self, x: Any) -> Any:
            self.w = self.w + x
            return self.w * 2

    a, b = Model(), Model()
    assert a.step(st.ones(2)).tolist() == [4, 4]
    assert b.step(st.zeros(2)).tolist() == [2, 2]
    assert a.step(st.ones(2)).tolist() == [6, 6]
    assert a.w.tolist() == [3, 3]


def test_a_module_compiles() -> None:
    st.manual_seed(0)
    layer = Linear(4, 2)
    f = st.compile(layer, dims={"x": {0: "n"}})
    for n in (2, 3):
        np.testing.assert_allclose(f(batch(n)).shape, (n, 2))
    with st.no_grad():
        layer.bias.assign(layer.bias + 1)
    x = batch(2)
    np.testing.assert_allclose(f(x).numpy(), layer(st.tensor(x)).numpy(), rtol=1e-5)
    assert f.compiles == 1 and "Linear" in repr(f)


def test_arguments_of_a_module_are_named_as_those_of_its_forward() -> None:
    class Scaled(st.nn.Module):
        def forward(self, images: Any, sizes: Any) -> Any:
            return images * sizes[:, None]

    f = st.compile(Scaled(), dims={"images": {0: "n"}, "sizes": {0: "n"}})
    assert [f(st.ones((n, 2)), st.ones(n)).shape for n in (2, 3)] == [(2, 2), (3, 2)] and f.compiles == 1


def test_options_that_do_not_exist_are_refused() -> None:
    with pytest.raises(TypeError, match=r"an option of compile must be .* got 'fast'"):
        st.compile(lambda x: x, fast=True)


def test_errors_of_a_running_program_change_nothing() -> None:
    holder = SimpleNamespace(w=st.zeros(4), n=st.tensor(0))

    @st.compile
    def step(i: Any) -> Any:
        holder.n = holder.n + 1
        holder.w = holder.w + holder.w[i].sum() + 1
        return holder.w

    step(st.tensor([0, 3]))
    with pytest.raises(IndexOutOfRange):
        step(st.tensor([0, 4]))
    assert holder.n.tolist() == 1 and holder.w.tolist() == [1, 1, 1, 1]


def test_a_tensor_kept_behind_the_back_says_what_it_is() -> None:
    keeper: list[Any] = []
    f = st.compile(lambda x: getattr(keeper, "app" + "end")(x * 2) or x)
    with pytest.raises(TraceError, match="grew from 0 to 1"):
        f(st.ones(2))
    hidden = MappingProxyType({"keeper": keeper})
    g = st.compile(lambda x: hidden["keeper"].append(x * 2) or x)
    g(st.ones(2))
    with pytest.raises(TraceError, match=r"symbolic.* at test_compile.py:\d+"):
        keeper[0].numpy()
    with pytest.raises(TraceError, match="another function was traced"):
        st.compile(lambda: keeper[0] + 1)()


def test_values_kept_between_calls_are_gathered_by_name() -> None:
    outside: dict[str, Any] = {}
    f = st.compile(lambda x: outside.update(y=x * 2) or x)
    f(st.ones(2))
    assert outside["y"].tolist() == [2, 2]
    f(st.zeros(2))
    assert outside["y"].tolist() == [0, 0]


def test_grad_mode_is_part_of_the_call() -> None:
    w = st.tensor([2.0], requires_grad=True)
    f = st.compile(lambda x: (w * x).sum())
    y = f(st.ones(1))
    assert y.requires_grad
    with st.no_grad():
        assert not f(st.ones(1)).requires_grad
    y.backward()
    assert w.grad.tolist() == [1.0]


def test_derivatives_inside_and_outside_agree() -> None:
    f = lambda x: (st.tanh(x) ** 2).sum()
    x = st.tensor([0.3, -1.2])
    plain = st.grad(f)(x).numpy()
    np.testing.assert_allclose(st.compile(st.grad(f))(x).numpy(), plain, rtol=2e-6)
    np.testing.assert_allclose(st.grad(st.compile(f))(x).numpy(), plain, rtol=2e-6)


def test_steady_calls_do_not_warn() -> None:
    f = st.compile(lambda x: x + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            f(st.ones(2))
    assert (f.traces, f.compiles) == (1, 1)


def test_symbolic_functions() -> None:
    x, y = st.placeholder(("n", 2), name="x"), st.placeholder((2,), name="y")
    w = st.tensor([1.0, 2.0])
    f = st.function([x, y], {"sum": (x + y * w).sum(axis=0), "count": st.ones(3)}, updates=[(w, w + y)])
    for n in (1, 4):
        X, Y = batch(n)[:, :2], np.ones(2, np.float32)
        expected = (X + Y * w.numpy()).sum(0)
        np.testing.assert_allclose(f(X, Y)["sum"].numpy(), expected, rtol=1e-5)
    assert w.tolist() == [3.0, 4.0]
    with pytest.raises(ShapeError, match=r"the inputs are"):
        f(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    with pytest.raises(DTypeError, match="astype"):
        f(np.ones((2, 2)), np.ones(2, np.float32))
    with pytest.raises(GraphError, match="takes 2 inputs"):
        f(np.ones((2, 2), np.float32))


def test_functions_of_placeholders_are_part_of_other_functions() -> None:
    x, w, count = st.placeholder(("n", 3)), st.tensor([1.0, 2.0, 3.0], requires_grad=True), st.tensor(0)
    f = st.function([x], {"y": (x * w).sum(axis=1)}, updates=[(count, count + x.shape[0])])
    within = st.compile(lambda x: f(x)["y"] + 1, dims={"x": {0: "m"}})
    for n in (2, 5, 0, 3):
        np.testing.assert_array_equal(within(st.full((n, 3), float(n))).numpy(), np.full(n, 6 * n + 1, np.float32))
    assert len(within.graphs) <= 2 and int(count) == 10
    before = w.numpy()
    w.assign(w * 2)
    assert within(st.ones(2, 3)).tolist() == [13, 13]
    within(st.ones(2, 3)).sum().backward()
    assert w.grad.tolist() == [2, 2, 2] and int(count) == 14
    given = st.ones(2, 3).requires_grad_()
    for n in (2, 4):
        f(given if n == 2 else st.tile(given, (2, 1)))["y"].sum().backward()
    assert np.array_equal(given.grad.numpy(), np.broadcast_to(6 * before, (2, 3)))
    for make in (lambda f: f, st.compile):
        assert make(st.grad(lambda x: f(x)["y"].sum()))(st.ones(1, 3)).tolist() == [[2, 4, 6]]
        assert make(st.vmap(lambda x: f(x)["y"]))(st.ones(4, 2, 3)).tolist() == [[12, 12]] * 4
        steps = make(lambda x: st.scan(lambda s, r: (s + f(x)["y"], None), st.zeros(2), st.ones(3))[0])
        assert steps(st.ones(2, 3)).tolist() == [36, 36]


def test_functions_of_placeholders_on_placeholders_write_when_they_are_called() -> None:
    x, total = st.placeholder((2,)), st.zeros(2)
    add = st.function([x], x * 2, updates=[(total, total + x)])
    z = st.placeholder((2,))
    twice = st.function([z], add(add(z)))
    assert total.tolist() == [0, 0]
    assert twice(st.ones(2)).tolist() == [4, 4] and total.tolist() == [3, 3]


def test_symbolic_mistakes_are_said() -> None:
    x = st.placeholder((2,), name="x")
    with pytest.raises(TraceError, match="symbolic"):
        (x * 2).numpy()
    with pytest.raises(GraphError, match="not among the inputs"):
        st.function([], x * 2)
    with pytest.raises(GraphError, match="placeholder"):
        st.function([st.ones(2)], x * 2)


def test_three_styles_make_one_graph() -> None:
    w = st.tensor([[1.0], [2.0]], requires_grad=True)
    f = lambda x: ((x @ w) ** 2).mean()
    compiled = st.compile(f, dims={"x": {0: "n"}})
    compiled(batch(3)[:, :2])
    x = st.placeholder(("n", 2))
    assert st.function([x], f(x)).graph.digest == compiled.graphs[0].digest


def test_symbolic_functions_draw_anew() -> None:
    x, ones = st.placeholder((64,)), np.ones(64, np.float32)
    y = st.dropout(st.dropout(x, 0.5), 0.25) * st.tensor(np.arange(64, dtype=np.float32))
    f = st.function([x], y)
    st.manual_seed(3)
    found = [f(ones).numpy() for _ in range(2)]
    st.manual_seed(3)
    for symbolic in found:
        dropped = st.dropout(st.dropout(st.tensor(ones), 0.5), 0.25)
        np.testing.assert_array_equal((dropped * st.tensor(np.arange(64, dtype=np.float32))).numpy(), symbolic)
    assert (found[0] != found[1]).any()


def test_what_unchanged_state_decides_is_kept() -> None:
    layer = st.nn.Conv2d(3, 20, 3, padding=1)
    x = st.tensor(np.random.default_rng(0).standard_normal((2, 3, 9, 8)).astype(np.float32))
    f = st.compile(lambda x: layer(x))

    @st.compile
    def step() -> None:
        layer.weight = layer.weight * 2

    def right() -> bool:
        return np.allclose(f(x).numpy(), layer(x).numpy(), atol=1e-4)

    assert right()
    program, made = f.programs[0], f.programs[0].kept
    assert right() and program.kept is made is not None
    for _ in range(3):
        step()
        step()
        assert right() and program.kept is not made
        made = program.kept
    layer.bias = layer.bias + 1
    assert right()


def test_what_one_call_goes_through_is_not_given_to_the_next() -> None:
    async def later(x: st.Tensor) -> st.Tensor: return x * 2
    def each(x: st.Tensor) -> Any: yield x * 2
    outside = iter([1])
    def series(x: st.Tensor) -> Any: return x, iter([x])
    for f, name in ((each, "generator"), (lambda x: [map(abs, [x])], "map"), (series, "list_iterator")):
        with pytest.raises(TraceError, match=f"{name} of a compiled function.*Make a list"):
            st.compile(f)(st.ones(2))
    with pytest.raises(TraceError, match=r"coroutine of.*to_thread"), pytest.warns(RuntimeWarning, match="awaited"):
        st.compile(later)(st.ones(2))
    assert st.compile(lambda x: (x, outside))(st.ones(2))[1] is outside
    assert st.compile(lambda x, given: (x, given))(st.ones(2), outside)[1] is outside


ZEROS = {"float": (0.0, -0.0), "complex": (0j, complex(-0.0, 0.0)), "float32": (np.float32(0), np.float32(-0.0)),
         "float64": (np.float64(0), np.float64(-0.0))}


@pytest.mark.parametrize("kind", ZEROS)
@pytest.mark.parametrize("way", ["argument", "entry", "attribute"])
def test_a_zero_of_the_other_sign_is_another_number(kind: str, way: str) -> None:
    held = SimpleNamespace(k=ZEROS[kind][0])
    signed = {"argument": lambda x, k: 1 / (x * k).real, "entry": lambda x, d: 1 / (x * d["k"]).real,
              "attribute": lambda x, _: 1 / (x * held.k).real}[way]
    f, x = st.compile(signed), st.tensor([1.0, 2.0])
    for _ in range(3):
        for k, wanted in zip(ZEROS[kind], (np.inf, -np.inf)):
            held.k = k
            assert f(x, {"k": k} if way == "entry" else k).tolist() == [wanted, wanted]
    assert f.traces == 2


@pytest.mark.parametrize("kind", [float, complex, np.float32, np.float64, np.complex64])
def test_a_nan_is_the_number_it_was(kind: Any) -> None:
    held = SimpleNamespace()
    f = st.compile(lambda x, k: (st.where(x > 1, x, k), st.where(x > 1, x, held.k)))
    for _ in range(4):
        held.k = kind("nan")
        assert all(bool(st.isnan(y).all()) for y in f(st.ones(2), kind("nan")))
    assert f.traces == 1
