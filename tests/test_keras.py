"""Models that Keras saved give what they gave there, are trained, and damage is refused."""
from __future__ import annotations

import doctest
import io
import json
import re
import zipfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keras_models import KEPT, MODELS, SECOND, WHOLE, ask_keras, asked, built, inputs

import stele as st
from stele import optim
from stele.errors import ArgumentError, DataError, ShapeError
from stele.interop import keras
from stele.interop.keras import KerasModule
from stele.interop.keras.model import Graph, Input, Ref
from stele.interop.keras.reader import kind_of
from stele.interop.keras.run import order

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).resolve().parents[1]
needs_h5py = pytest.mark.skipif(find_spec("h5py") is None, reason="needs h5py: pip install 'stele-dl[keras]'")
needs_keras = pytest.mark.skipif(find_spec("keras") is None or find_spec("jax") is None,
                                 reason="needs Keras: pip install keras jax")


@cache
def kept(name: str) -> bytes:
    with zipfile.ZipFile(KEPT) as archive:
        return archive.read(name)


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[[str], keras.KerasModule]:
    """A model that was recorded."""
    def load(kind: str, ending: str = "keras") -> keras.KerasModule:
        (tmp_path / f"{kind}.{ending}").write_bytes(kept(f"{kind}.{ending}"))
        return keras.load(tmp_path / f"{kind}.{ending}")

    return load


def given(model: keras.KerasModule, batch: int = 2) -> list[st.Tensor]:
    known = [model.graph.known[name] for name in order(model.graph)]
    return [st.tensor(x) for x in inputs([(i.shape or (), i.dtype) for i in known], batch)]


def many(y: Any) -> list[Array]:
    leaves = [y[key] for key in sorted(y)] if isinstance(y, dict) else y if isinstance(y, list) else [y]
    return [x.numpy() for x in leaves]


def agree(found: list[Array], want: list[Array]) -> None:
    assert [x.shape for x in found] == [x.shape for x in want]
    for a, b in zip(found, want):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * max(np.abs(b).max(), 1e-3))


@needs_h5py
@pytest.mark.parametrize("kind", MODELS)
def test_models_give_what_keras_gave(kind: str, loaded: Any) -> None:
    model = loaded(kind)
    with np.load(io.BytesIO(kept(f"{kind}.npz"))) as file:
        want = [file[name] for name in file.files]
    assert not model.training
    agree(many(st.compile(model, backend="reference")(*given(model))), want)
    model.reset_states()
    agree(many(st.compile(model, dims=model.dims)(*given(model))), want)


@needs_h5py
@needs_keras
@pytest.mark.parametrize("kind", MODELS)
def test_models_give_what_keras_gives(kind: str, tmp_path: Path) -> None:
    theirs = built(kind)
    theirs.save(tmp_path / "model.keras")
    ours, theirs = keras.load(tmp_path / "model.keras"), import_module("keras").models.load_model(
        tmp_path / "model.keras")
    agree(many(ours(*given(ours, 3))), asked(theirs, 3))
    want = {v.path for v in theirs.variables if "seed" not in v.path and "count" not in v.path}
    last = {name.rpartition("/")[2] for name in ours.weights}      # Keras keeps states beside its variables
    assert {name for name in last if not name.startswith("state_")} == {name.rpartition("/")[2] for name in want}


@needs_h5py
@pytest.mark.parametrize("kind", WHOLE)
def test_whole_models_in_one_hdf5_file_are_the_same(kind: str, loaded: Any) -> None:
    ours, want = loaded(kind, "h5"), loaded(kind)
    assert list(ours.weights) == list(want.weights) and ours.dims == want.dims
    for name, x in ours.weights.items():
        np.testing.assert_array_equal(x.numpy(), want.weights[name].numpy(), name)
        assert x.requires_grad == want.weights[name].requires_grad


