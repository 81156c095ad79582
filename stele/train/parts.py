"""What a training is made of, by name or as it is: losses, optimisers, metrics, schedules, batches."""
from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import stele as st
from stele import metrics, nn, optim
from stele.arrays.tensor import Tensor
from stele.data import Loader
from stele.eager.follow import reading
from stele.errors import ArgumentError, DataError, OptionError, kind
from stele.interop.names import LOSSES as ELSEWHERE
from stele.ir.origin import note
from stele.nn.module import bare
from stele.ops.arguments import choice, instance, is_dict, is_many, is_mapping, is_series, number
from stele.tracing import tree

Batch = Any     # a tuple, list or dict of arrays, nested as samples are, or one array

SHORT = {"mae": "l1_loss", "bce": "binary_cross_entropy", "bce_with_logits": "binary_cross_entropy_with_logits",
         "ce": "cross_entropy", "kl": "kl_div", "mean_squared_error": "mse_loss", "mean_absolute_error": "l1_loss"}
KINDS = "_loss", "cross_entropy", "cross_entropy_with_logits", "kl_div"    # what names of losses end in
FULL = [name for name in nn.functional.__all__ if name.endswith(KINDS)]
LOSSES: dict[str, Callable[..., Any]] = {
    short: getattr(nn.functional, name)
    for short, name in (*SHORT.items(), *((name.removesuffix("_loss"), name) for name in FULL), *zip(FULL, FULL))}


def snake(name: str) -> str:
    """The name of a class as that of a value.

    >>> snake("AveragePrecision"), snake("AUROC"), snake("IoU")
    ('average_precision', 'auroc', 'iou')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name).lower()


def classes_of(room: Any, base: type) -> dict[str, Any]:
    """The classes of a room of one kind, under their names and under those of values."""
    found = {name: x for name in room.__all__ if isinstance(x := getattr(room, name), type) and issubclass(x, base)}
    found.pop(base.__name__, None)
    return found | {snake(name): x for name, x in found.items()}


FRAMEWORKS = ("torch", "keras", "tensorflow", "jax", "jaxlib", "optax")
OPTIMIZERS = classes_of(optim, optim.Optimizer)
SCHEDULES = classes_of(optim, optim.Schedule)
METRICS = classes_of(metrics, metrics.Metric) | {"acc": metrics.Accuracy, "mse": metrics.MeanSquaredError,
                                                 "mae": metrics.MeanAbsoluteError}


def model_of(given: Any) -> nn.Module:
    """The module that a training is of."""
    if (elsewhere := foreign(given)) is not None:
        raise ArgumentError(f"model of a Trainer must be a Module of Stele's, got one of {elsewhere}: {kind(given)}",
                            hint="Write stele.interop.torch.from_torch(module, (x,)), with an example x."
                            if elsewhere == "torch" else "docs/convert.md says how models of others come in.")
    return instance(bare(given), "model of a Trainer", nn.Module)


def loss_of(given: Any) -> Callable[..., Any] | None:
    """A loss: a function or module of predictions and targets, or the name of one of `nn.functional`."""
    if isinstance(given, type):
        raise ArgumentError(f"a loss is a function or a module that is made, got the class {given.__name__}",
                            hint=f"Write {given.__name__}(), with its brackets.")
    if (elsewhere := foreign(given)) is not None:
        raise ArgumentError(f"a loss is a function of tensors of Stele's, got one of {elsewhere}: {kind(given)}",
                            hint='Write loss="cross_entropy", or nn.CrossEntropyLoss() of stele.nn.')
    if given is None or callable(given):
        return given
    if isinstance(given, str) and given in ELSEWHERE:
        raise OptionError(f"there is no loss {given!r}", hint=f"Write {ELSEWHERE[given]}.")
    return LOSSES[choice(given, "loss", LOSSES)]


def homes(x: Any) -> list[str]:
    """The packages that a function, or a class and those that it inherits of, or those of an object are of."""
    found = (x,) if isinstance(x, FunctionType) else (x if isinstance(x, type) else type(x)).__mro__
    return [str(part.__module__).partition(".")[0] for part in found]


def foreign(x: Any) -> str | None:
    """The other framework that a function, a class or an object is of, if it is of one."""
    return next((home for home in homes(x) if home in FRAMEWORKS), None)


def optimizer_of(given: Any, model: nn.Module, lr: float | None) -> Any:
    """An optimiser of a model's parameters: one that is made, a function that makes one of them, or a name."""
    if (elsewhere := foreign(given)) is not None:
        raise ArgumentError(f"an optimizer is one of stele.optim, got one of {elsewhere}: {kind(given)}",
                            hint='Write optimizer="adam", lr=1e-3, or optim.Adam(model.parameters(), lr=1e-3).')
    if isinstance(given, optim.Optimizer | optim.Lookahead):
        if lr is not None:
            raise ArgumentError(f"the optimizer has a rate of its own, got lr={lr} too",
                                hint="Give it to the optimizer, or name the optimizer.")
        if not {*map(id, given.parameters)} & {*map(id, model.parameters())}:
            note("The optimizer holds no parameter of the model, which learns nothing: make it of model.parameters().")
        return given
    made = OPTIMIZERS[choice(given, "optimizer", OPTIMIZERS)] if isinstance(given, str) else given
    if not callable(made):
        raise ArgumentError("an optimizer is a name, one of stele.optim, or a function of parameters, got "
                            f"{kind(given)}")
    options = {} if lr is None else {"lr": number(lr, "lr")}
    return made(model.parameters(), **options)


