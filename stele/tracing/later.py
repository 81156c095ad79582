"""Which instructions only make what `st.debug.callback` is given to call later: what these name is not looked at."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import dis
import re
import sys
from collections.abc import Iterable
from types import CodeType
from typing import NamedTuple

Chain = tuple[str, ...]     # names that find something: a global's or a variable's, then those of attributes
SINGLE = sys.version_info >= (3, 12)
CALLS = ("CALL", "CALL_KW") if SINGLE else ("PRECALL",)
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT")
JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
CAPTURE = "LOAD_CLOSURE"    # a variable as it is, for a function that is made
TAKING = "LOAD_ATTR", "LOAD_METHOD"
# What looks at nothing, where all that is called is functools.partial.
PLAIN = (CAPTURE, *TAKING, *CALLS, "CALL", "KW_NAMES", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST", "LOAD_CONST",
         "LOAD_SMALL_INT", "BUILD_TUPLE", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE",
         *(["PUSH_NULL"] if sys.version_info >= (3, 13) else ()))     # which stood before what is called, once
FLAGGED = ("LOAD_GLOBAL", "LOAD_ATTR") if SINGLE else ("LOAD_GLOBAL",)      # whose lowest bit says that it is called


class Given(NamedTuple):
    """What code gives to be called later: the places of the instructions that make it, and the chains that they follow,
    from globals and from variables; the variables that all other instructions use, and the code of functions that these
    make, each with the variable that it stands under, if one does.
    """

    at: frozenset[int] = frozenset()
    globals: frozenset[Chain] = frozenset()
    variables: frozenset[Chain] = frozenset()
    used: frozenset[str] = frozenset()
    made: tuple[tuple[CodeType, str], ...] = ()


def callees(code: CodeType) -> frozenset[Chain]:
    """The chains of what is called `callback`, and `partial`, in code that names the first.

    >>> callees((lambda x: st.debug.callback(print, x)).__code__)
    frozenset({('st', 'debug', 'callback')})
    """
    if "callback" not in code.co_names:
        return frozenset()
    text = Text(code)
    return frozenset(text.chain(k) for k, i in enumerate(text.steps) if i.argval in ("callback", "partial")) - {()}


def given(code: CodeType, later: frozenset[Chain]) -> Given:
    """What code gives to `st.debug.callback`, where `later` are the chains of that and of functools.partial.

    >>> found = given((lambda x: st.debug.callback(log.append, x)).__code__, frozenset({("st", "debug", "callback")}))
    >>> found.globals, found.used
    (frozenset({('log', 'append')}), frozenset({'x'}))
    """
    text = Text(code)
    depths = text.depths()
    inside = {k for start, i in enumerate(text.steps) if i.argval == "callback" and text.chain(start) in later
              for k in text.first(start + 1, depths, later)}
    made = [(k, i.argval, *text.stored(k + 1)) for k, i in enumerate(text.steps)
            if isinstance(i.argval, CodeType) and k not in inside]
    apart = inside.union(store for _, _, store, _ in made)
    used = {i.argval for k, i in enumerate(text.steps) if k not in apart and (i.opname == "LOAD_FAST" or (
        i.opcode in dis.hasfree and i.opname not in (CAPTURE, "MAKE_CELL", "COPY_FREE_VARS")))}
    return Given(frozenset(text.steps[k].offset for k in inside), text.chains(inside, "LOAD_GLOBAL") - later,
                 text.chains(inside, "LOAD_DEREF", "LOAD_FAST"), frozenset(used),
                 tuple((part, name) for _, part, _, name in made))


class Text:
    """The instructions of code, as if each was about one variable and none had a prefix."""

    def __init__(self, code: CodeType) -> None:
        self.steps: list[dis.Instruction] = []
        self.number: dict[int, int] = {}    # by place
        self.outer = code.co_freevars
        cells = {*code.co_cellvars, *code.co_freevars}
        for i in dis.get_instructions(code):
            self.number[i.offset] = len(self.steps)
            if i.opname == "KW_NAMES":
                self.steps.append(i._replace(argval=code.co_consts[i.arg or 0]))
            elif i.opcode not in dis.haslocal:
                self.steps += [i] * (i.opname != "EXTENDED_ARG")
            else:
                names: tuple[str, ...] = i.argval if isinstance(i.argval, tuple) else (i.argval,)
                for kind, name in zip(re.findall("(?:LOAD|STORE|DELETE)_FAST", i.opname), names, strict=True):
                    word = CAPTURE if kind == "LOAD_FAST" and name in cells else kind
                    self.steps.append(i._replace(opname=word, opcode=dis.opmap[kind], argval=name))

    def depths(self) -> dict[int, int]:
        """How many values lie on the stack before each instruction to which no error leads."""
        found: dict[int, int] = {}
        waiting = [(0, 0)]
        while waiting:
            k, depth = waiting.pop()
            while k not in found:
                found[k], i = depth, self.steps[k]
                if i.opcode in JUMPS:
                    waiting.append((self.number[i.argval], depth + dis.stack_effect(i.opcode, i.arg, jump=True)))
                if i.opname in ENDS:
                    break
                k, depth = k + 1, depth + effect(i)
        return found

    def chain(self, k: int) -> Chain:
        """The names that find what an instruction takes, from a global on."""
        names: list[str] = [self.steps[k].argval]
        while self.steps[k].opname in TAKING:
            k -= 1
            names.append(self.steps[k].argval)
        return tuple(reversed(names)) if self.steps[k].opname == "LOAD_GLOBAL" else ()

    def first(self, begin: int, depths: dict[int, int], later: frozenset[Chain]) -> Iterable[int]:
        """The instructions that make the first argument of a call, from where these begin, if they look at nothing:
        none where that cannot be told.
        """
        begin += self.steps[begin].opname == "PUSH_NULL"
        end, floor = begin, depths.get(begin, 0)
        for k, i in enumerate(self.steps[begin:], begin):
            after = depths.get(k, 0) + effect(i)
            if after <= floor:
                named = self.steps[k - 1].argval if "KW" in f"{i.opname} {self.steps[k - 1].opname}" else ()
                found = range(begin, end) if begin in depths and i.opname in CALLS and len(named) < (i.arg or 0) else ()
                return found if all(self.is_plain(j, later) for j in found) else ()
            if after == floor + 1 and i.opcode not in JUMPS:
                end = k + 1
        return ()

    def is_plain(self, k: int, later: frozenset[Chain]) -> bool:
        """Whether an instruction looks at nothing, and is none that takes what is called then, but for `later`."""
        i, end = self.steps[k], k - 1 if self.steps[k].opname == "PUSH_NULL" else self.end(k)
        called = i.opname in ("LOAD_METHOD", "PUSH_NULL") or (i.opname in FLAGGED and (i.arg or 0) & 1)
        return i.opname in PLAIN and (not called or self.chain(end) in later)

    def end(self, k: int) -> int:
        """Where the attributes end that are taken of what an instruction finds."""
        while self.steps[k + 1].opname in TAKING:
            k += 1
        return k

    def stored(self, k: int) -> tuple[int, str]:
        """Where a function, whose making goes on there, is put into a variable of this code, and which, if it is."""
        while self.steps[k].opname in ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"):
            k += 1
        is_own = self.steps[k].opname in ("STORE_FAST", "STORE_DEREF") and self.steps[k].argval not in self.outer
        return (k, self.steps[k].argval) if is_own else (-1, "")

    def chains(self, at: Iterable[int], *words: str) -> frozenset[Chain]:
        """The names that instructions of these words begin to follow."""
        return frozenset(tuple(i.argval for i in self.steps[k:self.end(k) + 1]) for k in at
                         if self.steps[k].opname in words)


def effect(i: dis.Instruction) -> int:
    """By how much an instruction changes the depth of the stack, where it does not jump."""
    return dis.stack_effect(i.opcode, i.arg, jump=False)
