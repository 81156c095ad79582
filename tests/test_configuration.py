"""What `stele train` takes beside workloads: configurations, files of Python, sweeps; and runs compared."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import NET
from test_report import Checker

from stele import optim
from stele.commands.arguments import parse, run
from stele.commands.options import RunsOptions, TrainOptions
from stele.commands.runs import runs
from stele.errors import DataError
from stele.train.document import lines_of
from stele.train.recipes import from_file, recipe_of
from stele.train.runs import comparison, runs_in
from stele.train.training import train

X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
Y = (X.sum(axis=1) > 0).astype(np.int64)
FILE = """\
import numpy as np
from stele import data, nn, train

X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)

def trainer(lr: float = 0.1, width: int = 3, name: str | None = None) -> train.Trainer:
    model = nn.Sequential(nn.Linear(2, width), nn.Linear(width, 1))
    return train.Trainer(model, data.Loader((X, X[:, :1]), 20), loss="mse", optimizer="sgd", lr=lr)
"""

GROUPS = """\
weight_decay = 0.1

[[optimizer.group]]
params = ["*.bias", "hidden.w*"]
weight_decay = 0.0

[[optimizer.group]]
name = "head"
params = "linear4.*"
lr = 0.25
"""

OPTIONS = """
from typing import Literal

def trainer(lr: float, sizes: tuple[int, ...] = (3,), rates: list[float] = [1.0], name: str | None = "x",
            kind: Literal["a", "b"] = "a"):
    raise RuntimeError(f"got {lr} {sizes} {rates} {name} {kind}")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez("points.npz", x=X, y=Y, x_test=X[:20], y_test=Y[:20])
    Path("net.toml").write_text(NET)
    Path("net.py").write_text(FILE)
    Path("options.py").write_text(OPTIONS)
    return tmp_path


def asked(what: str | None, **options: Any) -> TrainOptions:
    none: dict[str, Any] = dict.fromkeys(("data", "epochs", "batch", "seed", "threads", "out"))
    return TrainOptions(what, **none | options)


def history(run: Path) -> dict[str, Any]:
    return json.loads((run / "history.json").read_text())


