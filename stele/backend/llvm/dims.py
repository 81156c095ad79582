"""Sizes and index expressions as LLVM integers."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from llvmlite import ir

from stele.backend.llvm.launch import Builder, i64
from stele.ir.sizes import Atom, Dim, Named


def integer(b: Builder, x: Dim, named: Callable[[str], ir.Value]) -> ir.Value:
    """An i64 that holds `x`; `named` gives the value of each name in it."""
    if isinstance(x, int):
        return i64(x)

    def factor(atom: Atom) -> ir.Value:
        return named(atom.name) if isinstance(atom, Named) else quotient(b, integer(b, atom.x, named), atom.by)

    def term(monomial: tuple[Atom, ...], k: int) -> ir.Value:
        factors = [factor(atom) for atom in monomial]
        return reduce(b.mul, factors if k == 1 and factors else [*factors, i64(k)])

    return reduce(b.add, [term(monomial, k) for monomial, k in x.terms])


def quotient(b: Builder, x: ir.Value, by: int) -> ir.Value:
    """x // by, rounded down, for a positive constant."""
    if by & (by - 1) == 0:
        return b.ashr(x, i64(by.bit_length() - 1))
    q, r = b.sdiv(x, i64(by)), b.srem(x, i64(by))
    return b.sub(q, b.zext(b.icmp_signed("<", r, i64(0)), i64))
