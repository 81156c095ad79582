"""Every public name says of its shapes, dtypes and errors, and each error that it names is raised."""
from __future__ import annotations

import ctypes
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from test_examples import PUBLIC, ROOM, examples
from wrong_calls import calls, names_of, promised, raised, variations

import stele as st
from stele import data, metrics, nn, optim, train
from stele.interop import caffe, flax, huggingface, keras
from stele.interop import onnx as interop
from stele.interop.caffe.net import net
from stele.interop.caffe.text import parsed
from stele.interop.keras.model import Graph, Input, Ref
from stele.nn import functional as F
from stele.nn.utils import rnn

SHAPE = re.compile(r"\bshapes?\b|\bax[ei]s\b|broadcast|\bmatri(x|ces)\b|\bvectors?\b|\brows?\b|one number|one bool"
                   r"|\([a-z*.]+,( [\w*./]+,?)*\)", re.IGNORECASE)
DTYPE = re.compile(r"\bdtypes?\b|\bu?int(8|16|32|64)\b|float(16|32|64)|\bfloats?\b|\bintegers?\b|\bbools?\b|\bcomplex\b"
                   r"|real numbers", re.IGNORECASE)
WHEN_RUN = {"IndexOutOfRange", "LinAlgError"}

# Of these nothing is refused: contexts, records of what there is, errors themselves, and what comes with the package.
NO_ERRORS = {"stele.enable_grad", "stele.get_threads", "stele.no_grad", "stele.nn.Identity", "stele.nn.Summary",
             "stele.data.Splits", "stele.data.fashion_sample", "stele.data.transforms.either",
             "stele.interop.onnx.is_compatible", "stele.interop.onnx.supports_device",
             "stele.metrics.Metric", "stele.train.Callback", "stele.train.Progress"} | \
            {name for name, x in PUBLIC.items() if inspect.isclass(x) and issubclass(x, tuple | Exception)}
OF_DTYPES = {"stele.can_cast", "stele.finfo", "stele.iinfo"}    # no array is asked for its shape

NODE = onnx.helper.make_node("Frobnicate", [], ["y"])
EMPTY = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], []))
GRAPH = Graph(Ref("x", 0, 0), Ref("x", 0, 0), {"x": Input("x", (None, 2), "float32")}, (), ())
RELU = 'input: "data" input_dim: [2, 3, 4, 5] layer { type: "ReLU" bottom: "data" top: "y" }'
NET = caffe.CaffeModule(net(parsed(RELU, "net")), {}, {"0": ()})
x, nan = st.tensor([1.0, 2.0, 3.0]), st.tensor([[np.nan]])


def inside(f: Callable[[st.Tensor], Any]) -> Callable[[], Any]:
    """A compiled function of x, called."""
    return lambda: st.compile(f)(x)


def written(group: optim.Group) -> None:
    """An entry that a group does not have."""
    group["x"] = 1


class Unlike:
    """Every other element of an array of NumPy's, backwards: nobody can share it."""

    def __dlpack__(self, **options: Any) -> Any: return np.arange(4.0)[::-2].__dlpack__(**options)
    def __dlpack_device__(self) -> Any: return np.arange(4.0).__dlpack_device__()


def logabsdet(x: st.Tensor) -> Any:
    return st.linalg.slogdet(x).logabsdet


def optimizer() -> optim.Optimizer:
    return optim.SGD([st.zeros(2, requires_grad=True)], lr=0.5, momentum=0.9)


def learn(callback: train.Callback, x: st.Tensor = x[:, None]) -> train.History:
    return train.fit(nn.Linear(1, 1), [(x, x)], loss="mse", callbacks=[callback], compiled=False)


def counted(labels: st.Tensor) -> st.Tensor:
    matrix = metrics.ConfusionMatrix(3)
    matrix(labels, labels)
    return matrix.compute()


def swapped(x: st.Tensor) -> st.Tensor:
    return st.foreign(ctypes.CDLL(None).swab, "void(const uint8_t x[n], uint8_t y[n], long n)")(x)


