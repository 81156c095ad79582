"""The base of layers: parameters, buffers and sub-modules found by walking attributes."""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, Self, TypeVar, cast
from weakref import WeakKeyDictionary, ref

import numpy as np

from stele.arrays.creation import zeros_like
from stele.arrays.tensor import Tensor, constant
from stele.backend.devices import is_device
from stele.call.compiled import Compiled
from stele.eager.follow import FOLLOWER
from stele.errors import DTypeError, GraphError, ShapeError, UnknownName, advice, nearest
from stele.interop.keywords import answering, speaks
from stele.interop.names import MODULES
from stele.ir.door import leaving, public
from stele.ir.origin import SCOPE, Scope
from stele.ir.types import bfloat16, float16, float32, float64
from stele.ir.types import dtype as named_dtype
from stele.nn.hooks import Hook, Hooks
from stele.nn.several import Several
from stele.nn.states import Incompatible, load
from stele.ops.arguments import flag, instance, is_dict, is_series, refuse
from stele.saving import read, save
from stele.tracing.noted import PLACEHOLDERS, Held, before, called, noted
from stele.tracing.state import Naming

PATHS: WeakKeyDictionary[Module, str] = WeakKeyDictionary()     # of all modules below the one called last from outside,
LATEST: list[ref[Module]] = []                                  # which stands here
SCOPES: dict[int, tuple[Any, Scope]] = {}               # of such modules by id, ready-made
NAMES: WeakKeyDictionary[Module, tuple[frozenset[str], frozenset[str]]] = WeakKeyDictionary()
"""What held tensors before the first call of a module, and of a copy what held none that count when it was made."""
PLAIN = int, float, bool, str, NoneType     # what holds nothing
NOBODY: tuple[Any, Scope] = (lambda: None), Scope()

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Forward(Protocol[P, R]):
    """What has a `forward`: calling it takes and gives what that does."""

    _hooks: Hooks | None

    def forward(self, *x: P.args, **options: P.kwargs) -> R: ...


class Said:
    """The signature of a module, by which `st.compile` names its arguments: that of its `forward`."""

    def __get__(self, module: Module | None, owner: type) -> inspect.Signature:
        if module is None:
            raise AttributeError("__signature__")       # calling a class makes a module
        return inspect.signature(module.forward)


