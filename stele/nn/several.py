"""Lists that `next` takes from too."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")


class Several(list[T]):
    """A list, of which `next` gives the first, then the others, as it does of the generators that PyTorch has.

    >>> layer = nn.Linear(3, 2)
    >>> next(layer.parameters()).shape, len(layer.parameters())
    ((2, 3), 2)
    """

    __slots__ = ("left",)

    left: Iterator[T]

    def __next__(self) -> T:
        if not hasattr(self, "left"):
            self.left = iter(self)
        return next(self.left)
