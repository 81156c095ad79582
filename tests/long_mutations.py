"""Damaged and hostile files of every format that Stele reads: `python -m tests.long_mutations N`.

N mutations of each format are read in child processes that have a gigabyte more than they start with, and five seconds
of CPU for each. Found are: signals, hangs, memory beyond the gigabyte, exceptions that do not teach (no SteleError),
and damage that goes unnoticed where a digest stands in the file. A finding is a format and a number, which make the
same file again: `--format png --first 7 1`.
"""
from __future__ import annotations

import argparse
import gzip
import io
import itertools
import json
import lzma
import os
import pickle
import random
import resource
import struct
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import stele as st
from stele import nn
from stele.backend.cpu.cache import Cache, digest
from stele.call.loaded import Loaded
from stele.data import Vocabulary, imdb, read_idx, read_vectors
from stele.data.cifar import _read_binary, _read_python
from stele.data.download import unpack
from stele.data.files import read_npz
from stele.data.images import load_image
from stele.data.labelled import news, reviews
from stele.data.matlab import read_mat
from stele.data.pickles import read_pickle
from stele.data.uci import people
from stele.errors import SteleError
from stele.interop import caffe, huggingface
from stele.ir.text import parse
from stele.ops import ALL
from stele.saving import DIGEST, TREE, pack, read
from stele.saving import digest as seal
from stele.train import runs
from stele.train.recipes import recipe_of
from tests import caffe_nets
from tests.caffe_nets import OLD_NET
from tests.formats import NET, binary_batch, chunk, idx, mat, matrix, packed, pictures, python_batch, riff, wav_form
from tests.huggingface import KEPT, write
from tests.keras_models import KEPT as KERAS
from tests.patience import Late, limited, patience

ROOT = Path(__file__).resolve().parents[1]
SECONDS, IDLE, MEMORY = 5, 30, 1 << 30
BATCH = 2500                    # mutations that one child reads
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1)
KEY = digest("a program")


@dataclass(frozen=True)
class Format:
    """How a good file is made, what is done to mutated bytes before they are written (they are packed, or get the sums
    right that would stop a reader early), and how a file is read. `takes_first` is said of those whose library takes
    the memory that a file claims before it looks whether it is so: a MemoryError is no finding there.
    """

    make: Callable[[], bytes]
    read: Callable[[Path], object]
    seal: Callable[[bytes], bytes] = bytes
    takes_first: bool = False


def picture(kind: str, mode: str = "RGB", **options: object) -> Callable[[], bytes]:
    def make() -> bytes:
        out = io.BytesIO()
        x = np.arange(60 * 40 * 3, dtype=np.uint32).astype(np.uint8).reshape(40, 60, 3)
        Image.fromarray(x).convert(mode).save(out, kind, **options)
        return out.getvalue()
    return make


def archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.PAX_FORMAT) as tar:
        for name, content in ("a/b.txt", b"text"), ("é" * 120, b"x" * 600):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()[:8192]


def summed_tar(content: bytes) -> bytes:
    """The archive with the sum of each head put right, packed."""
    blocks = bytearray(content)
    for at in range(0, len(blocks) - 511, 512):
        if blocks[at + 257:at + 262] == b"ustar":
            blocks[at + 148:at + 156] = b" " * 8
            blocks[at + 148:at + 156] = b"%06o\0 " % sum(blocks[at:at + 512])
    return gzip.compress(bytes(blocks), 1)


def summed_png(content: bytes) -> bytes:
    """The image with the sum of each chunk put right."""
    found, at = bytearray(content), 8
    while at + 12 <= len(found):
        length, = struct.unpack_from(">I", found, at)
        if at + 12 + length > len(found):
            break
        struct.pack_into(">I", found, at + 8 + length, zlib.crc32(found[at + 4:at + 8 + length]))
        at += 12 + length
    return bytes(found)


def checkpoint() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        st.save({"step": 3, "w": np.arange(6.0).reshape(2, 3), "rest": [1, (2.5, "x"), None]}, f"{folder}/s")
        return Path(folder, "s").read_bytes()


