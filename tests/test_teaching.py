"""Errors teach: they name what was called, the layer and the user's line, and show the user's frames alone."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, nn, optim
from stele.errors import SteleError
from stele.ir.origin import is_house


class Pair(nn.Module):
    def __init__(self) -> None:
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.fc2(self.fc1(x))    # fc2 takes 4 features, not 8


class Net(nn.Module):
    def __init__(self) -> None:
        self.blocks = [nn.Linear(4, 4), Pair()]

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def raised(f: Callable[[], Any]) -> BaseException:
    """What f raises."""
    try:
        f()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def house(error: BaseException) -> list[str]:
    """The frames of ours that a traceback shows."""
    return [f"{f.filename}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__) if is_house(f.filename)]


STYLES: dict[str, Callable[[Any], Any]] = {
    "imperative": lambda model: model,
    "compiled": st.compile,
    "compiled inside": lambda model: st.compile(lambda x: model(x)),
    "gradient": lambda model: st.grad(lambda x: model(x).sum()),
    "mapped": lambda model: st.compile(lambda x: st.map(st.compile(model), x[None])),
}


@pytest.mark.parametrize("mode", [nullcontext, st.eager])
@pytest.mark.parametrize("style", STYLES)
def test_shape_errors_in_a_module_name_its_path_and_the_line(style: str, mode: Any) -> None:
    with mode():
        error = raised(lambda: STYLES[style](Net())(st.ones(2, 4)))
    line = Pair.forward.__code__.co_firstlineno + 1
    assert f"at {__file__.rpartition('/')[2]}:{line} (blocks.1.fc2)" in str(error)
    assert "takes 4 features" in str(error) and "(2, 8)" in str(error)
    assert house(error) == []
    assert traceback.extract_tb(error.__traceback__)[-1].name == "forward"


def test_the_users_own_errors_lose_our_frames_and_nothing_else() -> None:
    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            return {}["key"]

    for f, mode in product((Broken(), st.compile(Broken()), st.grad(Broken())), (nullcontext, st.eager)):
        with mode():
            error = raised(lambda: f(st.ones(2)))  # noqa: B023 (called at once)
        assert isinstance(error, KeyError) and house(error) == []
        assert traceback.extract_tb(error.__traceback__)[-1].name == "forward"


def test_a_call_with_other_arguments_shows_the_call_alone() -> None:
    linear: Any = nn.Linear
    for f in (lambda: linear(4), lambda: nn.ReLU()(), lambda: Net()(1, 2, 3)):
        error = raised(f)
        assert isinstance(error, TypeError) and house(error) == []


def test_frames_of_ours_are_shown_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_TRACEBACK", "full")
    assert len(house(raised(lambda: Net()(st.ones(2, 4))))) > 3


x34, x24 = st.ones(3, 4), st.ones(2, 4)
weight = st.tensor([1.0], requires_grad=True)

# As somebody calls them whom no type checker warns.
Loader: Any = data.Loader
SGD: Any = optim.SGD
Sequential: Any = nn.Sequential
placeholder: Any = st.placeholder
made: Any = st.zeros
reshaped: Any = x34.reshape

DOORS: dict[str, Callable[[], Any]] = {
    "operator": lambda: x34 + x24, "reflected": lambda: (1, 2) @ x34, "in place": lambda: st.ones(3).__iadd__(x34),
    "method": lambda: x34.sum(axis=7), "function": lambda: st.matmul(x34, x34), "too many": lambda: st.exp(1, 2, 3),
    "no such option": lambda: x34.sum(axs=1), "number": lambda: float(x34), "made": lambda: st.tensor(["a"]),
    "sizes": lambda: st.zeros(-3), "drawn": lambda: st.randn(-3), "assign": lambda: st.ones(2).assign(x34),
    "backward": lambda: x34.backward(), "grad": lambda: st.grad(lambda x: x)(x34), "set": lambda: set_item(x34),
    "scan": lambda: st.scan(lambda s, x: s, x34, x34), "look": lambda: st.take(x34, st.tensor([9]), 0).numpy(),
    "compiled": lambda: st.compile(lambda x: x34[x])(st.tensor(9)), "layer": lambda: nn.Linear(-1, 4),
    "recurrent": lambda: nn.GRU(-1, 4), "loss": lambda: nn.mse_loss(x34, x24), "optimiser": lambda: SGD([], 1.0),
    "adam": lambda: optim.Adam([weight], betas=(2, 2)), "loader": lambda: Loader((np.ones(3), np.ones(4))),
    "another keyword": lambda: made(2, frobnicate=1), "its words": lambda: st.eye(n=2, k="a"),
    "viewed": lambda: reshaped(), "iterated": lambda: list(x34.sum()),
    "placeholder": lambda: placeholder(3), "function of": lambda: st.function([x34], x34),
}


def test_matrices_without_a_factor_show_the_users_line_alone() -> None:
    for x in (-st.eye(3), -st.eye(64)):
        error = raised(st.linalg.cholesky(x).numpy)
        assert isinstance(error, np.linalg.LinAlgError) and house(error) == []


def set_item(x: Any) -> None:
    x[9] = 1


@pytest.mark.parametrize("door", DOORS)
def test_errors_leave_through_a_door(door: str) -> None:
    error = raised(DOORS[door])
    assert isinstance(error, SteleError), repr(error)
    assert house(error) == []
    assert f"{__file__.rpartition('/')[2]}:" in str(error)


class Tables(nn.Module):
    def __init__(self) -> None:
        self.left, self.right = nn.Embedding(4, 3), nn.Embedding(4, 3)

    def forward(self, i: Any, k: Any) -> Any:
        left = self.left(i).numpy()
        return left + self.right(k).numpy()


def test_what_was_computed_before_fails_where_it_is_asked_for_now() -> None:
    tables, right, wrong = Tables(), st.tensor([1, 2]), st.tensor([1, 7])
    for _ in range(6):      # the two are of one structure, and one program computes them
        tables(right, right)
    for k, (layer, i) in enumerate({"left": (wrong, right), "right": (right, wrong)}.items()):
        error = raised(partial(tables, *i))
        line = Tables.forward.__code__.co_firstlineno + 1 + k
        assert f"at test_teaching.py:{line} ({layer})" in str(error)
        assert house(error) == [] and (error.__cause__, error.__suppress_context__) == (None, True)


def test_nan_is_named_where_it_is_made_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CHECK", "nan")
    first: Any = lambda x: st.log(x) @ x
    second: Any = lambda x: st.log(x) @ x
    for f in (first, second, first, second):
        f(st.ones(8, 8)).numpy()
    for f in (first, second):
        assert f"test_teaching.py:{f.__code__.co_firstlineno}" in str(raised(f(-st.ones(8, 8)).numpy))


def traced(f: Callable[[Any], Any], *shape: int) -> Callable[[], Any]:
    """A call of f, compiled."""
    return lambda: st.compile(f)(st.ones(*shape))


def countdown(x: Any) -> Any:
    while x > 0:
        x = x - 1
    return x


class Foreign:
    """An array of another framework, which speaks DLPack and has the attributes of a tensor."""

    dtype, shape = "torch.float32", (2, 4)

    def __dlpack__(self, **_: Any) -> Any: ...

    def item(self) -> float:
        raise RuntimeError("a Tensor with 8 elements cannot be converted to Scalar")


linear, images = nn.Linear(4, 2), st.ones(2, 32, 32, 3)
logits = st.ones(3, 4)

# What somebody writes, and the words that the error must say: what was called, what it takes and got, what to write.
TEACHING: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "float labels": (lambda: nn.cross_entropy(logits, st.ones(3)), ["cross_entropy", "float32[3]", "int64"]),
    "one-hot labels": (lambda: nn.cross_entropy(logits, logits), ["(3, 4) and (3, 4)", "labels.argmax(axis=1)"]),
    "labels in a column": (lambda: nn.cross_entropy(logits, st.ones(3, 1).long()), ["(3, 1)", "labels.squeeze(1)"]),
    "a label out of range": (lambda: nn.cross_entropy(logits, st.tensor([0, 1, 7])).item(), ["index 7", "from 0 to"]),
    "pixels, channels last": (lambda: nn.cross_entropy(st.ones(2, 5, 5, 3), st.zeros(2, 5, 5).long()),
                              ["(N, C, ...)", "st.moveaxis(logits, -1, 1)"]),
    "foreign operand": (lambda: x24 + Foreign(), ["add", "Foreign", "st.from_dlpack(x)"]),
    "foreign argument": (lambda: st.matmul(x24, Foreign()), ["matmul", "Foreign", "st.from_dlpack(x)"]),
    "foreign input": (lambda: linear(Foreign()), ["Linear", "Foreign", "st.from_dlpack(x)"]),
    "list operand": (lambda: x24 * [x24, 2], ["multiply", "a list of others", "st.stack(x)"]),
    "list to a layer": (lambda: linear([[1.0, 2, 3, 4]]), ["Linear", "list: [[1.0", "st.tensor(x)"]),
    "None to a layer": (lambda: nn.Flatten()(None), ["Flatten", "None", "return nothing"]),
    "to a device": (lambda: x24.to("cuda"), ["'cuda'", "CPU", "Leave .to(...) out"]),
    "model to a device": (lambda: linear.to("cuda:0"), ["'cuda:0'", "CPU", "Leave .to(...) out"]),
    "np.asarray": (traced(lambda x: np.asarray(x)), ["NumPy", "depends on 'x'", "st.exp(x)"]),
    "np.array_equal": (traced(lambda x: np.array_equal(x, x), 2), ["NumPy", "depends on 'x'", "functions of st"]),
    "np.nextafter.reduce": (traced(lambda x: np.nextafter.reduce(x)), ["np.nextafter.reduce has no counterpart",
                                                                       "np.nextafter.reduce(x.numpy(), ...)"]),
    "float of many": (lambda: float(x24), ["float(x)", "one element", "(2, 4)", "x.mean()"]),
    "float": (traced(lambda x: float(x)), ["float(x)", "depends on 'x'", "Keep it a tensor"]),
    "int": (traced(lambda x: int(x)), ["int(x)", "depends on 'x'", "x.astype('int64')"]),
    "format": (traced(lambda x: f"{x:.3f}"), ["'.3f'", "depends on 'x'", "Return it"]),
    "if of many": (lambda: bool(x24 > 0), ["truth of a tensor (if, while", "(2, 4)", "(x > 0).all()"]),
    "while": (traced(countdown), ["truth of a tensor (if, while", "depends on 'x'", "st.where", "st.scan"]),
    "numpy()": (traced(lambda x: x.numpy()), ["x.numpy()", "depends on 'x'", "outside of the function"]),
    "item()": (traced(lambda x: x.item()), ["x.item()", "depends on 'x'", "outside of the function"]),
    "range": (lambda: st.compile(lambda n: list(range(n)))(st.tensor(3)), ["a count", "'n'", "st.scan"]),
    "gradient of integers": (lambda: st.grad(lambda x: x.sum() * 1.0)(st.tensor([1, 2])),
                             ["argument 0", "int64[2]", "argnums"]),
    "integer requires_grad": (lambda: st.tensor([1, 2], requires_grad=True), ["int64", "float", "[1.0, 2.0]"]),
    "groups": (lambda: SGD([{"params": [weight], "rate": 1}], 1.0), ["an option of SGD", "momentum", "'rate'"]),
    "no gradients": (lambda: SGD([weight, x24], 1.0), ["parameter 1", "float32[2,4]", "requires_grad=True"]),
    "computed": (lambda: SGD([weight * 2], 1.0), ["parameter 0", "computed from others"]),
    "a tensor for a list": (lambda: SGD(weight, 1.0), ["a list of tensors", "Pass [x]"]),
    "a module for a list": (lambda: SGD(linear, 1.0), ["a list of tensors", "model.parameters()"]),
    "nothing to derive": (lambda: x24.sum().backward(), ["backward()", "requires_grad=True", "st.no_grad()"]),
    "a generator": (lambda: Loader(iter([x24])), ["list_iterator", "read once", "data.IterableDataset(f)"]),
    "a data set": (lambda: Loader(data.fashion_sample()), ["one part", "Fashion-MNIST", "Loader(found.train)"]),
    "two arrays": (lambda: Loader(np.ones(4), np.ones(4)), ["batch_size", "ndarray", "Loader((x, y), batch_size)"]),
    "ragged samples": (lambda: Loader([(np.ones(k),) for k in (1, 2)]), ["entry 0", "(1,), (2,)", "pad"]),
    "where": (lambda: st.where(x24 > 0, 1.0), ["where", "got one operand", "st.where(x > 0, x, 0)", "the places"]),
    "a list of layers": (lambda: Sequential([linear]), ["Sequential", "list", "nn.Sequential(*layers)"]),
    "a class for a layer": (lambda: Sequential(linear, nn.ReLU), ["Sequential", "ReLU(...)"]),
    "channels last": (lambda: nn.Conv2d(3, 4, 3)(images), ["Conv2d", "(N, 3, H, W)", "(2, 32, 32, 3)",
                                                          "x.permute(0, 3, 1, 2)"]),
    "one image": (lambda: nn.Conv2d(3, 4, 3)(st.ones(8, 8, 3)), ["(N, 3, H, W) or (3, H, W)", "(8, 8, 3)",
                                                                "x.permute(2, 0, 1)"]),
    "channels of a norm": (lambda: nn.BatchNorm2d(3)(images), ["BatchNorm2d", "(N, 3, H, W)", "x.permute(0, 3, 1, 2)"]),
    "features of a GRU": (lambda: nn.GRU(4, 5)(st.ones(7, 2, 3)), ["GRU", "(T, N, 4)", "(7, 2, 3)"]),
    "one step": (lambda: nn.LSTM(4, 5, batch_first=True)(st.ones(4)), ["LSTM", "(N, T, 4)", "(T, 4)", "(4,)"]),
    "not flattened": (lambda: nn.Linear(64, 2)(st.ones(3, 8, 8)), ["64 features", "(3, 8, 8)", "x.flatten(1)"]),
    "a float index": (lambda: nn.Embedding(4, 2)(x24), ["Embedding", "integers", "float32[2,4]", "astype('int64')"]),
    "shapes that do not meet": (lambda: x34 * x24, ["multiply", "(3, 4) and (2, 4)", "3 vs 2", "reshape"]),
    "a column beside a row": (lambda: nn.mse_loss(st.ones(3, 1), st.ones(3)), ["(3, 1) and (3,)", "target.reshape("]),
    "no memory": (lambda: (st.ones(1 << 20, 1) * st.ones(1, 1 << 20)).exp().numpy(),
                  ["float32[1048576, 1048576] does not fit", f"{1 << 42} bytes", "made at test_teaching.py"]),
    "no memory, compiled": (traced(lambda x: (x.reshape(-1, 1) * x).exp(), 1 << 20),
                            ["float32[1048576, 1048576] does not fit", f"{1 << 42} bytes", "made at test_teaching.py"]),
}


@pytest.mark.parametrize("case", TEACHING)
def test_errors_say_what_was_called_what_it_takes_and_what_to_write(case: str) -> None:
    f, words = TEACHING[case]
    error = raised(f)
    assert isinstance(error, SteleError), repr(error)
    said = str(error)
    assert [word for word in words if word not in said] == [], said
    assert f"{__file__.rpartition('/')[2]}:" in said, said
    assert house(error) == []


def test_memory_that_is_exhausted_is_a_memory_error() -> None:
    assert isinstance(raised(TEACHING["no memory"][0]), MemoryError)


def test_functions_of_numpy_take_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    x = st.tensor([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(np.exp(x), np.exp(x.numpy()), rtol=1e-6)
    assert np.sum(x) == 10 and np.mean(x, axis=0).tolist() == [2, 3]
    np.testing.assert_array_equal(np.stack([x, x]), np.stack([x.numpy()] * 2))
    np.testing.assert_array_equal(np.where(x > 2, x, 0), [[0, 0], [3, 4]])
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 2), 2, 4)
    assert st.compile(lambda x: x * np.ndim(x) * np.shape(x)[0])(x).tolist() == (x * 4).tolist()
    st.compile(print)(x)
    assert "float32[2,2]: it has numbers when the program runs" in capsys.readouterr().out


def test_samples_and_named_parameters_are_taken() -> None:
    (x, y), _ = Loader([(np.full(2, k, "float32"), k) for k in range(3)], 2)
    assert (x.tolist(), y.tolist()) == ([[0, 0], [1, 1]], [0, 1])
    assert len(SGD(linear.named_parameters(), 1.0).parameters) == 2


def test_a_cross_entropy_for_each_pixel() -> None:
    x = st.randn(2, 4, 3, 5)
    labels = st.randint(0, 4, (2, 3, 5))
    rows = st.moveaxis(x, 1, -1).reshape(-1, 4)
    expected = nn.cross_entropy(rows, labels.reshape(-1))
    np.testing.assert_allclose(nn.cross_entropy(x, labels).numpy(), expected.numpy(), rtol=1e-6)
    np.testing.assert_allclose(st.compile(nn.cross_entropy)(x, labels).numpy(), expected.numpy(), rtol=1e-6)


INDEXED: dict[str, Callable[[Any, Any], Any]] = {
    "key":          lambda x, i: x[i],
    "several keys": lambda x, i: x[i, st.zeros(2).astype(i.dtype)],
    "take":         lambda x, i: st.take(x, i, axis=0),
    "along":        lambda x, i: st.take_along_axis(x[:, 0], i, axis=0),
    "added":        lambda x, i: st.index_add(x, i, st.ones(2, 3), axis=0),
    "written":      lambda x, i: written(x, i),
}


def written(x: Any, i: Any) -> Any:
    y = x.clone()
    y[i] = 1.0
    return y


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("style", ["imperative", "compiled", "reference"])
@pytest.mark.parametrize("case", INDEXED)
def test_an_index_out_of_range_is_shown_as_it_was_written(case: str, style: str, dtype: str) -> None:
    f: Any = INDEXED[case]
    f = {"imperative": f, "compiled": st.compile(f), "reference": st.compile(f, backend="reference")}[style]
    for wrong in (-9, -5, 4, 100):
        error = raised(lambda: f(st.ones(4, 3), st.tensor([1, wrong], dtype=dtype)).numpy())  # noqa: B023 (called at once)
        assert isinstance(error, IndexError) and f"index {wrong} is out of range" in str(error), str(error)
    assert np.isfinite(f(st.ones(4, 3), st.tensor([-4, 3], dtype=dtype)).numpy()).all()
