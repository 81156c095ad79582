"""What code takes of that which a name holds counts for what may stand there: never stale, nothing else traces anew."""
from __future__ import annotations

from typing import Any

import pytest

import stele as st
from stele import nn

PRELUDE = """
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from types import ModuleType, SimpleNamespace

k = 1.0
class A:
    def f(self): return 2.0
class B:
    def f(self): return k
class C(B): pass
class H:
    def __init__(self, part): self.part = part
class Empty: pass
other = H(A())
"""

# What stands behind the prelude, and an expression that reads k, which changes between calls, by way of a name `part`
# under which another object holds an A.
WAYS = {
    "an attribute":             ("h = H(B())", "h.part.f()"),
    "of a base's method":       ("h = H(C())", "h.part.f()"),
    "a global":                 ("part = B()", "part.f()"),
    "a global that is set":     ("part = A()\ndef put():\n global part\n part = B()\n return 1.0", "put() * part.f()"),
    "a global set by name":     ("part = A()\ndef put():\n globals()['part'] = B()\n return 1.0", "put() * part.f()"),
    "an attribute that is set": ("h = H(A())\ndef put():\n h.part = B()\n return 1.0", "put() * h.part.f()"),
    "an attribute set by name": ("h = H(A())\ndef put():\n setattr(h, 'part', B())\n return 1.0", "put() * h.part.f()"),
    "an attribute set in vars": ("h = H(A())\ndef put():\n vars(h)['part'] = B()\n return 1.0", "put() * h.part.f()"),
    "an attribute set by another's method":
        ("h = H(A())\nclass P:\n def put(self):\n  h.part = B()\n  return 1.0\np = P()", "p.put() * h.part.f()"),
    "an object made inside":    ("", "H(B()).part.f()"),
    "a dataclass made inside":  ("@dataclass\nclass P: part: B", "P(B()).part.f()"),
    "a frozen dataclass made inside": ("@dataclass(frozen=True)\nclass P: part: B", "P(B()).part.f()"),
    "a dataclass of slots":     ("@dataclass(slots=True)\nclass P: part: B\nh = P(B())", "h.part.f()"),
    "slots":                    ("class P:\n __slots__ = ('part',)\nh = P(); h.part = B()", "h.part.f()"),
    "a named tuple":            ("P = namedtuple('P', 'part')\nh = P(B())", "h.part.f()"),
    "a named tuple made inside": ("P = namedtuple('P', 'part')", "P(B()).part.f()"),
    "a property":               ("class P:\n @property\n def part(self): return B()\nh = P()", "h.part.f()"),
    "a cached property":        ("class P:\n @cached_property\n def part(self): return B()\nh = P()", "h.part.f()"),
    "a descriptor": ("class Q:\n def __get__(self, *_): return B()\nclass P: part = Q()\nh = P()", "h.part.f()"),
    "__getattr__":              ("class P:\n def __getattr__(self, n): return B()\nh = P()", "h.part.f()"),
    "__getattribute__": ("class P:\n def __getattribute__(self, n): \n  return B() if n == 'part' else "
                         "object.__getattribute__(self, n)\nh = P()", "h.part.f()"),
    "a dict that answers":      ("class P(dict): __getattr__ = dict.__getitem__\nh = P(part=B())", "h.part.f()"),
    "a namespace":              ("h = SimpleNamespace(part=B())", "h.part.f()"),
    "a module":                 ("h = ModuleType('settings'); h.part = B()", "h.part.f()"),
    "a module's __getattr__":   ("h = ModuleType('settings'); h.__getattr__ = lambda n: B()", "h.part.f()"),
    "a class":                  ("class P: part = B()", "P.part.f()"),
    "an object's class":        ("class P: part = B()\nh = P()", "h.part.f()"),
    "a class that it holds":    ("class P:\n class part:\n  @staticmethod\n  def f(): return k\nh = P()", "h.part.f()"),
    "a class that it is given": ("class Q:\n @staticmethod\n def f(): return k\nh = H(Q)", "h.part.f()"),
    "a metaclass": ("class M(type):\n @property\n def part(cls): return B()\nclass P(metaclass=M): pass", "P.part.f()"),
    "a metaclass's __getattr__": ("class M(type):\n def __getattr__(c, n): return B()\nclass P(metaclass=M): pass",
                                  "P.part.f()"),
    "a member of an enum":      ("class E(Enum):\n part = 1\n def f(self): return k", "E.part.f()"),
    "a function's attribute":   ("def g(): pass\ng.part = B()", "g.part.f()"),
    "a method's attribute":     ("class P:\n def g(self): pass\nP.g.part = B()\nh = P()", "h.g.part.f()"),
    "a part of a partial function": ("g = partial(len, B())\nother.args = A()", "g.args[0].f()"),
    "what another holds for a moment": ("h = H(A())\ndef put(b):\n h.part = b\n return h", "put(B()).part.f()"),
    "one of two":               ("h = H(B())", "(h if x.ndim else other).part.f()"),
    "one of two parts":         ("h = H(B())", "(h.part if x.ndim else other.part).f()"),
    "one of two, the second a name's": ("h = B()", "(h if x.ndim else other.part).f()"),
    "what a name holds of what it holds": ("h = H(H(B()))", "h.part.part.f()"),
    "of a list":                ("h = [H(A()), H(B())]", "h[1].part.f()"),
    "a number":                 ("class P: n = property(lambda self: k)\nh = H(P())", "h.part.n"),
    "an attribute of a method": ("class P:\n def f(self): return self.part.n\nclass Q: pass\nh = P(); h.part = Q(); "
                                 "h.part.n = k", "h.f() * (k / h.part.n)"),
    "a module by its name":     ("h = nn.Sequential(OrderedDict(part=Layer()))", "h.part.f()"),
    "a module of a dict":       ("h = nn.ModuleDict({'part': Layer()})", "h.part.f()"),
    "a module of a module":     ("h = Layer(); h.part = Layer()", "h.part.f()"),
}
LAYER = "class Layer(nn.Module):\n def forward(self, x): return x\n def f(self): return k\n"


