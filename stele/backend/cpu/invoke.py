"""Native programs as a function of Python, and Python called by them: where native code speaks CPython's interface."""
from __future__ import annotations

import ctypes
from collections.abc import Callable

METH_FASTCALL = 0x80
NAME = "pool_invoke"

# Of CPython's stable interface: an address from an int, an int, the GIL given back meanwhile, and taken for a call.
PYTHON = frozenset({"PyLong_AsVoidPtr", "PyLong_FromLongLong", "PyEval_SaveThread", "PyEval_RestoreThread",
                    "PyGILState_Ensure", "PyGILState_Release", "PyObject_CallNoArgs", "Py_DecRef"})

CODE = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_CallNoArgs(ptr)
declare void @Py_DecRef(ptr)

; pool_invoke(pool, program, ctx, *addresses): the addresses lead the table of buffers, which is written where they are
; others than before, then the program runs.
define ptr @pool_invoke(ptr %self, ptr %args, i64 %n) {
entry:
  %pool.o = load ptr, ptr %args
  %pool = call ptr @PyLong_AsVoidPtr(ptr %pool.o)
  %program.at = getelementptr ptr, ptr %args, i64 1
  %program.o = load ptr, ptr %program.at
  %program = call ptr @PyLong_AsVoidPtr(ptr %program.o)
  %ctx.at = getelementptr ptr, ptr %args, i64 2
  %ctx.o = load ptr, ptr %ctx.at
  %ctx = call ptr @PyLong_AsVoidPtr(ptr %ctx.o)
  %buffers = load ptr, ptr %ctx
  br label %next
next:
  %k = phi i64 [ 3, %entry ], [ %k1, %convert ], [ %k1, %store ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %convert, label %run
convert:
  %o.at = getelementptr ptr, ptr %args, i64 %k
  %o = load ptr, ptr %o.at
  %address = call ptr @PyLong_AsVoidPtr(ptr %o)
  %position = sub i64 %k, 3
  %buffer = getelementptr ptr, ptr %buffers, i64 %position
  %before = load ptr, ptr %buffer
  %same = icmp eq ptr %before, %address
  %k1 = add i64 %k, 1
  br i1 %same, label %next, label %store
store:
  store ptr %address, ptr %buffer
  br label %next
run:
  %state = call ptr @PyEval_SaveThread()
  %code = call i64 @pool_call(ptr %pool, ptr %program, ptr %ctx)
  call void @PyEval_RestoreThread(ptr %state)
  %raised = icmp eq i64 %code, $raised
  br i1 %raised, label %raise, label %return
raise:
  ret ptr null
return:
  %result = call ptr @PyLong_FromLongLong(i64 %code)
  ret ptr %result
}

; Calls an object of Python in the midst of a program, on the thread that called the program. What it raises stays with
; that thread: the program leaves, and pool_invoke raises it.
define void @pool_cross(ptr %ctx, ptr %object) {
  %mode = call i64 @plain()
  %gil = call i32 @PyGILState_Ensure()
  %result = call ptr @PyObject_CallNoArgs(ptr %object)
  call void @Py_DecRef(ptr %result)
  %raised = icmp eq ptr %result, null
  %code = select i1 %raised, i64 $raised, i64 0
  %at = getelementptr i8, ptr %ctx, i64 16
  %status = load ptr, ptr %at
  store i64 %code, ptr %status
  call void @PyGILState_Release(i32 %gil)
  call void @set_mode(i64 %mode)
  ret void
}
"""


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p))


def function(address: int) -> Callable[..., int]:
    """The function of Python whose native code stands at this address, which is never given back."""
    method = _Method(NAME.encode(), address, METH_FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p,) * 3
    return make(ctypes.addressof(method), None, None)
