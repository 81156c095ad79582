"""What `st.debug.callback` is given runs with the program: what it fills is nothing that a trace depends on."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import stele as st
import stele.debug as aside
from stele import debug
from stele.debug import callback
from stele.debug import callback as tell

SEEN: list[Any] = []
COUNTS = {"calls": 0}


def note(v: Any) -> None:
    SEEN.append(float(v))
    COUNTS["calls"] += 1


def named(name: str, out: list[Any], v: Any) -> None:
    out.append((name, float(v)))


def later_by(how: Callable[[Any], Any], x: Any) -> None:
    debug.callback(how, x)


def later_within(how: Callable[[Any], Any], *xs: Any) -> None:
    tell(lambda *v: how(*v), *xs)


def later_and_now(how: Callable[[Any], Any], x: Any) -> None:
    st.debug.callback(how, x)
    how(x.ndim)


class Log:
    """Stores into itself."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.calls = 0

    def note(self, v: Any) -> None:
        self.rows.append(float(v))
        self.calls += 1

    __call__ = note


class Model(st.nn.Module):
    def __init__(self, how: Callable[[Any], Any]) -> None:
        super().__init__()
        self.log, self.how = Log(), how
        self.rows: list[Any] = self.log.rows

    def note(self, v: Any) -> None:
        self.log.note(v)

    def forward(self, x: Any) -> Any:
        st.debug.callback(self.note, x)
        return x * 2


class Listed(Model):
    def forward(self, x: Any) -> Any:
        st.debug.callback(self.rows.append, x)
        return x * 2


