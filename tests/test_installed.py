"""Packages that are installed are left alone, unless they are written with Stele: then their state is watched too."""
from __future__ import annotations

import importlib
import sys

import pytest

import stele as st

PACKAGE = '''
import stele as st
from stele import nn

from . import settings

SCALE = 1.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop, self.scale = nn.Linear(4, 4), nn.Dropout(0.5), 1.0

    def forward(self, x):
        return self.drop(self.fc(x)) * self.scale * SCALE + settings.shift


class Plain:
    def __init__(self):
        self.k, self.w = 1.0, st.ones(4)

    def __call__(self, x):
        return x * self.k * self.w
'''


@pytest.fixture
def lib(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages" / "written_with_stele"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "settings.py").write_text("shift = 0.0\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    yield importlib.import_module("written_with_stele")
    for name in [name for name in sys.modules if name.startswith("written_with_stele")]:
        del sys.modules[name]


def agrees(call, f, x):
    return bool((st.abs(call(x) - f(x)) <= 1e-5 * st.abs(f(x))).all())


def test_a_module_of_an_installed_package_is_watched(lib):
    net, x = lib.Net(), st.arange(8.0).reshape(2, 4)
    call = st.compile(lambda x: net(x))
    call(x)
    net.eval()
    assert agrees(call, net, x)
    net.scale = 2.0
    assert agrees(call, net, x)
    with st.no_grad():
        net.fc.weight *= 2
    assert agrees(call, net, x)
    lib.SCALE = 3.0
    assert agrees(call, net, x)
    lib.settings.shift = 0.5
    assert agrees(call, net, x)
    net.fc = st.nn.Linear(4, 4)
    assert agrees(call, net, x)


def test_an_object_of_an_installed_package_is_watched(lib):
    held, x = lib.Plain(), st.ones(4)
    call = st.compile(lambda x: held(x))
    assert agrees(call, held, x)
    held.k = 2.0
    assert agrees(call, held, x)
    held.w = st.arange(4.0)
    assert agrees(call, held, x) and call.traces == 2


def test_guards_name_what_users_know(lib):
    net = lib.Net()
    call = st.compile(net.forward)
    call(st.ones(2, 4))
    assert {guard.partition(" ")[0].rpartition(".")[2] for guard in call.guards} <= {
        "SCALE", "shift", "scale", "training", "p", "kept[0]", "in_features", "_hooks"}
