"""Names from other frameworks: arguments are accepted, names that do not exist are answered."""
from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, metrics, nn, optim, train
from stele.arrays import familiar, spellings
from stele.errors import (
    ArgumentError,
    DTypeError,
    GraphError,
    OptionError,
    ShapeError,
    SteleError,
    UnknownImport,
    UnknownName,
)
from stele.interop import arguments, names

N = np.arange(6.0, dtype=np.float32).reshape(2, 3)
X = st.tensor(N)

SAME: list[tuple[Any, Any]] = [
    (lambda: X.sum(dim=1, keepdim=True), lambda: X.sum(axis=1, keepdims=True)),
    (lambda: st.mean(X, dim=0), lambda: st.mean(X, axis=0)),
    (lambda: X.std(dim=1, ddof=1), lambda: X.std(1, correction=1)),
    (lambda: st.softmax(input=X, dim=0), lambda: st.softmax(X, axis=0)),
    (lambda: st.concatenate(tensors=[X, X], dim=1), lambda: st.concatenate([X, X], axis=1)),
    (lambda: st.clip(X, min=1, max=3), lambda: st.clip(X, 1, 3)), (lambda: X.clip(a_max=3), lambda: X.clip(None, 3)),
    (lambda: st.one_hot(st.tensor([0, 2]), num_classes=3), lambda: st.one_hot(st.tensor([0, 2]), classes=3)),
    (lambda: st.cross_entropy(input=X, target=st.tensor([0, 2])), lambda: st.cross_entropy(X, st.tensor([0, 2]))),
    (lambda: st.tril(X, diagonal=1), lambda: st.tril(X, k=1)), (lambda: X.flatten(start_dim=1), lambda: X.flatten(1)),
    (lambda: st.leaky_relu(-X, negative_slope=0.5), lambda: st.leaky_relu(-X, slope=0.5)),
    (lambda: st.max_pool2d(X.reshape(1, 1, 2, 3), kernel_size=2), lambda: st.max_pool2d(X.reshape(1, 1, 2, 3), 2)),
    (lambda: st.roll(X, shifts=1, dims=1), lambda: st.roll(X, shift=1, axis=1)),
    (lambda: X.unsqueeze(dim=0), lambda: X.unsqueeze(0)), (lambda: st.take(X, indices=st.tensor([1]), dim=1),
                                                            lambda: st.take(X, st.tensor([1]), axis=1)),
    (lambda: st.unique(X, dim=0), lambda: st.unique(X, axis=0)), (lambda: st.amax(X, dim=1), lambda: st.max(X, axis=1)),
    (lambda: st.arange(0, end=3), lambda: st.arange(0, stop=3)), (lambda: st.cumsum(X, dim=0),
                                                                  lambda: st.cumulative_sum(X, axis=0)),
    (lambda: st.linspace(0, 1, steps=3), lambda: st.linspace(0, 1, num=3)),
    (lambda: st.repeat_interleave(X, 2, dim=0), lambda: st.repeat(X, 2, axis=0)),
    (lambda: st.quantile(X, 0.3, interpolation="lower"), lambda: st.quantile(X, 0.3, method="lower")),
    (lambda: st.var(X, unbiased=True), lambda: st.var(X, correction=1)),
]


@pytest.mark.parametrize("theirs, ours", SAME)
def test_arguments_by_their_names_elsewhere(theirs: Any, ours: Any) -> None:
    assert np.array_equal(theirs().numpy(), ours().numpy())


def test_layers_take_pytorchs_names() -> None:
    layers = [nn.Linear(in_features=3, out_features=2), nn.MaxPool2d(kernel_size=2),
              nn.Conv2d(in_channels=1, out_channels=2, kernel_size=3), nn.BatchNorm2d(num_features=4),
              nn.Embedding(num_embeddings=5, embedding_dim=2), nn.LayerNorm(normalized_shape=3),
              nn.GRU(input_size=3, hidden_size=4, num_layers=2), nn.LSTM(input_size=3, hidden_size=4)]
    assert [type(layer).__name__ for layer in layers] == [
        "Linear", "MaxPool2d", "Conv2d", "BatchNorm2d", "Embedding", "LayerNorm", "GRU", "LSTM"]


