"""Tables whose rows are taken by number, alone and in bags, as layers."""
from __future__ import annotations

from typing import Any, Self

from stele.arrays.creation import arange
from stele.arrays.tensor import Tensor, constant
from stele.errors import DTypeError, ShapeError
from stele.interop.keywords import speaks
from stele.ir.door import public
from stele.nn import functional, init
from stele.nn.functional.sparse import place
from stele.nn.module import Module, given
from stele.ops.arguments import choice, flag, number, positive


class Table(Module):
    """What `nn.Embedding` and `nn.EmbeddingBag` share: rows, of which one may stand for nothing."""

    weight: Tensor
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool

    def make(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, max_norm: float | None,
             norm_type: float, scale_grad_by_freq: bool, sparse: bool) -> None:
        """Checks what the layer was given, and draws its table."""
        name = type(self).__name__
        self.num_embeddings = positive(num_embeddings, f"num_embeddings of {name}")
        self.embedding_dim = positive(embedding_dim, f"embedding_dim of {name}")
        self.max_norm = None if max_norm is None else number(max_norm, f"max_norm of {name}", 0)
        self.norm_type = number(norm_type, f"norm_type of {name}")
        self.scale_grad_by_freq = flag(scale_grad_by_freq, f"scale_grad_by_freq of {name}")
        self.sparse = flag(sparse, f"sparse of {name}")
        self.weight = init.zeros((self.num_embeddings, self.embedding_dim))
        self.padding_idx = place(name, padding_idx, self.weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the table anew."""
        rows = init.normal((self.num_embeddings, self.embedding_dim)).detach()
        if self.padding_idx is not None:
            rows = rows * (arange(self.num_embeddings).reshape(-1, 1) != self.padding_idx)
        self.weight.assign(rows)

    @classmethod
    def taking(cls, embeddings: Any, freeze: bool, **options: Any) -> Self:
        """The layer of a table that there is."""
        table = constant(embeddings)
        if table.ndim != 2:
            raise ShapeError(f"{cls.__name__}.from_pretrained needs embeddings (rows, width), got {table.shape}")
        layer = cls(*table.shape, **options)
        layer.weight = init.parameter(table).requires_grad_(not flag(freeze, "freeze of from_pretrained"))
        return layer

    def extra_repr(self) -> str:
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "mode": "mean",
                 "sparse": False, "include_last_offset": False}
        said = [f"{key}={held!r}" for key, none in usual.items() if (held := getattr(self, key, none)) != none]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *said])

    def numbers(self, index: Any) -> Tensor:
        """The numbers of rows; raises DTypeError for what holds no integers."""
        index = given(self, index)
        if index.dtype.kind not in "iu":
            raise DTypeError(f"this {type(self).__name__} takes integers, the numbers of rows, got {index.value.type}",
                             hint="Write x.astype('int64').")
        return index


class Embedding(Table):
    """The rows of `weight` at integer indices of any shape: (...) -> (..., embedding_dim), as of `st.embedding`.

    weight is (`num_embeddings`, `embedding_dim`), standard normal, PyTorch's default. The row `padding_idx` begins as
    zeros and has no derivative. `max_norm`, `norm_type`, `scale_grad_by_freq` and `sparse` are those of
    `nn.functional.embedding`. Raises DTypeError for other than integers and, when run, IndexOutOfRange for a row that
    there is not. In the dtype of the weight.

    >>> layer = nn.Embedding(100, 8)
    >>> layer(st.tensor([[1, 2, 99]])).shape
    (1, 3, 8)
    """

    @speaks
    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False) -> None:
        self.make(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)

    @classmethod
    @public
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Self:
        """The layer of a table `embeddings` (rows, width) that there is, which learns unless `freeze`.

        `padding_idx`, `max_norm`, `norm_type`, `scale_grad_by_freq` and `sparse` are those of the layer. Raises
        ShapeError for another number of axes.

        >>> nn.Embedding.from_pretrained(np.eye(3, dtype="float32"))(st.tensor([2])).tolist()
        [[0.0, 0.0, 1.0]]
        """
        return cls.taking(embeddings, freeze, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
                          scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)

    def forward(self, index: Tensor) -> Tensor:
        return functional.embedding(self.numbers(index), self.weight, self.padding_idx, self.max_norm, self.norm_type,
                                    self.scale_grad_by_freq)


class EmbeddingBag(Table):
    """The sums, means or maxima (`mode`) of rows of `weight`, bag by bag: as of `nn.functional.embedding_bag`.

    Called with integers (bags, n), or with a row of them and offsets, where each bag begins (and, with
    `include_last_offset`, where the last one ends), and with mode "sum" also with per_sample_weights in the shape of
    the integers; the result is (bags, embedding_dim). weight is (`num_embeddings`, `embedding_dim`), standard normal;
    the row `padding_idx` begins as zeros and is in no bag. `max_norm`, `norm_type`, `scale_grad_by_freq` and `sparse`
    are those of `nn.functional.embedding`. In the dtype of the weight. Raises DTypeError for other than integers,
    ShapeError for other axes and, when run, IndexOutOfRange for a row that there is not.

    >>> nn.EmbeddingBag(100, 8)(st.tensor([1, 2, 4, 5, 4]), st.tensor([0, 2])).shape
    (2, 8)
    """

    @speaks
    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                 include_last_offset: bool = False, padding_idx: int | None = None) -> None:
        self.mode = choice(mode, "mode of EmbeddingBag", ("mean", "sum", "max"))
        self.include_last_offset = flag(include_last_offset, "include_last_offset of EmbeddingBag")
        self.make(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)

    @classmethod
    @public
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                        sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None
                        ) -> Self:
        """The layer of a table `embeddings` (rows, width) that there is, which learns unless `freeze`.

        `max_norm`, `norm_type`, `scale_grad_by_freq`, `mode`, `sparse`, `include_last_offset` and `padding_idx` are
        those of the layer. Raises ShapeError for another number of axes.

        >>> nn.EmbeddingBag.from_pretrained(np.eye(3, dtype="float32"), mode="sum")(st.tensor([[2, 0]])).tolist()
        [[1.0, 0.0, 1.0]]
        """
        return cls.taking(embeddings, freeze, max_norm=max_norm, norm_type=norm_type, mode=mode, sparse=sparse,
                          scale_grad_by_freq=scale_grad_by_freq, include_last_offset=include_last_offset,
                          padding_idx=padding_idx)

    def forward(self, index: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return functional.embedding_bag(
            self.numbers(index), self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)
