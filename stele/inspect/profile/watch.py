"""Follows a run, and keeps where its time goes."""
from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Token
from os import PathLike
from pathlib import Path
from shutil import get_terminal_size
from types import TracebackType
from typing import TYPE_CHECKING, Any

from stele import files
from stele.eager.follow import FOLLOWER, Follower
from stele.eager.handle import TRACING
from stele.errors import ArgumentError
from stele.inspect.profile import page, tables, trace
from stele.inspect.profile.account import Account, Accounts
from stele.inspect.profile.origins import from_there, named, origins
from stele.inspect.profile.record import Kind, Span, now, thread
from stele.inspect.profile.timed import Timed, Twin, twin
from stele.interop.keywords import answering
from stele.interop.names import PROFILES
from stele.ir.door import public
from stele.ir.graph import Graph, Value
from stele.ir.origin import Where

END = object()
Known = tuple[Graph, str]


class Profile(Follower):
    """Where time and memory go between the beginning and the end of a `with`: see `stele.profile`.

    `spans` are what was seen, in order; `account` sums them up.
    """

    if not TYPE_CHECKING:
        __getattr__ = answering("a profile", PROFILES)

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.periods: list[tuple[int, int]] = []
        self.thread = thread()
        self.twins: dict[int, Twin] = {}
        self.graphs: dict[int, tuple[Graph, Known]] = {}    # of traces
        self.origins: dict[Any, Known] = {}
        self.planned: dict[int, int] = {}       # when an evaluation began, by thread
        self.steps = Counter[tuple[int, str]]()     # of optimisers
        self.outer: Follower | None = None
        self.token: Token[Follower | None] | None = None
        self.begun = 0
        self.accounts = Accounts()

    @public
    def __enter__(self) -> Profile:
        if self.token is not None:
            raise ArgumentError("this profile is on already", hint="Make another one for what runs inside of it.")
        self.outer, self.thread = FOLLOWER.get(), thread()
        if isinstance(self.outer, Profile):
            self.twins = self.outer.twins
        self.token, self.begun = FOLLOWER.set(self), now()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.periods.append((self.begun, now()))
        if self.token is not None:
            FOLLOWER.reset(self.token)
        self.token = None

    # What is heard

    def looked(self, v: Value) -> None:
        if self.outer is not None:
            self.outer.looked(v)

    def replays(self, wanted: Sequence[Value]) -> bool:
        if wanted:
            self.planned[thread()[0]] = now()
        return self.outer is None or self.outer.replays(wanted)

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        if self.outer is not None:
            self.outer.evaluated(order, wanted)

    def called(self, plan: Any, handles: Sequence[Any], sizes: Mapping[str, int]) -> None:
        self.planned.pop(thread()[0], None)     # of an evaluation that failed
        if self.outer is not None:
            self.outer.called(plan, handles, sizes)

    def passed(self, module: Any, y: Any) -> None:
        if self.outer is not None:
            self.outer.passed(module, y)

    def stepped(self, optimizer: Any) -> None:
        if self.token is not None and TRACING.get() is None:
            self.steps[id(optimizer), type(optimizer).__name__] += 1
        if self.outer is not None:
            self.outer.stepped(optimizer)

    def running(self, program: Any, what: Graph | Sequence[Value]) -> Any:
        if self.token is None:      # a thread that has outlived the profile
            return program
        begin = now()
        if (since := self.planned.pop(thread()[0], None)) is not None:
            self.tell(Span("planning", "an evaluation", since, begin))
        if id(program) not in self.twins:
            self.twins[id(program)] = twin(program)
        graph, label = self.known(program, what)
        self.tell(Span("profile", "choosing a timed program", begin, now()))
        return Timed(self.twins[id(program)], graph, label, self.tell)

    def known(self, program: Any, what: Graph | Sequence[Value]) -> Known:
        """One graph for all of a program that come from the same lines and layers, and its name."""
        if isinstance(what, Graph):
            if id(what) not in self.graphs:
                self.graphs[id(what)] = what, self.placed((id(program), *(v.where for v in what.everything)), what)
            return self.graphs[id(what)][1]
        moved = origins(program.graph, what)
        return self.placed((id(program), *moved.items()), program.graph, moved)

    def placed(self, key: tuple[Any, ...], graph: Graph, moved: Mapping[Value, Where] = {}) -> Known:
        """A graph, whose values come from elsewhere, and its name, by what is equal where all that is."""
        if key not in self.origins:
            found = from_there(graph, moved) if moved else graph
            self.origins[key] = found, named(found)
        return self.origins[key]

    @contextmanager
    def making(self, what: str) -> Generator[None]:
        begin = now()
        try:
            yield
        finally:
            kind: Kind = "tracing" if what.startswith("tracing") else "compiling"
            self.tell(Span(kind, what, begin, now()))

    def reading(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches; the time until each is there counts as data. Loaders are followed without asking."""
        source = iter(batches)
        try:
            while True:
                begin = now()
                batch = next(source, END)
                self.tell(Span("data", "waiting for a batch", begin, now()))
                if batch is END:
                    return
                yield batch
                del batch       # a loader uses its memory again
        finally:
            if isinstance(source, Generator):
                source.close()

    def tell(self, span: Span) -> None:
        """Keeps a span, here and in the profiles around."""
        if self.token is not None:
            self.spans.append(span)
        if isinstance(self.outer, Profile):
            self.outer.tell(span)

    # What is said

    def account(self) -> Account:
        """All sums. Raises ArgumentError before the profile has ended."""
        return self.accounts.of(self.spans, self.ended(), self.thread, self.steps)

    def ended(self) -> list[tuple[int, int]]:
        """When it was on."""
        if self.token is not None or not self.periods:
            raise ArgumentError("a profile says something once it has ended", hint="Look at it behind the with.")
        return self.periods

    def __str__(self) -> str:
        return tables.text(self.account(), get_terminal_size((tables.WIDE, 50)).columns)

    def __rich__(self) -> Any:
        return tables.shown(self.account())

    def __repr__(self) -> str:
        state = "on" if self.token is not None else f"{len(self.spans)} spans"
        return f"<profile: {state}>"

    @public
    def trace(self, path: str | PathLike[str]) -> None:
        """Writes the run as a trace that ui.perfetto.dev and Chrome's about:tracing show: threads, and on them spans,
        programs and their kernels; `path` is that of a JSON file.
        """
        files.write(Path(path), trace.text(self.spans, self.ended(), self.thread, self.accounts.works))

    @public
    def html(self, path: str | PathLike[str]) -> None:
        """Writes all tables as one page that loads nothing; `path` is that of an HTML file."""
        files.write(Path(path), page.page(self.account()).encode())
