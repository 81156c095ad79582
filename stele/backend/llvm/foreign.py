"""Calls of functions of C at addresses that are operands: for each element, or for each place along leading axes."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir

from stele.backend.llvm.frame import Frame, Slots
from stele.backend.llvm.launch import Builder, Launch, i8, i32, i64, new_kernel, pointer
from stele.backend.llvm.nest import least, loop
from stele.ir.graph import Value
from stele.ir.sizes import ceil
from stele.ir.types import DType, TupleType, product
from stele.kernel.kinds import Library
from stele.ops.foreign import OWN, Foreign, sizes_of

GRAIN = 256
"""Elements of a task: some microseconds."""


class Target:
    """What a call takes for a function: one at an address."""

    def __init__(self, address: ir.Value, kind: ir.FunctionType) -> None:
        self.address, self.function_type, self.type, self.calling_convention = address, kind, pointer, ""

    def get_reference(self) -> str:
        return self.address.get_reference()


def emit_foreign(module: ir.Module, name: str, kernel: Library, slots: Slots) -> list[Launch]:
    """Adds the function that calls another."""
    return Calls(module, name, kernel.anchor, slots).emit()


class Calls:
    """The function of a kernel: a task is GRAIN elements, or the call for one place."""

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots) -> None:
        assert isinstance(y.op, Foreign)
        self.y, self.op, self.name, self.said = y, y.op, name, y.op.said
        *self.given, address = y.args
        self.frame = Frame(new_kernel(module, name), slots, {})
        self.b: Builder = self.frame.b
        returns = ir.VoidType() if self.said.returns is None else register(self.said.returns)
        kind = ir.FunctionType(returns, [pointer if p.shape is not None else passed(p.dtype) for p in self.said.parts])
        self.function: Any = Target(self.b.inttoptr(self.b.load(self.frame.buffer(address), typ=i64), pointer), kind)

    def emit(self) -> list[Launch]:
        tasks = self.elements() if self.said.returns is not None else self.places()
        self.b.ret_void()
        return [Launch(self.name, tasks)]

    def elements(self) -> Any:
        """A call for each element."""
        b, f, count = self.b, self.frame, self.y.type.size
        begin, end = f.tasks
        n = f.integer(count)
        first, last = (i64(0), n) if self.op.serial else (
            b.mul(begin, i64(GRAIN)), least(b, b.mul(end, i64(GRAIN)), n))
        with loop(b, first, last) as k:
            x = [self.number(v, p.dtype, k if v.shape else i64(0)) for v, p in zip(self.given, self.said.operands)]
            b.store(b.call(self.function, x), self.at(f.buffer(self.y), k, self.y.dtype.bytes))
        return 1 if self.op.serial else ceil(count, GRAIN)

    def places(self) -> Any:
        """A call for each place along the leading axes."""
        levels = self.op.levels
        count = product(self.given[0].shape[:levels])
        sizes = sizes_of(self.said, [v.shape[levels:] for v in self.given])
        with loop(self.b, *((0, self.frame.integer(count)) if self.op.serial else self.frame.tasks)) as task:
            self.b.call(self.function, [*self.arguments(task, sizes)])
        return 1 if self.op.serial else count

    def arguments(self, task: ir.Value, sizes: dict[str, Any]) -> Iterator[ir.Value]:
        """What the function is called with at one place."""
        b, f, given = self.b, self.frame, iter(self.given)
        many = len(self.said.results) > 1
        results = iter([(self.y, k) for k in range(len(self.said.results))] if many else [self.y])
        kinds = iter(self.y.type.items if isinstance(self.y.type, TupleType) else (self.y.type,))
        for p in self.said.parts:
            if self.said.is_size(p):
                n = f.integer(sizes[OWN + p.name])
                yield n if p.dtype.bytes == 8 else b.trunc(n, passed(p.dtype))
            elif p.is_result:
                yield self.place(f.buffer(next(results)), task, next(kinds))
            elif p.shape is None:
                yield self.number(next(given), p.dtype, task if self.op.levels else i64(0))
            else:
                v = next(given)
                yield self.place(f.buffer(v), task, v.type)

    def place(self, buffer: ir.Value, task: ir.Value, kind: Any) -> ir.Value:
        """Where the part of an array at a place begins."""
        inner = product(kind.shape[self.op.levels:])
        return self.at(buffer, self.b.mul(task, self.frame.integer(inner)), kind.dtype.bytes)

    def number(self, v: Value, dtype: DType, k: ir.Value) -> ir.Value:
        """Element k of an operand, as it is passed."""
        b, kind = self.b, passed(dtype)
        x = b.load(self.at(self.frame.buffer(v), k, dtype.bytes), typ=register(dtype))
        if kind == register(dtype):
            return x
        return b.sext(x, kind) if dtype.kind == "i" else b.zext(x, kind)

    def at(self, base: ir.Value, k: ir.Value, width: int) -> ir.Value:
        return self.b.gep(base, [self.b.mul(k, i64(width))], source_etype=i8)


def register(dtype: DType) -> Any:
    """The type of a number in LLVM."""
    if dtype.is_float:
        return ir.DoubleType() if dtype.bytes == 8 else ir.FloatType()
    return ir.IntType(8 * dtype.bytes)


def passed(dtype: DType) -> Any:
    """The type that a number is passed as: small integers as wider ones."""
    return i32 if not dtype.is_float and dtype.bytes < 4 else register(dtype)
