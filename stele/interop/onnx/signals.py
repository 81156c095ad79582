"""ONNX's Fourier transforms, windows and mel weights; numbers at random."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from typing import Any

import numpy as np

import stele as st
from stele.interop.onnx.values import Call, Rules, dtype_named, number, shape_of


def paired(z: Any) -> Any:
    """Complex numbers as pairs of real ones, on a last axis."""
    return st.stack([st.real(z), st.imag(z)], axis=-1)


def joined(x: Any) -> Any:
    """Pairs of real numbers, or single ones, as complex ones."""
    return st.complex(x[..., 0], x[..., 1]) if x.shape[-1] == 2 else st.complex(x[..., 0], st.zeros_like(x[..., 0]))


def dft(c: Call, x: Any, length: Any = None, axis: Any = None) -> Any:
    """The Fourier transform along an axis; of real signals half of it where that is asked for."""
    k = c.get("axis", 1) if c.version < 20 else -2 if axis is None else int(number(axis))
    k %= x.ndim
    n = None if length is None else int(number(length))
    half, back = bool(c.get("onesided", 0)), bool(c.get("inverse", 0))
    if half and back:
        return st.fft.irfft(joined(x), n=n, axis=k).unsqueeze(-1)
    z = joined(x)
    y = st.fft.ifft(z, n=n, axis=k) if back else st.fft.fft(z, n=n, axis=k)
    y = y[(slice(None),) * k + (slice(0, y.shape[k] // 2 + 1),)] if half else y
    return paired(y).astype(x.dtype)


def stft(c: Call, x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    """The Fourier transforms of frames of signals."""
    n = window.shape[0] if length is None else int(number(length))
    hop, real = int(number(step)), x.ndim < 3 or x.shape[-1] == 1
    starts = np.arange(0, x.shape[1] - n + 1, hop)
    at = st.tensor(starts[:, None] + np.arange(n))
    z = joined(x if x.ndim == 3 else x.unsqueeze(-1))
    frames = st.take(z, at.reshape(-1), axis=1).reshape((x.shape[0], len(starts), n))
    frames = frames if window is None else frames * window
    y = st.fft.fft(frames, axis=-1)
    y = y[..., :n // 2 + 1] if c.get("onesided", 1) and real else y
    return paired(y).astype(x.dtype)


def window(*parts: float) -> Any:
    """A sum of cosines over a length."""
    def rule(c: Call, size: Any) -> Any:
        n = int(number(size))
        whole = n if c.get("periodic", 1) else n - 1
        t = 2 * math.pi * np.arange(n) / whole
        y = sum((-1) ** k * a * np.cos(k * t) for k, a in enumerate(parts))
        return st.tensor(np.asarray(y).astype(dtype_named(c.get("output_datatype", 1))))

    return rule


def mel(c: Call, bins: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
    """Triangles over the bins of a spectrum, evenly apart on the mel scale."""
    n, size, hz = int(number(bins)), int(number(length)), int(number(rate))
    half = size // 2 + 1
    ends = 2595 * np.log10(1 + np.array([float(number(low)), float(number(high))]) / 700)
    places = ends[0] + np.arange(n + 2) * (ends[1] - ends[0]) / (n + 2)
    at = np.floor((size + 1) * (700 * (10 ** (places / 2595) - 1)) / hz).astype(int)
    y = np.zeros((half, n))
    for k in range(n):
        a, b, d = at[k:k + 3]
        if b == a:
            y[b, k] = 1
        else:
            y[a:b + 1, k] = (np.arange(a, b + 1) - a) / (b - a)
        if d != b:
            y[b:d, k] = (d - np.arange(b, d)) / (d - b)
    return st.tensor(y.astype(dtype_named(c.get("output_datatype", 1))))


def uniform(c: Call, *like: Any) -> Any:
    """Numbers between two bounds."""
    low, high = c.get("low", 0.0), c.get("high", 1.0)
    return (st.rand(drawn(c, like)) * (high - low) + low).astype(dtype_at_random(c, like))


def normal(c: Call, *like: Any) -> Any:
    """Numbers of a mean and a spread."""
    return (st.randn(drawn(c, like)) * c.get("scale", 1.0) + c.get("mean", 0.0)).astype(dtype_at_random(c, like))


def drawn(c: Call, like: Any) -> Any:
    """The shape of numbers at random."""
    return shape_of(like[0]) if like else tuple(c.get("shape"))


def dtype_at_random(c: Call, like: Any) -> str:
    """The dtype of numbers at random."""
    return dtype_named(c.get("dtype")).name if c.get("dtype") else str(like[0].dtype) if like else "float32"


def multinomial(c: Call, x: Any) -> Any:
    """Classes drawn by the logarithms of their probabilities."""
    n = c.get("sample_size", 1)
    noise = -st.log(-st.log(st.rand((x.shape[0], n, x.shape[1]))))
    return st.argmax(x.unsqueeze(1) + noise, axis=-1).astype(dtype_named(c.get("dtype", 6)).name)


def bernoulli(c: Call, x: Any) -> Any:
    """1 with the probability x, else 0."""
    return (st.rand(x.shape) < x).astype(dtype_named(c.get("dtype")).name if c.get("dtype") else x.dtype)


RULES: Rules = {
    "DFT": dft, "STFT": stft, "HannWindow": window(0.5, 0.5), "HammingWindow": window(25 / 46, 21 / 46),
    "BlackmanWindow": window(0.42, 0.5, 0.08), "MelWeightMatrix": mel, "RandomUniform": uniform,
    "RandomUniformLike": uniform, "RandomNormal": normal, "RandomNormalLike": normal, "Multinomial": multinomial,
    "Bernoulli": bernoulli,
}
