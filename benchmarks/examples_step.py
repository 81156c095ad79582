"""The training step of an example, in Stele or in PyTorch, as a program that `stele/rosetta/worker.py` runs."""
import gc
import importlib.util
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MODES = "stele", "eager", "compile"


def data():
    return ()


def place(mode):
    return ()


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stele_step(name):
    sys.path.insert(0, str(HERE.parent))    # the Stele that the example belongs to, whatever is installed
    return loaded(HERE.parent / "examples" / f"{name}.py").training_step()


def torch_step(name, compiled):
    return loaded(HERE / "examples_torch" / f"{name}.py").training_step(compiled)


def learnt(base, parameters):
    """What the optimisers that there are change, those of the most numbers first."""
    parts = [parameters(x) for x in gc.get_objects() if isinstance(x, base)]
    parts.sort(key=lambda part: -sum(int(np.prod(p.shape)) for p in part))
    return [p for part in parts for p in part]


def initialise(mode, name, keep=None, weights=None):
    """The step of an example; `keep` is a file for its weights, `weights` are those that it is given."""
    if mode == "stele":
        step = stele_step(name)
        if keep:
            from stele.optim import Optimizer
            arrays = {f"{k:04}": p.numpy() for k, p in enumerate(learnt(Optimizer, lambda x: x.parameters))}
            np.savez(keep, **arrays)
        return step
    import torch

    step = torch_step(name, mode == "compile")
    own = learnt(torch.optim.Optimizer, lambda x: [p for group in x.param_groups for p in group["params"]])
    given = [weights[key] for key in sorted(weights)]
    shapes = [[tuple(p.shape) for p in side] for side in (own, given)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name} has other parameters in PyTorch, {shapes[0]}, than in Stele, {shapes[1]}")
    with torch.no_grad():
        for p, w in zip(own, given):
            p.copy_(torch.from_numpy(w))
    return step


def step(state):
    return state()