def load_checkpoint(path: Path) -> None:
    """Damage is found, or does not matter."""
    state = st.load(path)
    if "step" in state:
        same = state["step"] == 3 and state["rest"] == [1, (2.5, "x"), None] and \
            np.array_equal(state["w"].numpy(), np.arange(6.0).reshape(2, 3))
        assert same, "damage went unnoticed"


@cache
def program() -> tuple[dict[str, np.ndarray], str | None]:
    """The arrays and the tree of a saved program, whose step reads, draws and rebinds."""
    w = st.tensor([[0.5, -1.0], [2.0, 0.0]], requires_grad=True)

    @st.compile(dims={"x": {0: "n"}})
    def step(x: st.Tensor, *, twice: bool) -> dict[str, st.Tensor]:
        w.assign(w + st.rand(2, 2))
        return {"y": st.fori_loop(0, 3, lambda k, y: st.tanh(y @ w)[:, ::-1] + k, x)[:1]}

    step(st.ones(3, 2), twice=True)
    with tempfile.TemporaryDirectory() as folder:
        st.save(step, f"{folder}/s")
        return read(f"{folder}/s")


def resealed(tree: bytes) -> bytes:
    """A file with this tree, whose digests are right, those of its graphs too."""
    arrays, text = program()[0], tree.decode("utf-8", "replace")
    with suppress(Exception):
        data = json.loads(text)
        for record in data["$program"]["programs"]:
            record["digest"] = parse(record["graph"], ALL).digest
        text = json.dumps(data)
    return b"".join(pack(arrays, {TREE: text, DIGEST: seal(arrays, text)}))


def run_program(path: Path) -> None:
    """What is still a program runs."""
    found = st.load(path)
    if isinstance(found, Loaded):
        found(np.ones((3, 2), np.float32), twice=True)


def safetensors() -> bytes:
    from safetensors.numpy import save
    return save({"a": np.arange(6, dtype=np.float32), "b.c": np.zeros((2, 0, 3), np.int64)})


def entry() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Cache(Path(folder), 1 << 20).put(KEY, b"machine code" * 20)
        return Path(folder, KEY).read_bytes()


def read_entry(path: Path) -> None:
    path.chmod(0o600)
    path.rename(path.with_name(KEY))
    found = Cache(path.parent, 1 << 20).get(KEY)
    assert found in (None, b"machine code" * 20), "damage went unnoticed"


def read_reviews(path: Path) -> None:
    root = path.with_name("aclImdb")
    for part, sign in itertools.product(("train", "test"), ("neg", "pos")):
        (root / part / sign).mkdir(parents=True, exist_ok=True)
        (root / part / sign / "0_1.txt").write_bytes(path.read_bytes())
    imdb(root)


def read_archive(path: Path) -> None:
    path.with_name("file.unpacked").unlink(missing_ok=True)
    unpack(path, path.with_name("to"))


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/b.txt", b"text" * 30)
        file.writestr("é", b"x" * 600)
    return out.getvalue()


def read_zip(path: Path) -> None:
    path.with_name("file.zip.unpacked").unlink(missing_ok=True)
    unpack(path.replace(path.with_name("file.zip")), path.with_name("to"))


def vocabulary(path: Path) -> None:
    Vocabulary.load(path.replace(path.with_name("file.json")))


