"""Follows a run, and keeps where its time goes."""
from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Token
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from stele import files
from stele.eager.follow import FOLLOWER, Follower
from stele.errors import ArgumentError
from stele.inspect.profile import page, tables, trace
from stele.inspect.profile.account import Account, Accounts
from stele.inspect.profile.kernels import named
from stele.inspect.profile.record import Kind, Span, now, thread
from stele.inspect.profile.timed import Timed, Twin, twin
from stele.ir.door import public
from stele.ir.graph import Graph, Value

END = object()


class Profile(Follower):
    """Where time and memory go between the beginning and the end of a `with`: see `stele.profile`.

    `spans` are what was seen, in order; `account` sums them up.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.periods: list[tuple[int, int]] = []
        self.thread = thread()
        self.twins: dict[int, Twin] = {}
        self.graphs: dict[int, tuple[Graph, str]] = {}
        self.origins: dict[Any, Graph] = {}
        self.planned: dict[int, int] = {}       # when an evaluation began, by thread
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

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        self.planned[thread()[0]] = now()
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
        if self.outer is not None:
            self.outer.stepped(optimizer)

    def running(self, program: Any, graph: Graph) -> Any:
        if self.token is None:      # a thread that has outlived the profile
            return program
        begin = now()
        if (since := self.planned.pop(thread()[0], None)) is not None:
            self.tell(Span("planning", "an evaluation", since, begin))
        if id(program) not in self.twins:
            self.twins[id(program)] = twin(program)
        graph, label = self.known(program, graph)
        self.tell(Span("profile", "choosing a timed program", begin, now()))
        return Timed(self.twins[id(program)], graph, label, self.tell)

    def known(self, program: Any, graph: Graph) -> tuple[Graph, str]:
        """One graph for all of a program that come from the same lines and layers, and its name."""
        if id(graph) not in self.graphs:
            where = (id(program), *(v.where for v in graph.everything))
            graph = self.origins.setdefault(where, graph)
            self.graphs.setdefault(id(graph), (graph, named(graph)))
        return self.graphs[id(graph)]

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
        return self.accounts.of(self.spans, self.ended(), self.thread)

    def ended(self) -> list[tuple[int, int]]:
        """When it was on."""
        if self.token is not None or not self.periods:
            raise ArgumentError("a profile says something once it has ended", hint="Look at it behind the with.")
        return self.periods

    def __str__(self) -> str:
        return tables.text(self.account())

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
        files.write(Path(path), trace.text(self.spans, self.ended(), self.accounts.works))

    @public
    def html(self, path: str | PathLike[str]) -> None:
        """Writes all tables as one page that loads nothing; `path` is that of an HTML file."""
        files.write(Path(path), page.page(self.account()).encode())
