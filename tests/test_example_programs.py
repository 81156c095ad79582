"""The programs of `examples/` run two steps on tiny data of the true formats, and keep to what all of them share."""
from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stele import data

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
SMALL = {"char_gpt": {"LENGTH": 4, "CONTEXT": 16, "LAYERS": 1}, "dcgan": {"CODE": 4, "WIDTH": 4},   # for two steps
         "diffusion": {"DRAWN": 16, "STEPS": 2, "WIDTH": 8}, "resnet": {"WIDTHS": (2, 4, 6)}, "transfer": {"FEW": (1,)},
         "unet": {"SIZE": 32, "BATCH": 2, "WIDTHS": (4, 4, 4)},
         "ctc": {"ASKED": 4, "BATCH": 4}, "dqn": {"ASKED": 4, "PUSHES": 4}, "mixture": {"ASKED": 1},
         "graph_network": {"ASKED": 6, "BATCH": 2, "ROUNDS": 1, "PLACES": 6}, "neural_ode": {"ASKED": 4, "TIMES": 2},
         "reinforce": {"ASKED": 4, "PUSHES": 4}, "seq2seq": {"ASKED": 4, "BATCH": 4}, "sentiment": {"HIDDEN": 4}}
REVIEWS = {"pos": "a fine film , and a good one", "neg": "a dull film , and a bad one"}


def few() -> data.Splits:
    """What stands for the packaged images."""
    part = data.ArrayDataset(np.random.default_rng(0).integers(0, 256, (16, 1, 28, 28), np.uint8), np.arange(16) % 10)
    return data.Splits("few", tuple("0123456789"), part, part)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All data sets, tiny."""
    here, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for name in ("cifar-10-batches-bin", "tiny_shakespeare"):
        (here / name).mkdir()
    images = rng.integers(0, 256, (10, 3073), np.uint8)
    images[:, 0] = np.arange(10)
    images.tofile(here / "cifar-10-batches-bin" / "test_batch.bin")
    for k in range(5):
        images[2 * k:2 * k + 2].tofile(here / "cifar-10-batches-bin" / f"data_batch_{k + 1}.bin")
    (here / "tiny_shakespeare" / "input.txt").write_text(("".join(map(chr, range(32, 96))) + "\n") * 8)
    for part in ("train", "test"):
        for k, (label, text) in enumerate(REVIEWS.items()):
            (here / "aclImdb" / part / label).mkdir(parents=True)
            for j in range(4):
                (here / "aclImdb" / part / label / f"{j}_{9 - 7 * k}.txt").write_text(text)
    return here


def program(name: str) -> ModuleType:
    return importlib.import_module(f"examples.{name}")


def text(name: str) -> str:
    return (ROOT / "examples" / f"{name}.py").read_text()


def needs(name: str) -> list[str]:
    """The libraries that an example imports when it is run, and that are not here."""
    found = [node.names[0].name if isinstance(node, ast.Import) else node.module or ""
             for node in ast.walk(ast.parse(text(name))) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [name for name in found if importlib.util.find_spec(name.partition(".")[0]) is None]


def test_there_are_examples() -> None:
    assert "vae" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_what_all_of_them_are(name: str) -> None:
    found = program(name)
    assert len(text(name).splitlines()) < 150
    assert f"python examples/{name}.py" in (found.__doc__ or "") and re.search(r"\d", found.RESULT)
    assert not re.search(r"stele\.(arrays|ops|ir|tracing|errors|files)\b", text(name)), "public names alone"
    assert [*inspect.signature(found.main).parameters] == ["argv"]
    assert (ROOT / "benchmarks" / "examples_torch" / f"{name}.py").exists()
    assert callable(found.training_step())


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs(name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BACKEND", "reference")    # nothing is compiled for two steps
    monkeypatch.setattr(data, "fashion_sample", few)
    for constant, value in SMALL.get(name, {}).items():
        monkeypatch.setattr(program(name), constant, value)
    missing = needs(name)
    argv = [["--epochs", "1"], ["--steps", "2"]]['"--steps"' in text(name)]
    argv += ["--data", str(folder)] if '"--data"' in text(name) else []
    argv += [] if missing else ["--figure", str(tmp_path / "figure.png")]
    if set(missing) - {"matplotlib", "matplotlib.pyplot"}:
        pytest.skip(f"needs {', '.join(missing)}: pip install -e '.[examples]'")
    found = program(name).main(argv)
    assert found and all(isinstance(x, float) and np.isfinite(x) for x in found.values())
    assert program(name).reached(found) in (True, False)
    assert missing or (tmp_path / "figure.png").stat().st_size
