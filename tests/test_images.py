"""Photographs become what torchvision's classification presets make of them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import ROOT

from stele.data import ImageFolder, Loader, images, jpegs
from stele.data import transforms as T
from stele.data.chance import Chance
from stele.data.images import Picture, load_image, load_images
from stele.data.pixels import pixels
from stele.data.transforms.base import called
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


KINDS: list[dict[str, Any]] = [{}, {"restart_marker_blocks": 3},
                               {"progressive": True}, {"subsampling": 0}, {"subsampling": 1}, {"quality": 30}]


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_parts_of_a_jpeg_have_the_bytes_that_pillow_gives(tmp_path: Path, mode: str) -> None:
    """JPEG of every kind, and what is none or not whole, which Pillow explains."""
    path, rng = tmp_path / "a.jpg", np.random.default_rng(0)
    for size in ((1, 1), (7, 13), (101, 57)):
        for options in KINDS:
            photograph(path, *size, mode)
            PIL.open(path).save(path, "JPEG", **options)
            picture, wanted = Picture(path), pixels(images.decoded(path))
            assert picture.shape == (None if mode == "CMYK" else wanted.shape)
            assert np.array_equal(picture.whole(), wanted)
            for _ in range(8 if picture.shape else 0):
                (top, height), (left, width) = (sorted(rng.integers(0, n + 1, 2)) for n in wanted.shape[1:])
                height, width = max(height - top, 1), max(width - left, 1)
                top, left = min(top, wanted.shape[1] - 1), min(left, wanted.shape[2] - 1)
                part = jpegs.decoded(picture.raw, top, left, height, width, wanted.shape[2])
                assert part is not None and np.array_equal(part, wanted[:, top:top + height, left:left + width])
    whole = path.read_bytes()
    for raw in (whole[:len(whole) // 2], whole[:20], b"\xff\xd8\xff"):
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"a\.jpg"):
            Picture(path).whole()


class Darker(T.RandomCrop):
    """A crop that somebody has given another meaning."""

    def apply(self, x: Any, drawn: Any) -> Any:
        return super().apply(x // 2, drawn)


def named(cut: Any) -> str:
    """What a transform is, without the places of lambdas, which are others in each process."""
    return re.sub(r" at 0x\w+", "", repr(cut))


CUTS: list[Any] = [
    T.CenterCrop(20), T.CenterCrop((60, 20)), T.RandomCrop(20), T.RandomCrop(20, padding=3), T.RandomResizedCrop(16),
    T.RandomResizedCrop(64, scale=(0.05, 0.2), interpolation="nearest"), Darker(20), T.Compose([]), T.Resize(20),
    T.Compose([T.RandomCrop((30, 20)), T.RandomHorizontalFlip(), T.ToFloat()]),
    T.Compose([T.Compose([T.RandomResizedCrop(8)]), T.RandomCrop(4)]),
    T.Compose([T.RandomVerticalFlip(), T.RandomCrop(9)]),
    T.Compose([lambda x, rng: x[:, rng.integers(9):], T.RandomCrop(9)])]


@pytest.mark.parametrize("cut", CUTS, ids=named)
@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_a_folder_decodes_what_a_crop_looks_at_to_the_same_numbers(tmp_path: Path, cut: Any, suffix: str) -> None:
    (tmp_path / "a").mkdir()
    photograph(tmp_path / "a" / f"b.{suffix}", 45, 71)
    folder = ImageFolder(tmp_path, transform=cut)
    for epoch in range(3):
        found = folder.at(0, Chance(5, epoch, 0))[0]
        wanted = called(cut, ImageFolder(tmp_path)[0][0], Chance(5, epoch, 0).rng())
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


class Tagged(T.CenterCrop):
    """A crop that is called in a way of its own."""

    def __call__(self, sample: Any) -> Any:
        image, label = super().__call__(sample)
        return image, label + 10


@pytest.mark.parametrize("cut", [*CUTS[:-1], Tagged(20), T.Compose([T.CenterCrop(20), lambda s: (s[0], s[1] + 1)]),
                                 T.Compose([T.RandomCrop(9), T.RandomApply([lambda s: (s[1], s[0])])])], ids=named)
def test_a_loader_of_a_folder_gives_what_its_transform_makes_of_samples(tmp_path: Path, cut: Any) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        photograph(tmp_path / name / "c.jpg", 45, 71)
    folder = ImageFolder(tmp_path)
    found = next(iter(Loader(folder, 2, seed=3, transform=cut, collate=list).batches(1)))
    for k, sample in enumerate(found):
        wanted = called(cut, folder[k], Chance(3, 1, k).rng())
        assert all(np.array_equal(a, b) for a, b in zip(sample, wanted, strict=True))
        assert all(np.array_equal(a, b) for a, b in zip(folder.map(cut).at(k, Chance(3, 1, k)), wanted, strict=True))


def test_a_folder_of_crops_looks_at_no_more_than_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is cut off below a part is whole to that; others say what is wrong with it."""
    (tmp_path / "a").mkdir()
    photograph(tmp_path / "a" / "b.jpg", 100, 400)
    raw = (tmp_path / "a" / "b.jpg").read_bytes()
    (tmp_path / "a" / "b.jpg").write_bytes(raw[:len(raw) * 3 // 4])
    part = Picture(tmp_path / "a" / "b.jpg").part(0, 0, 200, 100)
    assert part.shape == (3, 200, 100)
    for transform in (T.CenterCrop((390, 100)), T.Compose([lambda x: x])):
        with pytest.raises(DataError, match="to be whole, got a truncated"):
            ImageFolder(tmp_path, transform=transform)[0]
