"""A profile in the format of Chrome's traces, which Perfetto shows."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stele.inspect.profile.account import Period
from stele.inspect.profile.kernels import Work
from stele.inspect.profile.record import Ran, Span

# docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, "Trace Event Format": times in microseconds.
PROCESS = 1

Works = Callable[[Ran], Sequence[Work]]
"""The kernels of a run's program."""


def text(spans: Sequence[Span], periods: Sequence[Period], thread: tuple[int, str], works: Works) -> bytes:
    """The whole file; `thread` is the profile's own, on which each of its periods is a slice around all others."""
    start = periods[0][0]
    threads = dict([thread, *(span.thread for span in spans)])
    meta = [named("process_name", 0, "stele"), *(named("thread_name", n, name) for n, name in threads.items())]
    whole = [slice_of(thread, "Python", "profile", begin - start, end - start) for begin, end in periods]
    events = [event for span in spans for event in slices(span, start, works)]
    return json.dumps({"traceEvents": [*meta, *whole, *events], "displayTimeUnit": "ms"}).encode()


def named(what: str, thread: int, name: str) -> dict[str, Any]:
    """An event that names a process or a thread."""
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": thread, "ts": 0, "args": {"name": name}}


def slice_of(thread: tuple[int, str], kind: str, what: str, begin: int, end: int, /, **args: Any) -> dict[str, Any]:
    """An event that takes nanoseconds from `begin` to `end`."""
    return {"ph": "X", "name": what, "cat": kind, "pid": PROCESS, "tid": thread[0], "ts": begin / 1e3,
            "dur": (end - begin) / 1e3, "args": args}


def slices(span: Span, start: int, works: Works) -> Iterator[dict[str, Any]]:
    """A span, and the kernels of a run inside of it."""
    def event(kind: str, what: str, begin: int, end: int, /, **args: Any) -> dict[str, Any]:
        return slice_of(span.thread, kind, what, begin - start, end - start, **args)

    if not isinstance(span, Ran):
        yield event(span.kind, span.what, span.begin, span.end)
        return
    said = {"sizes": dict(span.sizes)} if span.sizes else {}
    yield event("run", span.what, span.begin, span.end, **said, **({"error": span.error} if span.error else {}))
    for number, work, begin, end, starts in placed(span, works(span)):
        lines = {shared.place.line for shared in work.places if shared.place.line}
        layers = {shared.place.layer for shared in work.places if shared.place.layer}
        yield event("kernel", work.what, begin, end, number=number, kind=work.kind, starts=starts, bytes=work.bytes,
                    work=work.work, lines=sorted(lines), layers=sorted(layers))


def placed(ran: Ran, works: Sequence[Work]) -> Iterator[tuple[int, Work, int, int, int]]:
    """When each kernel of a run ran: number, what it is, begin, end, starts. All starts of a kernel in a loop stand
    side by side, behind the kernels before it: their sum is theirs, their places are not."""
    cursor = ran.begin
    for number, (work, (ns, starts, last)) in enumerate(zip(works, ran.kernels.tolist(), strict=True)):
        if starts:
            begin = min(max(cursor, last if starts == 1 else cursor), ran.end)
            cursor = min(begin + ns, ran.end)
            yield number, work, begin, cursor, starts
