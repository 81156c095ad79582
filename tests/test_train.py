"""The training workloads from files to a run folder, small, in this process and as a user runs them."""
from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import ROOT, fashion
from safetensors.numpy import load_file

from stele import nn
from stele.commands.options import TrainOptions
from stele.data import ArrayDataset, Loader, Splits, find_images, find_texts
from stele.errors import DataError
from stele.stop import Stop, Stopped
from stele.train import workloads
from stele.train.models import Cnn, ResNet20, ResNet50, Sentiment
from stele.train.run import Run
from stele.train.training import train
from stele.train.workloads import Classifier


def small(data: Splits, count: int, tests: int) -> Splits:
    """Every class alike, few of each."""
    def some(part: ArrayDataset, count: int) -> ArrayDataset:
        chosen = np.sort(np.argsort(np.random.default_rng(0).random(len(part)))[:count])
        return ArrayDataset(part.x[chosen], part.y[chosen])
    return replace(data, train=some(data.train, count), test=some(data.test, tests))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packaged samples, a few hundred of each."""
    for name, find in (("cnn", find_images), ("gru", find_texts)):
        data = small(find(None), 320, 100)
        workload = replace(workloads.WORKLOADS[name], find=lambda _, data=data: data)
        monkeypatch.setitem(workloads.WORKLOADS, name, workload)


def stele(*words: str, cwd: Path, **flags: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    return subprocess.run([sys.executable, "-m", "stele", *words], cwd=cwd, capture_output=True, text=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT), **flags})


@pytest.mark.parametrize("workload, parameters", [("cnn", 2_672_692), ("gru", 3_818_302)])
def test_a_workload_learns_and_leaves_a_run_folder(few: None, workload: str, parameters: int, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    train(TrainOptions(workload, None, 2, 64, 0, None, out))
    printed = capsys.readouterr().out.splitlines()
    history = json.loads((out / "history.json").read_text())
    assert sorted(path.name for path in out.iterdir()) == [
        "checkpoint.safetensors", "curves.html", "history.json", "model.safetensors"]
    assert history["state"] == "finished" and history["meta"]["parameters"] == parameters
    first, last = history["epochs"]
    assert last["train_loss"] < first["train_loss"] and set(last) == {
        "epoch", "train_loss", "train_accuracy", "test_loss", "test_accuracy", "seconds"}
    assert printed[-1] == f"test accuracy {last['test_accuracy']:.4f}" and f"run folder {out}" in printed


def test_the_saved_model_gives_the_printed_accuracy(few: None, tmp_path: Path) -> None:
    train(TrainOptions("cnn", None, 1, 64, 3, None, tmp_path / "run"))
    data = workloads.WORKLOADS["cnn"].find(None)
    model = Cnn(1, 28)
    model.load(tmp_path / "run" / "model.safetensors")
    accuracy = Classifier(model).evaluate(Loader((data.test.x, data.test.y), 33))["accuracy"]
    history = json.loads((tmp_path / "run" / "history.json").read_text())
    assert accuracy == pytest.approx(history["epochs"][0]["test_accuracy"])


def test_a_seed_repeats_a_run_and_another_does_not(few: None, tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        train(TrainOptions("gru", None, 1, 64, seed, None, tmp_path / name))
    a, b, c = (load_file(tmp_path / name / "model.safetensors") for name in "abc")
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not all(np.array_equal(a[name], c[name]) for name in a)


def bits(run: Path) -> dict[str, bytes]:
    """The numbers a run has learnt."""
    return {name: x.tobytes() for name, x in load_file(run / "model.safetensors").items()}


def told(run: Path) -> Any:
    """What a run remembers, without clocks."""
    history = json.loads((run / "history.json").read_text())
    return history["state"], history["steps"], [{**epoch, "seconds": 0} for epoch in history["epochs"]]


@pytest.mark.parametrize("workload, optimizer", [("cnn", "sgd"), ("gru", "adamw")])
def test_a_run_goes_on_to_the_bits_of_one_that_never_stopped(few: None, workload: str, optimizer: str, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TrainOptions(workload, None, 2, 64, 5, None, tmp_path / "whole", 1e-3, optimizer)
    train(whole)
    check, left = Stop.check, [0]

    def stopping(stop: Stop) -> None:
        left[0] -= 1
        if not left[0]:
            stop.hear(signal.SIGTERM, None)
        check(stop)

    monkeypatch.setattr(Stop, "check", stopping)
    options = replace(whole, out=tmp_path / "parts")
    for steps in (2, 4, 3):     # inside an epoch, in the test behind it, inside another
        left[0] = steps
        with pytest.raises(Stopped):
            train(options)
        assert told(tmp_path / "parts")[0] == "interrupted"
        options = TrainOptions(None, None, None, None, None, None, None, resume=tmp_path / "parts")
    train(options)
    assert bits(tmp_path / "parts") == bits(tmp_path / "whole") and told(tmp_path / "parts") == told(tmp_path / "whole")
    train(replace(options, epochs=3))
    train(replace(whole, epochs=3, out=tmp_path / "longer"))
    assert bits(tmp_path / "parts") == bits(tmp_path / "longer")
    assert told(tmp_path / "parts") == told(tmp_path / "longer")
    with pytest.raises(DataError, match=r"has seed 5, got 6\. Leave it out"):
        train(replace(options, seed=6))


def test_a_last_short_batch_needs_no_second_program() -> None:
    model = Sentiment(words=50, features=4, hidden=3)
    trainer = Classifier(model, optimizer="sgd", lr=0.1)
    for n in (8, 8, 3, 1):
        trainer.train_on_batch((np.ones((n, 5), np.int32), np.zeros(n, np.int64)))
    assert trainer.programs.learn.compiles == 1      # type: ignore[union-attr]


@pytest.mark.parametrize("model, count, names", [
    (Cnn, 3_441_592, ["conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "conv3.weight", "conv3.bias",
                      "conv4.weight", "conv4.bias", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]),
    (Sentiment, 3_818_302, ["embedding.weight", "gru.weight_ih_l0", "gru.weight_hh_l0", "gru.bias_ih_l0",
                            "gru.bias_hh_l0", "fc.weight", "fc.bias"])])
def test_models_have_pytorchs_names_and_sizes(model: type[nn.Module], count: int, names: list[str]) -> None:
    made = model()
    assert [name for name, _ in made.named_parameters()] == names
    assert sum(p.size for p in made.parameters()) == count


def test_residual_networks_have_the_published_names_and_sizes() -> None:
    big, little = ResNet50(), ResNet20()
    assert sum(p.size for p in big.parameters()) == 25_557_032
    assert {"layer1.0.downsample.0.weight", "layer4.2.bn3.running_var", "fc.bias"} <= set(big.state_dict())
    assert sum(p.size for p in little.parameters()) == 269_722 and "layer3.2.conv2.weight" in little.state_dict()


def test_as_a_process_without_a_path(tmp_path: Path) -> None:
    folder = fashion(tmp_path / "fashion", packed=False, count=192)
    done = stele("train", "cnn", "--data", str(folder), "--epochs", "2", "--threads", "2", "--out", "run", cwd=tmp_path,
                 PATH="")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert re.fullmatch(r"test accuracy [01]\.\d{4}", done.stdout.splitlines()[-1])
    again = stele("train", "cnn", "--data", str(folder), "--epochs", "1", "--out", "run", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == ("error: a run needs a folder of its own, got run, which holds one. "
                            "Give another folder, go on with it (resume=True, or --resume), or delete it.\n")


def test_ctrl_c_leaves_a_usable_run(tmp_path: Path) -> None:
    folder = fashion(tmp_path / "fashion", packed=False, count=6400)
    process = subprocess.Popen([sys.executable, "-u", "-m", "stele", "train", "cnn", "--data", str(folder),
                                "--epochs", "50", "--out", "run"], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        assert process.stdout and process.stdout.readline().startswith("epoch 1/50")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert re.fullmatch("stopping after this step; once more stops at once\ninterrupted; the run so far is in run, "
                        r"saved after step \d+, go on with: stele train --resume run\n", error)
    history: dict[str, Any] = json.loads((tmp_path / "run" / "history.json").read_text())
    assert history["state"] == "interrupted" and history["steps"]["train_loss"]
    model = Cnn(1, 28)
    model.load(tmp_path / "run" / "model.safetensors")


def test_a_signal_while_the_first_files_are_written_leaves_a_run(tmp_path: Path, few: None,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    write = Run.write

    def interrupted(run: Run) -> None:
        monkeypatch.setattr(Run, "write", write)
        signal.raise_signal(signal.SIGTERM)
        write(run)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    monkeypatch.setattr(Run, "write", interrupted)
    try:
        with pytest.raises(Stopped):
            train(TrainOptions("cnn", None, 1, 64, 5, None, tmp_path / "run"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert told(tmp_path / "run")[0] == "interrupted"
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"checkpoint.safetensors", "curves.html",
                                                                    "history.json", "model.safetensors"}


def test_signals_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)       # as under nohup
    try:
        with Stop() as stop:
            signal.raise_signal(signal.SIGHUP)
            stop.check()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_was_stopped_is_not_stopped_when_it_begins_again(capsys: pytest.CaptureFixture[str]) -> None:
    stop = Stop()
    with stop, pytest.raises(Stopped):
        stop.hear(signal.SIGTERM, None)
        stop.check()
    with stop:
        stop.check()
    assert "stopping after this step" in capsys.readouterr().err


def test_a_terminal_that_is_gone_stops_a_run_as_sighup_does() -> None:
    code = """
