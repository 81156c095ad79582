"""Discrete Fourier transforms on tensors, under the names of the array API standard's extension."""
# Written by tools/make_stubs.py.
from collections.abc import Sequence
from stele.arrays.tensor import TensorLike
from typing import Any
from stele.arrays.tensor import DeviceLike, DTypeLike, Tensor

__all__ = ['fft', 'fft2', 'fftfreq', 'fftn', 'fftshift', 'hfft', 'ifft', 'ifft2', 'ifftn', 'ifftshift', 'ihfft',
    'irfft', 'irfftn', 'rfft', 'rfftfreq', 'rfftn']
def fft(x: TensorLike, n: int | None=None, axis: int=-1, norm: str | None='backward') -> Tensor:
    """The discrete Fourier transform along an axis: the sums of x[j] * exp(-2 pi i j k / n) for k from 0 to n - 1.

    With `n` the axis is cut off, or filled with zeros, to that length. `norm` says which direction is divided by n:
    "backward" the inverse, "forward" this one, "ortho" both by its root. float64 becomes complex128, complex numbers
    keep their dtype, all others become complex64. Raises ShapeError for an axis of no elements.

    >>> st.fft.fft(st.tensor([1.0, 0.0, -1.0, 0.0])).tolist()
    [0j, (2+0j), 0j, (2+0j)]
    """
def ifft(x: TensorLike, n: int | None=None, axis: int=-1, norm: str | None='backward') -> Tensor:
    """The inverse of `fft`, whose `n` and `norm`, dtypes and errors it has: ifft(fft(x)) is x.

    Raises ShapeError for an axis that x does not have and where there is nothing to transform, OptionError for another
    norm.

    >>> st.fft.ifft(st.tensor([0, 2, 0, 2])).tolist()
    [(1+0j), 0j, (-1+0j), 0j]
    """
def fft2(x: TensorLike, s: Any=None, axes: Any=(-2, -1), norm: str | None='backward') -> Tensor:
    """`fftn` over two `axes`, the last two where none are named; `s`, `norm` and dtypes are those of `fftn`.

    Raises ShapeError for axes that x does not have and for other than one length for each axis, OptionError for another
    norm.

    >>> st.fft.fft2(st.ones(2, 2)).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
def ifft2(x: TensorLike, s: Any=None, axes: Any=(-2, -1), norm: str | None='backward') -> Tensor:
    """The inverse of `fft2`: `ifftn` over two `axes`, the last two where none are named. `s`, `norm`, dtypes as there.

    Raises ShapeError for axes that x does not have and for other than one length for each axis, OptionError for another
    norm.

    >>> st.fft.ifft2(st.fft.fft2(st.eye(2))).real.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
def fftn(x: TensorLike, s: Any=None, axes: Any=None, norm: str | None='backward') -> Tensor:
    """`fft` along each of several `axes`, all of them where none are named; `s` has a length for each, -1 for its own.

    Raises ShapeError for other than one length for each axis. `norm`, dtypes and other errors are those of `fft`.

    >>> st.fft.fftn(st.ones(2, 2)).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
def ifftn(x: TensorLike, s: Any=None, axes: Any=None, norm: str | None='backward') -> Tensor:
    """The inverse of `fftn`, whose `s`, `axes` and `norm` it has.

    Complex; of float64 it is complex128, of other real numbers complex64. Raises ShapeError for an axis that x does not
    have and where there is nothing to transform, OptionError for another norm.

    >>> st.fft.ifftn(st.ones(2, 2)).tolist()
    [[(1+0j), 0j], [0j, 0j]]
    """
def rfft(x: TensorLike, n: int | None=None, axis: int=-1, norm: str | None='backward') -> Tensor:
    """The first n // 2 + 1 elements of `fft` of real numbers, of which the others are conjugates.

    `n`, `norm` and errors are those of `fft`; complex numbers raise DTypeError. Other axes keep their lengths.

    >>> st.fft.rfft(st.tensor([1.0, 0.0, -1.0, 0.0])).tolist()
    [0j, (2+0j), 0j]
    """
def irfft(x: TensorLike, n: int | None=None, axis: int=-1, norm: str | None='backward') -> Tensor:
    """The inverse of `rfft`: `n` real numbers, 2 * (m - 1) of m complex ones where it is not given.

    An odd length has to be given. Imaginary parts of the first element, and of the last of an even n, are not read.
    `norm` and errors are those of `fft`. Raises ShapeError for an axis that x does not have and where there is nothing
    to transform, OptionError for another norm.

    >>> st.fft.irfft(st.tensor([0, 2, 0])).tolist(), st.fft.irfft(st.tensor([3, 0]), n=3).tolist()
    ([1.0, 0.0, -1.0, 0.0], [1.0, 1.0, 1.0])
    """
def rfftn(x: TensorLike, s: Any=None, axes: Any=None, norm: str | None='backward') -> Tensor:
    """`rfft` along the last of several `axes`, and `fft` along the others; `s` as in `fftn`, `norm` as in `fft`.

    Raises ShapeError for an axis that x does not have and where there is nothing to transform, OptionError for another
    norm, DTypeError for complex numbers.

    >>> st.fft.rfftn(st.ones(2, 2)).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
