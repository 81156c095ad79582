"""What objects say of themselves, and what the package shows of itself."""
from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, nn, optim
from stele.errors import DataError, ShapeError


class Net(nn.Module):
    def __init__(self) -> None:
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = [nn.Sequential(nn.Conv2d(8, 8, 3, bias=False), nn.BatchNorm2d(8)) for _ in range(2)]
        self.head = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(axis=(2, 3)))


def test_a_module_is_a_tree_with_sizes_and_counts() -> None:
    text = repr(Net()).splitlines()
    assert text[0].startswith("Net(") and text[0].endswith("    1,498 parameters")
    assert [line.split(":")[0].strip() for line in text[1:]] == [
        "(stem)", *[part for k in range(2) for part in (f"(blocks.{k})", "(0)", "(1)", ")")], "(head)", ")"]
    assert [int(line.split()[-1]) for line in text if line[-1].isdigit()] == [224, 592, 576, 16, 592, 576, 16, 90]
    assert len({line.rindex(" ") for line in text[1:] if line[-1].isdigit()}) == 1, "counts stand in one column"


@pytest.mark.parametrize("layer, said", [
    (nn.Linear(4, 2), "Linear(4, 2)"), (nn.Linear(4, 2, bias=False), "Linear(4, 2, bias=False)"),
    (nn.Conv2d(4, 8, (3, 5), stride=2, groups=2), "Conv2d(4, 8, (3, 5), stride=(2, 2), groups=2)"),
    (nn.Conv1d(4, 8, 3, padding="same", bias=False), "Conv1d(4, 8, (3,), padding='same', bias=False)"),
    (nn.ConvTranspose3d(4, 8, 2, stride=2, output_padding=1),
     "ConvTranspose3d(4, 8, (2, 2, 2), stride=(2, 2, 2), output_padding=(1, 1, 1))"),
    (nn.MaxPool2d(2), "MaxPool2d(2)"), (nn.AvgPool2d(3, 1, 1), "AvgPool2d(3, stride=1, padding=1)"),
    (nn.LayerNorm(7), "LayerNorm(7, eps=1e-05)"), (nn.GroupNorm(2, 4), "GroupNorm(2, 4, eps=1e-05)"),
    (nn.GroupNorm(2, 4, affine=False), "GroupNorm(2, 4, eps=1e-05, affine=False)"),
    (nn.Dropout(0.25), "Dropout(0.25)"), (nn.ReLU(), "ReLU()"),
    (nn.Embedding(10, 3), "Embedding(10, 3)"), (nn.GELU("tanh"), "GELU('tanh')"), (nn.GELU(), "GELU()"),
    (nn.GRU(3, 4), "GRU(3, 4)"), (nn.LSTM(3, 4, 2, batch_first=True), "LSTM(3, 4, num_layers=2, batch_first=True)")])
def test_a_layer_says_how_it_was_made(layer: nn.Module, said: str) -> None:
    assert repr(layer).split("    ")[0] == said
    assert "<pre>" in layer._repr_html_()


def test_a_module_that_holds_itself_prints() -> None:
    layer = nn.Linear(2, 2)
    layer.me = layer  # type: ignore[attr-defined]
    assert "(me): Linear(2, 2)" in repr(layer)


def test_a_summary_follows_an_input_and_leaves_the_state_alone() -> None:
    model = Net()
    before = {name: x.numpy().copy() for name, x in model.state_dict().items()}
    found = nn.summary(model, (4, 3, 16, 16))
    assert [(row.path, row.shape, row.parameters) for row in found.rows] == [
        ("stem", "(4, 8, 16, 16)", 224),
        ("blocks.0.0", "(4, 8, 14, 14)", 576), ("blocks.0.1", "(4, 8, 14, 14)", 16), ("blocks.0", "(4, 8, 14, 14)", 0),
        ("blocks.1.0", "(4, 8, 12, 12)", 576), ("blocks.1.1", "(4, 8, 12, 12)", 16), ("blocks.1", "(4, 8, 12, 12)", 0),
        ("head", "(4, 10)", 90), ("", "(4, 10)", 0)]
    assert found.parameters == sum(row.parameters for row in found.rows) == 1498
    assert found.bytes == sum(x.nbytes for x in before.values())
    assert "Net: 1,498 parameters" in str(found) and found._repr_html_().count("<tr>") == 10
    assert all(np.array_equal(x.numpy(), before[name]) for name, x in model.state_dict().items())
    assert [row.path for row in nn.summary(model).rows] == ["", *(name for name, _ in model.named_modules() if name)]


def test_a_summary_counts_tied_parameters_once_and_takes_arrays() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight  # type: ignore[attr-defined]
    found = nn.summary(model, np.zeros((2, 3), np.float32))
    assert [row.parameters for row in found.rows] == [12, 3, 0] and found.parameters == 15
    with pytest.raises(DataError, match=r"a shape such as \(1, 3, 32, 32\), got 'x'"):
        nn.summary(model, "x")
    with pytest.raises(ShapeError):
        nn.summary(model, (2, 4))


def test_optimizers_schedules_functions_and_data_say_what_they_are() -> None:
    model = nn.Linear(4, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    assert repr(optimizer) == ("SGD(lr=0.1, momentum=0.9, nesterov=False, weight_decay=0.0, dampening=0.0, "
                               "maximize=False; 2 tensors, 10 parameters)")
    schedule = optim.StepLR(optimizer, step_size=5)
    schedule.step()
    assert repr(schedule) == "StepLR(lr=0.1, step_size=5, gamma=0.1; SGD at step 1)"
    step = st.compile(lambda x: model(x))
    assert repr(step) == "<compiled <lambda>: not called yet>"
    step(st.ones(1, 4))
    assert repr(step) == "<compiled <lambda>: 1 program of 1 trace>"
    x = st.placeholder(("n", 4), name="x")
    assert repr(st.function([x], model(x))) == "<function of x: float32[n,4]>"
    loader = data.Loader((np.zeros((5, 2), np.float32), np.zeros(5, np.int64)), 2)
    assert repr(loader) == ("Loader(ArrayDataset(float32[5, 2], int64[5]), batch_size=2, shuffle=False, seed=0; "
                            "3 batches, next epoch 0)")
    assert repr(data.fashion_sample().test) == "ArrayDataset(uint8[2000, 1, 28, 28], int64[2000])"


def test_the_package_shows_its_public_names_alone_and_loads_rooms_when_named() -> None:
    assert {"nn", "optim", "data", "Tensor", "compile", "__version__"} <= set(dir(st)) == {*st.__all__, "__version__"}
    assert all(hasattr(st, name) for name in dir(st))
    code = ("import sys, stele as st; assert not {'stele.nn', 'stele.optim', 'stele.data'} & set(sys.modules); "
            "st.optim.SGD(st.nn.Linear(1, 1).parameters(), 0.1); st.data.Loader; "
            "assert st.__version__.count('.') == 2")
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="stele has no 'nonsense'"):
        st.nonsense  # noqa: B018
