"""Pictures, sound and video of files: what is written is read, and what is hostile is refused."""
from __future__ import annotations

import io
import struct
import sys
import wave
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import chunk, riff, wav_form
from PIL import Image

import stele as st
from stele.errors import DataError, DTypeError, ShapeError, StorageError
from stele.io import sound, video

RNG = np.random.default_rng
IMAGE = RNG(0).integers(0, 256, (3, 7, 11), dtype=np.uint8)
PCM_SUB = bytes.fromhex("0100000000001000800000aa00389b71")    # the rest of a GUID whose first two bytes say PCM


@pytest.mark.parametrize("suffix", ["png", "bmp", "webp", "jpg", "gif", "JPEG"])
def test_pictures_come_back(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    smooth = np.broadcast_to(np.linspace(40, 200, 11).astype(np.uint8), (3, 7, 11))
    st.io.imsave(path, smooth, quality=95)
    found = st.io.imread(path)
    assert found.shape == (3, 7, 11) and found.dtype == np.uint8
    assert np.abs(found.astype(int) - smooth).max() <= (0 if suffix in ("png", "bmp") else 12)
    assert st.io.imread(path, "L").shape == (1, 7, 11) and st.io.imread(path, "RGBA").shape == (4, 7, 11)


def test_the_upper_half_of_sixteen_bits_counts(tmp_path: Path) -> None:
    """Pillow alone makes 255 of all that is above it."""
    grey = IMAGE[0].astype(np.uint16) * 256 + 77
    Image.fromarray(grey).save(tmp_path / "x.png")
    assert np.array_equal(st.io.imread(tmp_path / "x.png", "L")[0], IMAGE[0])
    assert np.array_equal(st.io.imread(tmp_path / "x.png"), np.stack([IMAGE[0]] * 3))
    (tmp_path / "a").mkdir()
    (tmp_path / "x.png").rename(tmp_path / "a" / "x.png")
    assert np.array_equal(st.data.ImageFolder(tmp_path)[0][0][1], IMAGE[0])


def test_pictures_of_all_kinds_are_written(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    for x in (IMAGE, IMAGE[0], IMAGE[:1], st.tensor(IMAGE), np.concatenate([IMAGE, IMAGE[:1]])):
        st.io.imsave(path, x)
        mode = {2: "L", 3: {1: "L", 3: "RGB", 4: "RGBA"}.get(x.shape[0], "")}[x.ndim]
        assert np.array_equal(st.io.imread(path, mode).reshape(x.shape), np.asarray(x))
    st.io.imsave(path, st.tensor(IMAGE / np.float32(255)))
    assert np.array_equal(st.io.imread(path), IMAGE)
    wrong: list[tuple[Any, type[Exception]]] = [
        (IMAGE.transpose(1, 2, 0), ShapeError), (IMAGE.astype(int), DTypeError), (IMAGE * np.nan, DataError),
        (IMAGE[:, :0], ShapeError), (IMAGE.tolist(), DTypeError)]
    for x, error in wrong:
        with pytest.raises(error):
            st.io.imsave(path, x)
    with pytest.raises(DataError, match="suffixes"):
        st.io.imsave(tmp_path / "x.tiff", IMAGE)
    with pytest.raises(DataError, match="transparency"):
        st.io.imsave(tmp_path / "x.jpg", np.zeros((4, 2, 2), np.uint8))
    with pytest.raises(StorageError):
        st.io.imsave(tmp_path / "no" / "x.png", IMAGE)


def test_pictures_that_are_none_or_too_large_are_refused(tmp_path: Path) -> None:
    whole = io.BytesIO()
    Image.fromarray(IMAGE.transpose(1, 2, 0)).save(whole, "PNG")
    bomb = bytearray(whole.getvalue())
    bomb[16:24] = struct.pack(">II", 60000, 60000)
    for content in (b"", b"GIF89a", whole.getvalue()[:40], bytes(bomb), b"%!PS-Adobe-3.0 EPSF-3.0\n"):
        (tmp_path / "x.png").write_bytes(content)
        with pytest.raises(DataError):
            st.io.imread(tmp_path / "x.png")


@pytest.mark.parametrize("form", sound.FORMS)
def test_sound_comes_back(form: str, tmp_path: Path) -> None:
    x = RNG(1).uniform(-1, 1, (2, 101)).astype(np.float32)
    x[:, :3] = [[-1.0, 0.0, 0.5], [2.0, -3.0, 1.0]]
    st.io.write_audio(tmp_path / "x.wav", x, 22050, form)
    found, rate = st.io.read_audio(tmp_path / "x.wav")
    step = 0 if form == "float32" else 2.0 ** (1 - 8 * sound.FORMS[form][1])
    assert rate == 22050 and found.shape == x.shape and found.dtype == np.float32 and found.flags.c_contiguous
    wanted = x if form == "float32" else np.clip(x, -1, 1 - step)
    assert np.abs(found - wanted).max() <= max(step / 2, 2.0 ** -24 if form != "float32" else 0)
    st.io.write_audio(tmp_path / "y.wav", found, rate, form)
    assert (tmp_path / "y.wav").read_bytes() == (tmp_path / "x.wav").read_bytes()
    if form != "float32":
        with wave.open(str(tmp_path / "x.wav")) as file:    # the standard library's reader agrees on what stands there
            assert (file.getnchannels(), file.getsampwidth(), file.getframerate(), file.getnframes()) == \
                (2, sound.FORMS[form][1], 22050, 101)
            if form == "int16":
                assert np.array_equal(np.frombuffer(file.readframes(101), "<i2").reshape(-1, 2).T / 32768, found)


DATA = chunk(b"data", struct.pack("<3h", 0, 16384, -32768))
EXTENDED = wav_form(0xFFFE, more=struct.pack("<HHIH", 22, 16, 4, 1) + PCM_SUB[2:])
HALF = wav_form(3, bits=64) + chunk(b"data", struct.pack("<2d", 0.25, -0.5))

# Wav files as programs write them: with parts in between, a GUID, doubles, and a size that nobody went back to write.
WAVS = {
    "plain":    (riff(wav_form(), DATA), [0, 0.5, -1]),
    "list":     (riff(chunk(b"LIST", b"odd"), wav_form(), chunk(b"fact", b"four"), DATA, chunk(b"id3 ", b"x")),
                 [0, 0.5, -1]),
    "extended": (riff(EXTENDED, DATA), [0, 0.5, -1]),
    "doubles":  (riff(HALF), [0.25, -0.5]),
    "streamed": (riff(wav_form(), b"data\xff\xff\xff\xff" + DATA[8:]), [0, 0.5, -1]),
    "a rest":   (riff(wav_form(), chunk(b"data", DATA[8:] + b"x")), [0, 0.5, -1]),
    "empty":    (riff(wav_form(), chunk(b"data", b"")), []),
}
HOSTILE = {
    "nothing": b"", "another": b"%PDF-1.7", "short": riff(wav_form(), DATA)[:-3], "no fmt": riff(DATA),
    "no data": riff(wav_form()),
    "half a fmt": riff(chunk(b"fmt ", b"\1\0\1\0")), "mu-law": riff(wav_form(7, bits=8), DATA),
    "12 bits": riff(wav_form(bits=12), DATA), "no channel": riff(wav_form(channels=0, block=2), DATA),
    "a wrong block": riff(wav_form(block=3), DATA), "no rate": riff(wav_form(rate=0), DATA),
    "a huge part": riff(b"junk\xf0\xff\xff\xff", wav_form(), DATA), "rf64": b"RF64" + riff(wav_form(), DATA)[4:],
    "huge data": riff(wav_form(), b"data\xf0\xff\xff\xff" + b"12"), "cut": b"RIFF\0\0\0\0WAVEfmt",
}


@pytest.mark.parametrize("name", WAVS)
def test_wav_files_of_others_are_read(name: str, tmp_path: Path) -> None:
    content, wanted = WAVS[name]
    (tmp_path / "x.wav").write_bytes(content)
    found, rate = st.io.read_audio(tmp_path / "x.wav")
    assert found.tolist() == [wanted] and rate == 8000


@pytest.mark.parametrize("name", HOSTILE)
def test_wav_files_that_are_none_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.wav").write_bytes(HOSTILE[name])
    with pytest.raises(DataError, match=r"x\.wav"):
        st.io.read_audio(tmp_path / "x.wav")


def test_damaged_wav_files_raise_nothing_else(tmp_path: Path) -> None:
    path, whole, rng = tmp_path / "x.wav", np.frombuffer(riff(EXTENDED, DATA), np.uint8), RNG(5)
    read = 0
    for _ in range(400):
        content = whole.copy()[:rng.integers(1, len(whole) + 1)]
        content[rng.integers(0, len(content), 3)] = rng.integers(0, 256, 3)
        try:
            x, rate = sound.wav(content.tobytes(), path)
            read += x.dtype == np.float32 and rate > 0
        except DataError:
            pass
    assert 0 < read < 400


def test_wrong_sound_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    wrong: list[tuple[Any, type[Exception]]] = [
        (np.zeros((2, 3, 4)), ShapeError), (np.zeros(3, np.int16), DTypeError), (np.array([np.nan]), DataError),
        ([0.5], DTypeError), (np.zeros((0, 4)), ShapeError)]
    for x, error in wrong:
        with pytest.raises(error):
            st.io.write_audio(path, x, 8000)
    with pytest.raises(DataError, match="wav"):
        st.io.write_audio(tmp_path / "x.mp3", np.zeros(3), 8000)
    assert not path.exists()


def test_without_pyav_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.mp4").write_bytes(b"\0\0\0\x18ftypisom" + b"\0" * 32)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(DataError, match=r"stele-dl\[video\]"):
        st.io.read_video(tmp_path / "x.mp4")
    with pytest.raises(DataError, match="another format"):
        (tmp_path / "x.mp4").write_bytes(b"#EXTM3U\nhttp://example.org/x.ts\n")
        st.io.read_video(tmp_path / "x.mp4")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of 12 pictures at 4 a second, each of one grey, with a tone beside it."""
    av = pytest.importorskip("av", reason="video needs PyAV")
    path = tmp_path_factory.mktemp("video") / "x.mkv"
    with av.open(str(path), "w") as container:
        stream, tone = container.add_stream("ffv1", rate=4), container.add_stream("pcm_s16le", rate=8000)
        stream.width, stream.height, stream.pix_fmt = 32, 16, "yuv444p"
        tone.layout = "mono"
        for k in range(12):
            picture = np.full((16, 32, 3), 20 * k, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        wave = (np.sin(np.arange(24000) / 5) * 16000).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(wave[None], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 8000, 0, Fraction(1, 8000)
        for packets in (tone.encode(frame), tone.encode(None), stream.encode(None)):
            container.mux(packets)
    return path


def test_video_and_its_sound_are_read(clip: Path) -> None:
    x, rate = st.io.read_video(clip)
    assert x.shape == (12, 3, 16, 32) and x.dtype == np.uint8 and rate == 4
    assert np.abs(x.mean((1, 2, 3)) - 20 * np.arange(12)).max() <= 3
    part, rate = st.io.read_video(clip, start=0.5, stop=2.0, every=2)
    assert np.array_equal(part, x[2:8:2]) and rate == 2
    wave, rate = st.io.read_audio(clip)
    assert rate == 8000 and wave.shape == (1, 24000)
    np.testing.assert_allclose(wave[0], np.sin(np.arange(24000) / 5) * 16000 / 32768, atol=1e-4)


def test_hostile_video_is_refused(clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, path = clip.read_bytes(), tmp_path / "x.mkv"
    for content in (whole[:30], whole[:4] + b"\xff" * 200):
        path.write_bytes(content)
        with pytest.raises(DataError):
            st.io.read_video(path)
    monkeypatch.setattr(video, "PIXELS", 100)
    with pytest.raises(DataError, match="pixels"):
        st.io.read_video(clip)
    monkeypatch.setattr(video, "PIXELS", 1 << 20)
    monkeypatch.setattr(video, "read_bytes", lambda path, largest: whole)
    monkeypatch.setattr(video, "LARGEST", 10_000)
    with pytest.raises(DataError, match="in parts"):
        st.io.read_video(clip)
    with pytest.raises(DataError, match="4 GB of samples"):
        st.io.read_audio(clip)
