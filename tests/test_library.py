"""Programs as shared libraries: called by C, Rust, Go, and Python without Stele, with the bits that Stele computes."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.call.library import spelled
from stele.errors import ArgumentError, GraphError

CODES = {"sizes": 4, "small": 5, "null": 6, "unprepared": 7}


def compiled(f, *args, **options):
    """A compiled function that was called."""
    program = st.compile(f, **options)
    program(*args)
    return program


class Library:
    """An exported program, called through ctypes: `sizes` first, on so many threads of Python's."""

    def __init__(self, program, folder: Path, name: str = "p") -> None:
        program.export_library(folder, name)
        self.lib, self.name = ctypes.CDLL(str(folder / f"lib{name}.so")), name
        self.f("bytes").restype = ctypes.c_int64

    def f(self, part: str):
        return getattr(self.lib, f"{self.name}_{part}")

    def bytes(self, *sizes: int, threads: int = 1) -> int:
        return self.f("bytes")(*map(ctypes.c_int64, (*sizes, threads)))

    def arena(self, *sizes: int, threads: int = 1):
        bytes_ = self.bytes(*sizes, threads=threads)
        assert bytes_ > 0
        arena = ctypes.create_string_buffer(bytes_)
        assert self.f("prepare")(arena, *map(ctypes.c_int64, (bytes_, *sizes, threads))) == 0
        return arena

    def run(self, arena, arrays, parallel=None) -> int:
        return self.f("run")(arena, parallel, None, *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))


WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, WORK, ctypes.c_void_p, ctypes.c_int64)


@PARALLEL
def backwards(user, work, job, threads: int) -> None:
    """All threads one after the other, the last first: the first that comes takes all tasks."""
    for k in reversed(range(threads)):
        work(job, k)


def same(program, folder: Path, *x: np.ndarray, sizes: tuple[int, ...] = ()) -> None:
    """What the library makes has the bits of what the program makes, at every run of an arena."""
    wanted = [np.asarray(y.numpy()) for y in st_list(program(*x))]
    library = Library(program, folder)
    for threads, parallel in ((1, None), (3, backwards)):
        arena = library.arena(*sizes, threads=threads)
        for _ in range(2):
            made = [np.full_like(y, 1) for y in wanted]
            assert library.run(arena, [*x, *made], parallel) == 0
            for a, b in zip(made, wanted, strict=True):
                assert a.tobytes() == b.tobytes()


def st_list(y):
    return [*y] if isinstance(y, tuple | list) else [y]


def normal(*shape: int, dtype="f4") -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


def mlp():
    st.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 10))
    return compiled(lambda x: st.softmax(model(x), -1), normal(5, 16), dims={"x": {0: "n"}})


def test_open_sizes_are_arguments(tmp_path: Path) -> None:
    f = mlp()
    for n in (5, 1, 33):
        same(f, tmp_path, normal(n, 16), sizes=(n,))


def test_convolutions_weights_and_what_is_kept(tmp_path: Path) -> None:
    st.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(16 * 64, 10)).eval()
    x = normal(2, 3, 16, 16)
    same(compiled(lambda x: model(x), x), tmp_path, x)


def test_loops_branches_sorts_and_several_results(tmp_path: Path) -> None:
    def f(x, k):
        y = st.fori_loop(0, 5, lambda i, y: st.tanh(y @ y) + i, x)
        return st.cond(k[0] > 1, lambda y: y + 1, lambda y: y - 1, y), st.sort(x, axis=-1), x, x.sum() * 0 + 3

    x = normal(6, 6)
    same(compiled(f, x, np.array([2])), tmp_path, x, np.array([2]))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float32", "float64", "complex64",
                                   "complex128"])
def test_every_dtype(tmp_path: Path, dtype: str) -> None:
    x = np.array([[0, 1, 2], [3, 0, 1]]).astype(dtype)
    same(compiled(lambda x: (x + x, x[:, ::-1], x[:0]), x), tmp_path, x)


def test_functions_of_placeholders(tmp_path: Path) -> None:
    x, y = st.placeholder(("n", 3)), st.placeholder(("n",))
    f = st.function([x, y], [(st.exp(x) * y[:, None]).sum(axis=0), x.T])
    same(f, tmp_path, normal(7, 3), normal(7), sizes=(7,))