def test_an_argument_that_nobody_knows_or_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"an argument of sum must be 'x', .* or 'where', got 'axes'"):
        X.sum(axes=1)
    with pytest.raises(ArgumentError, match="got 'dim'"):
        X.sum(axis=0, dim=1)


@pytest.mark.parametrize("room, name, message", [
    (st, "ShapeError", r"Write st\.errors\.ShapeError\."), (st, "jit", "stele has no 'jit'. Write st.compile"),
    (st, "selu", r"Write st\.nn\.functional\.selu\."), (st, "Linear", r"Write st\.nn\.Linear\."),
    (st, "eig", r"st\.linalg\.eig"), (st, "addcmul", r"Write x\.addcmul\(\.\.\.\)\."),
    (st, "softmx", "stele has no 'softmx'. Did you mean 'softmax'?"), (st, "Relu", "Did you mean 'relu'?"),
    (X, "stride", "a tensor has no 'stride'. Write x.numpy\\(\\).strides"),
    (nn, "Conv2DTranspose", r"stele.nn has no 'Conv2DTranspose'. Write nn.ConvTranspose2d"),
    (nn, "Linar", "Did you mean 'Linear'?"), (optim, "StepDecay", "Write optim.StepLR"),
    (data, "DataLoader", r"Write data.Loader\(dataset, batch_size\)")])
