"""Sums of products by Einstein's notation: a path of pairs, each one matrix product or one fused product."""
from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import reduce
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

from stele.errors import ArgumentError, ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim, at
from stele.ir.types import SIZES, DType, bfloat16, bool_, float16, float32, int32, product, promote, same, show
from stele.ops.arguments import sequence, whole
from stele.ops.contraction import MatMul
from stele.ops.diagonals import diagonal
from stele.ops.elementwise.arithmetic import Mul
from stele.ops.linear import Sum, cast, expand_dims, reshape, swap_last, transpose

Letters = tuple[str, ...]
Equation = Any      # text, or an operand
Terms = Any         # an operand, or whole numbers that stand for its letters
MOST = 8        # operands of which every path is looked at; of more the next pair is the one that grows least
UNKNOWN = 256   # what a size counts for that only a call tells


class Term(NamedTuple):
    """An operand and a letter for each of its axes."""

    x: Value
    letters: Letters


def einsum(equation: Equation, *operands: Terms) -> Value:
    """The sum of products that an `equation` says: "ij,jk->ik" is a matrix product, "ij->j" sums columns.

    Each of the `operands` has a letter for each axis; axes of one letter go along together, those that the result does
    not name are summed. Without -> the result has the letters that stand once, in the order of the alphabet; `...` are
    axes that broadcast; a letter twice in one operand is its diagonal; axes of length 1 broadcast. NumPy's other form,
    einsum(x, [0, 1], y, [1, 2], [0, 2]), works too. Several operands are multiplied two at a time, by the path of
    fewest products (every one of up to 8 operands is looked at). Operands meet in one dtype, that of the result, of
    16 bits at the end alone; bools say whether any product is true. Raises ShapeError where axes of one letter differ,
    and for letters that do not fit.

    >>> x, y = st.arange(6.0).reshape(2, 3), st.ones((3, 4))
    >>> st.einsum("ij,jk->ik", x, y).shape, st.einsum("ij->j", x).tolist(), st.einsum("ii", st.eye(3)).tolist()
    ((2, 4), [3.0, 5.0, 7.0], 3.0)
    >>> st.einsum("...ij,...jk", st.ones((5, 2, 3)), y).shape
    (5, 2, 4)
    """
    inputs, output, xs = parsed(equation, operands)
    dtype = reduce(promote, (x.dtype for x in xs))
    wide = int32 if dtype == bool_ else float32 if rounds(inputs, output) and dtype in (float16, bfloat16) else dtype
    return cast(contracted([cast(x, wide) for x in xs], inputs, output, wide), dtype)


def rounds(inputs: Sequence[Letters], output: Letters) -> bool:
    """Whether there are results in between: several products, or sums over what one operand alone has."""
    letters = [c for t in inputs for c in {*t}]
    return len(inputs) > 2 or (len(inputs) == 2 and any(letters.count(c) == 1 and c not in output for c in letters))


def parsed(equation: Any, operands: Sequence[Any]) -> tuple[list[Letters], Letters, list[Value]]:
    """The letters of each operand and of the result, and the operands."""
    if isinstance(equation, str):
        xs, text = list(operands), equation.replace(" ", "")
    else:
        xs, text = interleaved((equation, *operands))
    if not xs or not all(isinstance(x, Value) for x in xs):
        raise ArgumentError("einsum takes tensors behind its equation, or beside the lists of their letters",
                            hint="Write st.einsum('ij,jk->ik', x, y).")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not all(re.fullmatch(r"[^\W\d_]*(\.\.\.)?[^\W\d_]*", t) for t in (*terms, right)) or len(terms) != len(xs):
        raise ShapeError(f"einsum {text!r} needs letters, and one ..., for each of {len(xs)} operands, commas between")
    inputs = [lettered(t, x) for t, x in zip(terms, xs)]
    rest = tuple(f".{k}" for k in range(most_open(inputs), 0, -1))
    if arrow:
        output = spread(right, rest) if "..." in right else (*right,)
    else:
        named = sorted(c for t in inputs for c in t if c[0] != ".")
        output = (*rest, *(c for c in named if named.count(c) == 1))
    if len({*output}) < len(output) or not {*output} <= {c for t in inputs for c in t}:
        raise ShapeError(f"einsum {text!r}: each letter of the result stands in an operand, and once in the result")
    return inputs, output, xs


