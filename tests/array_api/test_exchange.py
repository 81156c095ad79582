"""Arrays given and taken: DLPack, NumPy's conversions, its functions and ufuncs on tensors."""
from __future__ import annotations

import ctypes
import gc
import weakref
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.arrays import dlpack, exchange
from stele.errors import ArgumentError, CopyError, DeviceError, DTypeError, TraceError
from stele.ir.types import DTYPES
from tests.styles import all_give

NEW = {"max_version": (1, 0)}


def address(x: st.Tensor) -> int:
    return x.numpy().ctypes.data


# DLPack

@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3)])
def test_every_dtype_goes_round_without_a_copy(name: str, shape: tuple[int, ...]) -> None:
    x = st.full(shape, 1, dtype=name)
    y = st.asarray(dlpack.taken(x, None), copy=False)
    assert (y.dtype, y.shape) == (x.dtype, x.shape) and np.array_equal(y.numpy(), x.numpy())
    assert address(y) == address(x)
    z = st.from_dlpack(x)
    assert address(z) == address(x) and z.dtype == x.dtype
    copied = dlpack.taken(x, True)
    assert x.size == 0 or copied.ctypes.data != address(x)


def test_a_capsule_says_that_it_may_not_be_written_to() -> None:
    x = st.tensor([1.0, 2.0])
    array = np.from_dlpack(x)
    assert not array.flags.writeable and array.ctypes.data == address(x)
    old = dlpack.Holder(x.__dlpack__(), (1, 0))
    copy = np.from_dlpack(old)
    assert copy.ctypes.data != address(x) and copy.tolist() == [1, 2]
    shared = np.from_dlpack(dlpack.Holder(x.__dlpack__(copy=False), (1, 0)))
    assert shared.ctypes.data == address(x) and shared.tolist() == [1, 2]
    with pytest.raises(CopyError, match="another device"):
        st.ones(2, device="cpu:1").__dlpack__(**NEW, copy=False)
    assert np.from_dlpack(st.ones(2, device="cpu:1")).tolist() == [1, 1]


def test_memory_lives_as_long_as_the_last_who_sees_it() -> None:
    for order in permutations("tac"):
        held: dict[str, Any] = {"t": st.tensor(np.arange(1000.0))}
        held["c"] = held["t"].__dlpack__(**NEW)
        held["a"] = np.from_dlpack(held["t"])
        block = weakref.ref(held["t"].value.data.block)
        for key in order:
            assert block() is not None
            if "a" in held:
                assert held["a"][7] == 7
            del held[key]
            gc.collect()
        assert block() is None, order


def test_what_was_taken_keeps_its_source_alive() -> None:
    source = np.arange(1000.0)
    alive = weakref.ref(source)
    x = st.asarray(source, copy=False)
    y, lease = x.reshape(10, 100) + 0, x.numpy()
    del source
    gc.collect()
    assert alive() is not None and float(x[7]) == 7 and float(y[0, 7]) == 7
    del x
    gc.collect()
    assert alive() is not None and lease[9] == 9
    del lease, y
    gc.collect()
    assert alive() is None


class Maker:
    """An array of somebody else, whose capsules are counted."""

    def __init__(self, array: Any, versioned: bool = True, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.versioned, self.device = array, versioned, device
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **options: Any) -> Any:
        if not self.versioned and options:
            raise TypeError("unexpected keyword")
        self.asked.append(options)
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


@pytest.mark.parametrize("versioned", [True, False])
def test_arrays_of_others_are_shared_or_copied(versioned: bool) -> None:
    array = np.arange(12.0).reshape(3, 4)
    x = st.from_dlpack(Maker(array, versioned))
    array[0, 0] = 5
    assert float(x[0, 0]) == 5 and address(x) == array.ctypes.data
    for turned in (array[::-1], array[:, ::-2], array.T, array[:, 1:3]):
        y = st.from_dlpack(Maker(turned, versioned))
        assert y.tolist() == turned.tolist()
        with pytest.raises(BufferError, match="in order"):
            st.from_dlpack(Maker(turned, versioned), copy=False)
    z = st.from_dlpack(Maker(array, versioned), copy=True)
    assert address(z) != array.ctypes.data and z.tolist() == array.tolist()
    assert address(st.from_dlpack(Maker(array, versioned), copy=False)) == array.ctypes.data
    assert st.from_dlpack(Maker(array, versioned), device="cpu:1").device == "cpu:1"


def test_what_dlpack_does_not_give() -> None:
    with pytest.raises(DeviceError, match=r"memory of kind 2.*x\.cpu\(\)"):
        st.from_dlpack(Maker(np.ones(2), device=(2, 0)))
    for error in (ArgumentError, AttributeError):       # the second is the standard's
        with pytest.raises(error, match="an array that speaks DLPack"):
            st.from_dlpack([1, 2])


