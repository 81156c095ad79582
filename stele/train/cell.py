"""The bar of a training in a cell of a notebook: one text that is shown anew, lines and the bar below them."""
from __future__ import annotations

import sys
from typing import Any

WIDTH = 24      # of the bar, in characters


def is_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process."""
    return "ipykernel" in sys.modules


class Cell:
    """What is asked of a bar of rich, in a cell: one task at a time, and lines that stay above it."""

    def __init__(self) -> None:
        from IPython.display import display  # type: ignore[import-not-found]  # pyright: ignore

        self.display: Any = display
        self.lines, self.name, self.total, self.bar = list[str](), "", 0, ""

    @property
    def console(self) -> Cell:
        """Where lines go."""
        return self

    def start(self) -> None:
        self.handle = self.display(self.shown(), raw=True, display_id=True)

    def stop(self) -> None:
        self.bar = ""
        self.refresh()

    def add_task(self, name: str, total: int | None, completed: int, facts: str) -> int:
        """Begins another bar, in the place of the last one."""
        self.name, self.total = name, total or 0
        self.update(0, completed, facts)
        return 0

    def update(self, task: int, completed: int, facts: str) -> None:
        """Shows how far it is."""
        done = min(1.0, completed / self.total) if self.total else 0.0
        full = round(WIDTH * done)
        self.bar = f"{self.name} {'━' * full}{'─' * (WIDTH - full)} {done:4.0%} {facts}"
        self.refresh()

    def remove_task(self, task: int) -> None:
        self.bar = ""

    def print(self, line: str, **how: Any) -> None:
        """A line above the bar; it stays when the bar is gone."""
        self.lines.append(line)
        self.refresh()

    def refresh(self) -> None:
        self.handle.update(self.shown(), raw=True)

    def shown(self) -> dict[str, str]:
        """All of it as the text of a cell."""
        return {"text/plain": "\n".join([*self.lines, self.bar]).rstrip("\n")}
