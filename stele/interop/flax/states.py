"""`from_flax` and `to_flax`: the parameters and statistics of a module from a tree of Flax, and as one."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
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
HEADS = ("Attention whose heads are not as wide in all as its queries (qkv_features) is four layers here: query, key, "
         "value and out, each an nn.Linear, and F.scaled_dot_product_attention between them.")
MOST = 50               # names of an error
M = TypeVar("M", bound=nn.Module)
Keys = tuple[Any, ...]
Kept = tuple[dict[Keys, Array], Any]


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


def kept(module: nn.Module, style: str) -> Iterator[Kept]:
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
def to_flax(module: nn.Module, style: str = "linen", like: Any = None) -> dict[Any, Any]:
    """The parameters and statistics of a `module` as a tree of Flax: nested dicts of NumPy arrays, in their dtypes.

    `style` "linen" gives {"params": ..., "batch_stats": ...}, "nnx" what `nnx.replace_by_pure_dict` takes. Names are
    those of attributes: `self.Dense_0 = nn.Linear(3, 5)` is the `Dense_0` of linen; parts of `nn.Sequential` are
    `layers_0`, those of a list `blocks` are `blocks_0`. Kernels are (in, out) and (*window, in, out), gates of cells
    and heads of attention apart. Where Flax has a `DenseGeneral` of several axes for an `nn.Linear`, `like` is a tree
    of the same names, as `net.init` makes it, whose shapes the arrays take. Raises ArgumentError for what is no module,
    OptionError for another style, DataError for layers that Flax does not have so, and for a tree that does not fit.

    >>> from stele.interop import flax
    >>> tree = flax.to_flax(nn.Sequential(nn.Linear(3, 5)))
    >>> tree["params"]["layers_0"]["kernel"].shape
    (3, 5)
    >>> heads = flax.to_flax(nn.Linear(3, 8), "nnx", like={"kernel": st.ones(3, 2, 4), "bias": st.ones(2, 4)})
    >>> heads["kernel"].shape
    (3, 2, 4)
    """
    layers = [*kept(checked(module), styled(style))]
    found: dict[Keys, Array] = {}
    for arrays, (layer, how, *_) in layers:
        if how is not None:
            how.checked(layer, style)
        found |= arrays
    if like is not None:
        shapes = fitting(flat(like), layers, style)
        paths = {sought(path, shapes): path for path in flat(like)}
        found = {paths[words(keys)]: x.reshape(shapes[words(keys)].shape) for keys, x in found.items()}
    return nested(found)


@public
def from_flax(module: M, tree: Any) -> M:
    """Takes the parameters and statistics of a `tree` of Flax over into a `module`, which it returns.

    A tree is what linen calls variables, {"params": ..., "batch_stats": ...}, a state of nnx, or what `read` gives,
    of arrays that NumPy understands. The module has layers of the same sizes under the names that `to_flax` says, and
    keeps its dtypes; an `nn.Linear` takes a `DenseGeneral` whose axes are side by side. Nothing is taken over unless
    all fits: raises DataError that lists all names and shapes that do not, ArgumentError for what is no module.

    >>> from stele.interop import flax
    >>> one, other = nn.Linear(3, 5), nn.Linear(3, 5)
    >>> same = flax.from_flax(one, flax.to_flax(other))
    >>> bool((one.weight == other.weight).all())
    True
    """
    given, made = flat(tree), list[tuple[st.Tensor, Array]]()
    style = "linen" if any(path[0] == "params" for path in given) else "nnx"
    layers = [*kept(checked(module), style)]
    given = fitting(given, layers, style)
    for _, (layer, how, keys, short) in layers:
        own = {key: given[words(whole(keys, key, style))].reshape(x.shape) for key, x in short.items()}
        tensors = {key[1]: x for key, x in own.items()} if how is None else how.back(layer, own)
        made += [(layer.member(name), x) for name, x in tensors.items()]
    for x, numbers in made:
        x.assign(x.dtype.array(numbers))
    return module


def words(keys: Keys) -> tuple[str, ...]:
    """A path in texts alone."""
    return tuple(map(str, keys))


def sought(path: tuple[str, ...], wanted: Mapping[tuple[str, ...], Any]) -> tuple[str, ...]:
    """A path as it is wanted: without the `value` that files of states of nnx end each in, and with the `cell` of an
    RNN that linen leaves out where both are made within a compact method.
    """
    ways = path, path[:-1] if path[-1] == "value" else path, (*path[:-2], "cell", *path[-2:])
    return next((way for way in ways if way in wanted), ways[1])


def checked(module: Any) -> nn.Module:
    """A module."""
    if not isinstance(module, nn.Module):
        raise ArgumentError(f"a module of Stele is needed, got {type(module).__name__}")
    return module


def styled(style: Any) -> str:
    """One of the styles."""
    return choice(style, "style", STYLES)


def fitting(given: Flat, layers: Sequence[Kept], style: str) -> Flat:
    """The arrays of a tree that layers want. Raises DataError with all names that one side lacks, and all shapes that
    no layer takes.
    """
    wanted = {words(keys): (x, layer) for arrays, (layer, *_) in layers for keys, x in arrays.items()}
    given = {sought(path, wanted): x for path, x in given.items()}
    if style == "nnx":
        given = side_by_side(given)
    wrong = {path: (x, layer) for path, (x, layer) in wanted.items()
             if path in given and not takes(layer, given[path].shape, x.shape)}
    said = [f"{'/'.join(path)} {x.shape} is missing" for path, (x, _) in wanted.items() if path not in given]
    said += [f"{'/'.join(path)} {given[path].shape} is unknown" for path in given if path not in wanted]
    said += [f"{'/'.join(path)} is {given[path].shape}, not {x.shape}" for path, (x, _) in wrong.items()]
    if said:
        more = f"; and {len(said) - MOST} more" if len(said) > MOST else ""
        heads = any(isinstance(layer, nn.MultiheadAttention) and given[path].size != x.size
                    for path, (x, layer) in wrong.items())
        raise DataError(f"the tree does not fit the module in {len(said)} places: {'; '.join(said[:MOST])}{more}",
                        hint=HEADS if heads else HINTS[style])
    return given


def takes(layer: Any, there: Sequence[int], here: Sequence[int]) -> bool:
    """Whether an array of one shape is what a layer has in another: a Linear has in one axis each what a DenseGeneral
    takes and gives in several.

    >>> takes(nn.Linear(6, 20), (2, 3, 4, 5), (6, 20)), takes(nn.Linear(6, 20), (2, 4, 3, 5), (6, 20))
    (True, False)
    """
    if not isinstance(layer, nn.Linear):
        return there == here
    front, first = prod(here[:-1]), len(here) - 1
    return prod(there) == prod(here) and front in [prod(there[:k]) for k in range(first, len(there))]
