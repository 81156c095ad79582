"""The training loop: what it computes, what it goes on with, and what happens beside it."""
from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, metrics, nn, optim, train
from stele.errors import ArgumentError, DataError, NotANumber, OptionError, SteleError, TraceError, UnknownName
from stele.stop import Stopped
from stele.train.callbacks import FALLING, RISING, words
from stele.train.checkpoint import Checkpoint
from stele.train.parts import METRICS, snake

X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
Y = (X.sum(axis=1) > 0).astype(np.int64)


def net() -> nn.Module:
    st.manual_seed(3)
    return nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.25), nn.Linear(4, 2))


def loader(**options: Any) -> data.Loader:
    return data.Loader((X, Y), 16, shuffle=True, seed=1, **options)


def bits(model: nn.Module) -> dict[str, bytes]:
    return {name: x.numpy().tobytes() for name, x in model.state_dict().items()}


def rows(history: train.History) -> list[dict[str, Any]]:
    return [{**row, "seconds": 0} for row in history.epochs]


class StopAt(train.Callback):
    """Asks for a stop behind batch k, counted over epochs and validations."""

    def __init__(self, keep: Checkpoint, k: int) -> None:
        self.keep, self.left = keep, k

    def on_batch_end(self, trainer: train.Trainer) -> None:
        self.left -= 1
        self.keep.stop.number = 15 * (self.left <= 0)

    on_validation_batch = on_batch_end


def test_it_is_the_loop_by_hand() -> None:
    model, batches = net(), loader()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @st.compile(dims={"x": {0: "batch"}, "y": {0: "batch"}})
    def step(x: st.Tensor, y: st.Tensor) -> st.Tensor:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    means = []
    for _ in range(2):
        losses = [(float(step(x, y)), len(y)) for x, y in batches]
        means.append(sum(loss * n for loss, n in losses) / sum(n for _, n in losses))
    other = net()
    trainer = train.Trainer(other, loader(), loss="cross_entropy", metrics=["accuracy"], epochs=2, validation=loader(),
                            optimizer=lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9))
    history = trainer.fit()
    assert bits(other) == bits(model) and history["train_loss"] == means
    assert trainer.steps == 6 and other.training
    assert trainer.programs.learn.traces == trainer.programs.measure.traces == 1  # type: ignore
    with st.no_grad():
        right = other.eval()(st.tensor(X)).argmax(axis=1).numpy() == Y
    assert history["val_accuracy"][-1] == pytest.approx(right.mean())


OPTIONS: Mapping[str, Any] = {"loss": "cross_entropy", "optimizer": "adamw", "lr": 0.05, "metrics": "accuracy",
                              "accumulate": 2, "clip": 0.5}


def run(folder: Path, stop: int | None, epochs: int = 2) -> train.Trainer:
    """A training with all that can be gone on with, which is stopped behind so many batches."""
    keep = Checkpoint(folder, resume=True, best=True)
    callbacks = [train.EMA(0.5), train.EarlyStopping(9, restore=False), train.JSONLines(folder / "log.jsonl", every=1),
                 keep, *([StopAt(keep, stop)] if stop else [])]
    trainer = train.Trainer(net(), loader(), validation=data.Loader((X, Y), 20), epochs=epochs, callbacks=callbacks,
                            schedule=lambda optimizer: optim.CosineDecay(optimizer, 9), **OPTIONS)
    if stop is None:
        trainer.fit()
    else:
        with pytest.raises(Stopped):
            trainer.fit()
    return trainer


def log(folder: Path) -> list[dict[str, Any]]:
    return [{**json.loads(line), "seconds": 0} for line in (folder / "log.jsonl").read_text().splitlines()]


def test_a_training_that_is_stopped_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", None)
    for stop in (2, 1, 1, 2, 1):    # between steps, in a validation, between epochs; each goes on where the last stood
        run(tmp_path / "parts", stop)
    parts = run(tmp_path / "parts", None)
    assert bits(parts.model) == bits(whole.model) and rows(parts.history) == rows(whole.history)
    assert parts.history.curve == whole.history.curve and log(tmp_path / "parts") == log(tmp_path / "whole")
    means = [[m.tolist() for m in trainer.callbacks[1].means.means] for trainer in (parts, whole)]  # type: ignore
    assert means[0] == means[1] and float(parts.optimizer.lr) == float(whole.optimizer.lr) < 0.05
    assert parts.history.state == "finished" and parts.steps == 4 and (tmp_path / "parts/best.safetensors").exists()
    longer = run(tmp_path / "parts", None, epochs=3)
    assert len(longer.history.epochs) == 3 and longer.steps == 6


class Rivals(train.Trainer):
    """Two optimisers, a loss with parameters, and numbers that a step moves."""

    def __init__(self, model: nn.Sequential, **options: Any) -> None:
        super().__init__(model, optimizer=lambda _: optim.Adam(model[0].parameters(), lr=0.05), **options)
        self.others = [optim.Adam(model[2].parameters(), lr=0.05)]
        self.drift, self.scale = st.tensor(0.0), {"up": st.tensor(1.0, requires_grad=True)}
        self.head, self.plain = model[2], nn.ReLU()

    def training_step(self, batch: Any) -> st.Tensor:
        x, y = batch
        self.others[0].zero_grad()
        nn.cross_entropy(self.model(x), y).backward()
        self.others[0].step()
        with st.no_grad():
            self.drift.assign(self.drift * 0.5 + x.mean())
            self.scale["up"].assign(self.scale["up"] * 1.25)
        return nn.cross_entropy(self.model(x), y) * (1 + self.drift) * self.scale["up"]