def test_capsules_that_nobody_takes_free_their_memory() -> None:
    x = st.tensor(np.arange(1000.0))
    block, capsule = weakref.ref(x.value.data.block), x.__dlpack__(**NEW)
    del x
    gc.collect()
    assert block() is not None
    try:
        raise ValueError("on the way out")
    except ValueError:
        del capsule
    gc.collect()
    assert block() is None


def test_from_dlpack_in_a_compiled_function_copies() -> None:
    array = np.arange(3.0, dtype=np.float32)
    f = st.compile(lambda x: x + st.from_dlpack(array))
    assert f(st.ones(3)).tolist() == [1, 2, 3]


def test_bfloat16_is_one_to_the_other_side() -> None:
    capsule = st.ones(3, dtype="bfloat16").__dlpack__(**NEW)
    at = dlpack.POINTER(capsule, b"dltensor_versioned") + 52
    assert [ctypes.c_uint8.from_address(at + k).value for k in range(4)] == [4, 16, 1, 0]


def test_pytorch_shares_both_ways() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for name in ("float32", "bfloat16", "int8", "bool"):
        x = torch.ones(4, dtype=getattr(torch, name))
        y = st.from_dlpack(x)
        assert y.dtype == name and address(y) == x.data_ptr()
        back = torch.from_dlpack(y)
        assert back.dtype == x.dtype and back.tolist() == x.tolist()


# NumPy

def test_numpy_converts() -> None:
    x = st.tensor([1.5, 2.5])
    assert np.asarray(x).ctypes.data == address(x) and not np.asarray(x).flags.writeable
    assert np.array(x).flags.writeable and np.asarray(x, np.float64).dtype == np.float64
    assert np.asarray(x, copy=False).ctypes.data == address(x)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.int8, copy=False)
    view = x.__buffer__(0)
    assert view.readonly and view.format == "f" and view.tolist() == [1.5, 2.5]
    with pytest.raises(DTypeError, match="bfloat16"):
        x.astype("bfloat16").__buffer__(0)