def spellings() -> dict[str, Callable[[], tuple[Any, Callable[[], Any]]]]:
    """What makes a compiled function, and what says what its callbacks have seen."""

    def of_global_list() -> Any:
        return lambda x: (st.debug.callback(SEEN.append, x), x * 2)[1], lambda: SEEN

    def of_closed_list() -> Any:
        seen: list[Any] = []
        return lambda x: (debug.callback(seen.append, x), x * 2)[1], lambda: seen

    def of_global_function() -> Any:
        return lambda x: (callback(note, x), x * 2)[1], lambda: SEEN

    def of_lambda() -> Any:
        seen: list[Any] = []
        return lambda x: (st.debug.callback(lambda v: seen.append(v), x), x * 2)[1], lambda: seen

    def of_inner_function() -> Any:
        seen, calls = list[Any](), 0

        def f(x: Any) -> Any:
            def inner(v: Any) -> None:
                nonlocal calls
                calls += 1
                seen.append(v)

            y = x * 2
            st.debug.callback(inner, x)
            return y

        return f, lambda: seen[:calls]

    def of_outer_function() -> Any:
        seen: list[Any] = []

        def outer(v: Any) -> None:
            seen.append(v)

        return lambda x: (st.debug.callback(outer, x), x * 2)[1], lambda: seen

    def of_dict() -> Any:
        seen: dict[float, Any] = {}
        return lambda x: (st.debug.callback(lambda k, v: seen.__setitem__(float(k), v), x, x), x * 2)[1], \
            lambda: [*seen.values()]

    def of_setitem() -> Any:
        seen: dict[str, Any] = {}
        last: list[Any] = []

        def f(x: Any) -> Any:
            st.debug.callback(seen.__setitem__, "x", x)
            st.debug.callback(lambda: last.append(seen["x"]))
            return x * 2

        return f, lambda: last

    def of_partial() -> Any:
        seen: list[Any] = []
        return lambda x: (st.debug.callback(partial(named, "x", out=seen), v=x), x * 2)[1], \
            lambda: [v for _, v in seen]

    def of_method() -> Any:
        log = Log()
        return lambda x: (st.debug.callback(log.note, x), x * 2)[1], lambda: log.rows[:log.calls]

    def of_object() -> Any:
        log = Log()
        return lambda x: (st.debug.callback(log, x), x * 2)[1], lambda: log.rows[:log.calls]

    def of_attribute() -> Any:
        log = Log()
        return lambda x: (st.debug.callback(log.rows.append, x, ), [x * n for n in (1, 2)][1])[1], lambda: log.rows

    def of_many_arguments() -> Any:
        seen: list[Any] = []
        return lambda x: (st.debug.callback(lambda v, *_, **__: seen.append(v), x, [x * n for n in (1, 2)],
                                            y=x if st.__name__ else 3), x * 2)[1], lambda: seen

    def of_a_variable() -> Any:
        seen: list[Any] = []

        def f(x: Any) -> Any:
            put = seen.append
            st.debug.callback(put, x)
            return x * 2

        return f, lambda: seen

    def of_variables_in_a_row() -> Any:
        log = Log()

        def f(x: Any) -> Any:
            here = log
            rows = here.rows
            put = partial(named, "x", rows)
            st.debug.callback(put, x)
            return x * 2

        return f, lambda: [v for _, v in log.rows]

    def of_a_variable_that_a_loop_finds() -> Any:
        seen: list[Any] = []

        def f(x: Any) -> Any:
            def inner(v: Any, out: list[Any] = seen) -> None:
                out.append(v)

            put = inner
            return st.fori_loop(0, 1, lambda k, y: (st.debug.callback(put, x), y)[1], x)

        return f, lambda: seen

    def of_one_of_two_variables() -> Any:
        seen: list[Any] = []

        def f(x: Any) -> Any:
            if x.ndim:
                put: Any = print
            else:
                put = seen.append
            st.debug.callback(put, x)
            return x * 2

        return f, lambda: seen

    def in_a_function_that_is_called() -> Any:
        seen: list[Any] = []

        def log(x: Any) -> Any:
            st.debug.callback(seen.append, x)
            return x * 2

        return lambda x: log(x), lambda: seen

    def through_a_function() -> Any:
        seen: list[Any] = []
        return lambda x: (later_by(seen.append, x), x * 2)[1], lambda: seen

    def through_a_function_that_wraps_it() -> Any:
        seen, more = list[Any](), list[Any]()

        def f(x: Any) -> Any:
            put = partial(named, "x", more)
            later_within(put, x)
            later_within(lambda v: seen.append(v), x)
            return x * 2

        return f, lambda: seen

    def before_a_star() -> Any:
        seen: list[Any] = []

        def log(*xs: Any) -> None:
            st.debug.callback(seen.append, *xs)

        return lambda x: (log(x), x * 2)[1], lambda: seen

    def before_stars() -> Any:
        seen: list[Any] = []

        def log(*xs: Any, **named: Any) -> None:
            st.debug.callback(lambda v, *_, y: seen.append(v), xs[0], *xs, **named)

        return lambda x: (log(x, y=x), x * 2)[1], lambda: seen

    def behind_a_star() -> Any:
        seen: list[Any] = []
        return lambda x: (st.debug.callback(*[seen.append, x]), x * 2)[1], lambda: seen

    def by_another_name() -> Any:
        seen: list[Any] = []
        return lambda x: (tell(partial(seen.append), x), x * 2)[1], lambda: seen

    def by_another_name_of_the_module() -> Any:
        seen: list[Any] = []
        return lambda x: (aside.callback(seen.append, x), x * 2)[1], lambda: seen

    def of_module() -> Any:
        model = Model(lambda x: x)
        return model, lambda: model.log.rows[:model.log.calls]

    def of_list_of_module() -> Any:
        model = Listed(lambda x: x)
        return model, lambda: model.rows

    def in_gradients() -> Any:
        seen: list[Any] = []
        return st.grad(lambda x: (st.debug.callback(seen.append, x), x * x)[1]), lambda: seen

    def in_loops() -> Any:
        seen: list[Any] = []
        step = lambda k, x: (st.debug.callback(seen.append, x), x)[1]
        return lambda x: st.fori_loop(0, 2, step, x), lambda: seen[::2]

    def in_branches() -> Any:
        seen: list[Any] = []
        return lambda x: st.cond(x < 9, lambda: (st.debug.callback(seen.append, x), x * 2)[1], lambda: x), lambda: seen

    return {name: make for name, make in locals().items() if callable(make)}


@pytest.mark.parametrize("name", spellings())
def test_what_callbacks_fill_is_no_reason_to_trace_again(name: str) -> None:
    SEEN.clear()
    function, seen = spellings()[name]()
    f = st.compile(function)
    for k in range(4):
        f(st.tensor(float(k)))
    assert [float(x) for x in seen()] == [0, 1, 2, 3] and f.traces == len(f.programs) == 1