def test_what_a_trainer_of_ones_own_keeps_beside_goes_on_too(tmp_path: Path) -> None:
    def learn(name: str, epochs: int) -> train.Trainer:
        trainer = Rivals(net(), data=loader(), epochs=epochs, callbacks=[Checkpoint(tmp_path / name, resume=True)])
        trainer.fit()
        return trainer

    learn("parts", 2)
    whole, parts = learn("whole", 4), learn("parts", 4)
    assert bits(parts.model) == bits(whole.model) and rows(parts.history) == rows(whole.history)
    own = [name for name in parts.state_dict() if name.startswith("own")]
    assert own == ["own.others.0", "own"] and list(parts.state_dict()["own"]) == ["own.drift", "own.scale.up"]
    state = parts.state_dict()
    del state["own"]
    with pytest.raises(DataError, match="it lacks 'own'"):
        parts.load_state_dict(state)


def test_a_second_training_in_a_folder_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    refused = list[str]()

    def learn(*more: train.Callback) -> train.History:
        return train.fit(net(), loader(), loss="cross_entropy", epochs=1,
                         callbacks=[Checkpoint(tmp_path, resume=True), *more])

    class Second(train.Callback):
        def on_batch_end(self, trainer: train.Trainer) -> None:
            before = (tmp_path / "checkpoint.safetensors").read_bytes()
            with pytest.raises(DataError, match="another training is going on") as caught:
                learn()
            assert (tmp_path / "checkpoint.safetensors").read_bytes() == before
            refused.append(str(caught.value))

    assert learn(Second()).state == "finished" and len(refused) == 3
    assert learn().state == "finished"


def test_a_list_of_batches_is_gone_on_with_too(tmp_path: Path) -> None:
    batches = [(X[k:k + 16], Y[k:k + 16]) for k in (0, 16, 32)]
    found = []
    for folder, stops in (("whole", []), ("parts", [2, 2])):
        for stop in [*stops, None]:
            keep = Checkpoint(tmp_path / folder, resume=True)
            trainer = train.Trainer(net(), batches, loss="cross_entropy", lr=0.1, epochs=2,
                                    callbacks=[keep, *([StopAt(keep, stop)] if stop else [])])
            if stop:
                with pytest.raises(Stopped):
                    trainer.fit()
            else:
                found.append((bits(trainer.fit() and trainer.model), rows(trainer.history)))
    assert found[0] == found[1]


def test_gradients_of_several_batches_are_those_of_one() -> None:
    found = []
    for size, accumulate in ((40, 1), (10, 4), (10, 8)):     # the last one has fewer batches than it waits for
        model = nn.Linear(2, 2)
        model.load_state_dict({"weight": np.eye(2, dtype=np.float32), "bias": np.zeros(2, np.float32)})
        trainer = train.Trainer(model, data.Loader((X, Y), size), loss="cross_entropy", optimizer="sgd", lr=1.0,
                                accumulate=accumulate, compiled=False)
        trainer.fit()
        found.append(model.weight.numpy())
        assert trainer.steps == 1
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-5)


def test_no_step_is_traced_anew_behind_the_first_epoch() -> None:
    model = nn.Sequential(nn.Linear(2, 4), nn.LazyLinear(2))     # whose code looks up whatever there is
    model[0].requires_grad_(False)      # whose steps Adam does not count
    trainer = train.Trainer(model, loader(), loss="cross_entropy", validation=loader(), epochs=3, accumulate=2)
    trainer.fit()
    made: Any = trainer.programs
    assert (made.learn.traces, made.measure.traces, made.finish.traces) == (2, 1, 1)


class Two(train.Trainer):
    """Two inputs by name, a number more, and another measure to validate by."""

    def training_step(self, batch: Any) -> Any:
        y = self.model(batch["x"])
        return {"loss": ((y - batch["y"]) ** 2).mean(), "size": abs(y).mean()}

    def validation_step(self, batch: Any) -> Any:
        return abs(self.model(batch["x"]) - batch["y"]).mean()


def test_steps_of_ones_own() -> None:
    batch = {"x": X[:, :1], "y": 2 * X[:, :1]}
    model = nn.Linear(1, 1)
    trainer = Two(model, [batch], validation=[batch], optimizer="sgd", lr=0.1, compiled=False, epochs=2)
    history = trainer.fit()
    assert list(history.epochs[0]) == ["epoch", "train_loss", "train_size", "val_loss", "seconds"]
    with st.no_grad():
        assert history["val_loss"][-1] == pytest.approx(float(abs(model(batch["x"]) - batch["y"]).mean()))
    assert trainer.evaluate([batch]) == {"loss": history["val_loss"][-1]}
    assert trainer.fit(3) is history and len(history.epochs) == 3