def interleaved(args: Sequence[Any]) -> tuple[list[Any], str]:
    """The operands and the equation of einsum(x, [0, 1], y, [1, 2], [0, 2])."""
    def text(sub: Any) -> str:
        return "".join("..." if k is Ellipsis else chr(ord("A") + whole(k, "a letter of einsum", 0, 51) + 6 * (k > 25))
                       for k in sequence(sub, "letters of einsum", "a list of whole numbers"))
    pairs = len(args) // 2
    return [*args[:2 * pairs:2]], ",".join(map(text, args[1: 2 * pairs: 2])) + \
        (f"->{text(args[-1])}" if len(args) % 2 else "")


def spread(text: str, rest: Letters) -> Letters:
    """The letters of a term, with `rest` for its dots."""
    before, _, behind = text.partition("...")
    return (*before, *rest, *behind)


def lettered(text: str, x: Value) -> Letters:
    """The letters of an operand; axes under dots are counted from the last."""
    hidden = x.ndim - len(text.replace("...", ""))
    if hidden < 0 or (hidden and "..." not in text):
        raise ShapeError(f"einsum has the letters {text!r} for an operand of shape {show(x.shape)}")
    return spread(text, tuple(f".{k}" for k in range(hidden, 0, -1))) if "..." in text else (*text,)


def most_open(inputs: Sequence[Letters]) -> int:
    """How many axes stand under the dots."""
    return max((int(c[1:]) for t in inputs for c in t if c[0] == "."), default=0)


def contracted(xs: Sequence[Value], inputs: Sequence[Letters], output: Letters, dtype: DType) -> Value:
    """The sum of products of operands of one dtype."""
    sizes = sizes_of(xs, inputs)
    terms = [alone(Term(x, t), sizes) for x, t in zip(xs, inputs)]
    for k, term in enumerate(terms):
        others = {c for j, t in enumerate(terms) if j != k for c in t.letters}
        terms[k] = summed(term, others | {*output}, dtype)
    y = along(terms, path([t.letters for t in terms], output, sizes), output, dtype)
    return transpose(y.x, tuple(y.letters.index(c) for c in output))


def sizes_of(xs: Sequence[Value], inputs: Sequence[Letters]) -> dict[str, Dim]:
    """The length of the axes of each letter; those of length 1 follow the others."""
    sizes: dict[str, Dim] = {}
    for x, letters in zip(xs, inputs):
        for c, n in zip(letters, x.shape):
            if sizes.get(c, 1) == 1:
                sizes[c] = n
            elif n != 1 and not same(n, sizes[c]):
                raise ShapeError(f"einsum needs axes of one letter to be of one length, got {sizes[c]} and {n}: {c!r}")
    return sizes


def alone(term: Term, sizes: dict[str, Dim]) -> Term:
    """An operand with each letter once, and without the axes of length 1 that broadcast."""
    x, letters = term
    kept = [k for k, (c, n) in enumerate(zip(letters, x.shape)) if n != 1 or sizes[c] == 1]
    x, letters = reshape(x, tuple(x.shape[k] for k in kept)), tuple(letters[k] for k in kept)
    while twice := next((c for c in letters if letters.count(c) > 1), None):
        a = letters.index(twice)
        b = letters.index(twice, a + 1)
        x = diagonal(x, axis1=a, axis2=b)
        letters = (*letters[:a], *letters[a + 1: b], *letters[b + 1:], twice)
    return Term(x, letters)


def summed(term: Term, needed: Set[str], dtype: DType) -> Term:
    """An operand without the axes that nothing else names."""
    axes = tuple(k for k, c in enumerate(term.letters) if c not in needed)
    return Term(cast(Sum(axes)(term.x), dtype), tuple(c for c in term.letters if c in needed)) if axes else term


