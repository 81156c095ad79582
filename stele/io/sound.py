"""Sound of files and back: wav by a reader of our own, other formats with PyAV, the `video` extra."""
from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stele.arrays.tensor import Tensor
from stele.data.files import read_bytes
from stele.errors import DataError, DTypeError, ShapeError, kind
from stele.files import located, write
from stele.interop.keywords import speaks
from stele.io.video import decoded_sound
from stele.ops.arguments import choice, is_array, whole

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
OTHERS = {2: "Microsoft ADPCM", 6: "A-law", 7: "mu-law", 17: "IMA ADPCM", 85: "MP3"}    # of Microsoft's mmreg.h
OPEN = 0xFFFFFFFF       # the size that a program writes which cannot go back to write it
LARGEST = 1 << 32       # bytes: a wav file counts them with 32 bits
CHANNELS, RATES = 1024, 1 << 24
FORMS = {"uint8": (PCM, 1), "int16": (PCM, 2), "int24": (PCM, 3), "int32": (PCM, 4), "float32": (FLOAT, 4)}


class Form(NamedTuple):
    """What a wav file says of its samples."""

    tag: int
    channels: int
    rate: int
    bits: int


@speaks
def read_audio(path: str | Path) -> tuple[np.ndarray, int]:
    """The sound in the file at `path`: float32 (channels, samples) from -1 to 1, and its rate in samples a second.

    Wav files hold integers of 8, 16, 24 or 32 bits, or floats of 32 or 64; MP3, FLAC, Ogg, MP4, Matroska and AVI need
    PyAV, the `video` extra. Raises DataError for a missing, truncated or damaged file, and one of another format;
    ArgumentError for what is no path.

    >>> st.io.write_audio("tone.wav", np.array([[0.0, 0.5, -1.0]]), 8000)
    >>> x, rate = st.io.read_audio("tone.wav")
    >>> x.tolist(), rate
    ([[0.0, 0.5, -1.0]], 8000)
    """
    path = located(path)
    content = read_bytes(path, LARGEST)
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        return wav(content, path)
    if content[:4] in (b"RF64", b"RIFX"):
        raise DataError(f"a wav file needs to begin with RIFF, got {content[:4].decode()} in {path}. Convert it with "
                        "ffmpeg, or cut it into parts of less than 4 GB.")
    return decoded_sound(path, content)


def wav(content: bytes, path: Path) -> tuple[np.ndarray, int]:
    """The samples of a wav file, and their rate."""
    form, at = None, 12
    while at + 8 <= len(content):
        name, size = content[at:at + 4], int.from_bytes(content[at + 4:at + 8], "little")
        at += 8
        if name == b"fmt ":
            form = form_of(content[at:at + min(size, 40)], path)
        elif name == b"data":
            if form is None:
                break
            return samples(content, at, len(content) - at if size == OPEN else size, form, path), form.rate
        at += size + size % 2
    raise DataError(f"a wav file needs a part 'fmt ' and a part 'data' behind it, got "
                    f"{'no fmt' if form is None else 'no data'} in {path}. Is it truncated?")


def form_of(part: bytes, path: Path) -> Form:
    """What the part 'fmt ' says, if it can be."""
    if len(part) < 16:
        raise DataError(f"the part 'fmt ' of a wav file needs 16 bytes, got {len(part)} in {path}.")
    tag, channels, rate, _, block, bits = struct.unpack_from("<HHIIHH", part)
    if tag == EXTENSIBLE and len(part) >= 26:
        tag, = struct.unpack_from("<H", part, 24)
    if (tag, bits) not in ((PCM, 8), (PCM, 16), (PCM, 24), (PCM, 32), (FLOAT, 32), (FLOAT, 64)):
        what = OTHERS.get(tag, f"format {tag}") if tag not in (PCM, FLOAT) else f"{bits} bits"
        raise DataError(f"a wav file needs integers of 8, 16, 24 or 32 bits, or floats of 32 or 64, got {what} in "
                        f"{path}. Convert it, for example with ffmpeg -i in.wav -c:a pcm_s16le out.wav.")
    if not 1 <= channels <= CHANNELS or not 1 <= rate <= RATES or block != channels * bits // 8:
        raise DataError(f"a wav file needs channels, a rate and blocks that fit, got {channels} channels at {rate} a "
                        f"second in blocks of {block} bytes, {bits} bits each, in {path}. Is it damaged?")
    return Form(tag, channels, rate, bits)