def test_errors_are_codes(tmp_path: Path) -> None:
    f = compiled(lambda x, k: x[1:][k], normal(4), np.array([1]), dims={"x": {0: "n"}})
    library = Library(f, tmp_path)
    assert library.bytes(0) == library.bytes(-1) == library.bytes(1 << 40) == library.bytes(4, threads=0) == -4
    needed = library.bytes(4)
    small = ctypes.create_string_buffer(needed)
    prepare = lambda memory, bytes_: library.f("prepare")(memory, *map(ctypes.c_int64, (bytes_, 4, 1)))
    assert prepare(small, needed - 1) == CODES["small"] and prepare(None, needed) == CODES["null"]
    x, y = normal(4), np.zeros(1, "f4")
    assert library.run(small, [x, np.array([0]), y]) == CODES["unprepared"]
    arena = library.arena(4)
    assert library.run(arena, [x, np.array([7]), y]) == 1
    assert library.run(arena, [x, np.array([2]), y]) == 0 and y[0] == x[3]
    null = ctypes.c_void_p(None)
    assert library.f("run")(arena, None, None, null, null, null) == CODES["null"]


def test_an_arena_of_another_program_is_told(tmp_path: Path) -> None:
    w = st.ones(4)
    one = Library(compiled(lambda x: x * 2, normal(4)), tmp_path / "one")
    other = Library(compiled(lambda x: x * w, normal(4)), tmp_path / "other", "q")
    x, y = normal(4), np.zeros(4, "f4")
    assert one.run(other.arena(), [x, y]) == other.run(one.arena(), [x, y]) == CODES["unprepared"]
    assert one.run(one.arena(), [x, y]) == other.run(other.arena(), [x, y]) == 0 and np.array_equal(x, y)


def test_arguments_that_are_returned_are_results(tmp_path: Path) -> None:
    f = st.compile(lambda x, z: {"a": x, "none": None, "b": [x + z, z]})
    x, z = normal(3), normal(3) + 1
    f(st.tensor(x), st.tensor(z))
    library = Library(f, tmp_path)
    made = [np.zeros(3, "f4") for _ in range(3)]
    assert library.run(library.arena(), [x, z, *made]) == 0
    for y, want in zip(made, (x, x + z, z), strict=True):
        assert np.array_equal(y, want)


def test_what_is_returned_unread_is_a_result(tmp_path: Path) -> None:
    w, v, x, z = st.tensor(normal(2, 3)), st.tensor([4, 5]), normal(3), normal(4)
    same(compiled(lambda: (w, w)), tmp_path / "nothing")
    fs = [lambda x: x, lambda x: (x, x), lambda x: (w, x * 2, v, w), lambda x: (w * x, w, v)]
    for k, f in enumerate(fs):
        same(compiled(f, x), tmp_path / f"{k}", x)
        st.save(compiled(f, x), tmp_path / "f.st")
        same(compiled(st.load(tmp_path / "f.st"), x), tmp_path / f"{k} loaded", x)
    f = compiled(lambda x, y, z: (z + 1, w, y, x), x, z, z + 1, dims={"x": {0: "n"}, "y": {0: "m"}, "z": {0: "m"}})
    same(f, tmp_path / "open", x, z, z + 1, sizes=(3, 4))