@needs_h5py
def test_models_of_keras_2_give_what_it_gave(loaded: Any, tmp_path: Path) -> None:
    model = loaded(SECOND, "h5")
    with np.load(io.BytesIO(kept(f"{SECOND}.npz"))) as file:
        want = [file[name] for name in file.files]
    agree(many(model(*given(model))), want)
    agree(many(st.compile(model, dims=model.dims)(*given(model))), want)
    keras.save(moved(model), tmp_path / "tuned.h5", tmp_path / f"{SECOND}.h5")
    again = keras.load(tmp_path / "tuned.h5")
    for name, x in again.weights.items():
        np.testing.assert_array_equal(x.numpy(), model.weights[name].numpy())


@needs_h5py
@needs_keras
@pytest.mark.parametrize("kind", WHOLE)
def test_keras_loads_the_hdf5_files_that_are_saved(kind: str, loaded: Any, tmp_path: Path) -> None:
    if reason := {"rescaled": "takes the layers of this file in another order",
                  "attentive": "does not know the score_mode that it wrote"}.get(kind):
        pytest.skip(f"Keras itself {reason}, and fails")
    model = moved(loaded(kind, "h5"))
    keras.save(model, tmp_path / "tuned.h5", tmp_path / f"{kind}.h5")
    theirs = ask_keras().models.load_model(tmp_path / "tuned.h5", compile=False)
    agree(many(model(*given(model))), asked(theirs))


def test_hdf5_files_do_not_say_which_classes_are_operations() -> None:
    for cls, config, kind in [("Multiply", {"name": "multiply"}, "ops.Multiply"),
                              ("Multiply", {"name": "multiply", "trainable": True}, "Multiply"),
                              ("NotEqual", {"name": "not_equal"}, "ops.NotEqual"), ("InputLayer", {}, "InputLayer"),
                              ("GroupedQueryAttention", {"trainable": True}, "GroupQueryAttention")]:
        assert kind_of({"class_name": cls, "config": config}) == kind
    assert kind_of({"class_name": "Multiply", "config": {}, "module": "keras.layers"}) == "Multiply"


@needs_h5py
def test_stateful_layers_go_on_where_they_were(loaded: Any, tmp_path: Path) -> None:
    model = loaded("stateful")
    names = [name for name, _ in model.named_buffers() if "state_" in name]
    assert names == ["lstm/state_0", "lstm/state_1", "gru/state_0", "simple_rnn/state_0"]
    x, = given(model)
    first, second = many(model(x)), many(model(x))
    np.testing.assert_array_equal(model.weights["lstm/state_0"].numpy(), second[0])
    assert not any(np.allclose(a, b) for a, b in zip(first, second))
    model.reset_states()
    compiled = st.compile(model)
    agree(many(compiled(x)), first)
    agree(many(compiled(x)), second)
    (tmp_path / "m.keras").write_bytes(said(optioned(0, batch_shape=[None, 3, 4]), "stateful"))
    with pytest.raises(DataError, match=r"lstm .LSTM. keeps its states from call to call"):
        keras.load(tmp_path / "m.keras")


@needs_h5py
def test_attention_leaves_out_what_embeddings_mask(loaded: Any) -> None:
    model, tokens = loaded("masked"), np.array([[1, 2, 3, 4, 0, 0], [5, 0, 6, 0, 0, 0]])
    e, counts = model.weights["embedding/embeddings"].numpy()[tokens], tokens != 0
    scores = np.where(counts[:, None], np.exp(e @ np.swapaxes(e, 1, 2)), 0)
    want = np.where(counts[..., None], scores / scores.sum(-1, keepdims=True) @ e, 0)
    np.testing.assert_allclose(model(st.tensor(tokens.astype("i4")))[3].numpy(), want, 1e-5, 1e-7)


@needs_h5py
@needs_keras
def test_masks_go_on_through_layers_of_attention(tmp_path: Path) -> None:
    k = import_module("keras")
    L, x = k.layers, k.Input((6,), dtype="int32")
    e = L.Embedding(7, 4, mask_zero=True)(x)
    y = L.AdditiveAttention()([L.Attention(use_scale=True)([e, e]), e])
    theirs = k.Model(x, [y, L.LSTM(3)(y)])
    theirs.save(tmp_path / "model.keras")
    tokens = np.array([[1, 2, 3, 4, 0, 0], [5, 0, 6, 0, 0, 0]], "i4")
    agree(many(keras.load(tmp_path / "model.keras")(st.tensor(tokens))), [np.asarray(a) for a in theirs(tokens)])


