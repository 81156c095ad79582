"""Algebra of index expressions: `ir.sizes` expressions over loop variables, whose names start with `%`."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stele.ir.sizes import Dim, Monomial, Named, Quotient, Size, at, divide, names, normal, of
from stele.ir.types import Shape, product

Ranges = Mapping[str, Dim]
"""The extent of each loop variable: it runs from 0 to extent - 1."""


@dataclass
class Refine(Exception):
    """An index can be split only if the loop over `name` becomes loops over `extents`."""

    name: str
    extents: tuple[Dim, ...]


class Splits(dict[str, Dim]):
    """Ranges of a single element: where its index is split by a size, a variable stands for the quotient.

    `meaning[name]` is what is divided by what; `fixed` names the variables that may not be split so.
    """

    def __init__(self, fixed: str) -> None:
        super().__init__()
        self.fixed = fixed
        self.meaning: dict[str, tuple[Dim, Dim]] = {}

    def quotient(self, x: Dim, by: Dim) -> Dim:
        """The variable that stands for `x // by`."""
        if self.fixed in variables(x):
            raise Opaque
        name = next((n for n, m in self.meaning.items() if m == (x, by)), f"%quotient{len(self.meaning)}")
        self.meaning[name] = x, by
        return variable(name[1:])


class Opaque(Exception):
    """An index that no loop structure can express: the operand has to be in memory."""


def variable(name: str) -> Size:
    """The loop variable `%name`."""
    return Size((((Named(f"%{name}"),), 1),))


def variables(x: Dim) -> frozenset[str]:
    """The loop variables an expression depends on."""
    return frozenset(n for n in names(x) if n[0] == "%") if isinstance(x, Size) else frozenset()


def plain(x: Dim) -> str | None:
    """The loop variable that an expression is, else None."""
    match x:
        case Size(((((Named(name),), 1)),)) if name[0] == "%":
            return name
    return None


def coefficient(x: Dim, name: str) -> Dim | None:
    """What a loop variable is multiplied with; None where `x` is not linear in it."""
    total: Dim = 0
    for monomial, k in of(x).terms:
        inside = [name in names(Size((((atom,), 1),))) for atom in monomial]
        if not any(inside):
            continue
        if sum(inside) > 1 or not isinstance(monomial[inside.index(True)], Named):
            return None
        total = total + normal({tuple(a for a in monomial if a != Named(name)): k})
    return total


def substitute(x: Dim, values: Mapping[str, Dim]) -> Dim:
    """The expression with names replaced."""
    if isinstance(x, int) or not names(x) & values.keys():
        return x
    total: Dim = 0
    for monomial, k in x.terms:
        term: Dim = k
        for atom in monomial:
            if isinstance(atom, Quotient):
                term = term * (substitute(atom.x, values) // atom.by)
            else:
                term = term * values.get(atom.name, Size((((atom,), 1),)))
        total = total + term
    return total


def maximum(x: Dim, ranges: Ranges) -> Dim | None:
    """The largest value of a linear expression without negative coefficients, else None."""
    if any(k < 0 and any(isinstance(a, Quotient) or a.name[0] == "%" for a in m) for m, k in of(x).terms):
        return None
    if any(isinstance(a, Quotient) for m, _ in of(x).terms for a in m):
        return None
    return substitute(x, {n: ranges[n] - 1 for n in variables(x)})


def minimum(x: Dim, ranges: Ranges) -> Dim | None:
    """The smallest value of a linear expression, else None."""
    top = maximum(of(x) * -1, {n: ranges[n] for n in variables(x)})
    lowest = None if top is None else top * -1
    if lowest is not None:
        return lowest
    return substitute(x, dict.fromkeys(variables(x), 0)) if maximum(x, ranges) is not None else None


def is_positive(x: Dim) -> bool:
    """Whether an expression over sizes is surely > 0 (a size is at least 1): it is at ones, and no term ever falls."""
    return at(x, dict.fromkeys(names(x), 1)) > 0 and all(way(m, k) > 0 or not m for m, k in of(x).terms)


def way(monomial: Monomial, k: int) -> int:
    """1 where a term never falls as sizes grow, -1 where it never grows, 0 where neither is known."""
    sign = 1 if k > 0 else -1
    for atom in monomial:
        if isinstance(atom, Quotient):
            inner = {way(*term) for term in atom.x.terms if term[0]}
            step = inner.pop() if len(inner) == 1 else 0
            is_signed = step * atom.at(dict.fromkeys(names(atom.x), 1)) >= 0
            sign *= step if is_signed or len(monomial) == 1 else 0
    return sign


def is_inside(x: Dim, low: Dim, high: Dim, ranges: Ranges) -> bool:
    """Whether `low <= x < high` surely holds."""
    if not all(n in ranges for n in variables(x)):
        return False
    least, most = minimum(x, ranges), maximum(x, ranges)
    return least is not None and most is not None and is_positive(least - low + 1) and is_positive(high - most)


def exact(x: Dim, by: Dim) -> Dim | None:
    """`x / by` where it divides out as a whole, else None."""
    if isinstance(x, int) and isinstance(by, int):
        return x // by if by and x % by == 0 else None
    return divide(of(x), of(by)) if by != 0 else None


def quotient(x: Dim, by: Dim, ranges: Ranges) -> tuple[Dim, Dim]:
    """`(x // by, x % by)`, exact; raises Refine where a loop should be split for it, Opaque where nothing helps."""
    if by == 1 or by == 0:      # no element asks for a quotient by an axis of none
        return x, 0
    whole: Dim = 0
    rest: Dim = 0
    for monomial, k in of(x).terms:
        term = normal({monomial: k})
        part = exact(term, by)
        whole, rest = (whole, rest + term) if part is None else (whole + part, rest)
    if is_inside(rest, 0, by, ranges):
        return whole, rest
    if (name := plain(x)) and name in ranges:
        outer = exact(ranges[name], by)
        if outer is not None:
            raise Refine(name, (outer, by))
    if isinstance(by, int):
        return x // by, x % by
    if isinstance(ranges, Splits):
        whole = ranges.quotient(x, by)
        return whole, x - whole * by
    raise Opaque


def regroup(index: Sequence[Dim], shape: Shape, into: Shape, ranges: Ranges) -> tuple[Dim, ...]:
    """The index into an array of shape `into` of the element that `index` means in the same elements of `shape`."""
    if 1 in shape or 1 in into:     # axes of length 1 say nothing, and would ask for quotients by the sizes beside them
        kept = [k for k, n in enumerate(shape) if n != 1]
        long = tuple(n for n in into if n != 1)
        found = iter(regroup([index[k] for k in kept], tuple(shape[k] for k in kept), long, ranges))
        return tuple(0 if n == 1 else next(found) for n in into)
    result: list[Dim] = []
    for own, other in factors(shape, into):
        linear: Dim = 0
        for k in own:
            linear = linear * shape[k] + index[k]
        digits: list[Dim] = []
        for n in reversed([into[k] for k in other][1:]):
            linear, digit = quotient(linear, n, ranges)
            digits.append(digit)
        result += [linear, *reversed(digits)] if other else []
    return tuple(result)


def factors(a: Shape, b: Shape) -> list[tuple[list[int], list[int]]]:
    """The finest groups of adjacent axes of two shapes with equal products."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(a) or j < len(b):
        own, other = ([i], [j]) if i < len(a) and j < len(b) else ([], [])
        if not own:
            rest = list(range(i, len(a))), list(range(j, len(b)))
            if groups:
                groups[-1][0].extend(rest[0])
                groups[-1][1].extend(rest[1])
            else:
                groups.append(rest)
            return groups
        m, n = a[i], b[j]
        i, j = i + 1, j + 1
        while m != n:
            if j < len(b) and (i == len(a) or goes_into(m, n)):
                n = n * b[j]
                other.append(j)
                j += 1
            elif i < len(a):
                m = m * a[i]
                own.append(i)
                i += 1
            else:
                break
        groups.append((own, other))
    return groups


def goes_into(m: Dim, n: Dim) -> bool:
    """Whether the product `n` should grow before `m`: it is the smaller, or a factor of it."""
    if isinstance(m, int) and isinstance(n, int):
        return n < m
    return exact(m, n) is not None


def strides(shape: Shape) -> tuple[Dim, ...]:
    """Row-major strides in elements."""
    return tuple(product(shape[k + 1:]) for k in range(len(shape)))


def linear(index: Sequence[Dim], shape: Shape) -> Dim:
    """The row-major position of an element."""
    total: Dim = 0
    for i, n in zip(index, shape):
        total = total * n + i
    return total
