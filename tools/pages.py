"""Pages of the site that are made of code: a hook of MkDocs (`mkdocs.yml`).

    mkdocs build --strict       # warnings are errors: a link that leads nowhere ends the build
    mkdocs serve                # the site at http://127.0.0.1:8000, made anew when a page changes

The reference is written from the live objects, so it says what `help` says: signature, docstring, example. The README
is the first page, and programs of `docs/` stand on pages of their own.
"""
from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import stele as st
from stele import nn
from stele.arrays.rebinding import Rebinding
from stele.arrays.spoken import Word
from stele.interop import caffe, flax, huggingface, keras, onnx, torch
from stele.ir.types import REAL, DType
from stele.transform import expand, movement, picks, simplify, stabilize

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = sorted(path.stem for path in (ROOT / "docs").glob("*.py"))

# The pages of functions of `stele`, and the modules whose public functions stand on each.
FAMILIES: dict[str, tuple[str, str]] = {
    "making": ("Making tensors", "arrays.creation arrays.lines arrays.grids arrays.tensor"),
    "elementwise": ("Elementwise functions", """ops.elementwise.base ops.elementwise.binary ops.elementwise.signs
        ops.elementwise.special ops.elementwise.unary ops.parts"""),
    "statistics": ("Sums, statistics and scans", """ops.statistics ops.quantiles ops.counting ops.cumulative
        ops.histograms ops.differences ops.norms"""),
    "shapes": ("Shapes and joining", "arrays.shapes ops.shaping ops.padding ops.joining ops.linear ops.diagonals"),
    "choosing": ("Choosing, sorting, sets", "ops.selecting ops.sorting ops.scattering arrays.sized arrays.sets"),
    "products": ("Products and polynomials", "ops.contraction ops.products ops.einsum ops.polynomials"),
    "networks": ("Functions of networks", "ops.convolution ops.pooling ops.functional"),
    "everyday": ("More of NumPy", "ops.everyday ops.bits"),
    "random": ("Random numbers", "arrays.random arrays.generator"),
    "dtypes": ("Dtypes and the namespace", "arrays.namespace ir.types builtins"),
    "programs": ("Programs, gradients, loops", """arrays.functions call.compiled call.symbolic eager.handle
        higher.gradient higher.jacobian higher.vmap higher.collective higher.custom higher.fixed higher.checkpoint
        higher.scan higher.control higher.called higher.foreign inspect.lint.function inspect.profile.function
        pipeline saving backend.devices"""),
}
ROOMS: dict[str, tuple[str, ModuleType]] = {
    "linalg": ("stele.linalg", st.linalg), "fft": ("stele.fft", st.fft), "generator": ("stele.random", st.random),
    "nn": ("stele.nn", nn), "functional": ("stele.nn.functional", nn.functional), "init": ("stele.nn.init", nn.init),
    "optim": ("stele.optim", st.optim), "metrics": ("stele.metrics", st.metrics), "data": ("stele.data", st.data),
    "transforms": ("stele.data.transforms", st.data.transforms), "io": ("stele.io", st.io),
    "train": ("stele.train", st.train), "errors": ("stele.errors", st.errors),
    "debug": ("stele.debug", st.debug), "onnx": ("stele.interop.onnx", onnx),
    "huggingface": ("stele.interop.huggingface", huggingface),
    "torch": ("stele.interop.torch", torch), "keras": ("stele.interop.keras", keras),
    "flax": ("stele.interop.flax", flax),
    "caffe": ("stele.interop.caffe", caffe),
}


# Classes whose methods users call or write anew; the others are made and called.
CALLED = (nn.Module, huggingface.LanguageModel, huggingface.Pieces, st.data.Dataset, st.data.IterableDataset,
          st.data.Loader, st.data.Tokenizer, st.data.Vocabulary, st.metrics.Metric, st.optim.Optimizer,
          st.optim.Schedule, st.random.Generator, st.train.Callback, st.train.History, st.train.Trainer)


def home(x: Any) -> str:
    """The module in which something is written, seen through what wraps it."""
    x = inspect.unwrap(x)
    return (getattr(x, "__module__", None) or type(x).__module__).removeprefix("stele.")


