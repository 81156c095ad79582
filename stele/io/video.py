"""Video of files, and sound in other formats than wav; needs PyAV, the `video` extra."""
from __future__ import annotations

import importlib
import io
import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from stele.data.files import read_bytes
from stele.data.images import PIXELS
from stele.errors import DataError
from stele.files import located
from stele.interop.keywords import speaks
from stele.ops.arguments import number, positive

LARGEST = 1 << 32       # bytes of a file, and of what is decoded of it
CHANNELS = 64

# What a file may be, by how it begins, and what FFmpeg calls it: it is asked for nothing else, since some of its other
# formats name files and addresses that it would open.
HEADS = ((4, b"ftyp", "mov"), (0, b"\x1aE\xdf\xa3", "matroska"), (8, b"AVI ", "avi"), (0, b"OggS", "ogg"),
         (0, b"fLaC", "flac"), (0, b"ID3", "mp3"), (0, b"\xff\xfb", "mp3"), (0, b"\xff\xf3", "mp3"),
         (0, b"\xff\xf2", "mp3"))


@speaks
def read_video(path: str | Path, start: float = 0.0, stop: float | None = None, every: int = 1
               ) -> tuple[np.ndarray, float]:
    """The pictures in the file at `path` from `start` to before `stop`, in seconds: uint8 (T, 3, H, W), and their rate.

    Of so many pictures the first is kept where `every` is more than 1; the rate is that of what is kept, per second.
    Formats are MP4, Matroska (WebM), AVI and Ogg. Raises DataError for a missing or damaged file, one of another
    format or without pictures, for pictures of more than 67 million pixels, for more than 4 GB of them, and when PyAV
    is not installed; ShapeError for an every below 1 or a start below 0, ArgumentError for what is no path.

    ```
    x, rate = st.io.read_video("clip.mp4", start=2.0, stop=4.0)     # x.shape == (48, 3, 720, 1280)
    ```

    >>> try:
    ...     st.io.read_video("no clip.mp4")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    DataError
    """
    path = located(path)
    start = number(start, "start of read_video", 0)
    last: float = math.inf if stop is None else number(stop, "stop of read_video", 0)
    every = positive(every, "every of read_video")
    found: list[np.ndarray] = []
    with opened(path, read_bytes(path, LARGEST)) as container:
        if not container.streams.video:
            raise DataError(f"read_video needs a file with pictures, got none in {path}.")
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        room = LARGEST
        for k, frame in enumerate(frames(container, stream, start, last)):
            if frame.width * frame.height > PIXELS:
                raise DataError(f"a picture of a video needs at most {PIXELS:,} pixels, got {frame.width} x "
                                f"{frame.height} in {path}.")
            if k % every:
                continue
            room -= 3 * frame.width * frame.height
            if room < 0:
                raise DataError(f"read_video gives at most 4 GB of pictures, got more in {path}. Read it in parts, "
                                "with start= and stop=, or fewer, with every=.")
            found.append(frame.to_ndarray(format="rgb24"))
        rate = float(stream.average_rate or 0) / every
    if len({picture.shape for picture in found}) > 1:
        raise DataError(f"read_video needs pictures of one size, got several in {path}.")
    pictures = np.stack(found) if found else np.zeros((0, 0, 0, 3), np.uint8)
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)), rate


def frames(container: Any, stream: Any, start: float, stop: float) -> Iterator[Any]:
    """The decoded pictures of a time."""
    if start:
        container.seek(int(start / stream.time_base), stream=stream)    # to a picture before it that stands alone
    for frame in container.decode(stream):
        at = frame.time or 0.0
        if at >= stop:
            return
        if at >= start - 1e-6:
            yield frame


def decoded_sound(path: Path, content: bytes) -> tuple[np.ndarray, int]:
    """The first sound in a file, float32 (channels, samples), and its rate."""
    parts: list[np.ndarray] = []
    with opened(path, content) as container:
        if not container.streams.audio:
            raise DataError(f"read_audio needs a file with sound, got none in {path}.")
        stream = container.streams.audio[0]
        rate, channels, room = int(stream.rate), int(stream.channels), LARGEST
        if not 1 <= channels <= CHANNELS or rate < 1:
            raise DataError(f"read_audio needs 1 to {CHANNELS} channels and a rate, got {channels} at {rate}: {path}.")
        planes = library(path).AudioResampler(format="fltp", layout=stream.layout, rate=rate)
        for frame in chain(container.decode(stream), (None,)):
            for made in planes.resample(frame):
                parts.append(made.to_ndarray())
                room -= parts[-1].nbytes
                if room < 0:
                    raise DataError(f"read_audio gives at most 4 GB of samples, got more in {path}.")
    return np.concatenate(parts, axis=1) if parts else np.zeros((channels, 0), np.float32), rate


def library(path: Path) -> Any:
    """PyAV, an extra, so not needed to import this file."""
    try:
        return importlib.import_module("av")
    except ImportError:
        raise DataError(f"reading {path} needs PyAV, got none installed. Run: pip install 'stele-dl[video]'") from None


@contextmanager
def opened(path: Path, content: bytes) -> Generator[Any]:
    """A file as PyAV sees it; what it finds wrong is a DataError."""
    name = next((name for at, head, name in HEADS if content[at:at + len(head)] == head), None)
    if name is None:
        raise DataError(f"a file of sound or video needs to be WAV, MP3, FLAC, Ogg, MP4, Matroska or AVI, got another "
                        f"format at {path}.")
    av = library(path)
    try:
        with av.open(io.BytesIO(content), format=name) as container:
            yield container
    except (av.FFmpegError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"a file of sound or video needs to be whole, got a truncated or corrupt one at {path} "
                        f"({error}).") from None
