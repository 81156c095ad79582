"""Models of ONNX files beside ONNX Runtime: milliseconds from the path of a file to its first result, warm.

`python benchmarks/first_result.py FILE... --python PATH` names an interpreter that has onnx and onnxruntime; each has
so many processes of its own by turns, with the libraries imported, and is asked once before any that counts. The time
of `import` stands beside. Inputs are random, a batch of `--batch` where the first axis is open. A result counts where
both are equal to 1e-4.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROUNDS = 9
START = """
import json, sys, time
import numpy as np
file, shape, begin = sys.argv[1], json.loads(sys.argv[2]), time.perf_counter()
"""
OURS = """
from stele.interop.onnx import prepare
there = time.perf_counter()
x = np.random.default_rng(0).random(shape).astype("f4")
start = time.perf_counter()
model = prepare(file)
run = lambda: model.run([x])[0]
"""
THEIRS = """
import onnxruntime as ort
there = time.perf_counter()
x = np.random.default_rng(0).random(shape).astype("f4")
start = time.perf_counter()
session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
name = session.get_inputs()[0].name
run = lambda: session.run(None, {name: x})[0]
"""
END = """
y = run()
first = time.perf_counter()
run()
times = there - begin, first - start, time.perf_counter() - first
print(json.dumps([*(1e3 * t for t in times), y.ravel()[:1000].tolist()]))
"""
SHAPE = """
import json, sys, onnx
model = onnx.load(sys.argv[1], load_external_data=False)
given = {t.name for t in model.graph.initializer}
x, = (i for i in model.graph.input if i.name not in given)
print(json.dumps([d.dim_value for d in x.type.tensor_type.shape.dim]))
"""


def asked(python: str, *words: str) -> list[Any]:
    """What a process answers."""
    root = str(Path(__file__).resolve().parent.parent)
    env = {**os.environ, "PYTHONPATH": root}
    found = subprocess.run([python, "-c", *words], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(found.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    heads = ("file", "Stele ms", "min..max", "ONNX Runtime ms", "min..max", "x faster", "second call ms", "its",
             "import ms", "its")
    print("", *heads, "", sep=" | ")
    print("", *("---" for _ in heads), "", sep=" | ")
    for file in options.files:
        shape = json.dumps([n or options.batch for n in asked(options.python, SHAPE, file)])
        both = [START + code + END for code in (OURS, THEIRS)]
        for code in both:
            asked(options.python, code, file, shape)
        found = [[asked(options.python, code, file, shape) for code in both] for _ in range(ROUNDS)]
        for ours, theirs in found:
            np.testing.assert_allclose(ours[-1], theirs[-1], atol=1e-4 * np.abs(theirs[-1]).max())
        times = [[[pair[k][j] for pair in found] for j in range(3)] for k in range(2)]
        ratio = median(times[1][1]) / median(times[0][1])
        cells = [f"{median(t[1]):.1f} | {min(t[1]):.1f}..{max(t[1]):.1f}" for t in times]
        later, loaded = ([f"{median(t[j]):.{digits}f}" for t in times] for j, digits in ((2, 2), (0, 0)))
        print("", Path(file).stem, *cells, f"{ratio:.2f}", *later, *loaded, "", sep=" | ", flush=True)


if __name__ == "__main__":
    main()
