"""k-means by Lloyd's algorithm: distances by one matrix product, sums of clusters by `segment_sum`, all in one program.

    python docs/kmeans.py
"""
import stele as st

K, STEPS = 3, 12
rng = st.random.default_rng(4)
middles = st.tensor([[0.0, 0.0], [1.5, 4.0], [4.0, 1.0]])
points = middles[rng.integers(K, size=600)] + 0.6 * rng.normal(size=(600, 2))


def nearest(points: st.Tensor, centres: st.Tensor) -> st.Tensor:
    """Which centre each point is nearest to: of |p - c|**2 = |p|**2 - 2 p c + |c|**2 the first is the same for all."""
    return st.argmin((centres ** 2).sum(axis=1) - 2 * points @ centres.T, axis=1)


@st.compile
def lloyd(points: st.Tensor, centres: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
    """The centres after all steps, and the mean squared distance before each."""
    def step(centres: st.Tensor, _: None) -> tuple[st.Tensor, st.Tensor]:
        own = nearest(points, centres)
        count = st.maximum(st.segment_sum(st.ones(points.shape[0]), own, K), 1.0)
        loss = ((points - centres[own]) ** 2).sum(axis=1).mean()
        return st.segment_sum(points, own, K) / count[:, None], loss

    return st.scan(step, centres, None, length=STEPS)


start = points[:1]       # the first point, and each time the one that is farthest from those there are
while len(start) < K:
    gaps = ((points[:, None] - start) ** 2).sum(axis=2).min(axis=1)
    start = st.concatenate([start, points[st.argmax(gaps)][None]])
centres, losses = lloyd(points, start)
order = st.argsort(centres[:, 0])
print("mean squared distance:", [round(loss, 2) for loss in losses.tolist()[::4]], "...")
print("centres:", [[round(v, 1) for v in row] for row in centres[order].tolist()])

grid = [[" "] * 60 for _ in range(20)]
for (a, b), own in zip(points.tolist(), nearest(points, centres[order]).tolist()):
    if -2 <= a < 6 and -2 <= b < 6:
        grid[int((6 - b) * 2.499)][int((a + 2) * 7.5)] = "ox+"[own]
print("\n".join("".join(row) for row in grid))
print("every centre found:", bool(st.abs(centres[order] - middles).max() < 0.3))
