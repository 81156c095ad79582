"""The base of layers: parameters, buffers and sub-modules found by walking attributes."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary, ref

import numpy as np

from stele.arrays.tensor import Tensor, constant
from stele.backend.devices import is_device
from stele.eager.follow import FOLLOWER
from stele.errors import DataError, DTypeError, ShapeError, advice, nearest
from stele.ir.door import leaving, public
from stele.ir.origin import SCOPE, Scope
from stele.ops.arguments import is_dict, is_series, refuse
from stele.saving import read, save

PATHS: WeakKeyDictionary[Module, str] = WeakKeyDictionary()     # of all modules below the one called last from outside,
LATEST: list[ref[Module]] = []                                  # which stands here
SCOPES: dict[int, tuple[Any, Scope]] = {}               # of such modules by id, ready-made
NOBODY: tuple[Any, Scope] = (lambda: None), Scope()

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Forward(Protocol[P, R]):
    """What has a `forward`: calling it takes and gives what that does."""

    def forward(self, *x: P.args, **options: P.kwargs) -> R: ...


class Module:
    """A layer or a model: tensors and modules held as attributes (also in lists, tuples and dicts) belong to it.

    A tensor that requires gradients is a parameter, another one a buffer; both are in `state_dict`. A class of its own
    writes `__init__`, which needs no call of this one, and `forward`, which calling the module runs.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.fc = nn.Linear(4, 2)
    ...     def forward(self, x):
    ...         return self.fc(x)
    >>> model = Net()
    >>> [name for name, _ in model.named_parameters()], model(st.zeros((8, 4))).shape
    (['fc.weight', 'fc.bias'], (8, 2))
    """

    training = True
    optional: ClassVar[tuple[str, ...]] = ()    # buffers that a state to be loaded may lack

    def forward(self, *x: Any, **options: Any) -> Any:
        """The result for an input, which calling the module returns; every module writes its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, x)")

    def __call__(self: Forward[P, R], *x: P.args, **options: P.kwargs) -> R:
        layer, inherited = outer = SCOPE.get()
        known, scope = SCOPES.get(id(self), NOBODY)
        if known() is not self or inherited is not None or not (layer or (LATEST and LATEST[0]() is self)):
            scope = scope_of(self, outer)
        token = SCOPE.set(scope)
        try:
            y = self.forward(*x, **options)
        except Exception as error:
            leaving(error)
            raise
        finally:
            SCOPE.reset(token)
        if (follower := FOLLOWER.get()) is not None:
            follower.passed(self, y)
        return y

    def held(self) -> dict[str, Any]:
        """What belongs to this module, under the names that paths are made of: its attributes."""
        return vars(self)

    def named_members(self, prefix: str = "") -> Iterator[tuple[str, Tensor | Module]]:
        """All that this module holds as (name, tensor or module), depth first, each object once."""
        seen: set[int] = set()
        stack: list[tuple[str, Any]] = [(prefix, self)]
        while stack:
            name, x = stack.pop()
            if isinstance(x, Tensor | Module):
                if id(x) in seen:
                    continue
                seen.add(id(x))
                yield name, x
            stack += [(f"{name}.{key}" if name else str(key), part) for key, part in reversed(parts_of(x).items())]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules held directly as (name, module), also in lists, tuples and dicts; one held twice comes twice."""
        stack = list(reversed(self.held().items()))
        while stack:
            name, x = stack.pop()
            if isinstance(x, Module):
                yield str(name), x
            elif not isinstance(x, Tensor):
                stack += [(f"{name}.{key}", part) for key, part in reversed(parts_of(x).items())]

    def extra_repr(self) -> str:
        """What stands in the brackets of this layer's `repr`: its sizes and options; layers write their own."""
        return ""

    def __repr__(self) -> str:
        return show(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(show(self))}</pre>"

    def member(self, path: str) -> Any:
        """What stands under a path, None where nothing does: a tied tensor stands under more than one."""
        found: Any = self
        for key in path.split("."):
            found = {str(k): part for k, part in parts_of(found).items()}.get(key)
        return found

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """All modules as (path, module), this one first under the empty path."""
        return ((name, x) for name, x in self.named_members() if isinstance(x, Module))

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The tensors that require gradients as (path, tensor); a tied one once, under its first name."""
        return ((name, x) for name, x in self.named_members() if isinstance(x, Tensor) and x.requires_grad)

    def parameters(self) -> list[Tensor]:
        """The tensors that require gradients, as a list."""
        return [x for _, x in self.named_parameters()]

    @public
    def to(self, device: Any) -> Self:
        """This module itself, its tensors and their gradients moved to a device.

        Make its optimiser behind. Raises DeviceError where there is no such device, DTypeError for a dtype.
        """
        if not is_device(device):
            raise DTypeError(f"a module keeps the dtype of its parameters, float32; got {device!r}",
                             hint="precision='bf16' of st.compile computes products in bfloat16.")
        for x in self.state_dict().values():
            x.move(device)
        return self

    def train(self, mode: bool = True) -> Self:
        """Switches dropout and batch statistics on (or off) in this module and all below; returns the module."""
        for _, module in self.named_modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Switches dropout and batch statistics off, as `train(False)` does; returns the module."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for x in self.parameters():
            x.grad = None

    def state_dict(self) -> dict[str, Tensor]:
        """All tensors by path: parameters and buffers, the live ones."""
        return {name: x for name, x in self.named_members() if isinstance(x, Tensor)}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Takes over numbers by path. Nothing changes unless all of them fit.

        A tied tensor may stand under any of its names, or under all with the same numbers; what a layer names
        `optional` may be missing. Raises DataError if another name is missing or unknown (with `strict`), if a shape
        differs, or if a tied tensor has two sets of numbers.
        """
        own = self.state_dict()
        state = self.untied(own, state)
        missing, unknown = own.keys() - state.keys() - self.optional_names(), state.keys() - own.keys()
        if strict and (missing or unknown):
            raise DataError(f"the state does not fit {type(self).__name__}: " + "; ".join(
                f"{what}: {', '.join(sorted(names)[:5])}{' ...' if len(names) > 5 else ''}"
                for what, names in (("missing", missing), ("unknown", unknown)) if names),
                hint=near(missing, unknown))
        arrays = {name: np.asarray(state[name]) for name in own if name in state}
        for name, array in arrays.items():
            if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
                raise DataError(f"{name} holds no numbers in the state, but {array.dtype}")
            if array.shape != tuple(own[name].shape):
                raise DataError(f"{name} has shape {array.shape} in the state, {tuple(own[name].shape)} in the model")
        for name, array in arrays.items():
            own[name].assign(own[name].dtype.array(array))

    def untied(self, own: Mapping[str, Tensor], state: Mapping[str, Any]) -> dict[str, Any]:
        """A state in which each tensor stands under the name that `state_dict` has for it."""
        first = {id(x): name for name, x in own.items()}
        found: dict[str, Any] = {}
        for given, numbers in state.items():
            name = given if given in own else first.get(id(self.member(given)), given)
            if name in found and not np.array_equal(np.asarray(found[name]), np.asarray(numbers)):
                raise DataError(f"{given} and {name} are one tensor in the model, but differ in the state",
                                hint="Give the model two tensors, or leave one of the names out of the state.")
            found[name] = numbers
        return found

    def optional_names(self) -> set[str]:
        """The paths of buffers that a state may lack."""
        return {f"{path}.{name}" if path else name for path, module in self.named_modules() for name in module.optional}

    def save(self, path: str | Path) -> None:
        """Writes `state_dict` as a safetensors file, whole or not at all; StorageError if it cannot be written."""
        save(self, path)

    def load(self, path: str | Path, strict: bool = True) -> None:
        """Reads a safetensors file into this model. Raises DataError if it is missing, damaged or does not fit."""
        self.load_state_dict(read_safetensors(path), strict)


