"""A tour of Stele: from a formula to one native call, every step run and looked at.

Read it from top to bottom, or run it: `python docs/tour.py`. Each chapter builds on the one before; what a chapter
claims it also asserts, so this page cannot grow old unnoticed. Nine chapters, one for each room of the house.
"""
from typing import Any

import numpy as np
from llvmlite import ir

import stele as st
from stele import pipeline
from stele.backend import reference
from stele.backend.cpu.program import Program
from stele.backend.cpu.target import detect
from stele.backend.llvm.emit import Emitter
from stele.inspect.numpy_scalars import NumpyScalars
from stele.ir.graph import Graph, Value, parameter, walk
from stele.ir.report import Report
from stele.ir.rewrite import rewrite, rule
from stele.ir.text import parse
from stele.ir.text import show as text_of
from stele.ir.types import Type, float32
from stele.kernel.fuse import fuse
from stele.kernel.loops import show as loops_of
from stele.kernel.lower import lower
from stele.kernel.schedule import schedule
from stele.kernel.slots import Slots, bytes_of
from stele.ops import ALL
from stele.ops.contraction import matmul
from stele.ops.elementwise.base import Unary
from stele.ops.elementwise.unary import exp, log, sigmoid, tanh
from stele.transform import autodiff
from stele.transform.expand import expand
from stele.transform.share import share
from stele.transform.simplify import simplify
from stele.transform.stabilize import stabilize


def chapter(title: str) -> None:
    print(f"\n{title}\n{'-' * len(title)}")


# 1. A graph ---------------------------------------------------------------------------------------------------------
#
# Everything between the user's Python and machine code is one data structure. A `Value` is an op applied to values;
# it has a type (dtype and shape) and is immutable, so a graph can be shared, kept and rewritten without copying. A
# `Graph` names which values are its parameters and which are its results. There is nothing else: no blocks, no
# registers.

chapter("1. A graph")
x, w = parameter("x", Type(float32, (4, 3))), parameter("w", Type(float32, (3, 2)))
y = tanh(matmul(x, w)) * 2 - 0
graph = Graph((x, w), (y,))
print(text_of(graph))

# Every line says what is applied to what, the type that follows, and the user's line it came from. `* 2` became a Mul
# with a number of the other operand's dtype, broadcast to its shape: that happens in `Op.__call__`, nowhere else. The
# text reads back, so it can be kept in a bug report or a test.

assert parse(text_of(graph), ALL).digest == graph.digest
assert [v.op.name for v in walk(graph.results)][-1] == "Sub"

# A shape need not be known. A dimension is a number or an expression over named sizes, and two shapes meet by
# algebra:

rows = parameter("rows", st.placeholder(("batch", 3)).value.type)
print("a batch of any size:", tanh(matmul(rows, w)).type, "\n")


# 2. An op -----------------------------------------------------------------------------------------------------------
#
# An op is one class, a frozen record of what it annotates, and all that the system may ask of it stands there: its
# meaning in NumPy (the law), its arithmetic on one element, its derivative. This is a whole op, outside of Stele:

chapter("2. An op")


class Soft(Unary):
    """x / (1 + |x|)."""

    def reference(self, *x: Any) -> Any: return x[0] / (1 + np.abs(x[0]))
    def scalar(self, s: Any, *x: Any) -> Any: return x[0] / (abs(x[0]) + 1)
    def partials(self, y: Value, *x: Value) -> Any: return 1 / ((abs(x[0]) + 1) * (abs(x[0]) + 1)),


# `scalar` speaks to a builder `s`. The LLVM builder writes instructions down; this one computes at once, to test an
# op without a compiler:

s = NumpyScalars()
numbers = np.linspace(-2, 2, 5, dtype=np.float32)
print("scalar   ", Soft().scalar(s, s.element(numbers)).value)
print("reference", Soft().reference(numbers))
assert np.allclose(Soft().scalar(s, s.element(numbers)).value, Soft().reference(numbers))

# The same `scalar` is compiled when a program uses the op. No registration: the class is enough.

