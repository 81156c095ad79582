"""Times transforms of images: one by one in NumPy, as a worker does it, and a batch compiled into the step.

    python benchmarks/transforms.py [--size 32] [--images 128]

Milliseconds of one core for all images of a batch, the least of several turns; both ways change the same bytes.
"""
from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import stele as st  # noqa: E402
from stele import data  # noqa: E402

T = data.transforms
TURNS = 5


def changes(size: int) -> dict[str, Any]:
    """What is timed."""
    basic = [T.RandomCrop(size, padding=size // 8), T.RandomHorizontalFlip(), T.Normalize([0.5] * 3, [0.25] * 3)]
    return {"crop, flip, normalise": T.Compose(basic), "resized crop": T.RandomResizedCrop(size),
            "colour jitter": T.ColorJitter(0.4, 0.4, 0.4), "hue": T.ColorJitter(hue=0.1),
            "affine": T.RandomAffine(15, (0.1, 0.1)), "erasing": T.RandomErasing(), "RandAugment": T.RandAugment()}


def least(f: Callable[[], object]) -> float:
    """Milliseconds of the processor that a call takes, the least of some turns."""
    f()
    found: list[float] = []
    for _ in range(TURNS):
        began, count = time.process_time(), 0
        while time.process_time() - began < 0.1:
            f()
            count += 1
        found.append((time.process_time() - began) / count * 1e3)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--images", type=int, default=128)
    options = parser.parse_args()
    st.set_threads(1)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (options.images, 3, options.size, options.size), dtype=np.uint8)
    batch = st.tensor(x)
    print(f"{options.images} images of 3 x {options.size} x {options.size}, ms of one core")
    for name, t in changes(options.size).items():
        step = st.compile(lambda x, t=t: t(x))
        one_by_one, compiled = least(lambda t=t: t(x, rng)), least(lambda step=step: step(batch).numpy())
        print(f"{name:24}{one_by_one:9.2f} in NumPy{compiled:9.2f} compiled{one_by_one / compiled:8.1f} times")


if __name__ == "__main__":
    main()
