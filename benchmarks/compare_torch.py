"""Holds Stele's results against PyTorch's: ResNet-50 features on shared weights, and the accuracy of trained models.

    python benchmarks/compare_torch.py --python torch=/path/to/python [--run FOLDER --data DIR]...

Without `--run` only features are compared. A run folder of `stele train` is read again in PyTorch: its model has the
test accuracy that was printed, within 0.002; `--data` is what the run was given.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import stele as st
from stele.arrays.tensor import Tensor
from stele.data import find_images, find_texts, unit
from stele.train.models import ResNet50

PEER = Path(__file__).resolve().parent / "torch_results.py"
FEATURES, ACCURACY = 1e-4, 0.002


def ask(python: str, *arguments: str | Path) -> float:
    """The number that PyTorch prints."""
    done = subprocess.run([python, str(PEER), *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def compare_features(python: str) -> bool:
    """Whether both networks see the same in the same images."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ask(python, "features", folder)
        model = ResNet50().eval()
        model.load(folder / "model.safetensors", strict=False)

        def features(x: Tensor) -> Tensor:
            with st.no_grad():
                return model.features(x)

        found = st.compile(features)(np.load(folder / "images.npy")).numpy()
        expected = np.load(folder / "features.npy")
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    print(f"resnet50 features: {error:.2e} from PyTorch's (bound {FEATURES:.0e})")
    return error < FEATURES


def compare_run(python: str, run: Path, data: Path | None) -> bool:
    """Whether PyTorch measures the accuracy that the run recorded."""
    history = json.loads((run / "history.json").read_text())
    workload, epochs = history["meta"]["workload"], history["epochs"]
    test = (find_images if workload == "cnn" else find_texts)(data).test
    with tempfile.TemporaryDirectory() as name:
        x, y = Path(name) / "x.npy", Path(name) / "y.npy"
        np.save(x, unit(test.x) if workload == "cnn" else test.x)
        np.save(y, test.y)
        found = ask(python, "accuracy", workload, run / "model.safetensors", x, y)
    recorded = epochs[-1]["test_accuracy"]
    print(f"{run}: PyTorch measures {found:.4f}, the run recorded {recorded:.4f} (bound {ACCURACY})")
    return abs(found - recorded) < ACCURACY


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, metavar="torch=PATH", help="an interpreter that has PyTorch")
    parser.add_argument("--run", action="append", default=[], type=Path, help="a run folder of stele train")
    parser.add_argument("--data", action="append", default=[], type=Path, help="the data of each run, in order")
    args = parser.parse_args()
    framework, _, python = args.python.partition("=")
    if framework != "torch" or not python or len(args.data) not in (0, len(args.run)):
        parser.error("--python takes torch=PATH, and --data is given for every --run or for none")
    fine = [compare_features(python), *(compare_run(python, run, data) for run, data in zip(
        args.run, args.data or [None] * len(args.run)))]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    raise SystemExit(main())
