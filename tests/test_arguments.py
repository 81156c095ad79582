"""Arguments beside arrays: sizes that no array has, kinds that nothing takes, options there are none of."""
from __future__ import annotations

import re
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, metrics, nn, optim, train
from stele.arrays.spoken import is_lifted
from stele.backend.buffers import MEMORY, Recent
from stele.errors import ArgumentError, DTypeError, OptionError, OutOfMemory, ShapeError, SteleError
from stele.ir.sizes import size
from stele.ir.types import MOST_BYTES, Type, float32, uint8
from stele.nn import functional as F
from stele.ops import arguments

BAD_SIZES = (-1, -3, -2**31 - 1, -2**63 - 1, 2**62, 2**64, 10**30)
TAKES_SIZES: dict[str, Any] = {
    "zeros":       lambda n: st.zeros(3, n),
    "ones":        lambda n: st.ones((n, 3)),
    "full":        lambda n: st.full(n, 2.0),
    "rand":        lambda n: st.rand(n),
    "randn":       lambda n: st.randn(3, n),
    "randint":     lambda n: st.randint(0, 5, (n,)),
    "uniform":     lambda n: st.uniform(0, 1, (n,)),
    "normal":      lambda n: st.normal(0, 1, (n, 2)),
    "bernoulli":   lambda n: st.bernoulli(0.5, (3, n)),
    "eye":         lambda n: st.eye(3, n),
    "eye rows":    lambda n: st.eye(n, 3),
    "linspace":    lambda n: st.linspace(0, 1, n),
    "placeholder": lambda n: st.placeholder((3, n)),
    "broadcast":   lambda n: st.broadcast_to(st.zeros(1), (n,)),
    "expand":      lambda n: st.zeros(1).expand(3, n),
    "reshape":     lambda n: st.zeros(6).reshape(n, 3),
    "repeat":      lambda n: st.repeat(st.zeros(3), n, 0),
    "one_hot":     lambda n: st.one_hot(st.tensor([0]), n),
    "pad":         lambda n: st.pad(st.zeros(3), [(n, 0)]),
    "conv2d":      lambda n: st.conv2d(st.zeros(1, 1, 4, 4), st.zeros(1, 1, 2, 2), padding=n),
    "scan":        lambda n: st.scan(lambda a, b: (a, a), st.zeros(2), length=n),
    "Linear":      lambda n: nn.Linear(4, n),
    "Linear in":   lambda n: nn.Linear(n, 4),
    "Conv2d":      lambda n: nn.Conv2d(n, 4, 3),
    "kernel":      lambda n: nn.Conv2d(3, 4, n),
    "Embedding":   lambda n: nn.Embedding(5, n),
    "LayerNorm":   lambda n: nn.LayerNorm(n),
    "BatchNorm2d": lambda n: nn.BatchNorm2d(n),
    "GRU":         lambda n: nn.GRU(3, n),
    "LSTM":        lambda n: nn.LSTM(n, 3),
}


@pytest.mark.parametrize("n", BAD_SIZES)
@pytest.mark.parametrize("name", TAKES_SIZES)
def test_negative_and_huge_sizes_are_refused(name: str, n: int) -> None:
    if n == -1 and name in ("expand", "reshape"):
        return      # the size that is there, or that follows
    with pytest.raises(ShapeError):
        TAKES_SIZES[name](n)


@pytest.mark.parametrize("n", [2.5, 2.0, "3", None, True, [2.5], b"3", {2: 3}, object], ids=str)
@pytest.mark.parametrize("name", TAKES_SIZES)
def test_what_is_no_size_is_refused(name: str, n: Any) -> None:
    if n is None and name in ("eye", "scan"):
        return      # may be left out
    if name == "placeholder" and n == "3":
        with pytest.raises(ShapeError):
            TAKES_SIZES[name](n)
        return
    if name == "zeros" and isinstance(n, str | type):       # behind a size a dtype may stand
        with pytest.raises(DTypeError, match="choose one of"):
            TAKES_SIZES[name](n)
        return
    with pytest.raises((ArgumentError, OptionError), match="must be"):
        TAKES_SIZES[name](n)