def locate(model: Module) -> None:
    """Notes the paths of a model's modules."""
    PATHS.update((module, name) for name, module in model.named_modules())
    SCOPES.clear()


def scope_of(module: Any, outer: Scope) -> Scope:
    """What holds inside of a module that is called where `outer` holds."""
    if not outer.layer and (not LATEST or LATEST[0]() is not module):
        locate(module)
        LATEST[:] = [ref(module)]
    path = PATHS.get(module)
    scope = Scope(path or type(module).__name__, outer.inherited)
    if path is None:
        LATEST.clear()      # a layer that came later: the next call finds its path
    elif scope.inherited is None:
        SCOPES[id(module)] = ref(module), scope
    return scope


def given(layer: Module, x: Any) -> Tensor:
    """The input of a layer as a tensor: tensors and arrays are; raises ArgumentError for anything else."""
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, np.ndarray):
        refuse(f"the input of {type(layer).__name__}", "a tensor", x, advice(x))
    return constant(x)


def wrong(layer: Module, takes: str, x: Tensor, hints: Mapping[str, bool]) -> ShapeError:
    """The error for an input of another shape than the layer takes, with the first hint that applies."""
    hint = next((text for text, applies in hints.items() if applies), None)
    return ShapeError(f"this {type(layer).__name__} takes {takes}, got shape {x.shape}", hint=hint)


def show(model: Module) -> str:
    """The tree of a model: each layer with its sizes, and how many parameters it holds.

    >>> from stele import nn
    >>> print(show(nn.Sequential(nn.Linear(4, 3), nn.ReLU())))
    Sequential(            15 parameters
      (0): Linear(4, 3)    15
      (1): ReLU()
    )
    """
    rows: list[tuple[str, int]] = []
    above: list[Module] = []

    def row(module: Module, start: str, indent: str) -> None:
        count = sum(math.prod(p.shape) for p in module.parameters())
        inner = [] if module in above else list(module.named_children())
        rows.append((f"{start}{type(module).__name__}({module.extra_repr()}" + ("" if inner else ")"), count))
        above.append(module)
        for name, child in inner:
            row(child, f"{indent}  ({name}): ", f"{indent}  ")
        above.pop()
        if inner:
            rows.append((f"{indent})", 0))

    row(model, "", "")
    width = max(len(text) for text, _ in rows) + 4
    lines = [f"{text:{width}}{count:,}" if count else text for text, count in rows]
    return "\n".join([lines[0] + " parameters" * (rows[0][1] > 0), *lines[1:]])


def parts_of(x: Any) -> dict[Any, Any]:
    """What a module or a container holds, by name or number."""
    if isinstance(x, Module):
        return x.held()
    return x if is_dict(x) else dict(enumerate(x)) if is_series(x) else {}


def near(missing: set[str], unknown: set[str]) -> str | None:
    """A guess which unknown name was meant for a missing one."""
    for name in sorted(missing):
        if close := nearest(name, unknown):
            return f"Is {close!r} meant to be {name!r}?"
    return None


def read_safetensors(path: str | Path) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a safetensors file by name. Raises DataError if it is missing or damaged."""
    arrays, _ = read(path)
    return arrays
