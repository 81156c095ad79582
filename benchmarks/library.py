"""Exported libraries beside ONNX Runtime: bytes, time to the first result in a new process, and of a run on one thread.

`python benchmarks/library.py --python PATH` names an interpreter that has onnx and onnxruntime.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import stele as st
from stele import nn

RUNS = 9        # processes of each, by turns

OURS = """
import ctypes, sys, time
import numpy as np
folder, n, wide = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
x, y = np.load(f"{folder}/x.npy"), np.zeros((n, 10), "f4")
i64, at = ctypes.c_int64, lambda a: a.ctypes.data_as(ctypes.c_void_p)
begin = time.process_time()
lib = ctypes.CDLL(f"{folder}/libnet.so")
lib.net_bytes.restype = i64
sizes = [i64(n)] * int(sys.argv[4])
size = lib.net_bytes(*sizes, i64(1))
arena = np.zeros(size, "u1")
assert lib.net_prepare(at(arena), i64(size), *sizes, i64(1)) == 0
given = at(arena), None, None, at(x), at(y)
run = lambda: lib.net_run(*given)
"""
THEIRS = """
import sys, time
import numpy as np
folder, n, wide = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
x = np.load(f"{folder}/x.npy")
begin = time.process_time()
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(f"{folder}/net.onnx", options, providers=["CPUExecutionProvider"])
def run():
    global y
    y, = session.run(None, {"x": x})
"""
CLOCK = """
run()
first = time.process_time() - begin
times = []
for _ in range(30):
    begin = time.process_time()
    for _ in range(wide): run()
    times.append((time.process_time() - begin) / wide)
print(first, sorted(times)[15], np.abs(y - np.load(f"{folder}/y.npy")).max() < 1e-5)
"""
MODEL = """
import sys
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
folder = sys.argv[1]
w = np.load(f"{folder}/w.npz")
nodes, x = [], "x"
for k in range(3):
    nodes.append(helper.make_node("Gemm", [x, f"w{k}", f"b{k}"], [f"a{k}"], transB=1))
    if k < 2: nodes.append(helper.make_node("Relu", [f"a{k}"], [f"r{k}"]))
    x = f"r{k}"
nodes.append(helper.make_node("Softmax", ["a2"], ["y"], axis=-1))
value = lambda n, m: helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", m])
graph = helper.make_graph(nodes, "net", [value("x", 784)], [value("y", 10)],
                          [numpy_helper.from_array(w[n], n) for n in w.files])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), f"{folder}/net.onnx")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    python = parser.parse_args().python
    st.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    for n, wide, opened in ((1, 2000, True), (32, 200, True), (1, 2000, False), (32, 200, False)):
        net = st.compile(lambda x: st.softmax(model(x), -1), dims={"x": {0: "n"}} if opened else None)
        with tempfile.TemporaryDirectory() as folder:
            x = np.random.default_rng(0).normal(size=(n, 784)).astype("f4")
            np.save(f"{folder}/x.npy", x)
            np.save(f"{folder}/y.npy", net(x).numpy())
            layers = [layer for layer in model.layers if isinstance(layer, nn.Linear)]
            np.savez(f"{folder}/w.npz", **{f"{name}{k}": getattr(layer, full).numpy() for k, layer in enumerate(layers)
                                           for name, full in (("w", "weight"), ("b", "bias"))})
            net.export_library(folder, "net")
            subprocess.run([python, "-c", MODEL, folder], check=True)
            found: dict[str, list[tuple[float, float]]] = {"ours": [], "onnxruntime": []}
            for _ in range(RUNS):
                for name, who, code in (("ours", sys.executable, OURS), ("onnxruntime", python, THEIRS)):
                    asked = [who, "-c", code + CLOCK, folder, str(n), str(wide), str(int(opened))]
                    line = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
                    assert line[2] == "True", f"{name} computes something else"
                    found[name].append((float(line[0]), float(line[1])))
            for name, file in (("ours", "libnet.so"), ("onnxruntime", "net.onnx")):
                first, run = zip(*found[name], strict=True)
                print(json.dumps({"batch": n, "open": opened, "who": name, "bytes": Path(folder, file).stat().st_size,
                                  **{what: [round(k * f(times), 2) for f in (statistics.median, min, max)]
                                     for what, k, times in (("first_ms", 1e3, first), ("run_us", 1e6, run))}}))


if __name__ == "__main__":
    main()
