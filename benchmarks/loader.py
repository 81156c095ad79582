"""Times loading beside PyTorch's DataLoader and tf.data: `python benchmarks/loader.py [images|text] [--workers 2]`.

The others are timed where the Python that runs this has them. Each loads in a process of its own, by turns; what counts
are samples in a second, of whole epochs behind the first: with `--alone` in a second that processors worked for it and
its workers, whatever others do on the machine. Images: JPEGs of a folder, 500 x 375, read, decoded, cut to
224 x 224 at random, flipped, normalised, in batches of 64 float32. Text: lines in memory, in lower case, cut into
words, numbered, padded in batches of 64. Orders are shuffled.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

BATCH, SIDE, IMAGES, LINES = 64, 224, 512, 16384
MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
NAMES = {"stele": "stele", "stele, processes": "stele", "pytorch": "torch", "tensorflow": "tensorflow"}
Epochs = Callable[[int], Iterable[Any]]     # the batches of an epoch


def write_images(folder: Path) -> None:
    """Photographs of nothing: soft shapes and some noise, of the sizes that photographs have as JPEGs."""
    from PIL import Image
    rng = np.random.default_rng(0)
    for k in range(IMAGES):
        place = folder / f"class{k % 8}"
        place.mkdir(exist_ok=True)
        soft = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8)).resize((500, 375), Image.Resampling.BICUBIC)
        noise = rng.normal(0, 12, (375, 500, 3))
        pixels = np.clip(np.asarray(soft) + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(place / f"{k}.jpg", quality=90)


def lines() -> list[str]:
    """Lines of 10 to 200 words."""
    rng = np.random.default_rng(0)
    words = np.array([f"Word{k}" for k in range(5000)])
    return [" ".join(words[rng.integers(0, len(words), n)]) for n in rng.integers(10, 200, LINES)]


def vocabulary() -> dict[str, int]:
    return {f"word{k}": k + 1 for k in range(5000)}


def stele_images(folder: Path, workers: int, processes: bool) -> Epochs:
    from stele import data
    from stele.data import transforms

    change = transforms.Compose([transforms.RandomCrop(SIDE), transforms.RandomHorizontalFlip(),
                                 transforms.Normalize(MEAN.tolist(), STD.tolist())])
    loader = data.Loader(data.ImageFolder(folder, transform=change), BATCH, shuffle=True, num_workers=workers,
                         processes=processes)
    return loader.batches


def stele_text(workers: int, processes: bool) -> Epochs:
    from stele import data
    known = vocabulary()

    def numbers(line: str) -> list[int]:
        return [known[word] for word in line.lower().split()]

    loader = data.Loader(lines(), BATCH, shuffle=True, transform=numbers, collate=data.pad, num_workers=workers,
                         processes=processes)
    return loader.batches


def torch_images(folder: Path, workers: int) -> Epochs:
    """As torchvision does it: Pillow's image is cut and flipped, then becomes a tensor in 0..1, then normal."""
    import torch
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset

    mean, std = torch.tensor(MEAN)[:, None, None], torch.tensor(STD)[:, None, None]

    class Photographs(Dataset[Any]):
        def __init__(self) -> None:
            self.paths = sorted(folder.glob("*/*.jpg"))

        def __len__(self) -> int: return len(self.paths)

        def __getitem__(self, k: int) -> Any:
            with Image.open(self.paths[k]) as file:
                image = file.convert("RGB")
            left = int(torch.randint(image.width - SIDE, (1,)))
            top = int(torch.randint(image.height - SIDE, (1,)))
            cut = image.crop((left, top, left + SIDE, top + SIDE))
            if torch.rand(1) < 0.5:
                cut = cut.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            x = torch.from_numpy(np.array(cut)).permute(2, 0, 1).contiguous().to(torch.float32).div(255)
            return x.sub_(mean).div_(std), int(self.paths[k].parent.name[5:])

    loader = DataLoader(Photographs(), BATCH, shuffle=True, num_workers=workers, persistent_workers=True)
    return lambda epoch: loader


def torch_text(workers: int) -> Epochs:
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from torch.utils.data import DataLoader, Dataset

    known, texts = vocabulary(), lines()

    class Texts(Dataset[Any]):
        def __len__(self) -> int: return len(texts)
        def __getitem__(self, k: int) -> Any: return torch.tensor([known[w] for w in texts[k].lower().split()])

    def collate(samples: list[Any]) -> Any:
        return pad_sequence(samples, batch_first=True), torch.tensor([len(s) for s in samples])

    loader = DataLoader(Texts(), BATCH, shuffle=True, num_workers=workers, persistent_workers=True, collate_fn=collate)
    return lambda epoch: loader