def test_numbers_that_change_are_no_part_of_a_compiled_step() -> None:
    class Annealed(train.Trainer):
        def training_step(self, batch: Any) -> Any:
            return self.model(batch).mean() * self.steps

    class Logged(train.Trainer):
        def training_step(self, batch: Any) -> Any:
            return st.log(1 + abs(self.model(batch))).mean()    # a name that the trainer has too

    with pytest.raises(TraceError, match="cannot follow the trainer's steps"):
        Annealed(nn.Linear(2, 2), [X]).fit()
    logged = Logged(nn.Linear(2, 2), [X], epochs=3, validation=[X], callbacks=[train.GradientStatistics(1)])
    logged.fit()
    assert logged.programs.learn.traces == logged.programs.measure.traces == 1    # type: ignore[union-attr]


def test_layers_that_do_not_train_stay_so() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).train()
    model[1].eval()
    train.fit(model, loader(), loss="cross_entropy", validation=loader(), compiled=False)
    assert not model[1].training and model[2].training and model[1].running_mean.tolist() == [0, 0, 0]


@pytest.mark.parametrize("every", ["step", "epoch"])
def test_schedules_follow_steps_or_epochs(every: str) -> None:
    trainer = train.Trainer(nn.Linear(2, 2), loader(), loss="cross_entropy", optimizer="sgd", lr=1.0, epochs=2,
                            schedule=lambda optimizer: optim.ExponentialLR(optimizer, 0.5), schedule_every=every,
                            compiled=False)
    trainer.fit()
    assert float(trainer.optimizer.lr) == 0.5 ** (6 if every == "step" else 2)


def test_a_plateau_is_told_the_loss() -> None:
    trainer = train.Trainer(nn.Linear(2, 2), loader(), loss="cross_entropy", optimizer="sgd", lr=1e-9, epochs=3,
                            schedule=lambda o: optim.ReduceLROnPlateau(o, patience=0, eps=0.0), compiled=False)
    trainer.fit()
    assert float(trainer.optimizer.lr) == pytest.approx(1e-11)


def test_every_metric_says_whether_it_should_fall() -> None:
    assert {name for name in METRICS if name == snake(name) and not words(name) & (FALLING | RISING)} == {
        "confusion_matrix", "mean"}     # which are no measure, and whatever one likes
    assert not any(words(name) & FALLING and words(name) & RISING for name in METRICS)


def test_early_stopping_goes_back_to_the_best() -> None:
    seen: list[dict[str, bytes]] = []

    class Seen(train.Callback):
        def on_epoch_end(self, trainer: train.Trainer, row: dict[str, Any]) -> None:
            seen.append(bits(trainer.model))

    model = nn.Linear(2, 2)
    stop = train.EarlyStopping(2, "train_accuracy", mode="min", restore=True)
    history = train.fit(model, loader(), loss="cross_entropy", metrics="accuracy", optimizer="sgd", lr=0.5, epochs=20,
                        callbacks=[stop, Seen()], compiled=False)
    accuracies = history["train_accuracy"]
    best = accuracies.index(min(accuracies))
    assert len(seen) == best + 3 < 20 and bits(model) == seen[best] and stop.best == accuracies[best]
    for patience in (0, 1):     # as in Keras and in Lightning
        stop = train.EarlyStopping(patience, least=1e9)
        assert len(train.fit(model, loader(), loss="cross_entropy", epochs=9, callbacks=stop).epochs) == 2
    with pytest.raises(OptionError, match=r"monitor must be 'train_loss', got 'val_loss'.* Did you mean 'train_loss'"):
        train.fit(model, loader(), loss="cross_entropy", callbacks=[train.EarlyStopping(1, "val_loss")], compiled=False)


class Logs(nn.Module):
    def __init__(self) -> None:
        self.fc = nn.Linear(2, 2)

    def forward(self, x: st.Tensor) -> st.Tensor:
        return st.log(self.fc(x))


def test_the_nan_guard_names_op_layer_and_line_and_keeps_the_batch(tmp_path: Path) -> None:
    model = nn.Sequential(Logs())
    before = bits(model)
    guard = train.NanGuard(tmp_path / "nan.safetensors")
    with pytest.raises(NotANumber) as caught:
        train.fit(model, [(X, Y)], loss="cross_entropy", callbacks=[guard])
    said = str(caught.value)
    assert "Log made NaN of float32[40,2]" in said and f"{tmp_path}/nan.safetensors" in said
    assert f"test_trainer.py:{Logs.forward.__code__.co_firstlineno + 1} (0)" in said
    state = st.load(tmp_path / "nan.safetensors")
    assert np.array_equal(state["batch"][0].numpy(), X) and bits(model) == before
    assert {name: x.numpy().tobytes() for name, x in state["model"].items()} == before


