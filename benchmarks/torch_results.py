"""PyTorch's side of `compare_torch.py`: `features FOLDER`, or `accuracy WORKLOAD WEIGHTS X Y`."""
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[1] / "stele" / "rosetta" / "pytorch"))

from cnn import Cnn
from gru import Gru
from resnet50 import ResNet50

BATCH = 200


def features(folder: Path) -> float:
    """Leaves random weights, images and what the network makes of them; the mean feature."""
    torch.manual_seed(0)
    model = ResNet50().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.normal_(module.bias, 0.0, 0.1)
            nn.init.normal_(module.running_mean, 0.0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    x = torch.randn(4, 3, 224, 224)
    with torch.inference_mode():
        y = model(x)
    save_file(model.state_dict(), folder / "model.safetensors")
    np.save(folder / "images.npy", x.numpy())
    np.save(folder / "features.npy", y.numpy())
    return float(y.mean())


def accuracy(workload: str, weights: str, x: str, y: str) -> float:
    """The share of right answers of a model that Stele trained."""
    model = Cnn() if workload == "cnn" else Gru()
    if workload == "cnn":
        images = np.load(x, mmap_mode="r")
        side = images.shape[2] // 4
        model.conv1 = nn.Conv2d(images.shape[1], 50, 3, padding=1)
        model.fc1 = nn.Linear(100 * side * side, 512)
    model.load_state_dict(load_file(weights))
    model.eval()
    right, labels = 0, torch.from_numpy(np.load(y))
    with torch.inference_mode():
        for part, wanted in zip(torch.from_numpy(np.load(x)).split(BATCH), labels.split(BATCH)):
            logits = model(part if workload == "cnn" else part.long())
            right += int((logits.argmax(1) == wanted).sum())
    return right / len(labels)


if __name__ == "__main__":
    task, *rest = sys.argv[1:]
    print(features(Path(*rest)) if task == "features" else accuracy(*rest))