Path = int | tuple["Path", "Path"]


def path(inputs: Sequence[Letters], output: Letters, sizes: dict[str, Dim]) -> Path:
    """Which operands, by their place, are multiplied in which order."""
    known = SIZES.get()
    hints = {c: float(n if isinstance(n, int) else UNKNOWN if known is None else at(n, known.hints))
             for c, n in sizes.items()}
    sets = [frozenset(t) for t in inputs]
    return best(sets, frozenset(output), hints) if len(inputs) <= MOST else greedy(sets, frozenset(output), hints)


def best(sets: Sequence[frozenset[str]], output: frozenset[str], sizes: dict[str, float]) -> Path:
    """The path of fewest products: of every group of operands the best of all its cuts in two."""
    n = len(sets)
    groups = [tuple(k for k in range(n) if bits >> k & 1) for bits in range(1 << n)]
    left = [frozenset[str]().union(*(sets[k] for k in g)) & output.union(*(sets[k] for k in range(n) if k not in g))
            for g in groups]
    found: dict[int, tuple[float, Path]] = {1 << k: (0.0, k) for k in range(n)}
    for bits in sorted(range(1, 1 << n), key=lambda b: len(groups[b])):
        if bits in found:
            continue
        cuts: list[tuple[float, int]] = []
        part = (bits - 1) & bits
        while part > bits ^ part:
            rest = bits ^ part
            cuts.append((found[part][0] + found[rest][0] + prod(sizes[c] for c in left[part] | left[rest]), part))
            part = (part - 1) & bits
        cost, part = min(cuts)
        found[bits] = cost, (found[part][1], found[bits ^ part][1])
    return found[(1 << n) - 1][1]


def greedy(sets: Sequence[frozenset[str]], output: frozenset[str], sizes: dict[str, float]) -> Path:
    """A path whose next pair is always the one whose product is smallest beside what it is made of."""
    open_: list[tuple[frozenset[str], Path]] = [(s, k) for k, s in enumerate(sets)]

    def made(a: int, b: int) -> frozenset[str]:
        return (open_[a][0] | open_[b][0]) & output.union(*(s for k, (s, _) in enumerate(open_) if k not in (a, b)))

    def growth(pair: tuple[int, int]) -> float:
        before = sum(prod(sizes[c] for c in open_[k][0]) for k in pair)
        return prod(sizes[c] for c in made(*pair)) - before

    while len(open_) > 1:
        a, b = min(combinations(range(len(open_)), 2), key=growth)
        product = made(a, b), (open_[a][1], open_[b][1])
        open_ = [t for k, t in enumerate(open_) if k not in (a, b)] + [product]
    return open_[0][1]


def along(terms: Sequence[Term], way: Path, output: Letters, dtype: DType, needed: frozenset[str] = frozenset()
          ) -> Term:
    """What a path makes of the operands; `needed` are letters that others than its own want."""
    if isinstance(way, int):
        return terms[way]
    wanted = needed | {*output}
    first, second = (along(terms, part, output, dtype, wanted | letters_of(terms, other))
                     for part, other in (way, way[::-1]))
    return pair(first, second, wanted, output, dtype)


def letters_of(terms: Sequence[Term], way: Path) -> frozenset[str]:
    """All letters that stand in a part of a path."""
    if isinstance(way, int):
        return frozenset(terms[way].letters)
    return letters_of(terms, way[0]) | letters_of(terms, way[1])


