"""Sequences of different lengths without padding: recurrent layers over joined ones, attention within segments."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, nn, optim
from stele.errors import DTypeError, ShapeError, TraceError
from tests.styles import styles

F, rnn = nn.functional, nn.utils.rnn
RNG = np.random.default_rng(5)
LENGTHS = 3, 1, 7, 2, 5, 1, 4


def drawn(lengths: Sequence[int], *rest: int) -> list[Any]:
    return [RNG.normal(size=(n, *rest)).astype("f4") for n in lengths]


def reviews(count: int = 96, longest: int = 150) -> tuple[list[Any], Any]:
    """Texts of 1 to `longest` words, as the numbers of their words, and whether they are good."""
    found = data.sentence_sample(size=500, length=longest).train
    texts = [row[row != 0] for row in found.x[:3 * count]]
    ends = RNG.integers(1, longest + 1, count)
    return [np.concatenate(texts[k::count] * 3)[:n] for k, n in enumerate(ends)], found.y[:count]


@pytest.mark.parametrize("columns", [None, 1, 2, 9])
def test_joined_sequences_come_back(columns: int | None) -> None:
    parts = drawn(LENGTHS, 3)
    for given in (parts, [st.tensor(x) for x in parts]):
        joined = rnn.join_sequences(given, columns)
        assert joined.data.shape == (*joined.number.shape, 3) and columns in (None, joined.data.shape[1])
        assert (joined.number.numpy() >= 0).sum() == sum(LENGTHS)
        assert (joined.data.numpy()[joined.number.numpy() < 0] == 0).all()
        for a, b in zip(rnn.split_sequences(joined.map(lambda x: x * 2)), parts, strict=True):
            np.testing.assert_array_equal(a.numpy(), b * 2)
    assert rnn.join_sequences(parts).data.shape == (7, 4, 3)     # 23 elements, the longest has 7


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True}], ids=str)
def test_each_joined_sequence_is_as_it_would_be_alone(kind: Any, options: dict[str, Any]) -> None:
    layer, parts = kind(3, 4, **options), [st.tensor(x) for x in drawn(LENGTHS, 3)]
    y, last = layer(rnn.join_sequences(parts))
    own = rnn.split_sequences(y)
    assert [len(x) for x in own] == [*LENGTHS]
    for k in (0, 2, 5):
        alone, end = layer(parts[k])
        np.testing.assert_allclose(own[k].numpy(), alone.numpy(), rtol=1e-5, atol=1e-6)
        for a, b in zip(*((states if kind is nn.LSTM else [states]) for states in (last, end))):
            np.testing.assert_allclose(a[:, k].numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_joined_sequences_begin_with_states_that_are_given() -> None:
    layer, parts = nn.GRU(3, 4), [st.tensor(x) for x in drawn(LENGTHS, 3)]
    begin = st.tensor(RNG.normal(size=(1, len(parts), 4)).astype("f4"))
    _, last = layer(rnn.join_sequences(parts, 3), begin)
    for k, x in enumerate(parts):
        np.testing.assert_allclose(last[:, k].numpy(), layer(x, begin[:, k])[1].numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ShapeError, match=r"\(1, 7, 4\), layers first, got \(1, 3, 4\)"):
        layer(rnn.join_sequences(parts, 3), begin[:, :3])


def test_gradients_through_joined_sequences_are_those_through_padded_ones() -> None:
    layer, parts = nn.LSTM(3, 4, bidirectional=True), drawn(LENGTHS, 3)

    def loss(batch: Any) -> Any:
        y, (h, c) = layer(batch)
        kept = y.data if isinstance(batch, rnn.JoinedSequence) else y.padded
        return (kept ** 2).sum() + (h * c).sum()

    found: list[list[Any]] = []
    for pack in (rnn.join_sequences, rnn.pack_sequence):
        layer.zero_grad()
        loss(pack(parts)).backward()
        found.append([p.grad.numpy() for p in layer.parameters()])
        layer.zero_grad()
        st.compile(lambda batch: loss(batch).backward())(pack(parts))
        found.append([p.grad.numpy() for p in layer.parameters()])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


class Reader(nn.Module):
    """Words -> two logits of each review."""

    def __init__(self) -> None:
        self.words, self.read, self.score = nn.Embedding(500, 12), nn.GRU(12, 10), nn.Linear(10, 2)

    def forward(self, batch: Any) -> Any:
        return self.score(self.read(batch.map(self.words))[1][0])


def learner(options: dict[str, Any]) -> Any:
    st.manual_seed(1)
    model = Reader()
    optimizer = optim.SGD(model.parameters(), 0.1)

    @st.compile(**options)
    def step(batch: Any, good: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(batch), good)
        loss.backward()
        optimizer.step()
        return loss
    return step


@pytest.mark.filterwarnings("error")
def test_reviews_of_mixed_lengths_are_learned_by_one_program() -> None:
    """Batches of any number of reviews of 1 to 150 words, beside one review after another on the reference."""
    texts, good = reviews()
    axes = {"batch.0": {0: "t", 1: "s"}, "batch.1": {0: "t", 1: "s"}, "batch.2": {0: "n"}, "batch.3": {0: "n"},
            "good": {0: "n"}}
    step, law = learner({"dims": axes}), learner({"backend": "reference"})
    ends = 0, 16, 17, 29, 64, 96
    for a, b in pairwise(ends):
        labels = st.tensor(good[a:b].astype("i8"))
        mine = float(step(rnn.join_sequences(texts[a:b]), labels))
        assert np.isclose(mine, float(law(rnn.pack_sequence(texts[a:b]), labels)), rtol=1e-4)
    assert step.compiles == step.traces == 1


def test_what_cannot_be_joined_is_refused() -> None:
    for parts in ([], [np.zeros(0)], [np.zeros((2, 3)), np.zeros((2, 4))], [np.float32(1)]):
        with pytest.raises(ShapeError, match="join_sequences needs sequences"):
            rnn.join_sequences(parts)
    with pytest.raises(TraceError):
        st.compile(lambda x: rnn.split_sequences(rnn.JoinedSequence(x, x, x[0], x[0])))(st.zeros((2, 2)))


def masked(ids: Any, heads: int) -> Any:
    """The mask that segments (N, L) are."""
    return np.repeat((ids[:, :, None] == ids[:, None, :])[:, None], heads, 1)


def operands(n: int, heads: int, length: int, groups: int = 1, dtype: str = "f4") -> tuple[Any, ...]:
    q = RNG.normal(size=(n, heads, length, 4)).astype(dtype)
    k, v = (RNG.normal(size=(n, heads // groups, length, 4)).astype(dtype) for _ in "kv")
    return q, k, v, np.sort(RNG.integers(0, 1 + length // 3, (n, length)), axis=1)


@pytest.mark.parametrize("how", [{}, {"is_causal": True}, {"window_size": 2}, {"enable_gqa": True}], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_segments_are_a_mask_of_blocks_in_every_style(how: dict[str, Any], dtype: str) -> None:
    q, k, v, ids = operands(2, 4, 9, 2 if "enable_gqa" in how else 1, dtype)
    look: Callable[..., Any] = F.scaled_dot_product_attention
    want = look(q, k, v, st.tensor(masked(ids, 4)), **how).numpy()
    for style, (found,) in styles(lambda q, k, v, ids: look(q, k, v, segment_ids=ids, **how), q, k, v, ids):
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6, err_msg=style)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [9, 2100])       # of which the second looks a few queries at a time
def test_gradients_within_segments(causal: bool, length: int) -> None:
    q, k, v, ids = operands(1, 1, length)
    mask = st.tensor(masked(ids, 1))

    def gradients(**how: Any) -> Any:
        f = lambda *x: (F.scaled_dot_product_attention(*x, is_causal=causal, **how) ** 2).sum()
        return st.compile(st.grad(f, (0, 1, 2)))(*map(st.tensor, (q, k, v)))

    for a, b in zip(gradients(segment_ids=st.tensor(ids)), gradients(attn_mask=mask)):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_second_derivatives_within_segments() -> None:
    q, k, v, ids = operands(1, 2, 5)

    def second(**how: Any) -> Any:
        f = lambda q: (F.scaled_dot_product_attention(q, k, v, **how) ** 2).sum()
        return st.grad(lambda q: (st.grad(f)(q) ** 2).sum())(st.tensor(q)).numpy()

    np.testing.assert_allclose(second(segment_ids=ids), second(attn_mask=st.tensor(masked(ids, 2))),
                               rtol=1e-4, atol=1e-5)


def test_sequences_behind_each_other_attend_as_each_alone() -> None:
    """Tokens (total, H, E) of sequences that begin at `starts`, the form without a batch."""
    starts = np.cumsum([0, *LENGTHS])
    tokens = st.tensor(RNG.normal(size=(starts[-1], 2, 4)).astype("f4"))
    ids = st.searchsorted(st.tensor(starts[1:]), st.arange(starts[-1]), side="right")
    x = tokens.swapaxes(0, 1)
    y = F.scaled_dot_product_attention(x, x, x, is_causal=True, segment_ids=ids)
    for a, b in pairwise(starts):
        own = x[:, a:b]
        want = F.scaled_dot_product_attention(own, own, own, is_causal=True)
        np.testing.assert_allclose(y[:, a:b].numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def test_segments_of_open_sizes_are_one_program_that_keeps_no_mask() -> None:
    f = st.compile(lambda q, ids: F.scaled_dot_product_attention(q, q, q, segment_ids=ids),
                   dims={"q": {0: "n", 2: "length"}, "ids": {0: "n", 1: "length"}})
    for n, length in ((2, 5), (1, 9), (3, 1), (0, 4), (2, 0)):
        q, _, _, ids = operands(n, 2, length)
        want = F.scaled_dot_product_attention(q, q, q, st.tensor(masked(ids, 2))).numpy()
        np.testing.assert_allclose(f(st.tensor(q), st.tensor(ids)).numpy(), want, rtol=1e-5, atol=1e-6)
    assert f.compiles == 1
    plain = st.compile(lambda q: F.scaled_dot_product_attention(q, q, q), dims={"q": {0: "n", 2: "length"}})
    plain(st.tensor(operands(2, 2, 5)[0]))
    sizes = {"n": 2, "length": 512}
    assert f.programs[0].memory(sizes).arena.bytes == plain.programs[0].memory(sizes).arena.bytes


def test_segments_of_queries_and_of_keys() -> None:
    q, k, v = (st.tensor(x) for x in (*drawn([3], 4), *drawn([5], 4), *drawn([5], 2)))
    own, other = st.tensor([0, 7, 2]), st.tensor([2, 2, 0, 0, 0])
    y = F.scaled_dot_product_attention(q, k, v, segment_ids=(own, other))
    np.testing.assert_allclose(y[0].numpy(), F.scaled_dot_product_attention(q[:1], k[2:], v[2:])[0].numpy(), rtol=1e-5)
    assert y[1].tolist() == [0, 0]      # no key is of its segment
    np.testing.assert_allclose(y[2].numpy(), F.scaled_dot_product_attention(q[2:], k[:2], v[:2])[0].numpy(), rtol=1e-5)
    for wrong in (own, (own, own), st.zeros((2, 3), dtype="int64"), st.tensor(1)):
        with pytest.raises(ShapeError, match="segment_ids of "):
            F.scaled_dot_product_attention(q, k, v, segment_ids=wrong)
    with pytest.raises(ShapeError, match="segment_ids of keys"):
        F.scaled_dot_product_attention(q, k[0], v, segment_ids=own)
    with pytest.raises(DTypeError, match="segment_ids are whole numbers, got float32"):
        F.scaled_dot_product_attention(q, q, q, segment_ids=st.zeros(3))
