"""Transforms: one image of NumPy and a batch of tensors by the same numbers, Pillow and formulas as oracles."""
from __future__ import annotations

import colorsys
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

import stele as st
from stele import data
from stele.data.transforms import augment, chance, colours, resizing, warps
from stele.errors import ArgumentError, DataError, DTypeError, OptionError, ShapeError

T = data.transforms
RNG = np.random.default_rng
IMAGE = RNG(1).integers(0, 256, (3, 23, 31), dtype=np.uint8)

# Every transform of images, with options under which something happens.
EVERY: dict[str, Any] = {
    "resize":            T.Resize(12),
    "resize up":         T.Resize((31, 40), "bicubic"),
    "resize nearest":    T.Resize((9, 50), "nearest"),
    "resize, no spread": T.Resize((9, 50), antialias=False),
    "centre":            T.CenterCrop((10, 40)),
    "crop":              T.RandomCrop((16, 20), padding=3, fill=5),
    "crop, if needed":   T.RandomCrop(26, pad_if_needed=True, padding_mode="reflect"),
    "resized crop":      T.RandomResizedCrop((12, 14)),
    "resized crop, cubic": T.RandomResizedCrop(30, interpolation="bicubic"),
    "resized, nearest":  T.RandomResizedCrop(8, interpolation="nearest"),
    "no crop fits":      T.RandomResizedCrop(8, scale=(4.0, 4.0)),
    "flip":              T.RandomHorizontalFlip(),
    "flip over":         T.RandomVerticalFlip(),
    "colours":           T.ColorJitter(0.4, (0.5, 1.5), 0.6),
    "hue":               T.ColorJitter(hue=0.5),
    "affine":            T.RandomAffine(30, (0.2, 0.1), (0.7, 1.4), (-9, 9, -5, 5), fill=7),
    "affine between":    T.RandomAffine((5, 80), shear=8, interpolation="bilinear"),
    "rotation":          T.RandomRotation(180, "bilinear", fill=99),
    "augment":           T.RandAugment(2, 20),
    "erasing":           T.RandomErasing(0.7, value=(1, 2, 3)),
    "blur":              T.GaussianBlur((5, 3), (0.4, 2.0)),
    "inverted":          T.RandomInvert(),
    "few tones":         T.RandomPosterize(3),
    "solarized":         T.RandomSolarize(0.4),
    "sharp":             T.RandomAdjustSharpness(1.8),
    "stretched":         T.RandomAutocontrast(),
    "equal":             T.RandomEqualize(),
    "without time":      T.TimeMasking(12, 0.5),
    "without a band":    T.FrequencyMasking(9),
    "normalize":         T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4)),
    "pad":               T.Pad((1, 2, 3, 4), padding_mode="symmetric"),
    "edge":              T.Pad((2, 1), padding_mode="edge"),
    "floats":            T.ToFloat(),
    "grey":              T.Grayscale(3),
    "grey at times":     T.RandomGrayscale(0.5),
}
EVERY_FLOAT = EVERY | {"noise": T.GaussianNoise(0.1, 0.2)}
RANDOM = {name: t for name, t in EVERY.items() if isinstance(t, T.RandomTransform)}