soft = st.tensor(numbers)
assert np.allclose(st.compile(lambda x: st.Tensor(Soft()(x.value)))(soft).numpy(), Soft().reference(numbers))


# 3. The reference ---------------------------------------------------------------------------------------------------
#
# `reference.run` evaluates any graph op by op in NumPy. It is slow and obvious, and every rewrite, every kernel and
# every backend is tested against it.

chapter("3. The reference")
random = np.random.default_rng(0)
given = [random.standard_normal((4, 3)).astype(np.float32), random.standard_normal((3, 2)).astype(np.float32)]
(expected,) = reference.run(graph, given)
print(expected)
assert np.allclose(expected, 2 * np.tanh(given[0] @ given[1]), atol=1e-6)


# 4. A derivative ----------------------------------------------------------------------------------------------------
#
# Reverse mode walks the graph backwards and asks each op for the cotangents of its operands, which it answers in ops.
# So a derivative is a graph like any other: it prints, it is optimised together with the forward part, and it can be
# differentiated again. There is no tape.

chapter("4. A derivative")
seed = parameter("g", y.type)
(gradient,) = autodiff.gradients([y], [seed], [w])
assert gradient is not None
backward = Graph((x, w, seed), (y, gradient))
print(text_of(backward))
(_, found) = reference.run(backward, [*given, np.ones((4, 2), np.float32)])
nudged = [given[0], given[1] + np.float32(1e-3) * np.eye(3, 2, dtype=np.float32)]
rise = float((reference.run(graph, nudged)[0] - expected).sum()) / 1e-3
print(f"along (0,0)+(1,1): derivative {found[0, 0] + found[1, 1]:.3f}, measured {rise:.3f}")
assert abs(found[0, 0] + found[1, 1] - rise) < 1e-2


# 5. Rewrites --------------------------------------------------------------------------------------------------------
#
# A rule is a function from a value to the value that may stand for it, with an example on which it must fire; one
# shared test proves every rule on its example. The engine applies rules bottom-up until none fires.

chapter("5. Rewrites")


@rule(lambda x: tanh(x) * 2)
def doubled_tanh(v: Value) -> Value | None:
    """2 tanh(x) = 4 sigmoid(2x) - 2"""
    match v.args:
        case [Value(inner, [z]), _] if inner.name == "Tanh": return sigmoid(z * 2) * 4 - 2
    return None


report = Report()
rewritten = rewrite(graph, [doubled_tanh], report=report)
print(text_of(rewritten))
print("fired:", {name: fired.times for name, fired in report.rules.items()})
assert np.allclose(reference.run(rewritten, given)[0], expected, atol=1e-6)

# Stele's own rules come in passes, each a function from graph to graph: `simplify` drops the `- 0`; `stabilize` turns
# what overflows into what does not. log(1 + exp(1000)) is infinite as typed, and 1000 as meant:

simple = simplify(graph)
assert "Sub" not in text_of(simple)
z = parameter("z", Type(float32, (1,)))
typed = Graph((z,), (log(exp(z) + 1),))
large = [np.float32([1000])]
print("as typed:", reference.run(typed, large)[0], " stabilised:", reference.run(stabilize(typed), large)[0])
assert reference.run(stabilize(typed), large)[0][0] == 1000


# 6. Fusion ----------------------------------------------------------------------------------------------------------
#
# `pipeline.py` lists all passes in order. What comes out is cut into kernels: everything elementwise or moved is
# computed where it is needed; a softmax keeps its row in the cache; a product takes what follows it into its store.

chapter("6. Fusion")
wide = parameter("wide", Type(float32, (64, 10)))
softmax = ALL["Softmax"](axis=1)
rows_of = Graph((wide,), (softmax(tanh(wide) * 3),))
optimised = pipeline.optimise(rows_of, pipeline.Options())
kernels = fuse(optimised).kernels
for kernel in kernels:
    print(kernel.kind, "computes", ", ".join(v.op.name for v in kernel.body))
