"""Which algorithm computes a convolution: the cheapest by estimate, of shape and machine alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.llvm import conv as direct
from stele.backend.llvm import conv_tiles, conv_tiles_plan, conv_weight, pointwise, winograd, winograd_weight
from stele.backend.llvm.access import Address, Near, Operand, Temp, Write, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.layer import Layer, backward, forward
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.points import F2, F4
from stele.backend.llvm.stencil import Conv

Blocking = winograd.Blocking | conv_tiles_plan.Blocking | pointwise.Blocking | None
"""How the work of an algorithm is cut; None where the algorithm itself decides."""


def convolution(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, w: Operand, write: Write,
                near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of `y = x * w`: `x` (n, c, h, w), `w` (o, c / groups, kh, kw), `write` (n, o, h', w')."""
    return _layer(module, name, machine, conv, forward(conv), x, w, write, near, temp, precision)


def input_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, g: Operand, w: Operand, write: Write,
                   near: Near, temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of x: `g` (n, o, h', w'), `w` as in `convolution`, `write` (n, c, h, w)."""
    return _layer(module, name, machine, conv, backward(conv), g, w, write, near, temp, precision)


def weight_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, g: Operand, write: Write,
                    temp: Address, precision: Precision = "fast") -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c / groups, kh, kw) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    if precision != "strict" and is_small(machine, conv):
        price, blocking = winograd_weight.plan(machine, conv, F4, (x, g))
        small = blocking.sums * size_of(conv.dtype) <= 4 * machine.l2
        direct_price = _least(machine, forward(conv), [price], lambda: conv_weight.plan(machine, conv, (x, g))[0])
        choice = (direct_price, "direct"), (price, "winograd4")
        if small and machine.choices.choose(f"convolution weight {conv}", choice)[1] != "direct":
            return winograd_weight.weight_gradient(module, name, machine, conv, blocking, x, g, write, temp)
    return conv_weight.weight_gradient(module, name, machine, conv, x, g, write, temp)


def _layer(module: ir.Module, name: str, machine: Machine, conv: Conv, layer: Layer, source: Operand, weight: Operand,
           write: Write, near: Near, temp: Address, precision: Precision) -> tuple[list[Launch], list[Temp]]:
    """The kernels of a convolution in one direction."""
    others: dict[str, tuple[float, Blocking]] = {}
    if precision != "strict" and is_small(machine, conv):
        others = {f"winograd{points.tile}": winograd.plan(machine, layer, points, source) for points in (F2, F4)}
    if conv_tiles_plan.fits(machine, layer, precision):
        others["tiles"] = conv_tiles_plan.plan(machine, layer, source)
    if pointwise.fits(layer, source):
        plans = {"pointwise": pointwise.plan(machine, layer, precision), **others}
    else:
        known = [price for price, _ in others.values()]
        price = _least(machine, layer, known, lambda: direct.plan(machine, layer, source)[0]) if others else 0.0
        plans = {"direct": (price, None), **others}
    prices = [(price, name) for name, (price, _) in plans.items()]
    chosen = machine.choices.choose(f"convolution {layer}", prices)[1] if others else prices[0][1]
    match plans[chosen][1]:
        case winograd.Blocking() as blocking:
            return winograd.winograd(module, name, machine, layer, blocking, source, weight, write, temp)
        case conv_tiles_plan.Blocking() as blocking:
            return conv_tiles.layer(module, name, layer, blocking, source, weight, write, near, temp)
        case pointwise.Blocking() as blocking:
            return pointwise.product(module, name, layer, blocking, source, weight, write, near, temp)
        case _:
            return direct.layer(module, name, machine, layer, source, weight, write, temp)


def _least(machine: Machine, layer: Layer, others: Sequence[float], plan: Callable[[], float]) -> float:
    """The price of the direct algorithm, or its multiplications alone where those already cost more than others do:
    its cheapest blocking is not looked for then.
    """
    lanes = machine.lanes(size_of(layer.dtype))
    least = layer.depth * layer.width * prod(layer.kernel) * prod(layer.stencil.target) / lanes
    return least if least > min(others) else plan()


def is_small(machine: Machine, conv: Conv) -> bool:
    """Whether Winograd's algorithm can compute a convolution, and the machine moves lanes as it asks for."""
    fits = conv.kernel == (3, 3) and conv.stride == conv.dilation == (1, 1) and conv.groups == 1
    return fits and machine.vector_bytes == 64 and isinstance(conv.dtype, ir.FloatType) \
        and max(conv.padding[0][0], conv.padding[1][0]) <= 2
