"""The Mandelbrot set in complex numbers: one compiled loop, whose steps compute the parts of all points in one kernel.

    python docs/mandelbrot.py
"""
import stele as st


@st.compile
def escapes(c: st.Tensor, steps: int) -> st.Tensor:
    """For each point, how many steps of z = z * z + c stay within 2 of 0."""
    def step(carry: tuple[st.Tensor, st.Tensor], _: None) -> tuple[tuple[st.Tensor, st.Tensor], tuple[()]]:
        z, count = carry
        inside = st.abs(z) < 2
        return (st.where(inside, z * z + c, z), count + inside), ()

    (_, count), _ = st.scan(step, (st.zeros_like(c), st.zeros(c.shape, dtype="int64")), None, length=steps)
    return count


x, y = st.linspace(-2.2, 0.8, 72), st.linspace(-1.2, 1.2, 28)
counts = escapes(st.complex(x, y[:, None]), 60).numpy()
print("\n".join("".join(" .:-=+*#%@"[min(9, n * 10 // 60)] for n in row) for row in counts))
