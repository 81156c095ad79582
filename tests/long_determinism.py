"""SHA-256 of all parameters after 20 steps, two runs each on 1, 2 and 4 threads: `python -m tests.long_determinism`."""
from __future__ import annotations

import argparse
import hashlib

import stele as st
from stele import nn, optim
from stele.ir.graph import Array
from stele.train import Trainer
from tests.first_steps import SEED, WORKLOADS

STEPS, BATCH, THREADS = 20, 64, (1, 1, 2, 2, 4, 4)


def digest_after(steps: int, trainer: Trainer, x: Array, y: Array) -> str:
    """SHA-256 of all parameters after so many steps on the same batch."""
    for _ in range(steps):
        trainer.train_on_batch((x, y))
    total = hashlib.sha256()
    for p in trainer.model.parameters():
        total.update(p.numpy().tobytes())
    return total.hexdigest()


def optimizer_of(name: str, model: nn.Module) -> optim.Optimizer:
    """That of the benchmark."""
    return optim.SGD(model.parameters(), 0.01, 0.9) if name == "cnn" else optim.Adam(model.parameters(), 1e-3)


def main() -> int:
    """Prints every digest; how many workloads have more than one."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_determinism", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; all without")
    differ = 0
    for name in parser.parse_args().workloads or WORKLOADS:
        found = []
        for threads in THREADS:
            st.set_threads(threads)
            st.manual_seed(SEED)
            model = WORKLOADS[name].model()
            trainer = Trainer(model, loss="cross_entropy", optimizer=optimizer_of(name, model))
            found.append(digest_after(STEPS, trainer, *WORKLOADS[name].batch(BATCH)))
            print(f"{name}, {threads} threads: {found[-1]}", flush=True)
        differ += len(set(found)) > 1
    return differ


if __name__ == "__main__":
    raise SystemExit(main())
