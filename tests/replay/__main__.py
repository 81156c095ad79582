"""Writes the digests anew, and names those that changed: `python -m tests.replay`.

    python -m tests.replay                            all of them, into tests/replay/digests.txt, and the instructions
                                                      of each multiply-add into instructions.txt
    python -m tests.replay --show "conv 3x3 56" zen4  the text of one: its IR, then its memory plan
    python -m tests.replay --keep before.json         the texts of all
    python -m tests.replay --against before.json      of texts that are others now, whether machine code is the same
"""
from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.replay import instructions
from tests.replay.digest import ALL, PATH, digests, emitted, known, machine_code, printer, table
from tests.replay.machines import MACHINES


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--show", nargs=2, metavar=("CASE", "MACHINE"), help="print what one digest is of")
    asked.add_argument("--keep", type=Path, metavar="FILE", help="write the texts of all to a file")
    asked.add_argument("--against", type=Path, metavar="FILE", help="compare with what was kept")
    given = asked.parse_args()
    if given.keep:
        given.keep.write_text(json.dumps({f"{n} on {m}": emitted(n, MACHINES[m]) for n in ALL for m in MACHINES}))
        return
    if given.against:
        compare(json.loads(given.against.read_text()))
        return
    if given.show:
        case, machine = given.show
        print(*emitted(case, MACHINES[machine]), sep="\n\n")
        return
    before, now = known(), digests()
    for key, found in now.items():
        if before.get(key) != found:
            what = "new" if key not in before else ", ".join(
                name for name, old, new in zip(("code", "memory"), before[key], found) if old != new)
            print(f"{' on '.join(key)}: {what}")
    for key in before.keys() - now.keys():
        print(f"{' on '.join(key)}: gone")
    PATH.write_text(table(now, printer()))
    instructions.PATH.write_text(instructions.table(printer()))


def compare(before: dict[str, list[str]]) -> None:
    """Names the cases whose text is another than before, and says whether machine code and memory plan are the same."""
    for name, machine in ((n, m) for n in ALL for m in MACHINES):
        key, (code, memory) = f"{name} on {machine}", emitted(name, MACHINES[machine])
        if key in before and before[key] != [code, memory]:
            old, target = before[key], MACHINES[machine]
            alike = old[1] == memory and machine_code(old[0], target) == machine_code(code, target)
            print(f"{key}: {'the same machine code' if alike else 'other machine code or memory'}")


if __name__ == "__main__":
    main()