def stacked(drawn: list[Any]) -> Any:
    """What was drawn for several images as for a batch of them."""
    first = drawn[0]
    if first is None or (isinstance(first, list) and first == [0, 1, 2, 3]):      # an order is one for all
        return first
    if isinstance(first, tuple | list):
        parts: list[Any] = [stacked([d[k] for d in drawn]) for k in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    numbers = np.asarray(drawn)
    return st.tensor(numbers.astype(np.float32) if numbers.dtype.kind == "f" else numbers)


class InOrder(chance.OfOne):
    """Numbers of one image; what is done is done in one order, as for a batch."""

    def order(self, n: int) -> list[int]: return list(range(n))


OF_FLOATS = ("resize", "resize, no spread", "resized crop", "colours", "hue", "affine between", "erasing", "normalize",
             "floats", "grey at times", "blur", "inverted", "solarized", "sharp", "stretched", "noise",
             "without time")    # which compute otherwise, or whose dtype follows from the image's


@pytest.mark.parametrize("t", [T.TimeMasking(12, 0.5), T.FrequencyMasking(9)])
def test_a_spectrum_needs_no_channels(t: Any) -> None:
    x = RNG(1).random((20, 30), np.float32)
    found, label = T.Compose([t])((x, 3), RNG(4))
    assert label == 3 and np.array_equal(found, t(x[None], RNG(4))[0]) and not np.array_equal(found, x)
    st.manual_seed(2)
    assert st.compile(t)(st.tensor(x)).shape == (20, 30)
    with pytest.raises(DataError, match="needs a sample with an image"):
        t(np.zeros((20, 30), np.uint8), RNG(0))


@pytest.mark.parametrize("shape", [(8, 8, 3), (5, 9, 4), (2, 8, 8, 3)])
def test_images_with_their_channels_last_are_refused(shape: tuple[int, ...]) -> None:
    """Such would be mirrored from red to blue in silence."""
    with pytest.raises(ShapeError, match=r"channels first.*Write np\.moveaxis\(x, -1, -3\)"):
        T.RandomHorizontalFlip()(np.zeros(shape, np.uint8), np.random.default_rng(0))


@pytest.mark.parametrize(("name", "kind"), [*((name, "bytes") for name in EVERY), *((n, "floats") for n in OF_FLOATS)])
def test_one_image_and_a_batch_agree(name: str, kind: str) -> None:
    t = EVERY_FLOAT[name]
    images = RNG(2).integers(0, 256, (5, 3, 23, 31), dtype=np.uint8)
    images = data.unit(images) if kind == "floats" else images
    drawn = [t.draw(InOrder(RNG(k)), x) for k, x in enumerate(images)]
    alone = np.stack([t.apply(x, d) for x, d in zip(images, drawn)])
    batch = t.apply(st.tensor(images), stacked(drawn) if isinstance(t, T.RandomTransform) else None).numpy()
    assert batch.shape == alone.shape and batch.dtype == alone.dtype
    away = np.abs(batch.astype(np.float64) - alone)
    if alone.dtype == np.uint8:     # what is rounded once or twice, or falls on an edge, may be another byte
        assert np.quantile(away, 0.97) <= 1
    else:
        assert np.quantile(away, 0.97) < 1e-4 * max(1.0, np.abs(alone).max())


def test_a_compiled_step_draws_anew_and_the_same_from_a_seed() -> None:
    t = T.Compose([T.RandomCrop(16, padding=2), T.RandomHorizontalFlip(), T.ColorJitter(0.3), T.ToFloat()])
    step = st.compile(dims={"x": {0: "n"}})(lambda x: t((x, x.sum()))[0])
    x = st.tensor(RNG(3).integers(0, 256, (4, 3, 16, 16), dtype=np.uint8))
    st.manual_seed(5)
    first, second = step(x).numpy(), step(x).numpy()
    st.manual_seed(5)
    assert np.array_equal(step(x).numpy(), first) and not np.array_equal(first, second)
    assert step(x[:3]).shape == (3, 3, 16, 16) and step.compiles == 1       # a batch may be smaller
    st.manual_seed(5)
    np.testing.assert_allclose(t(x).numpy(), first, atol=2 / 255)
    assert len({f.tobytes() for f in t(st.tensor(np.repeat(IMAGE[None, :, :16, :16], 6, 0))).numpy()}) == 6


@pytest.mark.parametrize("name", RANDOM)
def test_a_sample_belongs_to_its_generator(name: str) -> None:
    t = pickle.loads(pickle.dumps(RANDOM[name]))
    assert np.array_equal(t(IMAGE, RNG(7)), RANDOM[name](IMAGE, RNG(7)))
    assert len({t(IMAGE, RNG(k)).tobytes() for k in range(40)}) > 1 or name in ("no crop fits", "stretched")
    with pytest.raises(ArgumentError, match="default_rng"):
        t(IMAGE)


def test_the_loader_gives_each_sample_its_numbers() -> None:
    x = RNG(4).integers(0, 256, (12, 3, 8, 8), dtype=np.uint8)
    t = T.Compose([T.RandomCrop(8, padding=2), T.RandomHorizontalFlip(), T.ToFloat()])
    batches = [[b.copy() for b, _ in data.Loader(data.ArrayDataset(x, np.arange(12)).map(t), 4, shuffle=True, seed=s,
                                                 num_workers=w)] for s, w in ((1, 0), (1, 2), (2, 0))]
    assert np.array_equal(np.stack(batches[0]), np.stack(batches[1]))
    assert not np.array_equal(np.stack(batches[0]), np.stack(batches[2]))
    assert batches[0][0].dtype == np.float32 and batches[0][0].max() <= 1


def test_masks_go_along_and_all_else_stays() -> None:
    mask = RNG(5).integers(0, 9, IMAGE.shape[1:])
    sample = {"x": IMAGE, "mask": mask, "name": "cat", "box": np.arange(4), "pair": (mask > 4, 3)}
    for k in range(4):
        y = T.Compose([T.RandomHorizontalFlip(), T.RandomCrop(16), T.ColorJitter(0.5), T.RandomVerticalFlip()])(
            sample, RNG(k))
        assert y["mask"].shape == (16, 16) and np.array_equal(y["pair"][0], y["mask"] > 4)
        assert y["name"] == "cat" and y["pair"][1] == 3 and y["box"].tolist() == [0, 1, 2, 3]
    x, m = T.RandomAffine(40)((IMAGE, (IMAGE[0] // 9).astype(np.int64)), RNG(0))
    assert np.array_equal(x[0] // 9, m)
    many, masks = np.stack([IMAGE] * 3), np.stack([IMAGE[0]] * 3)
    x, m, label = T.RandomCrop(16)((many, masks, np.arange(3)), RNG(3))
    assert np.array_equal(x[:, 0], m) and label.tolist() == [0, 1, 2] and not np.array_equal(x[0], x[1])
    st.manual_seed(1)
    x, m = T.RandomResizedCrop(8, interpolation="nearest")((st.tensor(many), st.tensor(masks)))
    assert np.array_equal(x.numpy()[:, 0], m.numpy())


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resizing_is_pillows_to_the_bit_with_and_without_it(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG(6).integers(0, 256, (3, 61, 47), dtype=np.uint8)
    sizes = ((20, 30), (100, 47), (61, 13), (7, 90))
    found = [T.Resize(size, mode)(x) for size in sizes]
    monkeypatch.setattr(resizing, "find_spec", lambda name: None)
    for size, with_it in zip(sizes, found):
        wanted = np.asarray(Image.fromarray(x.transpose(1, 2, 0)).resize(size[::-1], resizing.PILLOW[mode]))
        assert np.abs(with_it.transpose(1, 2, 0).astype(int) - wanted).max() <= 1    # which axis is first differs
        one = np.asarray(Image.fromarray(x[0]).resize((47, size[0]), resizing.PILLOW[mode]))
        assert np.array_equal(T.Resize((size[0], 47), mode)(x)[0], one)
        assert np.array_equal(T.Resize(size, mode)(x), with_it)
        floats = T.Resize(size, mode)(x[:1].astype(np.float32) / 255)
        exact = Image.fromarray(x[0].astype(np.float32) / 255).resize(size[::-1], resizing.PILLOW[mode])
        np.testing.assert_allclose(floats[0], np.asarray(exact), atol=1e-5)
    near = T.Resize((20, 100), "nearest")(x).transpose(1, 2, 0)
    assert np.array_equal(near, np.asarray(Image.fromarray(x.transpose(1, 2, 0)).resize((100, 20), 0)))
    assert T.Resize(30)(x).shape == (3, 38, 30) and T.Resize(30)(x.transpose(0, 2, 1)).shape == (3, 30, 38)


def test_a_resized_crop_is_pillows() -> None:
    t = T.RandomResizedCrop((10, 9))
    for k in range(20):
        box = t.draw(chance.OfOne(RNG(k)), IMAGE)
        part = Image.fromarray(IMAGE.transpose(1, 2, 0)).crop(
            (box.left, box.top, box.left + box.width, box.top + box.height))
        away = np.asarray(part.resize((9, 10), 2)).transpose(2, 0, 1) - t.apply(IMAGE, box).astype(int)
        assert np.abs(away).max() <= 1
        assert 0 <= box.top <= 23 - box.height and 0 <= box.left <= 31 - box.width
        assert 0.05 < box.height * box.width / (23 * 31) <= 1.05 and 0.6 < box.width / box.height < 1.6


PIXELS = Image.fromarray(IMAGE.transpose(1, 2, 0))

# What Pillow makes of the image, and how far a byte may be from it.
PILLOWS: dict[str, tuple[Callable[[], Any], Callable[[], Any], int]] = {
    "brightness": (lambda: colours.brightened(IMAGE, 1.4), lambda: ImageEnhance.Brightness(PIXELS).enhance(1.4), 0),
    "contrast":   (lambda: colours.contrasted(IMAGE, 0.3), lambda: ImageEnhance.Contrast(PIXELS).enhance(0.3), 1),
    "saturation": (lambda: colours.saturated(IMAGE, 1.7), lambda: ImageEnhance.Color(PIXELS).enhance(1.7), 0),
    "sharpness":  (lambda: augment.sharpened(IMAGE, 1.9), lambda: ImageEnhance.Sharpness(PIXELS).enhance(1.9), 0),
    "grey":       (lambda: T.Grayscale(3)(IMAGE), lambda: PIXELS.convert("L").convert("RGB"), 0),
    "stretched":  (lambda: augment.stretched(IMAGE // 3 + 9), lambda: ImageOps.autocontrast(
        Image.fromarray((IMAGE // 3 + 9).transpose(1, 2, 0))), 1),
    "equalized":  (lambda: augment.equalized(IMAGE // 2), lambda: ImageOps.equalize(
        Image.fromarray((IMAGE // 2).transpose(1, 2, 0))), 0),
    "turned":     (lambda: T.RandomRotation((30, 30))(IMAGE, RNG(0)), lambda: PIXELS.rotate(30), 0),
    "turned about": (lambda: T.RandomRotation((70, 70), center=(5, 9))(IMAGE, RNG(0)),
                     lambda: PIXELS.rotate(70, center=(5, 9)), 0),
    "turned between": (lambda: T.RandomRotation((-50, -50), "bilinear")(IMAGE, RNG(0)),
                       lambda: PIXELS.rotate(-50, resample=Image.Resampling.BILINEAR), 1),
}


@pytest.mark.parametrize("name", PILLOWS)
def test_colours_and_maps_are_pillows(name: str) -> None:
    ours, pillows, most = PILLOWS[name]
    away = np.abs(ours().astype(int) - np.asarray(pillows()).transpose(2, 0, 1))
    assert np.quantile(away, 0.995) <= most     # Pillow turns by fixed point: a few pixels fall on the other side


def test_augment_does_what_its_kinds_say() -> None:
    t = T.RandAugment(1, 15)
    half = {kind: t.strength(kind) for kind in augment.STRONGEST}
    shear, across = half["shear"], int(half["translate"] * 31)
    wanted = {
        0: IMAGE, 1: affine(1, shear, 0, 0, 1, 0), 2: affine(1, 0, 0, shear, 1, 0), 3: affine(1, 0, -across, 0, 1, 0),
        5: PIXELS.rotate(half["rotate"]), 6: ImageEnhance.Brightness(PIXELS).enhance(1 + half["enhance"]),
        10: ImageOps.posterize(PIXELS, 6), 11: ImageOps.solarize(PIXELS, 128),
        13: ImageOps.equalize(PIXELS)}
    for which, made in wanted.items():
        found = t.apply(IMAGE, [(which, False)])
        made = made if isinstance(made, np.ndarray) else np.asarray(made).transpose(2, 0, 1)
        assert np.quantile(np.abs(found.astype(int) - made), 0.98) == 0, which
    assert np.array_equal(t.apply(IMAGE, [(3, True)])[..., :-across], IMAGE[..., across:])


def affine(*matrix: float) -> Any:
    """The image as Pillow takes it through a map back."""
    return PIXELS.transform(PIXELS.size, Image.Transform.AFFINE, matrix)


def test_the_map_back_undoes_the_map() -> None:
    """Scale, shear along y, then x, then a turn clockwise: the matrices multiplied, inverted."""
    angle, scale, sx, sy = 33.0, 1.3, 12.0, -7.0
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    forward = scale * np.array([[cos, -sin], [sin, cos]]) @ np.array([[1, 0], [-np.tan(np.radians(sy)), 1]]) @ \
        np.array([[1, -np.tan(np.radians(sx))], [0, 1]])
    to = warps.inverse(angle, 3.0, -2.0, scale, sx, sy)
    back = np.array([[to.a, to.b], [to.d, to.e]])
    np.testing.assert_allclose(back @ forward, np.eye(2), atol=1e-12)
    np.testing.assert_allclose([to.c, to.f], -back @ [3.0, -2.0], atol=1e-12)


class Told:
    """Draws the numbers that it is given, one after the other."""

    def __init__(self, *numbers: float) -> None:
        self.rest = [*numbers]

    def uniform(self, low: float, high: float) -> float: return self.rest.pop(0)


def torchvisions(angle: float, right: int, down: int, scale: float, sx: float, sy: float, x: float, y: float) -> Any:
    """The map back about (x, y) as torchvision writes it: shear, turn and scale as one matrix, then its inverse."""
    turn, sx, sy = map(math.radians, (angle, sx, sy))
    a, c = math.cos(turn - sy) / math.cos(sy), math.sin(turn - sy) / math.cos(sy)
    b, d = -a * math.tan(sx) - math.sin(turn), -c * math.tan(sx) + math.cos(turn)
    rows = [(d / scale, -b / scale, x), (-c / scale, a / scale, y)]
    return [n for p, q, middle in rows for n in (p, q, middle - p * (x + right) - q * (y + down))]


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_affine_maps_take_the_pixels_of_torchvision(mode: str) -> None:
    rng, away = RNG(3), list[Any]()
    for k in range(16):
        angle, scale, (sx, sy) = rng.uniform(-180, 180), rng.uniform(0.5, 1.8), rng.uniform(-30, 30, 2)
        right, down, fill = (int(n) for n in rng.integers((-6, -6, 0), (7, 7, 256)))
        center = (5.0, 9.0) if k % 2 else None
        t = T.RandomAffine(180, (0.3, 0.3), (0.5, 1.8), (-30, 30, -30, 30), mode, fill, center)
        to = torchvisions(angle, right, down, scale, sx, sy, *(center or (31 / 2, 23 / 2)))
        pillows = PIXELS.transform(PIXELS.size, Image.Transform.AFFINE, to, Image.Resampling[mode.upper()],
                                   fillcolor=(fill,) * 3)
        drawn: Any = Told(angle, scale, right, down, sx, sy)
        away.append(t.apply(IMAGE, t.draw(drawn, IMAGE)).astype(int) - np.asarray(pillows).transpose(2, 0, 1))
    assert (np.abs(away) > 1).mean() < 1e-3     # Pillow's fixed point: a pixel in a thousand on the other side


def test_hue_goes_around_the_circle() -> None:
    for amount in (-0.5, -0.2, 0.1, 0.5):
        found = colours.turned(IMAGE, amount)
        for y, x in ((0, 0), (5, 7), (22, 30)):
            h, s, v = colorsys.rgb_to_hsv(*(IMAGE[:, y, x] / 255))
            wanted = np.array(colorsys.hsv_to_rgb((h + amount) % 1, s, v)) * 255
            assert np.abs(found[:, y, x] - wanted).max() <= 0.51
    grey = np.full((3, 2, 2), 77, np.uint8)
    assert np.array_equal(colours.turned(grey, 0.3), grey)


def test_normalize_and_floats_are_their_formulas() -> None:
    mean, std = np.array([0.4, 0.5, 0.6]).reshape(3, 1, 1), np.array([0.2, 0.3, 0.4]).reshape(3, 1, 1)
    wanted = (IMAGE / 255 - mean) / std
    t = T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
    for x in (IMAGE, data.unit(IMAGE)):
        found = t(x)
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        assert found.dtype == np.float32
    assert t(data.unit(IMAGE).astype(np.float64)).dtype == np.float64


def test_mixup_and_cutmix() -> None:
    x, y = data.unit(RNG(8).integers(0, 256, (6, 3, 9, 8), dtype=np.uint8)), np.arange(6) % 4
    other, eye = np.roll(x, 1, 0), np.eye(4, dtype=np.float32)[y]
    mixed, labels = T.MixUp(alpha=0.4, num_classes=4)((x, y), RNG(1))
    share = labels[0, 0]
    np.testing.assert_allclose(mixed, x * share + other * (1 - share), atol=1e-6)
    np.testing.assert_allclose(labels, eye * share + np.roll(eye, 1, 0) * (1 - share), atol=1e-6)
    cut, labels = T.CutMix(num_classes=4)((x, y), RNG(2))
    kept = (cut == x).all(1)
    np.testing.assert_allclose(labels[0, 0], kept[0].mean(), atol=1e-6)
    assert ((cut == x) | (cut == other)).all() and 0 < kept[0].mean() < 1 and labels.dtype == np.float32
    for t in (T.MixUp(num_classes=4), T.CutMix(num_classes=4)):
        mixed, labels = st.compile(lambda a, b, t=t: t((a, b)))(st.tensor(x), st.tensor(y))
        np.testing.assert_allclose(labels.numpy().sum(1), 1, atol=1e-6)
        assert mixed.shape == x.shape and str(mixed.dtype) == "float32"
    for wrong, error in (((x, y[:5]), ShapeError), ((x,), DataError), ((x[0], y), ShapeError)):
        with pytest.raises(error):
            T.CutMix(num_classes=4)(wrong, RNG(0))
    with pytest.raises(DTypeError, match="num_classes"):
        T.MixUp()((x, y), RNG(0))
    with pytest.raises(DTypeError, match="ToFloat"):
        T.MixUp(num_classes=4)((IMAGE[None], y[:1]), RNG(0))


def test_a_gradient_goes_through_what_is_compiled() -> None:
    t = T.Compose([T.Resize(4), T.RandomResizedCrop(3), T.ColorJitter(0.2, 0.2, 0.2), T.RandomRotation(20, "bilinear")])
    x = st.tensor(RNG(9).random((2, 3, 6, 6)).astype(np.float32) * 0.5 + 0.2)
    g = st.grad(lambda x: t(x).sum())(x).numpy()
    assert np.isfinite(g).all() and (g != 0).mean() > 0.5


def test_random_apply_is_all_or_nothing() -> None:
    t = T.RandomApply([T.ToFloat(), lambda x: x + 1], p=0.5)
    kinds = [t(IMAGE, RNG(k)).dtype for k in range(20)]
    assert {np.dtype(np.uint8), np.dtype(np.float32)} == set(kinds)
    st.manual_seed(0)
    x = T.RandomApply([T.Grayscale(3)])((st.tensor(np.stack([IMAGE] * 8)), 5))
    grey = (x[0].numpy()[:, 0] == x[0].numpy()[:, 2]).all((1, 2))
    assert x[1] == 5 and 0 < grey.sum() < 8


def test_wrong_use_teaches() -> None:
    for made, error in (
            (lambda: T.ToFloat()("cat.png"), DataError), (lambda: T.ToFloat()(IMAGE.astype(np.int32)), DTypeError),
            (lambda: T.ToFloat()(IMAGE[0]), DataError), (lambda: T.RandomCrop(40)(IMAGE, RNG(0)), ShapeError),
            (lambda: T.ColorJitter(0.5)(IMAGE[:2], RNG(0)), ShapeError), (lambda: T.ColorJitter(hue=0.7), ShapeError),
            (lambda: T.Resize(5, "lanczos"), OptionError),
            (lambda: T.Pad(99, padding_mode="reflect")(IMAGE), ShapeError),
            (lambda: T.Normalize([1, 2], [1, 2])(IMAGE), ShapeError),
            (lambda: T.Normalize([1, 2], [1, 2, 3]), ShapeError), (lambda: T.Compose(T.ToFloat()), ArgumentError),
            (lambda: T.RandAugment()(data.unit(IMAGE), RNG(0)), DTypeError),
            (lambda: T.Pad(3, -1)(IMAGE), DTypeError), (lambda: T.Pad(2**63)(IMAGE), ShapeError),
            (lambda: T.RandomRotation(90, fill=300)(IMAGE, RNG(0)), DTypeError),
            (lambda: T.CenterCrop(10**60)(IMAGE), ShapeError), (lambda: T.Resize(10**60)(IMAGE), ShapeError),
            (lambda: T.Resize(2**31)(st.tensor(IMAGE)), ShapeError), (lambda: T.Grayscale(IMAGE), ArgumentError),
            (lambda: T.MFCC(melkwargs=IMAGE), ArgumentError), (lambda: T.MFCC(10**400), ShapeError),
            (lambda: T.Spectrogram(hop_length=IMAGE), ArgumentError),
            (lambda: T.Resample(2, 2**63)(np.ones(9, np.float32)), ShapeError)):
        with pytest.raises(error):
            made()
    with pytest.raises(AttributeError, match="ToFloat"):
        T.ToTensor()


def test_spectra_are_their_formulas() -> None:
    """A spectrogram by a sum of its definition, as torch.stft has it; bands and cosines by theirs."""
    x = RNG(10).standard_normal(64)
    t = T.Spectrogram(16, win_length=12, hop_length=5)
    wide = np.pad(x, 8, mode="reflect")
    hann = np.pad(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(12) / 12), 2)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(9), np.arange(16)) / 16)
    wanted = np.stack([np.abs(turns @ (wide[k:k + 16] * hann)) ** 2 for k in range(0, 65, 5)], 1)
    np.testing.assert_allclose(t(x), wanted, atol=1e-10)
    np.testing.assert_allclose(T.Spectrogram(16, 12, 5, power=1)(x), np.sqrt(wanted), atol=1e-10)
    m = T.MelSpectrogram(8000, 16, 12, 5, n_mels=4, norm="slaney", mel_scale="slaney")
    np.testing.assert_allclose(m(x), m.bands().T @ wanted, atol=1e-10)
    plain = T.MelSpectrogram(8000, 128, n_mels=6).bands()
    assert plain.max() <= 1 and np.allclose(plain[10:40].sum(1), 1)     # triangles share what is there
    f = T.MFCC(8000, 4, melkwargs={"n_fft": 64, "n_mels": 4})
    np.testing.assert_allclose(f.cosines() @ f.cosines().T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(f(x), f.cosines() @ np.maximum(
        power := 10 * np.log10(f.bands(x)), power.max() - 80), atol=1e-6)


def test_spectra_are_compiled_and_differentiable() -> None:
    x = RNG(11).standard_normal((2, 200)).astype(np.float32)
    for t in (T.MFCC(8000, 5, melkwargs={"n_fft": 64, "n_mels": 8}), T.Resample(3, 2)):
        alone, step = t((x, 4))[0], st.compile(t)
        np.testing.assert_allclose(step(st.tensor(x)).numpy(), alone, rtol=2e-4, atol=2e-4)
        g = st.grad(lambda x, t=t: t(x).sum())(st.tensor(x)).numpy()
        assert np.isfinite(g).all() and g.std() > 0


def test_a_resampled_tone_is_the_tone() -> None:
    n = np.arange(2000)
    for old, new in ((16000, 8000), (8000, 11025), (44100, 16000)):
        y = T.Resample(old, new)(np.sin(2 * np.pi * 440 * n / old))
        assert len(y) == -(-2000 * new // old)
        np.testing.assert_allclose(y[50:-50], np.sin(2 * np.pi * 440 * np.arange(len(y)) / new)[50:-50], atol=5e-3)
