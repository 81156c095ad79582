"""Sound as spectra and at other rates: functions of signals that are differentiable on tensors, and compiled."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import stele as st
from stele.data.transforms.arrays import SIDE, is_float, module
from stele.data.transforms.base import first_of, put
from stele.errors import DataError, DTypeError, ShapeError, kind
from stele.interop.keywords import speaks
from stele.ir.graph import Array
from stele.ops.arguments import choice, flag, is_array, mapping, number, positive

SCALES = ("htk", "slaney")
LEAST = 1e-10       # of power, before a logarithm is taken
KNEE, STEP = 1000.0, math.log(6.4) / 27     # of Slaney's scale: 1000 Hz is mel 15, and 27 more are a factor of 6.4


class Signal:
    """A function of the signal of a sample: the sample itself, or the first array in a tuple or dict."""

    def __call__(self, sample: Any) -> Any:
        """The sample with its signal changed."""
        x = first_of(sample)
        if x is None:
            raise DataError(f"{type(self).__name__} needs a sample with a signal, an array (..., samples), got "
                            f"{kind(sample)}")
        if not x.ndim:
            raise ShapeError(f"{type(self).__name__} needs a signal (..., samples), got one number")
        if not is_float(x):
            raise DTypeError(f"{type(self).__name__} needs a signal of floats, got {x.dtype}",
                             hint="Divide integers by their largest first; st.io.read_audio does.")
        return put(sample, x, self.of(x))

    def of(self, x: Any) -> Any:
        """What becomes of a signal (..., samples)."""
        raise DataError(f"{type(self).__name__} needs a method of(self, x).")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({given})"


def constant(x: Any, like: Any) -> Any:
    """An array of NumPy as one that meets another, in its dtype."""
    return x.astype(like.dtype) if is_array(like) else st.tensor(x).astype(like.dtype)


def frames(x: Any, length: int, hop: int) -> Any:
    """All pieces of so many samples, one beginning `hop` behind the other: (..., pieces, length)."""
    n: int = x.shape[-1]
    if n < length:
        raise ShapeError(f"a piece of {length} samples needs a signal as long, got {n}")
    if is_array(x):
        return np.lib.stride_tricks.sliding_window_view(x, length, axis=-1)[..., ::hop, :]
    starts: Array = np.arange(0, n - length + 1, hop)
    return x[..., st.tensor(starts[:, None] + np.arange(length))]


class Spectrogram(Signal):
    """The power of frequencies over time: float (..., n_fft // 2 + 1, pieces) of signals (..., samples).

    Pieces of `n_fft` samples, one beginning `hop_length` behind the other (half of a window without), each times a
    Hann window of `win_length` in its middle; of what `st.fft.rfft` gives the absolute value to the `power` is taken.
    With `center` the signal is mirrored at both ends, so that piece t is around sample t * hop_length. As
    torchaudio.transforms has it. A signal is an array of NumPy or a tensor, float32 or float64. Raises ShapeError for
    sizes that do not fit and signals that are too short, DTypeError for integers, DataError for what is no signal.

    >>> wave = np.sin(2 * np.pi * 1000 / 8000 * np.arange(800, dtype=np.float32))
    >>> y = data.transforms.Spectrogram(n_fft=80)(wave)
    >>> y.shape, y.mean(1).argmax()     # 1000 Hz of 8000, in bins of 100
    ((41, 21), np.int64(10))
    """

    @speaks
    def __init__(self, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
                 power: float = 2.0, center: bool = True) -> None:
        self.n_fft: int = positive(n_fft, "n_fft of Spectrogram")
        self.win_length: int = positive(n_fft if win_length is None else win_length, "win_length of Spectrogram")
        half = max(self.win_length // 2, 1)
        self.hop_length: int = positive(half if hop_length is None else hop_length, "hop_length of Spectrogram")
        if self.win_length > self.n_fft:
            raise ShapeError(f"win_length of Spectrogram must be at most n_fft, got {win_length} and {n_fft}")
        self.power, self.center = number(power, "power of Spectrogram", 0), flag(center, "center of Spectrogram")

    def window(self) -> np.ndarray:
        """The window, as long as a piece."""
        place: Array = np.arange(self.win_length)
        hann = 0.5 - 0.5 * np.cos(2 * math.pi / self.win_length * place)
        before = (self.n_fft - self.win_length) // 2
        return np.pad(hann, (before, self.n_fft - self.win_length - before))

    def of(self, x: Any) -> Any:
        """The power of a signal."""
        m = module(x)
        if self.center:
            half = self.n_fft // 2
            if x.shape[-1] <= half:
                raise ShapeError(f"Spectrogram of {self.n_fft} samples mirrors {half} at each end, got a signal of "
                                 f"{x.shape[-1]}", hint="Make it longer, or write center=False.")
            x = m.pad(x, [(0, 0)] * (x.ndim - 1) + [(half, half)], mode="reflect")
        z = m.fft.rfft(frames(x, self.n_fft, self.hop_length) * constant(self.window(), x))
        square = z.real * z.real + z.imag * z.imag
        found: Any = square if self.power == 2 else square ** (self.power / 2)
        return m.swapaxes(found, -1, -2)


def mel(hertz: Any, scale: str) -> Any:
    """Frequencies as mels: O'Shaughnessy (1987) as HTK has it, or linear below 1000 Hz as Slaney (1998)."""
    if scale == "htk":
        return 2595 * np.log10(1 + hertz / 700)
    above: Array = 15 + np.log(np.maximum(hertz, KNEE) / KNEE) / STEP
    return np.where(hertz < KNEE, hertz * 3 / 200, above)


def hertz(mels: Any, scale: str) -> Any:
    """Mels as frequencies."""
    if scale == "htk":
        return 700 * (10 ** (mels / 2595) - 1)
    above: Array = KNEE * np.exp((mels - 15) * STEP)
    return np.where(mels < 15, mels * 200 / 3, above)


class MelSpectrogram(Signal):
    """The power in `n_mels` bands of equal width in mels: float (..., n_mels, pieces) of signals (..., samples).

    A `Spectrogram` of `n_fft`, `win_length`, `hop_length` and `power`, of which each band sums what lies within a
    triangle, between `f_min` and `f_max` Hz (half of `sample_rate` without). `mel_scale` is "htk" or "slaney"; with
    `norm` "slaney" triangles have the same area. As torchaudio.transforms has it. Signals are arrays of NumPy or
    tensors, float32 or float64. Raises ShapeError for sizes that do not fit, OptionError for other scales, DTypeError
    for integers, DataError for what is no signal.

    >>> wave = np.sin(2 * np.pi * 1000 / 8000 * np.arange(800, dtype=np.float32))
    >>> data.transforms.MelSpectrogram(8000, n_fft=80, n_mels=20)(wave).mean(1).argmax()
    np.int64(9)
    """

    @speaks
    def __init__(self, sample_rate: int = 16000, n_fft: int = 400, win_length: int | None = None,
                 hop_length: int | None = None, f_min: float = 0.0, f_max: float | None = None, n_mels: int = 128,
                 power: float = 2.0, norm: str | None = None, mel_scale: str = "htk") -> None:
        self.spectrogram = Spectrogram(n_fft, win_length, hop_length, power)
        self.sample_rate: int = positive(sample_rate, "sample_rate of MelSpectrogram")
        self.n_mels: int = positive(n_mels, "n_mels of MelSpectrogram")
        self.f_min = number(f_min, "f_min of MelSpectrogram", 0)
        self.f_max = number(number(sample_rate, "sample_rate of MelSpectrogram") / 2 if f_max is None else f_max,
                            "f_max of MelSpectrogram", 0)
        if self.f_min >= self.f_max:
            raise ShapeError(f"MelSpectrogram needs f_min < f_max, got {f_min} and {self.f_max}")
        self.mel_scale = choice(mel_scale, "mel_scale of MelSpectrogram", SCALES)
        self.norm = None if norm is None else choice(norm, "norm of MelSpectrogram", ("slaney",))

    def bands(self) -> np.ndarray:
        """How much of each frequency is in each band: (n_fft // 2 + 1, n_mels)."""
        every: Array = np.linspace(0.0, self.sample_rate // 2, self.spectrogram.n_fft // 2 + 1)
        low, high = mel(self.f_min, self.mel_scale), mel(self.f_max, self.mel_scale)
        corners: Array = np.asarray(hertz(np.linspace(low, high, self.n_mels + 2), self.mel_scale))
        rise = (every[:, None] - corners[:-2]) / (corners[1:-1] - corners[:-2])
        fall = (corners[2:] - every[:, None]) / (corners[2:] - corners[1:-1])
        found = np.maximum(np.minimum(rise, fall), 0)
        return found * (2 / (corners[2:] - corners[:-2])) if self.norm else found

    def of(self, x: Any) -> Any:
        """The power in the bands."""
        y = self.spectrogram.of(x)
        return constant(np.ascontiguousarray(self.bands().T), y) @ y


def decibels(x: Any, factor: float, most: float | None) -> Any:
    """`factor` times the decimal logarithm of spectra, none of which is more than `most` below its largest number."""
    m = module(x)
    y = m.log(m.maximum(x, LEAST)) * (factor / math.log(10))
    return y if most is None else m.maximum(y, m.max(y, axis=(-2, -1), keepdims=True) - most)


class AmplitudeToDB(Signal):
    """Spectra in decibels: 10 times the decimal logarithm of a power, 20 times that of an amplitude.

    `stype` says which of both (..., frequencies, pieces) are: "power" or "magnitude". With `top_db` what lies more
    than that below the loudest number of a spectrum is lifted there. Arrays of NumPy or tensors, float32 or float64.
    Raises OptionError for another stype, ShapeError for a negative top_db, DTypeError for integers.

    >>> data.transforms.AmplitudeToDB(top_db=25)(np.array([[1.0, 100.0, 1e-12]])).round(3).tolist()
    [[0.0, 20.0, -5.0]]
    """

    @speaks
    def __init__(self, stype: str = "power", top_db: float | None = None) -> None:
        self.stype = choice(stype, "stype of AmplitudeToDB", ("power", "magnitude"))
        self.top_db = None if top_db is None else number(top_db, "top_db of AmplitudeToDB", 0)

    def of(self, x: Any) -> Any:
        """The spectrum in decibels."""
        if x.ndim < 2 and self.top_db is not None:
            raise ShapeError(f"AmplitudeToDB takes spectra (..., frequencies, pieces), got {tuple(x.shape)}")
        return decibels(x, 10 if self.stype == "power" else 20, self.top_db)


class MFCC(Signal):
    """The first `n_mfcc` coefficients of the cosine transform of mel bands in decibels: (..., n_mfcc, pieces).

    The bands are those of a `MelSpectrogram` of `sample_rate` with the options `melkwargs`; of each signal what lies
    more than 80 dB below its loudest is lifted there, or, with `log_mels`, the natural logarithm is taken in place of
    decibels. The transform is the orthonormal one of type II, as torchaudio.transforms has it. Signals are arrays of
    NumPy or tensors, float32 or float64 (..., samples). Raises ShapeError for more coefficients than bands, DTypeError
    for integers, DataError for what is no signal.

    >>> wave = np.sin(np.arange(800, dtype=np.float32))
    >>> data.transforms.MFCC(8000, n_mfcc=13, melkwargs={"n_fft": 80, "n_mels": 20})(wave).shape
    (13, 21)
    """

    @speaks
    def __init__(self, sample_rate: int = 16000, n_mfcc: int = 40, log_mels: bool = False,
                 melkwargs: dict[str, Any] | None = None) -> None:
        given: Mapping[str, Any] = {} if melkwargs is None else mapping(melkwargs, "melkwargs of MFCC")
        self.bands = MelSpectrogram(sample_rate, **given)
        self.n_mfcc: int = positive(n_mfcc, "n_mfcc of MFCC")
        self.log_mels = flag(log_mels, "log_mels of MFCC")
        if self.n_mfcc > self.bands.n_mels:
            raise ShapeError(f"MFCC gives at most as many coefficients as bands, got {n_mfcc} of {self.bands.n_mels}")

    def cosines(self) -> np.ndarray:
        """The transform as a matrix (n_mfcc, n_mels)."""
        n = self.bands.n_mels
        places: Array = np.arange(n)
        orders: Array = np.arange(self.n_mfcc)
        found = np.cos(math.pi / n * (places + 0.5) * orders[:, None]) * math.sqrt(2 / n)
        found[0] /= math.sqrt(2)
        return found

    def of(self, x: Any) -> Any:
        """The coefficients of a signal."""
        y, m = self.bands.of(x), module(x)
        if self.log_mels:
            y = m.log(y + 1e-6)
        else:
            y = decibels(y, 10, 80)
        return constant(self.cosines(), y) @ y


class Resample(Signal):
    """Signals (..., samples) of the rate `orig_freq` at the rate `new_freq`, in so many samples a second each.

    By sinc functions under a Hann window of `lowpass_filter_width` zeros to either side, whose band ends at `rolloff`
    of the lower of both rates: Smith (1984), as torchaudio.transforms has it. Signals are arrays of NumPy or tensors,
    float32 or float64. Raises ShapeError for rates below 1, DTypeError for integers, DataError for what is no signal.

    >>> data.transforms.Resample(16000, 8000)(np.ones(400, np.float32)).shape
    (200,)
    """

    @speaks
    def __init__(self, orig_freq: int, new_freq: int, lowpass_filter_width: int = 6, rolloff: float = 0.99) -> None:
        self.orig_freq, self.new_freq = (positive(n, "a rate of Resample") for n in (orig_freq, new_freq))
        self.lowpass_filter_width = positive(lowpass_filter_width, "lowpass_filter_width of Resample")
        self.rolloff = number(rolloff, "rolloff of Resample", 0.01, 1)

    def kernels(self, old: int, new: int) -> tuple[np.ndarray, int]:
        """The weights (new, taps) of samples from so many before a piece on."""
        edge, zeros = min(old, new) * self.rolloff, self.lowpass_filter_width
        reach = math.ceil(zeros * old / edge)
        if (2 * reach + old) * new > SIDE:
            raise ShapeError(f"Resample from {self.orig_freq} to {self.new_freq} weighs {2 * reach + old} samples in "
                             f"{new} ways, which is too much", hint="Round the rates, so that they share a divisor.")
        piece, beside = (np.arange(first, last).astype(np.float64) for first, last in ((-reach, reach + old), (0, new)))
        t = np.clip(edge * (piece / old - beside[:, None] / new), -zeros, zeros)
        return np.sinc(t) * np.cos(t * (math.pi / zeros / 2)) ** 2 * (edge / old), reach

    def of(self, x: Any) -> Any:
        """The signal at the new rate."""
        shared = math.gcd(self.orig_freq, self.new_freq)
        old, new = self.orig_freq // shared, self.new_freq // shared
        if old == new:
            return x
        m, n = module(x), x.shape[-1]
        w, reach = self.kernels(old, new)
        x = m.pad(x, [(0, 0)] * (x.ndim - 1) + [(reach, reach + old)])
        y = frames(x, 2 * reach + old, old) @ constant(np.ascontiguousarray(w.T), x)
        return y.reshape(*y.shape[:-2], y.shape[-2] * new)[..., :-(-new * n // old)]
