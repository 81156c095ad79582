"""Every program of `examples/` trained in full and held to the result it states: `python -m tests.long_examples`.

The folder of `--data` is one in which `data.download` unpacks sets, with `cifar-10-batches-bin`, `aclImdb`,
`tiny_shakespeare`. What is found goes to stdout as a table in Markdown, figures to the folder
of `--figures`; what is on the site stands in `docs/examples.md` and `docs/figures`.
"""
from __future__ import annotations

import argparse
import importlib
import multiprocessing
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def arguments(name: str, data: str | None, figures: str | None) -> list[str]:
    """What the program of a name is given of a folder of data and one of figures; some read no data."""
    has_data = '"--data"' in (EXAMPLES / f"{name}.py").read_text()
    return [*(["--data", data] if data and has_data else []),
            *(["--figure", str(Path(figures) / f"{name}.png")] if figures else [])]


def run(name: str, given: Sequence[str]) -> tuple[str, str, dict[str, float], bool, float]:
    """What a program states, what it found, whether that is enough, and the seconds all cores worked."""
    start = time.process_time()
    program = importlib.import_module(f"examples.{name}")
    found = program.main(list(given))
    return name, program.RESULT, found, program.reached(found), time.process_time() - start


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.long_examples", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME", help="default: all of them")
    asked.add_argument("--data", help="the folder of data sets; without it what needs one says so")
    asked.add_argument("--figures", help="a folder for figures; default: none are made")
    given = asked.parse_args()
    if given.figures:
        Path(given.figures).mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, str, dict[str, float], bool, float]] = []
    failed: list[str] = []
    for name in given.names or NAMES:
        with multiprocessing.get_context("spawn").Pool(1) as process:     # of its own, as a reader would run it
            try:
                rows.append(process.apply(run, (name, arguments(name, given.data, given.figures))))
            except Exception as error:      # the others run all the same; the end says what failed
                failed.append(f"{name}: {type(error).__name__}: {error}")
    print("\n| example | stated | found | reached | CPU s | date |\n| --- | --- | --- | --- | --- | --- |")
    for name, stated, found, is_reached, seconds in rows:
        shown = ", ".join(f"{key} {x:.4g}" for key, x in found.items())
        cells = name, stated, shown, "yes" if is_reached else "no", f"{seconds:.0f}", f"{date.today():%-d %B %Y}"
        print(f"| {' | '.join(cells)} |")
        failed += [] if is_reached else [f"{name}: {shown}, stated: {stated}"]
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
