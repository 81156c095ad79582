"""`from_flax` and `to_flax`: the parameters and statistics of a module from a tree of Flax, and as one."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

import stele as st
from stele import nn
from stele.errors import ArgumentError, DataError
from stele.interop.flax.layers import Layout, layout, side_by_side
from stele.interop.flax.trees import Flat, flat, nested
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ops.arguments import choice

STYLES = "linen", "nnx"
COLLECTIONS = "params", "batch_stats"
HINTS = {"linen": "to_flax(module) is a tree that fits: of a training state give its params and batch_stats alone.",
         "nnx": 'to_flax(module, "nnx") is a tree that fits; one of linen is {"params": ..., "batch_stats": ...}.'}
MOST = 50               # names of an error
M = TypeVar("M", bound=nn.Module)
Keys = tuple[Any, ...]


def placed(module: nn.Module, style: str) -> Iterator[tuple[Keys, nn.Module, Layout | None]]:
    """The layers that Flax has as such, with their keys there; and modules with tensors of their own."""
    taken: list[str] = []
    for path, layer in module.named_modules():
        if any(path.startswith(f"{other}." if other else "") for other in taken):
            continue
        how = layout(layer)
        if how is not None:
            taken.append(path)
        yield keys_of(module, path, style), layer, how


def keys_of(module: nn.Module, path: str, style: str) -> Keys:
    """The names that Flax has for the place of a module: those of attributes, and of what lists make of them."""
    keys: list[Any] = []
    above, at = "", module
    for part in path.split(".") if path else ():
        above = f"{above}.{part}" if above else part
        if isinstance(at, nn.Sequential):
            keys += [f"layers_{part}"] if style == "linen" else ["layers", int(part)]
        elif isinstance(at, nn.Module) and not isinstance(at, nn.ModuleList | nn.ModuleDict):
            keys.append(part)
        elif style == "linen":
            keys[-1:] = [f"{keys[-1]}_{part}" if keys else part]
        else:
            keys.append(int(part) if part.isdigit() else part)
        at = module.member(above)
    return tuple(keys)


def kept(module: nn.Module, style: str) -> Iterator[tuple[dict[Keys, Array], Any]]:
    """What Flax keeps of each layer by whole paths, and what makes the layer's tensors, by name, of such arrays."""
    for keys, layer, how in placed(module, style):
        if how is not None:
            short = how.there(layer, style)
            yield {whole(keys, key, style): x for key, x in short.items()}, (layer, how, keys, short)
            continue
        for name, x in layer.named_tensors(recurse=False):
            if isinstance(vars(layer).get(name), st.Tensor):
                where = COLLECTIONS[name not in dict(layer.named_parameters(recurse=False))]
                own = {(where, name): np.array(x.numpy())}
                yield {whole(keys, (where, name), style): own[where, name]}, (layer, None, keys, own)


def whole(keys: Keys, key: tuple[str, ...], style: str) -> Keys:
    """The path of an array in the tree: linen has its collections apart, nnx has none."""
    return (key[0], *keys, *key[1:]) if style == "linen" else (*keys, *key[1:])


@public
def to_flax(module: nn.Module, style: str = "linen") -> dict[Any, Any]:
    """The parameters and statistics of a `module` as a tree of Flax: nested dicts of NumPy arrays, in their dtypes.

    `style` "linen" gives {"params": ..., "batch_stats": ...}, "nnx" what `nnx.replace_by_pure_dict` takes. Names are
    those of attributes: `self.Dense_0 = nn.Linear(3, 5)` is the `Dense_0` of linen; parts of `nn.Sequential` are
    `layers_0`, those of a list `blocks` are `blocks_0`. Kernels are (in, out) and (*window, in, out), gates of cells
    and heads of attention apart. Raises ArgumentError for what is no module, OptionError for another style, DataError
    for layers that Flax does not have so.

    >>> from stele.interop import flax
    >>> tree = flax.to_flax(nn.Sequential(nn.Linear(3, 5)))
    >>> tree["params"]["layers_0"]["kernel"].shape
    (3, 5)
    """
    found: dict[Keys, Array] = {}
    for arrays, (layer, how, *_) in kept(checked(module), styled(style)):
        if how is not None:
            how.checked(layer, style)
        found |= arrays
    return nested(found)


@public
def from_flax(module: M, tree: Any) -> M:
    """Takes the parameters and statistics of a `tree` of Flax over into a `module`, which it returns.

    A tree is what linen calls variables, {"params": ..., "batch_stats": ...}, a state of nnx, or what `read` gives,
    of arrays that NumPy understands. The module has layers of the same sizes under the names that `to_flax` says, and
    keeps its dtypes. Nothing is taken over unless all fits: raises DataError that lists all names and shapes that do
    not, ArgumentError for what is no module.

    >>> from stele.interop import flax
    >>> one, other = nn.Linear(3, 5), nn.Linear(3, 5)
    >>> same = flax.from_flax(one, flax.to_flax(other))
    >>> bool((one.weight == other.weight).all())
    True
    """
    given = flat(tree)
    style = "linen" if any(path[0] == "params" for path in given) else "nnx"
    wanted, made = dict[tuple[str, ...], Array](), list[tuple[st.Tensor, Array]]()
    layers = list(kept(checked(module), style))
    for arrays, _ in layers:
        wanted |= {tuple(map(str, key)): x for key, x in arrays.items()}
    if style == "nnx":
        given = side_by_side({bare(path, wanted): x for path, x in given.items()})
    fits(given, wanted, style)
    for _, (layer, how, keys, short) in layers:
        own = {key: given[tuple(map(str, whole(keys, key, style)))] for key in short}
        tensors = {key[1]: x for key, x in own.items()} if how is None else how.back(layer, own)
        made += [(layer.member(name), x) for name, x in tensors.items()]
    for x, numbers in made:
        x.assign(x.dtype.array(numbers))
    return module


def bare(path: tuple[str, ...], wanted: Mapping[tuple[str, ...], Array]) -> tuple[str, ...]:
    """A path without the `value` that files of states of nnx end each in."""
    return path if path in wanted or path[-1] != "value" else path[:-1]


def checked(module: Any) -> nn.Module:
    """A module."""
    if not isinstance(module, nn.Module):
        raise ArgumentError(f"a module of Stele is needed, got {type(module).__name__}")
    return module


def styled(style: Any) -> str:
    """One of the styles."""
    return choice(style, "style", STYLES)


def fits(given: Flat, wanted: Mapping[tuple[str, ...], Array], style: str) -> None:
    """Raises DataError with all names that one side lacks, and all shapes that differ."""
    said = [f"{'/'.join(path)} {wanted[path].shape} is missing" for path in wanted if path not in given]
    said += [f"{'/'.join(path)} {given[path].shape} is unknown" for path in given if path not in wanted]
    said += [f"{'/'.join(path)} is {given[path].shape}, not {x.shape}" for path, x in wanted.items()
             if path in given and given[path].shape != x.shape]
    if said:
        more = f"; and {len(said) - MOST} more" if len(said) > MOST else ""
        raise DataError(f"the tree does not fit the module in {len(said)} places: {'; '.join(said[:MOST])}{more}",
                        hint=HINTS[style])
