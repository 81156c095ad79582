"""A cell that holds a value: what a tensor is before it has methods, and who sees it while a function is traced."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar
from weakref import ref

from stele.eager.live import Live, alive, is_symbolic, is_there
from stele.errors import TraceError
from stele.ir.door import public
from stele.ir.graph import Array, Value, label_of, walk
from stele.ir.origin import here, lines, setting
from stele.ops.control import Inside

P = ParamSpec("P")
R = TypeVar("R")


class Tracing(Protocol):
    """A function being traced: it stands between the handles that existed before and the code that runs now."""

    def read(self, handle: Handle) -> Live: ...     # what a handle from outside means inside

    def peek(self, handle: Handle) -> Live | None:
        """What a handle from outside means inside, where that was asked for before."""

    def write(self, handle: Handle, value: Live) -> None:
        """Rebinds a handle from outside; seen inside only, until the trace is over."""

    def finds(self, handle: Handle) -> bool:
        """Whether a handle from outside is one that the code could find."""
        return True

    def follow(self, handle: Handle, value: Live) -> None:
        """Has a handle from outside mean something else, as it shares what was written to another one; it does so
        outside as well once the other one is rebound.
        """

    def leaves(self, handle: Handle, old: Handle, others: Sequence[Handle]) -> None:
        """A handle from outside shares memory with its parts, or with what it is a part of, no more; the old one does,
        which stands for what it was.
        """

    def array(self, array: Array) -> Live | None:
        """What a NumPy array from outside means inside, if calls can find it again; None for one made inside."""
        return None

    def place(self) -> str | None:
        """The device that `st.device` says outside."""
        return None

    def hooked(self) -> None:
        """The hooks of a leaf are asked for: what they do is part of what is traced."""

    def read_grad(self, handle: Handle) -> Any:
        """The gradient of a handle from outside, inside."""

    def write_grad(self, handle: Handle, grad: Any) -> None:
        """Sets the gradient of a handle from outside; seen inside only, until the trace is over."""


TRACING: ContextVar[Tracing | None] = ContextVar("tracing", default=None)
GRAD: ContextVar[bool] = ContextVar("grad", default=True)
STEPS: ContextVar[bool] = ContextVar("steps", default=False)
STEPPING: list[bool] = []       # as long as there are threads inside of `eager`: quicker to ask than the context


class Handle:
    """A name for a value. While a function is traced, handles from outside show the trace's overlay instead."""

    __slots__ = ("__weakref__", "_grad", "_requires_grad", "_value", "home", "leaf", "parts", "tie")

    _value: Live
    _grad: Any
    home: Tracing | None
    leaf: bool
    _requires_grad: bool
    parts: list[ref[Any]] | None    # handles that are to show what is written to this one
    tie: Any                        # how this one came to be a part of another, if it is

    def __init__(self, value: Value, requires_grad: bool = False, leaf: bool = False) -> None:
        self._value, self._grad, self._requires_grad, self.leaf = (v := alive(value)), None, requires_grad, leaf
        self.parts, self.tie, self.home = None, None, TRACING.get()
        if v.owner is None or v.owner() is None:
            v.owner = ref(self)

    @property
    def value(self) -> Live:
        """The value this handle stands for now."""
        tracing = TRACING.get()
        return self._value if tracing is None or self.home is tracing else tracing.read(self)

    @value.setter
    def value(self, value: Value) -> None:
        tracing, v = TRACING.get(), alive(value)
        if tracing is None or self.home is tracing:
            self._value = v
        else:
            tracing.write(self, v)
        other = None if v.owner is None else v.owner()
        if other is None or not other.leaf:
            v.owner = ref(self)

    @property
    def requires_grad(self) -> bool:
        """Whether `backward` passes through this value, or stops and accumulates at it."""
        return self._requires_grad

    @property
    def is_leaf(self) -> bool:
        """Whether `backward` goes no further than this value: it was made by nothing that requires gradients."""
        return self.leaf or not self._requires_grad

    @property
    def grad(self) -> Any:
        """The gradient that `backward` has accumulated, or None."""
        tracing = TRACING.get()
        return self._grad if tracing is None or self.home is tracing else tracing.read_grad(self)

    @grad.setter
    def grad(self, grad: Any) -> None:
        tracing = TRACING.get()
        if tracing is None or self.home is tracing:
            self._grad = grad
        else:
            tracing.write_grad(self, grad)


def named(v: Value) -> Handle | None:
    """The live handle that had this value last, if any."""
    return v.owner() if isinstance(v, Live) and v.owner is not None else None


