"""A traced function as a folder that C takes: a shared library, its header, an example, and what pkg-config reads."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stele import files
from stele.backend.cpu.serve import MESSAGES
from stele.call.plan import Plan
from stele.errors import ArgumentError, GraphError
from stele.ir.graph import Array, walk
from stele.ir.origin import lines
from stele.ir.types import HOME, Type
from stele.ops.called import Called
from stele.ops.foreign import Foreign
from stele.pipeline import Options, exported
from stele.tracing.trace import Traced, answered

C_TYPES = {"float32": "float", "float64": "double", "bool": "uint8_t", "float16": "uint16_t", "bfloat16": "uint16_t",
           "complex64": "float", "complex128": "double"}


WORDS = frozenset(re.findall(r"\w+", """
    alignas alignof and and_eq arena asm auto bitand bitor bool break bytes calloc case catch char class code compl
    const constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false
    float for fprintf friend goto if inline int int16_t int32_t int64_t int8_t long main malloc mutable namespace
    new noexcept not not_eq nullptr operator or or_eq parallel printf private protected public register restrict
    return short signed size_t sizeof static static_assert stderr struct switch template this thread_local threads
    throw true try typedef typeid typename typeof uint16_t uint32_t uint64_t uint8_t union unsigned user using
    virtual void volatile while xor xor_eq NULL"""))
"""What no array and no size of a header is called: words of C and C++, and what headers and examples call their own."""
Named = tuple[str, str, Type]
"""An array: its name, how many numbers it has, in C, and its type."""


@dataclass(frozen=True)
class Interface:
    """What a library's functions take: sizes, with those of the example, inputs and outputs by name; and what CPUs."""

    name: str
    sizes: Mapping[str, int]
    inputs: Sequence[Named]
    outputs: Sequence[Named]
    target: str


def export(plan: Plan, name: str, names: Sequence[str], folder: str | Path, options: Options,
           shown: Mapping[str, int]) -> None:
    """Writes the library of a plan whose arguments have these names, with an example of sizes that are `shown`.

    Raises GraphError for what needs Python or state, ArgumentError for a name that C does not take.
    """
    if not name.isidentifier() or not name.isascii():
        raise ArgumentError(f"a library is called what C functions may be, got {name!r}", hint="Give it a name=.")
    for v in plan.traced.graph.everything:
        if isinstance(v.op, Called) and v.op.found.in_turn:
            raise GraphError(f"{name} calls {v.op.name} in Python at {', '.join(lines(v.where))}, which no library has",
                             hint="Leave it out of what is exported, or return what it is to see.")
    if plan.traced.changes:
        raise stateful(name)
    traced, _ = answered(plan.traced)
    graph = traced.graph
    if any(v.type.device != HOME for v in walk([*graph.parameters, *graph.results])):
        raise GraphError(f"{name} runs on several devices, a library on the host alone")
    if any(isinstance(v.op, Foreign) for v in graph.everything):
        raise GraphError(f"{name} calls a function of C, whose address is this process's own",
                         hint="Call it from the C that calls the library.")
    leaf = [plan.getters[k][1] if kind == "handle" and plan.getters[k][0] is None else k if kind == "argument" else None
            for kind, k in traced.inputs] + [None] * len(traced.constants)
    held = {k: state(plan, traced, k) for k, place in enumerate(leaf) if place is None}
    library, sizes, target = exported(graph, name, held, options)
    inputs = [(names[place], p.type) for place, p in zip(leaf, graph.parameters) if place is not None]
    outputs = [(f"y{j}" if len(graph.results) > 1 else "y", v.type) for j, v in enumerate(graph.results)]
    known = spelled([*sizes, *(n for n, _ in inputs), *(n for n, _ in outputs)], name)
    own = dict(zip(sizes, known))
    arrays = [(n, count(t, own), t) for n, (_, t) in zip(known[len(sizes):], [*inputs, *outputs])]
    at = {word: shown.get(n, 4) for n, word in own.items()}
    write(Path(folder), library, Interface(name, at, arrays[:len(inputs)], arrays[len(inputs):], target))


def stateful(name: str) -> GraphError:
    """The error for what has effects."""
    return GraphError(f"{name} rebinds what lies outside of it, and a library has no state",
                      hint="Take what changes as an argument and return it; st.rand and the like count as such.")


def spelled(names: Sequence[str], library: str) -> list[str]:
    """Names as C and C++ may have them in the functions of a library, each another.

    >>> spelled(["n", "x.0", "int", "n"], "net")
    ['n', 'x_0', 'int_', 'n_']
    """
    taken = WORDS | {f"{library}_{word}" for word in ("bytes", "error", "parallel", "prepare", "run", "work")}
    made: list[str] = []
    for name in names:
        word = re.sub(r"\W", "_", re.sub(r"^(?=\d)", "x", name), flags=re.ASCII)
        while word in taken or word in made:
            word += "_"
        made.append(word)
    return made


def state(plan: Plan, traced: Traced, k: int) -> Array:
    """The numbers of a parameter that no caller gives."""
    if k >= len(traced.inputs):
        return plan.constants[k - len(traced.inputs)].array
    kind, place = traced.inputs[k]
    if kind == "array":
        return np.ascontiguousarray(plan.arrays[place].get())
    base, key = plan.getters[place]
    assert base is not None
    return np.ascontiguousarray(base[key].numpy())


