"""The base of optimisers: gradients in, parameters moved, in groups that move by options of their own."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.arrays import functions as F
from stele.arrays.creation import zeros_like
from stele.arrays.tensor import Tensor, tensor
from stele.backend.buffers import Buffer
from stele.eager.follow import FOLLOWER
from stele.eager.handle import TRACING, enable_grad, no_grad
from stele.eager.live import held_as, result
from stele.errors import ArgumentError, DataError, GraphError, kind
from stele.interop.keywords import answering
from stele.interop.names import OPTIMIZER
from stele.ir.door import public
from stele.ir.types import HOME, DType, float32, float64, promote
from stele.ops.arguments import choice, flag, function, is_dict, is_many, is_mapping, is_series, number, sequence
from stele.optim.checks import checked, option
from stele.saving import options_of

Parameters = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]


OWN = "params", "rate", "first", "optimizer"        # attributes of a group that are no options


class Group:
    """Parameters that move alike: tensors `params`, a rate `lr`, which is a tensor, and options by name.

    The rate is a float64 where one of the parameters is, so that these move as far as the number says, and else a
    float32.

    Options are attributes, and entries as in PyTorch: `group.lr = 0.1` or `group["lr"] = 0.1`. Entries are numbers,
    such as a rate of now; `group.lr` is the tensor that is rebound when a schedule moves on, as is `group["lr"]` inside
    of a compiled function. What a new option makes necessary is remembered from then on. Raises OptionError for an
    entry that it does not have, GraphError for a number that its `optimizer` cannot have.

    >>> optimizer = optim.SGD([st.zeros(2).requires_grad_()], lr=0.1, momentum=0.9)
    >>> group = optimizer.groups[0]
    >>> isinstance(group, optim.Group), group.momentum, group["lr"]
    (True, 0.9, 0.1)
    """

    def __init__(self, params: list[Tensor], options: Mapping[str, Any], optimizer: Optimizer | None = None) -> None:
        own = {name: x for name, x in options.items() if name != "lr"}
        rate = tensor(float(options["lr"]), dtype=width(params), device=HOME)
        vars(self).update(own, params=params, rate=rate, first=None, optimizer=optimizer)

    optimizer: Optimizer | None
    params: list[Tensor]
    rate: Tensor
    first: float | None     # the rate before any schedule

    @property
    def lr(self) -> Tensor:
        """The learning rate, a tensor of shape ()."""
        return self.rate

    @lr.setter
    def lr(self, new: float | Tensor) -> None:
        if TRACING.get() is None and isinstance(new, float | int):
            put(self.rate, new)
        else:
            self.rate.assign(new)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this group has no {name!r}, but lr, {', '.join(self.options())}")

    def __setattr__(self, name: str, new: Any) -> None:
        if self.optimizer is None or name in OWN or name not in vars(self) or is_moved(new):
            super().__setattr__(name, new)
        else:
            self.optimizer.change(self, name, new)

    def __contains__(self, name: object) -> bool:
        return name in ("params", "lr") or name in self.options()

    def __getitem__(self, name: str) -> Any:
        x = getattr(self, name)
        return x if TRACING.get() is not None else plain({name: x})[name]

    def __setitem__(self, name: str, new: Any) -> None:
        setattr(self, name if name == "lr" else choice(name, "an option of a group", [*self.options()]), new)

    def options(self) -> dict[str, Any]:
        """The numbers, flags and words of this group by name, but for its rate."""
        return {name: x for name, x in vars(self).items() if name not in OWN}

    def __repr__(self) -> str:
        rate = "traced" if TRACING.get() is not None else f"{float(self.rate):g}"
        return ", ".join([f"lr={rate}", *(f"{name}={x}" for name, x in self.options().items())])


def put(x: Tensor, new: float) -> None:
    """Has a tensor of one number hold another one, at once: as an expression it would be computed by a program."""
    buffer = Buffer.empty(x.dtype, ())
    np.copyto(buffer.writable(), new)
    x.value = result(held_as(x.dtype.name, ()), x.value.where, buffer)


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with numbers in the place of those that a schedule moves, which are tensors."""
    def number_of(x: Any) -> Any: return shortest(x) if isinstance(x, Tensor) else x
    return {name: (number_of(x[0]), *x[1:]) if name == "betas" else number_of(x) for name, x in options.items()}


