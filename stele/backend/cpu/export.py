"""A program as functions of a library: where its memory lies in the caller's, and the code that says so."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

from stele.backend.cpu import jit, serve
from stele.backend.cpu.elf import Object
from stele.backend.cpu.link import parted
from stele.backend.cpu.manifest import Manifest
from stele.backend.cpu.shared import DATA, PAGE, shared
from stele.backend.cpu.symbols import C
from stele.backend.cpu.target import Target
from stele.backend.llvm.dims import integer
from stele.backend.llvm.launch import (
    BUFS,
    SCRATCH,
    SCRATCH_BYTES,
    SIZES,
    STATUS,
    Builder,
    i1,
    i8,
    i32,
    i64,
    pointer,
    word_at,
)
from stele.ir.graph import Array, Graph
from stele.ir.record import Record
from stele.ir.sizes import Dim, Size, at
from stele.ir.types import TupleType
from stele.kernel.memory import FRESH, Piece, layout, rounded

LARGEST = 1 << 31       # no size that is open is as large


class Exported(Record):
    """A program to be exported: what is known of it, and the parameters that no caller gives."""

    name: str
    manifest: Manifest
    graph: Graph
    held: Mapping[int, Array]
    flushes: bool

    @property
    def given(self) -> list[int]:
        """The parameters that the caller gives."""
        return [k for k in range(len(self.graph.parameters)) if k not in self.held]

    @property
    def open(self) -> list[str]:
        """The sizes that the caller says."""
        return [n for n in self.manifest.names if n not in self.manifest.plan.private]

    @property
    def dims(self) -> list[Size]:
        """What may not be negative: the sizes of all values."""
        types = (t for v in self.graph.values for t in (v.type.items if isinstance(v.type, TupleType) else (v.type,)))
        return [*dict.fromkeys(n for t in types for n in t.shape if isinstance(n, Size))]

    @property
    def functions(self) -> list[str]:
        """What the library's users call."""
        return [f"{self.name}_{part}" for part in ("bytes", "prepare", "run")]


def library(program: Exported, objects: Sequence[bytes], target: Target) -> bytes:
    """The shared library of a program's objects, linked here."""
    writer = Writer(program)
    service = together(serve.source(target.triple, target.name), str(writer.module))
    allowed = C | {DATA}
    with jit.Modules(target, allowed | {"program"}) as modules:
        modules.add(service)
    image, words = parted([*objects, *modules.objects], allowed, PAGE)
    machine = Object(objects[0]).machine
    return shared(image, words, bytes(writer.data), program.functions, f"lib{program.name}.so", machine)