def test_a_schedule_as_long_as_the_training_is_stepped_to_its_end() -> None:
    trainer = train.Trainer(net(), loader(), loss="cross_entropy", epochs=2, compiled=False,
                            schedule=lambda optimizer: optim.OneCycleLR(optimizer, 0.1, epochs=2, steps_per_epoch=3))
    trainer.fit()
    assert trainer.steps == 6 and float(trainer.optimizer.lr) == pytest.approx(0.1 / 25 / 1e4)
    with pytest.raises(ArgumentError, match="OneCycleLR ends at step 6, asked for step 7"):
        trainer.fit(3)


def test_a_rate_is_found_for_an_optimizer_inside_of_another_one() -> None:
    finder = train.LearningRateFinder(1e-4, 1.0, steps=10)
    trainer = train.Trainer(net(), loader(), loss="cross_entropy", compiled=False, callbacks=finder,
                            optimizer=lambda parameters: optim.Lookahead(optim.SGD(parameters, lr=0.1)),
                            schedule=lambda slow: optim.StepLR(slow.optimizer, 100))
    trainer.fit()
    assert float(trainer.optimizer.lr) == pytest.approx(finder.found)
    trainer.optimizer.zero_grad(set_to_none=False)
    with pytest.raises(ArgumentError, match=r"Give the one that it holds, \.optimizer\."):
        optim.StepLR(trainer.optimizer, 100)


def test_numbers_of_batches_are_weighted_by_their_lengths_and_loaders_of_pytorch_are_taken() -> None:
    class Batches:
        batch_sampler = dataset = None

        def __iter__(self) -> Any:
            return iter([(X[k:k + 16], Y[k:k + 16]) for k in (0, 16, 32)])

    def share(predictions: st.Tensor, labels: st.Tensor) -> st.Tensor:
        return (predictions.argmax(axis=1) == labels).float().mean()

    for compiled in (False, True):
        history = train.fit(net(), Batches(), loss="cross_entropy", metrics={"own": share, "accuracy": "accuracy"},
                            compiled=compiled)
        assert history["train_own"] == pytest.approx(history["train_accuracy"])


def test_an_order_of_pytorchs_that_is_not_kept_is_told() -> None:
    class RandomSampler:
        """What there is of one."""

    class Batches:
        batch_sampler = dataset = None
        sampler = RandomSampler()

        def __iter__(self) -> Any: return iter([(X[:8], Y[:8])] * 2)

    loader = data.Loader(Batches())
    loader.load_state_dict(loader.state_dict())
    next(iter(loader))
    with pytest.warns(UserWarning, match="PyTorch's generator, of which no state is kept"):
        loader.load_state_dict(loader.state_dict())


def test_a_history_is_shown_in_a_line() -> None:
    history = train.fit(nn.Linear(2, 2), [(X, Y)], loss=lambda predictions, target: predictions.sum() * 0, epochs=2)
    assert repr(history) == "History(finished, 2 epochs, train_loss=0)"
    assert repr(train.History({})) == "History(running, 0 epochs)"


@pytest.mark.parametrize("error, state", [(KeyboardInterrupt(), "interrupted"), (ValueError("no"), "failed")])
def test_a_history_says_how_a_training_ended(error: BaseException, state: str) -> None:
    errors = [error]

    class Once(train.Callback):
        def on_batch_end(self, trainer: Any) -> None:
            if errors:
                raise errors.pop()

    trainer = train.Trainer(nn.Linear(2, 2), [(X, Y)] * 2, loss="cross_entropy", callbacks=Once())
    with pytest.raises(type(error)):
        trainer.fit()
    assert trainer.history.state == state and trainer.fit().state == "finished" and not trainer.history.message


def test_a_rate_is_found_and_all_is_as_before() -> None:
    st.manual_seed(0)
    model, batches = nn.Linear(2, 2), loader()
    before = bits(model)
    finder = train.LearningRateFinder(1e-4, 100.0, steps=40)

    class Look(train.Callback):
        def on_epoch_begin(self, trainer: train.Trainer) -> None:
            assert bits(model) == before and trainer.steps == 0 and not trainer.history.curve.x
            assert float(trainer.optimizer.lr) == pytest.approx(finder.found)

    trainer = train.Trainer(model, batches, loss="cross_entropy", optimizer="sgd", callbacks=[finder, Look()])
    trainer.fit()
    assert len(finder.losses) > 5 and min(finder.losses) < finder.losses[0] and 1e-3 < (finder.found or 0) < 100
    assert next(iter(data.Loader((X, Y), 16, shuffle=True, seed=1).batches(1)))[1].tolist() == \
        next(iter(batches))[1].tolist()


@pytest.mark.parametrize("lr", [0.1, 0.0])
def test_a_rate_is_found_for_a_warm_up_from_zero(lr: float) -> None:
    finder = train.LearningRateFinder(1e-4, 1.0, steps=10)
    trainer = train.Trainer(net(), loader(), loss="cross_entropy", callbacks=[finder], compiled=False,
                            optimizer=lambda p: optim.SGD([{"params": p[:2]}, {"params": p[2:], "lr": 2 * lr}], lr),
                            schedule=lambda optimizer: optim.InverseSqrt(optimizer, 3))
    trainer.fit()
    assert trainer.schedule.bases == [finder.found, finder.found * (2 if lr else 1)]    # type: ignore[operator]
    assert float(trainer.optimizer.lr) == pytest.approx(trainer.schedule.bases[0])      # at the third of three steps


