"""Modules and parameters in lists and dicts, and `Sequential`."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from stele.arrays.tensor import Tensor, constant
from stele.errors import ArgumentError, IndexOutOfRange, UnknownName, nearest
from stele.interop.keywords import speaks
from stele.ir.door import public
from stele.nn.module import Module, is_parameter
from stele.ops.arguments import flag, is_dict, is_many, is_mapping, is_series, positive, refuse
from stele.tracing.taken import Answering


class Parameters(type):
    """What knows a parameter: parameters are tensors, of no class of their own."""

    def __instancecheck__(cls, x: Any) -> bool:
        return is_parameter(x)


class Parameter(Tensor, metaclass=Parameters):
    """A tensor of its own with the numbers of `data`, which as an attribute of a module is a parameter of it.

    It is what `st.tensor(data, requires_grad=True)` makes; with requires_grad=False it begins frozen: an optimiser
    leaves it alone until `requires_grad_()`. In the shape and dtype of data. Raises DTypeError for other numbers than
    floats.

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         self.weight = nn.Parameter(st.ones(3))
    ...     def forward(self, x):
    ...         return x * self.weight
    >>> [name for name, _ in Scale().named_parameters()]
    ['weight']
    >>> isinstance(Scale().weight, nn.Parameter), isinstance(st.ones(3), nn.Parameter)
    (True, False)
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        raise ArgumentError(f"{cls.__name__} is made a class of parameters, which are tensors of no class of their own",
                            hint="Write a function that returns nn.Parameter(data).")

    @public
    def __new__(cls, data: Any, requires_grad: bool = True) -> Tensor:
        made = constant(data).detach().requires_grad_()
        return made if flag(requires_grad, "requires_grad of Parameter") else made.requires_grad_(False)


def a_module(x: Any, holder: str) -> Module:
    """What a container of modules holds; raises ArgumentError for anything else."""
    if isinstance(x, type):
        refuse(f"a layer of {holder}", "a module", x, f"Make one: {x.__name__}(...).")
    if not callable(x):
        refuse(f"a layer of {holder}", "a module", x, f"Write nn.{holder}(*layers)." if is_series(x) else
               f"Write nn.{holder}(*layers.values())." if is_dict(x) else None)
    return x    # type: ignore[return-value]


def a_parameter(x: Any, holder: str) -> Any:
    """What a container of parameters holds: tensors become parameters, lists and numbers too."""
    return x if is_parameter(x) else Parameter(x)


class Holding(Module, Answering):
    """What holds parts, whose names are attributes as well; what else it is given belongs to it, as to any module."""

    own: ClassVar[tuple[str, ...]] = ("layers", "called", "parts")

    def named(self) -> dict[str, Any]:
        """The parts by name."""
        raise NotImplementedError

    def put(self, name: str, part: Any) -> None:
        """Another part, in the place of the one of this name."""
        raise NotImplementedError

    def remove(self, name: str) -> None:
        """Takes out the part of this name."""
        raise NotImplementedError

    def held(self) -> dict[str, Any]:
        return self.named() | {name: x for name, x in vars(self).items() if name not in self.own}

    def __setattr__(self, name: str, x: Any) -> None:
        if isinstance(x, Module):
            self.put(name, x)
        else:
            super().__setattr__(name, x)

    def __delattr__(self, name: str) -> None:
        if name in self.named():
            self.remove(name)
        else:
            super().__delattr__(name)

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            parts = self.named()
            return parts[name] if name in parts else super().__getattr__(name)


