"""Language models: text that goes on, token by token, each one call of a compiled step over a key/value cache."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import stele as st
from stele import Tensor, nn
from stele.errors import ArgumentError, ShapeError
from stele.interop.huggingface.config import Config
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ops.arguments import number, positive, whole, wholes

Steps = dict["Kind", list["Writer"]]
SMALLEST = 32       # tokens of a cache
LEAST = 1e-30       # of a share: the most likely token has more
LIGHT, AT_ONCE = 8 << 20, 8     # a model of fewer bytes takes less time than Python around it: so many tokens a call


class LanguageModel(nn.Module):
    """What models that write text have in common: `generate`, `stream`, and logits of a next token when called.

    Called with integers (N, L) they give (N, L, vocab_size), floats: the logits of the token behind each. A list of
    `nn.KVCache`, one for each layer as `caches` makes them, is given as `cache`: then tokens go on behind those of
    earlier calls. Raises ShapeError for tokens of other axes, ArgumentError for more than the model has places for.

    >>> import stele.interop.huggingface as hf
    >>> try:
    ...     hf.LanguageModel().generate([])
    ... except ValueError as error:
    ...     print(type(error).__name__)
    ShapeError
    """

    base = ""
    limit = 1 << 30                                 # places
    sizes = 0, 0, 0                                 # layers, heads of keys, features of each
    stop: tuple[int, ...] = ()                      # tokens behind which nothing follows
    lm_head: nn.Linear

    def says(self, c: Config, limit: str, layers: int, heads: int, features: int) -> None:
        """Notes what a cache is made of, and where text ends."""
        self.limit, self.sizes = c.whole(limit), (layers, heads, features)
        ends = c.get("eos_token_id", None) not in (None, [])
        self.stop = tuple(c.wholes("eos_token_id", least=0)) if ends else ()
        self.steps = Kept()

    def features(self, input_ids: Tensor, cache: Any = None) -> Tensor:
        """What the head sees of tokens (N, L)."""
        raise NotImplementedError(f"{type(self).__name__} has no features")

    def forward(self, input_ids: Tensor, cache: list[nn.KVCache] | None = None) -> Tensor:
        return self.lm_head(self.features(input_ids, cache))

    def caches(self, batch: int, capacity: int) -> list[nn.KVCache]:
        """A cache for each layer, of so many tokens, and of one length, which that of the last layer moves on."""
        layers, heads, features = self.sizes
        sizes = batch, heads, capacity, features, self.lm_head.weight.dtype
        last = nn.KVCache(*sizes)
        return [*(nn.KVCache(*sizes, before=last) for _ in range(layers - 1)), last]

    @public
    def generate(self, input_ids: Any, max_new_tokens: int = 64, temperature: float = 1.0, top_k: int | None = None,
                 top_p: float | None = None, seed: int | None = None, stop: int | Sequence[int] | None = None
                 ) -> Tensor:
        """Tokens (L,) or (N, L) and those that follow, int64 (..., L + new), as `stream` draws them."""
        ids = tokens(input_ids)
        made = list(self.stream(ids, max_new_tokens, temperature, top_k, top_p, seed, stop))
        return st.tensor(np.concatenate([ids, *(np.reshape(x, (*ids.shape[:-1], 1)) for x in made)], axis=-1))

    @public
    def stream(self, input_ids: Any, max_new_tokens: int = 64, temperature: float = 1.0, top_k: int | None = None,
               top_p: float | None = None, seed: int | None = None, stop: int | Sequence[int] | None = None
               ) -> Iterator[Array]:
        """The tokens that follow, one after the other as they are drawn: int64 () for tokens (L,), (N,) for (N, L).

        By the softmax of logits / `temperature`, 0 for the most likely one; of the `top_k` most likely alone, and of
        those of the most likely ones that have a share `top_p` together (Holtzman et al., 2020), at least one. A `seed`
        begins the stream of random numbers; without one it comes from `st.default_generator`, which the most likely
        tokens leave alone. It ends behind a token of `stop`, one or several (the configuration's, unless given), for
        several texts behind the last one's; where one has ended its tokens are the first of stop.
        """
        ids, count = tokens(input_ids), positive(max_new_tokens, "max_new_tokens of generate")
        if ids.shape[-1] + count > self.limit:
            left = self.limit - ids.shape[-1]
            raise ArgumentError(f"the model has {self.limit} places, got {ids.shape[-1]} tokens and {count} new ones",
                                hint=f"Write max_new_tokens={left}, or fewer tokens." if left > 0 else
                                f"Give it at most {self.limit - 1} tokens, the last ones for example.")
        heat = number(temperature, "temperature of generate", 0)
        share = 1.0 if top_p is None else max(number(top_p, "top_p of generate", 0, 1), LEAST)
        k = None if top_k is None else min(positive(top_k, "top_k of generate"), self.lm_head.out_features)
        ends = self.stop if stop is None else wholes(stop, "each of stop", 0)
        start = None if seed is None else whole(seed, "seed of generate", 0)
        if start is None and heat:
            start = int(st.default_generator.integers(1 << 62))
        batch = 1 if ids.ndim == 1 else ids.shape[0]
        room = min(max(SMALLEST, 1 << (ids.shape[-1] + count - 1).bit_length()), self.limit)
        kind = Kind(batch, room, *((None, False) if heat == 0 else (k, top_p is not None)), heat == 0)
        return self.written(kind, ids, count, Draws(heat or 1.0, share, start), ends)

    def written(self, kind: Kind, ids: Array, count: int, draws: Draws, ends: tuple[int, ...]) -> Iterator[Array]:
        """The tokens of a writer that nobody else has meanwhile."""
        writer = self.steps.taken(kind) or Writer(self, kind)
        try:
            ended = np.zeros(kind.batch, bool)
            for row in writer.write(ids.reshape(kind.batch, -1), count, draws):
                row = np.where(ended, ends[0], row) if ended.any() else row
                ended |= np.isin(row, ends)
                yield row.reshape(ids.shape[:-1])
                if ended.all():
                    return
        finally:
            self.steps.back(kind, writer)


class Kind(NamedTuple):
    """What the programs of a writer are made for."""

    batch: int
    room: int
    top_k: int | None
    nucleus: bool
    greedy: bool


class Draws(NamedTuple):
    """How tokens are drawn."""

    temperature: float
    top_p: float
    seed: int | None


class Kept:
    """Writers that nobody uses now; a copy of a model has none."""

    def __init__(self) -> None:
        self.idle: Steps = {}

    def taken(self, kind: Kind) -> Writer | None:
        """A writer of this kind, or None."""
        return self.idle[kind].pop() if self.idle.get(kind) else None

    def back(self, kind: Kind, writer: Writer) -> None:
        """Keeps a writer for the next text."""
        self.idle.setdefault(kind, []).append(writer)

    def __deepcopy__(self, memo: Any) -> Kept: return Kept()
    def __reduce__(self) -> Any: return Kept, ()


class Writer:
    """The compiled steps of a model and what they remember: one program reads a prompt of any length, one a token, and
    one writes several tokens, of a model so light that Python would take longer than the model."""

    def __init__(self, model: LanguageModel, kind: Kind) -> None:
        self.caches, self.rng = model.caches(kind.batch, kind.room), st.random.Generator(0)
        caches, rng = self.caches, self.rng

        def following(ids: Tensor, temperature: Tensor, top_p: Tensor) -> Tensor:
            with st.no_grad():
                logits = model.lm_head(model.features(ids, caches)[:, -1]).astype("float32")
                return chosen(logits, kind, temperature, top_p, rng)

        def next_of(token: Tensor, temperature: Tensor, top_p: Tensor) -> Tensor:
            return following(token.reshape(-1, 1), temperature, top_p)

        def more(token: Tensor, temperature: Tensor, top_p: Tensor) -> tuple[Tensor, Tensor]:
            def one(token: Tensor, _: Any) -> tuple[Tensor, Tensor]:
                return (found := next_of(token, temperature, top_p)), found

            return st.scan(one, token, length=AT_ONCE)

        self.read: Callable[..., Tensor] = st.compile(following, dims={"ids": {1: "prompt"}})
        self.go_on: Callable[..., Tensor] = st.compile(next_of)
        self.more: Callable[..., tuple[Tensor, Tensor]] = st.compile(more)
        self.is_light = sum(p.nbytes for p in model.parameters()) < LIGHT

    def write(self, ids: Array, count: int, draws: Draws) -> Iterator[Array]:
        """So many tokens behind these (N, L), each (N,)."""
        self.caches[-1].reset()
        if draws.seed is not None:
            self.rng.seed(draws.seed)
        how = st.tensor(draws.temperature, dtype="float32"), st.tensor(draws.top_p, dtype="float32")
        token = self.read(st.tensor(ids), *how) if ids.shape[1] > 1 else self.go_on(st.tensor(ids[:, 0]), *how)
        yield token.numpy()
        several = (count - 1) // AT_ONCE if self.is_light else 0
        for _ in range(several):
            token, rows = self.more(token, *how)
            yield from rows.numpy()
        for _ in range(count - 1 - several * AT_ONCE):
            token = self.go_on(token, *how)
            yield token.numpy()


def chosen(logits: Tensor, kind: Kind, temperature: Tensor, top_p: Tensor, rng: st.random.Generator) -> Tensor:
    """A token for each row of logits (N, V): int64 (N,). The largest of logits and Gumbel noise is a draw."""
    if kind.greedy:
        return st.argmax(logits, axis=-1)
    places: Any = None
    if kind.top_k is not None or kind.nucleus:
        largest: Any = st.topk(logits, kind.top_k or logits.shape[-1])
        logits, places = largest
    scores = logits / temperature
    if kind.nucleus:
        p = st.softmax(scores, axis=-1)
        scores = st.where(st.cumulative_sum(p, axis=-1) - p < top_p, scores, -math.inf)
    found = st.argmax(scores + rng.gumbel(size=scores.shape), axis=-1)
    return found if places is None else st.take_along_axis(places, found.reshape(-1, 1), axis=-1).reshape(-1)


def tokens(x: Any) -> Array:
    """Tokens as integers (L,) or (N, L), at least one."""
    ids = np.asarray(x)
    if ids.ndim not in (1, 2) or not ids.size or ids.dtype.kind not in "iu":
        raise ShapeError(f"a text is at least one token, integers (L,) or (N, L), got {ids.dtype} {ids.shape}",
                         hint="Encode the text first: data.Tokenizer('tokenizer.json').encode(text).")
    return ids.astype(np.int64)