FUNCTIONS = {
    "mean":      lambda x: np.mean(x, axis=1),
    "sum":       lambda x: np.sum(x, axis=0, keepdims=True),
    "var":       lambda x: np.var(x, ddof=1),
    "max":       lambda x: np.max(x, 1),
    "amin":      lambda x: np.amin(x, axis=-1),
    "join":      lambda x: np.concatenate([x, x], axis=1),
    "stack":     lambda x: np.stack((x, x)),
    "where":     lambda x: np.where(x > 0, x, -x),
    "clip":      lambda x: np.clip(x, -1, 1),
    "reshape":   lambda x: np.reshape(x, (4, 3)),
    "transpose": lambda x: np.transpose(x, axes=(1, 0)),
    "turned":    lambda x: np.transpose(x),
    "ravel":     lambda x: np.ravel(x),
    "copy":      lambda x: np.copy(x),
    "split":     lambda x: np.concatenate(np.split(x, 2, axis=1)[::-1], axis=1),
    "cut":       lambda x: np.split(x, [1, -1])[1],
    "take":      lambda x: np.take(x, np.array([5, 0])),
    "taken":     lambda x: np.take(x, np.array([2, 0]), axis=1),
    "zeros":     lambda x: np.zeros_like(x),
    "add":       lambda x: np.add(x, 1),
    "power":     lambda x: np.power(np.absolute(x), 2.0),
    "arctan":    lambda x: np.arctan(x),
    "matmul":    lambda x: np.matmul(x, x.T),
    "maximum":   lambda x: np.maximum(x, np.float32(0.25)),
    "reduce":    lambda x: np.add.reduce(x),
    "largest":   lambda x: np.maximum.reduce(x, axis=1),
    "mixed":     lambda x: np.ones((3, 1), np.float32) + x,
    "argmax":    lambda x: np.argmax(x, axis=1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_are_part_of_the_program(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")
    want = np.asarray(FUNCTIONS[name](x))
    assert isinstance(FUNCTIONS[name](st.tensor(x)), st.Tensor)
    all_give(want, FUNCTIONS[name], x, rtol=2e-6)


def test_gradients_pass_through_functions_of_numpy() -> None:
    g = st.grad(lambda x: np.sum(np.square(x)))(st.tensor([1.0, 2.0]))
    assert g.tolist() == [2, 4]


def test_functions_of_numpy_that_look() -> None:
    x = st.tensor([[1.0, 2.0]])
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((1, 2), 2, 2)
    assert np.array_equal(x, [[1, 2]]) and np.array2string(x) == "[[1. 2.]]"
    with pytest.raises(TraceError, match="NumPy asks for its numbers"):
        st.compile(lambda x: x * np.array_equal(x, x))(x)


def test_functions_without_a_counterpart_leave_the_program() -> None:
    x = st.tensor([4, 6])
    for made, want in ((np.var(x, mean=4), 2), (np.subtract.accumulate(x), [4, -2]),
                       (np.nanmean(x, out=np.zeros(())), 5),
                       (np.pad(x, 1, lambda row, *_: row.fill(7)), [7, 7, 7, 7])):
        assert isinstance(made, np.ndarray | np.generic) and made.tolist() == want
    with pytest.raises(ArgumentError, match=r"np\.subtract\.accumulate has no counterpart.*x\.numpy\(\)"):
        np.subtract.accumulate(st.tensor([1.0, 2.0], requires_grad=True))
    with pytest.raises(ArgumentError, match=r"np\.apply_over_axes has no counterpart"):
        st.compile(lambda x: np.apply_over_axes(np.sum, x, [0]))(x)
    with pytest.raises(ArgumentError, match=r"np\.divide\.at has no counterpart"):
        np.divide.at(x, [0], 1)
    counts = np.zeros(3)
    np.add.at(counts, st.tensor([1, 1]), st.tensor([2.0, 3.0]))
    assert counts.tolist() == [0, 5, 0]


def test_sorts_and_pads_of_numpy_are_part_of_the_program() -> None:
    """In whichever order NumPy is asked to sort, and in the dtype that it keeps; it refuses what it does not know."""
    x = st.tensor([3, 1, 2])
    f = st.compile(lambda x: np.pad(np.argsort(x, kind="stable"), 1, constant_values=7.5))
    assert f(x).tolist() == [7, 1, 2, 0, 7] and f(x).dtype == st.int64
    g = st.grad(lambda x: (np.pad(np.sort(x, kind="heapsort"), 1) * st.tensor([9.0, 1, 2, 3, 9])).sum())
    assert g(x.astype("float32")).tolist() == [3, 1, 2]
    with pytest.raises(ValueError, match="kind"):
        np.sort(x, kind="bogus")


def test_arrays_of_numpy_take_tensors_in_place() -> None:
    a, x = np.ones(2, np.float32), st.tensor([1.0, 2.0])
    b = a
    a += x
    assert b is a and a.tolist() == [2, 3] and isinstance(a, np.ndarray)
    np.multiply(x, 2, out=a)
    assert a.tolist() == [2, 4]
    y = x
    np.add(x, 1, out=x)
    assert y is x and x.tolist() == [2, 3]


OUT: dict[str, Any] = {     # of arrays and of tensors, with what is written and what is returned
    "where":       lambda x, y, m: np.multiply(x, y, out=x, where=m),
    "array":       lambda x, y, m: np.multiply(x, y, out=np.zeros((2, 3), "f4"), where=m),
    "one":         lambda x, y, m: np.sqrt(y, out=x, where=y > 0),
    "reduce":      lambda x, y, m: np.add.reduce(x, axis=0, out=y[0]),
    "all":         lambda x, y, m: np.maximum.reduce(x, (0, 1)),
    "where sum":   lambda x, y, m: np.add.reduce(x, axis=0, out=y[0], where=m),
    "accumulate":  lambda x, y, m: np.add.accumulate(x, axis=1, out=x),
    "two":         lambda x, y, m: np.modf(y, out=(x, y)),
    "the other":   lambda x, y, m: np.modf(y, out=(None, x)),
    "of each":     lambda x, y, m: np.modf(y, out=(np.zeros((2, 3), "f4"), x)),
    "divmod":      lambda x, y, m: np.divmod(y, 2, out=(x, y)),
    "part":        lambda x, y, m: np.add(x[0], 1, out=x[1]),
}


@pytest.mark.parametrize("name", OUT)
def test_what_ufuncs_write_to_tensors_is_what_they_write_to_arrays(name: str) -> None:
    x = np.arange(6, dtype="f4").reshape(2, 3) - 2
    arrays = [x, x * 1.5 + 1, x > 0]
    tensors = [st.tensor(a) for a in arrays]
    arrays = [a.copy() for a in arrays]
    with np.errstate(invalid="ignore"):
        want, got = OUT[name](*arrays), OUT[name](*tensors)
    several = (lambda y: y if isinstance(y, tuple) else (y,))
    for a, b in zip((*arrays, *several(want)), (*tensors, *several(got)), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)


def test_programs_refuse_what_only_numpy_writes() -> None:
    f = st.compile(lambda x: np.divmod(x, 2, out=(x, x), dtype="f4"))
    with pytest.raises(TraceError, match="NumPy asks for its numbers"):
        f(st.ones(2))


def test_programs_write_where_they_are_told_to() -> None:
    f = st.compile(lambda x: (np.multiply(x, 2, out=x, where=x > 0), np.add.reduce(x, out=x[0]), x)[2])
    x = st.tensor([[1.0, -1.0], [2.0, 3.0]])
    assert f(x).tolist() == x.tolist() == [[6, 5], [4, 6]]


def test_shapes_and_dtypes_are_not_set() -> None:
    x = st.ones(2, 3)
    with pytest.raises(ArgumentError, match=r"Write x = x\.reshape\(shape\)"):
        x.shape = 3, 2
    with pytest.raises(ArgumentError, match=r"Write x = x\.astype\(dtype\)"):
        x.dtype = "int32"


PLACED = {
    "mean":       lambda x: np.mean(x, 0, None, None, True),
    "std":        lambda x: np.std(x, 0, None, None, 1),
    "max":        lambda x: np.max(x, 0, None, True),
    "cumsum":     lambda x: np.cumsum(x),
    "cumprod":    lambda x: np.cumprod(x, 1),
    "repeat":     lambda x: np.repeat(x, [1, 2, 1], 0),
    "take":       lambda x: np.take(x, [0, 9], 1, None, "clip"),
    "wrapped":    lambda x: np.take(x, [-1, 9], mode="wrap"),
    "digitize":   lambda x: np.digitize(x, [0.0, 1.0], True),
    "gradient":   lambda x: np.gradient(x, 0.5, axis=1),
    "select":     lambda x: np.select([x > 1, x > 0], [x, -x], 0),
    "histogram":  lambda x: np.histogram(x, 3, (-1, 1))[0],
    "sort":       lambda x: np.sort(x, 0, "mergesort"),
    "sorted":     lambda x: np.sort(x, axis=None),
    "argsort":    lambda x: np.argsort(x, kind="stable"),
    "order":      lambda x: np.argsort(x, None, stable=True),
    "pad":        lambda x: np.pad(x, 1),
    "padded":     lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3),
    "mirrored":   lambda x: np.pad(x, (2, 1), "reflect"),
}


def test_flags_of_numpys_functions_may_be_numbers() -> None:
    x = np.float32([[1, 2, 4], [3, 1, 0]])
    for f in (lambda x: np.corrcoef(x, rowvar=0), lambda x: np.cov(x, None, 0), lambda x: np.sum(x, 0, keepdims=1)):
        np.testing.assert_allclose(f(st.tensor(x)).numpy(), f(x), 1e-5)
    with pytest.raises(ArgumentError, match="rowvar of cov must be True or False, got an int: 2"):
        np.cov(st.tensor(x), rowvar=2)


@pytest.mark.parametrize("name", PLACED)
def test_arguments_of_numpys_functions_stand_where_numpy_has_them(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")
    want, got = np.asarray(PLACED[name](x)), PLACED[name](st.tensor(x))
    assert isinstance(got, st.Tensor) and got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-6, atol=1e-6)


WRITES = {
    "copyto":          lambda x: np.copyto(x, 1.0, where=x > 0),
    "put":             lambda x: np.put(x, [0, 5], [7.0, 8.0]),
    "place":           lambda x: np.place(x, x > 0, [7.0, 8.0]),
    "putmask":         lambda x: np.putmask(x, x > 0, [7.0, 8.0]),
    "fill_diagonal":   lambda x: np.fill_diagonal(x, 5.0),
    "put_along_axis":  lambda x: np.put_along_axis(x, np.array([[1], [2], [0]]), 9.0, 1),
    "out":             lambda x: np.clip(x, 0, 1, out=x),
}


@pytest.mark.parametrize("name", WRITES)
def test_functions_of_numpy_that_write(name: str) -> None:
    """Into a tensor, which is rebound, and into an array of NumPy's; inside of a program too."""
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")

    def f(x: st.Tensor) -> st.Tensor:
        y = x.copy()
        WRITES[name](y)
        return y

    t, want = st.tensor(x), x.copy()
    WRITES[name](want)
    for call in (f, st.compile(f)):
        assert np.array_equal(call(t).numpy(), want) and np.array_equal(t.numpy(), x)
    with pytest.raises(ArgumentError, match=r"np\.fill_diagonal has no counterpart.*np\.array\(x\)"):
        np.fill_diagonal(t, 1.0, wrap=True)


def test_a_function_of_another_module_is_none_of_the_same_name() -> None:
    assert np.emath.sqrt(st.tensor([-4.0])).tolist() == [2j]


def test_every_name_that_numpy_dispatches_means_the_same_here() -> None:
    """Names of the table are functions of NumPy, and what they are called here means that."""
    named = exchange.LOOKS | exchange.ADAPTED.keys()
    known = {n for n in named if hasattr(np.linalg if n.startswith("numpy.linalg.") else np, n.rpartition(".")[2])}
    assert named == known, "no function of NumPy"
