"""Objects become one image: every kind of reference, on this machine and, emulated, on 64-bit ARM."""

from __future__ import annotations

import ctypes
import dataclasses
import struct

import llvmlite.binding as llvm
import pytest

from stele.backend.cpu import jit
from stele.backend.cpu.elf import Object
from stele.backend.cpu.image import Image, load
from stele.backend.cpu.link import link
from stele.backend.cpu.target import Target, detect
from stele.errors import CompileError

MANY = 600      # numbers, so that they lie on several pages
ENTRY = f"""
@bytes = internal constant [{MANY} x i8] [{", ".join(f"i8 {k % 100}" for k in range(MANY))}]
@shorts = internal constant [{MANY} x i16] [{", ".join(f"i16 {3 * k}" for k in range(MANY))}]
@words = internal constant [{MANY} x i32] [{", ".join(f"i32 {5 * k}" for k in range(MANY))}]
@longs = internal constant [{MANY} x i64] [{", ".join(f"i64 {7 * k}" for k in range(MANY))}]
@vectors = internal constant [2 x <4 x i32>] [<4 x i32> zeroinitializer, <4 x i32> <i32 9, i32 8, i32 7, i32 6>]
@others = internal constant [2 x ptr] [ptr @other, ptr @given]
declare i64 @given(i64)
declare i64 @other(i64)

define i64 @sum() {{
  %a.8 = load volatile i8, ptr getelementptr ([{MANY} x i8], ptr @bytes, i64 0, i64 77)
  %b.16 = load volatile i16, ptr getelementptr ([{MANY} x i16], ptr @shorts, i64 0, i64 501)
  %c.32 = load volatile i32, ptr getelementptr ([{MANY} x i32], ptr @words, i64 0, i64 502)
  %d = load volatile i64, ptr getelementptr ([{MANY} x i64], ptr @longs, i64 0, i64 503)
  %v = load volatile <4 x i32>, ptr getelementptr ([2 x <4 x i32>], ptr @vectors, i64 0, i64 1)
  %e.32 = extractelement <4 x i32> %v, i64 1
  %a = zext i8 %a.8 to i64
  %b = zext i16 %b.16 to i64
  %c = zext i32 %c.32 to i64
  %e = zext i32 %e.32 to i64
  %ab = add i64 %a, %b
  %abc = add i64 %ab, %c
  %abcd = add i64 %abc, %d
  %all = add i64 %abcd, %e
  ret i64 %all
}}

define i64 @entry(i64 %k, ptr %to) {{
  %at = getelementptr [{MANY} x i64], ptr @longs, i64 0, i64 %k
  %x = load i64, ptr %at
  %which = and i64 %k, 1
  %f.at = getelementptr [2 x ptr], ptr @others, i64 0, i64 %which
  %f = load volatile ptr, ptr %f.at
  %a = call i64 %f(i64 %x)
  %b = call i64 @other(i64 %a)
  %c = call i64 @given(i64 %b)
  store ptr @given, ptr %to
  %next = getelementptr ptr, ptr %to, i64 1
  store ptr @other, ptr %next
  ret i64 %c
}}
"""
SUM = 77 + 3 * 501 + 5 * 502 + 7 * 503 + 8
OTHER = """
declare i64 @given(i64)
define i64 @other(i64 %x) {
  %y = mul i64 %x, 10
  %z = tail call i64 @given(i64 %y)
  ret i64 %z
}
"""


def linked(target: Target) -> Image:
    """Both modules, through their form on the disk."""
    with jit.Modules(target, {"given"}) as modules:
        modules.add(ENTRY)
        modules.add(OTHER)
    assert modules.image.imports == {"given"}
    return Image.unpack(modules.image.pack())


def expected(k: int) -> int:
    """What `entry` returns where `given` adds 7."""
    x = 7 * k + 7 if k % 2 else 70 * k + 7
    return 10 * x + 14


def arm() -> Target:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return dataclasses.replace(detect(), name="neon", triple="aarch64-unknown-linux-gnu", cpu="generic",
                               features="+neon,+reserve-x18", vector_bytes=16, registers=32)


def test_modules_refer_to_each_other_and_to_the_process() -> None:
    given = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x + 7)
    address = ctypes.cast(given, ctypes.c_void_p).value or 0
    loaded, to = load(linked(detect()), {"given": address}), (ctypes.c_uint64 * 2)()
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded["sum"])() == SUM
    entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(loaded["entry"])
    assert [entry(k, ctypes.addressof(to)) for k in range(MANY)] == [expected(k) for k in range(MANY)]
    assert [*to] == [address, loaded["other"]]


@pytest.mark.parametrize("base", [0x10000, 0x7FFF_1234_5000])
def test_the_same_on_arm(base: int) -> None:
    unicorn = pytest.importorskip("unicorn", reason="unicorn, which emulates ARM, is not installed")
    arm64 = pytest.importorskip("unicorn.arm64_const")
    image, given, to, stack, home = linked(arm()), 0x5000_0000, 0x5001_0000, 0x5002_0000, 0x5003_0000
    code, size = bytearray(image.code), -(-len(image.code) // 4096) * 4096
    for at, name, addend in image.words:
        struct.pack_into("<Q", code, at, (given if name else base) + addend)
    cpu = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    for place, data in ((base, bytes(code)), (given, struct.pack("<2I", 0x91001C00, 0xD65F03C0)),  # add x0, x0, 7; ret
                        (to, b""), (stack, b""), (home, b"")):
        cpu.mem_map(place, max(size, 4096) if place == base else 4096)
        cpu.mem_write(place, data)

    def call(name: str, *arguments: int) -> int:
        cpu.reg_write(arm64.UC_ARM64_REG_SP, stack + 4096)
        cpu.reg_write(arm64.UC_ARM64_REG_LR, home)
        for k, x in enumerate(arguments):
            cpu.reg_write(arm64.UC_ARM64_REG_X0 + k, x)
        cpu.emu_start(base + image.exports[name], home)
        return cpu.reg_read(arm64.UC_ARM64_REG_X0)

    assert call("sum") == SUM
    assert [call("entry", k, to) for k in range(9)] == [expected(k) for k in range(9)]
    assert struct.unpack("<2Q", cpu.mem_read(to, 16)) == (given, base + image.exports["other"])


def test_memory_that_code_would_keep_is_refused() -> None:
    for value in ("1", "0"):
        text = (f"@count = internal global i64 {value}\ndefine i64 @f() {{\n"
                "  %x = atomicrmw add ptr @count, i64 1 seq_cst\n  ret i64 %x\n}")
        with pytest.raises(CompileError, match="no memory of its own that it may write"):
            jit.compile_module(text, detect())


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(CompileError, match="an object begins with"):
        link([b"MZ"], ())


def test_a_reference_of_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = Object._relocations
    monkeypatch.setattr(Object, "_relocations", lambda o: (dataclasses.replace(r, kind=99) for r in taken(o)))
    with pytest.raises(CompileError, match="by a relocation of kind 99"):
        linked(detect())