def test_sizes_of_other_kinds_are_taken() -> None:
    assert st.zeros(np.int32(2), np.uint8(3)).shape == (2, 3)
    assert st.zeros(st.tensor(2), 3).shape == (2, 3) == st.rand(np.array([2, 3])).shape
    assert all(type(n) is int for n in st.ones([np.int64(2), 3]).shape)
    assert st.zeros(2, 3).permute(np.int64(1), 0).shape == (3, 2)


def test_a_type_counts_its_bytes_without_overflow() -> None:
    assert Type(uint8, (MOST_BYTES,)).size == MOST_BYTES
    assert Type(float32, (size("n"), 2**50)).shape[1] == 2**50
    for shape in ((MOST_BYTES + 1,), (2**31, 2**31), (0, 2**62, 2)):
        with pytest.raises(ShapeError, match="more than can be addressed"):
            Type(uint8, shape)
    with pytest.raises(ShapeError, match="0 or more"):
        Type(uint8, (3, -1))
    with pytest.raises(ShapeError, match="0 or more"):
        Recent(float32, (-1, -4))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_images_larger_than_any_memory_are_refused_before_their_positions_are_counted(mode: str) -> None:
    for images in (st.ones(1, 2, 3, 3), st.ones(0, 2, 3, 3)):
        with pytest.raises(ShapeError, match="more than can be addressed"):
            st.nn.functional.interpolate(images, 2**62, mode=mode)


def test_memory_that_is_not_there_is_a_memory_error_that_names_bytes() -> None:
    used = MEMORY.used
    with pytest.raises(MemoryError, match=r"float32\[1099511627776\] does not fit: 4398046511104 bytes"):
        st.zeros(2**40).numpy()
    with pytest.raises(MemoryError, match=str(2**42)):
        st.rand(2**40).numpy()
    assert MEMORY.used <= used and st.zeros(3).tolist() == [0, 0, 0]


def test_memory_that_the_system_refuses_is_a_memory_error() -> None:
    code = ("import stele as st\ntry: st.ones(2**28).numpy()\n"
            "except MemoryError as e: print(e)\nprint(st.ones(2).tolist())")
    limit = 1 << 30
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    assert f"float32[{2**28}] does not fit: {2**30} bytes" in shown.stdout and "[1.0, 1.0]" in shown.stdout


@pytest.mark.parametrize("call", [
    lambda x: st.sum(x, axis="a"), lambda x: st.sum(x, axis=1.5), lambda x: x.sum(axis=[0, None]),
    lambda x: x.sum(keepdims=3), lambda x: st.softmax(["a", "b"]), lambda x: st.relu("a"), lambda x: x.reshape("ab"),
    lambda x: x.permute(1.0, 0), lambda x: st.concatenate(x), lambda x: st.concatenate(3), lambda x: x.sum(axes=1),
    lambda x: st.roll(x, "a", 0), lambda x: st.pad(x, "a"), lambda x: st.pad(x, [1, (2, "b")]),
    lambda x: st.normalize(x, eps="a"), lambda x: st.flip(x, axis={0}), lambda x: st.take(x, "a"),
    lambda x: st.softmax(x, axis=0, dim=1), lambda x: x.sum(0, False, 3),
    lambda x: st.dropout(x, "a"), lambda x: st.manual_seed("a"), lambda x: st.bernoulli("a", 3),
    lambda x: st.randint(0.5, 3, 2), lambda x: st.from_dlpack(3), lambda x: st.eval(3), lambda x: nn.Dropout("a"),
    lambda x: st.tensor(x, requires_grad=np.ones(2)), lambda x: x.requires_grad_(None), lambda x: st.arange(10**400),
    lambda x: st.linspace(-10**400, 0, 3), lambda x: st.scan(lambda c, r: (c, r), x, x, reverse=[]),
    lambda x: st.quantile(x, {}), lambda x: st.histogram(x, 3, 2), lambda x: st.histogram(x, 3, (1, 2, 3)),
    lambda x: st.insert(x, iter([1]), 1), lambda x: st.delete(x, "a"), lambda x: nn.Unflatten(2, ...),
    lambda x: st.nonzero(x, size=np.ones((0, 3), "int32")), lambda x: st.random.choice([1.0, 2.0], axis=None),
    lambda x: F.batch_norm(x, range(3), None), lambda x: F.batch_norm(x, np.zeros(3), np.ones(3)),
    lambda x: st.unique(x, return_counts=np.ones(2)), lambda x: st.histogramdd(x, range=0.5),
    lambda x: st.indices((2, 2), np.ones(2)), lambda x: st.logspace(0, 1, endpoint="a"),
    lambda x: F.ctc_loss(x[None], st.tensor([[1]]), float("nan"), [1]), lambda x: nn.GRU(1, 2, batch_first="a"),
    lambda x: F.dropout(x, inplace="a"), lambda x: F.dropout([1.0], 0.5), lambda x: F.embedding(x, {}),
    lambda x: F.triplet_margin_with_distance_loss(x, x, x, margin=None),
    lambda x: st.linalg.lu_solve(st.eye(3), st.ones(3), st.ones(3)), lambda x: st.linalg.pinv(x.astype("bfloat16")),
], ids=lambda f: str(f.__code__.co_firstlineno))
def test_an_argument_of_another_kind_is_refused(call: Any) -> None:
    with pytest.raises((ArgumentError, DTypeError)) as caught:
        call(st.zeros(2, 3))
    assert isinstance(caught.value, SteleError) and isinstance(caught.value, TypeError)


