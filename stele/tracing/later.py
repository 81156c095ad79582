"""Which instructions only make what `st.debug.callback` is given to call later: what these name is not looked at."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import dis
import re
import sys
from collections.abc import Iterable
from types import CodeType
from typing import NamedTuple

Chain = tuple[str, ...]     # names that find something: a global's, then those of attributes
Holder = str | tuple[str]   # the name of an attribute or a variable, or of a global in a tuple
SINGLE = sys.version_info >= (3, 12)
CALLS = ("CALL", "CALL_KW") if SINGLE else ("PRECALL",)
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT")
JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
CAPTURE = "LOAD_CLOSURE"    # a variable as it is, for a function that is made
STORES = "STORE_FAST", "STORE_DEREF"
TAKING = "LOAD_ATTR", "LOAD_METHOD"
FINDING = "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST"
LISTING = "BUILD_LIST", "BUILD_TUPLE"       # arguments of a call with stars, and what adds those to them
ADDING = "LIST_EXTEND", "LIST_APPEND", "LIST_TO_TUPLE", "CALL_INTRINSIC_1"
PARTIAL = "partial"
# What looks at nothing, where all that is called is functools.partial.
PLAIN = (CAPTURE, *FINDING, *TAKING, *CALLS, "CALL", "KW_NAMES", "LOAD_CONST", "LOAD_SMALL_INT",
         "BUILD_TUPLE", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE",
         *(["PUSH_NULL"] if sys.version_info >= (3, 13) else ()))     # which stood before what is called, once
FLAGGED = ("LOAD_GLOBAL", "LOAD_ATTR") if SINGLE else ("LOAD_GLOBAL",)      # whose lowest bit says that it is called


class Part(NamedTuple):
    """Instructions of a code, by their places: those that make what a variable of this `name` holds, or without a name
    what is called later, and look at nothing; or all others. The names that they follow, from globals and variables on,
    the variables that they use, and the code of functions that they make.
    """

    name: str = ""
    at: frozenset[int] = frozenset()
    ways: frozenset[tuple[Holder, ...]] = frozenset()
    used: frozenset[str] = frozenset()
    made: tuple[CodeType, ...] = ()


def callees(code: CodeType) -> frozenset[Chain]:
    """The chains of what is called `callback`, and `partial`, in code that names one of them.

    >>> callees((lambda x: st.debug.callback(print, x)).__code__)
    frozenset({('st', 'debug', 'callback')})
    """
    if {"callback", PARTIAL}.isdisjoint(code.co_names):
        return frozenset()
    text = Text(code)
    return frozenset(text.chain(k) for k, i in enumerate(text.steps) if i.argval in ("callback", PARTIAL)) - {()}


def parts(code: CodeType, later: frozenset[Chain]) -> list[Part]:
    """What of code runs in any case, then what it gives to `st.debug.callback` and what it puts into variables, where
    `later` are the chains of that and of functools.partial.

    >>> code, later = (lambda x: st.debug.callback(log.append, x)).__code__, frozenset({("st", "debug", "callback")})
    >>> runs, given = parts(code, later)
    >>> given.ways, runs.used
    (frozenset({(('log',), 'append')}), frozenset({'x'}))
    """
    text = Text(code)
    found = [("", text.first(k + 1, later)) for k, i in enumerate(text.steps)
             if i.argval != PARTIAL and text.chain(k) in later]
    found += [(i.argval, text.top(k, later)) for k, i in enumerate(text.steps)
              if i.opname in STORES and i.argval not in code.co_freevars]
    apart = {k for name, at in found for k in (*at, *([at.stop] if name and at else ()))}
    rest = (k for k in range(len(text.steps)) if k not in apart)
    return [text.part("", rest), *(text.part(name, at) for name, at in found if at)]


class Text:
    """The instructions of code, as if each was about one variable and none had a prefix."""

    def __init__(self, code: CodeType) -> None:
        self.steps: list[dis.Instruction] = []
        self.number: dict[int, int] = {}    # by place
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
        self.targets = {self.number[i.argval] for i in self.steps if i.opcode in JUMPS}
        self.depths = self.measured()

    def measured(self) -> dict[int, int]:
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

    def first(self, begin: int, later: frozenset[Chain]) -> range:
        """The instructions that make the first argument of a call, from where these begin, if they look at nothing:
        none where that cannot be told.
        """
        begin += self.steps[begin].opname == "PUSH_NULL"
        floor, ends = self.depths.get(begin, 0), list[int]()
        call = begin
        while (after := self.depths.get(call, 0) + effect(self.steps[call])) > floor:
            ends += [call] if after == floor + 1 else []
            call += 1
        i, names = self.steps[call], self.steps[call - 1].argval
        if i.opname == "CALL_FUNCTION_EX":
            while ends and self.steps[ends[-1]].opname in ADDING:
                ends.pop()
            is_first = bool(ends) and self.steps[ends.pop()].opname in LISTING
        else:
            named = names if "KW" in f"{i.opname} {self.steps[call - 1].opname}" else ()
            is_first = i.opname in CALLS and len(named) < (i.arg or 0)
        return self.plain(range(begin, ends[-1] + 1 if ends and is_first else begin), later)

    def top(self, end: int, later: frozenset[Chain]) -> range:
        """The instructions that make what lies on top of the stack before another one, if they look at nothing: none
        where that cannot be told.
        """
        begin, floor = end - 1, self.depths.get(end, 0) - 1
        while self.depths.get(begin, floor) > floor:
            begin -= 1
        is_one = self.depths.get(begin) == floor and self.targets.isdisjoint(range(begin + 1, end + 1))
        return self.plain(range(begin, end if is_one else begin), later)

    def plain(self, at: range, later: frozenset[Chain]) -> range:
        """These instructions, if they look at nothing."""
        return at if at.start in self.depths and all(self.is_plain(k, later) for k in at) else range(0)

    def is_plain(self, k: int, later: frozenset[Chain]) -> bool:
        """Whether an instruction looks at nothing, and is none that takes what is called then, but for partial."""
        i, end = self.steps[k], k - 1 if self.steps[k].opname == "PUSH_NULL" else self.end(k)
        called = i.opname in ("LOAD_METHOD", "PUSH_NULL") or (i.opname in FLAGGED and (i.arg or 0) & 1)
        return i.opname in PLAIN and (not called or (self.steps[end].argval == PARTIAL and self.chain(end) in later))

    def end(self, k: int) -> int:
        """Where the attributes end that are taken of what an instruction finds."""
        while self.steps[k + 1].opname in TAKING:
            k += 1
        return k

    def part(self, name: str, at: Iterable[int]) -> Part:
        """What instructions are for."""
        steps = {k: self.steps[k] for k in at}
        ways = (((i.argval,) if i.opname == "LOAD_GLOBAL" else i.argval, *(
            j.argval for j in self.steps[k + 1:self.end(k) + 1])) for k, i in steps.items() if i.opname in FINDING)
        used = (i.argval for i in steps.values() if i.opname == "LOAD_FAST" or (
            i.opcode in dis.hasfree and i.opname not in (CAPTURE, "MAKE_CELL", "COPY_FREE_VARS")))
        return Part(name, frozenset(i.offset for i in steps.values()), frozenset(ways), frozenset(used),
                    tuple(i.argval for i in steps.values() if isinstance(i.argval, CodeType)))


def effect(i: dis.Instruction) -> int:
    """By how much an instruction changes the depth of the stack, where it does not jump."""
    return dis.stack_effect(i.opcode, i.arg, jump=False)