import os, time
from stele.stop import Stop
with Stop() as stop:
    print("ready", flush=True)
    while not stop.number:
        time.sleep(0.01)
    print("saved", flush=True)
    os._exit(7)
"""
    child, terminal = pty.fork()
    if not child:
        os.execve(sys.executable, [sys.executable, "-c", "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
                                   + code], {**os.environ, "PYTHONPATH": str(ROOT)})
    assert os.read(terminal, 5) == b"ready"
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_signals_save_first_and_the_run_goes_on(tmp_path: Path) -> None:
    folder = str(fashion(tmp_path / "fashion", packed=False, count=256))
    for name, number, ended in (("whole", 0, 0), ("term", signal.SIGTERM, 143), ("hup", signal.SIGHUP, 129)):
        command = [sys.executable, "-u", "-m", "stele", "train", "cnn", "--data", folder, "--epochs", "3", "--out",
                   name]
        process = subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": str(ROOT)},     # nohup ignores SIGHUP
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        assert process.stdout and process.stdout.readline().startswith("epoch 1/3")
        if number:
            process.send_signal(number)
        _, error = process.communicate(timeout=120)
        assert process.returncode == ended, error
    for name in ("term", "hup"):
        assert told(tmp_path / name)[0] == "interrupted"
        done = stele("train", "--resume", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert bits(tmp_path / name) == bits(tmp_path / "whole") and told(tmp_path / name) == told(tmp_path / "whole")


@pytest.mark.parametrize("words, message", [
    (("--data", "nowhere"), "--data needs an existing folder, got nowhere. Is the path right?"),
    (("--data", "empty"), "got an empty folder at empty."),
    (("--data", "cut"), "cut/train-images-idx3-ubyte"),
    (("--out", "file"), "--out needs a folder, got the file file."),
    (("--lr", "fast"), "--lr needs a number, got 'fast'."), (("--lr", "-1"), "--lr needs a learning rate above 0"),
    (("--optimizer", "adm"), "Did you mean adam?"),
    (("--resume", "empty"), "needs checkpoint.safetensors, got none in empty. Is the path right?"),
    (("--resume", "empty", "--out", "x"), "Leave --out away."),
    (("--epochs", "0"), "--epochs needs a number in 1..100000, got 0."),
    (("--batches", "8"), "Did you mean --batch-size?"),
])
def test_bad_input_is_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    images = next(fashion(tmp_path / "cut", packed=False).glob("train-images*"))
    images.write_bytes(images.read_bytes()[:5000])
    before = sorted(tmp_path.rglob("*"))
    done = stele("train", "cnn", *words, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and message in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
