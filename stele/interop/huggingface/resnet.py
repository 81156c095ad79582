"""Residual networks (He et al., 2016), under the names of their checkpoints."""
from __future__ import annotations

import stele as st
from stele import Tensor, nn
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.parts import ACTIVATIONS, images

FORMS = {"basic": 1, "bottleneck": 4}       # by how much the layers within are narrower


class ConvLayer(nn.Module):
    """A convolution, normalised, and an activation where it has one."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1, act: str | None = None) -> None:
        self.convolution = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
        self.normalization, self.act = nn.BatchNorm2d(outputs), act

    def forward(self, x: Tensor) -> Tensor:
        x = self.normalization(self.convolution(x))
        return x if self.act is None else ACTIVATIONS[self.act](x)


class ResidualLayer(nn.Module):
    """Two or three convolutions beside the way around them: within it is relu, whatever `hidden_act` is behind it."""

    def __init__(self, c: Config, inputs: int, outputs: int, stride: int) -> None:
        self.act = c.word("hidden_act", "relu", ACTIVATIONS)
        narrow = FORMS[form := c.word("layer_type", "bottleneck", FORMS)]
        inner, early = max(outputs // narrow, 1), c.flag("downsample_in_bottleneck", False)
        self.shortcut = ConvLayer(inputs, outputs, 1, stride) if inputs != outputs or stride != 1 else nn.Identity()
        self.layer = nn.Sequential(
            ConvLayer(inputs, outputs, 3, stride, "relu"), ConvLayer(outputs, outputs, 3)) if form == "basic" else \
            nn.Sequential(ConvLayer(inputs, inner, 1, stride if early else 1, "relu"),
                          ConvLayer(inner, inner, 3, 1 if early else stride, "relu"), ConvLayer(inner, outputs, 1))

    def forward(self, x: Tensor) -> Tensor:
        return ACTIVATIONS[self.act](self.layer(x) + self.shortcut(x))


class Stage(nn.Module):
    """Layers of one size."""

    def __init__(self, c: Config, inputs: int, outputs: int, stride: int, depth: int) -> None:
        self.layers = nn.Sequential(ResidualLayer(c, inputs, outputs, stride), *(
            ResidualLayer(c, outputs, outputs, 1) for _ in range(depth - 1)))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Encoder(nn.Module):
    """All stages, each but the first at half the size."""

    def __init__(self, c: Config) -> None:
        sizes, depths = c.wholes("hidden_sizes"), c.depths("depths")
        first = 2 if c.flag("downsample_in_first_stage", False) else 1
        self.stages = nn.Sequential(*(
            Stage(c, inputs, outputs, 2 if k else first, depth) for k, (inputs, outputs, depth) in enumerate(
                zip([c.whole("embedding_size"), *sizes], sizes, depths))))

    def forward(self, x: Tensor) -> Tensor:
        return self.stages(x)


class Embedder(nn.Module):
    """The first convolution, at a quarter of the size."""

    def __init__(self, c: Config) -> None:
        act = c.word("hidden_act", "relu", ACTIVATIONS)
        self.embedder = ConvLayer(c.whole("num_channels", 3), c.whole("embedding_size"), 7, 2, act)

    def forward(self, x: Tensor) -> Tensor:
        return st.max_pool2d(self.embedder(x), 3, stride=2, padding=1)


class ResNetModel(nn.Module):
    """Images (N, C, H, W) -> features (N, F, h, w), and their means (N, F, 1, 1)."""

    def __init__(self, c: Config) -> None:
        self.embedder, self.encoder = Embedder(c), Encoder(c)

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, Tensor]:
        x = self.encoder(self.embedder(images(pixel_values)))
        return x, x.mean(axis=(2, 3), keepdims=True)


class ResNetForImageClassification(nn.Module):
    """Images (N, C, H, W) -> logits of classes, (N, classes)."""

    base = "resnet"

    def __init__(self, c: Config) -> None:
        self.resnet = ResNetModel(c)
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(c.wholes("hidden_sizes")[-1], c.labels()))

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.classifier(self.resnet(pixel_values)[1])