assert len(kernels) == 1, "tanh, scale and softmax are one kernel"
(product_kernel,) = fuse(share(simplify(expand(graph)))).kernels
print(product_kernel.kind, "computes", ", ".join(v.op.name for v in product_kernel.body))
assert product_kernel.kind == "contraction", "the tanh and the 2 are in the store of the product"


# 7. Loops -----------------------------------------------------------------------------------------------------------
#
# A kernel becomes a raw nest of loops, still data that prints. Index arithmetic has replaced every movement; `fold` is
# a reduction. How it runs on a machine is a value of its own, its schedule: `lanes` then marks the loop that runs in
# vectors. The rows are cut into tasks by shape alone, never by the number of threads, so results do not depend on it.

chapter("7. Loops")
(raw,) = lower(kernels[0])
print(raw)
chosen = schedule(raw, detect())
print(chosen)
print(*map(loops_of, chosen.nests(raw)))


# 8. LLVM and memory -------------------------------------------------------------------------------------------------
#
# Loops become LLVM IR through llvmlite: explicit vectors, masked tails, transcendental functions as polynomials, so
# that no element is left to a C library. An `Emitter` asks a table of slots where each buffer is, and hands on each
# kernel's module as soon as it is written, so that threads compile it while the next is.

chapter("8. LLVM and memory")
written: list[ir.Module] = []
slots = Slots(fuse)
for v in (*kernels[0].inputs, *kernels[0].results):
    slots.at[v] = slots.new("parameter", bytes_of(v.type), str(v.type))
Emitter(ir.Module("tour"), slots, detect(), written.append).emit("k", kernels[0])
code = str(written[0])
print(f"{len(code.splitlines())} lines of LLVM IR for {detect().name}; its first multiplications:")
print("\n".join([line.strip() for line in code.splitlines() if "fmul" in line][:3]))
assert "call float @exp" not in code and "@expf" not in code

# The whole of it, from graph to an object that may be kept on disk, is `pipeline.make`. Its manifest says what is
# where: the temporaries share one arena, planned from their lifetimes before anything is compiled. Its report says what
# every stage did and why.

last = parameter("last", Type(float32, (2, 5)))
chain = Graph((x, w, last), (matmul(tanh(matmul(x, w)), last),))
asked = pipeline.request(chain)
before = pipeline.memory(asked)
assert before.arena.bytes >= bytes_of(Type(float32, (4, 2)))
made = pipeline.make(asked)
print(f"{len(made.image.code)} bytes of machine code")
program = Program(asked, made)
print(program.report())
assert program.memory({}) == before


# 9. One native call -------------------------------------------------------------------------------------------------
#
# Now from the top. `st.compile` traces a function once: tensors it reads become parameters of a graph, what it
# rebinds becomes results that are written back. A training step (forward, backward, update) is one graph, one
# program, and one native call per step; parameters are updated in place.

chapter("9. One native call")
weight = st.tensor(given[1], requires_grad=True)


@st.compile
def step(batch: st.Tensor) -> st.Tensor:
    loss = (st.tanh(batch @ weight) - 1).square().mean()
    loss.backward()
    with st.no_grad():
        weight.assign(weight - 0.5 * weight.grad)
    weight.grad = None
    return loss


steps = [step(st.tensor(given[0])) for _ in range(20)]
losses = [float(loss) for loss in steps]
(whole,) = step.programs
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {whole.calls} steps, each one native call of these kernels:")
print(whole.report())
assert losses[-1] < losses[0] and whole.calls == 20 and step.compiles == 1

# Without the decorator the same code records expressions and computes them when somebody looks, with the same
# results:

weight.assign(given[1])
imperative = [float(step.function(st.tensor(given[0]))) for _ in range(20)]
print("imperative and compiled differ by at most", max(abs(a - b) for a, b in zip(imperative, losses, strict=True)))
assert np.allclose(imperative, losses, rtol=2e-6)

# To watch all of this happen to a program of yours, name the stages:
#
#     STELE_SHOW=graph,simplify,stabilize,fuse,loops,llvm,memory,time python train.py
#
# and to have every pass verified, STELE_CHECK=1. From here, docs/map.md says where everything stands.

print("\nfrom a formula to one native call: done")
