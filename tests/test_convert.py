"""`stele convert`: every pair of forms, what is said of it, and what is refused."""
from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser
from caffe_nets import caffemodel
from huggingface import KEPT, legacy, write
from keras_models import KEPT as KERAS

import stele as st
from stele import nn
from stele.cli import COMMANDS
from stele.commands.arguments import run
from stele.commands.convert import compared
from stele.interop.convert import onnx as onnx_source
from stele.interop.convert import program
from stele.interop.convert.compare import difference, moves
from stele.interop.convert.source import cleaned

onnx = pytest.importorskip("onnx", reason="pip install 'stele-dl[onnx]'")
so = pytest.importorskip("stele.interop.onnx")
OUTS = "out.onnx", "out.stele", "out"


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4)).eval()


def model(path: Path, kind: str) -> Path:
    """A model of a kind, under `path`."""
    st.manual_seed(0)
    net, x = network(), st.randn((2, 2, 4, 4))
    if kind == "onnx":
        so.export(net, [x], path / "m.onnx", dims={"x": {0: "batch"}})
        return path / "m.onnx"
    if kind == "stele":
        f = st.compile(lambda x: net(x), dims={"x": {0: "batch"}})
        f(x)
        st.save(f, path / "m.stele")
        return path / "m.stele"
    if kind == "pt2":
        torch = pytest.importorskip("torch", reason="pip install torch")
        t = torch.nn
        made = t.Sequential(t.Conv2d(2, 3, 3), t.ReLU(), t.Flatten(), t.Linear(12, 4))
        batch = torch.export.Dim("batch")
        torch.export.save(torch.export.export(made, (torch.randn(2, 2, 4, 4),), dynamic_shapes=({0: batch},)),
                          path / "m.pt2")
        return path / "m.pt2"
    if kind == "bin":
        return legacy(path / "m.bin")
    return write(path / kind, json.loads(KEPT.read_text())[kind])


def said(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], str]:
    """What the command has printed, by the first word of a line, and the errors."""
    out, error = capsys.readouterr()
    return {line[:12].strip(): line[13:] for line in out.splitlines()}, error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["onnx", "stele", "pt2", "vit", "bin"])
@pytest.mark.parametrize("out", OUTS)
def test_every_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, out: str) -> None:
    """What was written gives what the model gives, at two batches, loaded again and in the model's own framework."""
    path = model(tmp_path, kind)
    trust = ["--trust"] * (kind == "pt2")
    assert run(["convert", str(path), str(tmp_path / out), *trust], COMMANDS) == 0
    lines, _ = said(capsys)
    assert "differs" not in lines and "mapped" in lines and "equal" in lines and "written" in lines
    assert out == "out" or not lines.get("left out")
    assert "renamed" not in lines


def test_models_that_run_code_are_read_where_one_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.pt2"
    path.write_bytes(b"nobody looks inside")
    for command in (["convert", str(path), str(tmp_path / "m.stele")], ["view", str(path)]):
        assert run(command, COMMANDS) == 2
        assert "may run code that the file holds. Give --trust" in capsys.readouterr().err


def test_weights_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, "onnx")
    assert run(["convert", str(path), str(tmp_path / "w.safetensors")], COMMANDS) == 0
    held = st.load(tmp_path / "w.safetensors")
    assert {name: x.shape for name, x in held.items()} == {
        "0.weight": (3, 2, 3, 3), "0.bias": (3,), "3.weight": (4, 12), "3.bias": (4,)}
    assert said(capsys)[0]["kept"] == "4 under their names"


def test_a_size_may_be_closed(tmp_path: Path) -> None:
    path = model(tmp_path, "onnx")
    assert run(["convert", str(path), str(tmp_path / "c.onnx"), "--dim", "batch=5"], COMMANDS) == 0
    assert so.load(tmp_path / "c.onnx").inputs[0].shape == (5, 2, 4, 4)


def test_a_model_of_onnx_is_of_the_opset_that_is_asked_for(tmp_path: Path) -> None:
    path = model(tmp_path, "onnx")
    assert run(["convert", str(path), str(tmp_path / "c.onnx"), "--opset", "23"], COMMANDS) == 0
    assert so.load(tmp_path / "c.onnx").model.versions[""] == 23


