"""`st.profile`: where the time and memory of a step go."""
from __future__ import annotations

from stele.inspect.profile.watch import Profile
from stele.ir.door import public


@public
def profile() -> Profile:
    """Follows what runs inside of a `with`, and says where its time and memory went.

    Time is told apart by what it went to: data (waiting for a Loader), Python, planning (of imperative expressions),
    dispatch, and kernels, these by program, layer, line of the user and kernel; tracing and compiling stand apart. Of
    each kernel it says how often it was started, which bytes it moves, and how near it came to what the machine can do
    (its roofline: multiplications and bytes by the price that the schedule goes by, against measured peaks). Memory is
    that of the plan. Steps are those of an optimiser, where one steps in imperative code, else runs of the program that
    took longest.

    `print(p)` shows the tables, `p.trace(path)` writes a trace for ui.perfetto.dev, `p.html(path)` a page;
    `p.account()` has the numbers. `p.reading(batches)` counts the time until each of any iterator's batches is there as
    data, as it is for a Loader. Programs run launch by launch with a clock around each, which the profile compares with
    the programs as they are: at the first, second, fourth, eighth run and so on both run once more, on inputs that stay
    as they were. What runs without a profile is no slower for it. It follows the thread that it is made in, and those
    that run in a copy of its context (`contextvars.copy_context`); profiles may be nested. Raises ArgumentError where
    it is asked before it has ended.

    >>> layer = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
    >>> step = st.compile(lambda x: layer(x).sum())
    >>> with st.profile() as p:
    ...     for _ in range(3):
    ...         y = step(st.ones(8, 64))
    >>> p.account().steps, sorted(p.account().layers)
    (3, ['', '0', '1'])
    """
    return Profile()
