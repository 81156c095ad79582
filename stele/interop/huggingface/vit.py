"""Vision transformers (Dosovitskiy et al., 2021), under the names of their checkpoints."""
from __future__ import annotations

import stele as st
from stele import Tensor, nn
from stele.errors import ShapeError
from stele.interop.huggingface.bert import Activated, SelfAttention
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.parts import images
from stele.nn import init


class Dense(nn.Module):
    """An affine map."""

    def __init__(self, c: Config, inputs: int) -> None:
        self.dense = nn.Linear(inputs, c.whole("hidden_size"))
        self.dropout = nn.Dropout(c.chance("hidden_dropout_prob"))

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.dense(x))


class ViTAttention(nn.Module):
    """Attention of all patches to all."""

    def __init__(self, c: Config) -> None:
        self.attention = SelfAttention(c, c.flag("qkv_bias", True))
        self.output = Dense(c, c.whole("hidden_size"))

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.attention(x))


class ViTLayer(nn.Module):
    """Attention and two layers of each patch, each behind a normalisation."""

    def __init__(self, c: Config) -> None:
        width, inner, eps = c.whole("hidden_size"), c.whole("intermediate_size"), c.number("layer_norm_eps", 1e-12)
        self.attention, self.intermediate, self.output = ViTAttention(c), Activated(c, inner), Dense(c, inner)
        self.layernorm_before, self.layernorm_after = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.layernorm_before(x))
        return x + self.output(self.intermediate(self.layernorm_after(x)))


class ViTEncoder(nn.Module):
    """All layers."""

    def __init__(self, c: Config) -> None:
        self.layer = nn.ModuleList([ViTLayer(c) for _ in range(c.layers("num_hidden_layers"))])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layer:
            x = layer(x)
        return x


class ViTEmbeddings(nn.Module):
    """Images (N, C, H, W) -> features of their patches behind those of a class, (N, 1 + patches, hidden_size)."""

    def __init__(self, c: Config) -> None:
        width = c.whole("hidden_size")
        patch, image = c.wholes("patch_size", 16), c.wholes("image_size", 224)
        self.size = image[0], image[-1]
        height, across = (image[k] // patch[k] for k in (0, -1))
        self.cls_token = init.zeros((1, 1, width))
        self.position_embeddings = init.zeros((1, 1 + height * across, width))
        size = patch[0], patch[-1]
        self.patch_embeddings = nn.ModuleDict({"projection": nn.Conv2d(
            c.whole("num_channels", 3), width, size, stride=size)})
        self.dropout = nn.Dropout(c.chance("hidden_dropout_prob"))

    def forward(self, pixel_values: Tensor) -> Tensor:
        if (found := images(pixel_values).shape[2:]) != self.size:
            raise ShapeError(f"the model takes images of size {self.size}, got {found}",
                             hint=f"Resize them: nn.functional.interpolate(x, {self.size}, mode='bilinear').")
        patches = self.patch_embeddings["projection"](pixel_values).flatten(2).swapaxes(1, 2)
        first = st.broadcast_to(self.cls_token, (patches.shape[0], 1, patches.shape[2]))
        return self.dropout(st.concatenate([first, patches], axis=1) + self.position_embeddings)


class ViTModel(nn.Module):
    """Images (N, C, H, W) -> features (N, 1 + patches, hidden_size), and the first once more through the pooler."""

    def __init__(self, c: Config, pools: bool = True) -> None:
        width = c.whole("hidden_size")
        self.embeddings, self.encoder = ViTEmbeddings(c), ViTEncoder(c)
        self.layernorm = nn.LayerNorm(width, c.number("layer_norm_eps", 1e-12))
        act = c.word("pooler_act", "tanh")
        self.pooler = Activated(c, c.whole("pooler_output_size", width), act) if pools else None

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, Tensor | None]:
        x = self.layernorm(self.encoder(self.embeddings(pixel_values)))
        return x, None if self.pooler is None else self.pooler(x[:, 0])


class ViTForImageClassification(nn.Module):
    """Images (N, C, H, W) -> logits of classes, (N, classes)."""

    base = "vit"

    def __init__(self, c: Config) -> None:
        self.vit = ViTModel(c, pools=False)
        self.classifier = nn.Linear(c.whole("hidden_size"), c.labels())

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.classifier(self.vit(pixel_values)[0][:, 0])
