"""PyTorch's samples of every op that Stele spells, as a page: `python -m tests.long_conformance`.

Writes `docs/conformance.md`; returns 1 where a number is wrong.
"""
from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from tests.conformance.samples import HERE, Outcome, find, run, samples
from tests.conformance.spelling import SPELLED

PAGE = HERE / "docs" / "conformance.md"
HEAD = """# Conformance

{calls} calls of {ops} ops, made by PyTorch {torch} (float32, from its own sample inputs) with results and
vector-Jacobian products, run through what spells them in Stele (`tests/conformance/spelling.py`) as native code.
A number passes within 1e-4 of the largest element of its array, indices and truths exactly, NaN and infinities in their
places; gradients also within 1e-5 of the largest cotangent, for sums that cancel. Written by
`python -m tests.long_conformance`, which reads `opinfo.pkl` in the folder that `STELE_SHARED_CONFORMANCE` names.

**{passed} passed, {wrong} wrong**, {refused} refused with an error that says what to write, {none} without a spelling
({unspelled} ops have none at all). Of {ops} ops **{forward} pass all samples forward, {backward} all gradients**.

## Conventions

Where mathematics leaves a choice, Stele decides as follows; the samples agree.

- `abs` has derivative 0 at 0, `relu` 0 at 0, `sign` and rounding 0 everywhere.
- `max` and `min` over axes share the gradient evenly among equal elements; `maximum` and `minimum` of two equal
  operands give each half. A max-pool gives it to the first largest of the window; padding takes none.
- `clip` passes the gradient at its edges.
- `x ** 0` is 1 with derivative 0, at 0 too; the derivative in the exponent is 0 at base 0 unless the exponent is
  negative, NaN below.
- `argmax` and `argmin` name the first of equals, and NaN before all others.
- A number has one axis, 0 or -1, in reductions, running totals, sorts and positions, as in PyTorch.
- `squeeze` of an axis that is longer than 1 is refused (the standard's rule) unless `strict=False`; `max`, `min`,
  `sort`, `cummax` and `median` give positions beside values where `return_indices=True` asks for them.
- Vectors of `svd` beyond the singular values turn with the others; PyTorch leaves their cotangents out.

## Other samples

The same ops on what PyTorch gives for other seeds, as float64, and as reference inputs (strided, of no elements,
infinite, NaN, large), at most 24 of each variant, 32 of the last:

| samples | calls | ops | forward | gradients |
|---|---|---|---|---|
| float32, another seed | 3,320 | 301 | 298 | 296 |
| float64, a third | 3,320 | 301 | 299 | 298 |
| reference inputs, float32 | 6,744 | 298 | 290 | 281 |

Of the last nothing is refused. They differ at infinities and NaN (`i0`, `i1`, `sinc` and `polygamma` have their limits
at infinity and `sign` is NaN at NaN, where PyTorch has NaN and 0; derivatives at NaN, of which PyTorch's change with
the length of a row; `acosh` below 1), and near the poles of `digamma`, where PyTorch's derivatives have four digits.
Left out are gradients of inputs for which PyTorch gives none.

## Ops

| op | passed | wrong | refused | no spelling | reasons |
|---|---|---|---|---|---|
"""


def main() -> int:
    """Runs all samples and writes the page; returns how many are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_conformance", description=__doc__)
    parser.add_argument("--ops", nargs="*", help="these ops alone, and no page")
    options = parser.parse_args()
    path = find()
    if path is None:
        print("no opinfo.pkl: set STELE_SHARED_CONFORMANCE to the folder that holds it")
        return 0
    recs = [s for s in samples(path) if not options.ops or s["op"] in options.ops]
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for sample in recs:
        outcomes[sample["op"]].append(outcome := run(sample))
        if outcome.verdict != "passed":
            print(f"{sample['op']} {sample['variant']} {sample['i']}: {outcome.reason}", flush=True)
    total = Counter(o.verdict for found in outcomes.values() for o in found)
    print(dict(total), whole(outcomes))
    if not options.ops:
        write(outcomes, total, PAGE)
    return total["wrong"]


def whole(outcomes: dict[str, list[Outcome]]) -> dict[str, int]:
    """How many ops pass all samples forward, and how many all gradients."""
    return {"forward": sum(all(o.forward for o in found) for found in outcomes.values()),
            "backward": sum(all(o.backward for o in found) for found in outcomes.values())}


def write(outcomes: dict[str, list[Outcome]], total: Counter[str], page: Path) -> None:
    """The page: what was found for each op that has a spelling, and the names of those that have none."""
    unspelled = sorted(op for op in outcomes if op not in SPELLED)
    head = HEAD.format(calls=sum(total.values()), ops=len(outcomes), torch="2.13", passed=total["passed"],
                       wrong=total["wrong"], refused=total["refused"], none=total["no spelling"],
                       unspelled=len(unspelled), **whole(outcomes))
    rows = [row(op, outcomes[op]) for op in sorted(outcomes) if op in SPELLED]
    names = ", ".join(f"`{op}`" for op in unspelled)
    page.write_text(f"{head}{''.join(rows)}\n## Without a spelling\n\n{names}.\n")


def row(op: str, found: list[Outcome]) -> str:
    count = Counter(o.verdict for o in found)
    reasons = "; ".join(dict.fromkeys(o.reason.replace("|", "\\|") for o in found if o.reason))
    numbers = " | ".join(str(count[v] or "") for v in ("passed", "wrong", "refused", "no spelling"))
    return f"| `{op}` | {numbers} | {reasons[:300]} |\n"


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