# Wrong calls that are more than an example with another argument.
ROWS: Mapping[str, tuple[Callable[[], Any], ...]] = {
    **{name: (lambda layer=layer: layer(1, 1).parameters(),) for name, layer in PUBLIC.items() if ".Lazy" in name},
    "stele.nn.LazyBatchNorm2d":             (lambda: nn.LazyBatchNorm2d().parameters(),),
    "stele.foreign":                        (lambda: swapped(st.ones(4)),
                                             lambda: swapped(st.ones((2, 2), dtype="uint8"))),
    "stele.profile":                        (lambda: st.profile().account(),),
    "stele.nn.functional.linear_cross_entropy": (lambda: F.linear_cross_entropy(
        st.ones(2, 3), st.ones(4, 3), st.tensor([0, 9])).tolist(), lambda: F.linear_cross_entropy(
        st.ones(2, 3), st.ones(4, 3), st.ones(2) > 0)),
    "stele.nn.ParameterDict":               (lambda: nn.ParameterDict({"x": "wrong"}),),
    "stele.nn.LazyLinear":                  (lambda: nn.LazyLinear(2).parameters(),),
    "stele.Tensor":         (inside(lambda x: float(x[0])),),
    "stele.compile":        (inside(lambda x: x.tolist()),),
    "stele.eager":          (inside(lambda x: st.eager()(lambda: x + 1)()),),
    "stele.io.imsave":      (lambda: st.io.imsave("no folder/x.png", np.zeros((2, 2), np.uint8)),),
    "stele.train.JSONLines": (lambda: train.JSONLines("/dev/null/log.jsonl").on_train_begin(None),),
    "stele.io.write_audio": (lambda: st.io.write_audio("no folder/x.wav", np.zeros(3), 8000),),
    "stele.hessian":        (lambda: st.hessian("wrong")(x), lambda: st.hessian(st.square)(x)),     # type: ignore[arg-type]
    "stele.hvp":            (lambda: st.hvp(st.square, x, x),),     # type: ignore[arg-type]
    "stele.Options":        (lambda: st.compile(lambda x: x + 1, memory=8)(st.ones(1000)).numpy(),),
    "stele.op":             (lambda: st.grad(st.op(np.square))(x[0]), lambda: st.op(3)),     # type: ignore[call-overload]
    **{f"stele.debug.{name}": (lambda f=f: f(st.placeholder((2,))),) for name, f in (
        ("print", st.debug.print), ("breakpoint", st.debug.breakpoint))},
    "stele.debug.callback": (lambda: st.debug.callback(print, st.placeholder((2,))), lambda: st.debug.callback(3)),
    "stele.custom_gradient": (lambda: st.custom_gradient("wrong"),     # type: ignore[arg-type]
                              lambda: st.custom_gradient(st.square)(x)),     # type: ignore[arg-type]
    "stele.custom_jvp":     (lambda: st.custom_jvp("wrong"), lambda: st.custom_jvp(st.square)(x)),   # type: ignore[arg-type]
    "stele.jacobian":       (lambda: st.jacobian(st.square)(x > 0),),
    "stele.vmap":           (lambda: st.vmap(st.square, out_axes=None)(x),),
    "stele.lint":           (lambda: st.lint(st.square, x, without=("wrong",)),),
    "stele.save":           (lambda: st.save({"x": x}, "no folder/x.safetensors"),),
    "stele.vjp":            (lambda: st.vjp(st.square, x)[1]((x, x)),),     # type: ignore[arg-type]
    "stele.data.Dataset":   (lambda: len(data.Dataset()), lambda: data.ArrayDataset([1])[3]),
    "stele.data.IterableDataset": (lambda: list(data.IterableDataset()),),
    "stele.data.Sampler":   (lambda: data.Sampler()(0, 0),),
    "stele.index_add":      (lambda: st.index_add(x, st.tensor([7]), st.ones(1)).numpy(),),
    "stele.bincount":       (lambda: st.bincount(st.tensor([1, 7]), size=3).numpy(),
                             inside(lambda x: st.bincount(x.astype("int64")))),
    "stele.metrics.AUROC":                  (inside(lambda x: metrics.AUROC()(x, x > 1)),),
    "stele.metrics.AveragePrecision":       (inside(lambda x: metrics.AveragePrecision()(x, x > 1)),),
    "stele.metrics.ConfusionMatrix":        (lambda: counted(st.tensor([7])).tolist(),),
    "stele.nonzero":        (inside(lambda x: st.nonzero(x)),),
    "stele.unique_all":     (inside(lambda x: st.unique_all(x)),),
    "stele.rand":           (lambda: st.rand(2, dtype="int32"),),
    "stele.random.rand":    (lambda: st.rand(2, dtype="int32"),),
    "stele.random.bytes":   (inside(lambda x: st.random.bytes(3)),),
    "stele.pick":           (lambda: st.pick(x, st.tensor(7)).numpy(),),
    "stele.meshgrid":       (lambda: st.meshgrid(x, x, indexing="wrong"),),
    "stele.asarray":        (lambda: st.asarray([1.0, 2.0], copy=False),),
    "stele.from_dlpack":    (lambda: st.from_dlpack(Unlike(), copy=False),),
    "stele.result_type":    (lambda: st.result_type(),),
    "stele.nn.AdaptiveLogSoftmaxWithLoss": (lambda: list(map(float, nn.AdaptiveLogSoftmaxWithLoss(4, 7, [3])(
        st.ones((1, 4)), st.tensor([7])))),),
    "stele.nn.EmbeddingBag": (lambda: nn.EmbeddingBag(3, 2)(st.tensor([[7]])).numpy(),),
    "stele.nn.Embedding":   (lambda: nn.Embedding(3, 2)(st.tensor([7])).numpy(),),
    "stele.nn.utils.rnn.pad_packed_sequence":
        (lambda: rnn.pad_packed_sequence(rnn.pack_sequence([x]), total_length=1),),
    "stele.nn.utils.rnn.unpad_sequence":    (inside(lambda x: rnn.unpad_sequence(x[None], x)),),
    "stele.nn.utils.rnn.split_sequences":
        (inside(lambda x: rnn.split_sequences(rnn.JoinedSequence(x[None], x[None], x, x))),),
    "stele.nn.utils.rnn.unpack_sequence":   (inside(lambda x: rnn.unpack_sequence(rnn.PackedSequence(x[None], x))),),
    "stele.nn.Module":      (lambda: nn.Linear(2, 3).load_state_dict({}),),
    "stele.nn.functional_call": (lambda: nn.functional_call(nn.Linear(2, 3), {"other": x}, x),),
    "stele.nn.GaussianNLLLoss":             (lambda: nn.GaussianNLLLoss()(x, st.zeros(4), x),),
    "stele.nn.HingeEmbeddingLoss":          (lambda: nn.HingeEmbeddingLoss()(x, st.zeros(4)),),
    "stele.nn.MarginRankingLoss":           (lambda: nn.MarginRankingLoss()(x, st.zeros(4), x),),
    "stele.nn.PoissonNLLLoss":              (lambda: nn.PoissonNLLLoss()(x, st.zeros(4)),),
    "stele.nn.functional.alpha_dropout":    (lambda: F.alpha_dropout(x, 2.0, training=True),),
    "stele.nn.functional.dice_loss":        (lambda: F.dice_loss(x[None], st.tensor([7])).numpy(),),
    "stele.nn.functional.dropout":          (lambda: F.dropout(x, 2.0, training=True),),
    "stele.nn.functional.feature_alpha_dropout":    (lambda: F.feature_alpha_dropout(x[None], 2.0, training=True),),
    "stele.nn.functional.margin_ranking_loss":      (lambda: F.margin_ranking_loss(x, st.zeros(4), x),),
    "stele.nn.functional.nll_loss":         (lambda: F.nll_loss(x, st.tensor(7)).numpy(),),
    "stele.nn.functional.one_hot":          (inside(lambda x: F.one_hot(x.astype("int64"))),),
    "stele.optim.Group":                    (lambda: written(optimizer().groups[0]),
                                             lambda: optimizer().groups[0].__setattr__("weight_decay", -1.0)),
    "stele.optim.LossScaler":               (lambda: optim.LossScaler().update(),),
    "stele.optim.Optimizer":                (lambda: optim.Optimizer([], 0.1),),
    "stele.optim.Schedule":                 (lambda: optim.Schedule("wrong"),),     # type: ignore[arg-type]
    "stele.train.Checkpoint":               (lambda: [learn(train.Checkpoint("run")) for _ in range(2)],),
    "stele.train.EarlyStopping":            (lambda: learn(train.EarlyStopping(monitor="val_loss")),),
    "stele.train.History":                  (lambda: train.History({})["loss"],),
    "stele.train.Logger":                   (lambda: train.Logger(every=0),),
    "stele.train.MLflow":                   (lambda: train.MLflow(every=0),),
    "stele.train.NanGuard":                 (lambda: learn(train.NanGuard(), nan),),
    "stele.train.TensorBoard":              (lambda: train.TensorBoard("events", every=0),),
    "stele.train.Trainer":                  (lambda: train.Trainer(nn.Linear(1, 1), loss="wrong"),
                                             lambda: train.Trainer(nn.Linear(1, 1)).fit(),
                                             lambda: train.Trainer(nn.Linear(1, 1)).load_state_dict({})),
    "stele.train.WandB":                    (lambda: train.WandB(every=0),),
    "stele.interop.caffe.CaffeModule":      (lambda: NET(), lambda: NET(st.ones(2, 3))),
    "stele.interop.caffe.load":             (lambda: caffe.load("no file", "none"),),
    "stele.interop.huggingface.LanguageModel": (lambda: huggingface.LanguageModel().generate([1], 1 << 31),
                                                lambda: huggingface.LanguageModel().generate([])),
    "stele.interop.huggingface.Pieces":     (lambda: huggingface.Pieces("no file"),),
    "stele.interop.huggingface.load":       (lambda: huggingface.load("no folder"),
                                             lambda: huggingface.load("no folder", dtype="int8")),
    "stele.interop.flax.from_flax":         (lambda: flax.from_flax(nn.Linear(1, 1), {}),
                                             lambda: flax.from_flax(3, {})),
    "stele.interop.flax.read":              (lambda: flax.read("no file"),),
    "stele.interop.flax.to_flax":           (lambda: flax.to_flax(3), lambda: flax.to_flax(nn.Linear(1, 1), "haiku"),
                                             lambda: flax.to_flax(nn.GRU(2, 3, bias=False))),
    "stele.interop.keras.KerasModule":      (lambda: keras.KerasModule(GRAPH, {})(),
                                             lambda: keras.KerasModule(GRAPH, {})(x)),
    "stele.interop.keras.load":             (lambda: keras.load("no file"),),
    "stele.interop.keras.save":             (lambda: keras.save(keras.KerasModule(GRAPH, {}), "m.keras", "no file"),
                                             lambda: keras.save(nn.Linear(1, 1), "m.keras", "no file")),
    "stele.interop.onnx.export":            (lambda: interop.export(nn.BatchNorm1d(2), [st.ones(3, 2)], "m.onnx"),
                                             lambda: interop.export(st.linalg.eigvals, [st.eye(2)], "m.onnx")),
    "stele.interop.onnx.load":              (lambda: interop.load(b"wrong"),),
    "stele.interop.onnx.prepare":           (lambda: interop.prepare(b"", device="CUDA"), lambda: interop.prepare(b"")),
    "stele.interop.onnx.run_model":         (lambda: interop.run_model(b"", [], "CUDA"),
                                             lambda: interop.run_model(b"", [])),
    "stele.interop.onnx.run_node":          (lambda: interop.run_node(NODE, [], "CUDA"),
                                             lambda: interop.run_node(NODE, [])),
    "stele.interop.onnx.OnnxModule":        (lambda: interop.load(EMPTY)(x),),
    "stele.interop.onnx.Prepared":          (lambda: interop.prepare(EMPTY).run([x]),),
    "stele.polysub":                        (lambda: st.polysub([True], [False]),),
    "stele.linalg.cholesky":                (lambda: st.linalg.cholesky(st.tensor([[-1.0]])).numpy(),
                                             lambda: st.linalg.cholesky(st.ones((1, 1), dtype="float16"))),
    "stele.linalg.eig":                     (lambda: st.linalg.eig(nan).eigenvalues.numpy(),),
    "stele.linalg.eigh":                    (lambda: st.linalg.eigh(nan).eigenvalues.numpy(),),
    "stele.linalg.lstsq":                   (lambda: st.linalg.lstsq(nan, st.ones((1, 1))).solution.numpy(),),
    "stele.linalg.pinv":                    (lambda: st.linalg.pinv(nan).numpy(),),
    "stele.linalg.svd":                     (lambda: st.linalg.svd(nan).S.numpy(),),
    "stele.linalg.slogdet":                 (lambda: st.grad(logabsdet)(st.zeros((2, 2))).numpy(),),
}


