"""Which algorithm computes a convolution: the cheapest by estimate, of shape and machine alone."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract.amx import PIECES
from stele.backend.contract.code import Sink, Site
from stele.backend.contract.conv import (
    depthwise,
    depthwise_weight,
    direct,
    direct_weight,
    lines,
    pointwise,
    tile_registers,
    winograd,
    winograd_weight,
)
from stele.backend.contract.conv.layer import Layer, backward, forward
from stele.backend.contract.conv.points import F2, F4
from stele.backend.contract.conv.stencil import Conv
from stele.backend.llvm.access import Address, Near, Operand, Temp, Write, size_of
from stele.backend.llvm.launch import Launch
from stele.kernel.choice import MANY
from stele.kernel.machine import Machine

WRITTEN = 38.0
"""What a vector of weights costs that is laid out, its way to a cache left out."""


def convolution(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, w: Operand, write: Write,
                near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of `y = x * w`: `x` (n, c, h, w), `w` (o, c / groups, kh, kw), `write` (n, o, h' * w')."""
    return _layer(Site(module, name, machine, temp), conv, forward(conv), x, w, Sink(write, near), precision)


def input_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, g: Operand, w: Operand, write: Write,
                   near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of x: `g` (n, o, h', w'), `w` as in `convolution`, `write` (n, c, h * w)."""
    return _layer(Site(module, name, machine, temp), conv, backward(conv), g, w, Sink(write, near), precision)


def weight_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, g: Operand, write: Write,
                    temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c / groups, kh, kw) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    site, sink = Site(module, name, machine, temp), Sink(write)
    if precision != "strict" and is_small(conv):
        price, cut = winograd_weight.schedule(machine, conv, F4, (x, g))
        small = cut.sums * size_of(conv.dtype) <= 4 * machine.l2
        direct_price = _least(machine, forward(conv), [price], lambda: direct_weight.schedule(machine, conv, (x, g))[0])
        choice = (direct_price, "direct"), (price, "winograd4")
        if small and machine.choices.choose(f"convolution weight {conv}", choice)[1] != "direct":
            return winograd_weight.gradient(site, conv, cut, x, g, sink)
    if depthwise_weight.fits(machine, conv, (x, g)):
        price, cut = depthwise_weight.schedule(machine, conv)
        choice = (direct_weight.schedule(machine, conv, (x, g))[0], "direct"), (price, "depthwise")
        if machine.choices.choose(f"convolution weight {conv}", choice)[1] == "depthwise":
            return depthwise_weight.gradient(site, conv, cut, x, g, sink)
    conv, x, g = lines.cut_weight(machine, conv, x, g)
    return direct_weight.gradient(site, conv, direct_weight.schedule(machine, conv, (x, g))[1], x, g, sink)


def _layer(site: Site, conv: Conv, layer: Layer, source: Operand, weight: Operand, sink: Sink, precision: Precision
           ) -> tuple[list[Launch], list[Temp]]:
    """The kernels of a convolution in one direction."""
    machine = site.machine
    layer, source, sink = lines.cut_layer(machine, layer, source, sink)
    packing, taps = partial(_packing, machine, layer, weight), prod(layer.kernel)
    others: dict[str, tuple[float, object]] = {}
    if precision != "strict" and is_small(conv):
        found = {points: winograd.schedule(machine, layer, points, source) for points in (F2, F4)}
        others = {f"winograd{points.side}": (price + packing(points.count ** 2), cut)
                  for points, (price, cut) in found.items()}
    if tile_registers.fits(machine, layer, precision):
        price, cut = tile_registers.schedule(machine, layer, source)
        others["tiles"] = price + packing(taps * PIECES // 2), cut
    if depthwise.fits(layer, source):
        others["depthwise"] = depthwise.schedule(machine, layer)
    if pointwise.fits(layer, source):
        plans = {"pointwise": pointwise.schedule(machine, layer, precision), **others}
    else:
        known = [price for price, _ in others.values()]
        price = _least(machine, layer, known, lambda: direct.schedule(machine, layer, source)[0]) if others else 0.0
        plans = {"direct": (price + packing(taps), None), **others}
    prices = [(price, name) for name, (price, _) in plans.items()]
    question = f"convolution {layer}{'' if weight.steady else ' anew'}"
    chosen = machine.choices.choose(question, prices)[1] if others else prices[0][1]
    match plans[chosen][1]:
        case winograd.Schedule() as cut:
            return winograd.convolve(site, layer, cut, source, weight, sink)
        case tile_registers.Schedule() as cut:
            return tile_registers.convolve(site, layer, cut, source, weight, sink)
        case depthwise.Schedule() as cut:
            return depthwise.convolve(site, layer, cut, source, weight, sink)
        case pointwise.Schedule() as cut:
            return pointwise.convolve(site, layer, cut, source, weight, sink)
        case _:
            return direct.convolve(site, layer, direct.schedule(machine, layer, source)[1], source, weight, sink)


def _packing(machine: Machine, layer: Layer, weight: Operand, points: int) -> float:
    """What it costs an image that weights are laid out at so many points: in every call, unless they stay the same.
    What no cache holds is written to memory, and comes back from there.
    """
    count, size = points * layer.depth * layer.width, size_of(layer.dtype)
    each = WRITTEN + (2 * machine.shared if count * size <= machine.l3 else 8 * machine.memory)
    images = layer.batch if isinstance(layer.batch, int) else MANY
    return 0.0 if weight.steady else count / machine.lanes(size) * each / images


def _least(machine: Machine, layer: Layer, others: Sequence[float], price: Callable[[], float]) -> float:
    """The price of the direct algorithm, or its multiplications alone where those already cost more than others do:
    its cheapest schedule is not looked for then.
    """
    lanes = machine.lanes(size_of(layer.dtype))
    least = layer.depth * layer.width * prod(layer.kernel) * prod(layer.stencil.target) / lanes
    return least if least > min(others) else price()


def is_small(conv: Conv) -> bool:
    """Whether Winograd's algorithm can compute a convolution."""
    fits = conv.kernel == (3, 3) and conv.stride == conv.dilation == (1, 1) and conv.groups == 1
    return fits and isinstance(conv.dtype, ir.FloatType) and max(conv.padding[0][0], conv.padding[1][0]) <= 2
