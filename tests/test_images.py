"""Photographs become what torchvision's classification presets make of them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import ROOT

from stele.data import images
from stele.data.images import load_image, load_images
from stele.data.pixels import pixels
from stele.errors import DataError

PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def photograph(path: Path, width: int, height: int, mode: str = "RGB") -> np.ndarray:
    """Smooth waves, so that a wrong crop or a missing antialias shows."""
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([128 + 100 * np.sin(x / 17 + k) * np.cos(y / (11 + k)) for k in range(3)], -1).astype(np.uint8)
    PIL.fromarray(pixels).convert(mode).save(path)
    return pixels


@pytest.mark.parametrize("width, height", [(300, 500), (451, 300), (256, 256), (100, 90), (1001, 333)])
def test_matches_the_definition(tmp_path: Path, width: int, height: int) -> None:
    photograph(tmp_path / "a.png", width, height)
    image = PIL.open(tmp_path / "a.png")
    size = (256, int(256 * height / width)) if width <= height else (int(256 * width / height), 256)
    image = image.resize(size, PIL.Resampling.BILINEAR)
    left, top = round((size[0] - 224) / 2.0), round((size[1] - 224) / 2.0)
    pixels = np.asarray(image.crop((left, top, left + 224, top + 224)), np.float64) / 255
    wanted = (pixels - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    got = load_image(tmp_path / "a.png")
    assert got.shape == (3, 224, 224) and got.dtype == np.float32 and got.flags.c_contiguous
    assert np.abs(got - wanted.transpose(2, 0, 1)).max() < 1e-6


MODES = ("L", "png"), ("RGBA", "png"), ("P", "png"), ("CMYK", "jpg"), ("RGB", "webp")


@pytest.mark.parametrize("mode, suffix", MODES)
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str, suffix: str) -> None:
    photograph(tmp_path / f"a.{suffix}", 240, 260, mode)
    assert load_images([tmp_path / f"a.{suffix}"] * 2).shape == (2, 3, 224, 224)


def test_real_photographs() -> None:
    folder = ROOT.parent / "shared" / "data" / "photos"
    if not folder.is_dir():
        pytest.skip(f"no photographs in {folder}")
    for path in sorted(p for p in folder.iterdir() if p.suffix != ".json"):
        x = load_image(path)
        assert np.isfinite(x).all() and -2.2 < x.min() < x.max() < 2.7 and x.std() > 0.1


def test_bad_images(tmp_path: Path) -> None:
    photograph(tmp_path / "a.jpg", 300, 300)
    whole = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[:len(whole) // 2])
    (tmp_path / "text.jpg").write_text("not an image")
    (tmp_path / "empty.png").touch()
    for name, message in {"cut.jpg": "to be whole, got a truncated", "text.jpg": "be a JPEG, PNG, WebP, BMP or GIF",
                          "empty.png": "be a JPEG, PNG, WebP, BMP or GIF", "none.png": "an existing file",
                          "": "a file, got the folder"}.items():
        with pytest.raises(DataError, match=message):
            load_image(tmp_path / name)


def test_without_pillow_the_error_says_what_to_install(tmp_path: Path) -> None:
    code = ("import sys; sys.modules['PIL'] = None\n"
            "from stele.data.images import load_image\n"
            "from stele.errors import DataError\n"
            "try: load_image('cat.jpg')\n"
            "except DataError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "reading cat.jpg needs Pillow, got none installed. Run: pip install 'stele-dl[images]'\n"


KINDS: list[dict[str, Any]] = [{}, {"progressive": True}, {"subsampling": 0}, {"subsampling": 1}, {"quality": 30}]


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_simplejpeg_gives_the_bytes_that_pillow_gives(tmp_path: Path, mode: str) -> None:
    """JPEG of every kind, and what is none or not whole, which Pillow explains."""
    pytest.importorskip("simplejpeg", reason="simplejpeg is not installed")
    path = tmp_path / "a.jpg"
    for size in ((1, 1), (7, 13), (101, 57)):
        for options in KINDS:
            photograph(path, *size, mode)
            PIL.open(path).save(path, "JPEG", **options)
            assert (images.by_turbo(path.read_bytes(), path) is None) == (mode == "CMYK")
            assert np.array_equal(images.rgb(path), pixels(images.decoded(path)))
    whole = path.read_bytes()
    for raw in (whole[:len(whole) // 2], whole[:20], b"\xff\xd8\xff"):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"a\.jpg"):
            images.rgb(path)
