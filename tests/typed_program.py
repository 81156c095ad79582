"""A user's program, in which a strict type checker finds nothing; it runs, too."""
from __future__ import annotations

import numpy as np

import stele as st
from stele import data, nn, optim


class Net(nn.Module):
    """Two layers with something between them."""

    def __init__(self, features: int, classes: int) -> None:
        self.first = nn.Linear(features, 16)
        self.norm = nn.LayerNorm(16)
        self.body = nn.Sequential(nn.Linear(16, 16), nn.ReLU())
        self.head = nn.Linear(16, classes, bias=False)

    def forward(self, x: st.Tensor, scale: float = 1.0) -> st.Tensor:
        h = st.relu(self.norm(self.first(x)))
        return self.head(self.body(h)) * scale


class Ema:
    """A running mean, kept by a compiled method."""

    def __init__(self) -> None:
        self.mean = st.zeros(3)

    @st.compile
    def add(self, x: st.Tensor, weight: float = 0.1) -> st.Tensor:
        self.mean.assign(self.mean * (1 - weight) + x * weight)
        return self.mean


model = Net(4, 3)
optimizer = optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
schedule = optim.CosineDecay(optimizer, steps=10)


@st.compile
def train_step(x: st.Tensor, y: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
    logits = model(x)
    loss = nn.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optim.clip_grad_norm(model.parameters(), 1.0)
    optimizer.step()
    return loss, (logits.argmax(axis=1) == y).astype("float32").mean()


@st.compile(dims={"x": {0: "batch"}})
def predict(x: st.Tensor) -> st.Tensor:
    return st.softmax(model(x, scale=2.0), axis=-1)


@st.no_grad()
def norm(x: st.Tensor) -> float:
    return float(st.sqrt(st.square(x).sum()))


def operators(x: st.Tensor) -> st.Tensor:
    y = 1 + x * 2 - x / 3 + 2 ** x
    y = -y @ x.T @ x + abs(x)
    mask: st.Tensor = (x > 0) & ~(x == 1)
    y = st.where(mask, y, 0.0).clip(-5.0, 5.0)
    y += x
    y[0, 1:] = 0.5
    part: st.Tensor = y[..., None, ::2][0]
    rows, columns = x.shape
    size: int = rows * columns + x.ndim + len(x)
    flat = y.reshape(-1).sum(0, keepdims=True) + st.stack([part, part]).mean((0, 1)).mean() + size
    first, *_ = st.split(flat, 1)
    return st.concatenate([row.sum().reshape(1) for row in y] + [first, flat.view(1)])


def derivatives(x: st.Tensor) -> st.Tensor:
    def energy(x: st.Tensor, scale: float = 1.0) -> st.Tensor:
        return (x ** 3).sum() * scale

    def loss(net: Net, x: st.Tensor) -> st.Tensor:
        return net(x).square().mean()

    def of_dict(parameters: dict[str, st.Tensor]) -> st.Tensor:
        return (parameters["w"] * 2).sum()

    g: st.Tensor = st.grad(energy)(x, 2.0)
    value, slope = st.value_and_grad(energy)(x)
    curved: st.Tensor = st.grad(st.grad(energy))(x.sum()) + st.hessian(energy)(x).sum()
    by_name: dict[str, st.Tensor] = st.grad(loss)(model, x)
    w: st.Tensor = st.grad(of_dict)({"w": x})["w"]
    both: st.Tensor = st.gradients(energy(x.requires_grad_()), [x])[0]
    y, pull = st.vjp(energy, x, 1.0)
    parts = [curved, g, value, slope, w, by_name["head.weight"], both, y, pull(y)[0]]
    return st.concatenate([part.reshape(-1) for part in parts]).sum()


def running(x: st.Tensor) -> st.Tensor:
    def step(total: st.Tensor, part: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
        total = total + part
        return total, total

    total, sums = st.scan(step, st.zeros(x.shape[1]), x)
    return total + sums[-1]


def main() -> None:
    st.manual_seed(0)
    images = np.random.default_rng(0).random((32, 4), dtype=np.float32)
    labels = np.arange(32) % 3
    loader = data.Loader((images, labels), batch_size=8, shuffle=True)
    for x, y in loader:
        loss, accuracy = train_step(st.tensor(x), st.tensor(y, dtype="int64"))
        schedule.step()
        print(f"{float(loss):.2f} {accuracy.item():.2f}")
    x = st.randn(3, 4)
    print(predict(x).numpy().shape, norm(x), operators(st.ones((3, 3), dtype=st.float32)).tolist())
    print(derivatives(x).item(), running(x).tolist(), Ema().add(st.ones(3), weight=0.5).tolist())
    if (g := model.head.weight.grad) is not None:
        print(g.shape, len(model.state_dict()), model.first.weight.requires_grad)
    h, last = nn.GRU(4, 5)(st.zeros((2, 1, 4)))
    print(h.shape, last.dtype == st.float32)


if __name__ == "__main__":
    main()