def names_on(page: str) -> list[str]:
    """The public names of `stele` on a page of functions."""
    modules = FAMILIES[page][1].split()
    return [name for name in sorted(st.__all__) if name != "Tensor" and not inspect.ismodule(x := getattr(st, name))
            and home(x) in modules]


def escaped(text: str) -> str:
    """Prose of a docstring as Markdown: outside of backticks nothing has a meaning."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if k % 2 else re.sub(r"([*_>\[\]])", r"\\\1", part).replace("<", "&lt;")
                   for k, part in enumerate(parts))


def prose(doc: str) -> Iterator[str]:
    """A docstring as Markdown, its examples as code."""
    for block in re.split(r"\n\s*\n", inspect.cleandoc(doc)):
        said, mark, example = ("", "", block) if block.startswith(">>>") else block.partition("\n>>>")
        if block.startswith("    "):
            yield f"```\n{block}\n```\n"
        elif said:
            yield escaped(said) + "\n"
        if example:
            yield f"```pycon\n{mark.strip()}{example}\n```\n"


def signature(name: str, x: Any) -> str:
    """How something is called, a line where that is short enough."""
    try:
        found = inspect.signature(x)
    except (TypeError, ValueError):
        return name
    parameters = [p.replace(annotation=Word(p.annotation) if isinstance(p.annotation, str) else p.annotation)
                  for p in found.parameters.values()]
    back = found.return_annotation
    back = found.empty if inspect.isclass(x) else Word(back) if isinstance(back, str) else back
    text = f"{name}{found.replace(parameters=parameters, return_annotation=back)}"
    return text if len(text) <= 100 else f"{name}(\n" + "".join(f"    {p},\n" for p in marked(parameters)) + ")"


def marked(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    """Parameters as they are written, with the star behind which names are needed."""
    was: Any = None
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and was not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            yield "*"
        yield str(p)
        was = p.kind


def entry(room: str, name: str, x: Any, level: str = "##") -> Iterator[str]:
    """What the reference says of one name."""
    yield f"{level} {name} {{ #{room}.{name} }}\n"
    if callable(x) and not isinstance(x, DType):
        yield f"```python\n{signature(f'{room}.{name}', x)}\n```\n"
        yield from prose(inspect.getdoc(x) or "")
    elif type(x).__repr__ is object.__repr__:
        yield from prose(inspect.getdoc(x) or "")
    else:
        yield f"`{room}.{name}` is `{x!r}`.\n"


def whole(room: str, name: str, x: Any) -> Iterator[str]:
    """What the reference says of one name, and of the methods of a class that users call."""
    yield from entry(room, name, x)
    for method in methods(x) if x in CALLED else []:
        f = vars(x)[method]
        if isinstance(f, property):
            yield f"### {name}.{method} {{ #{room}.{name}.{method} }}\n"
            yield from prose(inspect.getdoc(f) or "")
        else:
            yield from entry(f"{room}.{name}", method, getattr(x, method), "###")


def held(by: type) -> dict[str, Any]:
    """What a class holds; a tensor's what is written to it, too."""
    return {**vars(Rebinding), **vars(by)} if by is st.Tensor else {**vars(by)}


def methods(of: type) -> list[str]:
    """The public methods of a class, without those that say nothing."""
    return [name for name, x in sorted(held(of).items()) if not name.startswith("_")
            and (inspect.isroutine(x) or isinstance(x, property)) and (x.__doc__ or "").strip()]