class Writer:
    """Writes the functions of a library."""

    def __init__(self, program: Exported) -> None:
        self.program, self.plan, self.data = program, program.manifest.plan, bytearray()
        self.module = ir.Module("library")
        self.places = {k: self.keep(a) for k, a in {**program.held, **program.manifest.constants}.items()}
        names = program.manifest.names
        self.tables = serve.TABLES
        self.sizes_at = self.tables + rounded(8 * len(self.plan.places))
        self.kept_at = self.sizes_at + rounded(8 * len(names))
        self.arena_at = self.kept_at + rounded(self.plan.kept.bytes)
        self.weights = ir.GlobalVariable(self.module, i8, DATA)
        self.bytes_function()
        self.prepare()
        self.run()

    def keep(self, x: Array) -> int:
        """Where in the library's data an array stands."""
        self.data += bytes(-len(self.data) % 64)
        self.data += x.tobytes()
        return len(self.data) - x.nbytes

    def offsets(self, b: Builder, named: Mapping[str, ir.Value]) -> tuple[dict[int, ir.Value], ir.Value, ir.Value]:
        """Where temporaries lie behind the start of the arena, where they end, and the scratch of a thread."""
        plan, private = self.plan, self.plan.private
        pieces = [Piece(k, p.bytes, p.first, p.last) for k, p in enumerate(plan.places)
                  if p.kind == "temp" and p.home is None]
        if all(isinstance(at_most(p.bytes, private), int) for p in pieces):
            known = layout(pieces, private)
            found: dict[int, ir.Value] = {k: i64(n) for k, n in known.offsets.items()}
            end: ir.Value = i64(known.bytes)
        else:
            found, end = self.bins(b, pieces, named)
        scratch: ir.Value = i64(0)
        for n in dict.fromkeys(plan.scratch):
            scratch = larger(b, scratch, integer(b, n, named.__getitem__))
        return found, end, b.and_(b.add(scratch, i64(63)), i64(-64))

    def bins(self, b: Builder, pieces: Sequence[Piece], named: Mapping[str, ir.Value]
             ) -> tuple[dict[int, ir.Value], ir.Value]:
        """Temporaries of sizes that are open: those that are never there together share a place."""
        bins: list[list[Piece]] = []
        for piece in sorted(pieces, key=lambda p: (p.first, p.slot)):
            free = next((b for b in bins if b[-1].last < piece.first), None)
            if free is None:
                bins.append(free := [])
            free.append(piece)
        found, end = dict[int, ir.Value](), i64(0)
        for pieces in bins:
            most: ir.Value = i64(64)
            for piece in pieces:
                found[piece.slot] = end
                most = larger(b, most, integer(b, piece.bytes, named.__getitem__))
            end = b.add(end, b.and_(b.add(most, i64(63)), i64(-64)))
        return found, end

    def function(self, part: str, result: ir.Type, *arguments: ir.Type) -> tuple[ir.Function, Builder]:
        f = ir.Function(self.module, ir.FunctionType(result, arguments), f"{self.program.name}_{part}")
        return f, Builder(f.append_basic_block("entry"))

    def leave(self, b: Builder, condition: ir.Value, code: int) -> None:
        """Returns a code where a condition holds: negative where bytes are returned."""
        with b.if_then(condition):
            b.ret(i64(-code) if b.function.name == f"{self.program.name}_bytes" else i32(code))

    def named(self, b: Builder, sizes: Sequence[ir.Value]) -> dict[str, ir.Value]:
        """The sizes by name, which are looked at first."""
        program = self.program
        named = dict(zip(program.open, sizes)) | {n: i64(k) for n, k in self.plan.private.items()}
        fits = ir.Function(self.module, ir.FunctionType(i1, []), "fits") if "fits" not in self.module.globals else (
            self.module.globals["fits"])
        self.leave(b, b.not_(b.call(fits, [])), serve.MACHINE)
        for n in sizes:
            self.leave(b, b.icmp_unsigned(">=", n, i64(LARGEST)), serve.SIZES)
        for dim in program.dims:
            self.leave(b, b.icmp_signed("<", integer(b, dim, named.__getitem__), i64(0)), serve.SIZES)
        for guard in program.graph.guards:
            left, right = (integer(b, n, named.__getitem__) for n in (guard.left, guard.right))
            self.leave(b, b.not_(b.icmp_signed(guard.relation, left, right)), serve.SIZES)
        return named

    def bytes_function(self) -> None:
        """i64 bytes(sizes..., i64 threads)"""
        count = len(self.program.open)
        f, b = self.function("bytes", i64, *[i64] * (count + 1))
        named = self.named(b, f.args[:count])
        self.leave(b, b.icmp_unsigned(">", b.sub(f.args[count], i64(1)), i64(1023)), serve.SIZES)
        _, end, scratch = self.offsets(b, named)
        b.ret(b.add(b.add(end, b.mul(scratch, f.args[count])), i64(self.arena_at + 64)))

    def prepare(self) -> None:
        """i32 prepare(ptr arena, i64 bytes, sizes..., i64 threads)"""
        count = len(self.program.open)
        f, b = self.function("prepare", i32, pointer, i64, *[i64] * (count + 1))
        memory, bytes_, *sizes, threads = f.args
        self.leave(b, b.icmp_unsigned("==", memory, pointer(None)), serve.NULL)
        named = self.named(b, sizes)
        needed = b.call(self.module.globals[f"{self.program.name}_bytes"], [*sizes, threads])
        self.leave(b, b.icmp_signed("<", needed, i64(0)), serve.SIZES)
        self.leave(b, b.icmp_signed("<", bytes_, needed), serve.SMALL)
        base = self.base(b, memory)

        def moved(n: int) -> ir.Value:
            return b.gep(base, [i64(n)], source_etype=i8)

        offsets, end, scratch = self.offsets(b, named)
        ctx, bufs = moved(serve.CONTEXT), moved(self.tables)
        for at_ in (ctx, moved(serve.CONTEXT + 64)):
            for k, x in ((BUFS, bufs), (SIZES, moved(self.sizes_at)), (STATUS, moved(serve.STATUS)),
                         (SCRATCH, b.gep(moved(self.arena_at), [end], source_etype=i8)), (SCRATCH_BYTES, scratch),
                         (5, i64(0))):
                b.store(x, word_at(b, at_, k))
        for k, place in enumerate(self.plan.places):
            if k in self.places:
                b.store(b.gep(self.weights, [i64(self.places[k])], source_etype=i8), word_at(b, bufs, k))
            elif place.kind == "temp":
                start = b.gep(moved(self.arena_at), [offsets[self.plan.root(k)]], source_etype=i8)
                b.store(start, word_at(b, bufs, k))
            elif place.kind == "kept":
                b.store(moved(self.kept_at + self.plan.kept.offsets[k]), word_at(b, bufs, k))
        for k, name in enumerate(self.program.manifest.names):
            b.store(named[name], word_at(b, moved(self.sizes_at), k))
        b.store(threads, moved(serve.POOL + 16))
        b.store(self.mark(b), moved(serve.POOL + 24))
        b.ret(i32(0))

    def mark(self, b: Builder) -> ir.Value:
        """What stands in an arena that is prepared for this program: no other one has its weights where they lie."""
        return b.xor(b.ptrtoint(self.weights, i64), i64(serve.MAGIC))

    def base(self, b: Builder, memory: ir.Value) -> ir.Value:
        """The first cache line of the caller's memory."""
        return b.inttoptr(b.and_(b.add(b.ptrtoint(memory, i64), i64(63)), i64(-64)), pointer)

    def run(self) -> None:
        """i32 run(ptr arena, ptr parallel, ptr user, inputs..., outputs...)"""
        program, outputs = self.program, self.program.manifest.outputs
        f, b = self.function("run", i32, *[pointer] * (3 + len(program.given) + len(outputs)))
        memory, parallel, user, *addresses = f.args
        for x in (memory, *addresses):
            self.leave(b, b.icmp_unsigned("==", x, pointer(None)), serve.NULL)
        base = self.base(b, memory)

        def moved(n: int) -> ir.Value:
            return b.gep(base, [i64(n)], source_etype=i8)

        magic = b.load(moved(serve.POOL + 24), typ=i64)
        self.leave(b, b.icmp_unsigned("!=", magic, self.mark(b)), serve.UNPREPARED)
        bufs, sizes = moved(self.tables), moved(self.sizes_at)
        inputs, made = addresses[:len(program.given)], addresses[len(program.given):]
        for k, x in zip(program.given, inputs):
            b.store(x, word_at(b, bufs, k))
        for note, x in zip(outputs, made):
            if note.source == "slot":
                b.store(x, word_at(b, bufs, note.slot))
        b.store(parallel, moved(serve.POOL))
        b.store(user, moved(serve.POOL + 8))
        for k in range(5):
            b.store(i64(0), moved(serve.STATUS + 8 * k))
        mode, set_mode = (ir.Function(self.module, kind, name) for kind, name in (
            (ir.FunctionType(i64, []), "mode"), (ir.FunctionType(ir.VoidType(), [i64]), "set_mode")))
        before = b.call(mode, [])
        if program.flushes:
            bits = ir.GlobalVariable(self.module, i64, "flush")
            b.call(set_mode, [b.or_(before, b.load(bits, typ=i64))])
        call = ir.Function(self.module, ir.FunctionType(i32, [pointer, pointer]), "program")
        code = b.call(call, [moved(serve.CONTEXT), moved(serve.POOL)])
        b.call(set_mode, [before])
        with b.if_then(b.icmp_signed("!=", code, i32(0))):
            b.ret(code)
        if FRESH in program.manifest.names:
            b.store(i64(0), word_at(b, sizes, program.manifest.names.index(FRESH)))
        named = {n: b.load(word_at(b, sizes, k), typ=i64) for k, n in enumerate(program.manifest.names)}
        self.copy(b, bufs, made, named)
        b.ret(i32(0))

    def copy(self, b: Builder, bufs: ir.Value, made: Sequence[ir.Value], named: Mapping[str, ir.Value]) -> None:
        """Results that are inputs, constants or results before them, to where the caller wants them."""
        copy = self.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, i64])
        for note, x in zip(self.program.manifest.outputs, made):
            if note.source != "slot":
                source = made[note.k] if note.source == "result" else b.load(word_at(b, bufs, note.slot), typ=pointer)
                count: Dim = note.type.dtype.bytes
                for n in note.type.shape:
                    count = count * n
                b.call(copy, [x, source, integer(b, count, named.__getitem__), i1(0)])


def at_most(n: Dim, sizes: Mapping[str, int]) -> int | None:
    """A size that is known once the private ones are."""
    try:
        return at(n, sizes)
    except ValueError:
        return None


def larger(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """The larger of two numbers."""
    return b.select(b.icmp_signed(">", x, y), x, y)


def together(service: str, functions: str) -> str:
    """One module of both texts, whose parts know each other."""
    own = ("fits", "mode", "set_mode")
    lines = [line for line in functions.splitlines() if not line.startswith(("target", "source_filename", "; Module"))
             and not any(line.startswith("declare") and f'@"{name}"' in line for name in own)
             and not line.startswith('@"flush"')]
    return service + "\n".join(lines)
