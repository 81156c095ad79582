"""Discrete Fourier transforms on tensors, under the names of the array API standard's extension."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stele.arrays.spellings import unknown
from stele.arrays.spoken import publish
from stele.arrays.tensor import DeviceLike, DTypeLike, Tensor, lift, tensor
from stele.ir.door import public
from stele.ops import fourier
from stele.ops.arguments import count, number, positive, refuse

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
           "irfft", "irfftn", "rfft", "rfftfreq", "rfftn"]

# fmt: off
fft, ifft             = lift(fourier.fft), lift(fourier.ifft)
fft2, ifft2           = lift(fourier.fft2), lift(fourier.ifft2)
fftn, ifftn           = lift(fourier.fftn), lift(fourier.ifftn)
rfft, irfft           = lift(fourier.rfft), lift(fourier.irfft)
rfftn, irfftn         = lift(fourier.rfftn), lift(fourier.irfftn)
hfft, ihfft           = lift(fourier.hfft), lift(fourier.ihfft)
fftshift, ifftshift   = lift(fourier.fftshift), lift(fourier.ifftshift)
# fmt: on


def apart(d: Any, what: str) -> Any:
    """How far samples are from each other: a number other than 0."""
    return number(d, what) or refuse(what, "a number other than 0", d)


@public
def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike = "float32", device: DeviceLike = None) -> Tensor:
    """The frequencies that the `n` elements of `fft` stand for, `d` between two samples: 0, 1, ... then the negative.

    Made on `device`, as `st.arange`. float32. A row of n numbers. Raises ShapeError for an n below 1,
    ArgumentError for a d of 0.

    >>> st.fft.fftfreq(4, d=0.25).tolist()
    [0.0, 1.0, -2.0, -1.0]
    """
    n = count(positive(n, "n of fftfreq"), "n of fftfreq")
    return tensor(np.fft.fftfreq(n, apart(d, "d of fftfreq")), dtype, device=device)


@public
def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike = "float32", device: DeviceLike = None) -> Tensor:
    """The frequencies that the n // 2 + 1 elements of `rfft` of `n` numbers stand for, `d` between two samples.

    Made on `device`, as `st.arange`. float32. A row of n // 2 + 1 numbers. Raises ShapeError for an n below 1,
    ArgumentError for a d of 0.

    >>> st.fft.rfftfreq(5, d=0.2).tolist()
    [0.0, 1.0, 2.0]
    """
    n = count(positive(n, "n of rfftfreq"), "n of rfftfreq")
    return tensor(np.fft.rfftfreq(n, apart(d, "d of rfftfreq")), dtype, device=device)


publish(list(globals().items()), __name__)

if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.fft", name, __all__, {"fft2": "st.fft.fftn(x, axes=(-2, -1))",
                                                   "rfft2": "st.fft.rfftn(x, axes=(-2, -1))"})


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