def test_no_rate_is_found_for_a_schedule_with_rates_of_its_own() -> None:
    trainer = train.Trainer(net(), loader(), loss="cross_entropy", callbacks=[train.LearningRateFinder()],
                            schedule=lambda optimizer: optim.OneCycleLR(optimizer, 0.1, 10))
    with pytest.raises(ArgumentError, match=r"OneCycleLR has rates of its own .* as max_lr"):
        trainer.fit()


def test_what_is_kept_at_the_end_is_the_model_and_what_was_logged_before(tmp_path: Path) -> None:
    for k in range(2):
        model = nn.Linear(2, 2)
        train.fit(model, loader(), loss="cross_entropy", lr=0.5, epochs=4, compiled=False, callbacks=[
            train.EarlyStopping(0, mode="max", restore=True), Checkpoint(tmp_path / f"{k}"),
            train.JSONLines(tmp_path / "log.jsonl")])
        kept = nn.Linear(2, 2)
        kept.load(tmp_path / f"{k}" / "model.safetensors")
        assert bits(kept) == bits(model)
    assert [line["epoch"] for line in log(tmp_path)] == [1, 2] * 2


def test_a_training_goes_on_behind_an_error() -> None:
    class Broken(train.Callback):
        def on_batch_end(self, trainer: train.Trainer) -> None:
            if trainer.steps == 2:
                raise ValueError("mine")

    trainer = train.Trainer(nn.Linear(2, 2), loader(), loss="cross_entropy", compiled=False, callbacks=[Broken()])
    with pytest.raises(ValueError, match="mine"):
        trainer.fit()
    trainer.callbacks = []
    assert len(trainer.fit().epochs) == 1 and trainer.steps == 3


def test_gradients_are_measured() -> None:
    told: list[Mapping[str, Any]] = []

    class Heard(train.Callback):
        def on_log(self, trainer: train.Trainer, values: Mapping[str, Any]) -> None:
            told.append(values)

    model = nn.Linear(2, 2)
    train.fit(model, [(X, Y)], loss="cross_entropy", optimizer="sgd", lr=0.0, compiled=False,
              callbacks=[train.GradientStatistics(1), Heard()])
    w, b = (float(np.linalg.norm(p.grad.numpy())) for p in model.parameters())  # type: ignore[union-attr]
    assert told[0]["gradient_norm"] == pytest.approx(math.hypot(w, b))
    assert told[0]["gradient/weight"] == pytest.approx(w) and told[0]["change/weight"] == 0


def test_validation_runs_with_the_means() -> None:
    model = nn.Linear(2, 2)
    ema = train.EMA(decay=1.0)      # what the parameters were at first
    first = bits(model)
    train.fit(model, loader(), loss="cross_entropy", lr=0.1, validation=[(X, Y)], callbacks=[ema], compiled=False)
    now = bits(model)
    with ema.means.applied():
        assert bits(model) == first
    assert bits(model) == now != first


def test_the_best_model_is_the_one_that_was_measured(tmp_path: Path) -> None:
    for monitor in ("val_loss", "train_loss"):
        model, held = net(), [(X, Y)]
        stop = train.EarlyStopping(0, monitor, restore=True)
        keep = Checkpoint(tmp_path / monitor, best=True, monitor=monitor)
        history = train.fit(model, loader(), loss="cross_entropy", lr=0.2, epochs=3, validation=held,
                            callbacks=[train.EMA(0.9), stop, keep])
        for weights in (model.state_dict(), st.load(tmp_path / monitor / "best.safetensors")):
            other = net()
            other.load_state_dict(weights)
            loss = train.Trainer(other, loss="cross_entropy").evaluate(held)["loss"]
            assert (loss == min(history["val_loss"])) is (monitor == "val_loss")


@pytest.mark.parametrize("stop", [4, 5, 7])     # behind the first validation, in the second epoch and its validation
def test_data_to_validate_on_are_those_of_the_epoch(stop: int, tmp_path: Path) -> None:
    def noisy(batch: Any, rng: np.random.Generator) -> Any:
        return batch[0] + rng.normal(size=batch[0].shape).astype(np.float32), batch[1]

    def learn(name: str, stop: int = 0) -> list[dict[str, Any]]:
        keep = Checkpoint(tmp_path / name, resume=True, every=0)
        held, callbacks = loader(batch_transform=noisy), [keep, *([StopAt(keep, stop)] if stop else [])]
        trainer = train.Trainer(net(), loader(), loss="cross_entropy", epochs=3, validation=held, callbacks=callbacks)
        if not stop:
            return rows(trainer.fit())
        with pytest.raises(Stopped):
            trainer.fit()
        return []

    learn("parts", stop)
    assert learn("parts") == learn("whole")