def test_names_are_those_of_c() -> None:
    words = ["n", "class", "x.0", "x_0", "n", "y", "x-y", "2", "ä", "net_run", "y"]
    assert spelled(words, "net") == ["n", "class_", "x_0", "x_0_", "n_", "y", "x_y", "x2", "_", "net_run_", "y_"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_every_name_is_taken_by_a_compiler(tmp_path: Path) -> None:
    def f(n, int, y, arena):
        return n + int, y * arena

    x = normal(4)
    dims = {"n": {0: "n"}, "int": {0: "goto"}, "y": {0: "threads"}, "arena": {0: "main"}}
    compiled(f, x, x + 1, x, x, dims=dims).export_library(tmp_path, "p")
    ran(tmp_path, "cc", "-Wall", "-Werror", "-fsyntax-only", "-I.", "example.c")


def test_what_no_library_holds_is_refused(tmp_path: Path) -> None:
    counter = st.tensor(0.0)

    def counts(x):
        counter.assign(counter + 1)
        return x

    for f, text in ((counts, "rebinds.*no state"), (lambda x: x + st.rand(3), "rebinds"),
                    (lambda x: st.fft.fft(x), "needs Python for .* at .*test_library.py:"),
                    (lambda x: st.linalg.svd(x[None])[2], "needs Python for .* at .*test_library.py:"),
                    (lambda x: (st.debug.print(x), x * 2)[1], "calls debug.print in Python at .*test_library.py:"),
                    (lambda x: None, "returns nothing"), (lambda x: (x * 2, 3), r"st\.tensor\(number\)")):
        with pytest.raises(GraphError, match=text):
            compiled(f, normal(3)).export_library(tmp_path, "p")
    both, one = st.compile(lambda x, z: x * z), st.ones(3)
    both(one, one)
    with pytest.raises(GraphError, match="each a tensor of its own"):
        both.export_library(tmp_path / "both", "both")
    with pytest.raises(GraphError, match="Call it once"):
        st.compile(lambda x: x).export_library(tmp_path, "p")
    with pytest.raises(ArgumentError, match="a name="):
        compiled(lambda x: x, normal(3)).export_library(tmp_path)
    assert not [*tmp_path.iterdir()]


def ran(folder: Path, *command: str) -> str:
    """What a command says in a folder."""
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "p.h"
typedef struct { p_work *work; void *job; int64_t k; } Part;
static void *serve(void *at) { Part *p = at; p->work(p->job, p->k); return NULL; }
static void parallel(void *user, p_work *work, void *job, int64_t threads) {
    pthread_t id[8]; Part part[8];
    for (int64_t k = 0; k < threads; k++) {
        part[k] = (Part){work, job, k}; pthread_create(&id[k], NULL, serve, &part[k]);
    }
    for (int64_t k = 0; k < threads; k++) pthread_join(id[k], NULL);
    ++*(int *)user;
}
int main(void) {
    enum { N = 257 };
    float *x = calloc(N * 16, 4), *a = calloc(N * 10, 4), *b = calloc(N * 10, 4);
    for (int k = 0; k < N * 16; k++) x[k] = (float)(k % 13) - 6;
    int64_t bytes = p_bytes(N, 4); void *arena = malloc(bytes); int calls = 0;
    int32_t code = p_prepare(arena, bytes, N, 4);
    if (!code) code = p_run(arena, NULL, NULL, x, a);
    if (!code) code = p_run(arena, parallel, &calls, x, b);
    for (int k = 0; k < N * 10; k++) if (a[k] != b[k]) return 3;
    printf("%s %d %.6f\n", p_error(code), calls > 0, a[0]);
    return code;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_c_runs_it_and_serves_it_by_threads(tmp_path: Path) -> None:
    mlp().export_library(tmp_path, "p")
    flags = "-std=c11", "-Wall", "-Wextra", "-Werror", "-I.", "-L.", "-Wl,-rpath,.", "-lp"
    ran(tmp_path, "cc", "example.c", "-o", "example", *flags)
    assert ran(tmp_path, "./example").startswith("y[0] = ")
    (tmp_path / "threads.c").write_text(THREADS)
    ran(tmp_path, "cc", "threads.c", "-pthread", "-o", "threads", *flags)
    x = (np.arange(257 * 16) % 13 - 6).astype("f4").reshape(257, 16)
    assert ran(tmp_path, "./threads") == f"all is well 1 {mlp()(x).numpy()[0, 0]:.6f}\n"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_example_has_sizes_at_which_the_program_ran(tmp_path: Path) -> None:
    w = st.ones((2, 3, 7, 7))
    f = compiled(lambda x: nn.functional.conv2d(x, w, stride=2).sum(), st.ones((1, 3, 9, 8)),
                 dims={"x": {0: "n", 2: "h", 3: "w"}})
    st.save(f, tmp_path / "f")
    for k, program in enumerate((f, st.load(tmp_path / "f"))):
        folder = tmp_path / str(k)
        program.export_library(folder, "p")
        text = (folder / "example.c").read_text()
        assert [f"{n} = {k};" in text for n, k in (("n", 1), ("h", 9), ("w", 8))] == [True] * 3
        subprocess.run("cc example.c -I. -L. -Wl,-rpath,. -lp -o example && ./example", shell=True, cwd=folder,
                       check=True)


def test_python_without_stele_runs_it(tmp_path: Path) -> None:
    f, x = mlp(), normal(3, 16)
    f.export_library(tmp_path, "p")
    np.save(tmp_path / "x.npy", x)
    code = """
import sys, numpy as np
from _cffi_backend import FFI
ffi = FFI()
import ctypes
lib = ctypes.CDLL("./libp.so")
at = lambda name, kind: ffi.cast(kind, ctypes.cast(getattr(lib, name), ctypes.c_void_p).value)
x = np.load("x.npy"); y = np.zeros((3, 10), "f4")
n = at("p_bytes", "int64_t(*)(int64_t, int64_t)")(3, 1)
arena = np.zeros(n, "u1")
address = lambda a: ffi.cast("void *", a.ctypes.data)
assert at("p_prepare", "int32_t(*)(void*, int64_t, int64_t, int64_t)")(address(arena), n, 3, 1) == 0
run = at("p_run", "int32_t(*)(void*, void*, void*, void*, void*)")
assert run(address(arena), ffi.NULL, ffi.NULL, address(x), address(y)) == 0
assert not [name for name in sys.modules if name.startswith(("stele", "llvmlite"))]
print(y.tobytes().hex())"""
    assert ran(tmp_path, sys.executable, "-c", code).strip() == f(x).numpy().tobytes().hex()


RUST = """
#[link(name = "p")]
extern "C" {
    fn p_bytes(n: i64, threads: i64) -> i64;
    fn p_prepare(arena: *mut u8, bytes: i64, n: i64, threads: i64) -> i32;
    fn p_run(arena: *mut u8, parallel: *const u8, user: *const u8, x: *const f32, y: *mut f32) -> i32;
}
fn main() {
    let (x, mut y) = (vec![0.5f32; 2 * 16], vec![0f32; 2 * 10]);
    unsafe {
        let bytes = p_bytes(2, 1);
        let mut arena = vec![0u8; bytes as usize];
        assert_eq!(p_prepare(arena.as_mut_ptr(), bytes, 2, 1), 0);
        assert_eq!(p_run(arena.as_mut_ptr(), std::ptr::null(), std::ptr::null(), x.as_ptr(), y.as_mut_ptr()), 0);
    }
    println!("{}", y[3].to_bits());
}
"""


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler is installed")
def test_rust_runs_it(tmp_path: Path) -> None:
    f = mlp()
    f.export_library(tmp_path, "p")
    (tmp_path / "main.rs").write_text(RUST)
    ran(tmp_path, "rustc", "main.rs", "-L", ".", "-C", "link-arg=-Wl,-rpath,.", "-o", "main")
    wanted = f(np.full((2, 16), 0.5, "f4")).numpy()[0, 3].view("u4")
    assert ran(tmp_path, "./main") == f"{wanted}\n"


GO = """
package main

/*
#cgo CFLAGS: -I${SRCDIR}/..
#cgo LDFLAGS: -L${SRCDIR}/.. -lp -Wl,-rpath,${SRCDIR}/..
#include <stdlib.h>
#include "p.h"
*/
import "C"

func main() {
	x, y := make([]C.float, 2*16), make([]C.float, 2*10)
	for k := range x {
		x[k] = 0.5
	}
	bytes := C.p_bytes(2, 1)
	arena := C.malloc(C.size_t(bytes))
	if code := C.p_prepare(arena, bytes, 2, 1); code != 0 {
		panic(C.GoString(C.p_error(code)))
	}
	if code := C.p_run(arena, nil, nil, &x[0], &y[0]); code != 0 {
		panic(C.GoString(C.p_error(code)))
	}
	println(y[3] == C.float(WANTED))
}
"""


@pytest.mark.skipif(shutil.which("go") is None or shutil.which("cc") is None, reason="no Go, or no C compiler for it")
def test_go_runs_it(tmp_path: Path) -> None:
    f = mlp()
    f.export_library(tmp_path, "p")
    wanted = float(f(np.full((2, 16), 0.5, "f4")).numpy()[0, 3])
    folder = tmp_path / "go"        # beside example.c, which Go would compile too
    folder.mkdir()
    (folder / "main.go").write_text(GO.replace("WANTED", repr(wanted)))
    (folder / "go.mod").write_text("module p\n\ngo 1.18\n")
    ran(folder, "go", "build", "-o", "main", ".")
    assert subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stderr == "true\n"