def test_a_name_that_does_not_exist_is_answered(room: Any, name: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        getattr(room, name)
    assert not hasattr(room, name) and not hasattr(room, "__array_struct__")


@pytest.mark.parametrize("module, message", [
    ("stele.utils.data", r"stele has no 'utils'. Write st\.data\.Loader"), ("stele.autograd", "Write loss.backward"),
    ("stele.nn.parallel", "a step runs on all cores"), ("stele.optim.swa_utils", "Write optim.SWA"),
    ("stele.nn.parameter", "Write nn.Parameter"), ("stele.cuda.amp", "programs run on the CPU"),
    ("stele.sofmax", "Did you mean 'softmax'?")])
def test_a_module_of_another_framework_is_answered(module: str, message: str) -> None:
    with pytest.raises(UnknownImport, match=message):
        importlib.import_module(module)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(module)
    assert importlib.util.find_spec(".".join(module.split(".")[:2])) is None or module.count(".") == 2


def test_gradients_are_cut_under_pytorchs_names() -> None:
    from stele.nn.utils import clip_grad_norm_, clip_grad_value_
    w = nn.Parameter([3.0, 4.0])
    (w * w / 2).sum().backward()
    assert clip_grad_norm_([w], max_norm=1.0).item() == 5 and w.grad is not None
    clip_grad_value_([w], clip_value=0.7)
    assert np.allclose(w.grad.numpy(), [0.6, 0.7])


def test_random_numbers_are_written_in_place() -> None:
    y = st.zeros(20000)
    assert abs(float(y.bernoulli_(0.25).mean()) - 0.25) < 0.02 and {*y.tolist()} == {0.0, 1.0}
    assert abs(float(y.exponential_(4.0).mean()) - 0.25) < 0.02 and y.dtype == st.float32
    assert y.bernoulli_(st.zeros(20000)).sum().item() == 0
    keep = st.compile(lambda x: x.new_empty((x.shape[0], 1)).bernoulli_(0.5))
    assert 0 < float(keep(st.ones(64, 2)).mean()) < 1
    assert y.to(y) is y and y.to(st.ones(1, dtype="float64")).dtype == st.float64


def test_a_name_of_a_tensor_that_is_nearly_right_is_answered_by_python() -> None:
    done = subprocess.run([sys.executable, "-c", "import stele as st; st.ones(3).summ"], capture_output=True, text=True)
    assert "Did you mean: 'sum'?" in done.stderr
    assert "sum" in dir(X) and "cuda" not in dir(X)


@pytest.mark.parametrize("name", spellings.BORROWED.split())
def test_functions_are_methods_too(name: str) -> None:
    assert getattr(st.Tensor, name) is getattr(st, name) and getattr(X, name).__self__ is X


def test_methods_of_functions_stand_in_programs() -> None:
    def f(x: Any) -> Any:
        return x.cumsum(0).flip(0).softmax(dim=-1).topk(2, dim=-1).values.logsumexp(-1).clamp(min=0.5).norm()

    x = st.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
    law = st.norm(st.clip(st.logsumexp(st.topk(st.softmax(st.flip(st.cumsum(x, 0), 0)), 2)[0], -1), min=0.5))
    slot = st.placeholder(("n", 3))
    for y in (f(x), st.compile(f)(x), st.function([slot], f(slot))(x)):
        assert np.allclose(y.numpy(), law.numpy())
    assert np.isfinite(st.grad(f)(x).numpy()).all()
    assert x.to("cpu", dtype="float64").dtype == st.float64 and x.to(device="cpu") is x


SET, MODULE = data.ArrayDataset(np.arange(6.0), np.arange(6)), nn.Linear(3, 2)
OPTIMIZER = optim.SGD([X.clone().requires_grad_()], 0.1)
PROFILE, VOCABULARY = st.profile(), data.Vocabulary(["a", "<unk>"])
TRAINER, SCHEDULE = train.Trainer(MODULE, loss="mse"), optim.ReduceLROnPlateau(OPTIMIZER)
FOLDER = data.ImageFolder.__new__(data.ImageFolder)
vars(FOLDER).update(dict.fromkeys(("classes", "labels", "paths", "folder")))
TABLES = [(st, spellings.FUNCTIONS), (st, names.FRAMEWORKS), (st.random, st.random.ELSEWHERE),
          (st.linalg, spellings.LINALG), (X, spellings.METHODS),
          (nn, names.LAYERS), (FOLDER, names.FOLDERS),
          (nn.functional, names.FUNCTIONAL), (nn.init, names.INIT), (nn.utils, names.UTILS), (optim, names.OPTIMIZERS),
          (data, names.DATA), (data.transforms, names.TRANSFORMS), (SET, names.SETS),
          (data.IterableDataset(), names.STREAMS), (data.Loader(SET), names.LOADERS),
          (train, names.TRAINING), (metrics, names.METRICS),
          (metrics.Accuracy(), names.MEASURES), (MODULE, names.MODULES),
          (OPTIMIZER, names.OPTIMIZER), (st.io, names.IO), (TRAINER, names.TRAINERS),
          (TRAINER.history, names.HISTORIES), (SCHEDULE, names.SCHEDULERS), (PROFILE, names.PROFILES),
          (VOCABULARY, names.VOCABULARIES)]
PLACES = {"st": st, "nn": nn, "optim": optim, "data": data, "train": train, "metrics": metrics, "x": X,
         "dataset": FOLDER, "model": MODULE, "trainer": TRAINER, "history": TRAINER.history, "schedule": SCHEDULE,
         "profile": PROFILE, "vocabulary": VOCABULARY}


def named(hint: str) -> list[tuple[str, str]]:
    """What a hint names of ours."""
    return [(room, own) for room in PLACES for own in re.findall(rf"\b(?<!\.){room}\.(\w+)", hint)]


@pytest.mark.parametrize("room, table", TABLES, ids=lambda x: "")
def test_tables_answer_names_that_do_not_exist_with_names_that_do(room: Any, table: dict[str, str]) -> None:
    for name, hint in table.items():
        assert not hasattr(room, name), f"{name} exists: take it out of the table"
        for where, own in named(hint):
            assert hasattr(PLACES[where], own), f"{name}: {hint} names what there is not"


def test_arguments_of_others_are_taken_where_they_mean_the_same() -> None:
    loader = data.Loader(dataset=SET, batch_size=4, collate_fn=list, prefetch_factor=2, workers=0, drop_remainder=True)
    assert loader.collate is list and loader.prefetch == 2 and loader.drop_last and not loader.num_workers
    optimizer = optim.Adam(params=MODULE.parameters(), learning_rate=0.5, epsilon=1e-3)
    assert optimizer.lr == 0.5 and optimizer.param_groups[0]["eps"] == 1e-3
    assert nn.LeakyReLU(alpha=0.5).negative_slope == 0.5 and len(data.SequentialSampler(data_source=SET)) == 6
    assert not MODULE.load_state_dict(state_dict=MODULE.state_dict()).missing_keys
    assert metrics.F1(num_classes=3).classes == 3 and nn.Dropout(rate=0.25).p == 0.25
    trainer = train.Trainer(MODULE, max_epochs=3, criterion="mse", validation_data=[(X, X)], max_grad_norm=1.0)
    assert trainer.epochs == 3 and trainer.validation is not None and trainer.clip == 1.0


@pytest.mark.parametrize("call, message", [
    (lambda: data.Loader(SET, pin_memory=True), "Loader takes no 'pin_memory' .* Leave it out: batches are NumPy"),
    (lambda: data.Loader(SET, generator=1), "seed=0"), (lambda: data.Loader(SET, shufle=True), "mean 'shuffle'?"),
    (lambda: data.Loader(SET, 4, batch=4), "Write batch_size=64"),
    (lambda: data.Loader(SET, dataset=SET), "takes data, which is its word for 'dataset' too"),
    (lambda: optim.Adam([X], lr=0.1, learning_rate=0.1), "takes lr, which is its word for 'learning_rate' too"),
    (lambda: optim.Adam([X], fused=True), "one program"), (lambda: SET.map(str, num_parallel_calls=2), "num_workers=2"),
    (lambda: nn.Linear(3, 2, device="cuda"), r"write layer.to\(device, dtype\)"),
    (lambda: train.fit(MODULE, X, X), "fit takes a model and its batches by their place"),
    (lambda: train.fit(MODULE, [(X, X)], loss="mse", batch_size=4), "Trainer takes no 'batch_size'"),
    (lambda: data.Loader(SET, in_order=True), "in one order for any number"),
    (lambda: metrics.Accuracy(task="binary"), "Accuracy takes no 'task'"),
    (lambda: nn.MSELoss(size_average=True), "Write reduction='mean', 'sum' or 'none'"),
    (lambda: nn.init.normal_(X, generator=1), r"st.manual_seed\(0\) says"),
    (lambda: MODULE.state_dict(keep_vars=True), "a state holds the tensors themselves"),
    (lambda: nn.Linear(3, 2, quite_different=1), "It takes in_features, out_features, bias"),
    (lambda: data.transforms.RandomResizedCrop(8, antialias=True), "that become smaller are antialiased"),
    (lambda: data.transforms.RandomRotation(9, expand=True), "images keep their sizes"),
    (lambda: st.io.imsave("a.png", X.numpy(), format="png"), "the suffix of the path"),
    (lambda: optim.SGD(learning_rate=0.1), "SGD cannot be called so: missing a required argument: 'parameters'"),
    (lambda: metrics.Recall(), "Recall cannot be called so: .*'classes'.*It takes classes, average"),
    (lambda: metrics.Accuracy(num_classes=3), "scores have their classes along an axis"),
    (lambda: train.EarlyStopping("val_loss"), "patience of EarlyStopping must be a whole number"),
    (lambda: train.EarlyStopping("val_loss", patience=2), "multiple values for argument 'patience'"),
    (lambda: TRAINER.fit(ckpt_path="last"), r"train.Checkpoint\(folder, resume=True\)"),
    (lambda: TRAINER.log("loss", 1.0), r"trainer.log\({name: number}\)"),
    (lambda: train.Trainer(MODULE, max_steps=9), "trainer.should_stop"),
    (lambda: train.Trainer(MODULE, resume=True), r"train.Checkpoint\(folder, resume=True\)"),
    (lambda: train.Trainer(MODULE, seed=1), r"st.manual_seed\(seed\)"),
    (lambda: TRAINER.fit(data.Loader(SET), epochs=2), "It takes epochs, and a Loader stands where epochs does"),
    (lambda: TRAINER.fit(data.Loader(SET)), r"how many epochs.*data.Loader\(...\), epochs=3\).fit"),
    (lambda: SET.split(test_size=0.2), r"dataset.split\(0.8, 0.2\)"), (lambda: SET.split(shuffle=False), "seed=None"),
    (lambda: data.table("a.csv", sep=";"), r"data.table\(pandas.read_csv"),
    (lambda: data.cifar10(".", download=True), "data.download"), (lambda: data.mnist(".", train=True), "found.train"),
    (lambda: data.Tokenizer.train(["a"], sise=3), "Did you mean 'size'"),
    (lambda: data.ImageFolder(".", size=3), "transforms.Resize"),
    (lambda: st.io.read_audio("a.wav", sr=8000), "Resample"),
    (lambda: train.Trainer(MODULE, callbacks=[train.EarlyStopping]), "EarlyStopping\\(\\), with its brackets"),
    (lambda: type("Mine", (train.Callback,), {"on_train_epoch_end": print}), r"on_epoch_end\(self, trainer, row\)"),
    (lambda: type("Mine", (train.Callback,), {"on_epochs_end": print}), "Write on_epoch_end"),
    (lambda: type("Mine", (train.Callback,), {"on_epoch_end": lambda self, trainer, epoch, logs: 0}),
     r"called with trainer, row.*def on_epoch_end\(self, trainer, row\)"),
    (lambda: type("Lit", (train.Trainer,), {"training_step": lambda self, batch, k: 0})(MODULE),
     r"def training_step\(self, batch\)"),
    (lambda: st.max(X, X), r"Write st\.maximum\(x, y\) for two arrays"), (lambda: st.min(X, N), r"Write st\.minimum"),
    (lambda: X.max(X), r"st\.maximum"), (lambda: st.all(X, X), r"st\.logical_and"), (lambda: st.sum(X, N), r"x \+ y"),
    (lambda: st.max(X, axis="x"), "axis of max must be a whole number"),
    (lambda: st.checkpoint(st.exp, X), r"write st\.checkpoint\(f\)\(x\)"),
    (lambda: st.checkpoint(st.exp, X, use_reentrant=False), r"st\.checkpoint\(f\)\(x\)"),
    (lambda: st.compile(st.exp, X), r"dims of compile|It gives a function: write st\.compile\(f\)\(x\)"),
    (lambda: st.grad(st.exp, X), r"st\.grad\(f\)\(x\)"), (lambda: st.jacobian(st.exp, N), r"st\.grad\(f\)\(x\)"),
    (lambda: st.vmap(st.exp, X), r"write st\.vmap\(f\)\(x\)"), (lambda: st.vmap(st.exp, in_dims=0), "Write in_axes="),
    (lambda: st.compile(st.exp, mode="max-autotune"), "compile takes no 'mode'.*all of a function is compiled"),
    (lambda: st.compile(st.exp, static_argnums=0), "what is no tensor is a constant"),
    (lambda: st.load("x", weights_only=True), "no code is ever run"),
    (lambda: st.load("x", map_location=""), "on the CPU"),
    (lambda: X.to("cpu", non_blocking=True), "does not wait for copies"),
    (lambda: st.nonzero(X, as_tuple=True), r"st\.argwhere\(x\)"),
    (lambda: nn.ModuleList(MODULE, MODULE), r"Write ModuleList\(\[x, y, ...\]\)"),
    (lambda: train.Trainer(MODULE, loss=nn.MSELoss), r"got the class MSELoss.*MSELoss\(\), with its brackets")])
def test_arguments_of_others_are_answered(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


@pytest.mark.parametrize("line, message", [
    ("from stele.data import DataLoader", "stele.data has no 'DataLoader'. Write data.Loader"),
    ("from stele.data.transforms import v2", "Write data.transforms"), ("from stele import jit", "Write st.compile"),
    ("from stele.nn import Linaer", "Did you mean 'Linear'?"),
    ("from stele.metrics import F1Score as F1", "Write metrics.F1")])
def test_imports_of_names_that_do_not_exist_are_answered(line: str, message: str) -> None:
    with pytest.raises(ImportError, match=re.escape(message)):
        exec(line)


def test_modules_are_imported_as_they_were_and_nobody_is_told_more_than_there_is() -> None:
    code = "from stele.data import chance; from stele import metrics; print(hasattr(metrics, 'ROC'), chance.ORDER)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False 0\n"


def test_what_is_said_instead_of_arguments_names_what_there_is() -> None:
    for table in (*arguments.INSTEAD.values(), spellings.UNSAID):
        for name, hint in table.items():
            assert all(hasattr(PLACES[room], own) for room, own in named(hint)), f"{name}: {hint}"


def test_names_of_losses_and_metrics_that_keras_has() -> None:
    trainer = train.Trainer(MODULE, loss="mean_squared_error", metrics=["mse", "mae"])
    assert trainer.loss is nn.functional.mse_loss and len(trainer.metrics["train"]) == 2
    with pytest.raises(OptionError, match="Write 'cross_entropy', and leave the softmax out: it takes logits"):
        train.Trainer(MODULE, loss="sparse_categorical_crossentropy")


def test_errors_inside_of_properties_of_modules_are_their_own() -> None:
    class Odd(nn.Module):
        @property
        def scale(self) -> float:
            return self.missing_here

    with pytest.raises(AttributeError, match="missing_here"):
        _ = Odd().scale
    with pytest.raises(UnknownName, match=r"a module has no 'fit'. Write train.fit"):
        _ = Odd().fit


FAMILIAR: dict[str, tuple[Any, Any]] = {       # of a tensor, and what NumPy says
    "numel": (lambda x: x.numel() + x.nelement(), 12), "dim": (lambda x: x.dim() + x.ndimension(), 4),
    "t": (lambda x: x.t(), N.T), "cpu": (lambda x: x.cpu(), N), "contiguous": (lambda x: x.contiguous(), N),
    "is_contiguous": (lambda x: x.is_contiguous(), True), "element_size": (lambda x: x.element_size(), 4),
    "half": (lambda x: x.half(), N.astype("f2")), "short": (lambda x: x.short(), N.astype("i2")),
    "bfloat16": (lambda x: x.bfloat16().float(), N), "type": (lambda x: x.type(st.long), N.astype("i8")),
    "type_as": (lambda x: x.type_as(st.zeros(1, dtype=st.double)), N.astype("f8")),
    "expand_as": (lambda x: x[:1].expand_as(x), np.broadcast_to(N[:1], (2, 3))),
    "reshape_as": (lambda x: x.reshape_as(st.ones(3, 2)), N.reshape(3, 2)),
    "view_as": (lambda x: x.view_as(st.ones(6)), N.ravel()), "is_complex": (lambda x: x.is_complex(), False),
    "is_floating_point": (lambda x: x.is_floating_point(), True), "select": (lambda x: x.select(1, 2), N[:, 2]),
    "addcmul": (lambda x: x.addcmul(x, x, value=0.5), N + 0.5 * N * N),
    "addcdiv": (lambda x: x.addcdiv(x, x + 1, value=2), N + 2 * N / (N + 1)),
    "scatter": (lambda x: x.scatter(1, st.tensor([[2], [0]]), 9.0), [[0, 1, 9], [9, 4, 5]]),
    "scatter_add": (lambda x: x.scatter_add(1, st.tensor([[2], [0]]), st.ones(2, 1)), [[0, 1, 3], [4, 4, 5]]),
    "index_add": (lambda x: x.index_add(0, st.tensor([1, 1]), st.ones(2, 3), alpha=2), [[0, 1, 2], [7, 8, 9]]),
    "new_tensor": (lambda x: x.new_tensor([1, 2]), np.array([1, 2], "f4")),
    "new_full": (lambda x: x.new_full((2,), 7), np.array([7, 7], "f4")),
    "new_zeros": (lambda x: x.new_zeros(2, dtype=st.int), np.zeros(2, "i4")),
    "new_ones": (lambda x: x.new_ones(2, 1), np.ones((2, 1), "f4")),
    "new_empty": (lambda x: x.new_empty((3,)), np.zeros(3, "f4")),
}


@pytest.mark.parametrize("name", FAMILIAR)
def test_methods_of_pytorch_do_what_they_say(name: str) -> None:
    f, law = FAMILIAR[name]
    for y in (f(X), st.compile(lambda x: st.asarray(f(x)))(X)):
        assert np.array_equal(np.asarray(y), law)
        assert not isinstance(law, np.ndarray) or y.dtype == law.dtype.name


WRITTEN = {"addcdiv": (N + 1, N + 2), "addcmul": (N, N), "addmm": (N[:, :2], N[:2]), "baddbmm": (N[:, :2], N[:2]),
           "index_add": (0, [1], N[:1]), "index_copy": (0, [1], N[:1]), "index_fill": (1, [0], 3.0),
           "index_put": (([0], [1]), 5.0), "lerp": (N, 0.5), "masked_fill": (N > 2, 0.0), "clamp": (1, 3),
           "clip": (1, 3), "scatter": (1, [[0], [1]], 5.0), "scatter_add": (1, [[0], [1]], N[:, :1])}
PAIRED = """add arctan2 atan2 copysign div divide float_power floor_divide fmod heaviside hypot mul multiply nextafter
pow remainder sub subtract true_divide xlogy bitwise_and bitwise_or bitwise_xor gcd lcm logical_and logical_or
logical_xor"""
WHOLE = ["bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"]


@pytest.mark.parametrize("name", familiar.WRITING.split())
def test_methods_that_write_write_what_those_that_do_not_give(name: str) -> None:
    args = WRITTEN.get(name, (N.reshape(2, 3) + 1,) if name in PAIRED.split() else (0,) if "cum" in name else ())
    args = [st.tensor(a) if isinstance(a, np.ndarray | list) else a for a in args]
    args = [tuple(map(st.tensor, a)) if isinstance(a, tuple) else a for a in args]
    base = st.tensor(N / 8)
    if name in WHOLE:
        base, args = st.tensor(N, dtype="int32"), [a.int() for a in args]
    want = getattr(base, name)(*args).astype(base.dtype).numpy()

    def f(x: st.Tensor) -> st.Tensor:
        y = x.copy()
        part = y.reshape(-1)
        assert getattr(y, f"{name}_")(*args) is y
        return st.stack([y.flatten(), part])

    for y in (f(base), st.compile(f)(base)):
        assert y.dtype == base.dtype
        assert np.array_equal(y.numpy(), np.stack([want.ravel()] * 2), equal_nan=True)


def test_methods_that_write_numbers() -> None:
    x = st.zeros(200, 50)
    row = x[3]
    assert x.uniform_(2, 3) is x and 2 <= float(x.min()) < 2.01 and 2.99 < float(x.max()) <= 3 and float(row.min()) >= 2
    assert abs(float(x.normal_(5, 0.1).mean()) - 5) < 0.01 and x.fill_(7).max() == 7
    w = st.ones(3, requires_grad=True)
    with pytest.raises(GraphError, match="no_grad"):
        w.add_(1)
    with st.no_grad():
        assert w.add_(st.ones(3), alpha=-0.5).tolist() == [0.5] * 3 and w.requires_grad
    with pytest.raises(DTypeError, match="keeps the dtype"):
        st.arange(3).div_(2)
    with pytest.raises(ShapeError, match="keeps the shape"):
        st.ones(3).add_(st.ones(2, 3))
    with pytest.raises(ShapeError, match="at most two axes"):
        st.ones(2, 2, 2).t()
    assert (X.item(4), X.item(1, 2), X.item((0, 1)), X.item(-1)) == (4, 5, 1, 5)
    with pytest.raises(ShapeError, match="one"):
        X.item()


PLACES = {"st": st, "nn": nn, "nn.functional": nn.functional, "optim": optim, "data": data, "metrics": metrics,
         "data.transforms": data.transforms, "train": train, "st.linalg": st.linalg, "st.fft": st.fft, "st.io": st.io,
         "Tensor": st.ones(2, 2)}
RECORDS = {"Options", "Tensor", "Summary", "Group", "Splits", "History", "Callback",    # made by others, as are results
           *(name for name in dir(st.linalg) if name.endswith("Result"))}
OWN = {"at_rest", "beside", "bool", "detach", "double", "float", "hooked", "int", "is_detached", "is_part", "long",
       "move", "one", "read", "rebind", "refuse_complex", "refuse_leaf", "shared", "tie_to", "to_device", "ways",
       "write"}
"""Methods of tensors that our own code calls, some at every operation."""


@pytest.mark.parametrize("room", PLACES)
def test_arguments_that_nothing_takes_are_refused_by_all_with_no_frame_of_ours(room: str) -> None:
    """Identity takes whatever it is given, as PyTorch's."""
    for name in dir(PLACES[room]):
        f = getattr(PLACES[room], name, None) if name not in RECORDS | OWN | {"Identity"} and name[0] != "_" else None
        if not callable(f) or (isinstance(f, type) and issubclass(f, BaseException)):
            continue
        with pytest.raises(SteleError) as caught:
            f(quite_different=1)
        frames = [Path(frame.path) for frame in caught.traceback[1:]]
        assert [path for path in frames if path.is_relative_to(Path(st.__file__).parent)] == [], f"{room}.{name}"