def test_what_differs_is_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """A framework that gives other numbers is told, and one that fails says why."""
    path, opened = model(tmp_path, "onnx"), onnx_source.opened
    for answer, code, words in ((lambda x: [np.zeros((len(x[0]), 4), "f4")], 1, "differs"),
                                (lambda x: 1 / 0, 0, "it fails, division by zero")):
        def changed(path: Path, answer: Any = answer) -> Any:
            found = opened(path)
            return type(found)(**{**vars(found), "original": answer})

        monkeypatch.setattr(onnx_source, "opened", changed)
        assert run(["convert", str(path), str(tmp_path / f"{code}.stele")], COMMANDS) == code
        assert words in capsys.readouterr().out


def answering(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Any], Any]) -> None:
    """Has the framework that a model of ONNX is of answer so."""
    opened = onnx_source.opened
    monkeypatch.setattr(onnx_source, "opened", lambda path: replace(opened(path), original=answer))


@pytest.mark.parametrize("away, verdict, code", [(9e-6, "equal", 0), (2e-5, "differs", 1), (np.nan, "differs", 1)])
def test_equal_is_within_1e_5(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                              away: float, verdict: str, code: int) -> None:
    path = model(tmp_path, "onnx")
    ours = so.load(path)
    answering(monkeypatch, lambda x: [ours(st.tensor(x[0])).numpy() + np.float32(away)])
    assert run(["convert", str(path), str(tmp_path / "m.stele")], COMMANDS) == code
    lines = [line for line in capsys.readouterr().out.splitlines() if "on what came in" in line]
    assert [line.split()[0] for line in lines] == [verdict]


@pytest.mark.parametrize("dtype, scale", [("float32", 100), ("float16", 0.1), ("bfloat16", 0.1)])
def test_what_rounding_takes_further_apart_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                      monkeypatch: pytest.MonkeyPatch, dtype: str,
                                                      scale: float) -> None:
    """The sine of large sums: any order of them is right, and no two are within 1e-5. What is more is not rounding."""
    w = st.tensor((np.random.default_rng(0).normal(size=(512, 3)) * scale).astype("f4")).astype(dtype)
    so.export(st.compile(lambda x: st.sin(x @ w)), [st.ones((2, 512), dtype=dtype)], tmp_path / "m.onnx")
    exact = w.numpy().astype("f8")
    for factor, verdict, code in ((1, "rounds", 0), (1.5, "differs", 1)):
        answering(monkeypatch, lambda x, factor=factor: [
            np.sin(x[0].astype("f8") @ exact * factor).astype(x[0].dtype)])
        assert run(["convert", str(tmp_path / "m.onnx"), str(tmp_path / f"{factor}.stele")], COMMANDS) == code
        line = next(line for line in capsys.readouterr().out.splitlines() if "on what came in" in line)
        assert line.startswith(verdict) and "from float64 Stele is" in line


def test_what_float64_cannot_compute_is_not_taken_for_rounding(tmp_path: Path) -> None:
    f = st.compile(lambda x: x.view("int32").view("float32") * 2)
    f(st.ones(3))
    st.save(f, tmp_path / "m.stele")
    source, x = program.opened(tmp_path / "m.stele"), np.ones(3, "f4")
    found = compared("it", lambda x: x[0] * 2 + np.float32(1e-4), source, [[x]], [[x * 2]], "differs")
    assert found.verdict == "differs" and "float64 cannot compute it: " in found.said


def test_a_size_that_is_one_number_only_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[n, m] x) => (float[3, k] y) <int64[2] s = {3, -1}>
    {[turn] y = Reshape(x, s)}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    command = ["convert", str(tmp_path / "m.onnx"), str(tmp_path / "out.stele")]
    assert run(command, COMMANDS) == 2
    assert re.search(r"error: .*\. This was raised by node Reshape turn of the ONNX model\. "
                     r"Open sizes were tried as n=2, m=2: --dim closes one", said(capsys)[1])
    assert run([*command, "--dim", "n=3"], COMMANDS) == 0 and "differs" not in said(capsys)[0]


def test_programs_go_out_with_the_state_that_they_came_with(tmp_path: Path) -> None:
    count = st.tensor(5.0)

    @st.compile
    def f(x):
        count.assign(count + 1)
        return x * count + st.rand(2)

    f(st.ones(2))
    st.save(f, tmp_path / "f.stele")
    assert run(["convert", str(tmp_path / "f.stele"), str(tmp_path / "g.stele")], COMMANDS) == 0
    made = [st.load(tmp_path / name) for name in ("f.stele", "g.stele")]
    assert made[0](st.ones(2)).tolist() == made[1](st.ones(2)).tolist()


