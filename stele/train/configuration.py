"""A training as a TOML file says it: data, layers by name, loss, optimiser, checked with line numbers."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele import data, nn
from stele.arrays.tensor import Tensor
from stele.data.files import read_npz
from stele.errors import DataError, nearest
from stele.ops.arguments import is_dict, is_series
from stele.train import callbacks
from stele.train.callbacks import Callback
from stele.train.document import Document, Path_
from stele.train.loggers import JSONLines, MLflow, TensorBoard, WandB
from stele.train.network import (
    INPUT,
    OF_LISTS,
    Function,
    Network,
    Wired,
    as_tensor,
    first,
    input_names,
    kinds,
    sized,
)
from stele.train.parts import LOSSES, METRICS, OPTIMIZERS, SCHEDULES, first_of, parts_of
from stele.train.trainer import Trainer

NUMBERS = {"epochs": int, "seed": int, "accumulate": int, "clip": float, "precision": str}
TOP = (*NUMBERS, "metrics", "data", "layer", "loss", "optimizer", "schedule", "callback")
OF_LOADER = "batch_size", "drop_last", "shuffle"
OF_DATA = ("kind", "test", *OF_LOADER)
FILES = "folder", "file", "path", "root"        # options that are paths, from where the configuration stands
CALLBACKS = {x.__name__: x for x in (
    callbacks.EarlyStopping, callbacks.EMA, callbacks.GradientStatistics, callbacks.LearningRateFinder,
    callbacks.NanGuard, JSONLines, MLflow, TensorBoard, WandB)}


class Configuration(Document):
    """What a document says of a training: the trainer that is made of it."""

    def defaults(self) -> dict[str, str]:
        """None: what is not set stands in the file."""
        return {}

    def trainer(self) -> Trainer:
        """The trainer that all of it says."""
        for key in self.values:
            if key not in TOP:
                raise self.unknown((key,), "a configuration", TOP)
        options = {key: self.number(key, kind) for key, kind in NUMBERS.items() if key in self.values}
        if (seed := options.pop("seed", None)) is not None:
            self.made((), "seed", st.manual_seed, {"seed": seed})
        loader, validation, name = self.loaders(seed or 0)
        model = self.network(batch := first_of(loader))
        schedule = dict(self.table("schedule"))
        options |= {"loss": self.loss(model, batch), "optimizer": self.optimizer(model),
                    "metrics": [self.metric(("metrics", k), x) for k, x in enumerate(self.listed("metrics"))],
                    "callbacks": [self.callback(k, x) for k, x in enumerate(self.listed("callback"))]}
        if schedule:
            options["schedule_every"] = every = schedule.pop("every", "step")
            if every not in ("step", "epoch"):
                raise self.error(("schedule", "every"), f"every of schedule must be 'step' or 'epoch', got {every!r}")
            options["schedule"] = functools.partial(self.schedule, ("schedule",), schedule)
        made = self.made((), "a training", Trainer, {"validation": validation, **options}, model, loader)
        made.history.meta = {"data": name, "batch": loader.batch_size} | ({} if seed is None else {"seed": seed})
        return made

    def number(self, key: str, kind: type) -> Any:
        """A value at the top, of the kind that it has to be."""
        x = self.values[key]
        if type(x) is int and kind is float:
            return float(x)
        if type(x) is not kind:
            raise self.error((key,), f"{key} is {'an' if kind is int else 'a'} {kind.__name__}, got {x!r}")
        return x

    def loaders(self, seed: int) -> tuple[data.Loader, data.Loader | None, str]:
        """Batches to learn from and to validate on, and the name of the data."""
        table, place = self.table("data"), ("data",)
        name, make = self.kind(place, table, "data", SETS)
        options = {key: str(self.path.parent / x) if key in FILES and isinstance(x, str) else x
                   for key, x in table.items() if key not in OF_DATA}
        found = self.made(place, name, make, options)
        train, test = (found.train, found.test) if hasattr(found, "train") else self.cut(found, table, seed)
        of_loader = {key: table[key] for key in OF_LOADER if key in table}
        loader = self.made(place, "data", data.Loader, {"shuffle": True, "seed": seed, **of_loader}, columns(train))
        return loader, None if test is None else data.Loader(columns(test), 200), getattr(found, "name", name)

    def cut(self, found: Any, table: Mapping[str, Any], seed: int) -> tuple[Any, Any]:
        """A set in two: `test` says how large a share is held out."""
        share = table.get("test", 0)
        if not share:
            return found, None
        return self.made(("data", "test"), "split", lambda: found.split(1 - share, share, seed=seed), {})

    def network(self, batch: Any) -> nn.Module:
        """The layers, each made for what the ones before it give of a batch."""
        *inputs, _ = parts_of(batch)
        names = input_names(len(inputs))
        known: dict[str, Any] = dict(zip(names, map(as_tensor, inputs)))
        wired, before, all_kinds = list[Wired](), INPUT, kinds()
        if not self.listed("layer"):
            raise self.error(("layer",), "a configuration needs layers", "[[layer]]")
        for k, entry in enumerate(self.listed("layer")):
            place: Path_ = ("layer", k)
            table = self.tabled(place, entry)
            kind, make = self.kind(place, table, "layer", all_kinds)
            name = table.get("name", f"{kind.lower()}{k + 1}")
            of = table.get("from", before)
            of = tuple(of) if is_series(of) else (of,)
            if not isinstance(name, str) or not name:
                raise self.error((*place, "name"), f"the name of a layer is a string, got {name!r}")
            if strange := [x for x in of or [of] if not isinstance(x, str) or x not in known]:
                near = nearest(str(strange[0]), known)
                raise self.error((*place, "from"), f"no layer before {name!r} is called {strange[0]!r}", near)
            if name in known:
                raise self.error((*place, "name"), f"two layers are called {name!r}")
            options = {key: x for key, x in table.items() if key not in ("kind", "name", "from")}
            layer = self.layer(place, kind, make, options, [known[source] for source in of])
            wired.append(Wired(name, layer, of))
            known[name] = self.tried(place, f"{name} ({kind})", layer, [known[source] for source in of])
            before = name
        return Network(wired).train()

    def layer(self, place: Path_, kind: str, make: Any, options: Mapping[str, Any], x: list[Any]) -> nn.Module:
        """One layer, or a function as one."""
        if inspect.isclass(make):
            return self.made(place, kind, make, sized(make, options, x))
        return Function(make, options, kind in OF_LISTS)

    def tried(self, place: Path_, name: str, layer: nn.Module, x: list[Any]) -> Any:
        """What a layer gives of the batch."""
        with st.no_grad():
            y = self.made(place, name, lambda: first(layer.eval()(*x)), {})
            return st.tensor(np.asarray(y)) if hasattr(y, "shape") else y

    def optimizer(self, model: nn.Module) -> Any:
        """The optimiser, of groups where a table says some, each tried alone, so that what is wrong is found in it."""
        place, table = ("optimizer",), {"kind": "adam", **self.table("optimizer")}
        name, make = self.kind(place, table, "optimizer", OPTIMIZERS)
        options = {key: x for key, x in table.items() if key not in ("kind", "group")}
        known = [*list(inspect.signature(make).parameters)[1:], "group"]
        if strange := [key for key in options if key not in known]:
            raise self.unknown((*place, strange[0]), name, known)
        made = self.made(place, name, make, options, model.parameters())
        if "group" not in table:
            return made
        groups = [*self.groups(dict(model.named_parameters()), self.listed("group", table))]
        for where, params, own in groups:
            self.made(where, name, make, options | own, params)
        return self.made(place, name, make, options, [{"params": params, **own} for _, params, own in groups])

    def groups(self, left: dict[str, Tensor], given: list[Any]) -> Iterator[tuple[Path_, list[Tensor], dict[str, Any]]]:
        """The groups of parameters, by patterns of names, of which the first that fits counts; then what is left."""
        names = list(left)
        for k, entry in enumerate(given):
            place: Path_ = ("optimizer", "group", k)
            if not is_dict(entry) or not (patterns := [str(x) for x in self.listed("params", entry)]):
                raise self.error(place, f'a group is a table with params = "...", names of parameters, got {entry!r}')
            for x in patterns:
                if not any(fnmatchcase(name, x) for name in names):
                    near = next((f"{x}.*" for name in names if name.startswith(f"{x}.")), nearest(x, names))
                    there = f": there are {', '.join(names)}" if len(names) < 24 else ""
                    raise self.error((*place, "params"), f"no parameter is called {x!r}{there}", near)
            ours = [name for name in left if any(fnmatchcase(name, x) for x in patterns)]
            if not ours:
                raise self.error((*place, "params"), f"all that {', '.join(patterns)} fits is in groups before it")
            yield place, [left.pop(name) for name in ours], {
                key: x for key, x in entry.items() if key not in ("name", "params")}
        if left:
            yield ("optimizer",), [*left.values()], {}

    def schedule(self, place: Path_, table: Mapping[str, Any], *given: Any) -> Any:
        """The schedule that a table says; one of others has a list of tables."""
        name, make = self.kind(place, table, "schedule", SCHEDULES)
        options = {key: x for key, x in table.items() if key != "kind"}
        if is_series(inner := options.get("schedulers")):
            options["schedulers"] = [self.schedule((*place, "schedulers", k), self.tabled(place, x), *given)
                                     for k, x in enumerate(inner)]
        takes_it = next(iter(inspect.signature(make).parameters)) != "schedulers"      # which have the optimizer
        return self.made(place, name, make, options, *given[:takes_it])

    def loss(self, model: nn.Module, batch: Any) -> Callable[..., Any]:
        """The loss, with its options, which has to give one number for what the model makes of a batch."""
        table = self.table("loss") or {"kind": "cross_entropy"}
        name, f = self.kind(("loss",), table, "loss", LOSSES)
        options = {key: x for key, x in table.items() if key != "kind"}
        for key in options:
            if key not in inspect.signature(f).parameters:
                raise self.unknown(("loss", key), name, list(inspect.signature(f).parameters)[2:])
        loss = functools.partial(f, **options) if options else f
        *inputs, target = map(as_tensor, parts_of(batch))
        def tried(**_: Any) -> Any: return loss(model.eval()(*inputs), target).numpy()
        with st.no_grad():
            y = self.made(("loss",), name, tried, options)
        if y.ndim:
            raise self.error(("loss", "reduction"), f"{name} has to give one number, got shape {y.shape}")
        model.train()
        return loss

    def metric(self, place: Path_, x: Any) -> Any:
        """A metric by its name, or by a table."""
        table = self.tabled(place, x)
        name, make = self.kind(place, table, "metric", METRICS)
        return self.made(place, name, make, {key: x for key, x in table.items() if key != "kind"})

    def callback(self, k: int, x: Any) -> Callback:
        """A callback by a table."""
        place: Path_ = ("callback", k)
        table = self.tabled(place, x)
        name, make = self.kind(place, table, "callback", CALLBACKS)
        return self.made(place, name, make, {key: x for key, x in table.items() if key != "kind"})


def npz(file: str) -> data.Splits:
    """Arrays of a file of NumPy: x and y, and x_test and y_test where some are held out."""
    found = read_npz(file)
    if missing := {"x", "y"} - found.keys():
        raise DataError(f"{file} has to hold x and y, and may hold x_test and y_test; it has no {min(missing)}")
    train = data.ArrayDataset(found["x"], found["y"])
    if not {"x_test", "y_test"} <= found.keys():
        return train    # type: ignore[return-value]
    return data.Splits(Path(file).stem, (), train, data.ArrayDataset(found["x_test"], found["y_test"]))


def columns(found: Any) -> Any:
    """What a loader takes of a set: its arrays where it has them."""
    return tuple(found.arrays) if isinstance(found, data.ArrayDataset) and not found.names else found


def sets() -> dict[str, Callable[..., Any]]:
    """What a configuration may name as its data: what gives `data.Splits`, kinds of `data.Dataset`, and "npz"."""
    found: dict[str, Callable[..., Any]] = {"npz": npz}
    for name in data.__all__:
        x = getattr(data, name)
        is_set = inspect.isclass(x) and issubclass(x, data.Dataset) and x not in (data.Dataset, data.ArrayDataset)
        said = str(inspect.signature(x).return_annotation) if inspect.isfunction(x) else ""
        if is_set or "Splits" in said or "Dataset" in said:
            found[name] = x
    return found


SETS = sets()
