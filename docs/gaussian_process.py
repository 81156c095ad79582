"""A Gaussian process: its kernel learned by the gradient of the marginal likelihood through a Cholesky factor.

    python docs/gaussian_process.py
"""
import stele as st

rng = st.random.default_rng(3)
x = st.sort(rng.uniform(0, 10, size=40, dtype="float64"))
y = st.sin(x) + 0.4 * st.cos(2.3 * x) + 0.1 * rng.normal(size=40, dtype="float64")


def kernel(a: st.Tensor, b: st.Tensor, p: st.Tensor) -> st.Tensor:
    """The squared exponential: p holds logarithms of height, length and noise."""
    return st.exp(2 * p[0]) * st.exp(-0.5 * ((a[:, None] - b) / st.exp(p[1])) ** 2)


def factor(p: st.Tensor) -> st.Tensor:
    """The Cholesky factor of the covariances of what was measured."""
    return st.linalg.cholesky(kernel(x, x, p) + st.exp(2 * p[2]) * st.eye(40, dtype="float64"))


def loss(p: st.Tensor) -> st.Tensor:
    """Minus the logarithm of the marginal likelihood (Rasmussen and Williams, 2006, equation 2.30), for each point."""
    lower = factor(p)
    white = st.linalg.solve_triangular(lower, y[:, None], upper=False)
    return (0.5 * (white ** 2).sum() + st.log(st.linalg.diagonal(lower)).sum()) / 40 + 0.919


@st.compile
def learn(p: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
    """Parameters after 300 steps of gradient descent with momentum, and the losses on the way."""
    def step(state: tuple[st.Tensor, st.Tensor], _: None) -> tuple[tuple[st.Tensor, st.Tensor], st.Tensor]:
        p, speed = state
        value, slope = st.value_and_grad(loss)(p)
        speed = 0.9 * speed - 0.02 * slope
        return (p + speed, speed), value

    (p, _), losses = st.scan(step, (p, st.zeros_like(p)), None, length=300)
    return p, losses


p, losses = learn(st.tensor([0.0, 1.0, -0.5], dtype="float64"))
height, length, noise = st.exp(p).tolist()
print(f"loss {float(losses[0]):.2f} -> {float(losses[-1]):.2f}; length {length:.2f}, noise {noise:.2f}")

at = st.linspace(0, 10, 61, dtype="float64")
across = kernel(at, x, p)
lower = factor(p)
mean = across @ st.linalg.cho_solve(lower, y[:, None])[:, 0]
known = (st.linalg.solve_triangular(lower, across.T, upper=False) ** 2).sum(axis=0)
spread = st.sqrt(st.maximum(st.exp(2 * p[0]) - known, 0))
truth = st.sin(at) + 0.4 * st.cos(2.3 * at)
inside = (st.abs(mean - truth) < 2.5 * spread + 0.02).mean()
print(f"the truth is within 2.5 deviations at {float(inside):.0%} of the places")

grid = [[" "] * 61 for _ in range(17)]
for k, (m, s) in enumerate(zip(mean.tolist(), spread.tolist())):
    for v, mark in ((m - 2 * s, "."), (m + 2 * s, "."), (m, "*")):
        grid[max(0, min(16, round(8 - v * 4.5)))][k] = mark
print("\n".join("".join(row) for row in grid))