def test_so_it_is_where_pythons_control_is_rewritten() -> None:
    seen: list[Any] = []

    @st.compile(control="python")
    def f(x: Any) -> Any:
        if x > 0:
            st.debug.callback(seen.append, x)
        return x * 2

    for k in range(4):
        f(st.tensor(float(k)))
    assert [float(x) for x in seen] == [1, 2, 3] and f.traces == 1


def reading() -> dict[str, Callable[[list[Any]], Callable[[Any], Any]]]:
    """Functions that callbacks fill a list for, and that read it as well: x by so many as there are."""

    def its_length(seen: list[Any]) -> Any:
        return lambda x: (st.debug.callback(seen.append, x), x * len(seen))[1]

    def inside(seen: list[Any]) -> Any:
        return lambda x: st.fori_loop(0, 1, lambda k, y: (st.debug.callback(seen.append, x), y * len(seen))[1], x)

    def by_another_name(seen: list[Any]) -> Any:
        alias = seen
        return lambda x: (st.debug.callback(seen.append, x), x * len(alias))[1]

    def in_an_object(seen: list[Any]) -> Any:
        log = Log()
        log.rows = seen
        return lambda x: (st.debug.callback(log.note, x), x * len(log.rows))[1]

    def by_a_function_that_is_called_too(seen: list[Any]) -> Any:
        def count(v: Any = None) -> int:
            if v is not None:
                seen.append(v)
            return len(seen)

        return lambda x: (st.debug.callback(count, x), x * count())[1]

    def by_what_it_is_chosen_with(seen: list[Any]) -> Any:
        by: list[Any] = []

        def put(v: Any) -> None:
            seen.append(v)
            by.append(v)

        return lambda x: (st.debug.callback(put if len(by) < 9 else print, x), x * len(by))[1]

    def by_a_variable(seen: list[Any]) -> Any:
        def f(x: Any) -> Any:
            put = seen.append
            st.debug.callback(put, x)
            return x * len(seen)

        return f

    def by_a_variable_that_is_called(seen: list[Any]) -> Any:
        def f(x: Any) -> Any:
            put, count = seen.append, seen.__len__
            st.debug.callback(put, x)
            return x * count()

        return f

    def by_a_variable_of_the_list(seen: list[Any]) -> Any:
        def f(x: Any) -> Any:
            own = seen
            st.debug.callback(own.append, x)
            return x * len(own)

        return f

    def by_a_variable_in_a_loop(seen: list[Any]) -> Any:
        def f(x: Any) -> Any:
            own = seen
            st.debug.callback(own.append, x)
            return st.fori_loop(0, 1, lambda k, y: y * len(own), x)

        return f

    def by_a_function_in_a_variable(seen: list[Any]) -> Any:
        def count(v: Any = None) -> int:
            if v is not None:
                seen.append(v)
            return len(seen)

        def f(x: Any) -> Any:
            put = count
            st.debug.callback(put, x)
            return x * put()

        return f

    def by_one_of_two_variables(seen: list[Any]) -> Any:
        def f(x: Any) -> Any:
            put = seen.append if len(seen) < 9 else print
            st.debug.callback(put, x)
            return x * len(seen)

        return f

    def by_what_stands_behind_a_star(seen: list[Any]) -> Any:
        total: list[Any] = []

        def f(x: Any) -> Any:
            behind = (seen.append, [x * len(seen)][0] / 3)
            st.debug.callback(lambda v: total.append(v), x)
            st.debug.callback(*behind)
            return behind[1] * 3

        return f

    def by_an_entry(seen: list[Any]) -> Any:
        puts: list[Any] = [seen.append]

        def f(x: Any) -> Any:
            st.debug.callback(puts[0], x)
            return x * len(seen)

        return f

    def by_a_method_that_is_called_too(seen: list[Any]) -> Any:
        def f(x: Any) -> Any:
            here = [seen][0]
            st.debug.callback(here.append, x)
            return x * here.__len__()

        return f

    def by_a_function_that_calls_it_too(seen: list[Any]) -> Any:
        def count(v: Any) -> None:
            if not isinstance(v, int):
                seen.append(v)

        return lambda x: (later_and_now(count, x), x * len(seen))[1]

    def by_a_function_and_itself(seen: list[Any]) -> Any:
        return lambda x: (later_by(seen.append, x), x * len(seen))[1]

    def by_a_default(seen: list[Any]) -> Any:
        def f(x: Any) -> Any:
            n = st.tensor(0.0)
            st.debug.callback(lambda v, n=len(seen): seen.append(n), x)    # noqa: B008
            return x * len(seen) + n

        return f

    return {name: make for name, make in locals().items() if callable(make)}


