"""What a transform is: images of a sample found, parameters drawn, and applied to each."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stele as st
from stele.data.chance import is_random
from stele.data.images import OfFile, Picture
from stele.data.transforms import arrays
from stele.data.transforms.arrays import Drawn, Image, window
from stele.data.transforms.chance import Chance, OfBatch, OfOne
from stele.errors import ArgumentError, DataError, ShapeError, kind
from stele.interop.keywords import speaks
from stele.ops.arguments import function, is_array, is_dict, is_series, number, numbers, sequence, shallow


class Transform:
    """A function of a sample that changes its image: a class of yours says `apply`.

    The image is the first array (C, H, W) of a sample, which may be it, or a tuple or dict that holds it; arrays (H, W)
    of integers or bools, as high and wide as the image, are masks, which go along where pixels move (`Moving`). All
    else stays as it is. Images are uint8 or float. NumPy's (N, C, H, W) are images one by one, a tensor (N, C, H, W)
    is a batch, inside of a compiled function too. Raises DataError for a sample that holds no image.

    >>> class Invert(data.transforms.Transform):
    ...     def apply(self, x, drawn): return 255 - x
    >>> x, label = Invert()((np.zeros((1, 2, 2), np.uint8), 7))
    >>> x.tolist(), label
    ([[[255, 255], [255, 255]]], 7)
    """

    @speaks
    def __init__(self) -> None:
        super().__init__()

    def __call__(self, sample: Any) -> Any:
        """The sample with its image changed."""
        return changed(self, sample, None)

    def draw(self, chance: Chance, x: Image) -> Any:
        """What is random about an image like x; None here."""
        return None

    def apply(self, x: Image, drawn: Any) -> Image:
        """The image changed, by what was drawn: (C, H, W) by numbers, or a batch (N, C, H, W) by tensors (N,)."""
        raise DataError(f"{type(self).__name__} needs a method apply(self, x, drawn), which gives the changed image.")

    def mask(self, x: Image, drawn: Any) -> Image:
        """A mask (1, H, W), or a batch of them, changed along with its image; here it stays as it is."""
        return x

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({given})"


class RandomTransform(Transform):
    """A transform of which something is drawn: `t(sample, rng)` for images of NumPy, `t(sample)` for tensors.

    A class of yours says `draw(chance, x)` and `apply(x, drawn)`: `chance.uniform(low, high)`, `chance.coin(p)` and
    `chance.below(n)` give a number for one image, or a tensor (N,) for a batch. A `Loader` gives each sample a
    generator of its own; tensors draw from the generator that `st.manual_seed` starts, so that a compiled step draws
    anew in every call. Of any shape and dtype that `apply` takes. Raises ArgumentError where images of NumPy come
    without a generator.

    >>> class Dim(data.transforms.RandomTransform):
    ...     def draw(self, chance, x): return chance.coin(0.5)
    ...     def apply(self, x, drawn): return data.transforms.either(drawn, lambda x: x // 2, x)
    >>> Dim()(np.full((1, 1, 2), 8, np.uint8), np.random.default_rng(0)).tolist()
    [[[8, 8]]]
    """

    def __call__(self, sample: Any, rng: np.random.Generator | None = None) -> Any:
        """The sample with its image changed by numbers that are drawn now."""
        return changed(self, sample, rng)


class Moving(Transform):
    """A transform that moves pixels: a class of yours says `move`, which masks go through too, with mode "nearest".

    Of images of any shape and dtype. Raises DataError where a class does not say it.

    >>> class Upside(data.transforms.Moving):
    ...     def move(self, x, drawn, mode): return x[..., ::-1, :]
    >>> x, mask = Upside()((np.array([[[1], [2]]], np.uint8), np.array([[0], [1]])))
    >>> x.tolist(), mask.tolist()
    ([[[2], [1]]], [[1], [0]])
    """

    interpolation = "nearest"

    def move(self, x: Image, drawn: Any, mode: str) -> Image:
        """The image, or a mask, with its pixels elsewhere; what is between pixels is found by `mode`."""
        raise DataError(f"{type(self).__name__} needs a method move(self, x, drawn, mode), which moves an image.")

    def apply(self, x: Image, drawn: Any) -> Image:
        """The image with its pixels moved."""
        return self.move(x, drawn, self.interpolation)

    def mask(self, x: Image, drawn: Any) -> Image:
        """The mask moved, with no new numbers in it."""
        return self.move(x, drawn, "nearest")


class Cropping(Moving, OfFile):
    """The base of transforms that look at one part of an image: a class says `part`, and what becomes of others."""

    def part(self, x: Any, drawn: Any) -> tuple[Drawn, Drawn, int, int] | None:
        """Top, left, height and width of what is looked at of images of x's shape; None where it is not one part."""
        raise NotImplementedError

    def of_part(self, x: Image, mode: str) -> Image:
        """What is made of the part; here it stays as it is."""
        return x

    def of_all(self, x: Image, drawn: Any, mode: str) -> Image:
        """What is made of an image that is looked at elsewhere than in one part."""
        raise NotImplementedError

    def move(self, x: Image, drawn: Any, mode: str) -> Image:
        """The part of the image, and what becomes of it."""
        part = self.part(x, drawn)
        return self.of_all(x, drawn, mode) if part is None else self.of_part(window(x, *part), mode)

    def is_of_images(self) -> bool:
        """Unless it is called in a way of its own."""
        return is_of_images(self)

    def of_file(self, file: Picture, rng: Callable[[], np.random.Generator]) -> Any:
        """The same of a picture, of which the part alone is decoded."""
        own, ours = type(self), (Cropping.move, Cropping.apply)
        if file.shape is None or not self.is_of_images() or (own.move, own.apply) != ours:
            return called(self, file.whole(), rng())
        drawn = self.draw(of_one(self, rng()), file)
        part = self.part(file, drawn)
        return self.apply(file.whole(), drawn) if part is None else self.of_part(file.part(*part), self.interpolation)


def is_of_images(t: Any) -> bool:
    """Whether a function changes the image of a sample and leaves alone what else is in it."""
    return isinstance(t, Transform) and type(t).__call__ in (Transform.__call__, RandomTransform.__call__)


def changed(t: Transform, sample: Any, rng: Any) -> Any:
    """The sample with its image and its masks changed."""
    image = image_of(sample)
    if image is None:
        raise DataError(f"a transform needs a sample with an image, an array (C, H, W) of uint8 or floats, or a tensor "
                        f"(N, C, H, W); got {described(sample)}", hint="Read it by st.io.imread(path), or write "
                        "np.asarray(image).transpose(2, 0, 1)." if hasattr(sample, "getbands") else None)
    arrays.checked(image)
    if is_array(image) and image.ndim == 4:
        return one_by_one(lambda one: changed(t, one, rng), sample, image)
    if is_array(image):
        one = t.draw(of_one(t, rng), image)
        return each(sample, image, lambda x: t.apply(x, one), lambda m: t.mask(m[None], one)[0])
    if image.ndim == 3:
        one = t.draw(OfBatch(1), image[None])
        return each(sample, image, lambda x: t.apply(x[None], one)[0], lambda m: t.mask(m[None, None], one)[0, 0])
    many = t.draw(OfBatch(image.shape[0]), image)
    return each(sample, image, lambda x: t.apply(x, many), lambda m: t.mask(m[:, None], many)[:, 0])


def of_one(t: Transform, rng: Any) -> OfOne:
    """The chance of one image of NumPy."""
    if isinstance(t, RandomTransform) and not isinstance(rng, np.random.Generator):
        raise ArgumentError(f"{type(t).__name__} of an image of NumPy draws from a generator, got {kind(rng)}",
                            hint="Write t(x, np.random.default_rng(seed)); a Loader gives one to each sample.")
    return OfOne(rng)


def described(sample: Any) -> str:
    """What a sample holds, for a message."""
    if hasattr(sample, "ndim"):
        return f"an array of {sample.ndim} axes"
    return f"{kind(sample)} of {', '.join(map(described, sample))}" if is_series(sample) and sample else kind(sample)


def image_of(sample: Any) -> Any:
    """The first array of a sample that may be an image: three axes, or four of a batch; None without one."""
    return first_image(shallow(sample) if is_series(sample) else sample)


def first_image(sample: Any) -> Any:
    """The same of lists that are known to end."""
    if arrays.is_either(sample):
        return sample if sample.ndim in (3, 4) else None
    parts = sample.values() if is_dict(sample) else sample if is_series(sample) else ()
    return next((found for part in parts if (found := first_image(part)) is not None), None)


def first_of(sample: Any) -> Any:
    """The first array of a sample; None without one."""
    if arrays.is_either(sample):
        return sample
    parts = sample.values() if is_dict(sample) else sample if is_series(sample) else ()
    return next((found for part in parts if (found := first_of(part)) is not None), None)


def put(sample: Any, x: Any, y: Any) -> Any:
    """A sample of the same structure, with y in place of x."""
    if is_dict(sample):
        return {name: put(part, x, y) for name, part in sample.items()}
    return y if sample is x else type(sample)(put(part, x, y) for part in sample) if is_series(sample) else sample


def each(sample: Any, image: Any, of_image: Callable[[Any], Any], of_mask: Callable[[Any], Any]) -> Any:
    """A sample of the same structure, its image and the masks beside it changed."""
    if sample is image:
        return of_image(sample)
    if is_dict(sample):
        return {name: each(part, image, of_image, of_mask) for name, part in sample.items()}
    if is_series(sample):
        return type(sample)(each(part, image, of_image, of_mask) for part in sample)
    return of_mask(sample) if is_mask(sample, image) else sample


def one_by_one(f: Callable[[Any], Any], sample: Any, images: Image) -> Any:
    """A sample of many images, after f of each."""
    made = [f(each(sample, images, lambda x, k=k: x[k], lambda m, k=k: m[k])) for k in range(len(images))]
    return joined(sample, images, made)


def joined(sample: Any, images: Any, made: list[Any]) -> Any:
    """One sample of many, in which images and masks are stacked and all else is as it was."""
    if is_dict(sample):
        return {name: joined(part, images, [m[name] for m in made]) for name, part in sample.items()}
    if is_series(sample):
        return type(sample)(joined(part, images, [m[k] for m in made]) for k, part in enumerate(sample))
    return np.stack(made) if made and (sample is images or is_mask(sample, images)) else sample


def is_mask(x: Any, image: Image) -> bool:
    """Whether an array says something of every pixel of an image."""
    if not arrays.is_either(x) or is_array(x) != is_array(image):
        return False
    fits = x.ndim == image.ndim - 1 and tuple(x.shape) == (*image.shape[:-3], *image.shape[-2:])
    return fits and not arrays.is_float(x)


class Compose(RandomTransform, OfFile):
    """Transforms one behind the other, `[t, u]` or any functions of samples: those that take two get the generator.

    Samples are of any shape and dtype that they take. Raises ArgumentError for `transforms` that are no functions.

    >>> T = data.transforms
    >>> t = T.Compose([T.RandomCrop(2), T.RandomHorizontalFlip(), T.ToFloat()])
    >>> t(np.zeros((3, 4, 4), np.uint8), np.random.default_rng(0)).shape
    (3, 2, 2)
    """

    @speaks
    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = [function(t, "every transform of Compose")
                           for t in sequence(transforms, "transforms of Compose", "a list of functions")]

    def __call__(self, sample: Any, rng: np.random.Generator | None = None) -> Any:
        """What the last transform makes of the sample."""
        for t in self.transforms:
            sample = called(t, sample, rng)
        return sample

    def is_of_images(self) -> bool:
        """Where all transforms are."""
        return type(self).__call__ is Compose.__call__ and all(
            t.is_of_images() if isinstance(t, Compose) else is_of_images(t) for t in self.transforms)

    def of_file(self, file: Picture, rng: Callable[[], np.random.Generator]) -> Any:
        """The same of a picture, of which is decoded what the first transform looks at."""
        if not self.transforms or type(self).__call__ is not Compose.__call__:
            return called(self, file.whole(), rng())
        first, *others = self.transforms
        numbers = rng()
        sample = first.of_file(file, lambda: numbers) if isinstance(first, OfFile) else called(
            first, file.whole(), numbers)
        return Compose(others)(sample, numbers)


class RandomApply(RandomTransform):
    """All of some `transforms`, or none of them: with the probability `p` the sample goes through each.

    For images of NumPy of any shape (C, H, W) and dtype; a tensor goes through all, each image of it or not, so that
    its shape has to stay. Raises ArgumentError for what are no functions, ShapeError for a p that is none.

    >>> T = data.transforms
    >>> t = T.RandomApply([T.Grayscale(3)], p=0.0)
    >>> t(np.arange(3, dtype=np.uint8).reshape(3, 1, 1), np.random.default_rng(0)).tolist()
    [[[0]], [[1]], [[2]]]
    """

    @speaks
    def __init__(self, transforms: Sequence[Callable[..., Any]], p: float = 0.5) -> None:
        self.transforms = Compose(transforms).transforms
        self.p = number(p, "p of RandomApply", 0, 1)

    def __call__(self, sample: Any, rng: np.random.Generator | None = None) -> Any:
        """The sample, changed or not."""
        image = image_of(sample)
        if is_array(image) and image.ndim == 4:
            return one_by_one(lambda one: self(one, rng), sample, image)
        if not isinstance(image, st.Tensor):
            return Compose(self.transforms)(sample, rng) if of_one(self, rng).coin(self.p) else sample
        chance = OfBatch(image.shape[0] if image.ndim == 4 else 1).coin(self.p)
        return chosen(chance if image.ndim == 4 else chance[0], Compose(self.transforms)(sample), sample)


class RandomChoice(RandomTransform):
    """One of some `transforms`, drawn by the weights `p`, which need not add to 1, or each as often as the others.

    For images of NumPy of any shape (C, H, W) and dtype; a tensor goes through all, each image of it comes from one, so
    that they have to give one shape. Raises ArgumentError for what are no functions, ShapeError for weights that are
    none.

    >>> T = data.transforms
    >>> t = T.RandomChoice([T.RandomInvert(1.0), T.Grayscale(3)], p=[1, 0])
    >>> t(np.full((3, 1, 1), 55, np.uint8), np.random.default_rng(0)).tolist()
    [[[200]], [[200]], [[200]]]
    """

    @speaks
    def __init__(self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None) -> None:
        self.transforms = Compose(transforms).transforms
        if not self.transforms:
            raise ArgumentError("RandomChoice takes at least one transform, got none")
        self.p = numbers([1] * len(self.transforms) if p is None else p, "p of RandomChoice", len(self.transforms))
        if min(self.p) < 0 or not 0 < sum(self.p) < float("inf"):
            raise ShapeError(f"p of RandomChoice are weights from 0 on, not all of them 0, got {p!r:.60}")

    def __call__(self, sample: Any, rng: np.random.Generator | None = None) -> Any:
        """What one of the transforms makes of the sample."""
        image, ends = image_of(sample), (np.cumsum(self.p) / sum(self.p)).tolist()
        if is_array(image) and image.ndim == 4:
            return one_by_one(lambda one: self(one, rng), sample, image)
        if not isinstance(image, st.Tensor):
            k = bisect_right(ends[:-1], of_one(self, rng).uniform(0, 1))
            return called(self.transforms[k], sample, rng)
        share = OfBatch(image.shape[0] if image.ndim == 4 else 1).uniform(0, 1)
        share = share if image.ndim == 4 else share[0]
        *others, made = (called(t, sample, rng) for t in self.transforms)
        for end, other in zip(ends[-2::-1], reversed(others)):
            made = chosen(share < end, other, made)
        return made


def chosen(chance: Any, then: Any, otherwise: Any) -> Any:
    """Sample by sample of a batch, the one or the other."""
    if is_dict(then):
        return {name: chosen(chance, then[name], otherwise[name]) for name in then}
    if is_series(then):
        return type(then)(chosen(chance, a, b) for a, b in zip(then, otherwise))
    if then is otherwise or not isinstance(then, st.Tensor):
        return then
    return st.where(chance.reshape(*chance.shape, *(1,) * (then.ndim - chance.ndim)), then, otherwise)


def called(t: Callable[..., Any], sample: Any, rng: Any) -> Any:
    """What a function makes of a sample, with a generator if it takes one."""
    return t(sample, rng) if takes_rng(t) else t(sample)


def takes_rng(t: Callable[..., Any]) -> bool:
    """Whether a function of samples wants a generator beside them."""
    return isinstance(t, RandomTransform) or (not isinstance(t, Transform) and is_random(t))
