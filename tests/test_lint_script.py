"""`stele lint FILE`: what a whole run shows, and how the command ends."""
from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

from stele.cli import COMMANDS
from stele.commands.arguments import run
from stele.eager.follow import FOLLOWER
from stele.inspect.lint.watch import Watch

START = """
import numpy as np
import stele as st
from stele import nn, optim

x, y = np.ones((8, 3), np.float32), np.array([0, 1] * 4)
model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
optimizer = optim.SGD(model.parameters(), lr=0.1)

def step(x, y):
    optimizer.zero_grad()
    loss = nn.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
"""


def lint(text: str, folder: Path, *arguments: str) -> tuple[int, set[tuple[str, int]], str]:
    """Exit code, checks with their lines, and what went to stderr, for a file that goes on after START."""
    file = folder / "script.py"
    file.write_text(START + text)
    capture = folder / "out.json"
    with capture.open("w") as out, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        code = run(["lint", str(file), "--json", *arguments], COMMANDS)
    return code, {(f["check"], f["line"]) for f in json.loads(capture.read_text())}, str(file)


def line(text: str) -> int:
    """The line of the file that carries the mark."""
    return next(k for k, row in enumerate((START + text).split("\n"), 1) if "# here" in row)


EVERY_STEP = {
    "a number from a compiled step": """
step = st.compile(step)
for k in range(5):
    loss = float(step(x, y))  # here
""",
    "a print in an imperative loop": """
for k in range(5):
    loss = step(st.tensor(x), st.tensor(y))
    print(loss)  # here
""",
    "an array kept for later": """
losses = []
step = st.compile(step)
for k in range(5):
    losses.append(step(x, y).numpy())  # here
""",
    "a branch": """
for k in range(5):
    loss = step(x, y)
    if loss < 0.1:  # here
        break
""",
}


@pytest.mark.parametrize("text", EVERY_STEP.values(), ids=EVERY_STEP)
def test_numbers_asked_for_in_every_step(text: str, tmp_path: Path) -> None:
    code, found, _ = lint(text, tmp_path)
    assert (code, found) == (1, {("host-sync", line(text))})


