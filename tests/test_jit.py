"""Compiling, linking and loading: what code may refer to, how long it lives, what failures say."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from llvmlite import ir

from stele.backend.cpu import jit
from stele.backend.cpu.image import Loaded, load
from stele.backend.cpu.target import detect
from stele.errors import CompileError

TWICE = "define i64 @twice(i64 %x) {\n  %y = shl i64 %x, 1\n  ret i64 %y\n}\n"
CALLS = """
declare {type} @{name}({type})
define {type} @f({type} %x) {{
  %y = call {type} @{name}({type} %x)
  ret {type} %y
}}
"""


@pytest.fixture(autouse=True)
def anew() -> None:
    """What tests before have compiled is not there."""
    jit.OBJECTS.clear()


def _twice(loaded: Loaded) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded["twice"])(21)


def test_a_module_is_compiled_and_called() -> None:
    times = jit.Times()
    image = jit.compile_module(TWICE, detect(), times=times)
    assert _twice(load(image)) == 42
    assert times.compiled == 1 and min(times.parse, times.optimise, times.emit, times.link) > 0


def test_a_module_object_will_do() -> None:
    module = ir.Module()
    number = ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(number, [number]), "twice")
    build = ir.IRBuilder(function.append_basic_block())
    build.ret(build.shl(function.args[0], ir.Constant(number, 1)))
    assert _twice(load(jit.compile_module(module, detect()))) == 42


def test_code_is_the_same_bytes_every_time() -> None:
    first = jit.compile_module(TWICE, detect()).pack()
    jit.OBJECTS.clear()
    assert jit.compile_module(TWICE, detect()).pack() == first


def test_a_module_of_two_programs_is_compiled_once() -> None:
    times = jit.Times()
    for _ in range(2):
        with jit.Modules(detect(), times=times) as modules:
            modules.add(TWICE)
            modules.add(TWICE.replace("twice", f"other{times.compiled}"), quick=True)
        assert _twice(load(modules.image)) == 42
    assert times.compiled == 3


@pytest.mark.parametrize("name, type", [("expf", "float"), ("llvm.exp.f32", "float"), ("llvm.sin.f64", "double"),
                                        ("malloc", "i64"), ("llvm.pow.f32", "float")])
def test_foreign_symbols_are_refused(name: str, type: str) -> None:
    text = CALLS.format(name=name, type=type)
    if "pow" in name:
        text = text.replace("(float)", "(float, float)").replace("(float %x)\n  ret", "(float %x, float %x)\n  ret")
    with pytest.raises(CompileError, match=r"may refer to .*memcpy, .* only, got"):
        jit.compile_module(text, detect())


def test_conversions_that_no_machine_has_are_refused() -> None:
    text = "define half @f(fp128 %x) {\n  %y = fptrunc fp128 %x to half\n  ret half %y\n}\n"
    with pytest.raises(CompileError, match="__trunctfhf2"):
        jit.compile_module(text, detect())


def test_copies_and_fills_are_allowed() -> None:
    text = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %x, ptr %y, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %x, i8 7, i64 %n, i1 0)
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 %n, i1 0)
  ret void
}
"""
    image = jit.compile_module(text, detect())
    assert image.imports == {"memcpy", "memset"}
    loaded = load(image)
    x, y = (ctypes.create_string_buffer(300) for _ in range(2))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(loaded["f"])(
        ctypes.addressof(x), ctypes.addressof(y), 300)
    assert y.raw == b"\7" * 300


@pytest.mark.parametrize("text", ["nonsense", "define i32 @f() { ret i64 0 }"])
def test_a_broken_module_is_refused(text: str) -> None:
    with pytest.raises(CompileError, match="LLVM refuses the module"):
        jit.compile_module(text, detect())


def test_what_is_missing_is_named() -> None:
    image = jit.compile_module("declare void @pool_run()\ndefine void @f() {\n  call void @pool_run()\n  ret void\n}\n",
                               detect())
    with pytest.raises(CompileError, match="pool_run"):
        load(image)
    with pytest.raises(CompileError, match="exports twice, not absent"):
        load(jit.compile_module(TWICE, detect()))["absent"]


def test_code_that_nobody_holds_is_given_back() -> None:
    image = jit.compile_module(TWICE, detect())
    kept = load(image)

    def executable(addresses: list[int]) -> int:
        """How many of these addresses lie in memory that may be executed now, as the system says."""
        lines = [line.split()[:2] for line in Path("/proc/self/maps").read_text().splitlines()]
        spans = [[int(end, 16) for end in span.split("-")] for span, rights in lines if "x" in rights]
        return sum(any(start <= address < end for start, end in spans) for address in addresses)

    many = [load(image) for _ in range(100)]
    places = [loaded["twice"] for loaded in many]
    assert executable(places) == len(set(places)) == 100 and {_twice(x) for x in many} == {42}
    many.clear()
    assert executable(places) == 0 and _twice(kept) == 42
