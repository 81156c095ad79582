"""`stele tune`: runs a workload or a file, measures the candidates of its contractions, and keeps the answers."""
from __future__ import annotations

import sys
from contextlib import redirect_stdout
from time import perf_counter
from typing import Any

import numpy as np

import stele as st
from stele.backend.cpu import tuned
from stele.commands.options import TuneOptions
from stele.commands.script import run_script
from stele.eager.follow import FOLLOWER
from stele.errors import DataError
from stele.inspect.tune.contractions import Programs
from stele.inspect.tune.search import Outcome, searches
from stele.ir.origin import setting
from stele.train.models import Cnn, ResNet50, Sentiment
from stele.train.trainer import Trainer
from stele.train.workloads import OPTIMIZERS, WORKLOADS


def tune(options: TuneOptions) -> None:
    """Prints each contraction with its time by estimate and by measurement; the answers count from the next compile on.

    Raises DataError where the file cannot be run, or computes no product.
    """
    if options.threads:
        st.set_threads(options.threads)
    contractions = programs(options).contractions()
    if not contractions:
        raise DataError(f"{options.what} computes no product and no convolution, so there is nothing to measure",
                        hint="Call the training step or the model at the end of the file, on a batch.")
    end = perf_counter() + options.seconds
    waiting = searches(contractions)
    answers: dict[str, str] = {}
    saved = 0.0
    try:
        while waiting:
            share = waiting[0].weight / sum(search.weight for search in waiting)
            search = waiting.pop(0)
            found = search.run(perf_counter() + (end - perf_counter()) * share)
            answers |= found.answers
            saved += search.weight * (1 - found.after / found.before)
            print(line(found), flush=True)
    finally:
        tuned.remember(tuned.here(), answers)
    print(f"{len(answers)} answers kept, for {saved * 1e3:.2f} ms less in one run of each program on "
          f"{st.get_threads()} threads")


def line(found: Outcome) -> str:
    """One contraction as a row: by estimate, by measurement, candidates tried, what and where, what is chosen now."""
    chosen = ", ".join(found.changed) or ("as estimated" if found.answers else "not finished")
    return f"{found.before * 1e3:9.3f} ms -> {found.after * 1e3:9.3f} ms  {found.tried:3d} tried  " \
           f"{found.contraction}  {chosen}"


def programs(options: TuneOptions) -> Programs:
    """The programs that a workload or a file runs."""
    seen = Programs()
    with setting(FOLLOWER, seen), redirect_stdout(sys.stderr):
        failure = run_script(options.what, options.arguments, lambda: not seen.contractions()) \
            if options.what.suffix else run(str(options.what))
    if failure:
        raise DataError(f"{options.what} has to run to its end to be measured, but {failure}")
    return seen


def run(workload: str) -> None:
    """One step and one prediction of a workload on numbers of no meaning, in the shapes of its data."""
    x: Any
    labels: Any = np.zeros(64, np.int64)
    if workload == "resnet50":
        model = ResNet50().eval()
        with st.no_grad():
            for n in (1, 32):
                x = np.zeros((n, 3, 224, 224), np.float32)
                st.compile(model.features)(x)
        return
    model, x = (Cnn(), np.zeros((64, 3, 32, 32), np.float32)) if workload == "cnn" else \
        (Sentiment(), np.zeros((64, 150), np.int32))
    optimizer = OPTIMIZERS[WORKLOADS[workload].optimizer](model.parameters(), None)
    trainer = Trainer(model, loss="cross_entropy", optimizer=optimizer)
    trainer.train_on_batch((x, labels))
    trainer.evaluate([(x, labels)])
