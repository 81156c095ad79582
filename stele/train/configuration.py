"""A training as a TOML file says it: data, layers by name, loss, optimiser, checked with line numbers."""
from __future__ import annotations

import functools
import inspect
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele import data, nn
from stele.data.files import read_npz
from stele.errors import DataError, SteleError, nearest
from stele.ops.arguments import is_dict, is_series
from stele.train import callbacks
from stele.train.callbacks import Callback
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

Path_ = tuple[Any, ...]     # where a value stands: keys of tables, and numbers in lists
HEAD = re.compile(r"\s*\[(\[?)\s*([^\[\]]+?)\s*\]")
KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")

NUMBERS = {"epochs": int, "seed": int, "accumulate": int, "clip": float, "precision": str}
TOP = (*NUMBERS, "metrics", "data", "layer", "loss", "optimizer", "schedule", "callback")
OF_LOADER = "batch_size", "drop_last", "shuffle"
OF_DATA = ("kind", "test", *OF_LOADER)
FILES = "folder", "file", "path", "root"        # options that are paths, from where the configuration stands
SHORT = {"lr": "optimizer.lr", "batch_size": "data.batch_size", "optimizer": "optimizer.kind"}
CALLBACKS = {name: x for name in ("EarlyStopping", "EMA", "GradientStatistics", "LearningRateFinder", "NanGuard")
             if issubclass(x := getattr(callbacks, name), Callback)}


def lines_of(text: str) -> dict[Path_, int]:
    """The line of every table and key of a TOML text, by its path; lists in lists that look like tables are none.

    >>> lines_of("epochs = 2\\n[[layer]]\\nkind = 'ReLU'\\n[[layer]]\\nkind = 'Linear'\\n")[("layer", 1, "kind")]
    5
    """
    found: dict[Path_, int] = {}
    prefix: Path_ = ()
    counts: dict[str, int] = {}
    known = tomllib.loads(text)
    for n, line in enumerate(text.splitlines(), 1):
        if (head := HEAD.match(line)) and (keys := keys_of(head[2]))[0] in known:
            if head[1]:
                found.setdefault(keys, n)
                counts[head[2]] = counts.get(head[2], -1) + 1
                keys = (*keys, counts[head[2]])
            elif keys[0] in counts:
                keys = (keys[0], counts[keys[0]], *keys[1:])
            prefix = keys
            found.setdefault(prefix, n)
        elif key := KEY.match(line):
            found.setdefault((*prefix, *keys_of(key[1])), n)
    return found


def value_of(text: str) -> Any:
    """What a value on the command line means, written as in TOML; a string where it is none of that.

    >>> value_of("1e-3"), value_of("true"), value_of("[1, 2]"), value_of("adam")
    (0.001, True, [1, 2], 'adam')
    """
    with suppress(ValueError, RecursionError):
        return tomllib.loads(f"x = {text}")["x"]
    return text


def keys_of(text: str) -> Path_:
    """The parts of a dotted key."""
    return tuple(part.strip().strip("\"'") for part in text.split("."))


class Misconfigured(DataError):
    """What is wrong in a configuration, and where."""