def shortest(rate: Tensor) -> float:
    """The shortest number that a rate stands for in its dtype: 0.05, and not 0.05000000074505806."""
    return float(str(rate.numpy()[()]))


def width(tensors: Iterable[Tensor]) -> DType:
    """The dtype of numbers beside tensors, such as their rate: float64 where one of them has it, and else float32."""
    return float64 if any(x.dtype.real == float64 for x in tensors) else float32


def fitting(option: Any, dtype: DType) -> Any:
    """An option as parameters of a width take it: what a schedule moves is of that dtype."""
    if isinstance(option, Tensor):
        return option if option.dtype == dtype else option.astype(dtype)
    return tuple(fitting(x, dtype) for x in option) if is_series(option) else option


def is_moved(option: Any) -> bool:
    """Whether an option is one that a schedule moves."""
    return any(isinstance(x, Tensor) for x in (option if is_series(option) else (option,)))


def gone_on(own: Any, new: Any) -> Any:
    """An option as a state says it, in the tensor that it has here where a schedule moves it."""
    if isinstance(own, Tensor):
        own.assign(new)
        return own
    return tuple(map(gone_on, own, new)) if is_series(own) else new


class State:
    """What an optimiser knows of a parameter p: the tensors that it remembers, and the options of its `group`.

    Options that are tensors have the parameter's `width`; what is remembered has the `dtype` of its steps: its own, and
    float32 for one of 16 bits, which hold no square of a small gradient.
    """

    def __init__(self, group: Group, p: Tensor) -> None:
        self.group, self.width = group, width([p])
        self.dtype = promote(p.dtype, self.width)

    def __getattr__(self, name: str) -> Any:
        if (group := vars(self).get("group")) is None:     # as yet: a copy is being made
            raise AttributeError(f"this state of no group has no {name!r}")
        return fitting(getattr(group, name), self.width)

    def __setattr__(self, name: str, x: Any) -> None:
        vars(self)[name] = x

    def tensors(self) -> dict[str, Tensor]:
        """What is remembered, by name."""
        return {name: x for name, x in vars(self).items() if isinstance(x, Tensor)}


