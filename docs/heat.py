"""The heat equation by finite differences: a loop that `st.scan` compiles, beside the solution on paper, and backwards.

    python docs/heat.py
"""
import stele as st

N, STEPS, DT = 48, 400, 0.2     # in units of h**2 / conductivity, stable up to 0.25


def step(u: st.Tensor) -> st.Tensor:
    """One explicit step inside of a plate whose edges stay cold: each point moves towards its four neighbours."""
    inner = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return st.pad(inner + DT * (around - 4 * inner), 1)


@st.compile
def after(u: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
    """The plate after all steps, and the heat that was in it at each of them."""
    return st.scan(lambda u, _: (step(u), u.sum()), u, None, length=STEPS)


x = st.linspace(0, 1, N)
wave = st.sin(st.pi * x)[:, None] * st.sin(2 * st.pi * x)[None, :]
last, heat = after(wave)

# On paper the wave keeps its shape, and each step multiplies it by the same number.
h = st.pi / (N - 1)
factor = 1 - 4 * DT * (st.sin(st.tensor(h / 2)) ** 2 + st.sin(st.tensor(h)) ** 2)
error = st.abs(last - wave * factor ** STEPS).max()
print(f"largest difference from the solution: {float(error):.1e}")

# Of two hot spots, and where a thermometer far off looks: the gradient runs the loop backwards.
spots = st.zeros((N, N))
spots[10:16, 8:14] = 1.0
spots[30:36, 30:36] = 2.0
plate, _ = after(spots)
shades = (plate / plate.max() * 9.9)[::4, ::2].astype("int64").tolist()
print("\n".join("".join(" .:-=+*#%@"[v] for v in row) for row in shades))
seen = st.grad(lambda u: after(u)[0][24, 24])(spots)
place = st.arange(N) - 24
far = st.sqrt((seen * (place[:, None] ** 2 + place ** 2)).sum() / seen.sum())
print(f"a thermometer in the middle feels what was {float(far):.0f} points away")