def tensorflow_images(folder: Path, workers: int) -> Epochs:
    """As its guides do it: only what is cut out is decoded."""
    import tensorflow as tf

    def photograph(path: Any) -> Any:
        content = tf.io.read_file(path)
        shape = tf.image.extract_jpeg_shape(content)
        top = tf.random.uniform((), 0, shape[0] - SIDE, tf.int32)
        left = tf.random.uniform((), 0, shape[1] - SIDE, tf.int32)
        image = tf.image.decode_and_crop_jpeg(content, [top, left, SIDE, SIDE], channels=3)
        image = tf.image.random_flip_left_right(image)
        return (tf.cast(image, tf.float32) / 255 - MEAN) / STD, tf.strings.length(path)

    made = tf.data.Dataset.from_tensor_slices(sorted(map(str, folder.glob("*/*.jpg")))).shuffle(IMAGES)
    made = made.map(photograph, num_parallel_calls=workers).batch(BATCH).prefetch(4)
    return lambda epoch: made.as_numpy_iterator()


def tensorflow_text(workers: int) -> Epochs:
    import tensorflow as tf
    known = vocabulary()
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
        list(known), tf.constant(list(known.values()), tf.int64)), 0)

    def numbers(line: Any) -> Any:
        found = table.lookup(tf.strings.split(tf.strings.lower(line)))
        return found, tf.shape(found)[0]

    made = tf.data.Dataset.from_tensor_slices(lines()).shuffle(LINES)
    made = made.map(numbers, num_parallel_calls=workers).padded_batch(BATCH).prefetch(4)
    return lambda epoch: made.as_numpy_iterator()


def epochs_of(what: str, name: str, folder: Path, workers: int) -> Epochs:
    """What is timed."""
    if NAMES[name] == "stele":
        processes = name != "stele"
        return stele_images(folder, workers, processes) if what == "images" else stele_text(workers, processes)
    make: Any = globals()[f"{NAMES[name]}_{what}"]
    return make(folder, workers) if what == "images" else make(workers)


def worked() -> float:
    """The seconds that processors have worked for this process, its workers and those that have ended."""
    found = sum(os.times()[:4])
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            if int(words[1]) == os.getpid():
                found += sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return found


def child(what: str, name: str, folder: Path, given: argparse.Namespace) -> Iterator[float]:
    """Samples in a second, of each epoch behind the first, for so many seconds."""
    epochs, clock = epochs_of(what, name, folder, given.workers), worked if given.alone else time.perf_counter
    begin = None
    for k in count():
        start, batches = clock(), epochs(k)
        samples = sum(len(batch[0]) for batch in batches)
        if begin is not None:
            yield samples / (clock() - start)
        begin = begin or time.perf_counter()
        if k and time.perf_counter() - begin > given.seconds:
            return


def turn(what: str, name: str, folder: str, given: argparse.Namespace) -> list[float]:
    """One process that loads."""
    done = subprocess.run([sys.executable, __file__, what, "--child", name, "--folder", folder, "--workers",
                           str(given.workers), "--seconds", str(given.seconds), *["--alone"] * given.alone],
                          capture_output=True, text=True,
                          env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"})
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("images", "text"))
    for option, kind, usual in (("--workers", int, 2), ("--seconds", float, 5.0), ("--rounds", int, 3),
                                ("--child", str, None), ("--folder", str, None)):
        parser.add_argument(option, type=kind, default=usual)
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    if given.child:
        print(json.dumps(list(child(given.what, given.child, Path(given.folder), given))))
        return
    with tempfile.TemporaryDirectory() as folder:
        for what in [given.what] if given.what else ["images", "text"]:
            if what == "images":
                write_images(Path(folder))
            speeds: dict[str, list[float]] = {name: [] for name, module in NAMES.items() if find_spec(module)}
            for _ in range(given.rounds):
                for name, found in speeds.items():
                    found += turn(what, name, folder, given)
            second = "second of a processor" if given.alone else "second"
            print(f"{what}, {given.workers} workers: samples in a {second}, median and most")
            for name, found in speeds.items():
                print(f"  {name:<20}{median(found):>10,.0f}{max(found):>10,.0f}")


if __name__ == "__main__":
    main()
