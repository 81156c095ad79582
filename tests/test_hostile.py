"""Files that are made to hang, crash or flood whoever reads them: refused before they cost anything."""
from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from formats import ROOT, mat, matrix, packed, python_batch, reviews

from stele import files, load
from stele.data import Tokenizer, imdb, matlab, pickles, read_idx
from stele.data.download import unpack
from stele.data.files import read_bytes, read_npz
from stele.data.images import load_image
from stele.data.matlab import read_mat
from stele.data.pickles import read_pickle
from stele.errors import DataError, GraphError, ShapeError
from stele.interop.caffe import wire
from stele.interop.caffe.text import parsed
from stele.ir.origin import Origin
from stele.ir.text import parse, parse_where
from stele.ops import ALL


def refused(call: Callable[[], object], message: str, most: int = 4 << 20) -> None:
    """A DataError, for which Python took no more bytes than that."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=message):
            call()
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


PICKLES = {
    "asks for a memory of 2**31 places": (b"N" + b"r\xff\xff\xff\x7f" + b"0.", "instruction b'0'"),
    "doubles a tuple 60 times and hashes it": (b"})" + b"\x94h\x00\x86q\x00" * 60 + b"Ns.", "only text is admitted"),
    "hashes nested tuples": (b"\x80\x02})" + b"\x85" * 200_000 + b"Ns.", "only text is admitted as a key, got tuple"),
    "names nested tuples": (b")" + b"\x85" * 200_000 + b"N\x93.", "names are text"),
    "shows nested tuples": (b"cnumpy\ndtype\n)" + b"\x85" * 200_000 + b"R.", "need dtype uint8, got tuple"),
    "promises text of 2**63 bytes": (b"\x8e" + b"\xff" * 8 + b"abc", "bytes are needed at 9, 3 are left"),
    "promises a frame": (b"\x95" + b"\xff" * 8 + b"N.", "got NoneType"),
    "a number of a million digits": (b"\x8b" + struct.pack("<i", 1 << 20) + b"1" * (1 << 20), "instruction b'.x8b'"),
    "a number of 255 bytes": (b"\x8a\xff" + bytes(255) + b".", "up to 8 bytes are admitted, got 255"),
    "makes bytes over and over": (b"X" + struct.pack("<I", 100_000) + b"a" * 100_000 + b"q\x000" + b"", "b'0'"),
    "encodes over and over": (b"X" + struct.pack("<I", 100_000) + b"a" * 100_000 + b"q\x00X\x06\x00\x00\x00latin1q\x01]"
                              + b"c_codecs\nencode\nh\x00h\x01\x86Ra" * 9 + b".", "over and over"),
    "pops from an empty stack": (b"R.", "2 values are needed on the stack"),
    "takes a mark for a value": (b"(\x85.", "a mark stands where"),
    "looks for a mark that is not there": (b"Nt.", "IndexError"),
    "recalls what was not kept": (b"h\x07.", "nothing is kept as 7"),
    "puts items into a number": (b"K\x01K\x02a.", "items are for lists"),
    "puts pairs into a list": (b"]NNs.", "pairs are for dicts"),
    "calls a number": (b"K\x01)R.", "cannot be called so"),
    "gives a number a state": (b"K\x01)b.", "only arrays and dtypes have a state"),
    "an array of 100 axes": (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\ntR(K\x01(" + b"K\x01" * 100
                             + b"tcnumpy\ndtype\n(U\x02u1tR\x89U\x01atb.", "as its state"),
    "a name without an end": (b"c" + b"x" * 10_000 + b"\n\n.", "ValueError"),
    "runs without an end": (b"N" * 250_001, "instructions are admitted, got more"),
}


@pytest.mark.parametrize("content, message", PICKLES.values(), ids=PICKLES)
def test_hostile_pickles(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p").write_bytes(content)
    monkeypatch.setattr(pickles, "INSTRUCTIONS", 250_000)
    with pytest.raises(DataError, match=message):
        read_pickle(tmp_path / "p")


@pytest.mark.parametrize("protocol", [1, 2, 3, 4])
def test_plain_pickles_of_every_version_are_read(protocol: int, tmp_path: Path) -> None:
    value = {"data": np.arange(6, dtype=np.uint8).reshape(2, 3), "a": [1, -70_000, 1 << 40, 2.5, None, True],
             "t": ("x", ("y", (1, 2, 3, 4))), "long": "é" * 300, b"bytes": "latin"}
    (tmp_path / "p").write_bytes(pickle.dumps(value, protocol))
    if protocol == 1:       # its instructions are others where numbers and names are long
        refused(lambda: read_pickle(tmp_path / "p"), "got instruction")
        return
    found = read_pickle(tmp_path / "p")
    assert np.array_equal(found.pop("data"), value.pop("data"))
    assert found == {k if isinstance(k, str) else k.decode(): v for k, v in value.items()}


def bomb(path: Path, packed: bytes) -> Path:
    path.write_bytes(packed)
    return path


def test_bombs_stop_at_the_bound(tmp_path: Path) -> None:
    zeros = bytes(20 << 20)
    for k, pack in enumerate((gzip.compress, lzma.compress, bytes)):
        path = bomb(tmp_path / str(k), pack(zeros))
        refused(lambda path=path: read_bytes(path, 1000), "at most 1000 bytes", 16 << 20)


def test_xz_may_not_ask_for_gigabytes(tmp_path: Path) -> None:
    packed = bytearray(lzma.compress(bytes(1000)))
    block = packed[12:12 + 4 * (packed[12] + 1)]
    at = 12 + block.index(b"\x21\x01") + 2
    packed[at] = 40         # a dictionary of 4 GiB - 1
    packed[12 + len(block) - 4:12 + len(block)] = struct.pack("<I", zlib.crc32(packed[12:12 + len(block) - 4]))
    refused(lambda: read_bytes(bomb(tmp_path / "x", bytes(packed))), "unpacking needs a whole file.*[Mm]emory")


def test_xz_of_several_streams_is_read_whole(tmp_path: Path) -> None:
    streams = lzma.compress(b"one") + bytes(8) + lzma.compress(b"two")
    assert read_bytes(bomb(tmp_path / "x", streams)) == b"onetwo"


def test_pipes_and_devices_are_no_data(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        for read in (read_bytes, read_pickle, lambda p: read_idx(p, 1)):
            refused(lambda path=path, read=read: read(path), "this is no ordinary file")
    root = reviews(tmp_path / "aclImdb")
    os.mkfifo(root / "train/neg/99_1.txt")
    refused(lambda: imdb(root), "this is no ordinary file")
    (root / "train/neg/99_1.txt").unlink()
    (root / "train/neg/99_1.txt").write_bytes(b"word " * 300_000)
    refused(lambda: imdb(root), "a review needs at most")


def test_hostile_matrices(tmp_path: Path) -> None:
    one = within = matrix("X", np.arange(6, dtype=np.uint8).reshape(2, 3), 9, 2)
    for _ in range(2000):
        within = packed(within)
    assert read_mat(bomb(tmp_path / "x", mat(within))) == {}, "what is packed twice is no array"
    assert "X" in read_mat(bomb(tmp_path / "x", mat(packed(one))))
    refused(lambda: read_mat(bomb(tmp_path / "x", mat(bytes(8) * 70_000))), "more than 65,536 elements")
    assert read_mat(bomb(tmp_path / "x", mat(packed(bytes(32 << 20))))) == {}, "four million elements are not looked at"


def test_all_that_a_file_of_matrices_unpacks_to_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matlab, "LARGEST", 1 << 20)
    two = packed(matrix("X", np.zeros((1, 600 << 10), np.uint8), 9, 2)) * 2
    refused(lambda: read_mat(bomb(tmp_path / "x", mat(two))), "unpack to more than 1,048,576 bytes", 8 << 20)


def test_paths_that_no_file_system_has_are_no_files() -> None:
    for path in ("a\0b", "\ud800"):
        with pytest.raises(OSError, match="this is no path"):
            files.regular(path)


def npy(head: str, body: bytes = b"") -> bytes:
    text = head.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def test_hostile_arrays_of_numpy(tmp_path: Path) -> None:
    head = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}".format
    for content in (npy(head("<f4", "(-2,-4)"), bytes(32)), npy(head("<f4", "(8,)"), bytes(8)), npy(head("|O", "(1,)")),
                    npy("__import__('os').abort()"), npy("(" * 5000), b"", b"text", b"PK\3\4cut", pickle.dumps([])):
        refused(lambda content=content: read_npz(bomb(tmp_path / "x", content)), "holds no arrays of NumPy")
    large = npy(head("<f8", f"({1 << 40},)"))
    refused(lambda: read_npz(bomb(tmp_path / "x", large)), "it claims float64.1099511627776., and has")
    for version in (b"\0\0", b"\2\0", b"\3\0"):
        long = b"\x93NUMPY" + version + b"\xff\xff\xff\xff{"
        refused(lambda long=long: read_npz(bomb(tmp_path / "x", long)), "its head is longer than the file")
    for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "x", "w", how) as file:
            file.writestr("a.npy", large)
        refused(lambda: read_npz(tmp_path / "x"), "it claims float64.1099511627776., and has")
    with zipfile.ZipFile(tmp_path / "x", "w") as file:
        file.writestr("a.txt", "text")
    refused(lambda: read_npz(tmp_path / "x"), "holds 'a.txt', which is no array")
    os.mkfifo(tmp_path / "pipe")
    refused(lambda: read_npz(tmp_path / "pipe"), "no ordinary file")
    np.savez(tmp_path / "good.npz", x=np.arange(3))
    assert read_npz(tmp_path / "good.npz")["x"].tolist() == [0, 1, 2]
    for save in np.savez, np.savez_compressed:      # zeros are packed as much as may be; heads of three versions
        save(tmp_path / "good.npz", x=np.zeros(1 << 20), y=np.zeros(0), z=np.float32(3), n=np.zeros(2, [("é", "f4")]))
        assert {name: x.shape for name, x in read_npz(tmp_path / "good.npz").items()} == {
            "x": (1 << 20,), "y": (0,), "z": (), "n": (2,)}


# Texts of graphs that take a time which grows with the square of their length, or doubles with each bracket, where they
# are looked for in more ways than one.
GRAPHS = {
    "a name": "graph(" + "a" * 400_000 + "):\n  return x\n",
    "types": "graph(" + "x: f[" * 80_000 + "):\n  return x\n",
    "conditions": "graph(" + ") if " * 80_000 + "\n  return x\n",
    "items": "graph(x: float32[2]):\n  v0 = Exp()(x) : (" + "a[" * 200_000 + "\n  return v0\n",
    "a product": "graph(x: float32[" + "*".join(f"(a{k}+b{k})" for k in range(40)) + "]):\n  return x\n",
    "a sum": "graph(x: float32[" + "+".join(f"a{k}" for k in range(800)) + "]):\n  return x\n",
}


@pytest.mark.parametrize("text", GRAPHS.values(), ids=GRAPHS)
def test_hostile_texts_of_graphs(text: str) -> None:
    with pytest.raises((GraphError, ShapeError)):
        parse(text, ALL)


def test_origins_are_read_in_time_in_proportion() -> None:
    assert parse_where(" (" * 200_000)
    assert parse_where("a.py:3 (fc1), b.py:4") == {Origin("a.py:3", 0, "fc1"), Origin("b.py:4")}


@pytest.mark.parametrize("head", [
    '{"__metadata__": {"stele": "\\ud800", "sha256": "x"}}',
    '{"__metadata__": {"sha256": "x"}, "\\ud800": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}'])
def test_names_that_are_no_text_are_refused(head: str, tmp_path: Path) -> None:
    refused(lambda: load(bomb(tmp_path / "x", struct.pack("<Q", len(head)) + head.encode())), "surrogates not allowed")


def test_hostile_blobs_and_numbers_of_caffe(tmp_path: Path) -> None:
    def field(number: int, content: bytes) -> bytes:
        return whole(number << 3 | 2) + whole(len(content)) + content

    def whole(n: int) -> bytes:
        return bytes((n & 127 | 128,)) + whole(n >> 7) if n > 127 else bytes((n,))

    many = field(7, field(1, whole((1 << 63) - 1) * 2000))
    layer = field(100, field(1, b"fc") + field(7, many))
    refused(lambda: wire.read(bomb(tmp_path / "x", layer)), "a blob has at most 32 axes, got 2,000")
    refused(lambda: parsed("a: 0x" + "f" * 5000, "net"), "net:1: a number has less than 40 digits")
    assert parsed("a: 0x1f b: -0x1F", "net").fields == {"a": [31], "b": [-31]}


def test_hostile_models_of_onnx(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    load_model = pytest.importorskip("stele.interop.onnx").load
    os.mkfifo(tmp_path / "pipe")
    refused(lambda: load_model(tmp_path / "pipe"), "this is no ordinary file")
    chain = "".join(f'<domain: "own", opset_import: ["": 17, "own": 1]> f{k} (x) => (y) {{y = own.f{k + 1}(x)}}\n'
                    for k in range(1100))
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17, "own": 1]>
        g (float[n] x) => (float[n] y) {{y = own.f0(x)}}\n{chain}
        <domain: "own", opset_import: ["": 17]> f1100 (x) => (y) {{y = Relu(x)}}""")
    refused(lambda: load_model(model), "call each other more than 100 deep", 64 << 20)
    one = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["": 17]>
        g (float[n] x) => (float[n] y) {y = Relu(x)}''')
    tensor = one.graph.initializer.add()
    tensor.name, tensor.data_type = "w", 1
    tensor.dims.extend([1 << 62] * 20_000)
    refused(lambda: load_model(one), "'w' says that it has 1099511627776 elements and more", 64 << 20)
    del tensor.dims[:]
    tensor.data_location = 1
    place = tensor.external_data.add()
    place.key, place.value = "location", "x" * 5000
    (tmp_path / "m.onnx").write_bytes(one.SerializeToString())
    refused(lambda: load_model(tmp_path / "m.onnx"), "File name too long")


def test_hostile_tokenizers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    good = Tokenizer.train(["a b c", "d e"], size=30)
    good.save(tmp_path / "good")
    told = json.loads((tmp_path / "good").read_text())
    word = {"type": "WordPiece", "unk_token": "x", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
            "vocab": {"a": 0}}
    pad = {"strategy": {"Fixed": 10 ** 11}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
           "pad_type_id": 0, "pad_token": "x"}
    far = {**told["model"], "vocab": {"a": 2 ** 32 - 1}, "merges": []}
    for change in ({"model": word}, {"model": far}):
        path = bomb(tmp_path / "x", json.dumps(told | change).encode())
        refused(lambda path=path: Tokenizer(path).encode("a b"), "the tokenizer cannot encode")
    cut = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 9}
    told |= {"padding": pad, "truncation": cut}
    path = bomb(tmp_path / "x", json.dumps(told).encode())
    assert Tokenizer(path).encode("a b").tolist() == good.encode("a b").tolist()


def packed_tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def raw_tar(path: Path, *headers: tuple[bytes, int, bytes]) -> Path:
    """A .tar.gz of members (name, size as it is claimed, type)."""
    blocks = b""
    for name, size, kind in headers:
        block = bytearray(512)
        block[:len(name)], block[100:108], block[156:157], block[257:265] = name, b"0000644\0", kind, b"ustar\x0000"
        block[124:136] = b"%011o\0" % size if size < 1 << 33 else b"\x80" + size.to_bytes(11, "big")
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        blocks += block
    return bomb(path, gzip.compress(blocks + bytes(1 << 20)))


def test_hostile_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to = tmp_path / "to"
    for kind in b"xgLK":
        path = raw_tar(tmp_path / "a", (b"x", 1 << 40, bytes((kind,))))
        refused(lambda path=path: unpack(path, to), "a header of 1,099,511,627,776 bytes|invalid header")
    cut = raw_tar(tmp_path / "a", (b"x", 1 << 40, b"0"), (b"y", 0, b"0"))
    refused(lambda: unpack(cut, to), "more than|unexpected end")
    many = [(tarfile.TarInfo(str(k)), b"") for k in range(40)]
    monkeypatch.setattr(sys.modules["stele.data.download"], "MEMBERS", 30)
    refused(lambda: unpack(packed_tar(tmp_path / "a", *many), to), "more than 30 members")
    monkeypatch.setattr(sys.modules["stele.data.download"], "UNPACKED", 1 << 20)
    zeros = tarfile.TarInfo("zeros"), bytes(2 << 20)
    refused(lambda: unpack(packed_tar(tmp_path / "a", zeros), to), "more than 1,048,576 bytes", 8 << 20)
    assert not (to / "zeros").exists()
    sparse = raw_tar(tmp_path / "a", (b"sparse", 0, b"S"))
    unpack(sparse, to)
    assert not (to / "sparse").exists()


def test_archives_write_through_no_planted_link(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "inside").write_bytes(b"precious")
    (tmp_path / "to" / "a").symlink_to("inside")
    unpack(packed_tar(tmp_path / "x", (tarfile.TarInfo("a"), b"new")), tmp_path / "to")
    assert (tmp_path / "to/inside").read_bytes() == b"precious" and (tmp_path / "to/a").read_bytes() == b"new"
    (tmp_path / "x.unpacked").unlink()
    (tmp_path / "to" / "out").symlink_to(tmp_path)
    packed_tar(tmp_path / "x", (tarfile.TarInfo("out/b"), b"new"))
    refused(lambda: unpack(tmp_path / "x", tmp_path / "to"), "stay inside")
    assert not (tmp_path / "b").exists()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, rows: bytes) -> bytes:
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 300 300\n%%EndComments\n(ran) = showpage\n%%EOF\n"


@pytest.mark.filterwarnings("ignore:Image size")
def test_hostile_images(tmp_path: Path) -> None:
    pil = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = pil.new("RGB", (300, 300))
    for kind in ("TIFF", "PPM", "TGA", "ICO", "EPS", "PCX", "SGI"):
        picture.save(tmp_path / "x.png", kind)
        refused(lambda: load_image(tmp_path / "x.png"), "be a JPEG, PNG, WebP, BMP or GIF")
    cases = [
        (POSTSCRIPT, "be a JPEG, PNG, WebP, BMP or GIF"),
        (png(12_000, 12_000, b""), "1 to 67,108,864 pixels, got 12000 x 12000"),
        (png(60_000, 60_000, b""), "truncated or corrupt one.*decompression bomb"),
        (png(1, 1_000_000, bytes(2_000_000)), "at most 64 times each other, got 1 x 1000000"),
        (png(20_000, 300, b""), "at most 64 times each other"),
        (b"BM" + struct.pack("<IIIIiiHHIIIIII", 54, 0, 54, 40, -300, 0, 1, 24, 0, 0, 0, 0, 0, 0), "an image needs"),
    ]
    for content, message in cases:
        refused(lambda content=content: load_image(bomb(tmp_path / "x.png", content)), message)
    (tmp_path / "x.png").unlink()
    os.mkfifo(tmp_path / "x.png")
    refused(lambda: load_image(tmp_path / "x.png"), "this is no ordinary file")
    (tmp_path / "large.webp").touch()
    os.truncate(tmp_path / "large.webp", 1 << 30)
    refused(lambda: load_image(tmp_path / "large.webp"), "at most 268,435,456 bytes")


def test_images_take_no_memory_for_what_they_only_claim_to_hold(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    content = bytearray(png(300, 300, bytes(301 * 300)))
    struct.pack_into(">I", content, content.index(b"IDAT") - 4, 0x7FFFFFFF)
    (tmp_path / "x.png").write_bytes(content)
    tracemalloc.start()
    try:
        load_image(tmp_path / "x.png")
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_memory_exhausted_is_a_memory_error(tmp_path: Path) -> None:
    (tmp_path / "zeros").touch()
    os.truncate(tmp_path / "zeros", 300 << 20)
    text = 60 << 20
    bomb(tmp_path / "pickle", b"\x80\x02B" + struct.pack("<I", text) + bytes(text) + b".")
    head = b'{"a":{"dtype":"U8","shape":[314572800],"data_offsets":[0,314572800]}}'
    bomb(tmp_path / "safetensors", struct.pack("<Q", len(head)) + head)
    os.truncate(tmp_path / "safetensors", 8 + len(head) + (300 << 20))
    images = ["a.png", "a.jpg", "a.bmp"]
    try:
        from PIL import Image
        for name in images:
            Image.new("RGB", (5000, 5000)).save(tmp_path / name)
    except ImportError:
        images = []
    code = f"""
import os, resource, sys
from pathlib import Path
from stele.data.files import read_bytes
from stele.data.images import load_image
from stele.data.pickles import read_pickle
from stele.nn.module import read_safetensors
if {images}:
    from PIL import Image, BmpImagePlugin, JpegImagePlugin, PngImagePlugin
os.chdir({str(tmp_path)!r})
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (48 << 20),) * 2)
for read, names in (read_bytes, ["zeros"]), (read_pickle, ["pickle"]), (read_safetensors, ["safetensors"]), \\
        (load_image, {images}):
    for name in names:
        try:
            read(name)
        except MemoryError:
            continue
        raise SystemExit(f"{{name}} was read")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_an_official_batch_is_read(tmp_path: Path) -> None:
    x = np.arange(10_000 * 3072, dtype=np.uint32).astype(np.uint8).reshape(10_000, 3, 32, 32)
    bomb(tmp_path / "batch", python_batch(x, np.arange(10_000) % 10))
    found = read_pickle(tmp_path / "batch")
    assert np.array_equal(found["data"], x.reshape(10_000, -1)) and found["labels"][:3] == [0, 1, 2]


def test_damaged_files_of_every_format_are_refused_or_read(tmp_path: Path) -> None:
    long_mutations = pytest.importorskip("long_mutations", reason="Pillow is not installed", exc_type=ImportError)
    assert list(long_mutations.check(";".join(long_mutations.FORMATS), 0, 12)) == []


def test_the_check_of_damaged_files_finds_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_mutations = pytest.importorskip("long_mutations", reason="Pillow is not installed", exc_type=ImportError)

    def fails(path: Path) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(long_mutations.FORMATS, "bmp", long_mutations.Format(bytes, fails))
    assert long_mutations.finding("bmp", 0, b"good", tmp_path) == "ZeroDivisionError: "
