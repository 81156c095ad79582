"""`stele runs`: runs beside each other, as a table and as a page."""
from __future__ import annotations

from stele import files
from stele.commands.options import RunsOptions
from stele.train.runs import compared, comparison


def runs(options: RunsOptions) -> None:
    """Prints the table of the runs in a folder, the best one first, and writes the page that was asked for."""
    print(compared(options.folder))
    if options.html is not None:
        files.write(options.html, comparison(options.folder).encode())
        print(f"page {options.html}")