@pytest.mark.parametrize("call", [
    lambda x: st.conv2d(x, x, stride=0), lambda x: st.conv2d(x, x, stride=(1, 0)),
    lambda x: st.conv2d(x, x, dilation=0), lambda x: st.conv2d(x, x, groups=0), lambda x: st.conv2d(x, x, padding=-1),
    lambda x: st.conv2d(x, x, stride=(1, 1, 1)), lambda x: st.conv1d(x[0], x[0], stride=(1, 1)),
    lambda x: st.conv1d(x[0], x[0], padding=((1, 1), (1, 1))), lambda x: st.conv3d(x[None], x[None], dilation=(1, 2)),
    lambda x: st.conv_transpose2d(x, x, stride=0), lambda x: st.conv_transpose2d(x, x, groups=0),
    lambda x: st.conv_transpose2d(x, x, output_padding=-1), lambda x: st.max_pool2d(x, 0),
    lambda x: st.avg_pool2d(x, 2, 0),
    lambda x: st.max_pool2d(x, -1), lambda x: st.split(x, 0), lambda x: st.split(x, [5, -1]),
    lambda x: nn.Conv2d(3, 4, 3, groups=2), lambda x: nn.Conv2d(3, 4, 3, groups=0), lambda x: nn.MaxPool2d(2, stride=0),
    lambda x: nn.GRU(3, 4, num_layers=0), lambda x: st.arange(0, 1, 0), lambda x: st.arange(0, float("inf")),
    lambda x: st.bernoulli(1.5, 3), lambda x: st.dropout(x, 1), lambda x: nn.Dropout(-0.1),
    lambda x: st.manual_seed(-1), lambda x: st.scan(lambda a, b: (a, b), x, st.tensor(1.0)),
    lambda x: st.blackman(10**30), lambda x: st.bartlett(2**64), lambda x: st.logspace(0, 1, 2**62),
    lambda x: st.random.zipf(1), lambda x: st.random.zipf(float("nan")), lambda x: st.random.multinomial(1e30, [1.0]),
    lambda x: st.random.binomial(float("inf"), 0.5), lambda x: st.random.hypergeometric(2**64, 1, 1),
    lambda x: st.random.choice([1.0, 2.0], axis=1), lambda x: st.histogramdd(st.zeros((2, 0))),
    lambda x: st.polyder(x[0, 0, 0], 2**64), lambda x: st.chunk(st.zeros(0), 2**63),
    lambda x: st.vander(x[0, 0, 0], 2**40),
    lambda x: F.adaptive_max_pool1d(st.zeros((2, 0)), [None]), lambda x: st.polygamma(2**31, x),
    lambda x: nn.LSTM(1, 2, 2**64),
    lambda x: st.fft.rfftfreq(2**70), lambda x: F.gumbel_softmax(0.5, hard=True),
    lambda x: F.ctc_loss(x[0], st.tensor([[1]]), [-2], [1]), lambda x: st.block([]), lambda x: st.block([[x], []]),
    lambda x: st.linalg.householder_product(x[..., :2, :], st.ones(1)),
    lambda x: F.max_pool2d(x, 2**64, ceil_mode=True),
    lambda x: F.lp_pool2d(x, 2.0, 2**62, ceil_mode=True), lambda x: st.linalg.lu_solve(1, st.tensor([0]), x),
    lambda x: st.linalg.lu_solve(st.eye(2), st.tensor([0, 1, 1]), st.ones(2)),
    lambda x: st.linalg.householder_product(x, st.ones(5)), lambda x: st.searchsorted(st.zeros(0), x, sorter=x.long()),
    lambda x: st.unsqueeze(x, (1, 1)), lambda x: x.unsqueeze((0, -6)), lambda x: st.from_numpy([[float, (1, 1)]]),
], ids=lambda f: str(f.__code__.co_firstlineno))
def test_a_number_out_of_its_bounds_is_refused(call: Any) -> None:
    with pytest.raises(ShapeError):
        call(st.zeros(1, 1, 4, 4))