def samples(content: bytes, at: int, size: int, form: Form, path: Path) -> np.ndarray:
    """The part 'data' as float32 (channels, samples)."""
    block = form.channels * form.bits // 8
    if at + size > len(content):
        raise DataError(f"a wav file needs as many bytes as it says, {size:,} of samples, got {len(content) - at:,} in "
                        f"{path}. Is it truncated?")
    count = size // block * form.channels
    if form.tag == FLOAT:
        found = np.frombuffer(content, f"<f{form.bits // 8}", count, at).astype(np.float32)
    elif form.bits == 8:
        found = (np.frombuffer(content, np.uint8, count, at).astype(np.float32) - 128) / 128
    elif form.bits == 24:
        wide = np.zeros((count, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(content, np.uint8, 3 * count, at).reshape(-1, 3)
        found = wide.view("<i4")[:, 0].astype(np.float32) / np.float32(1 << 31)
    else:
        found = np.frombuffer(content, f"<i{form.bits // 8}", count, at).astype(np.float32) / (1 << form.bits - 1)
    return np.ascontiguousarray(found.reshape(-1, form.channels).T)


@speaks
def write_audio(path: str | Path, x: np.ndarray | Tensor, rate: int, form: str = "int16") -> None:
    """Writes sound x to the wav file at `path`: floats from -1 to 1, (channels, samples) or (samples,).

    An array of NumPy or a tensor; `rate` is in samples a second. `form` says how numbers stand in the file: "uint8",
    "int16", "int24", "int32" (what is outside is clipped) or "float32". The file appears when it is whole. Raises
    ShapeError for other shapes and rates, DTypeError for integers, OptionError for another form, DataError for a suffix
    other than .wav and for NaN, StorageError where the file cannot be written, ArgumentError for what is no path.

    >>> st.io.write_audio("tone.wav", st.tensor([0.25, -0.5]), 16000, form="float32")
    >>> st.io.read_audio("tone.wav")[0].tolist()
    [[0.25, -0.5]]
    """
    path, x = located(path), waves(x)
    rate, form = whole(rate, "rate of write_audio", 1, RATES), choice(form, "form of write_audio", tuple(FORMS))
    if path.suffix.lower() != ".wav":
        raise DataError(f"write_audio writes wav files, got {path.name!r:.80}")
    tag, width = FORMS[form]
    body = numbers_of(x, form).tobytes()
    if len(body) > LARGEST - 64:
        raise DataError(f"a wav file holds 4 GB, got {len(body):,} bytes of samples. Write several.")
    block = len(x) * width
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(body) + len(body) % 2, b"WAVE", b"fmt ", 16, tag, len(x),
                       rate, rate * block % (1 << 32), block, 8 * width, b"data", len(body))
    write(path, head, body, b"\0" * (len(body) % 2))


def waves(x: Any) -> np.ndarray:
    """Sound as float64 (channels, samples)."""
    if not is_array(x) and not isinstance(x, Tensor):
        raise DTypeError(f"write_audio takes an array of NumPy or a tensor, got {kind(x)}")
    x = x.numpy() if isinstance(x, Tensor) else x
    x = x[None] if x.ndim == 1 else x
    if x.ndim != 2 or not 1 <= len(x) <= CHANNELS:
        raise ShapeError(f"write_audio takes (channels, samples), at most {CHANNELS} channels, or (samples,), got "
                         f"{x.shape}")
    if x.dtype.kind != "f":
        raise DTypeError(f"write_audio takes floats from -1 to 1, got {x.dtype}")
    if np.isnan(x).any():
        raise DataError("write_audio takes numbers, got NaN")
    return x.astype(np.float64)


def numbers_of(x: np.ndarray, form: str) -> np.ndarray:
    """Samples as they stand in the file, the channels of one moment beside each other."""
    moments = np.ascontiguousarray(x.T)
    if form == "float32":
        return moments.astype("<f4")
    bits = 8 * FORMS[form][1]
    whole = np.clip(np.round(moments * (1 << bits - 1)), -(1 << bits - 1), (1 << bits - 1) - 1).astype("<i8")
    if form == "uint8":
        return (whole + 128).astype(np.uint8)
    if form == "int24":
        return whole.astype("<i4").reshape(-1, 1).view(np.uint8)[:, :3]
    return whole.astype(f"<i{bits // 8}")