@pytest.mark.parametrize("name", reading())
def test_what_the_function_reads_too_is_looked_at_by_every_call(name: str) -> None:
    seen: list[Any] = []
    f = st.compile(reading()[name](seen))
    assert [float(f(st.tensor(3.0))) for _ in range(4)] == [0, 3, 6, 9] and len(seen) == 4


def test_numbers_that_a_callback_is_made_with_are_constants() -> None:
    seen: list[Any] = []
    log = Log()
    f = st.compile(lambda x: (st.debug.callback(partial(named, log.calls, seen), x), x)[1])
    for k in range(3):
        log.calls = k // 2
        f(st.tensor(float(k)))
    assert seen == [(0, 0.0), (0, 1.0), (1, 2.0)] and f.traces == 2
    w, sizes = st.ones(3), list[Any]()
    f = st.compile(lambda x: (st.debug.callback(partial(named, w.shape, sizes), x), x)[1])
    for k in range(3):
        f(st.tensor(float(k)))
    assert sizes == [((3,), 0.0), ((3,), 1.0), ((3,), 2.0)] and f.traces == 1
    first = st.compile(lambda x: (st.debug.callback(seen[0], x), x)[1])
    for one in (log.note, log.rows.append):
        seen[:] = [one]
        first(st.tensor(5.0))
    assert log.rows == [5.0, 5.0]


def test_another_function_or_container_is_called_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log, calls = Log(), list[Any]()
    f = st.compile(lambda x: (st.debug.callback(log.note, x), x)[1])
    f(st.tensor(1.0))
    log, old = Log(), log
    f(st.tensor(2.0))
    assert (old.rows, log.rows) == ([1.0], [2.0])
    monkeypatch.setattr(Log, "note", lambda self, v: calls.append(float(v)))
    f(st.tensor(3.0))
    log.note = lambda v: calls.append(-float(v))    # type: ignore[method-assign]
    f(st.tensor(4.0))
    assert calls == [3.0, -4.0] and f.traces == 4

    rows = st.compile(lambda x: (st.debug.callback(log.rows.append, x), x)[1])
    rows(st.tensor(5.0))
    log.rows, before = [], log.rows
    rows(st.tensor(6.0))
    assert [float(v) for v in (*before, *log.rows)] == [2.0, 5.0, 6.0] and len(log.rows) == 1
    model = Listed(lambda x: x)
    g = st.compile(model)
    g(st.tensor(1.0))
    model.rows = []
    g(st.tensor(2.0))
    assert [float(v) for v in model.rows] == [2.0]


def test_what_variables_lead_to_is_called_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log, calls = Log(), list[Any]()

    def f(x: Any) -> Any:
        here = log
        put = here.note
        st.debug.callback(put, x)
        return x

    g = st.compile(f)
    g(st.tensor(1.0))
    log, old = Log(), log
    g(st.tensor(2.0))
    assert (old.rows, log.rows) == ([1.0], [2.0])
    monkeypatch.setattr(Log, "note", lambda self, v: calls.append(float(v)))
    g(st.tensor(3.0))
    assert calls == [3.0] and g.traces == 3


def test_what_stands_behind_the_function_is_looked_at() -> None:
    seen: list[Any] = []
    scale = [1.0]
    f = st.compile(lambda x: (st.debug.callback(*[lambda v, s: seen.append(s[0]), x, scale]), x)[1])
    for k in range(3):
        scale[0] = float(k)
        f(st.tensor(1.0))
    assert seen == [0.0, 1.0, 2.0]


def test_a_method_of_a_list_that_is_called_while_tracing_changes_it() -> None:
    seen: list[Any] = []
    put = seen.append
    f = st.compile(lambda x: (put(1), x)[1])
    with pytest.raises(st.errors.TraceError, match="grew from 0 to 1"):
        f(st.tensor(1.0))
    assert seen == []