BATCHES = {
    "imperative": """
for k in range(3):
    batch = st.tensor(x, requires_grad=True)
    nn.cross_entropy(model(batch), st.tensor(y)).backward()  # here
    optimizer.step()
    optimizer.zero_grad()
""",
    "compiled update": """
update = st.compile(lambda: optimizer.step())
for k in range(3):
    batch = st.tensor(x)
    batch.requires_grad = True
    loss = nn.cross_entropy(model(batch), st.tensor(y))
    loss.backward()  # here
    update()
    optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("text", BATCHES.values(), ids=BATCHES)
def test_gradients_that_nothing_takes_in_a_whole_run(text: str, tmp_path: Path) -> None:
    code, found, _ = lint(text, tmp_path)
    assert (code, found) == (1, {("unused-gradient", line(text))})


LEFT_OUT = {
    "imperative": """
optimizer = optim.SGD(model[2].parameters(), lr=0.1)
for k in range(3):
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()
    optimizer.step()  # here
    model.zero_grad()
""",
    "gradients that pile up": """
optimizer = optim.SGD(model[2].parameters(), lr=0.1)
for k in range(3):
    optimizer.zero_grad()
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()
    optimizer.step()  # here
""",
    "compiled": """
optimizer = optim.SGD(model[2].parameters(), lr=0.1)
@st.compile
def step(x, y):
    optimizer.zero_grad()
    nn.cross_entropy(model(x), y).backward()
    optimizer.step()  # here
for k in range(3):
    step(x, y)
""",
    "compiled, in a loss of a line of its own": """
optimizer = optim.SGD(model[2].parameters(), lr=0.1)
@st.compile
def step(x, y):
    loss = nn.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()  # here
    return loss
for k in range(3):
    step(x, y)
""",
}


@pytest.mark.parametrize("text", LEFT_OUT.values(), ids=LEFT_OUT)
def test_parameters_that_no_optimizer_holds(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(text, tmp_path)[:2] == (1, {("left-out-parameter", line(text))})
    run(["lint", str(tmp_path / "script.py")], COMMANDS)
    assert (out := capsys.readouterr().out).count("SGD does not hold ") == 1 and "0.weight" in out and "0.bias" in out


UNZEROED = {
    "imperative": """
for k in range(3):
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()  # here
    optimizer.step()
""",
    "clipped": """
for k in range(3):
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()  # here
    optim.clip_grad_norm(model.parameters(), 1.0)
    optimizer.step()
""",
    "looked at": """
for k in range(3):
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()  # here
    optimizer.step()
    if k == 1:
        print(model[0].weight)
""",
    "by hand": """
for k in range(3):
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()  # here
    with st.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad
""",
    "compiled": """
@st.compile
def step(x, y):
    nn.cross_entropy(model(x), y).backward()  # here
    optimizer.step()
for k in range(3):
    step(x, y)
""",
    "compiled update": """
update = st.compile(lambda: optimizer.step())
for k in range(3):
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()  # here
    update()
""",
    "compiled gradients": """
@st.compile
def learn(x, y):
    nn.cross_entropy(model(x), y).backward()  # here
for k in range(3):
    learn(x, y)
    optimizer.step()
""",
    "summed before it is stale": """
for k in range(4):
    for half in (slice(4), slice(4, 8)):
        nn.cross_entropy(model(st.tensor(x[half])), st.tensor(y[half])).backward()  # here
    optimizer.step()
""",
}


@pytest.mark.parametrize("text", UNZEROED.values(), ids=UNZEROED)
def test_gradients_that_are_never_zeroed(text: str, tmp_path: Path) -> None:
    code, found, _ = lint(text, tmp_path)
    assert (code, found) == (1, {("gradients-not-zeroed", line(text))})


PREDICTS = {
    "at the end of a training": """
for k in range(3):
    step(st.tensor(x), st.tensor(y))
with st.no_grad():
    guess = model(st.tensor(x)).argmax(axis=1)  # here
print(guess)
""",
    "a run that never learns": """
print(model(st.tensor(x)))  # here
""",
    "a compiled run that never learns": """
predict = st.compile(lambda x: model(x))  # here
predict(x)
""",
}


@pytest.mark.parametrize("text", PREDICTS.values(), ids=PREDICTS)
def test_training_mode_at_inference(text: str, tmp_path: Path) -> None:
    code, found, _ = lint(text, tmp_path)
    assert (code, found) == (1, {("training-mode", line(text))})


CLEAN = {
    "imperative": """
for k in range(250):
    loss = step(st.tensor(x), st.tensor(y))
    if k % 100 == 0:
        print(float(loss))
model.eval()
print(model(st.tensor(x)).argmax(axis=1))
""",
    "compiled": """
compiled, total = st.compile(step), st.tensor(0.0)
for k in range(5):
    total = total + compiled(x, y)
print(float(total))
predict = st.compile(lambda x: model(x))
model.eval()
for k in range(5):
    print(predict(x).numpy())
""",
    "adversarial": """
for k in range(3):
    batch = st.tensor(x, requires_grad=True)
    loss = nn.cross_entropy(model(batch), st.tensor(y))
    worst = batch.detach() + 0.1 * st.sign(st.gradients(loss, batch))
    step(worst, st.tensor(y))
""",
    "gradients summed over batches": """
for k in range(8):
    (nn.cross_entropy(model(st.tensor(x)), st.tensor(y)) / 4).backward()
    if k % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
""",
    "gradients summed in compiled functions": """
learn = st.compile(lambda x, y: (nn.cross_entropy(model(x), y) / 4).backward())
update = st.compile(lambda: optimizer.step())
for k in range(8):
    learn(x, y)
    if k % 4 == 3:
        update()
        model.zero_grad()
""",
    "a compiled step whose caller sets gradients to zero": """
@st.compile
def step(x, y):
    nn.cross_entropy(model(x), y).backward()
    optimizer.step()
for k in range(3):
    step(x, y)
    model.zero_grad()
""",
    "gradients that fade": """
for k in range(3):
    nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = 0.9 * p.grad
""",
    "two that play against each other": """
critic = nn.Linear(2, 1)
other = optim.Adam(critic.parameters(), lr=0.1)
for k in range(3):
    other.zero_grad()
    critic(model(st.tensor(x)).detach()).mean().backward()
    other.step()
    optimizer.zero_grad()
    for p in other.parameters:
        p.requires_grad = False
    critic(model(st.tensor(x))).mean().backward()
    optimizer.step()
    for p in other.parameters:
        p.requires_grad = True
""",
    "a trainer, which looks at every loss": """
from stele import train
train.fit(model, [(x, y)] * 5, loss="cross_entropy", epochs=2, callbacks=[train.GradientStatistics(1)])
""",
    "gradients looked at behind the training": """
for k in range(3):
    step(st.tensor(x), st.tensor(y))
nn.cross_entropy(model(st.tensor(x)), st.tensor(y)).backward()
print(model[0].weight.grad)
""",
    "an accuracy looked at before backward": """
logits = model(st.tensor(x))
loss = nn.cross_entropy(logits, st.tensor(y))
print(int((logits.argmax(axis=1) == st.tensor(y)).sum()))
loss.backward()
optimizer.step()
""",
}


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN)
def test_clean_runs(text: str, tmp_path: Path) -> None:
    assert lint(text, tmp_path)[:2] == (0, set())


def test_checks_left_out_and_arguments_of_the_file(tmp_path: Path) -> None:
    text = """
import sys
assert sys.argv[1:] == ["--epochs", "3"] and __name__ == "__main__"
for k in range(int(sys.argv[2])):
    print(step(st.tensor(x), st.tensor(y)))
"""
    assert lint(text, tmp_path, "--without", "host-sync", "--", "--epochs", "3")[:2] == (0, set())


@pytest.mark.parametrize(("text", "message"), [
    ("raise ValueError('no data')", "but ValueError: no data at {file}:17"),
    ("import sys; sys.exit(3)", "but it ended with exit code 3"),
    ("def f(:", "SyntaxError"),
    ("model = None", "computed nothing with Stele"),
])
def test_a_file_that_cannot_be_checked(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                       ) -> None:
    code, _, file = lint("\n" + text, tmp_path)
    assert code == 2
    assert message.format(file=file) in capsys.readouterr().err


def test_text_and_a_file_that_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "script.py"
    file.write_text(START + "print(step(st.tensor(x), st.tensor(y)))\nraise KeyboardInterrupt")
    assert run(["lint", str(file)], COMMANDS) == 0
    out, err = capsys.readouterr()
    assert out == "0 findings in 2 programs and 1 training step\n" and "tensor(" in err


ROSETTA = sorted(path for path in (Path(__file__).parents[1] / "stele" / "rosetta" / "stele").glob("*.py")
                 if path.stem != "onnx_file")    # runs what a user's file holds
SMALL = {"softmax_xent": {"count": 8, "classes": 10}, "layernorm": {"count": 8, "width": 32}, "matmul": {"size": 32},
         "conv": {"batch": 2, "edge": 8}, "elementwise": {}, "cumsum": {"count": 100}, "unique": {"count": 100},
         "gather": {"rows": 20, "width": 4, "count": 10}, "scatter_add": {"count": 100, "places": 10}, "overhead": {},
         "searchsorted": {"size": 10, "count": 20}, "sort": {"rows": 4, "count": 20}, "topk": {"rows": 4, "count": 200}}


@pytest.mark.parametrize("path", ROSETTA, ids=lambda path: path.stem)
def test_the_programs_of_the_benchmark_are_clean(path: Path) -> None:
    watch = Watch()
    token = FOLLOWER.set(watch)
    try:
        program = runpy.run_path(str(path))
        inputs = program["place"]("compile", *program["data"](**SMALL.get(path.stem, {"batch": 2})))
        state = program["initialise"]("compile")
        for _ in range(5):
            program["step"](state, *inputs)
        program["evaluate"](state, *inputs)
    finally:
        FOLLOWER.reset(token)
    assert watch.programs and watch.findings() == []


def test_the_same_lesson_is_told_once_with_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "script.py"
    file.write_text(START + """
for k in range(5):
    loss = step(st.tensor(x), st.tensor(y))
    print(float(loss))
    print(loss.numpy())
""")
    first = 1 + file.read_text().split("\n").index("    print(float(loss))")
    assert run(["lint", str(file)], COMMANDS) == 1
    out = capsys.readouterr().out
    assert out.count("host-sync") == 1 and f":{first}: host-sync" in out
    assert f"(2 times, at {first}, {first + 1})" in out and "1 finding in" in out
    code, found, _ = lint("""
for k in range(5):
    print(float(step(st.tensor(x), st.tensor(y))))  # here
""", tmp_path)
    assert (code, len(found)) == (1, 1)


def test_a_function_that_is_traced_in_every_call(tmp_path: Path) -> None:
    text = """
for k in range(7):
    f = st.compile(lambda x: st.tanh(x) + 1)  # here
    f(x)
"""
    code, found, _ = lint(text, tmp_path)
    assert (code, found) == (1, {("traced-every-call", line(text))})
    assert lint("""
f = st.compile(lambda x: st.tanh(x) + 1)
for k in range(7):
    f(x[:1 + k % 4])
""", tmp_path)[:2] == (0, set())