def irfftn(x: TensorLike, s: Any=None, axes: Any=None, norm: str | None='backward') -> Tensor:
    """The inverse of `rfftn`, whose `axes` and `norm` it has; `s` has the lengths of the result, as in `irfft`.

    Real: float64 of complex128, else float32. Raises ShapeError for an axis that x does not have and where there is
    nothing to transform, OptionError for another norm.

    >>> st.fft.irfftn(st.tensor([[4, 0], [0, 0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
def hfft(x: TensorLike, n: int | None=None, axis: int=-1, norm: str | None='backward') -> Tensor:
    """`fft` of numbers whose second half mirrors and conjugates the first, which is given: real numbers.

    `n` is the length of the result, as in `irfft`; `norm` and errors are those of `fft`. Raises ShapeError for an axis
    that x does not have and where there is nothing to transform, OptionError for another norm.

    >>> st.fft.hfft(st.tensor([1, 0, -1])).tolist()
    [0.0, 2.0, 0.0, 2.0]
    """
def ihfft(x: TensorLike, n: int | None=None, axis: int=-1, norm: str | None='backward') -> Tensor:
    """The inverse of `hfft`: the first n // 2 + 1 elements of `ifft` of real numbers; `n` and `norm` as in `rfft`.

    Raises ShapeError for an axis that x does not have and where there is nothing to transform, OptionError for another
    norm, DTypeError for complex numbers.

    >>> st.fft.ihfft(st.tensor([0.0, 2.0, 0.0, 2.0])).tolist()
    [(1-0j), -0j, (-1-0j)]
    """
def fftshift(x: TensorLike, axes: int | Sequence[int] | None=None) -> Tensor:
    """x with the frequency 0 in the middle of `axes`, of all where none are named: what `fftfreq` orders, ascending.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> st.fft.fftshift(st.tensor([0, 1, 2, -2, -1])).tolist()
    [-2, -1, 0, 1, 2]
    """
def ifftshift(x: TensorLike, axes: int | Sequence[int] | None=None) -> Tensor:
    """The inverse of `fftshift`, along the same `axes`.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> st.fft.ifftshift(st.tensor([-2, -1, 0, 1, 2])).tolist()
    [0, 1, 2, -2, -1]
    """
def apart(d: Any, what: str) -> Any:
    """How far samples are from each other: a number other than 0."""
def fftfreq(n: int, d: float=1.0, dtype: DTypeLike='float32', device: DeviceLike=None) -> Tensor:
    """The frequencies that the `n` elements of `fft` stand for, `d` between two samples: 0, 1, ... then the negative.

    Made on `device`, as `st.arange`. float32. A row of n numbers. Raises ShapeError for an n below 1,
    ArgumentError for a d of 0.

    >>> st.fft.fftfreq(4, d=0.25).tolist()
    [0.0, 1.0, -2.0, -1.0]
    """
def rfftfreq(n: int, d: float=1.0, dtype: DTypeLike='float32', device: DeviceLike=None) -> Tensor:
    """The frequencies that the n // 2 + 1 elements of `rfft` of `n` numbers stand for, `d` between two samples.

    Made on `device`, as `st.arange`. float32. A row of n // 2 + 1 numbers. Raises ShapeError for an n below 1,
    ArgumentError for a d of 0.

    >>> st.fft.rfftfreq(5, d=0.2).tolist()
    [0.0, 1.0, 2.0]
    """
def __dir__() -> list[str]:
    """The public names alone."""
