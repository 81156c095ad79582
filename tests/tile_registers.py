"""What the instructions for tiles (AMX) do, in LLVM IR: kernels for tile registers run on CPUs that have none.

TDPBF16PS adds the products of even and of odd numbers apart, then both to the sum (Intel 64 and IA-32 Architectures
Software Developer's Manual, volume 2).
"""

from __future__ import annotations

import re

import llvmlite.binding as llvm

NAMES = "ldtilecfg", "tilerelease", "tilezero", "tileloadd64", "tilestored64", "tdpbf16ps"

_STATE = """
%tile = type [16 x <16 x i32>]
@tiles = internal global [8 x %tile] zeroinitializer, align 64
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
_ROWS = """
define void @"tiles.{name}"({arguments}) {{
  br label %loop
loop:
  %r = phi i64 [0, %0], [%next, %loop]
{body}
  %next = add i64 %r, 1
  %done = icmp eq i64 %next, 16
  br i1 %done, label %end, label %loop
end:
  ret void
}}
"""
_MEMORY = """
  %row = getelementptr [8 x %tile], ptr @tiles, i64 0, i8 %n, i64 %r
  %offset = mul i64 %r, %stride
  %there = getelementptr i8, ptr %p, i64 %offset
"""
_PAIR = """
  %at{k} = getelementptr [8 x %tile], ptr @tiles, i64 0, i8 %a, i64 %r, i64 {k}
  %pair{k} = load i32, ptr %at{k}
  %one{k} = insertelement <16 x i32> poison, i32 %pair{k}, i32 0
  %left{k} = shufflevector <16 x i32> %one{k}, <16 x i32> poison, <16 x i32> zeroinitializer
  %column{k} = getelementptr [8 x %tile], ptr @tiles, i64 0, i8 %b, i64 {k}
  %right{k} = load <16 x i32>, ptr %column{k}
  %even{k} = call <16 x float> @low(<16 x i32> %left{k}, <16 x i32> %right{k}, <16 x float> {even})
  %odd{k} = call <16 x float> @high(<16 x i32> %left{k}, <16 x i32> %right{k}, <16 x float> {odd})
"""
_PAIRS = "".join(_PAIR.format(k=k, **{half: f"%{half}{k - 1}" if k else "zeroinitializer" for half in ("even", "odd")})
                 for k in range(16)) + """
  %sums = getelementptr [8 x %tile], ptr @tiles, i64 0, i8 %d, i64 %r
  %old = load <16 x float>, ptr %sums
  %both = fadd <16 x float> %even15, %odd15
  %new = fadd <16 x float> %old, %both
  store <16 x float> %new, ptr %sums
"""
_HALF = """
define internal <16 x float> @{name}(<16 x i32> %x, <16 x i32> %y, <16 x float> %sum) {{
  %a = {operation} <16 x i32> %x, splat (i32 {bits})
  %b = {operation} <16 x i32> %y, splat (i32 {bits})
  %f = bitcast <16 x i32> %a to <16 x float>
  %g = bitcast <16 x i32> %b to <16 x float>
  %s = call <16 x float> @llvm.fma.v16f32(<16 x float> %f, <16 x float> %g, <16 x float> %sum)
  ret <16 x float> %s
}}
"""
DEFINITIONS = "".join([
    _STATE,
    _HALF.format(name="low", operation="shl", bits=16), _HALF.format(name="high", operation="and", bits=-(1 << 16)),
    'define void @"tiles.ldtilecfg"(ptr %shapes) {\n  ret void\n}\n',
    'define void @"tiles.tilerelease"() {\n'
    "  call void @llvm.memset.p0.i64(ptr @tiles, i8 255, i64 8192, i1 false)\n  ret void\n}\n",
    _ROWS.format(name="tilezero", arguments="i8 %n", body="""
  %row = getelementptr [8 x %tile], ptr @tiles, i64 0, i8 %n, i64 %r
  store <16 x i32> zeroinitializer, ptr %row"""),
    _ROWS.format(name="tileloadd64", arguments="i8 %n, ptr %p, i64 %stride", body=_MEMORY + """
  %x = load <16 x i32>, ptr %there, align 1
  store <16 x i32> %x, ptr %row"""),
    _ROWS.format(name="tilestored64", arguments="i8 %n, ptr %p, i64 %stride", body=_MEMORY + """
  %x = load <16 x i32>, ptr %row
  store <16 x i32> %x, ptr %there, align 1"""),
    _ROWS.format(name="tdpbf16ps", arguments="i8 %d, i8 %a, i8 %b", body=_PAIRS),
])
"""One set of registers: kernels that share it run one after the other. Released registers hold not-a-number."""


def emulated(text: str) -> llvm.ModuleRef:
    """The module with functions of `DEFINITIONS` for the instructions for tiles."""
    module = llvm.parse_assembly(re.sub(rf'llvm\.x86\.({"|".join(NAMES)})\b', r"tiles.\1", text))
    module.link_in(llvm.parse_assembly(DEFINITIONS))
    return module
