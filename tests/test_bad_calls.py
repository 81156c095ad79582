"""Wrong arguments raise errors that teach and nothing else, and what is taken has the reference's numbers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bad_calls import FUNCTIONS, Call, call, fault, own, said

import stele as st
from stele import data, metrics, nn
from stele.errors import SteleError
from stele.nn import functional as F

BATCH = 100


@pytest.mark.parametrize("start", range(0, 1200, BATCH))
def test_wrong_arguments_teach(start: int) -> None:
    faults = [f"{seed}: {made}: {wrong}" for seed in range(start, start + BATCH)
              if (wrong := fault(made := call(seed), native=False))]
    assert not faults, "\n".join(faults)


def test_native_numbers_are_the_references() -> None:
    faults = [f"{seed}: {made}: {wrong}" for seed in range(100_000, 100_150) if (wrong := fault(made := call(seed)))]
    assert not faults, "\n".join(faults)


def test_calls_are_drawn_from_everything_public_and_can_fail() -> None:
    drawn = {call(seed).name for seed in range(5000)}
    assert len(FUNCTIONS) > 800 and len(drawn) > 0.98 * len(FUNCTIONS)
    wrong = call(0)._replace(function=lambda *x, **k: 1 // 0)
    assert "ZeroDivisionError" in (fault(wrong) or "")


DEEP: Any = []
for _ in range(900):
    DEEP = [DEEP]

ODD: dict[str, Callable[[], Any]] = {
    "logits of one axis":     lambda: nn.cross_entropy(st.zeros(3), st.tensor([1, 2])),
    "a bias of numbers":      lambda: nn.Linear(1, 2, bias=np.ones((2, 3))),    # type: ignore[arg-type]
    "a share beyond floats":  lambda: st.percentile(st.ones(2), 10 ** 400),
    "bins in a tensor":       lambda: st.histogramdd(st.ones(3, 3), st.tensor(3)),
    "a second axis of bits":  lambda: st.packbits(st.tensor(3), axis=1),
    "no blocks":              lambda: st.block_diag(),
    "a divisor of 0":         lambda: st.avg_pool2d(st.zeros((1, 1, 4, 4)), 2, divisor_override=0),
    "samples 0 apart":        lambda: st.fft.fftfreq(4, d=0),
    "a half spectrum":        lambda: st.fft.rfftfreq(4, d=0),
    "a draw of a number":     lambda: F.gumbel_softmax(st.tensor(0.5), hard=True),
    "factors of a number":    lambda: st.linalg.lu_solve(st.tensor(2.0), st.tensor([0]), st.ones(1)),
    "sizes that are a word":  lambda: nn.Unflatten(1, 0.5),     # type: ignore[arg-type]
    "a gain in words":        lambda: nn.init.he_normal((3, 4), gain="much"),   # type: ignore[arg-type]
    "layers without end":   lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4), 2 ** 31),
    "an array for layers":  lambda: nn.Transformer(8, 2, custom_encoder=np.ones((2, 3))),
    "layers that are none": lambda: nn.TransformerEncoder(st.ones(3), 2),   # type: ignore[arg-type]
    "copies by an array":   lambda: st.from_dlpack(st.ones(3), copy=np.ones(3)),     # type: ignore[arg-type]
    "copies by a word":     lambda: st.asarray([1], copy="yes"),     # type: ignore[arg-type]
    "a cast by a word":     lambda: st.astype(st.ones(3), "float64", copy="no"),     # type: ignore[arg-type]
    "axes without end":     lambda: st.diag_indices(2, 2 ** 64),
    "a window without end": lambda: F.local_response_norm(st.ones(2, 3, 4, 4), 2 ** 64),
    "counts of no number":  lambda: st.bincount(float("nan")),
    "strides of bytes":     lambda: st.max_pool2d(st.ones(1, 1, 2, 2), bytearray(b"ab")),     # type: ignore[arg-type]
    "bounds in themselves": lambda: st.random.uniform(0, DEEP),
    "bytes into a list":    lambda: data.unit(np.zeros(3, np.uint8), out=[0.0] * 3),    # type: ignore[arg-type]
    "bytes into too few":   lambda: data.unit(np.zeros(3, np.uint8), out=np.zeros(2, "f4")),
    "no word for others":   lambda: data.Vocabulary(["a"], unknown=["a"]),     # type: ignore[arg-type]
    "a list for a name":    lambda: nn.utils.parametrize.remove_parametrizations(nn.Linear(2, 2), ["w"]),  # type: ignore
    "an axis of labels":      lambda: metrics.Precision(classes=2).update(st.tensor([1, 2, 3]), st.tensor(1)),
    "nothing repeated":       lambda: st.repeat(st.zeros(0), st.zeros(0, dtype="int64"), size=2),
    "no bound":               lambda: nn.init.uniform((3, 4), None),    # type: ignore[arg-type]
    "numbers of open sizes":  lambda: st.zeros((st.placeholder(("n", 3)).shape[0], 7)).numpy(),
    "weights as a flag":      lambda: st.multinomial(st.ones(2, 3), 2, np.ones((2, 3))),    # type: ignore[arg-type]
    "an endless factor":      lambda: nn.UpsamplingBilinear2d(None, float("inf"))(st.ones(1, 1, 2, 2)),
    "sizes in an array":      lambda: nn.LinearCrossEntropyLoss(1, 2, out_features=np.ones((2, 3), "u1")),  # type: ignore
    "2**62 changes":          lambda: data.transforms.RandAugment(1 << 62),
    "a summand of 2000 bits": lambda: st.subtract(st.ones(2), 10 ** 600, alpha=2),
    "windows of nothing":     lambda: st.avg_pool2d(st.ones(1, 3, 4, 4), 0, padding=3, ceil_mode=True),
    "windows that stand":     lambda: st.max_pool2d(st.ones(1, 3, 4, 4), 2, 0, ceil_mode=True),
    "features of 200 bits":   lambda: nn.Linear(10 ** 60, 1),
    "sizes nobody can print": lambda: st.zeros(10 ** 6000),
    "text for labels":        lambda: metrics.AUROC()(st.ones(1), ""),
    "a number for labels":    lambda: metrics.AveragePrecision()(st.ones(1), 1 << 64),
    "a tuple for scores":     lambda: metrics.AveragePrecision()((1, 2), st.ones(())),
    "a sum of open sizes":    lambda: float(st.zeros((st.placeholder(("n", 3)).shape[0], 7)).sum()),
}


@pytest.mark.parametrize("name", ODD)
def test_what_an_example_with_another_argument_found_teaches(name: str) -> None:
    with pytest.raises(SteleError):
        ODD[name]()


def test_a_tensor_of_open_sizes_prints_what_it_is() -> None:
    assert repr(st.zeros((st.placeholder(("n", 3)).shape[0], 7))) == "tensor(symbolic float32[n,7])"


def test_only_a_function_that_was_given_may_raise_as_it_likes() -> None:
    """What a caller's function raises is the caller's; what any other line raises is a fault, in this check too."""
    assert fault(Call("scan", st.scan, (own(type), st.ones(2), st.ones(2)), {})) is None
    assert "AttributeError" in (fault(Call("said", said, (None,), {})) or "")