def test_what_comes_out_has_derivatives(tmp_path: Path) -> None:
    assert run(["convert", str(model(tmp_path, "onnx")), str(tmp_path / "net.stele")], COMMANDS) == 0
    net, x = st.load(tmp_path / "net.stele"), st.ones((2, 2, 4, 4))
    net(x).sum().backward()
    assert all(np.any(w.grad.numpy()) for w in net.state.values() if w.requires_grad)
    assert np.any(st.grad(lambda x: net(x).sum())(x).numpy())


def test_complex_numbers_are_compared_with_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    f = st.compile(lambda x: (x * x, st.fft.fft(x), x.real))
    f(st.tensor(np.array([1 + 2j, 3j], "c8")))
    st.save(f, tmp_path / "f.stele")
    assert run(["convert", str(tmp_path / "f.stele"), str(tmp_path / "f.onnx")], COMMANDS) == 0
    assert "equal" in said(capsys)[0]


def test_results_by_name_are_compared_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keras returns them in another order than the file has them."""
    pytest.importorskip("h5py", reason="pip install 'stele-dl[keras]'")
    with zipfile.ZipFile(KERAS) as kept:
        (tmp_path / "m.keras").write_bytes(kept.read("merged.keras"))
    assert run(["convert", str(tmp_path / "m.keras"), str(tmp_path / "m.onnx")], COMMANDS) == 0
    assert "differs" not in capsys.readouterr().out


def test_the_framework_of_a_model_is_not_loaded_to_read_it(tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="pip install 'stele-dl[keras]'")
    with zipfile.ZipFile(KERAS) as kept:
        (tmp_path / "m.keras").write_bytes(kept.read("merged.keras"))
    code = ("import sys, pathlib; from stele.interop.convert.keras import opened; opened(pathlib.Path(sys.argv[1])); "
            "print(*{'keras', 'tensorflow', 'jax', 'torch'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "m.keras"], capture_output=True, text=True,
                          check=True)
    assert not done.stdout.strip()


def test_models_of_keras_in_one_hdf5_file_go_out_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("h5py", reason="pip install 'stele-dl[keras]'")
    with zipfile.ZipFile(KERAS) as kept:
        (tmp_path / "m.h5").write_bytes(kept.read("mlp.h5"))
    assert run(["convert", str(tmp_path / "m.h5"), str(tmp_path / "m.safetensors")], COMMANDS) == 0
    assert "5 under their names" in capsys.readouterr().out
    assert {"MatMul", "dense", "dense_1"} <= {*layers_drawn(tmp_path / "m.h5")}


def layers_drawn(path: Path) -> list[str]:
    """What stands at the top of a drawing, and the kinds of its nodes."""
    page = path.with_suffix(".html")
    assert run(["view", str(path), "--out", str(page)], COMMANDS) == 0
    made = re.search(r'id="model">(.*?)</script>', page.read_text(), re.DOTALL)
    boxes = json.loads(made[1])["boxes"] if made else []
    return [b["name"] for b in boxes if b["up"] < 0] + [b["kind"] for b in boxes if "kind" in b]


def test_nets_of_caffe_are_drawn_in_their_layers(tmp_path: Path) -> None:
    conv = "convolution_param { num_output: 2 kernel_size: 1 bias_term: false }"
    (tmp_path / "m.prototxt").write_text(
        'input: "x" input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 3\n'
        f'layer {{ name: "block/a" type: "Convolution" bottom: "x" top: "y" {conv} }}\n'
        f'layer {{ name: "block/b" type: "Convolution" bottom: "y" top: "z" {conv} }}\n')
    w = np.ones((2, 2, 1, 1), "f4")
    (tmp_path / "m.caffemodel").write_bytes(caffemodel({"block/a": [w], "block/b": [w * 2]}))
    assert layers_drawn(tmp_path / "m.prototxt") == ["x", "block", "0", "Input", "Conv2d", "Conv2d", "Output"]


BAD = [
    ("none.onnx out.onnx", "a model needs to be an existing file or folder, got nothing at"),
    ("m.onnx out.onx", "a model is written as .onnx, .stele, .safetensors or a folder of a library, got out.onx."),
    ("m.onnx m.onnx", "m.onnx is there already. Remove it first"),
    ("m.onnx none/out.onnx", "needs an existing folder"),
    ("m.onnx out.stele --opset 22", "--opset is of a model of ONNX, got out.stele to be written."),
    ("m.onnx out.onnx --opset 20", "--opset"),
    ("m.onnx out.onnx --dim bach=3", "the model has no open size 'bach'; open are batch Did you mean 'batch'?"),
    ("bad.onnx out.onnx", "bad.onnx is no ONNX model"),
    ("w.safetensors out.onnx", "w.safetensors holds weights and not how to compute"),
    ("m.txt out.onnx", "is no model that is known by its name"),
    ("empty out.onnx", "config.json cannot be read"),
]


@pytest.mark.parametrize("line, words", BAD)
def test_errors_teach(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str,
                      words: str) -> None:
    monkeypatch.chdir(tmp_path)
    model(tmp_path, "onnx")
    Path("bad.onnx").write_bytes(b"nothing")
    Path("m.txt").write_bytes(b"nothing")
    Path("empty").mkdir()
    st.save({"w": st.ones(2)}, "w.safetensors")
    assert run(["convert", *line.split()], COMMANDS) == 2
    assert words.replace(" Did you mean 'b", ". Did you mean 'b") in capsys.readouterr().err.replace("\n", " ")
    assert not Path("out.onnx").exists()


def test_weights_are_found_under_other_names_and_turned() -> None:
    rng = np.random.default_rng(0)
    a, b, c, d = (rng.normal(size=s).astype("f4") for s in ((2, 3, 4, 5), (3, 4), (3,), (2,)))
    found = moves({"a": a, "b": b, "c": c, "d": d}, {"b": b, "x": a.transpose(3, 2, 0, 1), "y": c, "n": d + 1})
    assert (found.kept, found.renamed, found.left, found.new) == (("b",), (("c", "y"),), ("d",), ("n",))
    (old, new, axes), = found.transposed
    assert (old, new) == ("a", "x") and np.array_equal(a.transpose(axes), a.transpose(3, 2, 0, 1))
    ones = np.ones(3)
    names = "1.weight", "1.running_var"
    assert moves(dict.fromkeys(names, ones), {f"w[{n!r}]": ones for n in names}).renamed == tuple(
        (n, f"w[{n!r}]") for n in names)


def test_differences_are_those_of_dtypes_and_shapes_too() -> None:
    x = np.float32([1, np.nan])
    assert difference(x, x) == 0 and difference([x], [x, x]) == np.inf and difference(x, x.astype("f8")) == np.inf
    half = st.tensor([1.0, 2.0]).astype("bfloat16").numpy()
    assert difference(half, half) == 0 and difference(half, half * half) == 0.5
    assert difference(np.complex64([3 + 4j]), np.complex64([3 + 5j])) == pytest.approx(34 ** -0.5)
    assert difference(np.float32([np.inf]), np.float32([1])) == np.inf and difference(x, x[:1]) == np.inf


def test_a_library_has_a_name_that_c_takes(tmp_path: Path) -> None:
    assert run(["convert", str(model(tmp_path, "onnx")), str(tmp_path / "né t")], COMMANDS) == 0
    assert (tmp_path / "né t" / "n__t.h").is_file()


def test_names_are_those_that_python_takes() -> None:
    assert cleaned(["x", "x", "1", "a.b", "if", ""]) == ["x", "x_", "x_1", "a_b", "x_if", "x__"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["stele", "pt2", "vit"])
def test_models_of_every_kind_are_drawn(tmp_path: Path, kind: str) -> None:
    path = model(tmp_path, kind)
    trust = ["--trust"] * (kind == "pt2")
    assert run(["view", str(path), "--out", str(tmp_path / "page.html"), *trust], COMMANDS) == 0
    text = (tmp_path / "page.html").read_text()
    assert {"stele": "net.3.weight", "pt2": "3.weight", "vit": "vit.layernorm.weight"}[kind] in text
    with Browser() as browser:
        browser.open(tmp_path / "page.html")
        browser.press("[data-do=unfold]")
        assert browser.run("boxes.filter(b => b.kind === 'Input').length") == 1
        assert browser.run("boxes.filter(b => b.kind === 'Output').every(b => b.from.length === 1)")
        assert browser.complaints() == []
        assert not {"StopGradient", "TorchModule", "ViTModel", "Sequential"} & {*browser.run(
            "boxes.flatMap(b => [b.kind, b.name])")}