def test_dtypes_are_checked_with_the_one_that_was_meant() -> None:
    with pytest.raises(DTypeError, match="Did you mean 'float32'"):
        st.zeros(3, dtype="flaot32")
    assert st.zeros(3, dtype=None).dtype == "float32"
    with pytest.raises(DTypeError):
        st.asarray([[1]], np.ones((2, 2)))  # type: ignore[arg-type]
    for wrong in (None, 7, "complex32", object(), [1]):
        with pytest.raises(DTypeError):
            st.rand(3, dtype=wrong)
        with pytest.raises(DTypeError):
            st.zeros(3).astype(wrong)
    with pytest.raises(DTypeError, match="randint"):
        st.rand(3, dtype="int32")


@pytest.mark.parametrize("name", sorted(name for name in st.__all__ if is_lifted(getattr(st, name))))
def test_errors_name_the_function_that_was_called(name: str) -> None:
    with pytest.raises((SteleError, TypeError)) as caught:
        getattr(st, name)(*[object()] * 99)
    assert re.search(rf"\b{name}\b|whole number", str(caught.value)), caught.value


def test_a_choice_says_which_was_meant() -> None:
    with pytest.raises(OptionError, match="Did you mean 'mean'"):
        st.mse(st.zeros(3), st.zeros(3), reduction="Mean")
    with pytest.raises(OptionError, match=r"'none' or 'tanh', got 'than' at .*\. Did you mean 'tanh'"):
        st.gelu(st.zeros(3), "than")
    assert arguments.choice("a", "x", ("a",)) == "a"


def test_only_axes_of_length_one_are_repeated() -> None:
    for shape, wanted in (((3,), (1,)), ((0,), (1,)), ((2, 3), (2, 1)), ((3,), (2,))):
        with pytest.raises(ShapeError, match="broadcast"):
            st.broadcast_to(st.zeros(shape), wanted)
    with pytest.raises(ShapeError):
        st.zeros(1).assign(st.zeros(3))


def test_eye_takes_no_columns() -> None:
    assert st.eye(3, 0).shape == (3, 0)


@pytest.mark.parametrize("call", [
    lambda: st.load(3), lambda: st.save({}, None), lambda: nn.Linear(2, 2).save(3.5), lambda: nn.Linear(2, 2).load(()),
    lambda: data.mnist(3), lambda: data.cifar10([]), lambda: data.imdb(2), lambda: data.find_images(1.5)])
def test_what_is_no_path_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError, match=r"a path is a string or a pathlib\.Path, got"):
        call()


@pytest.mark.parametrize("threads", ["2", 2.5, None, True, object(), 0, 65])
def test_numbers_of_threads_are_whole(threads: Any) -> None:
    before = st.get_threads()
    with pytest.raises(SteleError):
        st.set_threads(threads)
    assert st.get_threads() == before


@pytest.mark.parametrize("call", [
    lambda x: st.sum(x, axis=(0, 0)), lambda x: x.mean(axis=(1, -2)), lambda x: st.var(x, axis=(0, -3)),
    lambda x: st.max(x, axis=(2, 2)), lambda x: st.logsumexp(x, axis=(0, 0)), lambda x: st.all(x > 0, axis=(0, 0)),
    lambda x: st.flip(x, (0, 0)), lambda x: st.squeeze(x[:1], (0, -3)), lambda x: st.normalize(x, axis=(1, 1)),
], ids=["sum", "mean", "var", "max", "logsumexp", "all", "flip", "squeeze", "normalize"])
@pytest.mark.parametrize("style", [lambda f: f, st.compile], ids=["imperative", "compiled"])
def test_an_axis_is_named_once(call: Callable[[st.Tensor], st.Tensor], style: Callable[[Any], Any]) -> None:
    with pytest.raises(ShapeError, match=r"axis [012] is named twice in"):
        style(call)(st.ones(2, 3, 4))


