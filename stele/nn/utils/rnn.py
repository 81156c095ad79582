"""Sequences of different lengths, as recurrent layers take them: padded with their lengths, or one behind the other."""
from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from stele.arrays import functions as F
from stele.arrays.creation import arange, zeros
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, constant, tensor
from stele.errors import ShapeError
from stele.ir.door import public
from stele.ops.arguments import choice, flag, function, instance, is_array, is_series, number, sequence, whole, wholes

__all__ = ["JoinedSequence", "PackedSequence", "join_sequences", "pack_padded_sequence", "pack_sequence",
           "pad_packed_sequence", "pad_sequence", "split_sequences", "unpack_sequence", "unpad_sequence"]


class Padded(NamedTuple):
    """What a `PackedSequence` holds: one tensor of all sequences (T, N, *), and their lengths (N,)."""

    padded: Tensor
    lengths: Tensor
    longest: int | None = None


class PackedSequence(Padded):
    """Sequences of different lengths, as recurrent layers take and give them: `padded` (T, N, *), and `lengths` (N,).

    Elements are of any dtype. `longest` is the greatest length where that is known. `pack_padded_sequence` and
    `pack_sequence` make them, and `map` gives a function of each element. PyTorch's fields can be asked for outside of
    compiled functions: `data` has the elements of all sequences in the order of time, longest sequence first,
    `batch_sizes` how many of them there are at each time, `sorted_indices` and `unsorted_indices` that order and its
    inverse; one is made of these four too. Raises ShapeError where they do not fit each other.

    >>> packed = nn.utils.rnn.pack_sequence([st.tensor([1.0, 2.0]), st.tensor([3.0, 4.0, 5.0])])
    >>> isinstance(packed, nn.utils.rnn.PackedSequence), packed.data.tolist(), packed.batch_sizes.tolist()
    (True, [3.0, 1.0, 4.0, 2.0, 5.0], [2, 2, 1])
    >>> packed.map(lambda x: 2 * x).data.tolist()
    [6.0, 2.0, 8.0, 4.0, 10.0]
    >>> nn.utils.rnn.PackedSequence(packed.data + 1, packed.batch_sizes, packed.sorted_indices).padded.T.tolist()
    [[2.0, 3.0, 0.0], [4.0, 5.0, 6.0]]
    """

    __slots__ = ()

    @public
    def __new__(cls, data: Tensor, batch_sizes: Any, sorted_indices: Any = None, unsorted_indices: Any = None
                ) -> PackedSequence:
        x, sizes = constant(data), wholes(np.asarray(batch_sizes), "batch_sizes of PackedSequence", 1)
        if x.ndim < 1 or not sizes or sum(sizes) != x.shape[0] or list(sizes) != sorted(sizes, reverse=True):
            raise ShapeError("PackedSequence needs data of all elements, and how many of them there are at each time, "
                             f"falling, got {x.shape} and {list(sizes)}",
                             hint="pack_padded_sequence(input, lengths) makes one of padded sequences.")
        orders: list[Any] = [np.asarray(order) for order in (sorted_indices, unsorted_indices) if order is not None]
        for order in orders:
            if sorted(order.tolist()) != [*range(sizes[0])]:
                raise ShapeError(f"PackedSequence of {sizes[0]} sequences has no order {order.tolist()}")
        place: list[int] = [*range(sizes[0])]
        if orders:
            place = [*map(int, np.argsort(orders[0]) if unsorted_indices is None else orders[-1])]
        begin = np.cumsum([0, *sizes[:-1]])
        alive = np.array([[k < n for k in place] for n in sizes])
        rows = np.where(alive, begin[:, None] + np.array(place), 0)
        padded = where(tensor(alive.reshape(*alive.shape, *(1 for _ in x.shape[1:]))), x[tensor(rows)], 0)
        return cls._make((padded.astype(x.dtype), tensor(alive.sum(0), dtype="int64"), len(sizes)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._make, (tuple(self),)

    def alive(self) -> Tensor:
        """Which elements are of a sequence, not padding: (T, N, 1)."""
        return (arange(self.padded.shape[0]).reshape(-1, 1) < self.lengths).unsqueeze(-1)

    def map(self, f: Any) -> PackedSequence:
        """f of each element, by one call with all (T, N, *), padding too."""
        return self._replace(padded=f(self.padded))

    @property
    def sorted_indices(self) -> Tensor:
        """The sequences' numbers, the longest one first."""
        return tensor(np.argsort(-self.lengths.numpy(), kind="stable"))

    @property
    def unsorted_indices(self) -> Tensor:
        """Where each sequence stands among the sorted ones."""
        return tensor(np.argsort(self.sorted_indices.numpy(), kind="stable"))

    @property
    def batch_sizes(self) -> Tensor:
        """How many sequences there are at each time."""
        lengths: Any = self.lengths.numpy()
        return tensor([int((lengths > t).sum()) for t in range(lengths.max(initial=0))], "int64")

    @property
    def data(self) -> Tensor:
        """The elements of all sequences: those of the first time, then those of the second, longest sequence first."""
        order, sizes = self.sorted_indices.numpy(), self.batch_sizes.numpy()
        rows = np.concatenate([t * len(order) + order[:n] for t, n in enumerate(sizes)] or [np.zeros(0, int)])
        return self.padded.reshape(-1, *self.padded.shape[2:])[tensor(rows.astype(np.int64))]


@public
def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
                         ) -> PackedSequence:
    """Padded sequences (T, N, *), or (N, T, *) with `batch_first`, with their `lengths` (N,), for recurrent layers.

    Lengths are a tensor, which may be an argument of a compiled function, or a list of numbers, by which what is longer
    than all sequences is cut off. They need no order, whatever `enforce_sorted` says. Of any dtype. Raises
    ShapeError for lengths that do not fit.

    >>> packed = nn.utils.rnn.pack_padded_sequence(st.ones((4, 2, 3)), [1, 3])
    >>> packed.data.shape, nn.GRU(3, 5)(packed)[0].data.shape
    ((4, 3), (4, 5))
    """
    x, known = constant(input), wholes(lengths, "lengths of pack_padded_sequence", 1) if is_series(lengths) else None
    given = constant(lengths if known is None else tensor(list(known), "int64"))
    if x.ndim < 2 or given.shape != (x.shape[0 if batch_first else 1],):
        raise ShapeError("pack_padded_sequence needs sequences (T, N, *), or (N, T, *) with batch_first, and lengths "
                         f"(N,), got {x.shape} and {given.shape}")
    x = x.swapaxes(0, 1) if flag(batch_first, "batch_first of pack_padded_sequence") else x
    longest = None if known is None else max(known, default=0)
    if longest is not None and longest > x.shape[0]:
        raise ShapeError(f"a length of pack_padded_sequence is {longest}, of sequences of {x.shape[0]} steps")
    return PackedSequence._make((x[:longest], given.astype("int64"), longest))


@public
def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The padded tensor of a packed `sequence`, (T, N, *) or (N, T, *) with `batch_first`, and the lengths (N,).

    Behind the end of each sequence stands `padding_value`. T is the greatest length where lengths were a list, that of
    the tensor they came in otherwise, or `total_length`. Of any dtype. Raises ShapeError for one that is too small.

    >>> packed = nn.utils.rnn.pack_sequence([st.tensor([1.0, 2.0]), st.tensor([3.0])])
    >>> y, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    >>> y.tolist(), lengths.tolist()
    ([[1.0, 2.0], [3.0, -1.0]], [2, 1])
    """
    x = instance(sequence, "sequence of pad_packed_sequence", PackedSequence).padded
    value = number(padding_value, "padding_value of pad_packed_sequence")
    alive = sequence.alive().reshape(x.shape[0], x.shape[1], *(1 for _ in x.shape[2:]))
    x = where(alive, x, value)
    if total_length is not None:
        more = whole(total_length, "total_length of pad_packed_sequence", 0) - x.shape[0]
        if more < 0:
            raise ShapeError(f"pad_packed_sequence has sequences of {x.shape[0]} steps, got total_length="
                             f"{total_length}")
        x = F.pad(x, [(0, more), *((0, 0) for _ in x.shape[1:])], value=value)
    return (x.swapaxes(0, 1) if flag(batch_first, "batch_first of pad_packed_sequence") else x), sequence.lengths


@public
def pad_sequence(sequences: Sequence[Any], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """`sequences` (L, *) of different lengths as one tensor (T, N, *), or (N, T, *) with `batch_first`.

    What is shorter than the longest is filled up by `padding_value` on its `padding_side`, "right" or "left". Of any
    dtype. Raises ShapeError where the other axes differ.

    >>> nn.utils.rnn.pad_sequence([st.ones(3), st.ones(1)], batch_first=True).tolist()
    [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    """
    parts = [constant(x) for x in sequence(sequences, "sequences of pad_sequence", "a list of tensors")]
    value = number(padding_value, "padding_value of pad_sequence")
    left = choice(padding_side, "padding_side of pad_sequence", ("left", "right")) == "left"
    if not parts or any(x.ndim == 0 or x.shape[1:] != parts[0].shape[1:] for x in parts):
        raise ShapeError("pad_sequence needs sequences (L, *) that differ in their length alone, got "
                         f"{[x.shape for x in parts]}")
    longest = max(x.shape[0] for x in parts)
    padded = [F.pad(x, [(longest - x.shape[0], 0) if left else (0, longest - x.shape[0]),
                      *((0, 0) for _ in x.shape[1:])], value=value) for x in parts]
    return F.stack(padded, axis=0 if flag(batch_first, "batch_first of pad_sequence") else 1)


@public
def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """`sequences` (L, *) of different lengths, for recurrent layers.

    They need no order, whatever `enforce_sorted` says. Of any dtype. Raises ShapeError where the other axes differ.

    >>> packed = nn.utils.rnn.pack_sequence([st.ones((2, 3)), st.ones((4, 3))])
    >>> packed.lengths.tolist()
    [2, 4]
    """
    parts = [constant(x) for x in sequence(sequences, "sequences of pack_sequence", "a list of tensors")]
    return pack_padded_sequence(pad_sequence(parts), [int(x.shape[0]) for x in parts])


@public
def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor (T, N, *), or (N, T, *) with `batch_first`, each of its length, as a list.

    `padded_sequences` and `lengths` are what `pad_packed_sequence` gives, of any dtype; lengths are looked at, and in
    a compiled function that raises TraceError.

    >>> [x.tolist() for x in nn.utils.rnn.unpad_sequence(st.ones((2, 2)), st.tensor([2, 1]))]
    [[1.0, 1.0], [1.0]]
    """
    x = constant(padded_sequences)
    x = x if flag(batch_first, "batch_first of unpad_sequence") else x.swapaxes(0, 1)
    counts = wholes(np.asarray(lengths), "lengths of unpad_sequence", 0)
    return [x[k, :n] for k, n in enumerate(counts)]


@public
def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of `packed_sequences` (T, N, *), each of its length, as a list; lengths are looked at.

    Of any dtype. Raises TraceError in a compiled function.

    >>> packed = nn.utils.rnn.pack_sequence([st.tensor([1.0, 2.0]), st.tensor([3.0])])
    >>> [x.tolist() for x in nn.utils.rnn.unpack_sequence(packed)]
    [[1.0, 2.0], [3.0]]
    """
    instance(packed_sequences, "packed_sequences of unpack_sequence", PackedSequence)
    return unpad_sequence(packed_sequences.padded, packed_sequences.lengths)


class JoinedSequence(NamedTuple):
    """Sequences of different lengths without padding between them, as recurrent layers take and give them.

    `data` (T, S, *) are S columns of sequences, one behind the other; elements are of any dtype. `number` (T, S) says
    of which sequence each is, -1 behind the last of a column; `first` and `last` (N,) where each sequence begins and
    ends among the T * S elements. A layer begins anew with each sequence, and its last states are those of the N
    sequences in order. Made by `join_sequences`; `map` gives a function of each element. An argument of a compiled
    function leaves T, S and N open, so that one program serves all batches.

    >>> joined = nn.utils.rnn.join_sequences([np.float32([1, 2]), np.float32([3, 4, 5]), np.float32([6])], columns=2)
    >>> isinstance(joined, nn.utils.rnn.JoinedSequence), joined.data.T.tolist(), joined.number.T.tolist()
    (True, [[3.0, 4.0, 5.0], [1.0, 2.0, 6.0]], [[1, 1, 1], [0, 0, 2]])
    """

    data: Tensor
    number: Tensor
    first: Tensor
    last: Tensor

    def map(self, f: Any) -> JoinedSequence:
        """f of each element, by one call with all (T, S, *)."""
        return self._replace(data=function(f, "f of map")(self.data))

    def begins(self, reverse: bool) -> Tensor:
        """Which elements are the first of their sequence, or the last one with `reverse`: (T, S)."""
        other = zeros((1, self.number.shape[1]), dtype="int64") - 2
        beside = [self.number[1:], other] if reverse else [other, self.number[:-1]]
        return self.number != F.concatenate(beside)


def laid(lengths: Sequence[int], columns: int) -> list[tuple[int, int]]:
    """Row and column where each sequence begins: the longest one first, each in the column that is shortest by then.

    >>> laid([2, 3, 1], 2)
    [(0, 1), (0, 0), (2, 1)]
    """
    ends, found = [(0, column) for column in range(columns)], dict[int, tuple[int, int]]()
    for k in sorted(range(len(lengths)), key=lambda k: -lengths[k]):
        row, column = found[k] = heappop(ends)
        heappush(ends, (row + lengths[k], column))
    return [found[k] for k in range(len(lengths))]


@public
def join_sequences(sequences: Sequence[Any], columns: int | None = None) -> JoinedSequence:
    """`sequences` (L, *) of different lengths, one behind the other in so many `columns`, for recurrent layers.

    Without a number there are as many columns as fill up by sequences about as long as the longest one. Sequences are
    arrays or tensors of any dtype, of one element at least. Raises ShapeError where the other axes differ, and for what
    has no elements.

    >>> texts = [np.int64([7, 8]), np.int64([4, 5, 6]), np.int64([9])]
    >>> joined, words = nn.utils.rnn.join_sequences(texts), nn.Embedding(10, 4)
    >>> y, last = nn.GRU(4, 5)(joined.map(words))
    >>> joined.data.tolist(), y.data.shape, last.shape
    ([[4, 7], [5, 8], [6, 9]], (3, 2, 5), (1, 3, 5))
    """
    given = sequence(sequences, "sequences of join_sequences", "a list of arrays or tensors")
    parts: list[Any] = [x if isinstance(x, Tensor) or (is_array(x) and x.dtype.kind in "biufc") else constant(x).numpy()
                        for x in given]
    if not parts or any(x.ndim == 0 or not x.shape[0] or x.shape[1:] != parts[0].shape[1:] for x in parts):
        raise ShapeError("join_sequences needs sequences (L, *) of one element at least that differ in their length "
                         f"alone, got {[x.shape for x in parts]}")
    lengths = [int(x.shape[0]) for x in parts]
    total = sum(lengths)
    many = -(-total // max(lengths)) if columns is None else whole(columns, "columns of join_sequences", 1)
    starts = laid(lengths, many)
    shape = max(row + n for (row, _), n in zip(starts, lengths)), many
    rows, number = np.full(shape, total), np.full(shape, -1)        # behind all elements stands one of zeros
    for k, ((row, column), n, before) in enumerate(zip(starts, lengths, np.cumsum([0, *lengths]))):
        rows[row:row + n, column], number[row:row + n, column] = np.arange(before, before + n), k
    first = np.array([row * many + column for row, column in starts])
    last = first + (np.array(lengths) - 1) * many
    if any(isinstance(x, Tensor) for x in parts):
        flat = [constant(x) for x in parts]
        data = F.concatenate([*flat, zeros((1, *flat[0].shape[1:]), dtype=flat[0].dtype)])[tensor(rows)]
    else:
        data = tensor(np.concatenate([*parts, np.zeros_like(parts[0][:1])])[rows])
    return JoinedSequence(data, *(tensor(x.astype(np.int64)) for x in (number, first, last)))


@public
def split_sequences(joined: JoinedSequence) -> list[Tensor]:
    """The sequences (L, *) of a `joined` batch, each of its length, as a list; where they lie is looked at.

    Of any dtype. Raises TraceError in a compiled function.

    >>> joined = nn.utils.rnn.join_sequences([st.tensor([1.0, 2.0]), st.tensor([3.0])])
    >>> [x.tolist() for x in nn.utils.rnn.split_sequences(joined)]
    [[1.0, 2.0], [3.0]]
    """
    x, many = instance(joined, "joined of split_sequences", JoinedSequence).data, joined.data.shape[1]
    flat = x.reshape(-1, *x.shape[2:])
    return [flat[a:b + 1:many] for a, b in zip(joined.first.tolist(), joined.last.tolist())]


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
