"""Many processes that train a step and then exit, fork or are interrupted: `python -m tests.long_processes`."""
from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 5.0

STEP = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, stele as st
from stele import nn, optim
from stele.train import Trainer
X, Y = np.linspace(-1, 1, 256, dtype=np.float32).reshape(64, 4), np.arange(64) % 3
count = st.tensor(0)
def make():
    st.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 256), nn.Tanh(), nn.Dropout(0.1), nn.Linear(256, 3))
    trainer = Trainer(model, loss="cross_entropy", optimizer=optim.SGD(model.parameters(), 0.01, 0.9))
    def counted(x, y):
        count.assign(count + 1)
        return trainer.learning((x, y), True, True)["loss"]
    return model, st.compile(counted)
model, step = make()
step(X, Y)
"""

ENDINGS = {
    "exit": "print('ready', flush=True)",
    "fork": """
print('ready', flush=True)
child = os.fork()
step(X, Y)
if child == 0 and len(sys.argv) > 1: os._exit(0)
if child == 0: sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
    "interrupt": """
done, view = 1, model.parameters()[0].numpy()
try:
    print('ready', flush=True)
    while True:
        step(X, Y)
        done += 1
except KeyboardInterrupt:
    taken = int(count)
    assert taken in (done, done + 1), (taken, done)
    found = [p.numpy() for p in model.parameters()]
    count.assign(0)
    again, step = make()
    for _ in range(taken): step(X, Y)
    for a, b in zip(found, again.parameters()): assert (a == b.numpy()).all(), "a step was cut in half"
""",
}


def start(ending: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A process that trains one step, prints `ready`, and ends in its way."""
    return subprocess.Popen([sys.executable, "-X", "faulthandler", "-c", STEP + ENDINGS[ending], *arguments], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": str(ROOT), **environment})


def finish(process: subprocess.Popen[str], ending: str, draw: random.Random) -> str:
    """How a process ended wrongly, or nothing."""
    assert process.stdout
    if process.stdout.readline() == "ready\n" and ending == "interrupt":
        time.sleep(draw.uniform(0, 0.3))
        process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    try:
        _, errors = process.communicate(timeout=20 * SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        return f"{ending}: hangs\n{process.communicate()[1]}"
    seconds = time.monotonic() - begin
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    if process.returncode or errors or seconds > SECONDS * crowd:
        return f"{ending}: code {process.returncode} after {seconds:.1f} s\n{errors}"
    return ""


def run(count: int, seed: int = 0, at_once: int = 2) -> list[str]:
    """The wrong endings of so many processes, every kind in turn."""
    def one(k: int) -> str:
        ending = list(ENDINGS)[k % len(ENDINGS)]
        draw = random.Random(seed * count + k)
        return finish(start(ending, *["exit"] * draw.randrange(2)), ending, draw)

    with ThreadPoolExecutor(at_once) as pool:
        return [report for report in pool.map(one, range(count)) if report]


def main() -> int:
    """Prints each wrong ending; how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100, help="how many processes")
    parser.add_argument("--seed", type=int, default=0, help="of the times at which they are interrupted")
    options = parser.parse_args()
    begin = time.monotonic()
    wrong = run(options.n, options.seed)
    print("\n".join([*wrong, f"{options.n} processes: {len(wrong)} ended wrongly, {time.monotonic() - begin:.0f} s"]))
    return len(wrong)


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
