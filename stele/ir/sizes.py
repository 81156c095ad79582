"""Integer expressions over named sizes, in one normal form."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from keyword import iskeyword
from typing import NamedTuple, Union

from stele.errors import ShapeError

Dim = Union[int, "Size"]
MOST = 64       # terms of a product in a text


class Named(NamedTuple):
    """A named size, known when a program is called."""

    name: str

    def __str__(self) -> str:
        return self.name

    def at(self, sizes: Mapping[str, int]) -> int:
        if self.name not in sizes:
            raise ShapeError(f"the size {self.name!r} has no value; known sizes: {sorted(sizes)}")
        return sizes[self.name]


class Quotient(NamedTuple):
    """Floor of `x / by`, kept whole where it does not divide out."""

    x: Size
    by: int

    def __str__(self) -> str:
        return f"({self.x})//{self.by}"

    def at(self, sizes: Mapping[str, int]) -> int:
        return self.x.at(sizes) // self.by


Atom = Named | Quotient
Monomial = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """A sum of integer multiples of products of atoms: `n`, `2*n+1`, `(n)//2`. Equal expressions compare equal.

    >>> n = size("n")
    >>> str((n + 1) * 2 - n), (n * 4) // 2 == n * 2, str((n + 1) // 2)
    ('n+2', True, '(n+1)//2')
    """

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        total = dict(self.terms)
        for monomial, k in of(other).terms:
            total[monomial] = total.get(monomial, 0) + k
        return normal(total)

    def __mul__(self, other: Dim) -> Dim:
        total: dict[Monomial, int] = {}
        for a, j in self.terms:
            for b, k in of(other).terms:
                ab = tuple(sorted(a + b, key=str))
                total[ab] = total.get(ab, 0) + j * k
        return normal(total)

    def __floordiv__(self, by: Dim) -> Dim:
        if not isinstance(by, int):
            if self == by:
                return 1
            exact = self.exactly(by)
            if exact is None:
                raise ShapeError(f"cannot divide the size {self} by the size {by}: only whole factors divide out")
            return exact
        if by == 1:
            return self
        whole = {m: k // by for m, k in self.terms if k % by == 0}
        rest = {m: k for m, k in self.terms if k % by}
        if not rest:
            return normal(whole)
        left = normal(rest)
        quotient: Dim = left // by if isinstance(left, int) else Size((((Quotient(left, by),), 1),))
        return normal(whole) + quotient

    def exactly(self, by: Size) -> Dim | None:
        """`self / by` where it divides out as a whole, else None."""
        return 1 if self == by else divide(self, by)

    def __mod__(self, by: int) -> Dim:
        return self - (self // by) * by

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __rsub__(self, other: Dim) -> Dim:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __str__(self) -> str:
        text = ""
        for monomial, k in self.terms:
            alone = k == 1 and len(monomial) == 1
            factors = "*".join(f"({a})" if isinstance(a, Quotient) and not alone else str(a) for a in monomial)
            part = str(abs(k)) if not factors else factors if abs(k) == 1 else f"{abs(k)}*{factors}"
            text += ("-" if k < 0 else "+" if text else "") + part
        return text

    __repr__ = __str__

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        raise ShapeError(f"the size {self} is symbolic: it has no single integer value while a function is traced")

    __index__ = __int__

    def at(self, sizes: Mapping[str, int]) -> int:
        """The integer this expression is for the given named sizes."""
        total = 0
        for monomial, k in self.terms:
            for atom in monomial:
                k *= atom.at(sizes)
            total += k
        return total


def size(name: str) -> Size:
    """The named size itself."""
    if not name.isidentifier() or iskeyword(name):
        raise ShapeError(f"a size needs a name that a variable may have, got {name!r}; write for example 'batch'")
    return Size((((Named(name),), 1),))


def of(x: Dim) -> Size:
    """Any dimension as a `Size`."""
    return x if isinstance(x, Size) else Size((((), x),) if x else ())


def normal(terms: Mapping[Monomial, int]) -> Dim:
    """Terms in canonical order without zeros; an int where nothing symbolic is left."""
    kept = [(m, k) for m, k in terms.items() if k]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    return Size(tuple(sorted(kept, key=lambda t: (-len(t[0]), str(t[0])))))


def divide(x: Size, by: Size) -> Dim | None:
    """`x / by` where it divides out as a whole, else None: the leading term again and again.

    >>> n = size("n")
    >>> str(divide(n * n + n - 2, n + 2)), divide(n * n + 1, n + 2)
    ('n-1', None)
    """
    lead, k = by.terms[0]
    found: Dim = 0
    left: Dim = x
    for _ in range(2 * len(x.terms) + len(by.terms)):
        if not isinstance(left, Size):
            break
        monomial, j = left.terms[0]
        rest = list(monomial)
        if j % k or not all(atom in rest and (rest.remove(atom) or True) for atom in lead):
            return None
        part = normal({tuple(rest): j // k})
        found, left = found + part, left - by * part
    return found if left == 0 else None


def at(x: Dim, sizes: Mapping[str, int]) -> int:
    """Any dimension as an integer."""
    return x if isinstance(x, int) else x.at(sizes)


def replaced(x: Dim, name: str, by: Dim) -> Dim:
    """The expression with a named size replaced by another dimension.

    >>> replaced(size("n") * 2 + 1, "n", size("m") + 1) == size("m") * 2 + 3
    True
    """
    def factor(atom: Atom) -> Dim:
        if isinstance(atom, Quotient):
            return replaced(atom.x, name, by) // atom.by
        return by if atom.name == name else size(atom.name)

    def scaled(monomial: Monomial, k: Dim) -> Dim:
        return reduce(lambda a, b: a * b, map(factor, monomial), k)

    return sum((scaled(monomial, k) for monomial, k in of(x).terms), 0)


def ceil(x: Dim, by: int) -> Dim:
    """x / by, rounded up."""
    return (x + (by - 1)) // by


def names(x: Dim) -> set[str]:
    """The named sizes an expression depends on."""
    found: set[str] = set()
    for monomial, _ in of(x).terms:
        for atom in monomial:
            found |= {atom.name} if isinstance(atom, Named) else names(atom.x)
    return found


def parse(text: str) -> Dim:
    """The dimension that `str` printed.

    >>> parse("2*n+1") == size("n") * 2 + 1
    True
    >>> half = (size("n") + 1) // 2
    >>> all(parse(str(d)) == d for d in (half, -half, half * 3, half * size("m"), size("m") - half * 2))
    True
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ShapeError(f"cannot read {text!r} as a size; write for example 'n' or '2*n+1'") from error
    return evaluate(tree, text)


def evaluate(node: ast.expr, text: str) -> Dim:
    """The dimension of one node of a parsed size."""
    match node:
        case ast.Constant(int(value)):
            return value
        case ast.Name(name):
            return size(name)
        case ast.UnaryOp(ast.USub(), x):
            return -evaluate(x, text)
        case ast.BinOp(x, op, y) if type(op) in OPERATORS:
            return OPERATORS[type(op)](evaluate(x, text), evaluate(y, text))
        case _:
            raise ShapeError(f"cannot read {text!r} as a size; write for example 'n' or '2*n+1'")


def product(a: Dim, b: Dim) -> Dim:
    """a * b, of few terms: what is printed multiplies atoms alone, and sums times sums double with each of them."""
    if len(of(a).terms) * len(of(b).terms) > MOST:
        raise ShapeError(f"a size that is written multiplies to at most {MOST} terms, got ({a!s:.40})*({b!s:.40})")
    return a * b


def quotient(a: Dim, b: Dim) -> Dim:
    """a // b."""
    return a // b if isinstance(b, int) else 0 if a == 0 else of(a) // b


OPERATORS: dict[type[ast.operator], Callable[[Dim, Dim], Dim]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: product,
    ast.FloorDiv: quotient,
}