def pair(x: Term, z: Term, needed: frozenset[str], output: Letters, dtype: DType) -> Term:
    """The product of two operands, summed over letters that nothing else needs: a matrix product where it is one."""
    x, z = (summed(a, needed | {*b.letters}, dtype) for a, b in ((x, z), (z, x)))
    both = [c for c in x.letters if c in z.letters]
    rows, columns = ([c for c in a.letters if c not in both] for a in (x, z))
    if {*both} <= needed or not (rows or columns):
        return product_of(x, z, needed, output, dtype)
    if rows and columns and all(c in output for c in (rows[0], columns[0])) and \
            output.index(columns[0]) < output.index(rows[0]):
        x, z, rows, columns = z, x, columns, rows
    batch, inner = ([c for c in both if (c in needed) == kept] for kept in (True, False))
    orders = [([*filter(batch.__contains__, a.letters)], [*filter(inner.__contains__, b.letters)])
              for a in (x, z) for b in (x, z)]
    batch, inner = min(orders, key=lambda o: moves(x.letters, *o, rows) + moves(z.letters, *o, columns))
    left, right = matrices(x, batch, inner, rows), matrices(z, batch, inner, columns)
    y = MatMul()(left, swap_last(right))
    sizes = dict(zip((*x.letters, *z.letters), (*x.x.shape, *z.x.shape)))
    letters = (*batch, *rows, *columns)
    return Term(reshape(y, tuple(sizes[c] for c in letters)), letters)


def product_of(x: Term, z: Term, needed: frozenset[str], output: Letters, dtype: DType) -> Term:
    """The elements multiplied, in the order of the result, and the sum of what nothing needs: one kernel."""
    letters = {**dict.fromkeys(c for c in output if c in (*x.letters, *z.letters)),
               **dict.fromkeys(x.letters), **dict.fromkeys(z.letters)}

    def aligned(a: Term) -> Value:
        own = [c for c in letters if c in a.letters]
        return expand_dims(transpose(a.x, tuple(a.letters.index(c) for c in own)),
                           tuple(k for k, c in enumerate(letters) if c not in a.letters))
    return summed(Term(Mul()(aligned(x), aligned(z)), (*letters,)), needed, dtype)


def moves(letters: Letters, batch: list[str], inner: list[str], outer: list[str]) -> bool:
    """Whether a matrix of these rows or columns is not there as it lies, nor transposed."""
    return letters not in ((*batch, *outer, *inner), (*batch, *inner, *outer))


def matrices(a: Term, batch: list[str], inner: list[str], outer: list[str]) -> Value:
    """An operand as (batch, outer, inner)."""
    is_turned = bool(outer) and a.letters == (*batch, *inner, *outer)
    groups = (inner, outer) if is_turned else (outer, inner)
    x = transpose(a.x, tuple(a.letters.index(c) for c in (*batch, *groups[0], *groups[1])))
    sizes = dict(zip(a.letters, a.x.shape))
    x = reshape(x, (*(sizes[c] for c in batch), *(product(tuple(sizes[c] for c in group)) for group in groups)))
    return swap_last(x) if is_turned else x


def outer(x: Value, z: Value) -> Value:
    """Every element of x times every one of z, both taken flat: a matrix (x.size, z.size).

    Raises ArgumentError for what is neither an array nor a number. Dtypes meet as in `multiply`.

    >>> st.outer(st.tensor([1, 2]), st.tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    return Mul()(reshape(x, (-1, 1)), reshape(z, (1, -1)))


def inner(x: Value, z: Value) -> Value:
    """The sums of products over the last axes of x and z: (..., n) and (***, n) -> (..., ***). Of a number x * z.

    Dtypes meet as in `add`. Raises ShapeError where the last axes differ.

    >>> st.inner(st.tensor([[1, 2], [3, 4]]), st.tensor([10, 1])).tolist()
    [12, 34]
    """
    if not x.ndim or not z.ndim:
        return Mul()(x, z)
    if not same(x.shape[-1], z.shape[-1]):
        raise ShapeError(f"inner needs last axes of one length, got {show(x.shape)} and {show(z.shape)}")
    rows, columns = ([f"{name}{k}" for k in range(v.ndim - 1)] for name, v in (("x", x), ("z", z)))
    return contracted([cast(v, promote(x.dtype, z.dtype)) for v in (x, z)], [(*rows, "n"), (*columns, "n")],
                      (*rows, *columns), promote(x.dtype, z.dtype))
