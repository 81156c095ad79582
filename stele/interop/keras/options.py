"""What the configuration of a layer says, read with care: each option of a kind that its rule can compute with."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from stele.errors import DataError

LARGEST = 1 << 24       # of sizes


class Options:
    """The options of a layer. `source` is the layer as errors name it. All raise DataError for another kind."""

    def __init__(self, values: Mapping[str, Any], source: str) -> None:
        self.values, self.source = values, source

    def get(self, name: str, default: Any = None) -> Any:
        """An option as it stands there; the default where it does not."""
        return self.values.get(name, default)

    def wrong(self, name: str, wanted: str) -> DataError:
        """The error that says what an option may be."""
        return DataError(f"{name} of {self.source} is {wanted}, got {self.values.get(name)!r:.60}")

    def whole(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A whole number."""
        found = self.get(name, default)
        if type(found) is not int or not least <= found <= LARGEST:
            raise self.wrong(name, f"a whole number from {least} to {LARGEST}")
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """A number."""
        found = self.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise self.wrong(name, "a number")
        return float(found)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or False."""
        found = self.get(name, default)
        if not isinstance(found, bool):
            raise self.wrong(name, "true or false")
        return found

    def word(self, name: str, known: Iterable[str], default: str | None = None) -> str:
        """One of the words that are known."""
        found = self.get(name, default)
        if not isinstance(found, str) or found not in known:
            raise self.wrong(name, f"one of {', '.join(known)}")
        return found

    def each(self, name: str, n: int, default: Any = None, least: int = 1) -> tuple[int, ...]:
        """A whole number for each of n axes; one stands for all."""
        found = self.get(name, default)
        many = found if isinstance(found, list) else [found] * n
        if len(many) != n or any(type(k) is not int or not least <= k <= LARGEST for k in many):
            raise self.wrong(name, f"{n} whole numbers from {least} to {LARGEST}")
        return tuple(many)

    def pairs(self, name: str, n: int, default: Any = None) -> list[tuple[int, int]]:
        """How much is added or taken before and behind each of n axes; one number is for both sides."""
        found = self.get(name, default)
        many = found if isinstance(found, list) and n > 1 else [found] * (n if type(found) is int else 1)
        both = [k if isinstance(k, list) else [k, k] for k in many]
        if len(both) != n or any(len(p) != 2 or any(type(k) is not int or not 0 <= k <= LARGEST for k in p)
                                 for p in both):
            raise self.wrong(name, f"a whole number, or a pair, for each of {n} axes")
        return [(lo, hi) for lo, hi in both]

    def axes(self, name: str, ndim: int, default: Any = -1) -> tuple[int, ...]:
        """One axis or several, counted from the front of what has so many."""
        found = self.get(name, default)
        many = found if isinstance(found, list) else [found]
        if not many or any(type(k) is not int or not -ndim <= k < ndim for k in many):
            raise self.wrong(name, f"one or more of {ndim} axes")
        return tuple(sorted({k % ndim for k in many}))

    def axis(self, name: str, ndim: int, default: int = -1) -> int:
        """One axis, counted from the front."""
        found = self.axes(name, ndim, default)
        if len(found) != 1:
            raise self.wrong(name, f"one of {ndim} axes")
        return found[0]

    def has(self, name: str) -> bool:
        """Whether what a variable asks for is set: "use_bias", "score_mode=concat", or several options by commas."""
        return all(map(self.is_set, filter(None, name.split(","))))

    def is_set(self, name: str) -> bool:
        """Whether an option is true or there, or the word that it should be."""
        key, is_word, word = name.partition("=")
        found = self.get(key, None if is_word else True)
        return str(found) == word if is_word else found if isinstance(found, bool) else found is not None

    def policy(self) -> str:
        """The name of the dtype policy, such as "mixed_bfloat16"."""
        found = self.get("dtype")
        found = found.get("config", {}).get("name") if isinstance(found, dict) else found
        return found if isinstance(found, str) else "float32"

    def quantised(self) -> str | None:
        """How a layer is quantised, in words, where it is."""
        how = self.get("quantization_config") or self.get("dtype")
        is_plain = not isinstance(how, dict) or how.get("class_name") in ("DTypePolicy", "Policy", "FloatDTypePolicy")
        return None if is_plain else f"dtype {how.get('class_name')}"