def video() -> bytes:
    """A film of three pictures."""
    import av

    out = io.BytesIO()
    with av.open(out, "w", format="matroska") as container:
        stream = container.add_stream("mpeg4", rate=4)
        stream.width, stream.height = 32, 16
        for k in range(3):
            frame = av.VideoFrame.from_ndarray(np.full((16, 32, 3), 60 * k, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def network() -> bytes:
    """A model of ONNX, with weights, a branch and a function of its own."""
    return import_module("onnx").parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "own": 1]>
        g (float[n, 2] x, bool t) => (float[n, 3] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> {
            a = MatMul(x, w)
            b = If(t) <then_branch = one () => (float[n, 3] c) {c = Relu(a)}, else_branch = other () => (float[n, 3] d)
                {d = own.twice(a)}>
            y = Softmax<axis = 1>(b)
        }
        <domain: "own", opset_import: ["": 17]> twice (x) => (y) {y = Add(x, x)}""").SerializeToString()


def held(file: str) -> bytes:
    """A file of a folder of Hugging Face's."""
    with tempfile.TemporaryDirectory() as folder:
        return (write(Path(folder), GPT2) / file).read_bytes()


def read_folder(file: str, path: Path) -> None:
    """The model of such a folder, with this in the place of one of its files."""
    folder = path.with_name("model")
    path.replace(write(folder, GPT2) / file)
    huggingface.load(folder)


def llama() -> bytes:
    """A model in the format of llama2.c."""
    sizes = 8, 8, 1, 2, 1, 3, 4
    count = 3 * 8 + 8 + 8 * 8 * 2 + 4 * 8 * 2 + 8 + 3 * 8 * 8 + 8 + 2 * 4 * 2
    return struct.pack("<7i", *sizes) + bytes(4 * count)


@cache
def model_of_keras() -> bytes:
    """A file that Keras wrote."""
    with zipfile.ZipFile(KERAS) as file:
        return file.read("cnn-last.keras")


@cache
def whole_model_of_keras() -> bytes:
    """A model that Keras wrote as one HDF5 file."""
    with zipfile.ZipFile(KERAS) as file:
        return file.read("frozen-within.h5")


def keras_member(name: str) -> bytes:
    """A member of that file."""
    with zipfile.ZipFile(io.BytesIO(model_of_keras())) as file:
        return file.read(name)


def keras_sealed(name: str, content: bytes) -> bytes:
    """That file with another member, whose sums are right."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for other in ("config.json", "model.weights.h5"):
            file.writestr(other, content if other == name else keras_member(other))
    return out.getvalue()


def caffe_net(ending: str) -> bytes:
    """A file of a net of Caffe, with a layer of many kinds."""
    with tempfile.TemporaryDirectory() as folder:
        return next(path for path in caffe_nets.write(Path(folder), "net") if path.suffix == ending).read_bytes()


def read_caffe(ending: str, path: Path) -> None:
    """A net of which one file is this: loaded, and applied as far as shapes go."""
    caffe_nets.write(path.parent, "net")
    net = caffe.load(*(path if e == ending else path.parent / f"net{e}" for e in (".prototxt", ".caffemodel")))
    net(*(caffe_nets.given() for _ in net.net.inputs))


def hdf5_table() -> bytes:
    """Columns of numbers, packed ones, and texts of two kinds."""
    h5py, out = import_module("h5py"), io.BytesIO()
    with h5py.File(out, "w") as file:
        file["a"] = np.arange(6.0)
        file["g/b"] = np.arange(12).reshape(6, 2)
        file["s"] = ["a", "né", "", "c", "d", "e"]
        file["fixed"] = np.array([b"ab", b"c", b"", b"d", b"e", b"f"])
        file.create_dataset("packed", data=np.ones((6, 50), "f4"), compression="gzip", shuffle=True)
    return out.getvalue()


def arrow_table(write: str) -> bytes:
    """Columns of Arrow: numbers, some missing, texts, lists."""
    table = import_module("pyarrow").table({
        "a": [1.0, None, 3.0], "b": [1, 2, 3], "s": ["a", "né", None], "l": [[1, 2], [3, 4], [5, 6]]})
    out, (module, name) = io.BytesIO(), write.rsplit(".", 1)
    getattr(import_module(module), name)(table, out)
    return out.getvalue()


def read_table(ending: str, path: Path) -> None:
    """A table, all its columns."""
    st.data.table(path.replace(path.with_suffix(ending)))


def saved(save: Callable[..., None], **options: object) -> bytes:
    """Arrays as NumPy saves them."""
    out = io.BytesIO()
    save(out, np.arange(6, dtype=np.float32).reshape(2, 3), **options)
    return out.getvalue()


def flax_tree() -> bytes:
    """A tree of arrays and numbers, one of them in pieces."""
    msgpack = import_module("msgpack")
    array = msgpack.ExtType(1, msgpack.packb([(2, 3), "float32", bytes(24)]))
    pieces = {"__msgpack_chunked_array__": True, "shape": {"0": 6}, "chunks": {"0": array}}
    return msgpack.packb({"params": {"dense": {"kernel": array, "bias": pieces}}, "step": 3})


class Learned(nn.Module):
    """Layers of which Flax keeps gates, heads and statistics apart, and one of several axes."""

    def __init__(self) -> None:
        self.dense, self.norm = nn.Linear(2, 3), nn.BatchNorm1d(3)
        self.attention, self.cell = nn.MultiheadAttention(2, 2), nn.LSTMCell(1, 2)


def flax_learned() -> bytes:
    """Such a tree, of nnx, in which gates of cells stand alone, and some numbers are in pieces."""
    msgpack = import_module("msgpack")

    def packed(x: Any) -> Any:
        if isinstance(x, dict):
            return {str(key): packed(part) for key, part in x.items()}
        return msgpack.ExtType(1, msgpack.packb((x.shape, x.dtype.name, x.tobytes())))

    tree = import_module("stele.interop.flax").to_flax(Learned(), "nnx")
    cell = tree["cell"]
    for gate, name in zip("ifgo", ("ii", "if_", "ig", "io")):
        cell[name], cell[f"h{gate}"] = ({"kernel": np.ones((n, 2), np.float32)} for n in (1, 2))
        cell[f"h{gate}"]["bias"] = np.ones(2, np.float32)
    del cell["dense_i"], cell["dense_h"]
    return msgpack.packb(packed(tree))


def read_flax(path: Path) -> None:
    """A tree in a module, and what it is there."""
    flax = import_module("stele.interop.flax")
    flax.to_flax(flax.from_flax(Learned(), flax.read(path)))


def tokens() -> bytes:
    """A tokenizer of few words."""
    return st.data.Tokenizer.train(["a few words", "and more of them"], 60).inner.to_str().encode()


def read_tokenizer(path: Path) -> None:
    tokenizer = st.data.Tokenizer(path)
    tokenizer.decode(tokenizer.encode("a few more words"))


def read_run(path: Path) -> None:
    """A folder with one run, as a table and as a page."""
    path.replace(path.with_name("history.json"))
    runs.compared(path.parent), runs.comparison(path.parent)


def read_configuration(path: Path) -> None:
    """A trainer of a configuration, whose data lie beside it."""
    rows = np.arange(80, dtype=np.float32).reshape(40, 2)
    np.savez(path.with_name("points.npz"), x=rows, y=np.arange(40) % 2)
    text = path.read_bytes().replace(b"points.npz", str(path.with_name("points.npz")).encode())
    where = path.with_name("net.toml")
    where.write_bytes(text)
    recipe_of(where).trainer()


GPT2 = json.loads(KEPT.read_text())["gpt2"]
PERSON = "39, Private, 77516, Masters, 13, Divorced, Sales, Own, White, Male, 0, 0, 4, Peru"
MATRIX = matrix("X", pictures(2)[0][:, :, :4, :4], 9, 2)
HISTORY = json.dumps({"state": "done", "meta": {"workload": "cnn", "lr": 0.1, "started": "2026-01-01 12:00:00"},
                      "epochs": [{"epoch": 1, "train_loss": 0.5, "valid_loss": 0.6, "valid_accuracy": 0.8}],
                      "steps": {"epoch": [0.5, 1.0], "loss": [0.7, 0.5]}})
SOUND = chunk(b"LIST", b"odd") + wav_form(more=b"\0\0") + chunk(b"data", bytes(range(60)))
PLAIN = {"data": np.arange(6, dtype=np.uint8).reshape(2, 3), b"a": [1, -70_000, 1 << 40, 2.5, None, ("x", (True,))]}
GREY = pictures(3)[0][:, 0, :12, :12]
images = lambda path: read_idx(path, 3)

# fmt: off
FORMATS = {
    "idx":             Format(lambda: idx(GREY), images),
    "idx.gz":          Format(lambda: gzip.compress(idx(GREY)), images),
    "idx in gz":       Format(lambda: idx(GREY), images, lambda content: gzip.compress(content, 1)),
    "idx.xz":          Format(lambda: lzma.compress(idx(GREY)), images),
    "labels":          Format(lambda: idx(np.arange(10)), lambda path: read_idx(path, 1)),
    "cifar binary":    Format(lambda: binary_batch(*pictures(2)), _read_binary),
    "cifar pickle":    Format(lambda: python_batch(*pictures(2)), _read_python),
    "pickle":          Format(lambda: pickle.dumps(PLAIN, 4), read_pickle),
    "pickle, old":     Format(lambda: pickle.dumps(PLAIN, 2), read_pickle),
    "reviews":         Format(lambda: "It's GREAT! 10/10, na\u00efve <br /> end".encode(), read_reviews),
    "tar.gz":          Format(lambda: gzip.compress(archive()), read_archive),
    "tar in gz":       Format(archive, read_archive, summed_tar),
    "zip":             Format(zipped, read_zip),
    "mat":             Format(lambda: mat(MATRIX), read_mat),
    "mat, packed":     Format(lambda: mat(packed(MATRIX)), read_mat),
    "wav":             Format(lambda: riff(SOUND), st.io.read_audio),
    "wav, floats":     Format(lambda: riff(wav_form(3, bits=32), chunk(b"data", bytes(40))), st.io.read_audio),
    "vectors":         Format(lambda: "film 0.5 -1e3\nnaïve 1 2\n".encode(), read_vectors),
    "vocabulary":      Format(lambda: b'{"words": ["a", "b"], "unknown": null}', vocabulary),
    "table":           Format(lambda: "x,y,né\n1,2.5,a\nNA,-3e4,\"b, c\"\n".encode(), partial(read_table, ".csv")),
    "news":            Format(lambda: b'"1","a","b, ""c"""\n"2","d","e"\n', news),
    "phrases":         Format(lambda: b"sentence\tlabel\na fine film \t1\n", reviews),
    "people":          Format(lambda: f"{PERSON}, >50K.\n".encode(), people),
    "hugging face":    Format(lambda: held("config.json"), partial(read_folder, "config.json")),
    "and its weights": Format(lambda: held("model.safetensors"), partial(read_folder, "model.safetensors")),
    "caffe":           Format(lambda: caffe_net(".prototxt"), partial(read_caffe, ".prototxt")),
    "caffe weights":   Format(lambda: caffe_net(".caffemodel"), partial(read_caffe, ".caffemodel")),
    "caffe, old":      Format(lambda: OLD_NET.encode(), partial(read_caffe, ".prototxt")),
    "llama2.c":        Format(llama, huggingface.load),
    "pieces":          Format(lambda: b"\2\0\0\0\0\0\0\0\1\0\0\0a\0\0\0\1\2\0\0\0ab", huggingface.Pieces),
    "npz":             Format(lambda: saved(np.savez, b=np.arange(3)), read_npz),
    "npy":             Format(lambda: saved(np.save), read_npz),
    "history":         Format(lambda: HISTORY.encode(), read_run),
    "configuration":   Format(lambda: NET.encode(), read_configuration),
    "safetensors":     Format(safetensors, lambda path: st.load(path)),
    "checkpoint":      Format(checkpoint, load_checkpoint),
    "program":         Format(lambda: str(program()[1]).encode(), run_program, resealed),
    "cache entry":     Format(entry, read_entry),
    "jpeg":            Format(picture("JPEG"), load_image),
    "jpeg, in passes": Format(picture("JPEG", progressive=True), load_image),
    "png":             Format(picture("PNG"), load_image),
    "png, sums right": Format(picture("PNG", "P"), load_image, summed_png),
    "webp":            Format(picture("WEBP"), load_image),
    "webp, lossless":  Format(picture("WEBP", lossless=True), load_image),
    "bmp":             Format(picture("BMP"), load_image),
    "gif":             Format(picture("GIF"), load_image),
}
# fmt: on
if find_spec("onnx"):
    FORMATS["onnx"] = Format(network, lambda path: import_module("stele.interop.onnx").load(path))
    FORMATS["onnx, drawn"] = Format(network, lambda path: import_module("stele.inspect.view.onnx").drawing(path))
if find_spec("h5py"):
    load_keras = lambda path: import_module("stele.interop.keras").load(path)
    FORMATS["keras"] = Format(model_of_keras, load_keras)
    FORMATS["keras, one HDF5"] = Format(whole_model_of_keras, load_keras)
    for member, title in (("config.json", "keras, its layers"), ("model.weights.h5", "keras, its HDF5")):
        FORMATS[title] = Format(partial(keras_member, member), load_keras, partial(keras_sealed, member))
    FORMATS["table of HDF5"] = Format(hdf5_table, partial(read_table, ".h5"))
if find_spec("msgpack"):
    FORMATS["flax"] = Format(flax_tree, lambda path: import_module("stele.interop.flax").read(path))
    FORMATS["flax, taken over"] = Format(flax_learned, read_flax)
if find_spec("tokenizers"):
    FORMATS["tokenizer"] = Format(tokens, read_tokenizer)
if find_spec("pyarrow"):
    FORMATS["parquet"] = Format(partial(arrow_table, "pyarrow.parquet.write_table"), partial(read_table, ".parquet"))
    FORMATS["feather"] = Format(partial(arrow_table, "pyarrow.feather.write_feather"), partial(read_table, ".feather"),
                                takes_first=True)
if find_spec("av"):
    FORMATS["video"] = Format(video, st.io.read_video)


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The content with one to four changes, near its head as often as anywhere."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4))):
        size = min(len(found), draw.choice((16, 64, 512, len(found) or 1)))
        at, length = draw.randrange(size + 1), draw.choice((1, 2, 4, 8, 30))
        match draw.randrange(8):
            case 0 if at < len(found): found[at] ^= 1 << draw.randrange(8)
            case 1 if at < len(found): found[at] = draw.randrange(256)
            case 2 if at < len(found): del found[at:at + length]
            case 3: found[at:at] = draw.randbytes(length)
            case 4: found[at:at] = found[at:at + draw.randrange(100)] * draw.choice((1, 2, 30))
            case 5: del found[draw.randrange(len(found) + 1):]
            case 6:
                width, order = draw.choice((1, 2, 4, 8)), draw.choice(("little", "big"))
                found[at:at + width] = (draw.choice(NUMBERS) & (1 << 8 * width) - 1).to_bytes(width, order)
            case _:
                other = draw.randrange(len(found) + 1)
                found[at:at + length] = found[other:other + length]
    return bytes(found)


def finding(name: str, number: int, good: bytes, folder: Path) -> str | None:
    """What is wrong with how one mutation is read, or None."""
    path, form = folder / "file", FORMATS[name]
    path.write_bytes(form.seal(mutated(good, random.Random(f"{name} {number}"))))
    try:
        with limited(SECONDS, IDLE):
            form.read(path)
    except SteleError:
        return None
    except Late as error:
        return str(error)
    except MemoryError:
        return None if form.takes_first else f"took more than {MEMORY:,} bytes"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def child(names: Sequence[str], numbers: Sequence[int]) -> None:
    """Says each number before the file is read, and what was found behind it; good files have to be read first."""
    warnings.simplefilter("ignore")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)
    for name in names:
        good = FORMATS[name].make()
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "file"
            path.write_bytes(FORMATS[name].seal(good))
            FORMATS[name].read(path)
        with tempfile.TemporaryDirectory() as scratch:
            for number in numbers:
                os.write(1, f"{number}\n".encode())
                if found := finding(name, number, good, Path(scratch)):
                    os.write(1, f"{number} {name}: {found!r:.200}\n".encode())


def check(name: str, first: int, count: int) -> Iterator[str]:
    """The findings among so many mutations of a format, or of several (`png;gif`) in one child; a child that dies says
    what it read last.
    """
    end = first + count
    while first < end:
        numbers = str(first), str(min(end, first + BATCH))
        command = [sys.executable, "-m", "tests.long_mutations", "--child", name, *numbers]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "STELE_THREADS": "1"}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with patience(60 + BATCH * SECONDS // 10, process.kill):
            output, errors = process.communicate()
        lines = output.decode().splitlines()
        yield from (line for line in lines if " " in line)
        if process.returncode or not lines:
            yield f"{name} {lines[-1:]} ended with {process.returncode} {errors.decode()[-300:]}"
        first = int(lines[-1].split()[0]) + 1 if lines else end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many of each format")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--format", choices=FORMATS, metavar="NAME", help=f"one alone of {'; '.join(FORMATS)}")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, first, end = options.child
        child(name.split(";"), range(int(first), int(end)))
        return 0
    bad = 0
    for name in [options.format] if options.format else FORMATS:
        found = list(check(name, options.first, options.count))
        print(f"{name:16} {options.count:,} mutations, {len(found)} findings", *found[:20], sep="\n    ", flush=True)
        bad += len(found)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
