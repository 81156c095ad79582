"""What a `config.json` says, read with care: each entry of the kind and in the range that a model can be made of."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stele.errors import DataError, kind

LARGEST = 1 << 24       # of sizes: what a model is made of is compared with the file before any memory is taken


class Config:
    """The entries of a configuration. `source` is where it was found, for errors, and `deepest` how many layers a model
    may have: no more than its weights are tensors.
    """

    def __init__(self, values: Mapping[str, Any], source: str = "config.json", deepest: int = LARGEST) -> None:
        self.values, self.source, self.deepest = values, source, deepest

    def get(self, name: str, default: Any = ...) -> Any:
        """An entry as it is. Raises DataError where it is not there, and nothing stands for it."""
        found = self.values.get(name)
        if found is None and default is ...:
            raise DataError(f"{self.source} has no {name!r}", hint="Is this the folder that save_pretrained wrote?")
        return default if found is None else found

    def whole(self, name: str, default: int | None = None, least: int = 1, most: int = LARGEST) -> int:
        """A whole number."""
        found = self.get(name, ... if default is None else default)
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            raise DataError(f"{name} is a whole number from {least} to {most} in {self.source}, got {found!r:.40}")
        return found

    def layers(self, name: str) -> int:
        """How many layers there are."""
        return self.whole(name, most=self.deepest)

    def depths(self, name: str) -> list[int]:
        """How many layers each stage has."""
        found = self.wholes(name)
        if sum(found) > self.deepest:
            raise DataError(f"{name} are at most {self.deepest} layers together in {self.source}, got {found!r:.60}")
        return found

    def number(self, name: str, default: float | None = None, least: float = 0.0) -> float:
        """A number."""
        found = self.get(name, ... if default is None else default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found) or found < least:
            raise DataError(f"{name} is a number of at least {least} in {self.source}, got {found!r:.40}")
        return float(found)

    def chance(self, name: str, default: float = 0.0) -> float:
        """A probability."""
        if (found := self.number(name, default)) > 1:
            raise DataError(f"{name} is a probability in {self.source}, got {found}")
        return found

    def flag(self, name: str, default: bool) -> bool:
        """True or False."""
        if not isinstance(found := self.get(name, default), bool):
            raise DataError(f"{name} is true or false in {self.source}, got {found!r:.40}")
        return found

    def word(self, name: str, default: str | None = None, known: Mapping[str, Any] | None = None) -> str:
        """A word, one of those that are known."""
        found = self.get(name, ... if default is None else default)
        if not isinstance(found, str) or (known is not None and found not in known):
            one = f" one of {', '.join(known)}" if known is not None else " a word"
            raise DataError(f"{name} is{one} in {self.source}, got {found!r:.40}")
        return found

    def wholes(self, name: str, default: Any = ..., least: int = 1) -> list[int]:
        """Several whole numbers; one stands for a list of it."""
        found = self.get(name, default)
        many: list[Any] = found if isinstance(found, list) else [found]
        if not many or len(many) > self.deepest:
            raise DataError(f"{name} lists 1 to {self.deepest} numbers in {self.source}, got {len(many)}")
        return [Config({name: n}, self.source).whole(name, least=least) for n in many]

    def part(self, name: str) -> Config | None:
        """The entries within an entry, None where there are none."""
        found = self.values.get(name)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise DataError(f"{name} holds entries of its own in {self.source}, got {kind(found)}")
        return Config(found, f"{name} of {self.source}", self.deepest)

    def heads(self, width: int, name: str) -> int:
        """How many heads share the features."""
        if width % (heads := self.whole(name)):
            raise DataError(f"{name} divides the features in {self.source}, got {heads} of {width}")
        return heads

    def labels(self) -> int:
        """How many classes a head tells apart."""
        return max(len(self.get("id2label", {})), 1) if "id2label" in self.values else self.whole("num_labels", 2)