def within_itself() -> list[Any]:
    x: list[Any] = [1]
    return x.append(x) or x     # type: ignore[func-returns-value]


class Strange:
    """What says that it becomes an array, and does not."""

    def __array__(self, *how: Any, **more: Any) -> str: return "none"


TAKES_LISTS: list[Any] = [
    lambda x: st.tensor(x), lambda x: st.ones(2) * x, lambda x: st.ones(2).reshape(x), lambda x: st.ones(2)[x],
    lambda x: st.zeros(x), lambda x: st.tensor([st.ones(1), x]), lambda x: st.stack([st.ones(1), x]),
    lambda x: st.vmap(lambda y: y)(x), lambda x: st.compile(lambda y: y)(x), lambda x: st.grad(lambda y: y.sum())(x)]


@pytest.mark.parametrize("f", TAKES_LISTS)
def test_lists_in_themselves_and_deep_ones_are_refused(f: Callable[[Any], Any]) -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    for x in (within_itself(), deep):
        with pytest.raises(SteleError, match=r"stand (too )?deep"):
            f(x)


def test_arrays_have_at_most_64_axes() -> None:
    assert st.ones((1,) * 64).numpy().ndim == 64
    for f in (lambda: st.ones((1,) * 65), lambda: st.ones((1,) * 64)[None], lambda: st.zeros(1).reshape((1,) * 70)):
        with pytest.raises(ShapeError, match="at most 64 axes"):
            f()


@pytest.mark.parametrize("x", [Decimal("sNaN"), np.timedelta64(3, "s"), np.array(None, object), np.complex64(2)])
def test_what_is_no_number_is_none(x: Any) -> None:
    for f in (lambda: st.linspace(x, 1, 3), lambda: optim.SGD([st.ones(1).requires_grad_()], lr=x),
              lambda: nn.LeakyReLU(x)(st.ones(1)), lambda: nn.Dropout(x)):
        with pytest.raises(SteleError, match=r"must be a number|holds numbers"):
            f()
    assert float(st.linspace(np.longdouble(0.5), 1, 2)[0]) == 0.5


def test_what_becomes_no_array_is_named() -> None:
    for f in (lambda: st.tensor(Strange()), lambda: st.tensor([Strange(), 1])):
        with pytest.raises(ArgumentError, match=r"a tensor holds numbers, got .*Strange"):
            f()