class Optimizer:
    """The base of optimisers of `parameters`, leaves that require gradients, or groups of them, with `options`.

    A group is a dict with "params" and the options that are its own, as in PyTorch; `optim.grouped` makes them by
    names. `step()` moves every parameter that has a gradient, along it, or with `maximize` against it; `zero_grad()`
    forgets the gradients. `optimizer.lr = 0.1` works between the steps of a compiled function, `optimizer.groups[1].lr`
    is the rate of one group.

    A class of its own writes `update(p, g, s)`, which moves a parameter p along its gradient g: s has the group's
    options as attributes, and the tensors that the names in `memory` say, zeros of p's shape at first; of parameters of
    16 bits these and g are float32. Raises GraphError for no parameters, for tensors that would never move, and for a
    negative rate.

    >>> class Signed(optim.Optimizer):
    ...     def update(self, p, g, s):
    ...         p.assign(p - s.lr * st.sign(g))
    >>> x = st.tensor([1.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> Signed([x], lr=0.5).step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    memory: tuple[str, ...] = ()

    if not TYPE_CHECKING:
        __getattr__ = answering("an optimizer", OPTIMIZER)

    @public
    def __init__(self, parameters: Parameters, lr: float, maximize: bool = False, **options: Any) -> None:
        self.defaults: dict[str, Any] = {"lr": lr, **options, "maximize": maximize}
        self.groups: list[Group] = []
        self.states: list[State] = []
        for group in self.groups_of(parameters):
            self.add_group(group)

    def groups_of(self, parameters: Parameters) -> list[dict[str, Any]]:
        """What is given as groups: one of all parameters, unless they are grouped already."""
        name = type(self).__name__
        if not is_many(parameters) or isinstance(parameters, Tensor):
            raise GraphError(f"{name} takes a list of tensors, got {kind(parameters)}",
                             hint="Pass [x]." if isinstance(parameters, Tensor) else "Pass model.parameters().")
        given: list[Any] = list(parameters.values() if is_mapping(parameters) else parameters)
        if not given:
            raise GraphError(f"{name} got no parameters", hint="Pass model.parameters().")
        return given if all(map(is_dict, given)) else [{"params": given}]

    @checked
    def add_group(self, group: Mapping[str, Any]) -> None:
        """Another group: a dict with "params" and the options that are its own."""
        name = type(self).__name__
        if "params" not in group:
            raise GraphError(f'a group of {name} is a dict with "params", got one with {", ".join(map(repr, group))}')
        own = {choice(k, f"an option of {name}", [*self.defaults], GraphError): x for k, x in group.items()
               if k != "params"}
        given = group["params"]
        given = [given] if isinstance(given, Tensor) else sequence(given, f"params of {name}", "a list of tensors")
        params = [parameter(p[1] if isinstance(p, tuple) and len(p) == 2 else p, k, name)     # or (name, tensor)
                  for k, p in enumerate(given, len(self.states))]
        if twice := {id(p) for p in params} & {id(p) for p in self.parameters}:
            k = next(k for k, p in enumerate(self.parameters) if id(p) in twice)
            raise GraphError(f"parameter {k} of {name} stands in two groups", hint="Leave it out of one of them.")
        options = {key: option(type(self), key, x) for key, x in {**self.defaults, **own}.items()}
        self.check(options)
        made = Group(params, options, self)
        self.groups.append(made)
        self.states += [self.begun(p, State(made, p)) for p in params]

    def check(self, options: Mapping[str, Any]) -> None:
        """Raises GraphError for options that a group cannot have."""
        name = type(self).__name__
        if not options["lr"] >= 0:
            raise GraphError(f"{name} needs a learning rate >= 0, got {options['lr']}")
        if options.get("nesterov") and not options["momentum"]:
            raise GraphError(f"{name} needs a momentum for Nesterov's step, got momentum={options['momentum']}")
        for beta in options.get("betas", ()):
            if not 0 <= number(beta, f"every beta of {name}") < 1:
                raise GraphError(f"{name} needs betas in [0, 1), got {options['betas']}")
        for key in ("momentum", "weight_decay", "eps", "lr_decay", "rho", "momentum_decay",
                    "initial_accumulator_value"):
            if isinstance(options.get(key), float | int) and not options[key] >= 0:
                raise GraphError(f"{name} needs {key} >= 0, got {options[key]}")

    def change(self, group: Group, name: str, new: Any) -> None:
        """Another option of a group, checked; its states remember what that asks for beside what they know."""
        new = option(type(self), name, new)
        if TRACING.get() is None:
            self.check({"lr": 0.0, **plain(group.options()), name: new})
        vars(group)[name] = new
        for p, s in zip(self.parameters, self.states, strict=True):
            if s.group is group:
                known = s.tensors()
                vars(self.begun(p, s)).update(known)

    def begun(self, p: Tensor, s: State) -> State:
        """What is remembered of a parameter before the first step."""
        vars(s).update({name: zeros_like(p, dtype=s.dtype) for name in self.memory})
        return s

    @property
    def parameters(self) -> list[Tensor]:
        """The parameters of all groups."""
        return [p for group in self.groups for p in group.params]

    @property
    def param_groups(self) -> list[Group]:
        """The groups, under PyTorch's name."""
        return self.groups

    add_param_group = add_group

    @property
    def lr(self) -> Tensor:
        """The learning rate, a tensor of shape (): of several groups the first one's, and set, that of all."""
        return self.groups[0].rate

    @lr.setter
    def lr(self, new: float | Tensor) -> None:
        for group in self.groups:
            group.lr = new

    def __repr__(self) -> str:
        count = sum(math.prod(p.shape) for p in self.parameters)
        said = f"{self.groups[0]}" if len(self.groups) == 1 else f"{len(self.groups)} groups"
        return f"{type(self).__name__}({said}; {len(self.states)} tensors, {count:,} parameters)"

    def state_dict(self) -> dict[str, Any]:
        """The rates, the options and what the optimiser remembers of each parameter, by its number; no gradients."""
        state: dict[str, Any] = {"kind": type(self).__name__}
        for k, group in enumerate(self.groups):
            state |= {f"options.{k}": plain(group.options()), f"rate.{k}": group.rate}
        state |= {name: x for name, x in vars(self).items() if isinstance(x, Tensor)}
        return state | {f"{name}.{k}": x for k, s in enumerate(self.states) for name, x in s.tensors().items()}

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the optimiser stood that gave this state. Nothing changes unless all of it fits.

        Raises DataError if the state is that of another kind of optimiser or of other parameters.
        """
        own = self.state_dict()
        if state.get("kind") != own["kind"]:
            raise DataError(f"the state is none of {own['kind']}: it is of {state.get('kind', 'no optimiser')}")
        if missing := own.keys() ^ state.keys():
            raise DataError(f"the state does not fit this {own['kind']} of {len(self.states)} parameters: only one "
                            f"of the two has {min(missing)!r}")
        options = [options_of(state[f"options.{k}"], own[f"options.{k}"], own["kind"]) for k in range(len(self.groups))]
        for name, x in own.items():
            if isinstance(x, Tensor) and np.shape(state[name]) != tuple(x.shape):
                raise DataError(f"{name} has shape {np.shape(state[name])} in the state, {tuple(x.shape)} in this "
                                f"{own['kind']}")
        for name, x in own.items():
            if isinstance(x, Tensor):
                x.assign(state[name])
        for group, new in zip(self.groups, options, strict=True):
            vars(group).update({name: gone_on(vars(group)[name], x) for name, x in new.items()})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or with `set_to_none=False` makes them zeros."""
        for p in self.parameters:
            p.grad = None if flag(set_to_none, "set_to_none of zero_grad") or p.grad is None else zeros_like(p)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every parameter that has a gradient; what a `closure` returns, which computes the loss anew."""
        loss = None
        if closure is not None:
            function(closure, "closure")
            with enable_grad():
                loss = closure()
        if (follower := FOLLOWER.get()) is not None:
            follower.stepped(self)
        with no_grad():
            self.advance()
            for p, s in self.moving():
                g = fitting(p.grad, promote(p.dtype, s.dtype))      # of a module that moved to float64 since, too
                self.update(p, -g if s.maximize else g, s)
        return loss

    def moving(self) -> Iterator[tuple[Tensor, State]]:
        """The parameters that have a gradient and are not frozen, and what is known of them."""
        return ((p, s) for p, s in zip(self.parameters, self.states, strict=True)
                if p.grad is not None and p.requires_grad)

    def advance(self) -> None:
        """What changes once per step, before the parameters do."""

    def update(self, p: Tensor, g: Tensor, s: Any) -> None:
        """Moves a parameter along its gradient."""
        raise NotImplementedError


class Counting(Optimizer):
    """An optimiser whose formula depends on how many steps a parameter has taken, `s.steps`, from 1.

    Parameters that always moved together share their count, so that what follows from it is computed once; those that
    are frozen from the beginning have one of their own, and so have those of another width.
    """

    def add_group(self, group: Mapping[str, Any]) -> None:
        known = len(self.states)
        super().add_group(group)
        added = [*zip(self.groups[-1].params, self.states[known:], strict=True)]
        for is_moving, held in product((True, False), (float32, float64)):
            counted([s for p, s in added if p.requires_grad is is_moving and s.width == held], 0.0)

    add_param_group = add_group

    def advance(self) -> None:
        moving = {id(s) for _, s in self.moving()}
        for together in self.together():
            moved = [s for s in together if id(s) in moving]
            if len(moved) == len(together):
                moved[0].steps += 1
            elif moved:
                counted(moved, moved[0].steps + 1)

    @property
    def steps(self) -> Tensor:
        """How many steps the parameter has taken that took most."""
        return reduce(F.maximum, [states[0].steps for states in self.together()])

    def together(self) -> list[list[State]]:
        """The states, by the count that they share."""
        found: dict[int, list[State]] = {}
        for s in self.states:
            found.setdefault(id(s.steps), []).append(s)
        return [*found.values()]

    @checked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the optimiser stood that gave this state. Nothing changes unless all of it fits.

        Raises DataError if the state is that of another kind of optimiser or of other parameters.
        """
        own = [f"steps.{k}" for k in range(len(self.states))]
        if "steps" in state and not state.keys() & own:         # written when all parameters had one count
            state = {name: x for name, x in state.items() if name != "steps"} | dict.fromkeys(own, state["steps"])
        super().load_state_dict(state)
        loaded = {id(s): float(state[name]) for s, name in zip(self.states, own, strict=True)}
        for together in self.together():
            for n in {loaded[id(s)] for s in together}:
                counted([s for s in together if loaded[id(s)] == n], n)