def is_of_arrays(x: Any) -> bool:
    """Whether a public name takes or gives tensors: then it says of which shapes and dtypes."""
    return issubclass(x, nn.Module) if inspect.isclass(x) else "Tensor" in str(inspect.signature(x))


def unsaid(name: str, x: Any) -> str | None:
    """What the prose of a docstring leaves out, in a word."""
    prose = (x.__doc__ or "").partition(">>>")[0]
    if is_of_arrays(x) and name not in OF_DTYPES and not SHAPE.search(prose):
        return "shapes"
    if is_of_arrays(x) and not DTYPE.search(prose):
        return "dtypes"
    return "errors" if name not in NO_ERRORS and not promised(prose) else None


def broken(name: str, x: Any) -> set[str]:
    """The errors that a docstring names and that no wrong call raises."""
    left = set(promised(x.__doc__ or ""))
    for row in ROWS.get(name, ()):
        left -= names_of(raised(row))
    found = calls(x, examples(name, x).examples, ROOM) if left else []
    for looks in (False, True):
        for call in found:
            for wrong in variations(call):
                left -= names_of(raised(wrong.made, looks))
                if not left:
                    return left
        if not left <= WHEN_RUN:
            break
    return left


@pytest.mark.parametrize("name", PUBLIC)
def test_shapes_dtypes_and_errors_are_said(name: str) -> None:
    assert unsaid(name, PUBLIC[name]) is None


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - NO_ERRORS))
def test_errors_that_are_said_are_raised(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    if name != "stele.Options":     # whose budget of memory native programs alone keep
        monkeypatch.setenv("STELE_BACKEND", "reference")    # what is refused is refused before there is code
    assert not broken(name, PUBLIC[name])


def test_a_contract_that_says_too_little_or_too_much_is_found() -> None:
    def double(x: st.Tensor) -> Any:
        """Twice x.

        >>> double(st.ones(2)).shape
        (2,)
        """
        return x + x

    assert unsaid("double", double) == "shapes"
    double.__doc__ = "Twice x, of any shape."
    assert unsaid("double", double) == "dtypes"
    double.__doc__ = "Twice x, of any shape and dtype."
    assert unsaid("double", double) == "errors"
    ROOM["double"] = double
    try:
        double.__doc__ = "Twice x. Raises OptionError.\n\n>>> double(st.ones(2)).shape\n(2,)"
        assert broken("double", double) == {"OptionError"}
        double.__doc__ = "Twice x. Raises DTypeError for what is no number.\n\n>>> double(st.ones(2)).shape\n(2,)"
        assert broken("double", double) == {"DTypeError"}       # since "wrong" + "wrong" is a word
    finally:
        del ROOM["double"]