class Listed(Holding):
    """What holds its parts in a row, under their numbers, and is used as a list of them."""

    layers: tuple[Any, ...] = ()
    called: tuple[str, ...] = ()    # names of the first parts, where they have others than their numbers

    def checked(self, x: Any) -> Any:
        """A part, as it is held."""
        return a_module(x, type(self).__name__)

    def names(self) -> list[str]:
        """What the parts are called in paths."""
        return [*self.called, *map(str, range(len(self.called), len(self.layers)))]

    def change(self, k: int | slice, new: list[Any]) -> None:
        """Puts parts in the place of others; where parts have names, new ones have their numbers."""
        parts, names = list(self.layers), self.names()
        k = k if isinstance(k, slice) else slice(k, k + 1)
        first = range(len(parts))[k].start if parts[k] else k.start
        parts[k] = new
        if self.called:
            names[k] = names[k] if len(new) == 1 and names[k] else [str(first + n) for n in range(len(new))]
            self.called = tuple(names)
        self.layers = tuple(parts)

    def named(self) -> dict[str, Any]:
        return dict(zip(self.names(), self.layers, strict=True))

    def put(self, name: str, part: Any) -> None:
        names = self.names()
        if name in names:
            self[names.index(name)] = part
        else:
            self.layers, self.called = (*self.layers, self.checked(part)), (*names, name)

    def remove(self, name: str) -> None:
        del self[self.names().index(name)]

    def like(self, parts: dict[str, Any]) -> Any:
        """A container of this kind of other parts."""
        made: Any = type(self)
        return made(parts.values())

    def place(self, k: int) -> int:
        """The number of a part, counted from the front; IndexOutOfRange where there is none."""
        if not -len(self.layers) <= k < len(self.layers):
            raise IndexOutOfRange(f"this {type(self).__name__} has {len(self.layers)} parts, none of number {k}")
        return k % len(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def __contains__(self, x: object) -> bool:
        return any(x is part for part in self.layers)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return self.like(dict(zip(self.names()[k], self.layers[k])))
        return self.layers[self.place(k)]

    def __setitem__(self, k: int, x: Any) -> None:
        self.change(self.place(k), [self.checked(x)])

    def __delitem__(self, k: int | slice) -> None:
        self.change(k if isinstance(k, slice) else self.place(k), [])

    def __iadd__(self, more: Iterable[Any]) -> Self:
        return self.extend(more)

    def __add__(self, more: Iterable[Any]) -> Self:
        return self[:].extend(more)

    def append(self, module: Any) -> Self:
        """Adds another part at the end; returns this container."""
        self.layers = (*self.layers, self.checked(module))
        return self

    def extend(self, modules: Iterable[Any]) -> Self:
        """Adds more parts at the end; returns this container."""
        if not is_many(modules):
            refuse(f"what a {type(self).__name__} is extended by", "several parts", modules)
        self.layers = (*self.layers, *map(self.checked, modules))
        return self

    def insert(self, index: int, module: Any) -> Self:
        """Adds a part before the one of a number; returns this container."""
        at = range(len(self.layers) + 1)[index]
        self.change(slice(at, at), [self.checked(module)])
        return self

    def pop(self, key: int = -1) -> Any:
        """Takes out a part, the last one without a number, and returns it."""
        x = self[key]
        del self[key]
        return x


class Sequential(Listed):
    """The modules `layers` one after the other: each takes what the one before returns.

    They are named by their numbers, or by the names of one dict of modules: `model.fc` is the layer "fc", and assigning
    a module to `model.head` adds a layer. It is a list of its layers, too: len, model[k], model[1:],
    model.append(layer). Shapes and dtypes are those of the layers. Raises ArgumentError for what
    is no module.

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> [name for name, _ in model.named_parameters()]
    ['0.weight', '0.bias', '2.weight', '2.bias']
    >>> len(model), model[1], model(st.zeros((8, 4))).shape
    (3, ReLU(), (8, 2))
    >>> list(nn.Sequential({"fc": nn.Linear(4, 3), "act": nn.ReLU()}).state_dict())
    ['fc.weight', 'fc.bias']
    """

    @speaks
    def __init__(self, *layers: Any) -> None:
        found: tuple[Any, ...] = layers
        if len(layers) == 1 and is_dict(layers[0]):
            self.called, found = tuple(map(str, layers[0])), tuple(layers[0].values())
        self.layers = tuple(map(self.checked, found))

    def like(self, parts: dict[str, Any]) -> Any:
        return Sequential(parts) if self.called else Sequential(*parts.values())

    @public
    def __mul__(self, times: int) -> Sequential:
        """The layers so many times over: the same ones, which share their parameters."""
        return Sequential(*self.layers * positive(times, "the number that a Sequential is multiplied with"))

    __rmul__ = __mul__

    @public
    def __imul__(self, times: int) -> Self:
        return self.extend(self.layers * (positive(times, "the number that a Sequential is multiplied with") - 1))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class ModuleList(Listed):
    """A list of `modules`, which belong to the module that holds it; it has no `forward` of its own.

    A plain list does the same; this one has PyTorch's name. They keep their shapes and dtypes. Raises ArgumentError for
    what is no module.

    >>> blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(blocks), len(blocks[1:]), [name for name, _ in blocks.named_parameters()][:2]
    (3, 2, ['0.weight', '0.bias'])
    """

    @speaks
    def __init__(self, modules: Iterable[Module] | None = ()) -> None:
        self.extend(() if modules is None else modules)

    def checked(self, x: Any) -> Any:
        return a_module(x, "ModuleList")


class ParameterList(Listed):
    """A list of `values`, tensors, arrays or numbers, as parameters.

    A plain list of parameters does the same; this one has PyTorch's name. They keep their shapes and dtypes. Raises
    DTypeError for other numbers than floats.

    >>> weights = nn.ParameterList([st.ones(2), st.zeros((2, 3))])
    >>> [(name, p.shape) for name, p in weights.named_parameters()]
    [('0', (2,)), ('1', (2, 3))]
    """

    @speaks
    def __init__(self, values: Iterable[Any] | None = ()) -> None:
        self.extend(() if values is None else values)

    def checked(self, x: Any) -> Any:
        return a_parameter(x, "ParameterList")


class Keyed(Holding):
    """What holds its parts under names, and is used as a dict of them."""

    parts: Mapping[str, Any] = MappingProxyType({})

    def checked(self, x: Any) -> Any:
        """A part, as it is held."""
        return a_module(x, type(self).__name__)

    def named(self) -> dict[str, Any]:
        return {**self.parts}

    def put(self, name: str, part: Any) -> None:
        self[name] = part

    def remove(self, name: str) -> None:
        del self[name]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __reversed__(self) -> Iterator[str]:
        return reversed([*self.parts])

    def __contains__(self, key: object) -> bool:
        return key in self.parts

    def __or__(self, more: Mapping[str, Any]) -> Self:
        made = self.copy()
        made.update(more)
        return made

    def __ror__(self, first: Mapping[str, Any]) -> Self:
        made: Any = type(self)
        return made(first) | self

    def __ior__(self, more: Mapping[str, Any]) -> Self:
        self.update(more)
        return self

    def __getitem__(self, key: str) -> Any:
        if key not in self.parts:
            close = nearest(key, self.parts)
            raise UnknownName(f"this {type(self).__name__} has no {key!r}",
                              hint=f"Did you mean {close!r}?" if close else None)
        return self.parts[key]

    def __setitem__(self, key: str, x: Any) -> None:
        self.update({key: x})

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def keys(self) -> Iterable[str]:
        """The names of the parts."""
        return self.parts.keys()

    def values(self) -> Iterable[Any]:
        """The parts in their order."""
        return self.parts.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The parts as (name, part)."""
        return self.parts.items()

    def update(self, more: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds parts, or puts them in the place of those of their names."""
        pairs: Any = more.items() if isinstance(more, Keyed) or is_mapping(more) else more
        pairs = list(pairs) if is_many(pairs) else [None]
        if not all(is_series(pair) and len(pair) == 2 for pair in pairs):
            refuse(f"what a {type(self).__name__} is made of", "a dict", more)
        given = dict(pairs)
        for name in given:
            if not isinstance(name, str) or not name or "." in name:    # pyright: ignore[reportUnnecessaryIsInstance]
                refuse(f"a key of {type(self).__name__}", "a word without dots", name)
        self.parts = {**self.parts, **{name: self.checked(x) for name, x in given.items()}}

    def pop(self, key: str) -> Any:
        """Takes out the part of a name and returns it."""
        x = self[key]
        self.parts = {name: part for name, part in self.parts.items() if name != key}
        return x

    def popitem(self) -> tuple[str, Any]:
        """Takes out the last part and returns it as (name, part); UnknownName where there is none."""
        if not self.parts:
            raise UnknownName(f"this {type(self).__name__} has no part to take out")
        name = next(reversed([*self.parts]))
        return name, self.pop(name)

    def get(self, key: str, default: Any = None) -> Any:
        """The part of a name, or `default` where there is none."""
        return self.parts.get(key, default)

    def setdefault(self, key: str, default: Any) -> Any:
        """The part of a name, which is `default` from now on where there was none."""
        if key not in self.parts:
            self[key] = default
        return self[key]

    def copy(self) -> Self:
        """Another container of the same parts."""
        made: Any = type(self)
        return made(self.parts)

    def clear(self) -> None:
        """Takes out all parts."""
        self.parts = {}


class ModuleDict(Keyed):
    """A dict of `modules` by name, which belong to the module that holds it; it has no `forward` of its own.

    A plain dict does the same; this one has PyTorch's name. They keep their shapes and dtypes. Raises ArgumentError for
    what is no module.

    >>> heads = nn.ModuleDict({"up": nn.Linear(2, 3), "down": nn.Linear(3, 2)})
    >>> heads["up"](st.zeros((5, 2))).shape, "down" in heads, list(heads.state_dict())[:2]
    ((5, 3), True, ['up.weight', 'up.bias'])
    """

    @speaks
    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = ()) -> None:
        self.parts = {}
        self.update(() if modules is None else modules)


