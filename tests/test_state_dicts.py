"""Weights that PyTorch has saved, of networks as people name them, load strictly and give what they gave there."""
from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from peer import KEPT, torch_gives

import stele as st
from stele import nn
from stele.errors import DataError

# Classes that read the same in both frameworks: `nn` is of either.
SOURCE = '''
class Block(nn.Module):
    def __init__(self, n, m, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(m, m, 3, padding=1, bias=False), nn.BatchNorm2d(m)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Block(4, 4, 1), Block(4, 4, 1))
        self.layer2 = nn.Sequential(Block(4, 6, 2))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(6, 5)

    def forward(self, x):
        x = self.layer2(self.layer1(self.maxpool(self.relu(self.bn1(self.conv1(x))))))
        return self.fc(self.avgpool(x).flatten(1))


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        def unit(n, m, **options):
            return nn.Sequential(nn.Conv2d(n, m, 3, padding=1, bias=False, **options), nn.BatchNorm2d(m), nn.ReLU6())
        self.features = nn.Sequential(unit(3, 4, stride=2), unit(4, 4, groups=4), nn.Conv2d(4, 6, 1), nn.Hardswish())
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(6, 5))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.class_token = nn.Parameter(zeros(1, 1, 8))
        self.conv_proj = nn.Conv2d(3, 8, 4, 4)
        self.pos_embedding = nn.Parameter(zeros(1, 17, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8, eps=1e-6), enable_nested_tensor=False)
        self.heads = nn.Sequential(nn.Linear(8, 5))

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        x = cat([self.class_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embedding
        return self.heads(self.encoder(x)[:, 0])


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 6, 2, batch_first=True, bidirectional=True)
        self.norm, self.out = nn.GroupNorm(2, 12), nn.Linear(12, 5)

    def forward(self, x):
        y, (h, c) = self.lstm(x[:, 0])
        return self.out(self.norm(y[:, -1]))
'''
NAMES = "ResNet", "MobileNet", "VisionTransformer", "Tagger"
X = np.random.default_rng(5).standard_normal((2, 3, 16, 16)).astype("f4")


def network(name: str, layers: Any, whole: Any) -> Any:
    """One of the networks, of a framework's layers."""
    known: dict[str, Any] = {"nn": layers, "zeros": whole.zeros, "cat": whole.cat}
    exec(SOURCE, known)
    return known[name]()


def kept(name: str) -> Path:
    """The file of weights of a network."""
    return KEPT / f"state_{name.lower()}.safetensors"


def asked(name: str, torch: Any) -> list[Any]:
    """What a network gives in PyTorch, of the weights that are kept."""
    model, files = network(name, torch.nn, torch), import_module("safetensors.torch")
    if "STELE_RECORD" in os.environ:
        torch.manual_seed(3)
        for x in model.state_dict().values():
            (x.uniform_(0.1, 0.6) if x.dtype.is_floating_point else x.fill_(7))
        files.save_file(model.state_dict(), kept(name))
    model.load_state_dict(files.load_file(kept(name)))
    return [model.eval()(torch.tensor(X)).detach().numpy()]


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_pytorch_load_strictly(name: str) -> None:
    (expected,) = torch_gives(f"state_{name.lower()}", lambda torch: asked(name, torch))
    model = network(name, nn, st)
    model.load(kept(name))
    model.eval()
    for f in (model, st.compile(model)):
        np.testing.assert_allclose(f(st.tensor(X)).numpy(), expected, rtol=2e-5, atol=2e-5)
    state = {key: x.numpy() for key, x in st.load(kept(name)).items()}
    assert list(model.load_state_dict(state).missing_keys) == [] and set(model.state_dict()) == set(state)
    wrong = {("other." + key if k == 0 else key): x for k, (key, x) in enumerate(state.items())}
    with pytest.raises(DataError, match="other"):
        model.load_state_dict(wrong)


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch: pip install torch")
@pytest.mark.parametrize("name", NAMES)
def test_what_torch_save_wrote_loads_strictly(name: str, tmp_path: Path) -> None:
    torch: Any = import_module("torch")
    there = network(name, torch.nn, torch)
    torch.save(there.state_dict(), tmp_path / "model.pt")
    model = network(name, nn, st)
    model.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    np.testing.assert_allclose(model.eval()(st.tensor(X)).numpy(), there.eval()(torch.tensor(X)).detach().numpy(),
                               rtol=2e-5, atol=2e-5)
