"""Principal components of handwritten-like strokes: the directions of most variance by SVD, and what two of them keep.

    python docs/pca.py
"""
import stele as st

SIDE, COUNT = 12, 400
rng = st.random.default_rng(2)

# Pictures of bars: each has an angle and a thickness, so two numbers say nearly all about one.
angle = rng.uniform(-0.6, 0.6, size=(COUNT, 1, 1))
width = rng.uniform(0.8, 1.6, size=(COUNT, 1, 1))
y, x = st.meshgrid(st.linspace(-5, 5, SIDE), st.linspace(-5, 5, SIDE), indexing="ij")
distance = x * st.cos(angle) + y * st.sin(angle)
pictures = st.exp(-((distance / width) ** 2)) + 0.02 * rng.normal(size=(COUNT, SIDE, SIDE))


@st.compile
def components(data: st.Tensor) -> tuple[st.Tensor, st.Tensor, st.Tensor]:
    """The mean of rows, the principal directions as rows, and how much of the variance each holds."""
    mean = data.mean(axis=0)
    _, s, directions = st.linalg.svd(data - mean, full_matrices=False)
    return mean, directions, s ** 2 / (s ** 2).sum()


data = pictures.reshape(COUNT, -1)
mean, directions, share = components(data)
print("share of the variance:", [round(v, 3) for v in share[:4].tolist()])

codes = (data - mean) @ directions[:4].T
back = codes @ directions[:4] + mean
kept = 1 - ((data - back) ** 2).sum() / ((data - mean) ** 2).sum()
print(f"four numbers of {SIDE * SIDE} keep {float(kept):.0%}")
print("codes are uncorrelated:", bool(st.abs(st.corrcoef(codes.T) - st.eye(4)).max() < 1e-3))
follows = st.abs(st.corrcoef(st.stack([codes[:, 0], angle.reshape(-1)]))[0, 1])
print("the first one is the angle:", bool(follows > 0.9))

for left, right in zip(data[0].reshape(SIDE, SIDE).tolist(), back[0].reshape(SIDE, SIDE).tolist()):
    print("   ".join("".join(" .:-=+*#%@"[max(0, min(9, int(v * 9)))] * 2 for v in row) for row in (left, right)))