def test_a_configuration_is_trained_and_gone_on_with(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(asked("net.toml", out=Path("run"), settings=(("layer.hidden.out_features", "4"), ("lr", "0.25"))))
    assert capsys.readouterr().out.splitlines()[-1].startswith("val accuracy ")
    Path("net.toml").unlink()       # what it said is in the checkpoint
    train(asked(None, resume=Path("run"), epochs=3))
    found = history(Path("run"))
    assert [row["epoch"] for row in found["epochs"]] == [1, 2, 3] and found["meta"]["lr"] == 0.25
    assert found["meta"]["data"] == "points" and found["meta"]["parameters"] == 3 * 4 + 9 * 2
    with pytest.raises(DataError, match=r"has lr 0\.25, got 1\.0"):
        train(asked(None, resume=Path("run"), lr=1.0))


@pytest.mark.parametrize("name", ["net.toml", "net.py"])
def test_a_run_is_gone_on_with_from_another_folder(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    train(asked(name, out=Path("run")))
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    train(TrainOptions(resume=Path("../run"), epochs=3))
    assert len(runs_in(folder / "run")[0].epochs) == 3
    with pytest.raises(DataError, match=f"has workload .*{name}, got other.toml"):
        train(TrainOptions(what="other.toml", resume=Path("../run")))
    train(TrainOptions(what=str(folder / name), resume=Path("../run"), epochs=4))


def test_layers_are_wired_and_sized(folder: Path) -> None:
    trainer = recipe_of("net.toml").trainer()
    assert [name for name, _ in trainer.model.named_parameters()] == [
        "hidden.weight", "hidden.bias", "linear4.weight", "linear4.bias"]
    assert trainer.model.get_parameter("linear4.weight").shape == (2, 6) and trainer.model.training
    assert trainer.model(X[:5]).shape == (5, 2) and type(trainer.optimizer).__name__ == "SGD"


WRONG = [
    ('epochs = 2', 'epoch = 2', r"a configuration has no 'epoch'.* at net.toml:1\. Did you mean 'epochs'\?"),
    ('epochs = 2', 'epochs = "2"', r"epochs is an int, got '2' at net.toml:1"),
    ('"accuracy"', '"acuracy"', r"there is no metric 'acuracy' at net.toml:2\. Did you mean 'accuracy'\?"),
    ('"npz"', '"npzz"', r"there is no data 'npzz' at net.toml:5"),
    ('"points.npz"', '"point.npz"', r"npz: .*No such file.* at net.toml:[46]"),
    ('batch_size = 16', 'batch_size = 0', r"data: .*batch_size.* at net.toml:[47]"),
    ('"Tanh"', '"Tan"', r"there is no layer 'Tan' at net.toml:16\. Did you mean 'tan'\?"),
    ('"Tanh"', '"Tnah"', r"there is no layer 'Tnah' at net.toml:16\. Did you mean 'Tanh'\?"),
    ('out_features = 3', 'out_feature = 3', r"Linear has no 'out_feature'.* at net.toml:12\. Did"),
    ('out_features = 3', 'bias = true', r"Linear .*out_features.* at net.toml:9"),
    ('out_features = 3', 'out_features = 3\nin_features = 5', r"hidden \(Linear\): .* 5 features.* at net.toml:9"),
    ('"active"]', '"actve"]', r"no layer before 'both' is called 'actve' at net.toml:21\. Did you mean 'active'\?"),
    ('name = "active"', 'name = "hidden"', r"two layers are called 'hidden' at net.toml:15"),
    ('"cross_entropy"', '"crossentropy"', r"no loss 'crossentropy' at net.toml:29\. Did you mean 'cross_entropy'"),
    ('label_smoothing', 'smoothing', r"cross_entropy has no 'smoothing'.* at net.toml:30\. Did"),
    ('lr = 0.5', 'rl = 0.5', r"SGD has no 'rl'.* at net.toml:34\. Did you mean 'lr'\?"),
    ('lr = 0.5', 'lr = -1.0', r"SGD needs a learning rate >= 0, got -1\.0 at net.toml:3[24]"),
    ('lr = 0.5', 'lr = 0.5\n[schedule]\nkind = "StepLR"\nstep_size = 1\nevery = "batch"',
     r"every of .*'batch' at net.toml:38"),
    ('lr = 0.5', 'lr = 0.5\n[schedule]\nkind = "ChainedScheduler"\nschedulers = [{kind = "StepLR", step = 3}]',
     r"StepLR has no 'step'.* at net.toml:37\. Did you mean 'step_size'"),
    ('lr = 0.5', 'lr = 0.5\n[[callback]]\nkind = "EMA"\ndecay = 9', r"decay of EMA must be .* at net.toml:37"),
    ('lr = 0.5', 'lr = 0.5\n[[optimizer.group]]\nlr = 1.0', r"a group is a table with params = .* at net.toml:35"),
    ('lr = 0.5', 'lr = 0.5\ngroup = [{params = []}]', r"a group is a table with params = .* at net.toml:35"),
    ('lr = 0.5', 'lr = 0.5\n[[optimizer.group]]\nname = "h"\nparams = "hiden.weight"',
     r"no parameter is called 'hiden.weight': there are .* at net.toml:37\. Did you mean 'hidden.weight'"),
    ('lr = 0.5', 'lr = 0.5\n[[optimizer.group]]\nparams = ["*.bias", "hidden"]',
     r"no parameter is called 'hidden': .* at net.toml:36\. Did you mean 'hidden\.\*'"),
    ('lr = 0.5', 'lr = 0.5\n[[optimizer.group]]\nparams = "*.bias"\nweight_decy = 0',
     r"SGD has no 'weight_decy'.* at net.toml:37\. Did you mean 'weight_decay'"),
    ('lr = 0.5', 'lr = 0.5\n[[optimizer.group]]\nparams = "*"\n[[optimizer.group]]\nparams = "*.bias"\nmomentum = -1',
     r"all that \*.bias fits is in groups before it at net.toml:38"),
    ('lr = 0.5', 'lr = 0.5\n[[optimizer.group]]\nparams = "*.weight"\n[[optimizer.group]]\nparams = "*.bias"\n'
     'momentum = -1', r"SGD needs momentum >= 0, got -1.* at net.toml:39"),
    ('lr = 0.5', 'lr = 0.5\n[[optimizer.groups]]\nparams = "*"', r"SGD has no 'groups'.*:35\. Did you mean 'group'"),
    ('epochs = 2', 'callback = ["EMAA"]', r"there is no callback 'EMAA' at net.toml:1\. Did you mean 'EMA'"),
    ('epochs = 2', 'callback = [3]', r"callback is a table or the name of a kind, got 3 at net.toml:1"),
    ('epochs = 2', 'seed = -1', r"a seed must be .*, got -1 at net.toml:1"),
    ('epochs = 2', 'clip = -1.0', r"clip .* must be at least 0, got -1.0 at net.toml:1"),
    ('metrics = ["accuracy"]', 'metrics = 3', r"metrics is a table or the name of a kind, got 3 at net.toml:2"),
    ('"points.npz"', '5', r"npz: .* at net.toml:[46]"),
    ('["hidden", "active"]', '[["hidden"]]', r"no layer before 'both' is called \['hidden'\] at net.toml:21"),
    ('["hidden", "active"]', '[]', r"no layer before 'both' is called \(\) at net.toml:21"),
    ('name = "active"', 'name = [1]', r"the name of a layer is a string, got \[1\] at net.toml:15"),
    ('out_features = 3', 'out_features = 3\nbias = [\n[1, 1],\n]\nbiass = true', r"has no 'biass'.* at net.toml:16"),
    ('[data]', '[[data]]', r"data is a table .* at net.toml:4"),
    ('label_smoothing = 0.1', 'label_smoothing = "a"', r"label_smoothing of cross_entropy .* at net.toml:30"),
    ('label_smoothing = 0.1', 'reduction = "none"', r"one number, got shape \(16,\) at net.toml:30"),
    ('out_features = 2', 'out_features = 1', r"cross_entropy: index 1 is out of range at net.toml:28"),
    ('lr = 0.5', 'lr = ', r"net.toml is no TOML: Invalid value \(at line 34"),
]


@pytest.mark.parametrize("text", [b"\xff\xfe", b"a = " + b"[" * 100_000, b"epochs = " + b"9" * 5000])
def test_what_no_toml_says_is_no_configuration(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_bytes(text)
    with pytest.raises(DataError, match=r"net.toml is no TOML: ."):
        recipe_of(str(tmp_path / "net.toml"))


@pytest.mark.parametrize("old, new, message", WRONG)
def test_what_is_wrong_is_said_with_its_line(folder: Path, old: str, new: str, message: str) -> None:
    assert old in NET
    Path("net.toml").write_text(NET.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        recipe_of("net.toml").trainer()


@pytest.mark.parametrize("what, name, text, message", [
    ("net.toml", "optimizer.rl", "1", r"SGD has no 'rl'.* at --set optimizer.rl=1\. Did you mean 'lr'\?"),
    ("net.toml", "optimizer.lr", "fast", r"lr of SGD must be a number.* at --set optimizer.lr=fast"),
    ("net.toml", "optimizer.lr", "[" * 5000, r"lr of SGD must be a number"),
    ("net.toml", "layer.hiden.bias", "false", r"there is no 'hiden' among hidden, active, both, 3"),
    ("net.toml", "epochs.more", "3", r"epochs is 2, which nothing stands under"),
    ("net.py", "wdth", "3", r"trainer\(\) in net.py takes lr, width, name, got wdth\. Did you mean width\?"),
    ("net.py", "width", "3.5", r"--set width of trainer\(\) in net.py takes a whole number, got '3.5'"),
    ("options.py", "sizes", "8,x", r"sizes of trainer\(\) in options.py takes tuple\[int, ...\], got '8,x'"),
    ("options.py", "kind", "c", r"kind of .* takes typing.Literal\['a', 'b'\], got 'c'"),
    ("options.py", "sizes", "8", r"trainer\(\) in options.py needs lr, which has no default\. Write --set lr="),
])
def test_a_wrong_setting_teaches(folder: Path, what: str, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        recipe = recipe_of(what)
        recipe.set(name, text)
        recipe.trainer()


@pytest.mark.parametrize("said, got", [
    ("sizes=8,4 rates=2 kind=b", "got 1.0 (8, 4) [2.0] x b"), ("sizes=8 name=None", "got 1.0 (8,) [1.0] None a"),
    ("sizes=[8,4] rates=[1,2.5] name=3", "got 1.0 (8, 4) [1.0, 2.5] 3 a")])
def test_options_are_of_the_kinds_that_a_file_says(folder: Path, said: str, got: str) -> None:
    recipe = recipe_of("options.py")
    for name, _, text in (word.partition("=") for word in f"lr=1 {said}".split()):
        recipe.set(name, text)
    with pytest.raises(RuntimeError) as caught:
        recipe.trainer()
    assert str(caught.value) == got


def test_a_sweep_goes_on_behind_an_error_of_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.py").write_text(FILE.replace("    model =", "    assert width != 4, 'width'\n    model ="))
    with pytest.raises(DataError, match="1 of the runs failed: width=4"):
        train(asked("net.py", out=Path("sweep"), sweep=(("width", ("4", "3")),)))
    said = capsys.readouterr().out
    assert "AssertionError: width" in said and "width=3  finished" in said
    with pytest.raises(DataError, match="1 of the runs failed: width=4"):
        train(asked("net.py", out=Path("none"), sweep=(("width", ("4",)),)))


def test_schedules_stand_in_schedules_and_callbacks_are_named_alone(folder: Path) -> None:
    inner = '[{kind = "LinearWarmup", steps = 2}, {kind = "cosine_decay", steps = 4}]'
    Path("net.toml").write_text("\ufeffcallback = ['EMA']\n" + NET + "[schedule]\nkind = 'SequentialLR'\n"
                                f"schedulers = {inner}\nmilestones = [2]\n", encoding="utf-8")
    trainer = recipe_of("net.toml").trainer()
    assert [type(x).__name__ for x in trainer.schedule.schedulers] == ["LinearWarmup", "CosineDecay"]
    trainer.fit(1)
    assert [type(x).__name__ for x in trainer.callbacks] == ["EMA"]


def test_groups_of_parameters_have_options_of_their_own(folder: Path) -> None:
    """They are those of `optim.grouped`, and are set anew by name or number, and gone on with."""
    Path("net.toml").write_text(NET + GROUPS)
    options = {"optimizer.group.head.lr": "0.125", "optimizer.group.0.momentum": "0.5"}
    trainer = from_file("net.toml", options)
    by_hand = optim.SGD(optim.grouped(trainer.model.named_parameters(), {
        "*.bias": {"weight_decay": 0.0, "momentum": 0.5}, "hidden.w*": {"weight_decay": 0.0, "momentum": 0.5},
        "linear4.*": {"lr": 0.125}}), lr=0.5, weight_decay=0.1)
    first, *others = [[(id(p), str(group)) for p in group.params] for group in by_hand.groups]
    found = [[(id(p), str(group)) for p in group.params] for group in trainer.optimizer.groups]
    assert {*found[0]} == {*first, *others[0]} and found[1:] == others[1:]
    train(asked("net.toml", out=Path("run"), settings=(("optimizer.group.head.lr", "0.125"),)))
    train(asked(None, resume=Path("run"), epochs=3))
    assert len(history(Path("run"))["epochs"]) == 3


def test_a_configuration_names_its_loggers(folder: Path) -> None:
    Path("net.toml").write_text(NET + '[[callback]]\nkind = "JSONLines"\npath = "log.jsonl"\nevery = 2\n')
    train(asked("net.toml", out=Path("run")))
    train(asked(None, resume=Path("run"), epochs=3))
    assert [json.loads(line)["step"] for line in Path("log.jsonl").read_text().splitlines()] == [2, 3, 4, 6, 6, 8, 9]


def test_lines_of_a_text() -> None:
    text = '# a\n[a.b]\nx.y = 1\n\n[[l]]\n"k e" = [\n  1,\n]\n[l.sub]\nz = 2\n[[l]]\nz = 3\n'
    assert lines_of(text) == {("a", "b"): 2, ("a", "b", "x", "y"): 3, ("l",): 5, ("l", 0): 5, ("l", 0, "k e"): 6,
                              ("l", 0, "sub"): 9, ("l", 0, "sub", "z"): 10, ("l", 1): 11, ("l", 1, "z"): 12}


def test_a_sweep_of_a_file_is_a_run_for_each_choice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = asked("net.py", out=Path("sweep"), settings=(("name", "mine"),),
                    sweep=(("lr", ("0.1", "-1", "1e-3")), ("width", ("3",))))
    with pytest.raises(DataError, match="1 of the runs failed: lr=-1,width=3"):
        train(options)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].split()[:2] == ["run", "state"] and "best train loss" in lines[-3]
    assert [line.split()[0] for line in lines[-2:]] == ["lr=0.1,width=3", "lr=1e-3,width=3"]
    train(asked(None, resume=Path("sweep/lr=0.1,width=3"), epochs=2))
    assert len(history(Path("sweep/lr=0.1,width=3"))["epochs"]) == 2
    train(asked("net.py", out=Path("sweep/plain")))
    assert history(Path("sweep/plain"))["meta"]["width"] == "3", "a default stands beside what others set"
    capsys.readouterr()
    runs(RunsOptions(Path("sweep"), Path("runs.html")))
    assert capsys.readouterr().out.splitlines()[-1] == "page runs.html"
    page = Path("runs.html").read_text()
    checker = Checker()
    checker.feed(page)
    assert not checker.open and page == comparison(Path("sweep")) and "lr=0.1,width=3" in page
    assert page.count('role="img"') == 1 and "@media (max-width: 520px)" in page


def test_a_file_that_makes_no_trainer_teaches(folder: Path) -> None:
    Path("net.py").write_text("x = 1\n")
    with pytest.raises(DataError, match=r"net.py has no function trainer\(\)"):
        recipe_of("net.py")
    Path("net.py").write_text("def trainer(): return 3\n")
    with pytest.raises(DataError, match=r"trainer\(\) in net.py has to return a stele.train.Trainer, got int"):
        recipe_of("net.py").trainer()


def test_a_folder_without_runs_teaches(folder: Path) -> None:
    with pytest.raises(DataError, match=r"there is no run in "):
        runs_in(folder)
    for text in "{}", '{"state": "done", "meta": {}, "epochs": [{"train_loss": 0.5}]}':
        Path("history.json").write_text(text)
        with pytest.raises(DataError, match="is no history of a training"):
            runs_in(folder)


def test_what_is_written_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["train", "net.toml", "--set", "optimizer.lr=0.01", "--sweep", "layer.0.bias=true,false"]) == asked(
        "net.toml", settings=(("optimizer.lr", "0.01"),), sweep=(("layer.0.bias", ("true", "false")),))
    assert parse(["runs", ".", "--html", "a.html"]) == RunsOptions(Path("."), Path("a.html"))
    assert parse(["runs", ".", "--html"]) == RunsOptions(Path("."), Path("runs.html"))
    assert parse(["train", "net.py", "--sweep", "sizes=[8,4],3"]).sweep == (("sizes", ("[8,4]", "3")),)
    for words, message in (("train none.toml", "got nothing at none.toml"),
                           ("train net.toml --set lr=1 --sweep lr=2,3", "lr is either set or tried in a sweep"),
                           ("train net.toml --set width=1 lr=2", "Did you mean --set lr=2?"),
                           ("train net.toml --set lr", "NAME=VALUE"),
                           ("train net.toml --sweep lr=", "Write --sweep lr="), ("runs none", "got nothing at"),
                           ("train --resume r --set lr=3", "Leave them away"), ("train net.toml --sets x=1", "--set?")):
        assert run(words.split(), {}) == 2
        assert message in capsys.readouterr().err