def write(folder: Path, library: bytes, face: Interface) -> None:
    """The files of a library."""
    files.usable_folder(folder)
    files.write(folder / f"lib{face.name}.so", library, mode=0o777)
    files.write(folder / f"{face.name}.h", header(face).encode())
    files.write(folder / "example.c", example(face).encode())
    files.write(folder / f"{face.name}.pc", pkg_config(face).encode())


def c_type(type: Type) -> str:
    """An element as C has it: halves and bfloat16 by their bits, complex numbers as two."""
    return C_TYPES.get(type.dtype.name, f"{type.dtype.name}_t")


def arguments(face: Interface) -> str:
    """The inputs and outputs of a run."""
    given = [f"const {c_type(t)} *{n}" for n, _, t in face.inputs]
    return ", ".join([*given, *(f"{c_type(t)} *{n}" for n, _, t in face.outputs)])


def header(face: Interface) -> str:
    """The header of a library."""
    name = face.name
    types = "\n".join(f"     {n:12} {t}" for n, _, t in (*face.inputs, *face.outputs))
    codes = "\n".join(f"     {code}  {text}" for code, text in enumerate(MESSAGES))
    return f"""/* {name}: a program compiled by Stele for {face.target}.
   It needs the C library's memcpy, memmove and memset alone.

   Arrays are dense, the last axis first in memory, and do not overlap; bool is 0 or 1, float16 and bfloat16 are bits,
   a complex number is two numbers:

{types}

   Each call has memory of its own, an arena: {name}_bytes says how many bytes, {name}_prepare makes it ready, at these
   sizes and for so many threads, {name}_run uses it as often as you like. The first run of an arena also lays out
   weights in it, so it takes longer. Several arenas may run at once.

   Codes ({name}_error says them; {name}_bytes returns them negative):
{codes}
*/
{declared(face)}"""


def declared(face: Interface) -> str:
    """What a header declares."""
    name, sizes = face.name, "".join(f"int64_t {n}, " for n in face.sizes)
    texts = "\n".join(f'    case {code}: return "{text}";' for code, text in enumerate(MESSAGES))
    return f"""#ifndef STELE_{name}_H
#define STELE_{name}_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

/* A part of a run: to be called with each thread number from 0 to threads - 1, in any order, at once or not. */
typedef void {name}_work(void *job, int64_t thread);
/* Yours: calls work(job, k) for each k of 0 ... threads - 1 on threads of your own, and returns once all have. */
typedef void {name}_parallel(void *user, {name}_work *work, void *job, int64_t threads);

int64_t {name}_bytes({sizes}int64_t threads);
int32_t {name}_prepare(void *arena, int64_t bytes, {sizes}int64_t threads);
/* With parallel NULL all runs on the caller's thread. */
int32_t {name}_run(void *arena, {name}_parallel *parallel, void *user, {arguments(face)});

static inline const char *{name}_error(int32_t code) {{
    switch (code) {{
{texts}
    default: return "no code of this library";
    }}
}}

#ifdef __cplusplus
}}
#endif
#endif
"""


def count(type: Type, own: Mapping[str, str]) -> str:
    """How many numbers an array has, in C, where quotients are of what is positive, and sizes have their own names."""
    text = " * ".join([*(f"({n})".replace("//", "/") for n in type.shape), "2" if type.dtype.is_complex else "1"])
    return re.sub(r"[^\W\d]\w*", lambda found: own.get(found[0], found[0]), text)


def example(face: Interface) -> str:
    """A program in C that runs it once."""
    name, arrays = face.name, [*face.inputs, *face.outputs]
    sizes = "".join(f"{n}, " for n in face.sizes)
    made = "\n".join(f"    {c_type(t)} *{n} = calloc({size}, sizeof *{n});" for n, size, t in arrays)
    shown = "\n".join(f'    if ({size} > 0) printf("{n}[0] = %g\\n", (double){n}[0]);' for n, size, _ in face.outputs)
    opened = "".join(f"    const int64_t {n} = {k};\n" for n, k in face.sizes.items())
    return f"""/* cc example.c -I. -L. -Wl,-rpath,. -l{name} -o example && ./example
   or, with this folder in PKG_CONFIG_PATH, cc example.c $(pkg-config --cflags --libs {name}) -o example */
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

int main(void) {{
{opened}{made}
    const int64_t bytes = {name}_bytes({sizes}1);
    if (bytes < 0) return fprintf(stderr, "%s\\n", {name}_error((int32_t)-bytes)), 1;
    void *arena = malloc((size_t)bytes);
    int32_t code = {name}_prepare(arena, bytes, {sizes}1);
    if (!code) code = {name}_run(arena, NULL, NULL, {", ".join(n for n, *_ in arrays)});
    if (code) return fprintf(stderr, "%s\\n", {name}_error(code)), 1;
{shown}
    return 0;
}}
"""


def pkg_config(face: Interface) -> str:
    """What pkg-config reads: where it lies is where the library lies."""
    return f"""prefix=${{pcfiledir}}
Name: {face.name}
Description: a program compiled by Stele
Version: 1
Cflags: -I${{prefix}}
Libs: -L${{prefix}} -Wl,-rpath,${{prefix}} -l{face.name}
"""