def test_a_look_at_the_data_in_the_midst_of_an_epoch_changes_nothing() -> None:
    class Looking(train.Callback):
        def on_batch_end(self, trainer: train.Trainer) -> None:
            before = trainer.data.state_dict()
            losses.append(trainer.evaluate(trainer.data)["loss"])
            assert trainer.data.state_dict() == before

    losses = list[float]()
    models = [net(), net()]
    for model, callbacks in zip(models, ([], [Looking()])):
        st.manual_seed(5)
        train.fit(model, loader(), loss="cross_entropy", epochs=2, callbacks=callbacks)
    assert len(set(losses)) == len(losses) == 6 and bits(models[0]) == bits(models[1])


def test_an_optimizer_of_another_model_is_told() -> None:
    other = optim.SGD(nn.Linear(2, 2).parameters(), 0.1)
    with pytest.warns(UserWarning, match="holds no parameter of the model, which learns nothing"):
        train.Trainer(nn.Linear(2, 2), loss="mse", optimizer=other)


Elsewhere = type("Elsewhere", (), {"__module__": "torch.nn", "__call__": lambda self, *x: 0})


WRONG: list[tuple[dict[str, Any], type[SteleError], str]] = [
    ({"loss": "crossentropy"}, OptionError, "Did you mean 'cross_entropy'?"),
    ({"optimizer": "adamm"}, OptionError, "Did you mean 'adam'?"),
    ({"optimizer": 3}, ArgumentError, "an optimizer is a name"),
    ({"metrics": ["f1"]}, ArgumentError, "Write metrics.F1(...)."),
    ({"metrics": ["accuracy", metrics.Accuracy(2)]}, ArgumentError, "two metrics are called 'accuracy'"),
    ({"data": (X, Y)}, ArgumentError, "Write data.Loader((x, y), batch_size=64, shuffle=True)."),
    ({"data": iter([(X, Y)])}, ArgumentError, "gives its batches once"),
    ({"validation": (X, Y)}, ArgumentError, "Write data.Loader((x, y), batch_size=64)."),
    ({"loss": Elsewhere()}, ArgumentError, "got one of torch: a torch.Elsewhere"),
    ({"optimizer": Elsewhere}, ArgumentError, "an optimizer is one of stele.optim, got one of torch"),
    ({"data": []}, ArgumentError, "without any"),
    ({"schedule": 3}, ArgumentError, "Write schedule=lambda optimizer"),
    ({"schedule_every": "batch"}, OptionError, "schedule_every must be 'step' or 'epoch'"),
    ({"epochs": 0}, SteleError, "epochs must be at least 1"),
]


@pytest.mark.parametrize("options, error, message", WRONG)
def test_wrong_options_teach(options: dict[str, Any], error: type[SteleError], message: str) -> None:
    given = {"data": [(X, Y)], "loss": "cross_entropy", **options}
    with pytest.raises(error) as caught:
        train.Trainer(nn.Linear(2, 2), **given)
    assert message in str(caught.value)


def test_what_cannot_be_trained_teaches(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="needs a loss, or a training_step of its own"):
        train.fit(nn.Linear(2, 2), [(X, Y)], compiled=False)
    with pytest.raises(ArgumentError, match="the model takes and the target, got one array"):
        train.fit(nn.Linear(2, 2), [X], loss="mse", compiled=False)
    for parts, said in (((X, X, Y), "of 3 parts with 2, too many"), ((Y,), "what the model takes and the target")):
        with pytest.raises(ArgumentError, match=said):
            train.fit(nn.Linear(2, 2), [parts], loss="cross_entropy", compiled=False)
    with pytest.raises(ArgumentError, match="a dict, with None under 'loss'"):
        train.fit(nn.Linear(2, 2), [(X, Y)], loss=lambda predictions, target: None, compiled=False)
    with pytest.raises(ArgumentError, match=r"of Stele's, got one of torch.*from_torch\(module, \(x,\)\)"):
        train.Trainer(Elsewhere())
    with pytest.raises(ArgumentError, match=r"evaluate needs data.*validation="):
        train.Trainer(nn.Linear(2, 2), loss="mse").evaluate()
    with pytest.raises(ArgumentError, match=r"whether 'val_hits' should fall or rise.*mode='min'"):
        train.EarlyStopping(monitor="val_hits")
    with pytest.raises(ArgumentError, match="fit needs data"):
        train.Trainer(nn.Linear(2, 2), loss="mse").fit()
    with pytest.raises(DataError, match="none of this trainer: it lacks 'model'"):
        train.Trainer(nn.Linear(2, 2)).load_state_dict({"epoch": 3})
    with pytest.raises(AttributeError, match=r"Write train.Checkpoint\(folder\)"):
        st.train.ModelCheckpoint    # noqa: B018  # pyright: ignore
    with pytest.raises(AttributeError, match="It has epoch, train_loss"):
        train.History({}, epochs=[{"epoch": 1, "train_loss": 1.0}])["train_los"]


def test_batches_of_tf_data_are_arrays() -> None:
    class Dataset:
        """What there is of one."""
        def __len__(self) -> int: return 3
        def __iter__(self) -> Any: raise AssertionError("tensors of another library")
        def as_numpy_iterator(self) -> Any: return iter([(X, Y)] * 3)

    model, other = net(), net()
    history = train.fit(model, Dataset(), loss="cross_entropy", epochs=2, validation=Dataset())
    assert bits(model) != bits(net()) and len(history["val_loss"]) == 2
    train.fit(other, [(X, Y)] * 3, loss="cross_entropy", epochs=2, validation=[(X, Y)])
    assert bits(model) == bits(other)


