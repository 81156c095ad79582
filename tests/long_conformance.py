"""PyTorch's samples of every op that Stele spells, as a page: `python -m tests.long_conformance`.

Writes `docs/conformance.md`, with `--live` a row of it; returns 1 where a number is wrong.
"""
from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path

from tests.conformance.live import Source, live
from tests.conformance.samples import HERE, Outcome, find, run, samples
from tests.conformance.spelling import CONVENTIONS, SPELLED

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

## Where PyTorch is not the truth

Here a number that is not PyTorch's passes, and its op does not count as one that passes all:

{conventions}
## Other samples

The same ops on what an installed PyTorch gives for other seeds, in float64, and as its reference inputs (strided, of no
elements, infinite, NaN, large), so many of each variant, spread over all that it gives. A float32 number may be
PyTorch's for the same inputs in float64 instead: its own has four digits near poles and where terms cancel.
Left out are gradients that PyTorch refuses, and derivatives at NaN, which differ with the length of a row in PyTorch
itself. Each row is written by `python -m tests.long_conformance --live KIND --dtype DTYPE --seed SEED --most MOST`.

Rows of 26 and 27 November 2026 are by `STELE_BACKEND=reference`, whose bits native code has (`tests/test_scalars.py`).
On 23 November, by PyTorch's float32 alone and without the conventions above, 298 and 296 of 301 ops passed for another
seed in float32, 290 and 281 of 298 of the reference inputs, natively. What these samples found in the end: `zeta` was
NaN for negative arguments and whole exponents.

| samples | at most | calls | passed | by convention | refused | no spelling | wrong | forward | gradients | date |
|---|---|---|---|---|---|---|---|---|---|---|
{others}
## Ops

| op | passed | wrong | refused | no spelling | reasons |
|---|---|---|---|---|---|
"""
RULE = f"|{'---|' * 11}\n"
OTHER = re.compile(r"^\| ((?:sample|reference) inputs, .*?) \|.*\n", re.MULTILINE)


def main() -> int:
    """Runs all samples and writes the page; returns how many are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_conformance", description=__doc__)
    parser.add_argument("--ops", nargs="*", help="these ops alone, and no page")
    parser.add_argument("--live", choices=("sample", "reference"), help="what an installed PyTorch gives instead")
    parser.add_argument("--dtype", default="float32", help="of what it gives")
    parser.add_argument("--seed", type=int, default=1, help="of what it gives")
    parser.add_argument("--most", type=int, help="how many of a variant it gives at most")
    options = parser.parse_args()
    path = find()
    if path is None:
        print("no opinfo.pkl: set STELE_SHARED_CONFORMANCE to the folder that holds it")
        return 0
    recs = [s for s in samples(path) if not options.ops or s["op"] in options.ops]
    source = options.live and Source(options.live, options.dtype, options.seed, options.most)
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for sample in live(source, {s["op"] for s in recs}) if source else recs:
        outcomes[sample["op"]].append(outcome := run(sample))
        if outcome.verdict != "passed":
            print(f"{sample['op']} {sample['variant']} {sample['i']}: {outcome.reason}", flush=True)
    total = Counter(o.verdict for found in outcomes.values() for o in found)
    print(dict(total), whole(outcomes))
    others = {m[1]: m[0] for m in OTHER.finditer(PAGE.read_text())}
    if source:
        print(row := other(source, outcomes, total))
        others[source.label] = row
    if source and not options.ops:
        PAGE.write_text(OTHER.sub("", PAGE.read_text()).replace(RULE, RULE + table(others), 1))
    elif not options.ops:
        write(outcomes, total, others, PAGE)
    return total["wrong"]


def whole(outcomes: dict[str, list[Outcome]]) -> dict[str, int]:
    """How many ops pass all samples forward, and how many all gradients."""
    return {"forward": sum(all(o.forward for o in found) for found in outcomes.values()),
            "backward": sum(all(o.backward for o in found) for found in outcomes.values())}


def other(source: Source, outcomes: dict[str, list[Outcome]], total: Counter[str]) -> str:
    """The row of other samples."""
    counts = whole(outcomes)
    found = [o for op in outcomes.values() for o in op]
    by_convention = sum(o.verdict == "passed" and bool(o.reason) for o in found)
    cells = (source.label, source.most or "all", total.total(), total["passed"] - by_convention, by_convention,
             total["refused"], total["no spelling"], total["wrong"], f"{counts['forward']} of {len(outcomes)}",
             f"{counts['backward']} of {len(outcomes)}", date.today())
    return f"| {' | '.join(map(str, cells))} |\n"


def table(others: dict[str, str]) -> str:
    return "".join(others[label] for label in sorted(others))


def write(outcomes: dict[str, list[Outcome]], total: Counter[str], others: dict[str, str], page: Path) -> None:
    """The page: what was found for each op that has a spelling, and the names of those that have none."""
    unspelled = sorted(op for op in outcomes if op not in SPELLED)
    head = HEAD.format(calls=sum(total.values()), ops=len(outcomes), torch="2.13", passed=total["passed"],
                       wrong=total["wrong"], refused=total["refused"], none=total["no spelling"],
                       unspelled=len(unspelled), others=table(others), **whole(outcomes),
                       conventions="".join(f"- `{op}`: {why}.\n" for op, (_, why) in sorted(CONVENTIONS.items())))
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
