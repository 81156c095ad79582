"""`stele view FILE`: a model as a page."""
from __future__ import annotations

from pathlib import Path

from stele import files
from stele.commands.models import kind_of
from stele.commands.options import ViewOptions
from stele.inspect.view import traced
from stele.inspect.view.page import page


def view(options: ViewOptions) -> None:
    """Writes the page of a model, and says where. Raises DataError for what is no model, or is damaged."""
    kind = kind_of(options.file)
    drawing = kind.loaded(kind.draws).drawing(options.file) if kind.draws else traced.drawing(
        options.file.name, kind.source(options.file, options.trust))
    out = options.out or Path(f"{options.file.name}.html")
    files.write(out, page(drawing).encode())
    print(f"{len(drawing.nodes):,} nodes drawn in {out}")