class ParameterDict(Keyed):
    """A dict of `parameters` by name: tensors, arrays or numbers become parameters.

    A plain dict of parameters does the same; this one has PyTorch's name. They keep their shapes and dtypes. Raises
    DTypeError for other numbers than floats.

    >>> scales = nn.ParameterDict({"a": st.ones(2), "b": st.zeros(3)})
    >>> [(name, p.shape) for name, p in scales.named_parameters()], scales["a"].requires_grad
    ([('a', (2,)), ('b', (3,))], True)
    """

    @speaks
    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = ()) -> None:
        self.parts = {}
        self.update(() if parameters is None else parameters)

    @classmethod
    @public
    def fromkeys(cls, keys: Iterable[str], default: Any = None) -> Self:
        """Parameters of these names, each with the numbers of `default`: a parameter itself is the same one for all.

        >>> [(name, p.tolist()) for name, p in nn.ParameterDict.fromkeys(["a", "b"], st.ones(2)).items()]
        [('a', [1.0, 1.0]), ('b', [1.0, 1.0])]
        """
        if default is None:
            refuse("default of fromkeys", "what the parameters begin as", default, "Write st.zeros(n), for one.")
        return cls((key, default) for key in keys)

    def checked(self, x: Any) -> Any:
        return a_parameter(x, "ParameterDict")