def test_waiting_layers_are_made_by_the_first_batch() -> None:
    model = nn.Sequential(nn.LazyLinear(2))
    trainer = train.Trainer(model, loader(), loss="cross_entropy", compiled=False)
    assert model[0].weight.shape == (2, 2) and len(trainer.optimizer.parameters) == 2
    assert trainer.data.state_dict()["epoch"] == 0


def numbers_of(logger: train.Logger) -> None:
    train.fit(nn.Linear(2, 2), [(X, Y)] * 2, loss="cross_entropy", callbacks=[logger], compiled=False)


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    made = iter(["Once upon a time", np.full((2, 3, 4, 5), 0.5), np.full((3, 4, 5), np.nan)])
    shown = train.Samples(lambda _: next(made), tmp_path / "samples")
    train.fit(nn.Linear(2, 2), [(X, Y)] * 2, loss="cross_entropy", callbacks=[train.TensorBoard(tmp_path, 1), shown],
              epochs=3, compiled=False)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert {"loss", "lr", "train_loss"} <= set(events.Tags()["scalars"])
    assert len(events.Scalars("loss")) == 6
    (text,) = events.Tensors("sample")
    assert text.step == 2 and text.tensor_proto.string_val[0] == b"Once upon a time"
    assert events.Tags()["images"] == ["sample/0", "sample/1"]
    (picture,) = events.Images("sample/1")
    (tmp_path / "picture.png").write_bytes(picture.encoded_image_string)
    seen = st.io.imread(tmp_path / "picture.png")
    assert (picture.width, picture.height) == (5, 4) and seen.shape == (3, 4, 5) and set(seen.ravel()) <= {127, 128}


class FallsAt(train.Callback):
    """An error behind the step k."""

    def __init__(self, k: int) -> None:
        self.k = k

    def on_batch_end(self, trainer: train.Trainer) -> None:
        if trainer.steps == self.k:
            raise InterruptedError


def in_three_sessions(folder: Path, logger: Callable[[], train.Logger]) -> list[train.Logger]:
    """Loggers of a training of nine steps that twice falls, two steps and one behind its checkpoint."""
    loggers = list[train.Logger]()
    for falls in (5, 7, 0):
        loggers.append(logger())
        with suppress(InterruptedError):
            train.fit(net(), loader(), loss="cross_entropy", epochs=3, callbacks=[
                Checkpoint(folder / "run", resume=True), loggers[-1], FallsAt(falls)])
    return loggers


def test_tensorboard_forgets_what_was_written_behind_the_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    in_three_sessions(tmp_path, lambda: train.TensorBoard(tmp_path / "events", 1))
    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == [*range(1, 10)]


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")       # a database would need more packages
    mlflow = pytest.importorskip("mlflow", reason="pip install mlflow")
    logger = train.MLflow("mine", uri=tmp_path.as_uri(), every=1)
    numbers_of(logger)
    assert {"loss", "lr", "train_loss"} <= mlflow.get_run(logger.id).data.metrics.keys()
    made = iter(["Once", np.full((2, 1, 4, 5), 0.5), np.full((3, 4, 5), np.nan)])
    logger = train.MLflow()
    train.fit(nn.Linear(2, 2), [(X, Y)], loss="cross_entropy", epochs=3, compiled=False, callbacks=[
        logger, train.Samples(lambda _: next(made), tmp_path / "samples")])
    kept = [file.path for file in mlflow.MlflowClient().list_artifacts(logger.id, "sample")]
    assert kept == ["sample/step-000001.txt", "sample/step-000002-0.png", "sample/step-000002-1.png"]
    with mlflow.start_run() as own:
        mlflow.log_param("optimizer", "mine")
        logger = train.MLflow()
        train.fit(net(), loader(), loss="cross_entropy", callbacks=[Checkpoint(tmp_path / "run"), logger])
        assert mlflow.active_run().info.run_id == own.info.run_id == logger.id
    found = mlflow.get_run(own.info.run_id).data
    assert "train_loss" in found.metrics and found.params["optimizer"] == "mine" and found.params["epochs"] == "1"


def test_mlflow_holds_each_step_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="pip install mlflow")
    loggers: Any = in_three_sessions(tmp_path, lambda: train.MLflow("mine", uri=tmp_path.as_uri(), every=1))
    client = mlflow.MlflowClient()
    steps = {name: [x.step for x in client.get_metric_history(loggers[0].id, name)] for name in ("loss", "train_loss")}
    assert len({logger.id for logger in loggers}) == 1 and steps == {"loss": [*range(1, 10)], "train_loss": [3, 6, 9]}
    monkeypatch.setattr(client.__class__, "get_metric_history", None)   # which a training from the beginning never asks
    numbers_of(train.MLflow(every=1))