def test_containers_among_the_arguments_are_passed_on_and_not_held() -> None:
    seen: list[Any] = []
    looped = lambda x, own: st.fori_loop(0, 2, lambda k, y: (st.debug.callback(partial(named, "x", own), y), y)[1], x)
    for one in (looped, lambda x, own: st.debug.callback(own.append, x),
                lambda x, own: st.debug.callback(lambda v: own.append(v), x)):
        with pytest.raises(st.errors.TraceError, match=r"holds a list among the arguments .* at test_later.py:\d+"):
            st.compile(one)(st.tensor(1.0), [])
    f = st.compile(lambda x, own: (st.debug.callback(lambda v, own: seen.append(own[0] + v), x, own), x)[1])
    for k in range(3):
        f(st.tensor(1.0), [st.tensor(float(k))])
    assert seen == [1.0, 2.0, 3.0] and f.traces == 1


def test_objects_among_the_arguments_fill_themselves() -> None:
    class Plain:
        def __init__(self) -> None:
            self.rows: list[float] = []

        def note(self, v: Any) -> None:
            self.rows.append(float(v))

    f = st.compile(lambda x, log: (st.debug.callback(log.note, x), x)[1])
    one, other = Plain(), Plain()
    for k, log in enumerate((one, one, other, other, one)):
        f(st.tensor(float(k)), log)
    assert (one.rows, other.rows) == ([0.0, 1.0, 4.0], [2.0, 3.0]) and f.traces == 2


class Kept:
    """Keeps its lists in slots, behind a property, and gives what it is asked for."""

    __slots__ = ("all", "which")

    def __init__(self) -> None:
        self.all: list[list[Any]] = [[], []]
        self.which = 0

    @property
    def now(self) -> list[Any]:
        return self.all[self.which]


def test_what_computes_an_attribute_is_looked_at() -> None:
    kept = Kept()
    f = st.compile(lambda x: (st.debug.callback(kept.now.append, x), x)[1])
    for k in (0, 1, 0):
        kept.which = k
        f(st.tensor(float(k)))
    assert [[float(x) for x in part] for part in kept.all] == [[0.0, 0.0], [1.0]]
    g = st.compile(lambda x: (st.debug.callback(kept.all.append, x), x)[1])
    for _ in range(3):
        g(st.tensor(1.0))
    assert len(kept.all) == 5 and g.traces == 1


def test_another_function_of_that_name_runs_while_it_is_traced() -> None:
    seen: list[Any] = []

    class Own:
        def callback(self, f: Any, x: Any) -> Any:
            return x * len(seen)

    own = Own()
    f = st.compile(lambda x: own.callback(seen.append, x))
    for k in range(3):
        assert float(f(st.tensor(2.0))) == 2 * k
        seen.append(k)
    traced = st.compile(lambda x: (seen.append(x), st.debug.callback(seen.append, x), x)[2])
    with pytest.raises(st.errors.TraceError, match="the list seen grew from 3 to 4"):
        traced(st.tensor(1.0))


def test_host_functions_read_and_fill_what_they_like_and_their_shapes_do_not() -> None:
    seen, n, scale = list[Any](), [2], [1.0]

    @st.op(shape=lambda x: ((n[0],), x.dtype), vjp=lambda g, y, x: g.sum() * scale[0])
    def spread(x: Any) -> Any:
        seen.append(float(x))
        return x.repeat(n[0])

    f = st.compile(st.value_and_grad(lambda x: spread(x).sum()))
    for k in range(3):
        f(st.tensor(float(k)))
    assert seen == [0.0, 1.0, 2.0] and f.traces == 1
    n[0] = 3
    assert [float(x) for x in f(st.tensor(2.0))] == [6.0, 3.0]
    scale[0] = 2.0
    assert [float(x) for x in f(st.tensor(2.0))] == [6.0, 6.0] and f.traces == 3


def test_formats_of_prints_are_state(capsys: pytest.CaptureFixture[str]) -> None:
    how = {"text": "{:.0f}"}
    f = st.compile(lambda x: (st.debug.print(how["text"], x, where=False), x)[1])
    for k in range(4):
        how["text"] = "{:.0f}" if k < 2 else "{:.1f}"
        f(st.tensor(float(k)))
    assert capsys.readouterr().out.split() == ["0", "1", "2.0", "3.0"] and f.traces == 2
