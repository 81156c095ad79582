"""Ctrl-C ends programs that would run for days, at once; and state is whole whenever it comes."""
from __future__ import annotations

import ctypes
import signal
import subprocess
import sys

import numpy as np
import pytest
from kernels import Array, Compiled

import stele as st
from stele.backend.cpu import pool
from stele.backend.cpu.pool_code import CONTEXT, POOL
from stele.backend.llvm import launch, pieces
from stele.ir.graph import Graph, Value, parameter
from stele.ir.sizes import at, size
from stele.ir.types import Type, float32, int64
from stele.kernel.fuse import fuse
from stele.ops.contraction import Conv2d, matmul
from stele.ops.elementwise.unary import sin
from stele.ops.gather import ScatterAdd
from stele.ops.linear import Sum

WATCH = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
N = size("n")


def leaf(*shape: object, of: object = float32) -> Value:
    return parameter("x", Type(of, shape))


def graph(kind: str) -> Graph:
    """One kernel that takes long."""
    x, w, at_ = leaf(96, 64), leaf(64, 96), leaf(40, of=int64)
    match kind:
        case "product": return Graph((x, w), (matmul(x, w),))
        case "open product": return Graph((a := leaf(N, 64), w), (matmul(a, w),))
        case "convolution": return Graph((a := leaf(3, 4, 9, 9), b := leaf(4, 4, 3, 3)),
                                         (Conv2d((1, 1), ((1, 1), (1, 1)), (1, 1), 1)(a, b),))
        case "elements": return Graph((a := leaf(600, 700),), (sin(a),))
        case "open elements": return Graph((a := leaf(N, 7000),), (sin(a),))
        case "sums": return Graph((a := leaf(700, 600),), (Sum((1,))(a),))
    return Graph((a := leaf(40, 9000), at_), (ScatterAdd(0, 64)(a, at_),))


class Watched(Compiled):
    """A kernel whose questions are answered here: `stop` to all."""

    def __init__(self, graph: Graph, stop: bool) -> None:
        self.asked, self.stop = 0, stop
        self.watch = WATCH(self.answer)
        super().__init__(fuse(graph).kernels[0])

    def imports(self) -> dict[str, int]:
        return pool.imports() | {"pool_watch": ctypes.cast(self.watch, ctypes.c_void_p).value or 0}

    def answer(self, _ctx: int, thread: int) -> int:
        self.asked += 1
        return int(self.stop)


@pytest.mark.parametrize("kind", ["product", "open product", "convolution", "elements", "open elements", "sums",
                                  "scatter"])
def test_long_kernels_ask_whether_to_stop(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1 << 10)
    one, rng, sizes = graph(kind), np.random.default_rng(0), {"n": 96}
    args: dict[Value, Array] = {
        p: rng.integers(0, 64, 40) if p.dtype == int64 else
        rng.normal(size=[at(n, sizes) for n in p.shape]).astype(np.float32) for p in one.parameters}
    whole = Watched(one, stop=False)
    (expected,), _ = Compiled(fuse(one).kernels[0]).run(args, sizes, backwards=True)
    (y,), _ = whole.run(args, sizes, backwards=False)
    assert whole.asked > 0 and y.tobytes() == expected.tobytes()
    part = Watched(one, stop=True)
    (y,), _ = part.run(args, sizes, backwards=False)
    assert part.asked == sum(at(one.tasks, sizes) > 1 for one in part.launches) and y.tobytes() != expected.tobytes()


def test_short_kernels_do_not_ask() -> None:
    one = graph("product")
    kernel = Watched(one, stop=True)
    kernel.run({p: np.zeros(p.shape, np.float32) for p in one.parameters}, {}, backwards=False)
    assert kernel.asked == 0


def test_contexts_lie_as_native_code_reads_them() -> None:
    assert launch.POOL * 8 == POOL and launch.WORDS * 8 <= CONTEXT


DAYS = {
    "rows of a loop": """
st.compile(lambda x: st.scan(lambda c, _: (c * .5 + 1, None), x, length=2**40)[0])(st.ones(64, 8))""",
    "products in rows of a loop": """
w = st.ones(8, 8)
st.compile(lambda x, w: st.scan(lambda c, _: (st.tanh(c @ w), None), x, length=2**40)[0])(st.ones(64, 8), w)""",
    "a loop of one number": "print(st.scan(lambda c, _: (c * .5 + 1, None), st.tensor(1.0), length=2**40)[0].numpy())",
    "a loop that only exchanges": """
st.compile(lambda x, y: st.scan(lambda c, _: ((c[1], c[0]), None), (x, y), length=2**40)[0])(st.ones(3), st.ones(3))""",
    "loops of no steps in a loop": """
inner = lambda d, _: (d * .5 + 1, None)
outer = lambda c, _: ((c[1], st.scan(inner, c[0], length=0)[0]), None)
st.compile(lambda x: st.scan(outer, (x, x * 2), length=2**40)[0])(st.ones(3))""",
    "a loop that never ends": "print(st.while_loop(lambda x: x > 0, lambda x: x * .5 + 1, 1.0).numpy())",
    "a loop that never ends and computes nothing": """
f = st.compile(lambda p, q: st.while_loop(lambda s: s[0], lambda s: (s[1], s[0]), (p, q)))
f(st.tensor(True), st.tensor(True))""",
    "state in a loop that never ends": """
w = st.ones(3)
step = st.compile(lambda p: st.while_loop(lambda s: s, lambda s: (w.assign(w * .5 + 1), s)[1], p))
step(st.tensor(True))""",
    "a branch in a loop in a scan": """
grow = lambda x: st.cond(x > 3, lambda x: x * .5, lambda x: x + 1, x)
step = lambda c, _: (st.while_loop(lambda x: x > 0, grow, c), None)
st.compile(lambda x: st.scan(step, x, length=3))(st.tensor(1.0))""",
    "random numbers": "print(st.rand(2**40).sum().item())",
    "one thread": "st.set_threads(1); print(st.rand(2**40).sum().item())",
    "a sum of elements": """
print(st.compile(lambda x, y: st.sin(x + y).sum())(st.ones(1, 2**20), st.ones(2**20, 1)))""",
}


def test_ctrl_c_ends_what_would_run_for_days() -> None:
    """Each in a process of its own, which interrupts itself: Python may lose one that comes while it compiles."""
    start = "import os, signal, threading, stele as st\n" \
            "for k in 1.5, 8, 16, 24:\n" \
            "    timer = threading.Timer(k, os.kill, (os.getpid(), signal.SIGINT))\n" \
            "    timer.daemon = True\n" \
            "    timer.start()\n"
    processes = {name: subprocess.Popen([sys.executable, "-c", start + code], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True) for name, code in DAYS.items()}
    endings: dict[str, object] = {}
    for name, process in processes.items():
        try:
            endings[name] = process.communicate(timeout=60) and process.returncode
        except subprocess.TimeoutExpired:
            endings[name] = "hangs"
            process.kill()
    assert endings == dict.fromkeys(DAYS, -signal.SIGINT)


def test_state_is_whole_whenever_ctrl_c_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1 << 10)
    x = st.zeros(2, 1 << 20)

    @st.compile
    def step() -> None:
        x.assign(st.sin(x * 3 - 1) + 2)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    step()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(40):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 * (k % 10 + 1))
                    step()
                finally:    # it may come here too
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            assert len(np.unique(x.numpy())) == 1
    finally:
        signal.signal(signal.SIGALRM, before)
