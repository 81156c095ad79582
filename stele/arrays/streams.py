"""Keys of random numbers: a seed and a count of draws, kept in a tensor that compiled functions carry along."""
from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from stele.arrays.tensor import Tensor, tensor
from stele.backend.locks import held
from stele.eager.evaluate import evaluate, known
from stele.eager.handle import TRACING
from stele.eager.live import Live, is_symbolic, is_there, leaf
from stele.errors import DataError
from stele.ir.door import public
from stele.ir.graph import Constant, Item, Op, Value, walk
from stele.ir.sizes import Dim
from stele.ir.types import HOME
from stele.ops.arguments import is_mapping, whole
from stele.ops.branch import Cond
from stele.ops.checkpoint import Checkpoint
from stele.ops.control import Scan
from stele.ops.elementwise.arithmetic import Add
from stele.ops.repeat import While

NEXT = np.array([0, 0, 1, 0], np.uint32)
DRAW = "draw"       # label of a key that was drawn outside of a compiled function
DRAWN: WeakKeyDictionary[Value, Stream] = WeakKeyDictionary()   # by such a key
STREAMS: WeakSet[Stream] = WeakSet()
JOINING: WeakKeyDictionary[Joining, Stream] = WeakKeyDictionary()


class Joining:
    """What has random numbers of its own until a stream is seeded, and then draws from that."""

    def draw_from(self, state: Tensor) -> None:
        """Draws from the stream of this state from now on."""


class Stream:
    """A seed and a count of draws: `state` holds both (low, high) as uint32, and compiled functions carry it along."""

    @public
    def __init__(self, seed: int = 0) -> None:
        self.state = tensor(words(seed), device=HOME)
        STREAMS.add(self)

    def seed(self, seed: int) -> None:
        """Starts the stream of this seed from its beginning, also for those that join it then."""
        self.state.assign(words(seed))
        for x in [x for x, stream in JOINING.items() if stream is self]:
            x.draw_from(self.state)

    def state_dict(self) -> dict[str, Tensor]:
        """The seed and the count of draws, as they are now: what is drawn later does not move them on."""
        return {"state": self.state.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the generator stood that gave this state. Raises DataError if it is none."""
        found = np.asarray(state["state"]) if is_mapping(state) and "state" in state else np.zeros(0)
        if found.shape != (4,) or found.dtype != np.uint32:
            raise DataError("the state is none of a generator: it needs uint32[4] under 'state'")
        self.state.assign(found)

    def key(self) -> Live:
        """The key of the next draw; the state moves on."""
        key = self.state.value
        if TRACING.get() is not None:
            self.state.value = after(key)
            return key
        with held():        # no two threads get the same numbers
            start = self.begin()
            self.state.value = known(start.data.array + NEXT)
        return start

    def begin(self) -> Live:
        """The key that a draw or a loop of draws outside of a compiled function begins with."""
        evaluate([key := self.state.value])
        start = leaf(key.type, key.data, DRAW)
        DRAWN[start] = self
        return start

    def settle(self) -> None:
        """Behind a loop outside of a compiled function: what it has drawn is counted, without running it."""
        start, draws = origin(self.state.value)
        if draws != 0 and is_there(start):       # as one, where an open length says how many: programs count
            self.state.value = known(start.data.array + NEXT * np.uint32(draws if isinstance(draws, int) else 1))
        elif any(map(is_symbolic, walk([start], stop=is_there))):       # so, too, where a placeholder says it
            self.state.value = known(first(start).data.array + NEXT)


def stream_of(state: object) -> Stream | None:
    """The stream that has this state, if one has."""
    return next((stream for stream in STREAMS if stream.state is state), None)


def after(key: Value) -> Value:
    """The key of the draw after this one."""
    return Add()(key, Constant(NEXT)())


def origin(key: Value, given: Mapping[Value, Value] = {}) -> tuple[Value, Dim]:
    """The key that one comes from by drawing, and how many draws that takes; parameters of a loop are `given`."""
    draws: Dim = 0
    while True:
        match key:
            case Value(Add(), [before, step]) if is_next(given.get(step, step)):
                key, draws = before, draws + 1
            case Value(Item(k), [Value(Scan() | Checkpoint() as loop, args)]) if k < loop.carries:
                operands = {p: given.get(x, x) for p, x in zip(loop.body.parameters, args)}
                start, each = origin(loop.body.results[k], operands)
                if start is not loop.body.parameters[k]:
                    return key, draws
                key, draws = args[k], draws + each * loop.length
            case _:
                return key, draws


def first(key: Value) -> Live:
    """The key with numbers that a key comes from through branches and loops which say how often it is drawn from."""
    while not is_there(key):
        (before,) = key.args
        key = origin(before.args[next(j for j, k in handed(before.op).items() if k == key.op.k)])[0]   # type: ignore[attr-defined]
    return key


def handed(op: Op) -> dict[int, int]:
    """Operands of an op that holds graphs which come out as one of its results, after draws inside."""
    if isinstance(op, Cond):
        ends = [[origin(v)[0] for v in branch.results] for branch in op.branches]
        return {j + 1: k for k in range(len(ends[0])) for j in range(len(op.branches[0].parameters))
                if all(end[k] is branch.parameters[j] for branch, end in zip(op.branches, ends))}
    return {k: k for k in range(op.carries)} if isinstance(op, Scan | While | Checkpoint) else {}


def is_next(step: Value) -> bool:
    """Whether adding this to a key gives that of the next draw."""
    return isinstance(step.op, Constant) and np.array_equal(step.op.array, NEXT)


def number_of(key: Live) -> int:
    """Which draw of its stream a key belongs to."""
    return int.from_bytes(key.data.array[2:].tobytes(), sys.byteorder)


def words(seed: int) -> np.ndarray[Any, Any]:
    """The state at the beginning of a seed's stream."""
    seed = whole(seed, "a seed", 0, (1 << 64) - 1)
    return np.array([seed & 0xFFFFFFFF, seed >> 32, 0, 0], np.uint32)
