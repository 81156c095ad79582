"""All cases of the backend suite of the `onnx` wheel: `python -m tests.long_onnx [PATTERN]`, or graphs of a folder."""
from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import onnx_graphs
from onnx_suite import EXCLUDED, Unsaid, cases

import stele as st


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression of names")
    parser.add_argument("--compiled", action="store_true", help="compile every model that can be")
    parser.add_argument("--exported", action="store_true", help="export every model, and run it in ONNX Runtime")
    parser.add_argument("--folder", type=Path, help="graphs with what they give beside them, in place of the suite")
    parser.add_argument("--rewritten", action="store_true", help="those of a folder in ways that keep what they give")
    parser.add_argument("--seed", type=int, default=0, help="of what is rewritten")
    asked = parser.parse_args(argv)
    how = Counter[str]() if asked.exported else None
    pattern = re.compile(asked.pattern)
    failed: list[str] = []
    unsaid = Counter[str]()
    passed = excluded = 0
    runs = onnx_graphs.exported if asked.exported else st.compile if asked.compiled else onnx_graphs.plain
    every = cases(asked.compiled, how) if asked.folder is None else onnx_graphs.cases(
        asked.folder, runs, asked.rewritten, asked.seed)
    for name, run in every:
        if not pattern.search(name):
            continue
        if name in EXCLUDED:
            excluded += 1
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run()
            passed += 1
        except Unsaid as error:
            unsaid[str(error)] += 1
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}", flush=True)
    for words, count in unsaid.items():
        print(f"{count} cannot be exported: {words}")
    print(f"{passed} passed, {len(failed)} failed, {excluded} excluded with a reason")
    for words, count in (how or {}).items():
        print(f"{count} {words}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
