"""Parts of JPEGs: no more of a picture is decoded than somebody looks at, by the libjpeg-turbo that Pillow brings."""
from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any

import numpy as np

from stele.backend.cpu.pool import written
from stele.ops.foreign import address_in

LIBRARY = ("jpeg_std_error", "jpeg_CreateDecompress", "jpeg_mem_src", "jpeg_read_header", "jpeg_start_decompress",
           "jpeg_crop_scanline", "jpeg_skip_scanlines", "jpeg_read_scanlines", "jpeg_destroy_decompress")
JUMPS = "_setjmp", "longjmp"
BESIDE = 2      # columns to the left and right of a part that its colours, which are half as many, are made of too

# The offsets are those of jpeg_decompress_struct and jpeg_error_mgr of version 6.2 on machines of 64 bits: the library
# compares its version and its size with those that it is told, before anything else.
CODE = """
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
declare ptr @jpeg_std_error(ptr)
declare void @jpeg_CreateDecompress(ptr, i32, i64)
declare void @jpeg_mem_src(ptr, ptr, i64)
declare i32 @jpeg_read_header(ptr, i32)
declare i32 @jpeg_start_decompress(ptr)
declare void @jpeg_crop_scanline(ptr, ptr, ptr)
declare i32 @jpeg_skip_scanlines(ptr, i32)
declare i32 @jpeg_read_scanlines(ptr, ptr, i32)
declare void @jpeg_destroy_decompress(ptr)

; An error: back to where the call began.
define internal void @leave(ptr %codec) noreturn {
  %at = getelementptr i8, ptr %codec, i64 24
  %begin = load ptr, ptr %at
  call void @longjmp(ptr %begin, i32 1)
  unreachable
}

define internal void @silent(ptr %codec) {
  ret void
}

; What %asked says, a `Part`: its head alone where no height is asked for. 0, or 1 for what the library complains of.
define i32 @part(ptr %asked) {
  %codec = alloca [632 x i8], align 16
  %errors = alloca [168 x i8], align 16
  %begin = alloca [512 x i8], align 16
  %row = alloca ptr, align 8
  call void @llvm.memset.p0.i64(ptr %codec, i8 0, i64 632, i1 false)
  %made = call ptr @jpeg_std_error(ptr %errors)
  store ptr %made, ptr %codec
  store ptr @leave, ptr %errors
  %message = getelementptr i8, ptr %errors, i64 16
  store ptr @silent, ptr %message
  %own = getelementptr i8, ptr %codec, i64 24
  store ptr %begin, ptr %own
  %again = call i32 @_setjmp(ptr %begin) returns_twice
  %first = icmp eq i32 %again, 0
  br i1 %first, label %open, label %wrong
open:
  call void @jpeg_CreateDecompress(ptr %codec, i32 62, i64 632)
  %file = load ptr, ptr %asked
  %bytes.at = getelementptr i8, ptr %asked, i64 8
  %bytes = load i64, ptr %bytes.at
  call void @jpeg_mem_src(ptr %codec, ptr %file, i64 %bytes)
  %head = call i32 @jpeg_read_header(ptr %codec, i32 1)
  %sizes = getelementptr i8, ptr %codec, i64 48
  %both = load i64, ptr %sizes
  %whole = getelementptr i8, ptr %asked, i64 40
  store i64 %both, ptr %whole
  %from.at = getelementptr i8, ptr %codec, i64 60
  %from = load i32, ptr %from.at
  %grey = icmp eq i32 %from, 1
  %luma = icmp eq i32 %from, 3
  %known = or i1 %grey, %luma
  br i1 %known, label %asks, label %wrong
asks:
  %height.at = getelementptr i8, ptr %asked, i64 36
  %height = load i32, ptr %height.at
  %none = icmp eq i32 %height, 0
  br i1 %none, label %done, label %start
start:
  %to.at = getelementptr i8, ptr %codec, i64 64
  store i32 2, ptr %to.at
  %started = call i32 @jpeg_start_decompress(ptr %codec)
  %left.at = getelementptr i8, ptr %asked, i64 24
  %top.at = getelementptr i8, ptr %asked, i64 28
  %width.at = getelementptr i8, ptr %asked, i64 32
  call void @jpeg_crop_scanline(ptr %codec, ptr %left.at, ptr %width.at)
  %top = load i32, ptr %top.at
  %skipped = call i32 @jpeg_skip_scanlines(ptr %codec, i32 %top)
  %out.at = getelementptr i8, ptr %asked, i64 16
  %out = load ptr, ptr %out.at
  %width = load i32, ptr %width.at
  %wide = zext i32 %width to i64
  %stride = mul i64 %wide, 3
  br label %line
line:
  %k = phi i32 [0, %start], [%next, %line]
  %to = phi ptr [%out, %start], [%below, %line]
  store ptr %to, ptr %row
  %lines = call i32 @jpeg_read_scanlines(ptr %codec, ptr %row, i32 1)
  %below = getelementptr i8, ptr %to, i64 %stride
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %height
  br i1 %more, label %line, label %done
done:
  %warnings.at = getelementptr i8, ptr %errors, i64 128
  %warnings = load i64, ptr %warnings.at
  %good = icmp eq i64 %warnings, 0
  call void @jpeg_destroy_decompress(ptr %codec)
  %code = select i1 %good, i32 0, i32 1
  ret i32 %code
wrong:
  call void @jpeg_destroy_decompress(ptr %codec)
  ret i32 1
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


class Part(ctypes.Structure):
    """What is asked of a file, and where the library begins and how wide it is then; the sizes of the whole picture."""

    _fields_ = (("file", ctypes.c_char_p), ("bytes", ctypes.c_int64), ("out", ctypes.c_void_p),
                ("left", ctypes.c_uint32), ("top", ctypes.c_uint32), ("width", ctypes.c_uint32),
                ("height", ctypes.c_uint32), ("whole_width", ctypes.c_uint32), ("whole_height", ctypes.c_uint32))


@cache
def native() -> Any:
    """The function `part` of this process; None where Pillow has no libjpeg-turbo, or none that can be asked."""
    core = importlib.import_module("PIL.Image").core
    library = ctypes.CDLL(core.__file__)        # with all that it is linked to
    if any(not hasattr(library, name) for name in LIBRARY):
        return None
    places = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in LIBRARY}
    loaded = written("jpegs", CODE, places | {name: address_in(name) for name in JUMPS})
    function: Any = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Part))(loaded["part"])
    function.loaded = loaded        # or its code would be gone
    return function


def size(raw: bytes) -> tuple[int, int] | None:
    """The height and width of a JPEG; None of what libjpeg-turbo complains of, or is no RGB or grey picture."""
    asked = Part(raw, len(raw))
    return None if (part := native()) is None or part(asked) else (asked.whole_height, asked.whole_width)


def decoded(raw: bytes, top: int, left: int, height: int, width: int, whole: int) -> np.ndarray | None:
    """The part of a picture `whole` pixels wide, as uint8 (3, height, width); None where something is wrong there.

    It is the same to the bit as the part of the whole picture. What lies below it is not looked at.
    """
    begin, end = max(left - BESIDE, 0), min(left + width + BESIDE, whole)
    room = np.empty(height * min(end - begin + 64, whole) * 3, np.uint8)
    asked = Part(raw, len(raw), room.ctypes.data, begin, top, end - begin, height)
    if native()(asked):
        return None
    rows = room[:height * asked.width * 3].reshape(height, asked.width, 3)
    return rows[:, left - asked.left:left - asked.left + width].transpose(2, 0, 1)