@pytest.mark.parametrize("name", WAYS)
def test_what_is_taken_of_what_a_name_holds_is_never_stale(name: str) -> None:
    before, expression = WAYS[name]
    space: dict[str, Any] = {"__name__": "__main__", "st": st, "nn": nn}
    exec(f"{PRELUDE}{LAYER}{before}\ndef f(x): return x * other.part.f() * ({expression})\nstep = st.compile(f)", space)
    x = st.ones(2)
    for _ in range(3):
        assert space["step"](x).tolist() == space["f"](x).tolist() == [2 * space["k"]] * 2
        space["k"] += 1.0


# What is put under the name between two calls, and the expression.
PUT = {
    "of another class":      ("h = H(A())", "h.part.f()", "h.part = B()"),
    "where nothing was":     ("h = Empty()\nh.part = None", "h.part.f() if h.part else 1.0", "h.part = B()"),
    "where no name was":     ("h = Empty()", "h.part.f() if hasattr(h, 'part') else 1.0", "h.part = B()"),
    "in the class":          ("class P: part = A()\nh = P()", "h.part.f()", "P.part = B()"),
    "over that of the class": ("class P: part = A()\nh = P()", "h.part.f()", "h.part = B()"),
    "a property":            ("class P: part = A()\nh = P()", "h.part.f()", "P.part = property(lambda self: B())"),
    "a method of the class": ("class P:\n def f(self): return 1.0\nh = H(P())", "h.part.f()", "P.f = lambda self: k"),
    "a method of the part":  ("h = H(Empty()); h.part.f = lambda: 1.0", "h.part.f()", "h.part.f = lambda: k"),
    "a global":              ("part = A()", "part.f()", "part = B()"),
}


@pytest.mark.parametrize("name", PUT)
def test_what_is_put_under_the_name_later_is_seen(name: str) -> None:
    before, expression, change = PUT[name]
    space: dict[str, Any] = {"__name__": "__main__", "st": st}
    exec(f"{PRELUDE}{before}\ndef f(x): return x * other.part.f() * ({expression})\nstep = st.compile(f)", space)
    x = st.ones(2)
    for changed in ("", change, "k += 1.0", "k += 1.0"):
        exec(changed, space)
        assert space["step"](x).tolist() == space["f"](x).tolist()


TRAINERS = {
    "a method of the optimiser's name": "def step(self, k): self.losses.append(self.train(x, y)); self.count += 1",
    "a property of its name":  "@property\n    def step(self): self.losses.append(1)\n"
                               "    def run(self, k): self.train(x, y)",
    "a method of a function's name":    "def log(self, k): self.losses.append(self.train(x, y)); self.seen[k] = k",
}


@pytest.mark.parametrize("name", TRAINERS)
def test_methods_of_the_names_of_others_trace_once(name: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(f"""
import stele as st
from stele import nn, optim

class Trainer:
    def __init__(self):
        self.net, self.losses, self.seen, self.count = nn.Linear(4, 3), [], {{}}, 0
        self.opt = optim.Adam(self.net.parameters(), lr=1e-2)

    @st.compile
    def train(self, x, y):
        self.opt.zero_grad()
        loss = st.mse(self.net(x), y) + st.log(x.square().sum() + 1)
        loss.backward()
        self.opt.step()
        return loss

    {TRAINERS[name]}

x, y, trainer = st.ones(8, 4), st.ones(8, 3), Trainer()
for k in range(6):
    {"trainer.run(k)" if "run" in TRAINERS[name] else f"trainer.{TRAINERS[name].split()[1].partition('(')[0]}(k)"}
    if 'property' in {name!r}: trainer.step
""", space)
    assert space["Trainer"].train.traces == 1
    assert len(space["trainer"].losses) == 6