def flagged() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Every flag of a public function, constructor or method of a class."""
    for room in (st, nn, F, nn.init, nn.utils.rnn, optim, data, data.transforms, metrics, st.random, st.linalg, train):
        for name in room.__all__:
            x = getattr(room, name)
            methods = {f"{name}.{m}": f for m, f in vars(x).items() if m[0] != "_" and isinstance(f, FunctionType)} \
                if isinstance(x, type) else {}
            for said, f in {name: x, **methods}.items():
                try:
                    parameters = signature(f).parameters.values() if callable(f) else ()
                except ValueError:      # of what is made in C
                    continue
                for p in parameters:
                    if p.annotation in ("bool", "bool | None"):
                        yield f"{room.__name__}.{said}", f, p.name


ONLY_CALLED = {"forward", "learning", "begins", "named_members", "named_tensors", "parameters", "buffers", "train",
               "zero_grad", "load"}    # checked where they read them, which calls below show


def test_flags_are_true_or_false() -> None:
    """Text that says no is as true as any: no public function takes it."""
    refused, left = 0, list[str]()
    for said, f, name in flagged():
        if said.rpartition(".")[2] in ONLY_CALLED or f is st.Tensor:
            continue
        wanted = [p.name for p in signature(f).parameters.values() if p.default is p.empty and p.name != name and
                  p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        try:
            f(*(st.ones(2, 2) for _ in wanted), **{name: "no"})
            left.append(f"{said} {name}")
        except SteleError as error:     # of an argument before it, at times
            refused += name in str(error) and "True or False" in str(error)
    assert left == [] and refused > 350


def test_flags_of_methods_that_are_not_checked_at_the_door() -> None:
    model, x = nn.Linear(2, 2), st.ones(3, 1, 2)
    of_two = nn.TransformerDecoderLayer(2, 1, 4)
    for f in (lambda: model.train("no"), lambda: model.zero_grad("no"), lambda: list(model.parameters("no")),
              lambda: list(model.buffers("no")), lambda: list(model.named_members(recurse="no")),
              lambda: optim.SGD([st.ones(1).requires_grad_()], lr=1).zero_grad("no"),
              lambda: nn.MultiheadAttention(2, 1)(x, x, x, average_attn_weights="no"),
              lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1, 4), 1)(x, is_causal="no"),
              lambda: of_two(x, x, tgt_is_causal="no"), lambda: of_two(x, x, memory_is_causal="no"),
              lambda: nn.TransformerDecoder(of_two, 1)(x, x, tgt_is_causal="no")):
        with pytest.raises(ArgumentError, match="must be True or False, got a str: 'no'"):
            f()


OF_NO_KIND: list[tuple[Any, str]] = [
    (lambda x: nn.utils.rnn.unpack_sequence(x), "must be a PackedSequence"),
    (lambda x: nn.utils.rnn.pad_packed_sequence(x), "must be a PackedSequence"),
    (lambda x: nn.utils.rnn.split_sequences(x), "must be a JoinedSequence"),
    (lambda x: nn.utils.rnn.pad_sequence(x), "must be a list of tensors"),
    (lambda x: nn.utils.rnn.pack_sequence(x), "must be a list of tensors"),
    (lambda x: nn.utils.rnn.join_sequences(x), "must be a list of arrays"),
    (lambda x: nn.utils.parametrizations.weight_norm(x), "must be a Module"),
    (lambda x: nn.TransformerEncoder(x, 1), "must be a Module"),
    (lambda x: nn.GRU(2, 3)(st.ones(4, 1, 2), x), "must be a tensor"),
    (lambda x: nn.LSTM(2, 3)(st.ones(4, 1, 2), (x, x)), "must be a tensor"),
    (lambda x: optim.SGD([st.ones(1).requires_grad_()], lr=1).step(x), "must be a function"),
    (lambda x: optim.ReduceLROnPlateau(optim.SGD([st.ones(1).requires_grad_()], lr=1)).step(x), "must be a number"),
    (lambda x: train.Trainer(x, data.Loader((np.ones(2), np.ones(2))), loss="mse"), "must be a Module"),
    (lambda x: train.Progress(x), "must be a stream"),
    (lambda x: nn.summary(x, (2,)), "must be a Module"),
    (lambda x: nn.TransformerDecoder(nn.TransformerDecoderLayer(2, 1), 1, x), "must be a Module"),
    (lambda x: nn.MultiheadAttention(2, 1)(*[st.ones(3, 1, 2)] * 3, cache=x), "must be a KVCache"),
    (lambda x: nn.KVCache(1, 1, 2, 2, before=x), "must be a KVCache"),
    (lambda x: st.compile(int)(st.ones(1)), "nobody knows what"),
    (lambda x: nn.EmbeddingBag(3, 2)(st.tensor([0, 1]), 2), "needs integers"),
    (lambda x: nn.MultiheadAttention(2, 1)(*[st.ones(3, 1, 2)] * 3, key_padding_mask=0.5), "ends in the number of"),
    (lambda x: st.gradient(st.ones(3), st.ones(0)), "needs a number between elements"),
    (lambda x: data.ArrayDataset(a=[[1], [2, 3]]), "rows have one shape"),
    (lambda x: data.pad([[1], [2, 3]], value=x), "does not stand beside"),
    (lambda x: data.pad([([1], 2)], fields=2), "must be a list of entries"),
    (lambda x: st.save({"a": 1}, "a\0b"), "no zero in it"),
    (lambda x: st.load("a\0b"), "no zero in it"),
    (lambda x: st.vmap(lambda y: y, axis_name=x)(st.ones(2)), "must be a str"),
    (lambda x: data.RandomSampler(4)(x, 0), "must be a whole number"),
    (lambda x: data.BatchSampler(x, 2), "is made of a sampler"),
    (lambda x: data.Loader(np.ones(4), num_workers=2**31), "num_workers <= 1024"),
    (lambda x: data.Loader(np.ones(4), prefetch=2**63), "prefetch <= 65536"),
    (lambda x: data.download([x]), "download needs one of"),
    (lambda x: train.parts.loss_of([x]), "loss must be"),
    (lambda x: nn.ConvTranspose1d(1, 1, 2, padding_mode=np.zeros(2, "V3")), "must be 'zeros'"),
    (lambda x: nn.utils.rnn.unpad_sequence(st.ones(2, 2), 0.5), "must be a whole number"),
    (lambda x: nn.utils.rnn.join_sequences([np.ones(2)], columns=1).map(x), "f of map"),
    (lambda x: nn.utils.parametrize.register_parametrization(nn.Linear(1, 1), "weight", x), "must be a function"),
    (lambda x: nn.utils.parametrize.register_parametrization(nn.Linear(1, 1), [1], nn.Identity()), "must be a str"),
    (lambda x: nn.utils.parametrize.is_parametrized(x), "must be a Module"),
    (lambda x: nn.utils.parametrizations.weight_norm(nn.Linear(1, 1), [x]), "must be a str"),
    (lambda x: data.read_idx(x, 3), "path"),
    (lambda x: nn.Recurrent(x), "cell of Recurrent must be a function"),
    (lambda x: data.transforms.either(True, x, np.zeros((1, 1, 1))), "f of either must be a function"),
    (lambda x: data.transforms.either("no", abs, np.zeros((1, 1, 1))), "must be True or False"),
    (lambda x: train.parts.metrics_of(3), "metrics are a dict or a list"),
    (lambda x: data.Vocabulary.count(["a"], specials=3), "specials must be a list of words"),
    (lambda x: [*nn.Linear(1, 1).named_parameters(prefix=3)], "must be a str"),
    (lambda x: st.placeholder((2,), name=x), "name of placeholder must be a str"),
    (lambda x: nn.GRUCell(1, 1)(st.ones(1, 1), x), "must be a Tensor"),
    (lambda x: st.tensor([st.ones(2), [1, x]]), "a tensor holds numbers, got"),
    (lambda x: st.unique_inverse([st.ones(()), x, 1]), "a tensor holds numbers, got"),
    (lambda x: F.one_hot(float("inf")), "integer"),
]


@pytest.mark.parametrize(("f", "says"), OF_NO_KIND)
def test_what_is_of_no_such_kind_is_named(f: Callable[[Any], Any], says: str) -> None:
    for x in (object(), b"text"):
        with pytest.raises(SteleError, match=says):
            f(x)


def test_load_says_what_it_puts_entries_into(tmp_path: Any) -> None:
    st.save({"model": nn.Linear(1, 1), "list": [1]}, tmp_path / "x")
    for into, says in ((3, "must be"), ({"model": 3}, "have load_state_dict, got an int"),
                       ({"model": nn.Linear}, "have load_state_dict, got"),
                       ({"list": nn.Linear(1, 1)}, "a state must be")):
        with pytest.raises(SteleError, match=says):
            st.load(tmp_path / "x", into=into)


def test_memory_exhausted_names_the_array() -> None:
    """Also where NumPy makes it: what a view stands for, and numbers of a line."""
    view = np.broadcast_to(np.float32(1), (1 << 58,))
    for f in (lambda: st.tensor(view), lambda: st.from_numpy(view), lambda: st.linspace(0, 1, 1 << 58),
              lambda: st.asarray(view)):
        with pytest.raises(OutOfMemory, match=r"an array float(32|64)\[288230376151711744\] .*\d bytes"):
            f()


def test_threads_that_the_system_does_not_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader ends those that it began, and the compiler says what is missing; both work again afterwards."""
    start, begun = threading.Thread.start, list[threading.Thread]()

    def refused(self: threading.Thread) -> None:
        if len(begun) >= 2:
            raise RuntimeError("can't start new thread")
        begun.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refused)
    loader = data.Loader(np.ones(4), 1, num_workers=3)
    with pytest.raises(OutOfMemory, match="the system gives no thread 'stele-loader'"):
        list(loader)
    for thread in begun:
        thread.join()
    monkeypatch.undo()
    assert len(list(loader)) == 4


def test_what_no_position_and_no_number_of_steps_is() -> None:
    with pytest.raises(ValueError, match="every index of i of take"):
        st.take(st.ones((3, 4)), [2**64])
    with pytest.raises(ValueError, match="ns_steps"):
        optim.Muon([st.ones((2, 2)).requires_grad_()], ns_steps=2**31)
