"""Which names code looks up, as its instructions say: globals, attributes, methods, and names only a run can tell."""
from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from stele.tracing.later import SINGLE, Chain, Holder, Part, callees, parts

# What an instruction does with co_names[arg >> shift]. Low bits of arg say more from Python 3.11 on (LOAD_GLOBAL) and
# 3.12 on (LOAD_ATTR, where the lowest one is set for a call of a method, which LOAD_METHOD was before).
CALL = "CALL" if SINGLE else "PRECALL"
GLOBAL, ATTRIBUTE, METHOD, MODULE, STORED, MATCH, EITHER = range(7)
INSTRUCTIONS = {
    "LOAD_GLOBAL":     (GLOBAL, 1),
    "STORE_GLOBAL":    (GLOBAL, 0),
    "DELETE_GLOBAL":   (GLOBAL, 0),
    "LOAD_NAME":       (GLOBAL, 0),
    "LOAD_FROM_DICT_OR_GLOBALS": (GLOBAL, 0),
    "LOAD_ATTR":       (EITHER, 1) if SINGLE else (ATTRIBUTE, 0),
    "LOAD_SUPER_ATTR": (EITHER, 2),
    "LOAD_METHOD":     (METHOD, 0),
    "STORE_ATTR":      (STORED, 0),
    "DELETE_ATTR":     (ATTRIBUTE, 0),
    "IMPORT_FROM":     (ATTRIBUTE, 0),
    "IMPORT_NAME":     (MODULE, 0),
    "MATCH_CLASS":     (MATCH, 0),
}
ROLES = {dis.opmap[name]: role for name, role in INSTRUCTIONS.items() if name in dis.opmap}
TAKING, GIVING, REBINDING, WITHIN = ({dis.opmap[name] for name in words.split() if name in dis.opmap} for words in (
    "LOAD_ATTR LOAD_METHOD", "LOAD_GLOBAL LOAD_ATTR", "STORE_GLOBAL DELETE_GLOBAL", "CACHE EXTENDED_ARG"))
BY_NAME = ("getattr", "setattr", "hasattr", "delattr")      # take the name of an attribute as their second argument
ANY_ATTRIBUTE = frozenset(("vars", "__dict__", "attrgetter", "asdict", "astuple", "__getattribute__"))
UNSEEDED = "default_rng()"      # a method's name for what gives other numbers every time
ANY_GLOBAL = frozenset(("eval", "exec", "__globals__"))


class Taken(NamedTuple):
    """An attribute that is taken of what a name holds, maybe only to call it."""

    holder: Holder
    name: str
    is_called: bool


class Names(NamedTuple):
    """Names that code looks up: as globals, as attributes, as attributes only to call them, as modules to import, as
    attributes or globals (in a tuple) that it sets; what it takes of that which a name holds; whether it may look
    up any global, or any attribute, by a name that it computes; and the chains of what may call `later` what it is
    given, of what is given to that, and the variables that all else uses.
    """

    globals: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    stored: frozenset[Holder] = frozenset()
    taken: frozenset[Taken] = frozenset()
    any_global: bool = False
    any_attribute: bool = False
    later: frozenset[Chain] = frozenset()
    given: frozenset[tuple[Holder, ...]] = frozenset()
    used: frozenset[str] = frozenset()

    def __or__(self, other: Names) -> Names:  # type: ignore[override]
        return Names(*(mine | its for mine, its in zip(self, other)))    # type: ignore[operator]