@needs_h5py
def test_images_are_not_changed_by_chance(loaded: Any) -> None:
    model = loaded("adaptive").train()
    with pytest.raises(DataError, match=r"random_flip .RandomFlip. changes images by chance"):
        model(*given(model))


@needs_h5py
@pytest.mark.parametrize("kind", ["mlp", "cnn-last", "merged"])
def test_one_program_takes_batches_of_any_size(kind: str, loaded: Any) -> None:
    model = loaded(kind)
    f = st.compile(model, dims=model.dims)
    for batch in (2, 3, 7):
        agree(many(f(*given(model, batch))), many(model(*given(model, batch))))
    assert f.compiles == 1


@needs_h5py
def test_names_are_keras_s(loaded: Any) -> None:
    assert list(loaded("mlp").state_dict()) == ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias",
                                                "dense_2/kernel"]
    model = loaded("cnn-last")
    assert [n for n, _ in model.named_buffers()] == [f"batch_normalization/moving_{x}" for x in ("mean", "variance")]
    other = loaded("cnn-last")
    for x in other.parameters():
        x.assign(x * 0)
    other.load_state_dict(model.state_dict())
    agree(many(other(*given(other))), many(model(*given(model))))


@needs_h5py
@pytest.mark.parametrize("kind", ["cnn-last", "cnn-first"])
def test_models_are_trained(kind: str, loaded: Any) -> None:
    model = loaded(kind).train()
    optimizer, (x,), y = optim.Adam(model.parameters(), lr=0.02), given(model, 8), np.arange(8) % 3

    @st.compile
    def step(x: st.Tensor, y: st.Tensor) -> st.Tensor:
        optimizer.zero_grad()
        loss = st.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    before = model.weights["batch_normalization/moving_mean"].numpy()
    losses = [float(step(x, y)) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    assert not np.allclose(model.weights["batch_normalization/moving_mean"].numpy(), before)


@needs_h5py
def test_training_draws_and_frozen_layers_stay(loaded: Any) -> None:
    model = loaded("mlp")
    x = given(model)
    assert np.array_equal(*(model(*x).numpy() for _ in range(2)))
    model.train()
    assert not np.array_equal(*(model(*x).numpy() for _ in range(2)))
    frozen = loaded("frozen").train()
    assert [x.requires_grad for x in frozen.parameters()] == [False] * 4 + [True] * 2
    agree(many(frozen(*given(frozen))), many(frozen.eval()(*given(frozen))))


def moved(model: keras.KerasModule) -> keras.KerasModule:
    """A model with other numbers."""
    for x in model.weights.values():
        x.assign(x * 0.75 + 0.125)
    return model


@needs_h5py
def test_what_is_saved_is_loaded(loaded: Any, tmp_path: Path) -> None:
    model, path = moved(loaded("cnn-last")), tmp_path / "cnn-last.keras"
    keras.save(model, tmp_path / "tuned.keras", path)
    agree(many(keras.load(tmp_path / "tuned.keras")(*given(model))), many(model(*given(model))))
    keras.save(model, path, path)
    agree(many(keras.load(path)(*given(model))), many(model(*given(model))))
    before = path.read_bytes()
    loaded("mlp")
    with pytest.raises(DataError, match="has no numbers at layers/"):
        keras.save(model, path, tmp_path / "mlp.keras")
    assert path.read_bytes() == before
    wide = instead(lambda file: file.create_dataset(PLACE, data=np.ones((5, 8), "f4")))
    (tmp_path / "wide.keras").write_bytes(wide())
    with pytest.raises(DataError, match=r"has shape \(5, 8\), got \(5, 7\)"):
        keras.save(loaded("mlp"), path, tmp_path / "wide.keras")


@needs_h5py
@needs_keras
@pytest.mark.parametrize("kind", ["mlp", "text"])
def test_keras_loads_what_is_saved(kind: str, loaded: Any, tmp_path: Path) -> None:
    model = moved(loaded(kind))
    keras.save(model, tmp_path / "tuned.keras", tmp_path / f"{kind}.keras")
    theirs = ask_keras()
    agree(many(model(*given(model))), asked(theirs.models.load_model(tmp_path / "tuned.keras")))


@needs_h5py
def test_inputs_go_in_by_place_by_name_and_in_containers(loaded: Any) -> None:
    model = loaded("merged")
    x, z = given(model)
    want = model(x, z)
    for made in (model([x, z]), model({"left": x, "right": z}), model(left=x, right=z), model(x, right=z)):
        agree(many(made), many(want))
    assert sorted(want) == ["a_dot", "last", "sum"]
    for wrong, error, says in (((x,), ArgumentError, "takes 2 inputs .left: .*, got 1"),
                               ((x, z, z), ArgumentError, "got 3"), ((x, z[:, :2]), ShapeError, "right: ")):
        with pytest.raises(error, match=says):
            model(*wrong)
    with pytest.raises(ArgumentError, match=r"no input 'rihgt'.*Did you mean 'right'"):
        model(left=x, rihgt=z)


def test_inputs_of_a_dict_are_open_under_its_names() -> None:
    refs = {"b": Ref("one", 0, 0), "a": Ref("two", 0, 0)}
    known = {name: Input(name, (None, 2), "float32") for name in ("one", "two")}
    model = KerasModule(Graph(refs, refs, known, (), ()), {})
    assert model.dims == {"a": {0: "batch"}, "b": {0: "batch"}}
    f = st.compile(model, dims=model.dims)
    for n in (2, 3):
        made = f(a=st.ones((n, 2)), b=st.zeros((n, 2)))
        assert made["a"].shape == (n, 2) and float(made["a"].min()) == 1 and float(made["b"].max()) == 0
    assert f.compiles == 1


def members(kind: str = "mlp") -> dict[str, bytes]:
    """The members of a file that was recorded."""
    with zipfile.ZipFile(io.BytesIO(kept(f"{kind}.keras"))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def said(change: Callable[[Any], Any], kind: str = "mlp") -> bytes:
    """A file whose configuration is changed."""
    parts = members(kind)
    config = json.loads(parts["config.json"])
    changed = change(config)
    return packed({**parts, "config.json": json.dumps(config if changed is None else changed).encode()})


def stored(change: Callable[[Any], Any]) -> bytes:
    """A file whose variables are changed, given as an open HDF5 file."""
    parts = members()
    out = io.BytesIO(parts["model.weights.h5"])
    with import_module("h5py").File(out, "r+") as file:
        change(file)
    return packed({**parts, "model.weights.h5": out.getvalue()})


def layer(config: Any, k: int) -> Any:
    return config["config"]["layers"][k]


def renamed(k: int, **values: Any) -> Callable[[Any], Any]:
    return lambda config: layer(config, k).update(values)


def optioned(k: int, **values: Any) -> Callable[[Any], Any]:
    return lambda config: layer(config, k)["config"].update(values)


def instead(make: Callable[[Any], Any]) -> Callable[[], bytes]:
    """A file in which something else stands at the first kernel."""
    def change(file: Any) -> None:
        del file["layers/dense/vars/0"]
        make(file)

    return lambda: stored(change)


def linked(kind: str, *where: str) -> Callable[[Any], Any]:
    """A link in the place of the first kernel."""
    def make(file: Any) -> None:
        file[PLACE] = getattr(import_module("h5py"), kind)(*where)

    return make


def many_links(file: Any) -> None:
    """One large array in the place of all variables."""
    file["layers/dense/vars"]["0"] = np.ones((300, 300), np.float32)
    for name in ("dense/vars/1", "dense_1/vars/0", "dense_1/vars/1"):
        del file[f"layers/{name}"]
        file[f"layers/{name}"] = file["layers/dense/vars/0"]


PLACE = "layers/dense/vars/0"
LAMBDA = {"class_name": "__lambda__", "config": {"value": ["code", None, None]}}
BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "no zip": (lambda: b"no zip at all", "no whole file of Keras"),
    "empty": (lambda: b"", "no whole file of Keras"),
    "truncated": (lambda: kept("mlp.keras")[:-300], "no whole file of Keras"),
    "flipped": (lambda: bytes(255 - b if k == 9000 else b for k, b in enumerate(kept("mlp.keras"))), "CRC"),
    "no config": (lambda: packed({"x": b""}), "has no config.json"),
    "no weights": (lambda: packed({"config.json": members()["config.json"]}), "has no model.weights.h5"),
    "zip bomb": (lambda: packed({**members(), "config.json": b" " * (1 << 26)}, zipfile.ZIP_DEFLATED), "claims"),
    "another bomb": (lambda: packed({**members(), "model.weights.h5": bytes(1 << 26)}, zipfile.ZIP_DEFLATED), "claims"),
    "no JSON": (lambda: packed({**members(), "config.json": b"{"}), "is no JSON"),
    "deep JSON": (lambda: packed({**members(), "config.json": b"[" * 100_000}), "is no JSON"),
    "a list": (lambda: said(lambda c: [1]), "an object of JSON"),
    "no layers": (lambda: said(lambda c: c["config"].update(layers=[])), "lists no layers"),
    "deep models": (lambda: said(deep), "models within models|without end"),
    "a subclass": (lambda: said(lambda c: c.update(class_name="Net", module="nets", registered_name="nets>Net")),
                   "holds a Net, which is no Sequential"),
    "lambda": (lambda: said(renamed(1, class_name="Lambda", config={"name": "f", "function": LAMBDA})),
               "f .Lambda: it holds code of Python, which is never run"),
    "unknown": (lambda: said(lambda c: [renamed(k, class_name=name)(c) for k, name in ((1, "Hashing"), (3, "My"))][1]),
                "2 layers for which there is no rule: dense .Hashing.; dense_1 .My."),
    "custom": (lambda: said(renamed(1, module="mine", registered_name="mine>Dense")), "dense .Dense of mine>Dense"),
    "activation": (lambda: said(optioned(1, activation="magic")), "dense .Dense with activation='magic'"),
    "quantised": (lambda: said(optioned(1, dtype={"class_name": "QuantizedDTypePolicy", "config": {}})),
                  "dense .Dense with dtype QuantizedDTypePolicy"),
    "twice": (lambda: said(optioned(3, name="dense")), "two layers called 'dense'"),
    "shape": (lambda: said(optioned(0, batch_shape=[None, 1 << 70])), "batch_shape .* lists sizes"),
    "dtype": (lambda: said(optioned(0, dtype="string")), "InputLayer of string"),
    "cycle": (lambda: said(cyclic, "merged"), "takes what follows from itself"),
    "call": (lambda: said(lambda c: c["config"].update(output_layers=["shared", 9, 0]), "merged"), "takes call 9"),
    "nodes": (lambda: said(lambda c: layer(c, 2).update(inbound_nodes=[[1]]), "merged"), "has args and kwargs"),
    "no HDF5": (lambda: packed({**members(), "model.weights.h5": b"x" * 999}), "no whole HDF5 file"),
    "lacks": (instead(lambda file: None), "has no numbers at " + PLACE),
    "group": (instead(lambda file: file.create_group(PLACE)), "has no numbers at " + PLACE),
    "soft link": (instead(linked("SoftLink", "/layers/dense_1/vars/0")), "is a link to elsewhere"),
    "cycle of links": (instead(linked("SoftLink", "/" + PLACE)), "is a link to elsewhere"),
    "external link": (instead(linked("ExternalLink", "other.h5", "x")), "is a link to elsewhere"),
    "external data": (instead(lambda file: file.create_dataset(
        PLACE, (5, 7), "f4", external=[("passwd", 0, 140)])), "packed or lies elsewhere"),
    "packed": (instead(lambda file: file.create_dataset(
        PLACE, data=np.zeros((5, 7), "f4"), compression="gzip")), "packed or lies elsewhere"),
    "huge": (instead(lambda file: file.create_dataset(PLACE, (1 << 20, 1 << 20), "f4")), "claims 4,398,046,511,104"),
    "many links": (instead(many_links), "claims"),
    "words": (instead(lambda file: file.create_dataset(PLACE, data=np.array([b"ab"] * 35))), "holds no numbers"),
    "integers": (instead(lambda file: file.create_dataset(PLACE, data=np.ones((5, 7), "i4"))), "holds int32 where"),
}


def whole(change: Callable[[Any], Any]) -> Callable[[], bytes]:
    """A model in one HDF5 file that is changed, given as an open one."""
    def make() -> bytes:
        out = io.BytesIO(kept("mlp.h5"))
        with import_module("h5py").File(out, "r+") as file:
            change(file)
        return out.getvalue()

    return make


def configured(change: Callable[[Any], Any]) -> Callable[[], bytes]:
    """Such a file whose configuration is changed."""
    def changed(file: Any) -> None:
        config = json.loads(file.attrs["model_config"])
        change(config)
        file.attrs["model_config"] = json.dumps(config)

    return whole(changed)


DENSE = "model_weights/dense"


def elsewhere(make: Callable[[Any, str], Any], at: str = f"{DENSE}/sequential/dense/kernel") -> Callable[[], bytes]:
    """Such a file in which something else stands at a place."""
    def change(file: Any) -> None:
        del file[at]
        make(file, at)

    return whole(change)


def attribute(name: str, value: Any, at: str = "/") -> Callable[[], bytes]:
    """Such a file with another attribute."""
    return whole(lambda file: file[at].attrs.__setitem__(name, value))


def link(kind: str, *where: str) -> Callable[[Any, str], Any]:
    """A link at a place."""
    return lambda file, at: file.__setitem__(at, getattr(import_module("h5py"), kind)(*where))


BAD_WHOLE: dict[str, tuple[Callable[[], bytes], str]] = {
    "truncated": (lambda: kept("mlp.h5")[:-900], "no whole HDF5 file"),
    "head alone": (lambda: kept("mlp.h5")[:8], "no whole HDF5 file"),
    "no config": (whole(lambda file: file.attrs.__delitem__("model_config")), "holds weights alone"),
    "many configs": (attribute("model_config", ["{}", "{}"]), "holds weights alone"),
    "a number": (attribute("model_config", 3), r"is no text, but \[.*3"),
    "no UTF-8": (attribute("model_config", b"\xff{"), "cannot be read"),
    "no JSON": (attribute("model_config", "{"), "is no JSON"),
    "nothing": (attribute("model_config", import_module("h5py").Empty("f4") if find_spec("h5py") else ""),
                "is no text|cannot be read|holds weights alone"),
    "lambda": (configured(renamed(1, class_name="Lambda", config={"name": "f", "function": LAMBDA})),
               "f .Lambda: it holds code of Python, which is never run"),
    "no names": (whole(lambda file: file[DENSE].attrs.__delitem__("weight_names")), "has 0 variables for layer dense"),
    "few names": (attribute("weight_names", ["dense/kernel"], DENSE), "has 1 variables for layer dense .Dense., which"),
    "names of numbers": (attribute("weight_names", [1.0, 2.0], DENSE), "is no text"),
    "no such place": (attribute("weight_names", ["dense/kernel", "../x"], DENSE), "has no numbers at"),
    "no layer": (elsewhere(lambda file, at: None, DENSE), "has 0 variables for layer dense"),
    "no group": (elsewhere(lambda file, at: file.create_dataset(at, data=[1.0]), "model_weights"), "has 0 variables"),
    "lacks": (elsewhere(lambda file, at: None), "has no numbers at"),
    "soft link": (elsewhere(link("SoftLink", "/model_weights/dense_1/sequential/dense_1/kernel")), "is a link to else"),
    "cycle": (elsewhere(link("SoftLink", "/model_weights"), DENSE), "is a link to elsewhere"),
    "external link": (elsewhere(link("ExternalLink", "other.h5", "x")), "is a link to elsewhere"),
    "external data": (elsewhere(lambda file, at: file.create_dataset(
        at, (5, 7), "f4", external=[("passwd", 0, 140)])), "packed or lies elsewhere"),
    "packed": (elsewhere(lambda file, at: file.create_dataset(
        at, data=np.zeros((5, 7), "f4"), compression="gzip")), "packed or lies elsewhere"),
    "huge": (elsewhere(lambda file, at: file.create_dataset(at, (1 << 20, 1 << 20), "f4")), "claims 4,398,046,511,104"),
    "words": (elsewhere(lambda file, at: file.create_dataset(at, data=np.array([b"ab"] * 35))), "holds no numbers"),
}


@needs_h5py
def test_names_that_lie_in_several_attributes(tmp_path: Path) -> None:
    def split(file: Any) -> None:
        group = file[DENSE]
        del group.attrs["weight_names"]
        group.attrs["weight_names0"] = ["sequential/dense/kernel"]
        group.attrs["weight_names1"] = ["sequential/dense/bias"]

    (tmp_path / "m.h5").write_bytes(whole(split)())
    assert keras.load(tmp_path / "m.h5").weights["dense/bias"].shape == (7,)


def deep(config: Any) -> None:
    """Models within models."""
    inner = layer(config, 1)
    for k in range(100):
        inner = {"class_name": "Sequential", "module": "keras", "config": {"name": f"m{k}", "layers": [inner]}}
    config["config"]["layers"][1] = inner


def cyclic(config: Any) -> None:
    """A layer that takes what it gives."""
    one = next(part for part in config["config"]["layers"] if part["class_name"] == "Add")
    one["inbound_nodes"][0]["args"][0][0]["config"]["keras_history"] = [one["config"]["name"], 0, 0]


@needs_h5py
@pytest.mark.parametrize(("name", "kind"), [*(("bad.keras", kind) for kind in BAD),
                                            *(("bad.h5", kind) for kind in BAD_WHOLE)])
def test_damage_is_told_in_one_line(name: str, kind: str, tmp_path: Path) -> None:
    make, says = (BAD if name == "bad.keras" else BAD_WHOLE)[kind]
    (tmp_path / name).write_bytes(make())
    with pytest.raises(DataError, match=says) as caught:
        keras.load(tmp_path / name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000


@needs_h5py
def test_a_layer_that_cannot_be_computed_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.keras").write_bytes(said(optioned(1, units=3), "mlp"))
    keras.load(tmp_path / "m.keras")(st.ones((2, 5)))       # sizes are those of the variables
    (tmp_path / "m.keras").write_bytes(said(optioned(1, padding="odd"), "cnn-last"))
    with pytest.raises(DataError, match=r"padding of conv2d .* is one of valid, same, causal, got .odd") as caught:
        keras.load(tmp_path / "m.keras")(st.ones((1, 12, 10, 3)))
    assert caught.value.__notes__ == ["This was raised by layer conv2d (Conv2D) of the Keras model."]


@needs_h5py
@needs_keras
def test_any_batch_is_taken_whatever_one_it_was_built_with(tmp_path: Path) -> None:
    theirs = import_module("keras")
    built = theirs.Sequential([theirs.layers.Dense(2)])
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    built(x[:1])
    said = theirs.Input(batch_shape=(2, 4))
    for model in (built, theirs.Model(said, theirs.layers.Dense(2)(said))):
        model.save(tmp_path / "m.keras")
        ours = keras.load(tmp_path / "m.keras")
        agree([ours(x)], [np.asarray(model(x))])
        assert [*ours.dims.values()] == [{0: "batch"}]


@needs_h5py
def test_the_page_about_it_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.keras").write_bytes(kept("mlp.keras"))
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^```.*$", "", (ROOT / "docs" / "keras.md").read_text(), flags=re.M)
    found = doctest.DocTestParser().get_doctest(text, {}, "keras.md", None, 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner().run(found, out=said.append)
    assert tried and not failed, "".join(said)
