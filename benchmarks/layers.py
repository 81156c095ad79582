"""Times convolutions of every kind beside PyTorch and ONNX Runtime, by turns: `python benchmarks/layers.py [name ...]`.

The other two are timed where the Python that runs this has them; each has two threads, or with `--alone` one, of which
the processor's time counts: what others do on the machine matters less then. Of a layer the result is timed, and the
training step: the result and its gradients in x and in w, for a cotangent that is given.
"""
from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import stele as st  # noqa: E402

ALONE = "--alone" in sys.argv
THREADS = 1 if ALONE else 2
SECONDS, CALLS = 4.0, 5
clock = time.process_time if ALONE else time.perf_counter

LAYERS: Mapping[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {     # function, x, w, options
    "depthwise 3x3 56":       ("conv2d", (1, 128, 56, 56), (128, 1, 3, 3), {"padding": 1, "groups": 128}),
    "depthwise 3x3 56 x8":    ("conv2d", (8, 128, 56, 56), (128, 1, 3, 3), {"padding": 1, "groups": 128}),
    "depthwise 3x3 112":      ("conv2d", (1, 32, 112, 112), (32, 1, 3, 3), {"padding": 1, "groups": 32}),
    "depthwise 3x3 112 x8":   ("conv2d", (8, 32, 112, 112), (32, 1, 3, 3), {"padding": 1, "groups": 32}),
    "depthwise 3x3 s2 112":   ("conv2d", (8, 64, 112, 112), (64, 1, 3, 3), {"padding": 1, "groups": 64, "stride": 2}),
    "depthwise 5x5 14 x8":    ("conv2d", (8, 480, 14, 14), (480, 1, 5, 5), {"padding": 2, "groups": 480}),
    "depthwise 7x7 56 x8":    ("conv2d", (8, 96, 56, 56), (96, 1, 7, 7), {"padding": 3, "groups": 96}),
    "grouped 32x4 56":        ("conv2d", (1, 128, 56, 56), (128, 4, 3, 3), {"padding": 1, "groups": 32}),
    "grouped 32x4 56 x8":     ("conv2d", (8, 128, 56, 56), (128, 4, 3, 3), {"padding": 1, "groups": 32}),
    "transposed 4x4 s2 32":   ("conv_transpose2d", (1, 64, 32, 32), (64, 32, 4, 4), {"stride": 2, "padding": 1}),
    "transposed 4x4 s2 32 x8": ("conv_transpose2d", (8, 64, 32, 32), (64, 32, 4, 4), {"stride": 2, "padding": 1}),
    "1d kernel 9":            ("conv1d", (1, 32, 16000), (64, 32, 9), {"padding": 4}),
    "1d kernel 9 x8":         ("conv1d", (8, 32, 16000), (64, 32, 9), {"padding": 4}),
    "3d 3x3x3":               ("conv3d", (1, 16, 16, 56, 56), (32, 16, 3, 3, 3), {"padding": 1}),
    "3d 3x3x3 x4":            ("conv3d", (4, 16, 16, 56, 56), (32, 16, 3, 3, 3), {"padding": 1}),
}


def ours(function: str, options: dict[str, Any], x: Any, w: Any, g: Any) -> dict[str, Callable[[], Any]]:
    """The layer, and its training step, in Stele."""
    def y(x: Any, w: Any) -> Any:
        return getattr(st, function)(x, w, **options)

    def train(x: Any, w: Any, g: Any) -> Any:
        made, back = st.vjp(y, x, w)
        return made, *back(g)

    first, both, given = st.compile(y), st.compile(train), tuple(map(st.tensor, (x, w, g)))
    return {"y": lambda: np.asarray(first(*given[:2])), "train": lambda: [np.asarray(a) for a in both(*given)]}


def torchs(function: str, options: dict[str, Any], x: Any, w: Any, g: Any) -> dict[str, Callable[[], Any]]:
    """The same in PyTorch."""
    import torch

    torch.set_num_threads(THREADS)
    f = getattr(torch.nn.functional, function)
    a, b, c = (torch.tensor(v) for v in (x, w, g))
    p, q = (v.clone().requires_grad_() for v in (a, b))

    def y() -> Any:
        with torch.inference_mode():
            return f(a, b, **options).numpy()

    def train() -> Any:
        made = f(p, q, **options)
        return [made.detach().numpy(), *(v.numpy() for v in torch.autograd.grad(made, (p, q), c))]

    return {"y": y, "train": train}


def runtimes(function: str, options: dict[str, Any], x: Any, w: Any, g: Any) -> dict[str, Callable[[], Any]]:
    """The layer in ONNX Runtime, which knows the weights beforehand."""
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    axes = x.ndim - 2
    given = {"strides": [options.get("stride", 1)] * axes, "pads": [options.get("padding", 0)] * 2 * axes,
             "group": options.get("groups", 1)}
    node = helper.make_node("ConvTranspose" if "transpose" in function else "Conv", ["x", "w"], ["y"], **given)
    graph = helper.make_graph([node], "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(w, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session_options = ort.SessionOptions()
    session_options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(model.SerializeToString(), session_options, providers=["CPUExecutionProvider"])
    held = {"x": ort.OrtValue.ortvalue_from_numpy(x)}
    return {"y": lambda: session.run_with_ort_values(None, held)[0].numpy()}


def timed(runs: Mapping[str, Callable[[], Any]]) -> dict[str, tuple[float, float]]:
    """The least and the median seconds of a call of each, a few calls at a time."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    stop = time.perf_counter() + SECONDS
    while time.perf_counter() < stop or min(map(len, times.values())) < 3 * CALLS:
        for name, run in runs.items():
            run()
            for _ in range(CALLS):
                begin = clock()
                run()
                times[name].append(clock() - begin)
    return {name: (min(t), sorted(t)[len(t) // 2]) for name, t in times.items()}


def main(names: list[str]) -> None:
    st.set_threads(THREADS)
    rivals = {"PyTorch": torchs} if find_spec("torch") else {}
    if find_spec("onnxruntime"):
        rivals["ONNX Runtime"] = runtimes
    print(f"{'milliseconds, least (median)':<32}" + "".join(f"{n:>20}" for n in ("Stele", *rivals)) + "   ahead")
    for name, (function, shape, kernel, options) in LAYERS.items():
        if names and not any(map(name.startswith, names)):
            continue
        rng = np.random.default_rng(0)
        x, w = (rng.standard_normal(s, np.float32) for s in (shape, kernel))
        made = getattr(st, function)(x, w, **options)
        g = rng.standard_normal(made.shape, np.float32)
        all_runs = {who: make(function, options, x, w, g) for who, make in {"Stele": ours, **rivals}.items()}
        for what in ("y", "train"):
            runs = {who: both[what] for who, both in all_runs.items() if what in both}
            agree({who: run() for who, run in runs.items()})
            found = timed(runs)
            others = [least for who, (least, _) in found.items() if who != "Stele"]
            columns = "".join(f"{found[who][0] * 1e3:10.3f} ({found[who][1] * 1e3:7.3f})" if who in found else " " * 20
                              for who in ("Stele", *rivals))
            ahead = f"{min(others) / found['Stele'][0]:8.2f}" if others else ""
            print(f"{name + ', ' + what:<32}{columns}{ahead}", flush=True)


def agree(made: Mapping[str, Any]) -> None:
    """Raises AssertionError unless all have the same numbers, to 1e-4 of the largest."""
    first, *others = ([v] if isinstance(v, np.ndarray) else v for v in made.values())
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * np.abs(b).max())


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--alone"])