@lru_cache(maxsize=4096)
def names_of(code: CodeType, later: frozenset[Chain] = frozenset()) -> Names:
    """The names that code, or code inside of it, looks up, but for what is given to those that `later` finds.

    >>> def f(x): return x.size + scale.of(x) + getattr(x, "ndim")
    >>> found = names_of(f.__code__)
    >>> sorted(found.globals), sorted(found.attributes), sorted(found.methods), found.any_attribute
    (['getattr', 'scale'], ['ndim', 'size'], [], False)
    >>> [*found.taken]
    [Taken(holder=('scale',), name='of', is_called=True)]
    """
    found: tuple[set[Any], ...] = set(), set(), set(), set(), set(), set()
    taken = set[Taken]()
    inner = tuple(x for x in code.co_consts if isinstance(x, CodeType))
    first, *others = parts(code, later) if later else [Part(made=inner)]
    own, running, held = Names(), [first], others
    while running:      # what a variable holds counts where more is done with it than to give it
        for part in running:
            for names in (Names(used=part.used), *(names_of(x, later) for x in part.made)):
                own |= names
        running = [part for part in held if part.name in own.used]
        held = [part for part in held if part not in running]
    for role, name, holder in uses(code, frozenset[int]().union(*(part.at for part in held))):
        if holder is None:
            found[role].add(name)
        else:
            taken.add(Taken(holder, str(name), role == METHOD))
    loaded, attributes, methods, _, stored, matched = found
    mentioned = loaded | attributes | methods | stored | {x.name for x in taken}
    any_global = not mentioned.isdisjoint(ANY_GLOBAL)
    any_attribute = bool(matched) or not mentioned.isdisjoint(ANY_ATTRIBUTE)
    if "globals" in loaded:
        keys = constants(code, "globals", key_of)
        loaded |= {key for key in keys if key is not None}
        any_global |= None in keys
    for name in BY_NAME:
        if name in loaded:
            keys = constants(code, name, second_argument)
            attributes |= {key for key in keys if key is not None}
            stored |= {key for key in keys if key is not None and name == "setattr"}
            any_attribute |= None in keys
    if "__setattr__" in mentioned:
        stored |= {key for key in code.co_consts if isinstance(key, str)}
    called: Finder = lambda text: "" if (text[0].opname, text[0].arg) == (CALL, 0) else None
    methods |= {UNSEEDED for name in {"default_rng", "RandomState"} & mentioned if "" in constants(code, name, called)}
    given = {*own.given}.union(*(part.ways for part in held))
    for part in reversed(held):     # from a variable on goes what it holds
        given |= {(*way, *rest) for way in part.ways for name, *rest in given if name == part.name}
    return own | Names(*map(frozenset, found[:MATCH]), taken=frozenset(taken), any_global=any_global,
                       any_attribute=any_attribute, later=callees(code), given=frozenset(given))


def uses(code: CodeType, left: frozenset[int]) -> Iterator[tuple[int, Holder, Holder | None]]:
    """The instructions that look up names, but for those that are `left` out: what they do, the name, and of an
    attribute what name holds that of which it is taken, None where that is not said: where the instruction before gives
    it on one of several ways alone, say.
    """
    text, names, high, holder = code.co_code, code.co_names, 0, None
    labels = frozenset(dis.findlabels(text))     # type: ignore[arg-type]
    for at in range(0, len(text), 2):
        op, arg = text[at], text[at + 1] | high
        high = arg << 8 if op == dis.EXTENDED_ARG else 0
        if at in labels or at in left:
            holder = None
        if op in ROLES and at not in left:
            role, shift = ROLES[op]
            if role == EITHER:
                role = METHOD if arg & 1 else ATTRIBUTE
            name = names[arg >> shift] if role != MATCH else ""
            if op in REBINDING:
                yield STORED, (name,), None
            yield role, name, holder if op in TAKING else None
            holder = ((name,) if role == GLOBAL else name if role == ATTRIBUTE else None) if op in GIVING else None
        elif op not in WITHIN:
            holder = None


Finder = Callable[[Sequence[dis.Instruction]], str | None]


def constants(code: CodeType, function: str, found: Finder) -> set[str | None]:
    """The constant names that calls of a builtin function take, and None where one takes another."""
    text = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    return {found(text[at + 1:]) for at, i in enumerate(text) if i.argval == function and i.opname in INSTRUCTIONS}


def key_of(text: Sequence[dis.Instruction]) -> str | None:
    """The name in `globals()["name"]`, from the call on."""
    match [i for i in text[:4] if i.opname != "PRECALL"]:
        case [call, key, entry, *_] if (call.opname, call.arg, key.opname) == ("CALL", 0, "LOAD_CONST"):
            return key.argval if entry.opname.endswith("_SUBSCR") or entry.opname == "BINARY_OP" else None
        case _:
            return None


def second_argument(text: Sequence[dis.Instruction]) -> str | None:
    """The name in `getattr(x, "name")` or `getattr(x, "name", default)`, from the first argument on."""
    began: dict[int, int] = {}
    depth = 0
    for at, i in enumerate(text):
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            return None
        if i.opname == CALL and depth == i.arg:
            name, end = began.get(2, at), began.get(3, at)
            alone = end == name + 1 and text[name].opname == "LOAD_CONST"
            return text[name].argval if alone and isinstance(text[name].argval, str) else None
        before, depth = depth, depth + dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None)
        began = {level: k for level, k in began.items() if level <= depth} | dict.fromkeys(
            range(before + 1, depth + 1), at)
    return None
