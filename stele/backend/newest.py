"""Tables of what is made once and used again: the newest so many entries."""
from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


class Newest(dict[K, T]):
    """A dict that lets go of its oldest entry where one more than `most` is set. Threads may set entries at once.

    >>> table = Newest(2)
    >>> for k in range(4):
    ...     table[k] = k * k
    >>> table
    {2: 4, 3: 9}
    """

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, x: T) -> None:
        super().__setitem__(key, x)
        while len(self) > self.most:
            self.pop(next(iter(tuple(self))), None)     # at once, as another thread may set an entry in between