def owner(v: Value) -> Handle | None:
    """The live handle whose value this is, if any."""
    if (handle := named(v)) is None:
        return None
    tracing = TRACING.get()
    now = handle._value if tracing is None or handle.home is tracing else tracing.peek(handle)
    return handle if now is v else None


def refuse_symbolic(v: Value, what: str = "its numbers were asked for",
                    hint: str = "Choose with st.where, and look at results outside of the compiled function."
                    ) -> TraceError:
    """The error for looking at a value that stands for numbers of later calls."""
    inputs = [i for i in walk([v], stop=is_there) if is_symbolic(i)]
    if error := leaked(inputs):
        return error
    labels = ", ".join(dict.fromkeys(repr(label_of(i)) for i in inputs)) or f"the sizes of {v.type}"
    return TraceError(f"{what}, but this tensor is symbolic: it depends on {labels}, whose numbers are known "
                      "only when the finished program runs", where=", ".join(lines(here())), hint=hint)


def leaked(inputs: Iterable[Value]) -> TraceError | None:
    """The error for inputs of which one belongs to a function that is part of a loop or a branch; None without one."""
    inner = next((i for i in inputs if isinstance(i.op, Inside)), None)
    if inner is None:
        return None
    came = ", ".join(lines(inner.where))
    return TraceError("a tensor from inside of a loop or a branch is used outside of it, where it has no numbers: what "
                      f"it is made of began at {came}", where=", ".join(lines(here())),
                      hint="Return it: the step of st.scan as an output, other functions in what they return.")


def tracing_into(tracing: Tracing | None) -> setting:
    """Handles made and rebound inside belong to this trace."""
    return setting(TRACING, tracing)


class grad_mode(setting):
    """A context, or a decorator, in which results do or do not carry gradients."""

    def __init__(self, on: bool) -> None:
        super().__init__(GRAD, on)

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        @wraps(f)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            token = GRAD.set(self.value)    # `with setting(...)`, written out: 0.3 us less
            try:
                return f(*args, **kwargs)
            finally:
                GRAD.reset(token)

        return inside


class eager(setting):
    """A context, or a decorator, in which every op runs where it is written, for stepping through code in a debugger.

    What an op raises then comes from its own line, and its result has numbers behind it; compiled functions run as
    plain Python, and so does each step of `st.scan`, `st.while_loop` and the like, the branch that `st.cond` takes and
    what `st.checkpoint` holds. What `st.vmap`, `st.fixed_point` and derivatives of users' own take, and what
    `st.function` made, is one step. It holds for the thread that enters it. Raises TraceError inside of a function that
    is being compiled, whose ops run with its program.

    >>> with st.eager():
    ...     y = st.ones(3) * 2
    ...     z = st.compile(lambda x: x + y)(y)
    >>> z.tolist(), st.eager()(lambda x: x * 2)(z).tolist()
    ([4.0, 4.0, 4.0], [8.0, 8.0, 8.0])
    """

    @public
    def __init__(self) -> None:
        super().__init__(STEPS, True)

    def __enter__(self) -> None:
        if TRACING.get() is not None:
            raise TraceError("st.eager() inside of a function that is being compiled, whose ops run with its program",
                             where=", ".join(lines(here())),
                             hint="Call it inside of `with st.eager():`, where it runs as plain Python.")
        STEPPING.append(True)
        super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        STEPPING.pop()

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        @wraps(f)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with eager():       # of its own: threads may be in f at once
                return f(*args, **kwargs)

        return inside


def is_stepping() -> bool:
    """Whether ops run where they are written."""
    return bool(STEPPING) and STEPS.get()


@public
def no_grad() -> grad_mode:
    """A context, or a decorator, in which results carry no gradients: for updates of parameters, and for prediction.

    >>> w = st.tensor(1.0, requires_grad=True)
    >>> with st.no_grad():
    ...     w -= 0.5
    >>> float(w), w.requires_grad, st.no_grad()(lambda: w * 2)().requires_grad
    (0.5, True, False)
    """
    return grad_mode(False)


@public
def enable_grad() -> grad_mode:
    """A context, or a decorator, in which results carry gradients again, inside of `no_grad`.

    >>> w = st.tensor(1.0, requires_grad=True)
    >>> with st.no_grad():
    ...     y = w * 2
    ...     with st.enable_grad():
    ...         z = w * 2
    >>> y.requires_grad, z.requires_grad
    (False, True)
    """
    return grad_mode(True)