def counted(states: list[State], n: float | Tensor) -> None:
    """Has states of one width share a count, from a number on."""
    if states:
        count = n if isinstance(n, Tensor) else tensor(n, dtype=states[0].width, device=HOME)
        for s in states:
            s.steps = count


def needs_optimizer(whose: object, x: Any) -> Optimizer:
    """x, which has to be an optimiser; raises ArgumentError for anything else."""
    if not isinstance(x, Optimizer):
        inner = getattr(x, "optimizer", None)
        raise ArgumentError(f"{type(whose).__name__} takes an optimizer, got {kind(x)}",
                            hint="Give the one that it holds, .optimizer." if isinstance(inner, Optimizer) else None)
    return x


def decayed(p: Tensor, g: Tensor, s: Any) -> Tensor:
    """The gradient of a parameter and of half the square of its weights, times `weight_decay`."""
    return g + s.weight_decay * p if s.weight_decay else g


def parameter(p: Any, k: int, optimizer: str) -> Tensor:
    """Parameter k of an optimiser, which has to be a tensor that carries gradients."""
    if not isinstance(p, Tensor):
        raise GraphError(f"parameter {k} of {optimizer} must be a tensor, got {kind(p)}",
                         hint="Pass model.parameters().")
    if not (p.requires_grad or p.leaf):
        raise GraphError(f"parameter {k} of {optimizer}, {p.value.type}, requires no gradients, so it would never move",
                         hint="Make it with st.tensor(..., requires_grad=True), or leave it out.")
    if not p.leaf:
        raise GraphError(f"parameter {k} of {optimizer}, {p.value.type}, is computed from others, so it gathers no "
                         "gradient and would never move", hint="Give the tensors that it is computed from.")
    return p


@checked
def grouped(named: Iterable[tuple[str, Tensor]], options: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Groups for an optimiser, by the names of parameters: `named` are those of `model.named_parameters()`.

    `options` says for patterns of names ("*.bias", "encoder.*"; of several that fit the first) what differs from the
    optimiser's own. Parameters that no pattern fits are the last group. Parameters keep their dtypes. They may have any
    shapes. Raises ArgumentError for a pattern without any.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    >>> groups = optim.grouped(model.named_parameters(), {"*.bias": {"weight_decay": 0.0}, "1.*": {"lr": 0.1}})
    >>> [(len(group["params"]), group.get("lr")) for group in groups]
    [(2, None), (1, 0.1), (1, None)]
    """
    found: dict[str | None, list[Tensor]] = {pattern: [] for pattern in [*options, None]}
    for name, p in named:
        found[next((pattern for pattern in options if fnmatchcase(name, pattern)), None)].append(p)
    if empty := [pattern for pattern in options if not found[pattern]]:
        raise ArgumentError(f"no parameter is named as {empty[0]!r} says", hint="See model.named_parameters().")
    return [{"params": params, **options.get(pattern or "", {})} for pattern, params in found.items() if params]
