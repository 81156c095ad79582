"""Devices: where arrays lie and programs run, found by name; what each offers, and what of it the host does at once."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from stele.backend.buffers import MEMORY, Blocks, Buffer
from stele.errors import DeviceError
from stele.ir.door import public
from stele.ir.types import HOME, DType, Type

Work = Callable[[], Any]

OTHERS = {"cpu:1": "stele.backend.queued"}      # devices that open when they are first named, with the module that can
ELSEWHERE = ("cuda", "gpu", "mps", "xpu", "tpu", "hip", "meta")     # devices of other frameworks
PLACE: ContextVar[tuple[Stream, Any] | None] = ContextVar("place", default=None)
"""The stream of the innermost `with`, and what was there before."""


class Place:
    """What `with` makes the place of new arrays, and of the work of its device: a device, or one of its streams."""

    def here(self) -> Stream:
        """The stream that is meant."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        PLACE.set((self.here(), PLACE.get()))
        return self

    def __exit__(self, *error: object) -> None:
        _, before = PLACE.get() or (None, None)
        PLACE.set(before)


class Event:
    """A moment of one stream, recorded once: reached when all that the stream was given before is done."""

    def __init__(self) -> None:
        self.flag, self.recorded = threading.Event(), False
        self.error: BaseException | None = None

    @property
    def reached(self) -> bool:
        """Whether all before it is done."""
        return self.flag.is_set()

    def wait(self) -> None:
        """Returns once it is reached. Raises what the work raised; DeviceError where no stream has recorded it."""
        if not self.recorded:
            raise DeviceError("no stream has recorded this event, so waiting for it would never end",
                              hint="Record it first: stream.record(event).")
        self.flag.wait()
        if self.error is not None:
            raise self.error


class Stream(Place):
    """Work in the order in which it is given. The host does it at once.

    >>> stream = find("cpu").stream()
    >>> stream.record().reached
    True
    """

    def __init__(self, device: Device) -> None:
        self.device = device

    def here(self) -> Stream:
        return self

    def give(self, what: str, work: Work, before: Sequence[Event] = (), event: Event | None = None) -> Event:
        """Does the work once all before it is done, and these events are reached; the event behind it."""
        event = marked(event)
        for other in before:
            other.wait()
        work()
        event.flag.set()
        return event

    def record(self, event: Event | None = None) -> Event:
        """The event that is reached when all work given so far is done."""
        return self.give("event", lambda: None, (), event)

    def wait(self, event: Event) -> None:
        """What is given from now on begins behind the event. Raises DeviceError for one that no stream recorded."""
        if not event.recorded:
            event.wait()
        self.give("wait", lambda: None, (event,))

    def synchronize(self) -> None:
        """Returns once all work given so far is done."""
        self.record().wait()


def marked(event: Event | None) -> Event:
    """An event that is recorded now, a new one without any; DeviceError where that was done before."""
    event = Event() if event is None else event
    if event.recorded:
        raise DeviceError("this event was recorded before, and marks one moment only",
                          hint="Take another: event = stream.record().")
    event.recorded = True
    return event


class Device(Place):
    """A place with memory, where programs run: `with st.device("cpu:1"):` makes new arrays there.

    It equals its name. What a device brings: `allocate`, `copy`, `launch`, `stream`, `event`; what is here is the host.

    >>> find("cpu"), find("cpu") == "cpu", find("cpu:1").index
    (device('cpu'), True, 1)
    """

    def __init__(self, name: str = HOME, memory: Blocks = MEMORY) -> None:
        self.name, self.memory = name, memory
        self.type, _, index = name.partition(":")
        self.index = int(index or 0)
        self.first = self.stream()

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """Memory for an array."""
        return Buffer.empty(dtype, shape, self.memory)

    def copy(self, x: Buffer) -> Buffer:
        """The numbers of a buffer in memory of this device; the buffer itself where it is there."""
        return x.home()

    def launch(self, what: str, run: Callable[[Sequence[Buffer]], Sequence[Buffer]], given: Sequence[Buffer],
               types: Sequence[Type]) -> Sequence[Buffer]:
        """What a program makes of buffers of this device: arrays of these types, whose numbers may come later."""
        return run(given)

    def stream(self) -> Stream:
        """A stream beside the one that the device begins with."""
        return Stream(self)

    def event(self) -> Event:
        """An event that is still to be recorded."""
        return Event()

    def here(self) -> Stream:
        place = PLACE.get()
        return self.first if place is None or place[0].device is not self else place[0]

    def synchronize(self) -> None:
        """Returns once all work given so far to the stream of this place is done."""
        self.here().synchronize()

    def __eq__(self, other: object) -> bool:
        return self is other or self.name == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"device({self.name!r})"

    def __reduce__(self) -> Any:
        return find, (self.name,)


DEVICES: dict[str, Device] = {HOME: Device()}


@public
def device(name: Any) -> Device:
    """The device of a `name`: 'cpu', or 'cpu:1', a CPU again with memory and queues of its own.

    As a context it is where new arrays are made, and it equals its name. Raises DeviceError for other names.

    >>> with st.device("cpu:1"):
    ...     x = st.zeros(2)
    >>> x, x.device == "cpu:1", x.to("cpu").device
    (tensor([0., 0.], device='cpu:1'), True, device('cpu'))
    """
    return find(name)


def find(name: Any) -> Device:
    """The same, for ourselves."""
    text = HOME if str(name) == "cpu:0" else str(name)
    if text not in DEVICES:
        if text not in OTHERS:
            there = " and ".join(map(repr, (HOME, *OTHERS)))
            raise DeviceError(f"there is no device {text!r:.40}: programs run on the CPU, as {there}",
                              hint="Leave .to(...) out, or write .to('cpu').")
        DEVICES.setdefault(text, import_module(OTHERS[text]).Queued(text))
    return DEVICES[text]


def is_device(name: Any) -> bool:
    """Whether something names a device, here or elsewhere, and no dtype."""
    return isinstance(name, Device) or str(name).partition(":")[0] in (HOME, *ELSEWHERE)


def current() -> str | None:
    """The name of the device that the innermost `with` says, None outside of all."""
    place = PLACE.get()
    return None if place is None else place[0].device.name