def reference() -> Iterator[tuple[str, str]]:
    """The pages of the reference: their names and texts."""
    for page, (title, _) in FAMILIES.items():
        yield page, "\n".join([f"# {title}\n", *(line for name in names_on(page)
                                              for line in entry("st", name, getattr(st, name)))])
    lines = ["# st.Tensor\n", *prose(inspect.getdoc(st.Tensor) or "")]
    for name in methods(st.Tensor):
        x = held(st.Tensor)[name]
        if isinstance(x, property):
            lines += [f"## {name} {{ #Tensor.{name} }}\n", *prose(inspect.getdoc(x) or "")]
        else:
            lines += entry("Tensor", name, getattr(st.Tensor, name))
    yield "tensor", "\n".join(lines)
    for page, (title, room) in ROOMS.items():
        short = title.removeprefix("stele.") if room in (nn, nn.functional, nn.init) else title.replace("stele", "st")
        names = [name for name in sorted(room.__all__) if not inspect.ismodule(getattr(room, name))]
        yield page, "\n".join([f"# {title}\n", *prose(inspect.getdoc(room) or ""),
                               *(line for name in names for line in whole(short, name, getattr(room, name)))])


def rewrites() -> str:
    """The rules of the passes, by name."""
    lines = ["# Rewrites\n", """Every rule as reports name it, what it says, and the dtypes it holds for. A rule is a
function from a value to what may stand for it; passes apply theirs until none fires. One shared test proves each, over
every dtype it holds for, with overflow, infinities, NaN and signed zeros. `step.programs[0].report()` says which fired,
and where; `STELE_SHOW=graph,simplify` prints the graph before and behind them.\n"""]
    for title, module, rules in (("Simplify: arithmetic", simplify, simplify.ARITHMETIC),
                                 ("Simplify: movement", movement, movement.RULES),
                                 ("Simplify: picks", picks, picks.RULES),
                                 ("Stabilise", stabilize, stabilize.RULES), ("Expand", expand, expand.RULES)):
        lines += [f"## {title}\n", *prose(module.__doc__ or ""), "| rule | what it says | dtypes |", "|---|---|---|"]
        for rule in rules:
            held = "all" if rule.dtypes == REAL else kinds(rule.dtypes)
            lines.append(f"| `{rule.name}` | {escaped(rule.doc).replace('|', '&#124;')} | {held} |")
        lines.append("")
    return "\n".join(lines)


def kinds(dtypes: Iterable[DType]) -> str:
    """Dtypes by their kinds, where they are all of a kind."""
    left, said = [*dtypes], list[str]()
    for word, group in (("floats", [d for d in REAL if d.is_float]),
                        ("integers", [d for d in REAL if "int" in d.name])):
        if all(d in left for d in group):
            said.append(word)
            left = [d for d in left if d not in group]
    return ", ".join([*said, *(d.name for d in left)])


def first_page() -> str:
    """The README, its links as seen from the pages."""
    text = (ROOT / "README.md").read_text()
    text = re.sub(r"\]\(docs/(\w+)\.py\)", r"](programs/\1.md)", text).replace("](docs/", "](")
    return re.sub(r"\[([^\]]*)\]\((CONTRIBUTING\.md|NOTICE|examples|stele/\w+)\)", r"`\2`", text)


def program(name: str) -> str:
    """A program of `docs/` as a page."""
    text = (ROOT / "docs" / f"{name}.py").read_text()
    title = (ast.get_docstring(ast.parse(text)) or name).partition("\n")[0].rstrip(".:")
    return f"# {title}\n\n`python docs/{name}.py`\n\n```python\n{text}```\n"


def notebook() -> str:
    """The notebook as a page: its cells, and below each what it printed when it was executed."""
    parts: list[str] = []
    for cell in json.loads((ROOT / "docs" / "notebook.ipynb").read_text())["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            shown = output.get("data", {"text/plain": output.get("text", "")})
            plain = "".join(shown["text/plain"]).rstrip()
            parts.append("".join(shown.get("text/html", "")) or f"```text\n{plain}\n```")
    return "\n\n".join([*parts, "[The notebook](../notebook.ipynb) to run it yourself.\n"])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made, to those that are written."""
    made: Iterable[tuple[str, str]] = [
        ("index.md", first_page()),
        *((f"programs/{name}.md", program(name)) for name in PROGRAMS),
        *((f"reference/{name}.md", text) for name, text in reference()),
        ("guide/notebook.md", notebook()), ("reference/rewrites.md", rewrites())]
    for path, text in made:
        files.append(File.generated(config, path, content=text))
    return files
