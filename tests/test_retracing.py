"""Ordinary training loops trace once each: what a function looks up guards it, and nothing else does."""
from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.tracing.names import Taken, names_of

PRELUDE = """
import asyncio, functools, itertools
from dataclasses import dataclass
import numpy as np
import stele as st
from stele import nn, optim

rows = np.random.default_rng(0).standard_normal((12, 8, 4)).astype(np.float32)
batches = [(st.tensor(a), st.tensor(a[:, :3])) for a in rows]
model = nn.Linear(4, 3)
optimizer = optim.Adam(model.parameters(), lr=1e-2)

def plain_step(x, y):
    optimizer.zero_grad()
    loss = st.mse(model(x), y)
    loss.backward()
    optimizer.step()
    return loss

x, y = batches[0]
train_step = st.compile(plain_step)
"""

# What stands behind the prelude; `train_step` is looked at afterwards.
LOOPS = {
    "for step in range": """
for step in range(12):
    loss = train_step(x, y)
""",
    "a key of a dict": """
@st.compile
def train_step(d):
    optimizer.zero_grad()
    loss = st.mse(model(d['k']), d["i"]) * weights["x"]
    loss.backward()
    optimizer.step()
    return {"loss": loss, "step": optimizer.steps}
weights = {"x": 2.0}
for k in range(6):
    for i in range(2):
        train_step({"k": x, "i": y})
""",
    "names of attributes": """
class Config:
    def __init__(self): self.lr, self.epoch, self.scale = 0.1, 3, 2.0
config = Config()
@st.compile
def train_step(x, y):
    loss = plain_step(x, y) * config.scale + config.lr + config.epoch
    return loss.size * loss + x.shape[0]
for epoch, lr in enumerate(np.linspace(0, 1, 12)):
    for size in range(2):
        scale = shape = train_step(x, y)
""",
    "enumerate": """
for i, (x, y) in enumerate(batches):
    train_step(x, y)
""",
    "zip": """
for k, (x, y), t in zip(range(12), batches, itertools.count()):
    train_step(x, y)
""",
    "while": """
step = 0
while step < 12:
    train_step(x, y)
    step += 1
""",
    "a comprehension": """
losses = [train_step(x, y) for step, (x, y) in enumerate(batches)]
step, losses = len(losses), [train_step(x, y) for x, y in batches]
""",
    "two loops share a variable": """
for step in range(6):
    train_step(x, y)
for step in range(6):
    optimizer.lr = 1 / (step + 1)
    train_step(x, y)
""",
    "main": """
def main():
    for step in range(12):
        loss = train_step(x, y)
        lr = step * 0.1
main()
""",
    "all inside of main": """
def main():
    global train_step
    model = nn.Linear(4, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = 0
    @st.compile
    def train_step(x, y):
        optimizer.zero_grad()
        loss = st.mse(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    for step in range(12):
        train_step(x, y)
main()
""",
    "a method of a trainer that counts": """
class Trainer:
    def __init__(self):
        self.model, self.step, self.epoch = nn.Linear(4, 3), 0, 0
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1)
    @st.compile
    def train_step(self, x, y):
        self.optimizer.zero_grad()
        loss = st.mse(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss
    def fit(self):
        for self.epoch in range(3):
            for x, y in batches:
                self.train_step(x, y)
                self.step += 1
train_step = Trainer.__dict__["train_step"]
Trainer().fit()
""",
    "a counter of the class": """
class Trainer:
    step, lr, seen = 0, 0.5, []
    @classmethod
    def fit(cls):
        for Trainer.step in range(12):
            cls.seen.append(train_step(x, y) * cls.lr)
Trainer.fit()
""",
    "a dataclass that counts": """
@dataclass
class Progress:
    step: int = 0
    lr: float = 0.5
    best: float = float("inf")
progress = Progress()
@st.compile
def train_step(x, y):
    return plain_step(x, y) * progress.lr
for progress.step in range(12):
    progress.best = min(progress.best, float(train_step(x, y)))
""",
    "a generator": """
def training(steps):
    for step in range(steps):
        yield step, train_step(x, y)
for step, loss in training(12):
    pass
""",
    "a bar of progress": """
class bar:
    def __init__(self, of): self.of, self.n, self.step = of, 0, 0
    def __iter__(self):
        for self.step, x in enumerate(self.of):
            self.n += 1
            yield x
    def set_description(self, text): self.text = text
for step, (x, y) in (steps := bar(list(enumerate(batches)))):
    steps.set_description(f"{float(train_step(x, y)):.3f}")
""",
    "nested functions": """
def make(model, k):
    def forward(x):
        def scaled(x): return model(x) * k
        return scaled(x)
    def step(x, y):
        optimizer.zero_grad()
        loss = st.mse(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return st.compile(step)
train_step = make(model, 2.0)
for k in range(12):
    for step in range(2):
        train_step(x, y)
""",
    "a lambda": """
train_step = st.compile(lambda x, y: plain_step(x, y) * 2)
for i in range(12): train_step(x, y)
""",
    "functools.partial": """
def step(scale, x, y, *, lr): return plain_step(x, y) * scale * lr
train_step = st.compile(functools.partial(step, 2.0, lr=0.1))
for lr in range(12):
    for scale in range(2): train_step(x, y)
""",
    "a decorated function that counts its calls": """
calls = 0
def counted(f):
    @functools.wraps(f)
    def inside(*args):
        global calls
        calls += 1
        return f(*args)
    return inside
step = train_step
run = counted(step)
for n in range(12): run(x, y)
""",
    "a decorator below compile": """
def scaled(scale):
    def around(f):
        @functools.wraps(f)
        def inside(*args): return f(*args) * scale
        return inside
    return around
@st.compile
@scaled(scale=0.5)
def train_step(x, y): return plain_step(x, y)
for scale in range(12): args = train_step(x, y)
""",
    "recursion": """
def powers(x, n): return x if n == 0 else powers(x * 0.5, n - 1)
@st.compile
def train_step(x, y): return plain_step(powers(x, 3), y)
def down(n):
    if n:
        train_step(x, y)
        down(n - 1)
for n in range(6): down(2)
""",
    "async": """
async def fit():
    for step in range(12):
        loss = train_step(x, y)
        await asyncio.sleep(0)
asyncio.run(fit())
""",
    "a module of layers in a list": """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
optimizer = optim.AdamW(model.parameters(), lr=1e-2)
for p in range(12):
    for training in (1, 2, 3): train_step(x, y)
""",
    "a schedule": """
schedule = optim.StepLR(optimizer, 2)
for step in range(12):
    train_step(x, y)
    schedule.step()
""",
    "gradients from a function": """
@st.compile
def train_step(x, y):
    loss, g = st.value_and_grad(lambda net: st.mse(net(x), y))(model)
    with st.no_grad():
        for name, p in model.named_parameters(): p -= 0.1 * g[name]
    return loss
for name, p in enumerate(range(12)):
    g = train_step(x, y)
""",
    "an attribute by its constant name": """
class Config:
    step, lr = 0, 0.5
config = Config()
@st.compile
def train_step(x, y): return plain_step(x, y) * getattr(config, "lr") + getattr(config, "missing", 1.0)
for config.step in range(12): train_step(x, y)
""",
    "a global by its constant name": """
rate = 0.5
@st.compile
def train_step(x, y): return plain_step(x, y) * globals()["rate"]
for step in range(12): train_step(x, y)
""",
}