def metrics_of(given: Any) -> dict[str, metrics.Metric]:
    """Metrics by name: of a dict, or of metrics and names of metrics one by one."""
    if is_mapping(given):
        return {name: metric_of(x) for name, x in given.items()}
    found: dict[str, metrics.Metric] = {}
    if not is_many(given) and not isinstance(given, metrics.Metric) and not callable(given):
        raise ArgumentError(f"metrics are a dict or a list of metrics, their names or functions, got {kind(given)}")
    for x in [given] if isinstance(given, str | metrics.Metric) or callable(given) else given:
        made = metric_of(x)
        is_function = not isinstance(x, str | metrics.Metric)
        name = str(getattr(x, "__name__", "mean")) if is_function else snake(type(made).__name__)
        if name in found:
            raise ArgumentError(f"two metrics are called {name!r}", hint="Give metrics={name: metric, ...}.")
        found[name] = made
    return found


def metric_of(given: Any) -> metrics.Metric:
    """A metric, one that can be made by its name alone, or the mean of a function of predictions and targets."""
    if isinstance(given, metrics.Metric):
        return given
    if callable(given) and not isinstance(given, type):
        return metrics.Mean(given)
    made = METRICS[choice(given, "metric", METRICS)]
    try:
        return made()
    except TypeError:
        raise ArgumentError(f"{made.__name__} needs options", hint=f"Write metrics.{made.__name__}(...).") from None


def schedule_of(given: Any, optimizer: Any) -> Any:
    """A schedule of an optimiser: one that is made, or a function that makes one of it."""
    if given is None or isinstance(given, optim.Schedule):
        return given
    if not callable(given):
        raise ArgumentError(f"a schedule is one of stele.optim, or a function of the optimizer, got {kind(given)}",
                            hint="Write schedule=lambda optimizer: optim.CosineDecay(optimizer, steps).")
    return given(optimizer)


def batches_of(given: Any, what: str) -> Any:
    """What gives batches, epoch by epoch; raises ArgumentError for what gives them once, or gives arrays."""
    data: Any = given
    if is_series(given) and not isinstance(data, list) and given and all(hasattr(x, "ndim") for x in given):
        order = ", shuffle=True" if what == "data" else ""
        raise ArgumentError(f"{what} is batches, got {kind(data)} of arrays",
                            hint=f"Write data.Loader((x, y), batch_size=64{order}).")
    if data is not None and (not isinstance(data, Iterable) or hasattr(given, "ndim")):
        raise ArgumentError(f"{what} is batches, epoch by epoch, got {kind(given)}", hint="Write data.Loader(...).")
    if isinstance(data, Iterator):
        raise ArgumentError(f"{what} gives its batches once, and every epoch wants them again",
                            hint="Pass a data.Loader, a list, or an object whose __iter__ begins anew.")
    if length_of(given) == 0:
        raise ArgumentError(f"{what} is batches, got {kind(given)} without any")
    if hasattr(given, "as_numpy_iterator"):     # of tf.data
        return Arrays(given)
    return Loader(given) if hasattr(given, "batch_sampler") and hasattr(given, "dataset") else given    # of PyTorch


