"""Conway's Game of Life: one compiled loop of whole generations, in which a cell is a bool and neighbours are shifts.

    python docs/game_of_life.py
"""
import stele as st

GLIDER = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]


def step(cells: st.Tensor) -> st.Tensor:
    """The next generation on a torus: born of three neighbours, alive with two or three."""
    count = sum(st.roll(cells.astype("int8"), (dy, dx), (0, 1))
                for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
    return (count == 3) | (cells & (count == 2))


@st.compile
def generations(cells: st.Tensor, steps: int) -> tuple[st.Tensor, st.Tensor]:
    """The last generation, and how many cells were alive in each."""
    return st.scan(lambda c, _: (step(c), c.sum()), cells, None, length=steps)


cells = st.zeros((12, 24), dtype="bool")
cells[1:4, 1:4] = st.tensor(GLIDER) == 1
cells[6:8, 18:20] = True        # a block
cells[2, 12:15] = True          # a blinker

last, alive = generations(cells, 16)
print("\n".join("".join(".#"[cell] for cell in row) for row in last.tolist()))
print("alive:", alive.tolist())

# A glider moves by one cell down and one to the right in four generations.
alone = st.zeros((12, 24), dtype="bool")
alone[1:4, 1:4] = st.tensor(GLIDER) == 1
moved, _ = generations(alone, 16)
print("the glider moved by (4, 4):", bool((moved == st.roll(alone, (4, 4), (0, 1))).all()))
