"""Which algorithm computes a convolution: the cheapest by estimate, of shape and machine alone."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
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
from stele.backend.contract.conv.engine import Schedule, convolve
from stele.backend.contract.conv.gradient import gradient
from stele.backend.contract.conv.layer import Layer, Small, backward, forward, small
from stele.backend.contract.conv.points import F2, F4
from stele.backend.contract.conv.stencil import Conv
from stele.backend.llvm.access import Address, Near, Operand, Temp, Write, size_of
from stele.backend.llvm.launch import Launch
from stele.kernel.choice import MANY
from stele.kernel.machine import Machine
from stele.ops.contraction import has_patches

WRITTEN = 38.0
"""What a vector of weights costs that is laid out, its way to a cache left out."""


def convolution(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, w: Operand, write: Write,
                near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of `y = x * w`: `x` (n, c, h, w), `w` (o, c / groups, kh, kw), `write` (n, o, h' * w')."""
    return _layer(Site(module, name, machine, temp), forward(conv), is_small(conv), x, w, Sink(write, near), precision)


def small_layer(site: Site, layer: Small, source: Operand, weight: Operand, sink: Sink
                ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer of images of any size: `source` (n, depth, h, w), `sink` (n, width, h', w')."""
    return convolve(site, winograd.schedule(site.machine, layer, F4)[1], source, weight, sink)


def small_weight_gradient(site: Site, conv: Small, x: Operand, g: Operand, sink: Sink
                          ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c, 3, 3) from images of any size `x` (n, c, h, w) and `g` (n, o, h',
    w')."""
    return gradient(site, winograd_weight.schedule(site.machine, conv, F4)[1], x, g, sink)


def input_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, g: Operand, w: Operand, write: Write,
                   near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of x: `g` (n, o, h', w'), `w` as in `convolution`, `write` (n, c, h * w)."""
    return _layer(Site(module, name, machine, temp), backward(conv), is_small(conv), g, w, Sink(write, near), precision)


def weight_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, g: Operand, write: Write,
                    temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c / groups, kh, kw) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    site, sink = Site(module, name, machine, temp), Sink(write)
    plain = cache(lambda: direct_weight.schedule(machine, conv, (x, g)))
    if precision != "strict" and is_small(conv):
        price, cut = winograd_weight.schedule(machine, small(forward(conv)), F4)
        if cut.sums * size_of(conv.dtype) <= 4 * machine.l2:
            choice = (_least(machine, forward(conv), [price], lambda: plain()[0]), "direct"), (price, "winograd4")
            if machine.choices.choose(f"convolution weight {conv}", choice)[1] != "direct":
                return gradient(site, cut, x, g, sink)
    if depthwise_weight.fits(machine, conv, (x, g)):
        price, cut = depthwise_weight.schedule(machine, conv)
        choice = (plain()[0], "direct"), (price, "depthwise")
        if machine.choices.choose(f"convolution weight {conv}", choice)[1] == "depthwise":
            return depthwise_weight.gradient(site, conv, cut, x, g, sink)
    short, seen, given = lines.cut_weight(machine, conv, x, g)
    cut = plain()[1] if short is conv else direct_weight.schedule(machine, short, (seen, given))[1]
    return gradient(site, cut, seen, given, sink)


def _layer(site: Site, layer: Layer, has_patches: bool, source: Operand, weight: Operand, sink: Sink,
           precision: Precision) -> tuple[list[Launch], list[Temp]]:
    """The kernels of a convolution in one direction."""
    machine = site.machine
    layer, source, sink = lines.cut_layer(machine, layer, source, sink)
    packing, taps = partial(_packing, machine, layer, weight), layer.taps
    plain = cache(lambda: direct.schedule(machine, layer, source))
    cuts: dict[str, tuple[float, Schedule | depthwise.Schedule]] = {}
    if pointwise.fits(layer, source):
        cuts["pointwise"] = pointwise.schedule(machine, layer, precision)
    for points in (F2, F4) if precision != "strict" and has_patches else ():
        price, cut = winograd.schedule(machine, small(layer), points)
        cuts[f"winograd{points.side}"] = price + packing(points.every), cut
    if tile_registers.fits(machine, layer, precision):
        price, cut = tile_registers.schedule(machine, layer, source)
        cuts["tiles"] = price + packing(taps * PIECES // 2), cut
    if depthwise.fits(layer, source):
        cuts["depthwise"] = depthwise.schedule(machine, layer)
    prices = [(price, name) for name, (price, _) in cuts.items()]
    if "pointwise" not in cuts:
        others = [price for price, _ in prices]
        price = _least(machine, layer, others, lambda: plain()[0]) if others else 0.0
        prices = [(price + packing(taps), "direct"), *prices]
    question = f"convolution {layer}{'' if weight.steady else ' anew'}"
    chosen = machine.choices.choose(question, prices)[1] if len(prices) > 1 else prices[0][1]
    cut = plain()[1] if chosen == "direct" else cuts[chosen][1]
    if isinstance(cut, depthwise.Schedule):
        return depthwise.convolve(site, layer, cut, source, weight, sink)
    return convolve(site, cut, source, weight, sink)


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
    fits = has_patches(conv.kernel, conv.stride, conv.padding, conv.dilation, conv.groups)
    return fits and isinstance(conv.dtype, ir.FloatType)
