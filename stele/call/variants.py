"""The plans of one compiled function: found by a call's arguments, made where none fits, dropped when unused."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from stele.backend.base import Program
from stele.backend.locks import held
from stele.backend.newest import Newest
from stele.call.plan import Plan, donations, running, steady
from stele.call.reasons import ANOTHER, Asked, Compile, Traces, Variant, shown, why
from stele.call.straight import CALLS, MISS, Call, straight
from stele.eager.follow import making
from stele.eager.handle import Handle
from stele.errors import TraceError
from stele.ir.origin import here, lines, note
from stele.ir.sizes import Size
from stele.ir.stages import show
from stele.ir.types import Guard, Sizes
from stele.ir.types import show as shape_text
from stele.pipeline import Options, build
from stele.tracing import tree
from stele.tracing.general import freed, general
from stele.tracing.signature import Dims, Shapes, declare, family, kind, leaf_names, match, shape_of, signature, widen
from stele.tracing.state import CODE, SCALARS, is_data
from stele.tracing.trace import Traced, trace

MANY = 8        # traces of one call pattern after which a changing number is worth a warning
MOST = 32       # plans kept of one call pattern
PROGRAMS = 64   # programs kept of one function
PATTERNS = 1024     # call patterns whose plans are kept, of those that were asked for last
UNREAD = "what no trace has read"


class Entry(NamedTuple):
    """A plan, the sizes at which it runs, and its call written for them."""

    plan: Plan
    sizes: Mapping[str, int]
    call: Call


class Variants:
    """Plans of a function: `at_hand` by the exact shapes and numbers of arguments, `all` by what of them a graph
    depends on; `programs` by what they were asked for, why each was made, and how often each had been `called` when
    the last was made.

    An object among the arguments is one whose state is found, and another one is traced anew. Of a class of which a
    second object comes that holds nothing but data, all objects are `apart` from then on, as dicts are: what they hold
    is given, and any object will do. Objects whose methods are compiled, or called by callbacks, stay `whole`.
    """

    def __init__(self, function: Callable[..., Any], dims: Dims, options: Options) -> None:
        self.function, self.dims, self.options = function, dims, options
        self.name = getattr(function, "__name__", type(function).__name__)
        self.at_hand: Newest[Any, list[Entry]] = Newest(CALLS)
        self.all: Newest[Any, list[Variant]] = Newest(PATTERNS)
        self.programs: dict[Any, Program] = {}
        self.reasons: dict[Any, Compile] = {}
        self.called: dict[Any, int] = {}
        self.history: Newest[Any, Traces] = Newest(PATTERNS)
        self.closed: Newest[Any, bool] = Newest(PATTERNS)
        self.met: dict[Any, Any] = {}       # the first object of each class
        self.apart: set[Any] = set()
        self.whole: set[Any] = set()
        self.unread: Newest[Any, frozenset[int]] = Newest(CALLS)    # of calls of one structure: leaves nobody has read
        self.any_unread = False
        self.traces = 0

    @property
    def traced(self) -> list[Traced]:
        """What all traces have shown."""
        return [variant.plan.traced for variants in self.all.values() for variant in variants]

    def example(self, plan: Plan) -> Mapping[str, int]:
        """Sizes at which a plan was called, for what types assume of open ones."""
        return next((entry.sizes for found in self.at_hand.values() for entry in found if entry.plan is plan), {})

    def call(self, key: Any, leaves: Sequence[Any], spec: tree.Spec | None) -> Any:
        """A call whose exact shapes are new, or whose guards have changed: by a plan that there is, or by a new one."""
        shapes = tuple(shape_of(x) for x in leaves)
        with held():
            for entry in self.at_hand.get(key, ()):     # made by another thread, while this one waited
                if (made := entry.call(leaves)) is not MISS:
                    return made
            if (made := self.known(key, spec, leaves, shapes)) is not MISS:
                return made
            variants, told = self.patterns(key, spec, leaves), self.told(spec, leaves)
            asked = Asked(lines(here()), (*key[:3], *map(kind, told)), shapes,
                          {name: shown(x) for name, x in zip(leaf_names(self.function, spec), told)})
            reason = why(asked, self.history, variants, self.function)
            plan, sizes = self.specialised(variants, spec, leaves, shapes, reason)
            before, unread = self.unread.get(spec), plan.traced.unread
            self.unread[spec] = unread = unread if before is None else unread & before
            self.any_unread = any(self.unread.values())
            if unread != (before or frozenset()):
                latest = variants.pop()
                key = (*key[:3], *map(signature, self.told(spec, leaves)))
                variants = self.patterns(key, spec, leaves)
                variants.append(latest)
            del variants[:-MOST]
            call = straight(plan, sizes, leaves, len(leaves))
            self.enter(key, Entry(plan, sizes, call))
            self.forget(plan.program)
            self.count(asked, plan, reason)
        if (made := call(leaves)) is MISS:
            raise TraceError(f"{self.name} changed its own inputs while it was traced",
                             hint="Pass what changes as an argument.")
        return made

    def told(self, spec: tree.Spec | None, leaves: Sequence[Any]) -> Sequence[Any]:
        """The leaves, without those that no trace has read."""
        if not self.any_unread or not (unread := self.unread.get(spec)):
            return leaves
        return [UNREAD if k in unread else x for k, x in enumerate(leaves)]

    def is_apart(self, x: Any) -> bool:
        """Whether an object among the arguments stands for what it holds."""
        return type(x) in self.apart

    def parts(self, leaves: Sequence[Any]) -> bool:
        """Whether objects among these leaves are apart from now on."""
        new = set[Any]()
        for x in leaves:
            kind = type(x)
            if not isinstance(x, (Handle, np.ndarray, *SCALARS, *CODE)) and self.met.setdefault(kind, x) is not x \
                    and kind not in self.whole and is_data(x):
                new.add(kind)
        self.apart |= new
        return bool(new)

    def patterns(self, key: Any, spec: tree.Spec | None, leaves: Sequence[Any]) -> list[Variant]:
        """The plans of this call pattern."""
        pattern = (*key[:3], *map(family, self.told(spec, leaves)))
        self.all[pattern] = found = self.all.pop(pattern, [])
        return found

    def known(self, key: Any, spec: tree.Spec | None, leaves: Sequence[Any], shapes: tuple[Any, ...]) -> Any:
        """The call by a plan of the same pattern that was not tried for these shapes yet, or MISS."""
        tried = [entry.plan for entry in self.at_hand.get(key, ())]
        for variant in [*self.patterns(key, spec, leaves)]:
            plan, sizes = variant.plan, match(variant.shapes, shapes)
            if sizes is None or any(plan is other for other in tried):
                continue
            sizes = {**sizes, **plan.free}
            if all(guard.holds(sizes) for guard in plan.traced.graph.guards):
                call = straight(plan, sizes, leaves, len(leaves))
                if (made := call(leaves)) is not MISS:
                    self.enter(key, Entry(plan, sizes, call))
                    return made
        return MISS

    def enter(self, key: Any, entry: Entry) -> None:
        """Puts a plan at hand for these exact shapes."""
        self.at_hand[key] = [*self.at_hand.get(key, ()), entry][-MOST:]

    def forget(self, latest: Program) -> None:
        """Drops the programs that nobody has called for longest, beyond those that are kept."""
        for key, program in [*self.programs.items()]:
            if program is latest or program.calls != self.called.get(key):
                self.called[key], self.programs[key] = program.calls, self.programs.pop(key)
        gone = [*self.programs][:-PROGRAMS]
        if not gone:
            return
        kept = {id(program) for key, program in self.programs.items() if key not in gone}
        for key in gone:
            del self.programs[key], self.called[key], self.reasons[key]
        tables: list[dict[Any, list[Any]]] = [self.at_hand, self.all]
        for table in tables:
            for key, ones in [*table.items()]:      # new lists: another thread may be going through the old ones
                table[key] = [one for one in ones if id(one.plan.program) in kept]
                if not table[key]:
                    del table[key]
        for pattern, traces in [*self.history.items()]:
            if traces.plan is not None and id(traces.plan.program) not in kept:
                self.history[pattern] = traces._replace(plan=None)

    def count(self, asked: Asked, plan: Plan, reason: Compile) -> None:
        """Warns where one call pattern is traced again and again."""
        before = self.history.pop(asked.pattern, None)
        count = 1 if before is None else before.count + 1
        self.history[asked.pattern] = Traces(count, plan, asked.given)
        if count == MANY:
            advice = "Pass what it holds, as a dict or a named tuple: such calls share one trace." if ANOTHER in \
                reason.reason else ("Keep such a number in a tensor, open such a size with dims, and ask for no number "
                                    "of it (len(x), float(n), n ** 0.5), but compute with x.shape.")
            note(f"{self.name} was traced {MANY} times, since what it reads changes: {reason.reason}, at "
                 f"{', '.join(reason.lines)}. {advice}")

    def specialised(self, variants: list[Variant], spec: tree.Spec | None, leaves: Sequence[Any], shapes: Shapes,
                    reason: Compile) -> tuple[Plan, Mapping[str, int]]:
        """A new trace: with the declared sizes open, and those that were seen with a second value."""
        names = leaf_names(self.function, spec)
        declared = declare(self.dims, self.name, names, shapes)
        opened = widen(variants[-1].shapes, declared) if variants else declared
        failed: tuple[Shapes, Exception] | None = None
        for pattern in dict.fromkeys((opened, declared)):
            sizes = match(pattern, shapes)
            if not sizes or (spec, pattern) in self.closed:
                continue
            try:
                plan = self.make(names, spec, leaves, pattern, sizes, stays_open(reason, sizes, variants), variants)
            except Exception as error:  # may well run at fixed sizes; what is wrong is wrong there too
                failed = pattern, error
                continue
            if isinstance(plan, Guard):
                reason = reason._replace(reason=f"{reason.reason}; {plan.left} is no other number, since {plan} has "
                                                "to hold", lines=lines(plan.where))
                break
            variants.append(Variant(plan, pattern))
            return plan, {**sizes, **plan.free}
        if failed is not None:
            reason = reason._replace(reason=f"{reason.reason}; {cannot(names, *failed)}")
        plan = self.make(names, spec, leaves, shapes, {}, reason)
        assert isinstance(plan, Plan)
        if failed is not None and all(v.shapes != failed[0] for v in variants):
            if not self.closed:
                note(f"{self.name} is compiled for each size, since {cannot(names, *failed)}")
            self.closed[spec, failed[0]] = True
        variants.append(Variant(plan, shapes))
        return plan, {}

    def trace(self, *what: Any) -> Traced:
        """One run of the function on symbols."""
        self.traces += 1
        with making(f"tracing {self.name}"):
            traced = trace(self.function, *what)
        self.whole |= traced.whole
        return traced

    def make(self, names: Sequence[str], spec: tree.Spec | None, leaves: Sequence[Any], pattern: tuple[Any, ...],
             sizes: Mapping[str, int], reason: Compile, variants: Sequence[Variant] = ()) -> Plan | Guard:
        """Traces the function, and builds its program unless an equal one is there, or that of one of the `variants`
        will do; the guard where that would run at no other sizes."""
        known, start = Sizes(dict(sizes), []), perf_counter()
        free: Mapping[str, int] = {}
        traced = self.trace(spec, leaves, pattern, names, known)
        for guard in known.guards:
            if isinstance(guard.right, int) and guard.relation == "==" \
                    and str(guard.left) in sizes.keys() - known.asked.keys():
                return guard
        if known.asked:
            moved = {name: Sizes({**sizes, name: sizes[name] + 1}, []) for name in known.asked}
            others = {name: self.trace(spec, leaves, pattern, names, at) for name, at in moved.items()}
            traced = general(traced, others, known)
            if all(traced.graph.digest != v.plan.traced.graph.digest for v in variants):
                earlier = [v.plan.traced for v in reversed(variants) if v.shapes == pattern]
                traced, free = freed(traced, earlier, known)
        graph, _ = running(traced)
        donated = donations(traced, graph)
        unchanged = steady(traced, leaves)
        key = (graph.digest, tuple(donated.items()), unchanged)
        if is_new := key not in self.programs:
            with making(f"compiling {self.name}"):
                self.programs[key] = build(graph, donate=donated, steady=unchanged, options=self.options, sizes=known)
            self.reasons[key] = reason._replace(seconds=perf_counter() - start)
        show("compiles", lambda: f"{self.reasons[key]}" if is_new else
             f"the program that there is: {reason._replace(seconds=perf_counter() - start)}", self.name)
        return Plan(traced, self.programs[key], leaves, donated, free)


def stays_open(reason: Compile, sizes: Mapping[str, int], variants: Sequence[Variant]) -> Compile:
    """The reason for a trace, with the sizes that stay open from it on."""
    before = {str(n) for variant in variants for shape in variant.shapes if shape for n in shape if isinstance(n, Size)}
    new = [f"{name} = {n}" for name, n in sizes.items() if name not in before]
    return reason._replace(reason=f"{reason.reason}; {', '.join(new)} stays open from now on") if new else reason


def cannot(names: Sequence[str], pattern: Shapes, error: Exception) -> str:
    """Why sizes are not open."""
    wanted = ", ".join(f"{name} {shape_text(shape)}" for name, shape in zip(names, pattern)
                       if shape and not all(isinstance(n, int) for n in shape))
    return f"{wanted} cannot stay open: {type(error).__name__}: {error}".rstrip(".")
