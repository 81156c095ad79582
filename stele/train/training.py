"""`stele train`: a run, or a sweep of them, from what was asked to run folders."""
from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from traceback import format_exception
from typing import Any

import stele as st
from stele.commands.options import SEED, TrainOptions
from stele.errors import DataError, SteleError
from stele.train.checkpoint import CHECKPOINT, Checkpoint, read
from stele.train.history import History
from stele.train.recipes import Recipe, recipe_of
from stele.train.report import Progress, table
from stele.train.run import default_folder
from stele.train.runs import compared
from stele.train.workloads import WORKLOADS

FLAGS = ("data", "batch", "seed", "lr", "optimizer")     # options that stay what they were in a run
CALLED = {"batch": "batch_size"}
SAID = "lr", "batch_size", "epochs", "seed"     # facts that a history has anyway


def train(options: TrainOptions) -> None:
    """Trains what was asked for, once or for each choice of a sweep, and leaves run folders."""
    if options.threads:
        st.set_threads(options.threads)
    if options.sweep:
        sweep(options)
        return
    folder, history = one(options)
    print(f"run folder {folder}")
    print(table(history.epochs))


def one(options: TrainOptions) -> tuple[Path, History]:
    """One run: history, curves, the model, and a checkpoint to go on from."""
    state = None if options.resume is None else read(options.resume)
    if state is not None:
        options = resumed(options, state)
    what = options.what or ""
    st.manual_seed(options.seed or SEED)
    recipe = recipe_of(what, None if state is None else state["note"].get("text"))
    for name, text in settings(options, recipe):
        recipe.set(name, text)
    trainer = recipe.trainer()
    folder = options.resume or options.out or default_folder(Path(what).stem)
    facts = {"workload": Path(what).name, "seed": options.seed or SEED, "threads": st.get_threads(),
             **{name: text for name, text in (recipe.defaults() | dict(options.settings)).items()
                if name.rpartition(".")[2] not in SAID}}
    note = {name: None if x is None else kept(x) for name, x in ((n, getattr(options, n)) for n in ("what", *FLAGS))}
    note |= {"settings": [list(pair) for pair in options.settings], "text": getattr(recipe, "text", None),
             "epochs": options.epochs or trainer.epochs}
    if state is not None and (name := state["history"]["meta"].get("data")) != trainer.history.meta.get("data"):
        raise DataError(f"the run in {folder} learns from {name}, got {trainer.history.meta.get('data')}. "
                        "Pass its --data.")
    keep = Checkpoint(folder, resume=state is not None, facts=facts, note=note,
                      again=f"go on with: stele train --resume {folder}")
    trainer.callbacks = [keep, *trainer.callbacks, Progress()]
    return folder, trainer.fit(options.epochs)


def settings(options: TrainOptions, recipe: Recipe) -> list[tuple[str, str]]:
    """All that is to be set in a recipe, by name: options of the command line, and those of --set."""
    found = [(CALLED.get(name, name), str(x)) for name in FLAGS
             if (x := getattr(options, name)) is not None and (name != "seed" or recipe.knows(name))]
    if options.epochs is not None and recipe.knows("epochs"):
        found.append(("epochs", str(options.epochs)))
    return [*found, *options.settings]


def kept(x: Any) -> str:
    """An option as a note keeps it: a file or folder by its whole path, for a run is gone on with from anywhere."""
    return str(Path(x).absolute()) if isinstance(x, Path) or Path(str(x)).suffix in (".py", ".toml") else str(x)


def resumed(options: TrainOptions, state: dict[str, Any]) -> TrainOptions:
    """The options of the run, with those that were given for its rest."""
    was = state["note"]
    for name in ("what", "batch", "seed", "lr", "optimizer"):
        own = kept(was[name] or str(state["history"]["meta"].get(name)).lower())    # where none was given
        if (x := getattr(options, name)) is not None and kept(x) != own:
            raise DataError(f"the run in {options.resume} has {'workload' if name == 'what' else name} {own}, "
                            f"got {x}. Leave it out to go on with the run, or begin another one.")
    what = was["what"]
    if what not in WORKLOADS and not Path(what).suffix:
        raise DataError(f"the run in {options.resume} is of {what!r}, which this version does not have.")
    numbers = {name: None if was[name] is None else kind(was[name])
               for name, kind in (("batch", int), ("seed", int), ("lr", float))}
    return replace(options, what=what, optimizer=was["optimizer"], epochs=options.epochs or was["epochs"], **numbers,
                   data=options.data or (Path(was["data"]) if was["data"] else None),
                   settings=tuple((name, text) for name, text in was["settings"]))


def sweep(options: TrainOptions) -> None:
    """A run for each choice of values, one after the other, in folders of one folder; then a table of all of them.

    A run whose folder is there already is gone on with. One that fails is said, and the others are done.
    """
    base = options.out or default_folder(f"{Path(options.what or '').stem}-sweep")
    names, failed = [name for name, _ in options.sweep], list[str]()
    for values in product(*(texts for _, texts in options.sweep)):
        pairs = tuple(zip(names, values))
        folder = base / ",".join(f"{name}={text}".replace("/", "-") for name, text in pairs)
        print(f"run folder {folder}")
        again = (folder / CHECKPOINT).exists()
        asked = replace(options, sweep=(), out=None if again else folder, resume=folder if again else None,
                        settings=() if again else (*options.settings, *pairs))
        try:
            one(asked)
        except Exception as error:      # of the user's file too: the runs behind it are done
            failed.append(folder.name)
            print("failed:", error if isinstance(error, SteleError) else "".join(format_exception(error)))
    if any(base.glob("*/history.json")):
        print(compared(base))
    if failed:
        raise DataError(f"{len(failed)} of the runs failed: {', '.join(failed)}")
