"""A user's program with mistakes that a type checker has to find, each on a line that says so."""
from __future__ import annotations

import stele as st
from stele import nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8)                      # mistake: an argument is missing

    def forward(self, x: st.Tensor) -> st.Tensor:
        return self.second(st.relu(self.first(x), 0.1))     # mistake: an argument too many


model = Net()
optimizer = optim.Adam(model, lr=1e-3)                  # mistake: a model for its parameters


@st.compile
def step(x: st.Tensor, y: st.Tensor) -> st.Tensor:
    loss = nn.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


x = st.zeros(2, 4)
labels = st.tensor([0, 1])
shifted = x + "1"                                       # mistake: text is no operand
names = (x + 1).shpae                                   # mistake: a name misspelled, of a sum
total = st.sum(x, axs=0)                                # mistake: an argument misspelled
rows: list[int] = st.relu(x)                            # mistake: a tensor is no list
first = x[0].tolsit()                                   # mistake: a name misspelled, of a row
picked = x["a"]                                         # mistake: text is no index
loss = step(x)                                          # mistake: an argument is missing, of a compiled function
print(step(x, labels).itme())                           # mistake: a name misspelled, of a compiled result
print(model(x).sofmax())                                # mistake: no method, of what a model makes
print(model.first.weight.grad.sum())                    # mistake: there may be no gradient
print(st.reluu(x))                                      # mistake: a function misspelled
print(st.grad(step)(x, labels).mena())                  # mistake: a name misspelled, of a gradient
for a, b in st.concatenate(x, axis=0):                  # mistake: a tensor for a list of them
    print(a, b)
wide = x.shape + 1                                      # mistake: a shape is no number