class Module(Naming):
    """A layer or a model: tensors and modules held as attributes (also in lists, tuples and dicts) belong to it.

    A tensor that requires gradients, or did before it was frozen, is a parameter, another one a buffer; both are in
    `state_dict`. A class of its own writes `__init__`, which needs no call of this one, and `forward`, which calling
    the module runs. What it computes there and holds under a name that held no tensor before the first call is neither,
    unless `register_buffer` says so. Shapes and dtypes are those of `forward`. Raises NotImplementedError without one,
    and `load_state_dict` DataError for what does not fit.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.fc = nn.Linear(4, 2)
    ...     def forward(self, x):
    ...         return self.fc(x)
    >>> model = Net()
    >>> [name for name, _ in model.named_parameters()], model(st.zeros((8, 4))).shape
    (['fc.weight', 'fc.bias'], (8, 2))
    """

    __signature__ = Said()
    training = True
    _hooks: Hooks | None = None
    optional: ClassVar[tuple[str, ...]] = ()    # buffers that a state to be loaded may lack
    _transient: tuple[str, ...] = ()             # buffers of one module that no state holds
    _awaited: tuple[str, ...] = ()               # buffers that were registered without a tensor
    _wanting: Any = None                         # what a layer was made with whose first call makes its parameters

    if not TYPE_CHECKING:
        __getattr__ = answering("a module", MODULES)

    @speaks
    def __init__(self) -> None:
        super().__init__()

    def forward(self, *x: Any, **options: Any) -> Any:
        """The result for an input, which calling the module returns; every module writes its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, x)")

    def __call__(self: Forward[P, R], /, *x: P.args, **options: P.kwargs) -> R:
        layer, inherited = outer = SCOPE.get()
        known, scope = SCOPES.get(id(self), NOBODY)
        if known() is not self or inherited is not None or not (layer or (LATEST and LATEST[0]() is self)):
            scope = scope_of(self, outer)
        was: Held = ()
        if PLACEHOLDERS:
            was = before(x for _, x in cast(Module, self).named_members() if isinstance(x, Tensor))
            if LATEST and LATEST[0]() is self:
                called(cast(Module, self))
        token = SCOPE.set(scope)
        try:
            y = self.forward(*x, **options) if (hooks := self._hooks) is None else hooks.around(self, x, options)
        except Exception as error:
            leaving(error)
            raise
        finally:
            SCOPE.reset(token)
        if (follower := FOLLOWER.get()) is not None:
            follower.passed(self, y)
        return noted(was, (x, options), y) if was else y

    def __getstate__(self) -> dict[str, Any]:
        passing = frozenset(parts_of(self).keys() - kept(self).keys())
        return vars(self) | ({"_names": (NAMES[self][0], passing)} if self in NAMES else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_names" in state:
            NAMES[self] = vars(self).pop("_names")

    def held(self) -> dict[str, Any]:
        """What belongs to this module, under the names that paths are made of: its attributes."""
        return vars(self)

    def named_members(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor | Module]]:
        """All that this module holds as (name, tensor or module), depth first, each object once.

        Without `recurse` what its modules hold is left out. Names begin with a `prefix`.
        """
        flag(recurse, "recurse of a module's members")
        instance(prefix, "prefix of a module's members", str)
        seen: set[int] = set()
        stack: list[tuple[str, Any]] = [(prefix, self)]
        while stack:
            name, x = stack.pop()
            if isinstance(x, Tensor | Module):
                if id(x) in seen:
                    continue
                seen.add(id(x))
                yield name, x
            if recurse or x is self or not isinstance(x, Module):
                stack += [(f"{name}.{key}" if name else str(key), part) for key, part in reversed(kept(x).items())
                          if type(part) not in PLAIN]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules held directly as (name, module), also in lists, tuples and dicts; one held twice comes twice."""
        stack = list(reversed(parts_of(self).items()))
        while stack:
            name, x = stack.pop()
            if isinstance(x, Module):
                yield str(name), x
            elif not isinstance(x, Tensor):
                stack += [(f"{name}.{key}", part) for key, part in reversed(parts_of(x).items())]

    def children(self) -> Several[Module]:
        """The modules held directly, each once."""
        return Several(dict.fromkeys(x for _, x in self.named_children()))

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

    @speaks
    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """All modules as (path, module), this one first under the empty path; paths begin with a `prefix`."""
        return ((name, x) for name, x in self.named_members(prefix) if isinstance(x, Module))

    def modules(self) -> Several[Module]:
        """All modules, this one first."""
        return Several(x for _, x in self.named_modules())

    def named_tensors(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The parameters and buffers as (path, tensor); GraphError where a layer waits for its first call."""
        for name, x in self.named_members(prefix, recurse):
            if isinstance(x, Tensor):
                yield name, x
            elif x._wanting is not None:
                place = f" ({name})" if name else ""
                raise GraphError(f"this {type(x).__name__}{place} has no parameters before it is called",
                                 hint="Call the model once, with an input of the right size.")

    @speaks
    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The parameters as (path, tensor), frozen ones too; a tied one once, under its first name.

        Without `recurse` those of its modules are left out. Paths begin with a `prefix`.
        """
        return ((name, x) for name, x in self.named_tensors(prefix, recurse) if is_parameter(x))

    def parameters(self, recurse: bool = True) -> Several[Tensor]:
        """The parameters, frozen ones too, as a list; without `recurse` not those of its modules."""
        return Several(x for _, x in self.named_parameters(recurse=recurse))

    @speaks
    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The tensors that are no parameters as (path, tensor); arguments are as in `named_parameters`."""
        return ((name, x) for name, x in self.named_tensors(prefix, recurse) if not is_parameter(x))

    def buffers(self, recurse: bool = True) -> Several[Tensor]:
        """The tensors that are no parameters, as a list; without `recurse` not those of its modules."""
        return Several(x for _, x in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a path, such as "encoder.layers.0"; UnknownName where there is none."""
        return self if not target else found(self, target, Module, dict(self.named_modules()))

    def get_parameter(self, target: str) -> Tensor:
        """The parameter at a path, such as "fc.weight"; UnknownName where there is none."""
        return found(self, target, Tensor, dict(self.named_parameters()))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path, such as "norm.running_mean"; UnknownName where there is none."""
        return found(self, target, Tensor, dict(self.named_buffers()))

    @public
    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Holds a `tensor`, or None, as an attribute `name`, which no optimiser moves.

        A state holds it, unless it is not `persistent`. Assigning an attribute does the same for one that is. Raises
        ArgumentError for a name that is none, or that something else has.

        >>> model = nn.Identity()
        >>> model.register_buffer("scale", st.ones(2), persistent=False)
        >>> model.scale.tolist(), list(model.state_dict())
        ([1.0, 1.0], [])
        """
        x = None if tensor is None else constant(tensor)
        self._awaited += (name,) * (x is None)
        hold(self, name, x if x is None or not x.requires_grad else x.detach())
        kept = tuple(other for other in self._transient if other != name)
        self._transient = kept if flag(persistent, "persistent of register_buffer") else (*kept, name)

    @public
    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Holds a parameter, or None, as an attribute `name`, as assigning does.

        Raises ArgumentError for a name that is none, or that something else has, and for a `param` that is none.
        """
        if not (param is None or is_parameter(param)):
            refuse(f"the parameter {name!r}", "a parameter or None", param, "Write nn.Parameter(numbers).")
        hold(self, name, param)

    @public
    def add_module(self, name: str, module: Module | None) -> None:
        """Holds a `module`, or None, as an attribute `name`, as assigning does.

        Raises ArgumentError for a name that is none, or that something else has, and for what is no module.
        """
        if not (module is None or isinstance(module, Module)):      # pyright: ignore[reportUnnecessaryIsInstance]
            refuse(f"the module {name!r}", "a module or None", module)
        hold(self, name, module)

    register_module = add_module

    @speaks
    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
                                  ) -> Hook:
        """Has hook(module, args) run before `forward`; what it returns, if not None, stands for the arguments.

        With `with_kwargs` it is hook(module, args, kwargs), and returns both. With `prepend` it runs before earlier
        ones. Hooks run while a function is traced, too. What this returns has a `remove`.
        """
        self._hooks = self._hooks or Hooks()
        return self._hooks.add(self._hooks.before, hook, prepend, with_kwargs)

    @speaks
    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
                              ) -> Hook:
        """Has hook(module, args, result) run after `forward`; what it returns, if not None, stands for the result.

        With `with_kwargs` it is hook(module, args, kwargs, result). The rest is as in `register_forward_pre_hook`.

        >>> layer = nn.ReLU()
        >>> hook = layer.register_forward_hook(lambda module, args, y: y * 2)
        >>> layer(st.ones(1)).tolist(), hook.remove(), layer(st.ones(1)).tolist()
        ([2.0], None, [1.0])
        """
        self._hooks = self._hooks or Hooks()
        return self._hooks.add(self._hooks.after, hook, prepend, with_kwargs)

    @speaks
    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Hook:
        """Has hook(module, grad_output) see the gradients of what each call gave, before those of its arguments.

        They are a tuple. One that it returns, if any, stands for them. The rest is as in `register_full_backward_hook`.
        """
        self._hooks = self._hooks or Hooks()
        return self._hooks.add(self._hooks.given, hook, prepend)

    @speaks
    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Hook:
        """Has hook(module, grad_input, grad_output) see the gradients of what each call took and gave.

        They are two tuples, with zeros where nothing comes and None for what carries no gradients. What it returns, if
        not None, stands for grad_input: a tuple, or the one tensor. With `prepend` it runs before earlier ones. Only
        arguments given by place count. Where none of them carries gradients it runs once those of the results are
        there. Hooks are traced with a compiled function, as `forward` is. What this returns has a `remove`, which holds
        for later calls of the module.

        >>> layer = nn.Linear(2, 1)
        >>> hook = layer.register_full_backward_hook(lambda module, taken, given: print(given[0].tolist()))
        >>> layer(st.ones(1, 2)).sum().backward()
        [[1.0]]
        """
        self._hooks = self._hooks or Hooks()
        return self._hooks.add(self._hooks.taken, hook, prepend)

    @public
    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls `fn` on every module below and then on this one, which it returns."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    @public
    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freezes all parameters (False), or lets them learn again; returns the module.

        A frozen parameter gets no gradient, and an optimiser leaves it as it is.

        >>> model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        >>> model[0].requires_grad_(False)(st.ones(2)).requires_grad, model(st.ones(2)).requires_grad
        (False, True)
        """
        for x in self.parameters():
            x.requires_grad_(requires_grad)
        return self

    @public
    def to(self, *what: Any, device: Any = None, dtype: Any = None) -> Self:
        """This module itself, its tensors and their gradients moved to a `device`, its floats of another `dtype`.

        Either may be given by its place, as `what`. Make the optimiser behind. Raises DeviceError where there is no
        such device, DTypeError for a dtype that is no float.

        >>> nn.Linear(2, 3).to("float64").weight.dtype
        float64
        """
        for x in (x for x in (*what, device, dtype) if x is not None):
            kind = None if is_device(x) else named_dtype(x)
            if kind is not None and not kind.is_float:
                raise DTypeError(f"the parameters of a module are floats, got {kind}")
            for _, tensor in self.named_tensors():
                if kind is None or tensor.dtype.is_float:
                    tensor.move(kind or x)
        return self

    def cpu(self) -> Self:
        """Moves all tensors to the device "cpu", and returns the module."""
        return self.to("cpu")

    def half(self) -> Self:
        """Makes all floats float16 and returns the module; `precision="bf16"` of `st.compile` is for activations."""
        return self.to(float16)

    def bfloat16(self) -> Self:
        """Makes all floats bfloat16 and returns the module."""
        return self.to(bfloat16)

    def float(self) -> Self:
        """Makes all floats float32 and returns the module."""
        return self.to(float32)

    def double(self) -> Self:
        """Makes all floats float64 and returns the module."""
        return self.to(float64)

    def train(self, mode: bool = True) -> Self:
        """Switches dropout and batch statistics on (or off) in this module and all below; returns the module."""
        is_on = flag(mode, "mode of train")
        for _, module in self.named_modules():
            module.training = is_on
        return self

    def eval(self) -> Self:
        """Switches dropout and batch statistics off, as `train(False)` does; returns the module."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or with `set_to_none=False` makes them zeros."""
        for x in self.parameters():
            x.grad = None if flag(set_to_none, "set_to_none of zero_grad") or x.grad is None else zeros_like(x)

    @speaks
    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """The parameters and buffers by path, the live ones, but for buffers that are not persistent.

        Paths begin with a `prefix`, such as "encoder.".
        """
        left_out = {id(x) for module in self.modules() for x in map(module.member, module._transient)}
        return {f"{prefix}{name}": x for name, x in self.named_tensors() if id(x) not in left_out}

    @speaks
    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Incompatible:
        """Takes over numbers by path; returns `missing_keys` and `unexpected_keys`. Nothing changes unless all fit.

        A tied tensor may stand under any of its names, or under all with the same numbers; what a layer names
        `optional` may be missing. With `assign` dtypes and devices become those of the state. Raises DataError if
        another name is missing or unknown (with `strict`), if a shape differs, or if a tied tensor has two sets of
        numbers.
        """
        return load(self, state, strict, assign)

    def optional_names(self) -> set[str]:
        """The paths of buffers that a state may lack."""
        return {f"{path}.{name}" if path else name for path, module in self.named_modules() for name in module.optional}

    def save(self, path: str | Path) -> None:
        """Writes `state_dict` as a safetensors file, whole or not at all; StorageError if it cannot be written."""
        save(self, path)

    def load(self, path: str | Path, strict: bool = True) -> None:
        """Reads a safetensors file into this model. Raises DataError if it is missing, damaged or does not fit."""
        self.load_state_dict(read_safetensors(path), strict)


def is_parameter(x: Any) -> bool:
    """Whether a tensor is a parameter: it gathers gradients, or did before it was frozen."""
    return isinstance(x, Tensor) and (x.leaf or x.requires_grad)


def found(model: Module, path: str, kind: type, known: Mapping[str, Any]) -> Any:
    """What stands under a path; a tied tensor may stand under more than one."""
    if isinstance(x := model.member(path), kind) and any(x is other for other in known.values()):
        return x
    close = nearest(path, known)
    raise UnknownName(f"this {type(model).__name__} has no {path!r}",
                      hint=f"Did you mean {close!r}?" if close else None)


def hold(model: Module, name: Any, x: Any) -> None:
    """Sets an attribute, whose name is a part of paths and nothing else's."""
    if not isinstance(name, str) or not name or "." in name:
        refuse("the name of what a module holds", "a word without dots", name)
    if name not in model.held() and hasattr(model, name):
        refuse("the name of what a module holds", f"another one, as every {type(model).__name__} has", name)
    setattr(model, name, x)
    if model in NAMES:
        born, passing = NAMES[model]
        NAMES[model] = born | {name}, passing


def kept(x: Any) -> dict[Any, Any]:
    """The parts of a module or a container but for what calls of a module computed, which is no state."""
    held = parts_of(x)
    if not isinstance(x, Module) or (noted := NAMES.get(x)) is None:
        return held
    born, passing = noted
    return {key: part for key, part in held.items() if key in born or not (key in passing or is_computed(part))}


def is_computed(x: Any) -> bool:
    """Whether all that is held is tensors that were computed while a module was called, which are no parameters."""
    if isinstance(x, Tensor):
        return not x.leaf and any(origin.layer for origin in x._value.where)
    return (is_dict(x) or is_series(x)) and bool(x) and all(map(is_computed, parts_of(x).values()))


def has_tensors(x: Any) -> bool:
    """Whether x is a tensor, or holds one beside those of modules."""
    return isinstance(x, Tensor) or ((is_dict(x) or is_series(x)) and any(map(has_tensors, parts_of(x).values())))


def locate(model: Module) -> None:
    """Notes the paths of a model's modules, and of those that were never called what they hold."""
    for name, module in model.named_modules():
        PATHS[module] = name
        if module not in NAMES and module._wanting is None:
            held = (key for key, x in parts_of(module).items() if has_tensors(x))
            NAMES[module] = frozenset((*held, *module._awaited)), frozenset()
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
        count = sum(math.prod(p.shape) for _, p in module.named_members() if isinstance(p, Tensor) and is_parameter(p))
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
    held = x.held() if isinstance(x, Module) else x if is_dict(x) else dict(enumerate(x)) if is_series(x) else {}
    return {key: bare(part) for key, part in held.items()}


def bare(x: Any) -> Any:
    """The module that a compiled one was made of; anything else as it is."""
    made: Any = vars(x)["function"] if isinstance(x, Compiled) else None
    return cast(Any, x) if made is None or not isinstance(made, Module) else made


def read_safetensors(path: str | Path) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a safetensors file by name. Raises DataError if it is missing or damaged."""
    arrays, _ = read(path)
    return arrays