def test_wandb_holds_each_step_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb", reason="pip install wandb")
    logged, log = list[tuple[str, int]](), wandb.Run.log
    monkeypatch.setattr(wandb.Run, "log", lambda run, values, step: (
        logged.extend((name, step) for name in values), log(run, values, step=step)))
    loggers: Any = in_three_sessions(tmp_path, lambda: train.WandB("mine", mode="offline", dir=str(tmp_path), every=1))
    assert [step for name, step in logged if name == "loss"] == [*range(1, 10)]
    assert [step for name, step in logged if name == "train_loss"] == [3, 6, 9]
    assert len({logger.id for logger in loggers}) == 1
    logged.clear()      # what was not logged any more is, though the step has values
    class Falls(train.Callback):
        def on_validation_begin(self, trainer: train.Trainer) -> None:
            raise InterruptedError

    for more in ([Falls()], []):
        keep, logger = Checkpoint(tmp_path / "other", resume=True), train.WandB(
            "mine", mode="offline", dir=str(tmp_path), every=1)
        with suppress(InterruptedError):
            train.fit(net(), loader(), loss="cross_entropy", callbacks=[keep, logger, *more], validation=loader())
    assert logged == [(n, k) for k in (1, 2, 3) for n in ("loss", "lr")] + [
        (n, 3) for n in ("epoch", "train_loss", "val_loss", "seconds")]
    logged.clear()      # a run of the same name that begins anew has nothing of the one before
    numbers_of(train.WandB("mine", mode="offline", dir=str(tmp_path), every=1, id=loggers[0].id))
    assert [step for name, step in logged if name == "loss"] == [1, 2]


def test_wandb(tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="pip install wandb")
    made = iter(["<Once>", np.linspace(0, 1, 120).reshape(2, 3, 4, 5), np.full((3, 4, 5), np.nan)])
    logger = train.WandB("mine", mode="offline", dir=str(tmp_path), every=1)
    train.fit(nn.Linear(2, 2), [(X, Y)], loss="cross_entropy", epochs=3, compiled=False, callbacks=[
        logger, train.Samples(lambda _: next(made), tmp_path / "samples")])
    assert list(tmp_path.rglob("*.wandb")) and len([*tmp_path.rglob("sample_2_*.png")]) == 2
    assert "<pre>&lt;Once&gt;</pre>" in next(tmp_path.rglob("sample_1_*.html")).read_text()
    numbers_of(train.WandB("mine", mode="disabled", dir=str(tmp_path / "none")))
    assert not [*(tmp_path / "none").rglob("*.json")]


def test_a_notebook_shows_a_bar_in_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, what: dict[str, str], raw: bool) -> None: shown.append(what["text/plain"])

    def display(what: dict[str, str], raw: bool, display_id: bool) -> Handle:
        return Handle()

    for name, attributes in (("ipykernel", {}), ("IPython", {}), ("IPython.display", {"display": display})):
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
    x = np.ones((8, 1), np.float32)
    train.fit(nn.Linear(1, 1), data.Loader((x, x), 4), loss="mse", epochs=2, callbacks=[train.Progress()])
    assert shown[0].startswith("1/2 ───") and "\n2/2 ──" in next(text for text in shown if "2/2" in text)
    assert [line.split()[:2] for line in shown[-1].splitlines()] == [["epoch", "1/2"], ["epoch", "2/2"]]


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
def test_tables_move_by_the_row(name: str) -> None:
    """Batches of two lengths, as by hand; without who looks at gradients a step has no room for a table of them."""
    rng = np.random.default_rng(0)
    words, wanted = rng.integers(0, 4096, (20, 4)), rng.normal(size=(20, 1)).astype("f4")

    class Looking(train.Callback):
        pass

    def trained(*callbacks: train.Callback) -> tuple[Any, Any]:
        st.manual_seed(0)
        model = nn.Sequential(nn.Embedding(4096, 64), nn.Flatten(), nn.Linear(256, 1))
        trainer = train.Trainer(model, data.Loader((words, wanted), 8), loss="mse", epochs=2, callbacks=callbacks,
                                optimizer=getattr(optim, name)(model.parameters(), 0.1))
        trainer.fit()
        return model, trainer

    (model, trainer), (same, _) = trained(), trained(Looking())
    np.testing.assert_allclose(model[0].weight.numpy(), same[0].weight.numpy(), rtol=1e-6, atol=1e-6)
    assert model[0].weight.grad is None and same[0].weight.grad is not None
    assert max(p.memory({"batch": 8}).arena.bytes for p in trainer.programs.learn.programs) < 64 << 10


def test_one_callback_is_no_list_and_metrics_are_functions_too() -> None:
    def near(predictions: Any, target: Any) -> Any:
        return (predictions - target).abs() < 10

    x = np.ones((8, 1), np.float32)
    stop = train.EarlyStopping(patience=0, least=1e9)
    history = train.fit(nn.Linear(1, 1), data.Loader((x, x), 8), loss="mse", metrics=["mae", near], epochs=9,
                        callbacks=stop)
    assert len(history.epochs) == 2 and history["train_near"] == [1.0, 1.0] and "train_mean_absolute_error" in \
        history.epochs[0]
    with pytest.raises(UnknownName, match="It has epoch, train_loss"):
        history["loss"]