class Arrays:
    """Batches of a tf.data.Dataset, as arrays."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def __iter__(self) -> Iterator[Batch]:
        return self.base.as_numpy_iterator()

    def __len__(self) -> int:
        return len(self.base)


def length_of(data: Any) -> int | None:
    """How many batches an epoch has, None where nobody knows."""
    try:
        return len(data)
    except TypeError:
        return None


def parts_of(batch: Batch) -> list[Any]:
    """What stands in a batch side by side: the entries of a tuple, list or dict, or the one array."""
    return list(batch.values()) if is_mapping(batch) else list(batch) if is_series(batch) else [batch]


def size_of(batch: Batch) -> int:
    """How many samples a batch has: the length of the first array in it."""
    return next((int(x.shape[0]) for x in tree.flatten(batch)[0] if getattr(x, "ndim", 0)), 1)


def open_axes(batch: Batch) -> dict[str, dict[int, str]]:
    """The axes of a batch that `st.compile` is to leave open: the first one of every array that has the samples on it.

    >>> open_axes((np.zeros((8, 3)), {"y": np.zeros(8)}))
    {'batch.0': {0: 'batch'}, 'batch.1.y': {0: 'batch'}}
    """
    leaves, spec = tree.flatten(batch)
    return {path: {0: "batch"} for path, x in zip(tree.paths(spec, "batch"), leaves)
            if getattr(x, "ndim", 0) and x.shape[0] == size_of(batch)}


def outcome(found: Any) -> dict[str, Any]:
    """What a step returned, as a dict with a "loss"."""
    if isinstance(found, Tensor):
        return {"loss": found}
    if not is_dict(found) or not isinstance(found.get("loss"), Tensor):
        held = f", with {kind(found['loss'])} under 'loss'" if is_dict(found) and "loss" in found else ""
        raise ArgumentError(f"a step returns its loss, a tensor, or a dict with one under 'loss', got {kind(found)}"
                            f"{held}")
    return found


def first_of(data: Any) -> Batch:
    """The first batch of data, which then begins where it stood before."""
    state = data.state_dict() if hasattr(data, "state_dict") else None
    batch = next(iter(data))
    if state is not None:
        data.load_state_dict(state)
    return batch


def at_epoch(data: Any, epoch: int) -> Iterable[Batch]:
    """The batches of an epoch, however often data was read before; a loop over the same loader goes on as it stood."""
    return reading(data.batches(epoch)) if isinstance(data, Loader) else data


def made_whole(model: nn.Module, run: Callable[[], Any]) -> None:
    """Runs a model once where layers of it wait for their first call, which makes their parameters."""
    if any(layer._wanting is not None for layer in model.modules()):
        modes = modes_of(model)
        model.eval()
        with st.no_grad():
            run()
        restore(modes)


Modes = Sequence[tuple[nn.Module, bool]]


def modes_of(model: nn.Module) -> Modes:
    """Which layers are training, and which are not."""
    return [(layer, layer.training) for layer in model.modules()]


def restore(modes: Modes) -> None:
    """Puts layers into the modes they had."""
    for layer, mode in modes:
        layer.training = mode


class Tensors:
    """Tensors by name, as what has a state."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = tensors

    def state_dict(self) -> dict[str, Tensor]:
        """Their numbers."""
        return {name: x.detach() for name, x in self.tensors.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Their numbers as they were; DataError where one is missing."""
        if missing := [name for name in self.tensors if name not in state]:
            raise DataError(f"the state is none of this trainer: it lacks the tensor {missing[0]!r}")
        with st.no_grad():
            for name, x in self.tensors.items():
                x.assign(state[name])


def own_parts(attributes: Mapping[str, Any], known: Iterable[Any]) -> dict[str, Any]:
    """What a class of one's own keeps beside, by name: tensors, and whatever has a state that is not known already."""
    there = {id(x) for x in known}
    held = {f"own.{name}": x for name, x in entries(attributes, there) if id(x) not in there}
    tensors = {name: x for name, x in held.items() if isinstance(x, Tensor)}
    found = {name: x for name, x in held.items() if has_state(x)}
    return found | ({"own": Tensors(tensors)} if tensors else {})


def entries(held: Mapping[str, Any], known: Container[int]) -> Iterator[tuple[str, Any]]:
    """What is held by name, and what stands in lists and dicts of it, unless these are known."""
    for name, x in held.items():
        yield name, x
        inner = () if id(x) in known else x.items() if is_mapping(x) else enumerate(x) if is_series(x) else ()
        yield from ((f"{name}.{key}", part) for key, part in inner)


def has_state(x: Any) -> bool:
    """Whether there is something to keep of an object, in words of ours: a network of PyTorch is not."""
    is_torchs = "torch" in homes(x)
    return hasattr(x, "load_state_dict") and not isinstance(x, type) and not is_torchs and bool(x.state_dict())


def plain(x: Any) -> Any:
    """A number of a tensor of one, a list of another."""
    return x.tolist() if isinstance(x, Tensor) or hasattr(x, "tolist") else x


def prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values under names that say of which data they are."""
    return {f"{prefix}_{name}": x for name, x in values.items()}