class Configuration:
    """A configuration, in which values may be set anew before the trainer is made of it: the text of a file, or another
    one under its name."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8-sig") if text is None else text
            self.values = tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:   # numbers of more digits than Python reads, lists without end
            raise DataError(f"{path} is no TOML: {error}") from None
        self.lines, self.told = lines_of(self.text), dict[Path_, str]()

    def knows(self, name: str) -> bool:
        return name in ("epochs", "seed", *SHORT)

    def set(self, name: str, text: str) -> None:
        """Sets a value by its dotted name, such as optimizer.lr or layer.conv1.out_channels."""
        *above, last = SHORT.get(name, name).split(".")
        into: Any = self.values
        place: Path_ = ()
        for part in above:
            key, into = self.below(into, part, name)
            place = (*place, key)
        key: Any = self.below(into, last, name)[0] if is_series(into) else last
        into[key] = value_of(text)      # pyright: ignore
        self.told[(*place, key)] = f"--set {name}={text}"

    def below(self, into: Any, key: str, name: str) -> tuple[Any, Any]:
        """What stands under a key: a name given alone is made a table with that kind, and entries have names."""
        if is_series(into):
            names = [str(entry.get("name", k)) if is_dict(entry) else str(k) for k, entry in enumerate(into)]
            if key not in names and not (key.isdigit() and int(key) < len(names)):
                raise DataError(f"--set {name}: there is no {key!r} among {', '.join(names)}")
            k = names.index(key) if key in names else int(key)
            return k, into[k]
        x = into.setdefault(key, {})
        if isinstance(x, str):
            x = into[key] = {"kind": x}
        if not is_dict(x) and not is_series(x):
            raise DataError(f"--set {name}: {key} is {x!r}, which nothing stands under")
        return key, x

    def error(self, place: Path_, message: str, near: str | None = None, hint: str | None = None) -> DataError:
        """What is wrong, with the file and line where it stands, or with the --set that said it."""
        if (told := next((self.told[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.told), None)):
            where = told
        else:
            line = next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), 1)
            where = f"{self.path}:{line}"
        return Misconfigured(message, where=where, hint=f"Did you mean {near!r}?" if near else hint)

    def unknown(self, place: Path_, what: str, known: Collection[str]) -> DataError:
        """The error for a name that is none of those there are."""
        name = str(place[-1])
        near = nearest(name.lower(), lower := {own.lower(): own for own in known}, 0.5)
        few = f"{what} has no {name!r}" + (f": it takes {', '.join(known)}" if len(known) < 24 else "")
        return self.error(place, few, lower[near] if near else None)

    def kind(self, place: Path_, table: Mapping[str, Any], what: str, known: Mapping[str, Any]) -> tuple[str, Any]:
        """What a table's "kind" names, with that name."""
        name = table.get("kind")
        if not isinstance(name, str):
            raise self.error(place, f'{what} needs kind = "...", the name of one')
        if name not in known:
            near = nearest(name.lower(), lower := {own.lower(): own for own in known}, 0.5)
            raise self.error((*place, "kind"), f"there is no {what} {name!r}", lower[near] if near else None)
        return name, known[name]

    def made(self, place: Path_, name: str, make: Callable[..., Any], options: Mapping[str, Any], *given: Any) -> Any:
        """What a function makes of options, each of which it has to know."""
        parameters = inspect.signature(make).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        for key in options:
            if key not in parameters and not takes_any:
                raise self.unknown((*place, key), name, list(parameters)[len(given):])
        try:
            return make(*given, **options)
        except Misconfigured:
            raise
        except SteleError as error:
            said = str(error.args[0])
            named = said if said.startswith(name) else f"{name}: {said}"
            raise self.error(self.blamed(place, options, said), named, hint=error.hint) from None
        except (TypeError, ValueError, LookupError, OSError) as error:
            raise self.error(self.blamed(place, options, str(error)), f"{name}: {error}") from error

    def blamed(self, place: Path_, options: Mapping[str, Any], message: str) -> Path_:
        """The place of the option that an error names, or of its table."""
        named = [key for key in options if re.search(rf"\b{re.escape(key)}\b", message)]
        return (*place, named[0]) if len(named) == 1 else place

    def table(self, name: str) -> dict[str, Any]:
        """A table at the top, where a string alone is its kind."""
        return self.tabled((name,), self.values.get(name, {}))

    def tabled(self, place: Path_, x: Any) -> dict[str, Any]:
        """A table, of which a string alone is the kind."""
        if isinstance(x, str):
            return {"kind": x}
        if not is_dict(x):
            raise self.error(place, f"{place[0]} is a table or the name of a kind, got {x!r}")
        return x

    # From here on, what the parts of a configuration mean.

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
        schedule, one = dict(self.table("schedule")), functools.partial(self.one, ("optimizer",), "optimizer")
        options |= {"loss": self.loss(model, batch), "optimizer": functools.partial(one, self.table("optimizer")),
                    "metrics": [self.metric(("metrics", k), x) for k, x in enumerate(self.listed("metrics"))],
                    "callbacks": [self.callback(k, x) for k, x in enumerate(self.listed("callback"))]}
        if schedule:
            options["schedule_every"] = every = schedule.pop("every", "step")
            if every not in ("step", "epoch"):
                raise self.error(("schedule", "every"), f"every of schedule must be 'step' or 'epoch', got {every!r}")
            options["schedule"] = functools.partial(self.one, ("schedule",), "schedule", schedule)
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

    def listed(self, name: str) -> list[Any]:
        """A list at the top."""
        x = self.values.get(name, [])
        return x if isinstance(x, list) else [x]    # pyright: ignore[reportUnknownVariableType]

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

    def one(self, place: Path_, what: str, table: Mapping[str, Any], *given: Any) -> Any:
        """The optimiser or the schedule that a table says; a schedule of others has a list of tables."""
        table = {"kind": "adam", **table} if what == "optimizer" else table
        name, make = self.kind(place, table, what, OPTIMIZERS if what == "optimizer" else SCHEDULES)
        options = {key: x for key, x in table.items() if key != "kind"}
        if what == "schedule" and is_series(inner := options.get("schedulers")):
            options["schedulers"] = [self.one((*place, "schedulers", k), what, self.tabled(place, x), *given)
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
