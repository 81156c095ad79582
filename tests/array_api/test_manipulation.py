"""Functions that move, join, split and pick elements: every one in every style beside NumPy, with gradients."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st_

import stele as st
from stele.arrays.spellings import ALIASES
from stele.errors import ArgumentError
from tests.styles import Array, all_give, all_raise

X, Y, V, CUBE = (np.arange(n, dtype="f4").reshape(s) for n, s in ((12, (3, 4)), (12, (3, 4)), (5, 5), (24, (2, 3, 4))))
ONE = np.float32(3)
I = np.array([2, 0, -1])
Call = Callable[..., Any]


def blocks(*xs: Array) -> Array:
    y = np.zeros((sum(x.shape[0] for x in xs), sum(x.shape[1] for x in xs)), xs[0].dtype)
    down = across = 0
    for x in xs:
        y[down: down + x.shape[0], across: across + x.shape[1]] = x
        down, across = down + x.shape[0], across + x.shape[1]
    return y


def embedded(x: Array, offset: int = 0) -> Array:
    return np.stack([np.diag(row, offset) for row in x.reshape(-1, x.shape[-1])]).reshape(
        *x.shape[:-1], *(x.shape[-1] + abs(offset),) * 2)


def added(x: Array, i: Any, v: Array) -> Array:
    y = x.copy()
    np.add.at(y, i, v)
    return y


def replaced(x: Array, i: Any, v: Any) -> Array:
    y = x.copy()
    y[i] = v
    return y


# What is called, what NumPy says, and the arrays: both sides are written out where they differ.
BOTH: list[tuple[str, Call, tuple[Array, ...]]] = [
    ("concat", lambda m, x, y: m.concat([x, y], axis=None), (X, CUBE)),
    ("concatenate", lambda m, x, y: m.concatenate([x, y], axis=-1), (X, Y)),
    ("stack", lambda m, x, y: m.stack([x, y], axis=-1), (X, Y)),
    ("expand_dims", lambda m, x: m.expand_dims(x, axis=(0, -1)), (X,)),
    ("moveaxis", lambda m, x: m.moveaxis(x, (0, 2), (-1, 0)), (CUBE,)),
    ("permute_dims", lambda m, x: m.permute_dims(x, (-1, 0, 1)), (CUBE,)),
    ("transpose", lambda m, x: m.transpose(x, (2, 0, 1)), (CUBE,)),
    ("swapaxes", lambda m, x: m.swapaxes(x, 0, -1), (CUBE,)),
    ("repeat", lambda m, x: m.repeat(x, 3), (X,)), ("repeat", lambda m, x: m.repeat(x, 0, axis=1), (X,)),
    ("repeat", lambda m, x: m.repeat(x, np.array([2, 0, 1]), axis=0), (X,)),
    ("repeat", lambda m, x: m.repeat(x, [2], axis=0), (X,)), ("repeat", lambda m, x: m.repeat(x, 2), (ONE,)),
    ("roll", lambda m, x: m.roll(x, 5), (X,)), ("roll", lambda m, x: m.roll(x, (1, -6), axis=(0, 1)), (X,)),
    ("roll", lambda m, x: m.roll(x, 2, axis=(0, 1)), (X,)), ("roll", lambda m, x: m.roll(x, 1), (ONE,)),
    ("tile", lambda m, x: m.tile(x, (2, 1, 3)), (X,)), ("tile", lambda m, x: m.tile(x, 2), (CUBE,)),
    ("tile", lambda m, x: m.tile(x, (0, 2)), (X,)), ("tile", lambda m, x: m.tile(x, (2, 2)), (ONE,)),
    ("unstack", lambda m, x: m.unstack(x, axis=-1), (X,)),
    ("flip", lambda m, x: m.flip(x, axis=(0, -1)), (CUBE,)),
    ("fliplr", lambda m, x: m.fliplr(x), (CUBE,)), ("flipud", lambda m, x: m.flipud(x), (V,)),
    *[("rot90", lambda m, x, k=k: m.rot90(x, k, axes=(2, 0)), (CUBE,)) for k in range(-2, 5)],
    ("squeeze", lambda m, x: m.squeeze(x[:, :1], axis=1), (X,)),
    ("ravel", lambda m, x: m.ravel(x), (ONE,)),
    ("broadcast_arrays", lambda m, x, v: m.broadcast_arrays(x[:, :1], v), (X, V)),
    ("atleast", lambda m, x, y, z: [m.atleast_1d(x), m.atleast_2d(x), m.atleast_3d(x), m.atleast_3d(y),
                                    *m.atleast_2d(y, z)], (ONE, V, X)),
    ("hstack", lambda m, x, y: m.hstack([x, y]), (X, Y)), ("hstack", lambda m, x, y: m.hstack([x, y]), (V, V)),
    ("vstack", lambda m, x, v: m.vstack([x, v]), (X, V[:4])), ("dstack", lambda m, x, y: m.dstack([x, y]), (X, Y)),
    ("dstack", lambda m, x, y: m.dstack([x, y]), (V, V)),
    *[(name, lambda m, x, y, f=name: getattr(m, f)([x, y], dtype="f8"), (X, Y))
      for name in ("concatenate", "concat", "stack", "hstack", "vstack")],
    ("concatenate", lambda m, x, y: m.concatenate([x, y[0]], axis=None, dtype=np.float64), (X, Y)),
    ("column_stack", lambda m, x, v: m.column_stack([v, x]), (X, V[:3])),
    ("append", lambda m, x, y: [m.append(x, y), m.append(x, y, axis=0)], (X, Y)),
    ("array_split", lambda m, x: [*m.array_split(x, 3, axis=1), *m.array_split(x, [1, 3, 9], axis=1)], (X,)),
    ("hsplit", lambda m, x: [*m.hsplit(x, 2), *m.hsplit(x, [1])], (X,)), ("hsplit", lambda m, x: m.hsplit(x, 5), (V,)),
    ("vsplit", lambda m, x: m.vsplit(x, 3), (X,)), ("dsplit", lambda m, x: m.dsplit(x, 2), (CUBE,)),
    ("insert", lambda m, x, v: [m.insert(x, 1, v, axis=1), m.insert(x, [0, -1, 4], v[:, None], axis=1),
                                m.insert(x, slice(0, 4, 2), 9.0, axis=1), m.insert(x, 3, v)], (X, V[:3])),
    ("delete", lambda m, x: [m.delete(x, -1, axis=1), m.delete(x, [0, 2, 0], axis=1), m.delete(x, slice(None, None, 2)),
                             m.delete(x, [True, False, True], axis=0)], (X,)),
    *[("pad", lambda m, x, mode=mode, w=w: m.pad(x, w, mode=mode), (CUBE,))
      for mode in ("reflect", "symmetric", "edge", "wrap") for w in (1, ((0, 3),), ((2, 0), (0, 5), (9, 1)))],
    ("pad", lambda m, x: m.pad(x, 2, mode="reflect"), (V[:1],)),
    ("diag", lambda m, x: [m.diag(x), m.diag(x, 2), m.diag(x, -1)], (V,)),
    ("diag", lambda m, x: [m.diag(x), m.diag(x, 2), m.diag(x, -1), m.diag(x, 7)], (X,)),
    ("diagonal", lambda m, x: [m.diagonal(x, offset=1, axis1=2, axis2=0), m.diagonal(x, -2)], (CUBE,)),
    ("indices", lambda m, x: [x[m.tril_indices(3, 1, 4)], x[m.triu_indices(3, -1, 4)]], (X,)),
    ("kron", lambda m, x, y: [m.kron(x, y), m.kron(y, x[0])], (X, CUBE)),
    ("outer", lambda m, x, v: m.outer(x, v), (X, V)),
    ("inner", lambda m, x, y: [m.inner(x, y), m.inner(x[0], y[0]), m.inner(x, np.float32(2))], (X, Y)),
    ("take", lambda m, x: [m.take(x, I, axis=0), m.take(x, I[:0], axis=1), m.take(x, -1, axis=1)], (X,)),
    ("take_along_axis", lambda m, x: [m.take_along_axis(x, I[None, :], axis=1),
                                      m.take_along_axis(x, I[:, None], axis=1),
                                      m.take_along_axis(x, I[:, None] * np.ones((1, 4), int), axis=0)], (X,)),
    ("select", lambda m, x, y: m.select([x > 8, y < 3], [x, y * 2], default=-1), (X, Y)),
]
PAIRS: list[tuple[str, Call, Call, tuple[Array, ...]]] = [
    ("chunk", lambda x: [*st.chunk(x, 3, dim=1), *st.chunk(x, 7)],
     lambda x: [x[:, :2], x[:, 2:], x[:1], x[1:2], x[2:]], (X,)),
    ("unfold", lambda x: [st.unfold(x, 1, 2, 2), st.unfold(x, 0, 3)], lambda x: [
        np.stack([x[:, 0:2], x[:, 2:4]], 1), x.T[None]], (X,)),
    ("unflatten", lambda x: st.unflatten(x, 1, (2, -1)), lambda x: x.reshape(3, 2, 2), (X,)),
    ("narrow", lambda x: st.narrow(x, 1, -3, 2), lambda x: x[:, 1:3], (X,)),
    ("block_diag", lambda x, v: st.block_diag(x, v, x[:1]), lambda x, v: blocks(x, v[None], x[:1]), (X, V)),
    ("diag_embed", lambda x: [st.diag_embed(x), st.diag_embed(x, 1), st.diag_embed(x, -2, dim1=0, dim2=2)],
     lambda x: [embedded(x), embedded(x, 1), np.moveaxis(embedded(x, -2), 0, 1)], (X,)),
    ("cartesian_prod", lambda x, v: st.cartesian_prod(x[0], v),
     lambda x, v: np.array([*itertools.product(x[0], v)]), (X, V)),
    ("combinations",
     lambda v: [st.combinations(v, 3), st.combinations(v, 0), st.combinations(v, with_replacement=True)],
     lambda v: [np.array([*itertools.combinations(v, 3)]), np.zeros((1, 0), v.dtype),
                np.array([*itertools.combinations_with_replacement(v, 2)])], (V,)),
    ("gather", lambda x: st.gather(x, 0, np.array([[2, 0, 1]])),
     lambda x: np.array([[x[2, 0], x[0, 1], x[1, 2]]]), (X,)),
    ("index_select", lambda x: st.index_select(x, 1, I), lambda x: x[:, I], (X,)),
    ("index_copy", lambda x, y: st.index_copy(x, 1, np.array([3, 0]), y[:, :2]),
     lambda x, y: replaced(x, (slice(None), [3, 0]), y[:, :2]), (X, Y + 1)),
    ("index_fill", lambda x: st.index_fill(x, 1, np.array([3, 0]), 7),
     lambda x: replaced(x, (slice(None), [3, 0]), 7), (X,)),
    ("index_put", lambda x, v: [st.index_put(x, (np.array([1, 1]), np.array([2, 2])), v[1:3], accumulate=a)
                                for a in (True, False)],
     lambda x, v: [added(x, ([1, 1], [2, 2]), v[1:3]), replaced(x, (1, 2), v[2])], (X, V)),
    ("masked_fill", lambda x: st.masked_fill(x, x > 3, -1), lambda x: np.where(x > 3, np.float32(-1), x), (X,)),
]


def numpys(y: Any) -> Any:
    return [np.asarray(v) for v in y] if isinstance(y, list | tuple) else np.asarray(y)


@pytest.mark.parametrize("call, arrays", [pytest.param(call, arrays, id=f"{k}-{name}")
                                          for k, (name, call, arrays) in enumerate(BOTH)])
def test_a_function_is_numpys_in_every_style(call: Call, arrays: tuple[Array, ...]) -> None:
    all_give(numpys(call(np, *arrays)), lambda *x: call(st, *x), *map(np.asarray, arrays))


@pytest.mark.parametrize("ours, theirs, arrays", [pytest.param(*row[1:], id=row[0]) for row in PAIRS])
def test_a_function_is_what_it_says_in_every_style(ours: Call, theirs: Call, arrays: tuple[Array, ...]) -> None:
    all_give(numpys(theirs(*arrays)), ours, *arrays)


@pytest.mark.parametrize("call, arrays", [
    *[pytest.param(lambda *x, call=call: call(st, *x), arrays, id=f"{k}-{name}")
      for k, (name, call, arrays) in enumerate(BOTH) if name not in ("select",)],
    *[pytest.param(ours, arrays, id=name) for name, ours, _, arrays in PAIRS]])
def test_what_moves_elements_has_the_transpose_as_gradient(call: Call, arrays: tuple[Array, ...]) -> None:
    """Of a function linear in its first operand: <f(dx), g> = <dx, vjp(g)>, and the tangent is the function itself."""
    rng = np.random.default_rng(0)
    x, rest = np.asarray(arrays[0], "f8"), [st.tensor(np.asarray(a, "f8")) for a in arrays[1:]]

    def f(x: Any) -> Any:
        y = call(x, *rest)
        return st.concatenate([v.reshape(-1) for v in y]) if isinstance(y, list | tuple) else y.reshape(-1)

    dx = rng.normal(size=x.shape)
    y, dy = st.jvp(f, (st.tensor(x),), (st.tensor(dx),))
    g = rng.normal(size=y.shape)
    back, = st.vjp(f, st.tensor(x))[1](st.tensor(g))
    np.testing.assert_allclose((dy.numpy() * g).sum(), (dx * back.numpy()).sum(), rtol=1e-9, atol=1e-9)


LETTERS = "ijkl"


@st_.composite
def products(draw: Any) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """An equation and the shapes of its operands."""
    sizes = {c: draw(st_.integers(1, 3)) for c in LETTERS}
    terms = [draw(st_.text(LETTERS, max_size=3)) for _ in range(draw(st_.integers(1, 4)))]
    dots = draw(st_.booleans())
    shapes = []
    for k, t in enumerate(terms):
        lead = [draw(st_.sampled_from([1, 2])) for _ in range(draw(st_.integers(0, 2)))] if dots else []
        terms[k] = ("..." if dots else "") + t
        shapes.append((*lead, *(1 if draw(st_.integers(0, 9)) == 0 and t.count(c) == 1 else sizes[c] for c in t)))
    used = sorted({c for t in terms for c in t if c != "."})
    assume(len(used) <= 4)
    out = draw(st_.none() | st_.permutations(used).map(lambda p: "".join(p[:draw(st_.integers(0, len(p)))])))
    return ",".join(terms) + ("" if out is None else f"->{'...' if dots else ''}{out}"), tuple(shapes)


@given(products())
@settings(max_examples=150, deadline=None)
def test_einsum_is_numpys(case: tuple[str, tuple[tuple[int, ...], ...]]) -> None:
    equation, shapes = case
    xs = [np.random.default_rng(k).integers(-3, 4, s).astype("f4") for k, s in enumerate(shapes)]
    try:
        right = np.einsum(equation, *xs)
    except ValueError:
        assume(False)
        return
    found = st.einsum(equation, *map(st.tensor, xs))
    assert found.shape == np.shape(right)
    np.testing.assert_array_equal(found.numpy(), right)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", ((3, 4), (4, 5))), ("ij,kj->ki", ((3, 4), (5, 4))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
    ("bqhd,bkhd->bhqk", ((2, 3, 2, 4), (2, 5, 2, 4))), ("bhqk,bkhd->bqhd", ((2, 2, 3, 5), (2, 5, 2, 4))),
    ("i,i->", ((5,), (5,))), ("ij,j->i", ((3, 4), (4,))), ("ij->ji", ((3, 4),)), ("ii->i", ((4, 4),)),
    ("iij->j", ((3, 3, 2),)), ("ij,jk,kl,lm->im", ((2, 3), (3, 4), (4, 5), (5, 2))), ("a,b,c->abc", ((2,), (3,), (2,))),
    ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2))), ("ij,ij->i", ((3, 4), (3, 4))), ("i,j", ((3,), (4,))),
    ("aab,bcc->ac", ((2, 2, 3), (3, 4, 4))), (",i->i", ((), (3,))),
    (",".join("abcdefghij"[k: k + 2] for k in range(9)), ((2, 2),) * 9)])
def test_einsum_in_every_style_and_its_gradient(equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    xs = [np.random.default_rng(k).integers(1, 4, s).astype("f4") for k, s in enumerate(shapes)]
    all_give(np.einsum(equation, *xs), lambda *x: st.einsum(equation, *x), *xs)
    g = st.grad(lambda *x: st.einsum(equation, *x).sum(), tuple(range(len(xs))))(*map(st.tensor, xs))
    g = g if isinstance(g, tuple) else (g,)
    for k, slope in enumerate(g):
        dx = np.random.default_rng(99).integers(-2, 3, shapes[k]).astype("f4")
        moved = np.einsum(equation, *(dx if j == k else x for j, x in enumerate(xs))).sum()
        np.testing.assert_allclose((slope.numpy() * dx).sum(), moved, rtol=1e-5)


def test_einsum_of_other_dtypes_and_forms() -> None:
    x = np.arange(6).reshape(2, 3)
    for dtype in ("uint8", "int32", "int64", "float16", "float64", "bool"):
        a = st.tensor(x % 2).astype(dtype)
        assert st.einsum("ij,kj->ik", a, a).dtype == dtype
        assert st.einsum("ij,ij->i", a, a).dtype == dtype
    b = np.array([[True, False], [False, False]])
    np.testing.assert_array_equal(st.einsum("ij,jk->ik", b, b).numpy(), np.einsum("ij,jk->ik", b, b))
    np.testing.assert_array_equal(st.einsum(x, [0, 1], x, [2, 1], [0, 2]).numpy(), x @ x.T)
    np.testing.assert_array_equal(st.einsum(x, [..., 0]).numpy(), x)
    large = np.full((1, 3), 3e4, "f2")      # whose sum no float16 holds
    all_give(np.array([0.], "f2"), lambda a, b: st.einsum("ab,ac->a", a, b), large, np.zeros((1, 2), "f2"))
    all_give(np.array([9e4 * 1e-1], "f2"), lambda a, b, c: st.einsum("ab,ac,ad->a", a, b, c),
             large, np.ones((1, 1), "f2"), np.full((1, 1), .1, "f2"))


def test_einsum_takes_open_sizes() -> None:
    f = st.compile(lambda x, z: (st.einsum("ij,jk,kl->il", x, z, z.T), st.einsum("ij,ij->i", x, x),
                                 st.einsum("ii->i", x @ x.T)), dims={"x": {0: "n"}, "z": {1: "m"}})
    for n, m in ((3, 4), (5, 2), (1, 7)):
        x, z = np.arange(n * 3.0).reshape(n, 3).astype("f4"), np.ones((3, m), "f4")
        a, b, c = f(st.tensor(x), st.tensor(z))
        np.testing.assert_allclose(a.numpy(), x @ z @ z.T)
        np.testing.assert_allclose(b.numpy(), (x * x).sum(1))
        np.testing.assert_allclose(c.numpy(), np.diag(x @ x.T))


@pytest.mark.parametrize("error, text, call", [
    (ValueError, "of one length", lambda x: st.einsum("ij,jk", x, x)),
    (ValueError, "each letter of the result", lambda x: st.einsum("ij->ik", x)),
    (ValueError, "each letter of the result", lambda x: st.einsum("ij->ii", x)),
    (ValueError, "the letters 'i'", lambda x: st.einsum("i", x)),
    (ValueError, "for each of 1 operands", lambda x: st.einsum("ij,jk", x)),
    (ValueError, "a place for each axis", lambda x: st.moveaxis(x, (0, 1), (1,))),
    (ValueError, "named twice", lambda x: st.moveaxis(x, (0, 0), (1, 0))),
    (ValueError, "one shift", lambda x: st.roll(x, (1, 2, 3), (0, 1))),
    (IndexError, "axis 5 is out of range", lambda x: st.expand_dims(x, axis=5)),
    (IndexError, "within axis 1", lambda x: st.narrow(x, 1, 3, 2)),
    (ValueError, "divides by it", lambda x: st.hsplit(x, 3)), (ValueError, "3 axes or more", lambda x: st.dsplit(x, 2)),
    (ValueError, "mode of pad", lambda x: st.pad(x, 1, mode="mirror")),
    (ValueError, "as many axes of i", lambda x: st.take_along_axis(x, np.array([1]))),
    (IndexError, "delete", lambda x: st.delete(x, 9, axis=0)),
    (ValueError, "two axes", lambda x: st.diagonal(x, 0, 1, 1)),
    (ValueError, "as many axes", lambda x: st.gather(x, 0, np.array([[[[0]]]]))),
    (TypeError, "a bool mask", lambda x: st.masked_fill(x, x, 0))])
def test_what_does_not_fit_is_refused(error: type[Exception], text: str, call: Call) -> None:
    all_raise(error, text, call, X)


def test_lengths_that_depend_on_numbers() -> None:
    x = st.tensor(X)
    assert st.masked_select(x, x > 8).tolist() == [9, 10, 11]
    assert st.repeat(x, st.tensor([0, 1, 2]), axis=0)[:, 0].tolist() == [4, 8, 8]
    with pytest.raises(ValueError, match="one number of 0 or more"):
        st.repeat(x, [1, 2], axis=0)
    with pytest.raises(ArgumentError, match="axis of repeat must be a whole number"):
        st.repeat(x, [1, 2], axis="rows")           # type: ignore[arg-type]


def test_shapes_meet() -> None:
    assert st.broadcast_shapes((3, 1), (1, 4), ()) == (3, 4) and st.broadcast_shapes() == ()
    with pytest.raises(ValueError, match="do not broadcast"):
        st.broadcast_shapes((3,), (4,))


def test_other_names_are_the_same_functions() -> None:
    for name, own in ALIASES.items():
        assert getattr(st, name) is getattr(st, own)
        assert name not in dir(st)


def test_every_move_of_nothing_is_nothing() -> None:
    none, line = st.zeros((0, 3)), st.zeros(0)
    assert st.concat([none, none]).shape == (0, 3) and st.roll(none, 2, 0).shape == (0, 3)
    assert st.tile(none, (2, 2)).shape == (0, 6) and st.repeat(none, 2, axis=0).shape == (0, 3)
    assert st.diag(line).shape == (0, 0) and st.diagonal(none).shape == (0,) and st.kron(line, line).shape == (0,)
    assert st.einsum("ij,jk->ik", none.T, none).tolist() == [[0.0] * 3] * 3
    assert st.einsum("ij,ij->i", none, none).shape == (0,) and st.rot90(none).shape == (3, 0)
    assert st.take_along_axis(none, st.zeros((0, 2), dtype="int64"), axis=1).shape == (0, 2)
    assert [p.shape for p in st.array_split(line, 2)] == [(0,), (0,)] and len(st.unstack(none)) == 0
    assert st.pad(none, ((0, 0), (1, 1)), mode="edge").shape == (0, 5)
    with pytest.raises(ValueError, match="repeats elements"):
        st.pad(none, ((1, 0), (0, 0)), mode="edge")