def check(name: str, space: dict[str, Any]) -> None:
    train_step = space["train_step"]
    assert (train_step.traces, train_step.compiles) == (1, 1), (name, train_step.guards)


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("name", LOOPS)
def test_an_ordinary_loop_in_a_cell_traces_once(name: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(PRELUDE, space)
    exec(LOOPS[name], space)
    check(name, space)


@pytest.mark.filterwarnings("error::UserWarning")
def test_ordinary_loops_of_a_module_trace_once(tmp_path: Path) -> None:
    names = "for step in range", "names of attributes", "a dataclass that counts", "all inside of main"
    for k, name in enumerate(names):
        path = tmp_path / f"loop_{k}.py"
        path.write_text(PRELUDE + LOOPS[name])
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        sys.modules[path.stem] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            check(name, vars(module))
        finally:
            del sys.modules[path.stem]


@pytest.mark.filterwarnings("error::UserWarning")
def test_batches_of_two_sizes_trace_twice() -> None:
    """The second trace opens the size; a loop variable adds none."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(PRELUDE + "for step in range(12):\n    for n in (8, 5, 3, 7): train_step(x[:n], y[:n])\n", space)
    assert (space["train_step"].traces, space["train_step"].compiles) == (2, 2)


# What does change a function: each line of `change` makes a next call see it.
CHANGES = {
    "a global":                      ("k = 1.0", "x * k", "k += 1.0"),
    "a global a nested function reads": ("k = 1.0", "(lambda z: z * k)(x)", "k += 1.0"),
    "a global a comprehension reads": ("k = 1.0", "sum([x * k for _ in range(2)])", "k += 1.0"),
    "a global by its constant name": ("k = 1.0", "x * globals()['k']", "k += 1.0"),
    "a global by a computed name":   ("k = 1.0; n = 'k'", "x * globals()[n]", "k += 1.0"),
    "a global through get":          ("k = 1.0", "x * globals().get('k')", "k += 1.0"),
    "a global in evaluated text":    ("k = 1.0", "eval('x * k')", "k += 1.0"),
    "an attribute":                  ("class A: k = 1.0\na = A()", "x * a.k", "a.k += 1.0"),
    "an attribute of the class":     ("class A: k = 1.0\na = A()", "x * a.k", "A.k += 1.0"),
    "an attribute by its name":      ("class A: k = 1.0\na = A()", "x * getattr(a, 'k')", "a.k += 1.0"),
    "an attribute by name, default": ("class A: k = 1.0\na = A()", "x * getattr(a, 'k', [x.ndim][0])", "a.k += 1.0"),
    "an attribute by a computed name": ("class A: k1 = 1.0\na = A()", "x * getattr(a, f'k{x.ndim}')", "a.k1 += 1.0"),
    "an attribute, chosen":          ("class A: k = 1.0\na = A()", "x * getattr(a, 'k' if a else 'j')", "a.k += 1.0"),
    "an attribute in vars":          ("class A: pass\na = A(); a.k = 1.0", "x * vars(a)['k']", "a.k += 1.0"),
    "an attribute that a method reads": ("class A:\n k = 1.0\n def f(self): return self.k\na = A()", "x * a.f()",
                                         "a.k += 1.0"),
    "a field in a pattern": ("""
from dataclasses import dataclass
@dataclass
class A: k: float = 1.0
a = A()
def field(a):
    match a:
        case A(k=j): return j
""", "x * field(a)", "a.k += 1.0"),
    "a cached property": ("""
import functools
class A:
    @functools.cached_property
    def f(self): return k
k, a = 1.0, A()
""", "x * a.f", "k += 1.0; a = A()"),
    "a default":                     ("def g(x, k=[1.0]): return x * k[0]", "g(x)", "g.__defaults__[0][0] += 1.0"),
    "an entry of a dict":            ("d = {'k': 1.0}", "x * d['k']", "d['k'] += 1.0"),
    "a global that an operator reads": ("k = 1.0\nclass A:\n def __add__(self, x): return x * k\na = A()", "a + x",
                                        "k += 1.0"),
    "a global that a reflected operator reads": ("k = 1.0\nclass A:\n def __rsub__(self, n): return n * k\na = A()",
                                                 "x * (1 - a)", "k += 1.0"),
    "a global that a comparison reads": ("k = 1.0\nclass A:\n def __lt__(self, n): return k < n\na = A()",
                                         "x if a < 2.0 else -x", "k += 1.0"),
    "a global that a membership reads": ("k = 1.0\nclass A:\n def __contains__(self, n): return k < 2\na = A()",
                                         "x if 3 in a else -x", "k += 1.0"),
    "a global that a truth reads":   ("k = 1.0\nclass A:\n def __bool__(self): return k < 2\na = A()",
                                      "x if a else -x", "k += 1.0"),
    "a global that a number reads":  ("k = 1.0\nclass A:\n def __float__(self): return k\na = A()", "x * float(a)",
                                      "k += 1.0"),
    "a global that any attribute reads": ("k = 1.0\nclass A:\n def __getattr__(self, n): return k\na = A()",
                                          "x * a.width", "k += 1.0"),
    "a global that a constructor reads": ("k = 1.0\nclass A:\n def __init__(self): self.j = k", "x * A().j",
                                          "k += 1.0"),
    "a global that a base's constructor reads": (
        "k = 1.0\nclass A:\n def __init__(self): self.j = k\nclass B(A):\n def __init__(self): super().__init__()",
        "x * B().j", "k += 1.0"),
    "a class that loads it":         ("k = 1.0\ndef made():\n class A: j = k\n return A.j", "x * made()", "k += 1.0"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_function_looks_up_is_never_stale(name: str) -> None:
    before, expression, change = CHANGES[name]
    space: dict[str, Any] = {"__name__": "__main__", "st": st}
    exec(f"{before}\ndef f(x): return {expression}\nstep = st.compile(f)", space)
    x = st.ones(2)
    for _ in range(3):
        assert space["step"](x).tolist() == space["f"](x).tolist()
        exec(change, space)


IMPORTS = {
    "a name of a module":     "from settings_{n} import k\n return x * k",
    "a module":               "import settings_{n}\n return x * settings_{n}.k",
    "a module by a new name": "import settings_{n} as s\n return x * s.k",
}


@pytest.mark.parametrize("name", IMPORTS)
@pytest.mark.parametrize("is_known", [True, False])
def test_what_a_function_imports_is_never_stale(name: str, is_known: bool, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    n = f"{[*IMPORTS].index(name)}_{is_known}"
    (tmp_path / f"settings_{n}.py").write_text("k = 1.0")
    monkeypatch.syspath_prepend(tmp_path)
    space: dict[str, Any] = {"__name__": "__main__", "st": st}
    exec(f"def f(x):\n {IMPORTS[name].format(n=n)}\nstep = st.compile(f)", space)
    if is_known:
        importlib.import_module(f"settings_{n}")
    x = st.ones(2)
    for k in range(3):
        assert space["step"](x).tolist() == space["f"](x).tolist() == [1.0 + k] * 2
        importlib.import_module(f"settings_{n}").k += 1.0


SEEDED = "np.random.default_rng(3).standard_normal(2)", "default_rng(x.ndim).random(2)"
UNSEEDED = "np.random.default_rng().standard_normal(2)", "default_rng().random(2)", "np.random.RandomState().rand(2)"


@pytest.mark.parametrize("numbers", [*SEEDED, *UNSEEDED])
def test_generators_without_a_seed_alone_are_warned_of(numbers: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "st": st}
    exec("import numpy as np\nfrom numpy.random import default_rng", space)
    exec(f"def f(x): return x + {numbers}.astype('f4')", space)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        st.compile(space["f"])(st.ones(2))
    assert ["without a seed" in str(w.message) for w in found] == [True] * (numbers in UNSEEDED)


# (before, the body of a compiled f(x), what changes between calls in rising n, what the warning says)
BLAMES = {
    "a global":           ("k = n = 0", "x * k", "k = n; other = n", "k was 6, now 7"),
    "not what is unread": ("k = n = 0; scale = 1.0", "x.step(k) if 0 else x * scale", "k = -n; scale = n",
                           "scale was 6, now 7"),
    "two of one name":    ("class A: k = 5\nclass B: k = 0\na, b = A(), B()", "x * a.k * b.k", "b.k = n",
                           "b.k was 6, now 7"),
    "an object":          ("class A: pass\na = A()", "x if a else x", "a = A()", "a is another A"),
    "a list":             ("a = []", "x * len(a)", "a.append(n)", "a had 7 entries, now 8"),
    "a shape":            ("sizes = [st.ones(2, *[1] * k) for k in range(9)]; t = sizes[0]",
                           "x * t", "t = sizes[n]", r"t was float32\[2,1,1,1,1,1,1\], now float32\[2,1,1,1,1,1,1,1\]"),
}


@pytest.mark.parametrize("name", BLAMES)
def test_the_warning_names_what_changed(name: str) -> None:
    before, expression, change, says = BLAMES[name]
    space: dict[str, Any] = {"__name__": "__main__", "st": st}
    exec(f"{before}\ndef f(x): return {expression}\nstep = st.compile(f)", space)
    with pytest.warns(UserWarning, match=f"f was traced 8 times, since what it reads changes: {says}"):
        for space["n"] in range(9):
            exec(change, space)
            space["step"](st.ones(2))


def test_the_warning_names_an_argument_that_changed() -> None:
    step = st.compile(lambda x, scale: x * scale)
    with pytest.warns(UserWarning, match="scale was 6, now 7"):
        for scale in range(9):
            step(st.ones(2), scale)


# (what one call of a compiled f is, what the next is, the reason for the next program, the line in the text of f)
FUNCTION = """k = 2.0
def f(x, y=1):
    if x.shape[0] > 3:
        x = x + 1
    return x * y * k
"""
REASONS = {
    "another size":      ("f(st.ones(2, 3))", "f(st.ones(3, 3))",
                          r"x was \(2, 3\), now \(3, 3\); n0 = 3 stays open from now on", "call"),
    "a guard":           ("f(st.ones(2)); f(st.ones(3))", "f(st.ones(4))", "n0 < 4 does not hold for n0 = 4", 3),
    "another dtype":     ("f(st.ones(2))", "f(st.ones(2, dtype='float64'))", "x was float32, now float64", "call"),
    "another rank":      ("f(st.ones(2))", "f(st.ones(2, 2))", "x had 1 axes, now 2", "call"),
    "an array":          ("f(st.ones(2))", "f(np.float64([1, 2]))", "x was a tensor, now a NumPy array", "call"),
    "a number":          ("f(st.ones(2), 2)", "f(st.ones(2), 3)", "y was 2, now 3", "call"),
    "one more argument": ("f(st.ones(2))", "f(st.ones(2), 2)", "its arguments have another structure", "call"),
    "one tensor":        ("x = st.ones(2); f(x, st.ones(2))", "f(x, x)",
                          "other tensors among its arguments are one and the same", "call"),
    "a global":          ("f(st.ones(2))", "k = 3.0; f(st.ones(2))", "k was 2.0, now 3.0", 5),
}


@pytest.mark.parametrize("name", REASONS)
def test_each_program_says_why_it_was_made(name: str, capfd: pytest.CaptureFixture[str],
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    first, then, reason, line = REASONS[name]
    space: dict[str, Any] = {"__name__": "__main__", "st": st, "np": np}
    exec(compile(FUNCTION, "model.py", "exec"), space)
    space["f"] = f = st.compile(space["f"])
    exec(compile(first, "call.py", "exec"), space)
    before = int(f.compiles)
    monkeypatch.setenv("STELE_SHOW", "compiles")
    exec(compile(then, "call.py", "exec"), space)
    assert f.compiles == len(f.compiles) == len([*f.compiles]) == before + 1 == len(f.programs)
    assert f.compiles[0].reason == "the first call" and f.compiles[0].lines == ("call.py:1",)
    latest = f.compiles[-1]
    assert re.fullmatch(reason, latest.reason)
    assert latest.lines == ((f"call.py:{1 + then.startswith(chr(10))}",) if line == "call" else (f"model.py:{line}",))
    assert f"== compiles f\n{latest}" in capfd.readouterr().err
    assert f"{before + 1}. {latest}" in str(f.compiles)


@pytest.mark.parametrize("then, reason", [
    ("f(st.tensor([1.0, 2.0], requires_grad=True))", "x had requires_grad=False, now True"),
    ("\nwith st.no_grad(): f(st.ones(2) * 2)", "gradients are off now")])
def test_a_trace_that_leads_to_a_program_that_there_is_says_why(
        then: str, reason: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_SHOW", "compiles")
    space: dict[str, Any] = {"st": st, "f": (f := st.compile(lambda x: x * 2))}
    f(st.ones(2))
    exec(compile(then, "call.py", "exec"), space)
    assert f.traces == 2 and f.compiles == 1 and f.compiles[0].reason == "the first call"
    assert f"the program that there is: {reason}, at call.py" in capfd.readouterr().err


def test_a_program_says_what_keeps_a_size_from_being_open() -> None:
    w = st.ones(8)
    f = st.compile(lambda x: x + w, dims={"x": {0: "n"}})
    f(st.ones(8))
    (made,) = f.compiles
    assert made.reason == "the first call; n is no other number, since n == 8 has to hold"
    assert re.fullmatch(r"test_retracing.py:\d+", made.lines[0])
    f = st.compile(lambda x: x + w, dims={"x": {0: "n"}})
    with pytest.warns(UserWarning, match=r"is compiled for each size, since x \(n,\) cannot stay open: ShapeError"):
        f(st.ones(1))
    assert re.match(r"the first call; x \(n,\) cannot stay open: ShapeError: add", f.compiles[0].reason)


def test_a_program_that_was_called_too_long_ago_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stele.call.variants.PROGRAMS", 2)
    f = st.compile(lambda x, n: x * n)
    for n in (1, 2, 3, 4, 1):
        f(st.ones(2), n)
    assert f.compiles == 2 == len(f.programs) and f.compiles[-1].reason == "n was 4, now 1"


def test_a_number_that_never_changes_hits_after_many_loops() -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(PRELUDE + "for step in range(60): train_step(x, y)", space)
    assert space["train_step"].traces == 1


def test_names_that_instructions_look_up() -> None:
    def f(x: Any) -> Any:
        class Inner:
            size = base

        def inside() -> Any:
            return deep.down * x.wide

        keys = {"key": 1, "name": Inner}
        return keys["key"], x.step(y=inside()), [x.each for _ in range(3)], getattr(x.a, "attr", None), x.both, x.both()

    found = names_of(f.__code__)
    assert {"base", "deep", "range", "getattr"} <= found.globals
    assert found.globals.isdisjoint({"key", "name", "step", "attr", "x", "y", "keys", "down", "size"})
    assert found.attributes == {"wide", "each", "a", "attr", "both"}
    assert found.methods == {"step", "both"}
    assert found.taken == {Taken(("deep",), "down", is_called=False)}
    assert not found.any_global and not found.any_attribute


base: Any = None
deep: Any = None
