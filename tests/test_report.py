"""What a run shows and leaves behind."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stele.errors import DataError, StorageError
from stele.train.chart import Series, chart, nice_step
from stele.train.history import POINTS, Curve, History
from stele.train.page import STYLE, page
from stele.train.report import Progress, table
from stele.train.run import Run, default_folder
from stele.train.trainer import Place


def row(epoch: int, train_loss: float, train_accuracy: float, test_loss: float, test_accuracy: float, seconds: float
        ) -> dict[str, Any]:
    return {"epoch": epoch, "train_loss": train_loss, "train_accuracy": train_accuracy, "test_loss": test_loss,
            "test_accuracy": test_accuracy, "seconds": seconds}


EPOCHS = [row(1, 1.2, 0.61, 0.9, 0.7, 3.0), row(2, 0.7, 0.78, 0.65, 0.8049, 3.1)]
META = {"workload": "cnn", "data": "a <sample> & more", "seed": 0, "epochs": 3}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Training:
    """As much of a trainer as a progress bar looks at."""

    def __init__(self, epochs: int, batches: int, loss: float = 0.5, done: int = 0) -> None:
        self.epochs, self.batches, self.loss = epochs, batches, loss
        self.begin(done)

    def begin(self, epoch: int) -> None:
        self.place = Place(epoch)
        self.place.length = self.batches

    @property
    def epoch(self) -> int:
        return self.place.epoch

    def results(self) -> dict[str, float]:
        return {"loss": self.loss, "accuracy": 0.5}

    def learn(self, progress: Any, samples: int) -> None:
        self.place.add({}, samples)
        progress.on_batch_end(self)


def train(progress: Any) -> None:
    trainer: Any = Training(2, 3)
    progress.on_train_begin(trainer)
    for row in EPOCHS:
        trainer.begin(row["epoch"] - 1)
        progress.on_epoch_begin(trainer)
        for count in (4, 4, 2):
            trainer.learn(progress, count)
        progress.on_epoch_end(trainer, row)
    progress.on_train_end(trainer, None)


def test_plain_lines() -> None:
    out = io.StringIO()
    train(Progress(out))
    lines = out.getvalue().splitlines()
    assert lines[1] == "epoch 2/2  train loss 0.7000 accuracy 0.7800  test loss 0.6500 accuracy 0.8049  3.1 s"
    assert len(lines) == 2 and "\x1b" not in out.getvalue()


def test_plain_lines_while_an_epoch_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stele.train.report.EVERY", 0.0)
    out = io.StringIO()
    train(Progress(out))
    assert re.fullmatch(r"epoch 1/2  batch 2/3  loss 0\.5000  accuracy 0\.5000  [\d,]+ samples/s  \d+ s left",
                        out.getvalue().splitlines()[1])


def test_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stele.train.report.REFRESH", 0.0)
    out = Terminal()
    train(Progress(out))
    for part in ("1/2", "100%", "loss 0.5", "acc", "/s", "0:00"):
        assert part in out.getvalue()


def test_the_bar_fits_60_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("stele.train.report.REFRESH", 0.0)
    out = Terminal()
    progress, trainer = Progress(out), cast(Any, Training(100, 10, 123.456, done=9))
    progress.on_train_begin(trainer)
    progress.on_epoch_begin(trainer)
    for _ in range(3):
        trainer.learn(progress, 5_000)
    assert progress.bar
    progress.bar.refresh()
    progress.on_train_end(trainer, None)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    shown = [line for line in re.split(r"[\r\n]", text) if "30%" in line]
    assert shown and all(len(line) <= 60 and re.search(r"loss 123.5 acc 0.500 \S+/s \d+:\d\d", line)
                                  for line in shown)


def test_the_time_left_leaves_the_first_step_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("stele.train.report.time.perf_counter", lambda: now[0])
    out = io.StringIO()
    progress, trainer = Progress(out), cast(Any, Training(1, 10))
    progress.on_epoch_begin(trainer)
    for seconds in (30, 3, 3):      # the first step compiles
        now[0] += seconds
        trainer.learn(progress, 100)
    assert "33 samples/s  21 s left" in out.getvalue()


def test_table_ends_with_the_test_accuracy() -> None:
    assert table(EPOCHS).splitlines()[-1] == "test accuracy 0.8049"
    assert len({len(line) for line in table(EPOCHS).splitlines()[:3]}) == 1
    assert table([]) == "epoch  seconds"


def test_a_run_leaves_a_history_and_a_page(tmp_path: Path) -> None:
    with Run(tmp_path / "run", META) as run:
        assert read(run.folder)["state"] == "running" and (run.folder / "curves.html").exists()
        run.step(0.5, 2.0)
        run.epoch(EPOCHS[0])
        assert len(read(run.folder)["epochs"]) == 1
        run.epoch(EPOCHS[1])
        run.finish(parameters=12)
    history = read(run.folder)
    assert history["state"] == "finished" and history["meta"]["parameters"] == 12
    assert history["epochs"][1] == {"epoch": 2, "train_loss": 0.7, "train_accuracy": 0.78, "test_loss": 0.65,
                                    "test_accuracy": 0.8049, "seconds": 3.1}
    assert history["steps"] == {"epoch": [0.5], "train_loss": [2.0]}
    assert {"command", "seed", "python", "numpy", "llvmlite", "stele"} <= set(history["meta"])
    assert sorted(path.name for path in run.folder.iterdir()) == ["curves.html", "history.json"]


@pytest.mark.parametrize("error, state, message", [
    (KeyboardInterrupt(), "interrupted", "Interrupted after 1 of 3 epochs, 1 of them tested; go on with: "
                                         "stele train --resume {folder}"),
    (DataError("bad <file>"), "failed", "DataError: bad <file>")])
def test_a_run_that_ends_early_is_usable(tmp_path: Path, error: BaseException, state: str, message: str) -> None:
    with pytest.raises(type(error)), Run(tmp_path, META) as run:
        run.epoch(EPOCHS[0])
        raise error
    assert (read(tmp_path)["state"], read(tmp_path)["message"]) == (state, message.format(folder=tmp_path))
    assert state in (tmp_path / "curves.html").read_text(encoding="utf-8")


def test_an_interrupted_run_says_how_far_it_came() -> None:
    history = History({"epochs": 3})
    assert history.so_far() == "before the first step was kept, 3 epochs were asked for"
    history.curve.add(0.25, 1.0)
    assert history.so_far() == "after 0.25 of 3 epochs, 0 of them tested"
    history.epochs.append(EPOCHS[0])
    assert history.so_far() == "after 1 of 3 epochs, 1 of them tested"


def test_a_page_has_a_form_for_narrow_windows() -> None:
    narrow = STYLE.partition("@media (max-width: 520px)")[2]
    assert "section > svg { min-width: 0; }" in narrow and "thead th { white-space: normal;" in narrow


def test_ctrl_c_in_a_process(tmp_path: Path) -> None:
    code = ("import sys, time\nfrom pathlib import Path\nfrom stele.train.run import Run\n"
            "with Run(Path(sys.argv[1]), {}) as run:\n    print('ready', flush=True)\n    time.sleep(60)")
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert process.stdout and process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert read(tmp_path / "run")["state"] == "interrupted"


def test_a_run_does_not_overwrite_another(tmp_path: Path) -> None:
    with Run(tmp_path, META):
        pass
    with pytest.raises(DataError, match="folder of its own"), Run(tmp_path, META):
        pass
    (tmp_path / "file").write_text("")
    with (pytest.raises(StorageError, match=r"making the folder .*file failed: File exists. Give another path"),
          Run(tmp_path / "file", META)):
        pass


def test_default_folder_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "20260102-030405")
    first = default_folder("gru")
    first.mkdir(parents=True)
    assert str(first) == "runs/gru-20260102-030405" and str(default_folder("gru")) == "runs/gru-20260102-030405-2"


def test_losses_that_are_not_finite_keep_the_history_valid() -> None:
    history = History({}, epochs=[row(1, float("nan"), 0.1, float("inf"), 0.1, 1.0), EPOCHS[1]])
    assert json.loads(history.to_json())["epochs"][0]["train_loss"] is None
    assert "not finite" in page(history) and "nan" not in page(history)


@given(st.integers(1, 5000))
def test_the_curve_of_steps_stays_small_and_keeps_the_mean(count: int) -> None:
    curve = Curve()
    for k in range(count):
        curve.add(k, float(k % 7))
    assert len(curve.x) < 2 * POINTS and curve.x == sorted(curve.x)
    used = len(curve.x) * curve.stride
    assert count - used < curve.stride
    assert sum(curve.loss) * curve.stride == pytest.approx(sum(k % 7 for k in range(used)))


class Checker(HTMLParser):
    """Every element is closed, nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert tag not in ("script", "img", "iframe")
        assert not any((value or "").startswith(("http", "//")) for _, value in attrs)
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_page_is_well_formed(count: int) -> None:
    history = History(META, epochs=[row(k + 1, 1 / (k + 1), 0.5, 1.0, 0.5 + k / 100, 2.0) for k in range(count)])
    text = page(history)
    checker = Checker()
    checker.feed(text)
    assert not checker.open and checker.seen.count("table") == 1 + (count > 0)
    assert "a &lt;sample&gt; &amp; more" in text and "<sample>" not in text
    assert "prefers-color-scheme: dark" in text and "url(" not in text and "@import" not in text
    assert text.count('role="img"') == (2 if count else 0)


@given(st.floats(1e-6, 1e6), st.integers(2, 12))
def test_ticks_are_few_and_round(span: float, count: int) -> None:
    step = nice_step(span, count)
    assert span / step <= count * 1.01 and span / step * 2.6 >= count * 0.95
    assert f"{step:e}"[0] in "1259"


def test_a_diverging_loss_fits() -> None:
    text = page(History({}, epochs=[row(1, 3e9, 0.1, 2.0, 0.1, 1.0), row(2, 1.5e12, 0.1, 9e11, 0.1, 1.0)]))
    assert "1.5e+12" in text and not re.search(r"\d{8}", text)


def test_last_values_do_not_touch() -> None:
    lines = [Series(name, name, [1.0, 2.0], [1.0, last]) for name, last in (("train", 0.5), ("test", 0.5001))]
    svg = chart("Loss", lines, str)
    heights = [float(y) for y in re.findall(r'class="last \w+" x="[\d.]+" y="([\d.]+)"', svg)]
    assert len(heights) == 2 and abs(heights[0] - heights[1]) >= 17


def read(folder: Path) -> dict:
    return json.loads((folder / "history.json").read_text(encoding="utf-8"))
