"""Small nets of Caffe, and files of their weights; what OpenCV answers of them is kept in `tests/recorded/caffe.npz`.

`python -m tests.caffe_nets`, where OpenCV 4 is installed (`opencv-python-headless<5`), asks and keeps anew.
"""
from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).resolve().parent / "recorded" / "caffe.npz"
HEAD = ('name: "net"\n'
        'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 4 dim: 9 dim: 7 } } }\n')


def varint(n: int) -> bytes:
    """A number, seven bits a byte."""
    made = bytearray()
    while n > 127:
        made.append(n & 127 | 128)
        n >>= 7
    return bytes([*made, n])


def field(number: int, body: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(body)) + body


def blob(x: Array, old: bool = False) -> bytes:
    """A blob, with the four axes of old files or its own."""
    data = field(5, x.astype("<f4").tobytes())
    if old:
        sizes = (1,) * (4 - x.ndim) + x.shape
        return b"".join(varint(k << 3) + varint(n) for k, n in enumerate(sizes, 1)) + data
    return field(7, field(1, b"".join(map(varint, x.shape)))) + data


def caffemodel(weights: Mapping[str, Sequence[Array]], old: bool = False) -> bytes:
    """A file of weights by layer."""
    layers = []
    for name, arrays in weights.items():
        said = field(4 if old else 1, name.encode()) + b"".join(field(6 if old else 7, blob(x, old)) for x in arrays)
        layers.append(field(2 if old else 100, said))
    return field(1, b"net") + b"".join(layers)


def one(kind: str, options: str = "", bottoms: Sequence[str] = ("data",), tops: Sequence[str] = ("y",)) -> str:
    """A layer, called as its type."""
    joined = " ".join([*(f'bottom: "{b}"' for b in bottoms), *(f'top: "{t}"' for t in tops)])
    return f'layer {{ name: "{kind.lower()}" type: "{kind}" {joined} {options} }}\n'


def draws(*shapes: tuple[int, ...]) -> list[Array]:
    """Numbers of these shapes, the same each time."""
    rng = np.random.default_rng(len(shapes))
    return [rng.normal(size=s).astype("f4") for s in shapes]


CONV = draws((6, 4, 3, 3), (6,))
GROUPED = draws((6, 2, 3, 2), (6,))
BACK = draws((4, 3, 4, 4), (3,))
POSITIVE = [abs(x) + np.float32(0.5) for x in draws((4,), (4,))]

# The layers of each net behind its input, and the weights of those that have some.
NETS: Mapping[str, tuple[str, Mapping[str, Sequence[Array]]]] = {
    "conv": (one("Convolution", "convolution_param { num_output: 6 kernel_size: 3 pad: 1 stride: 2 }"),
             {"convolution": CONV}),
    "conv-grouped": (one("Convolution", "convolution_param { num_output: 6 group: 2 kernel_h: 3 kernel_w: 2 "
                                        "stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 0 }"), {"convolution": GROUPED}),
    "conv-dilated": (one("Convolution", "convolution_param { num_output: 6 kernel_size: 3 dilation: 2 pad: 2 "
                                        "bias_term: false }"), {"convolution": CONV[:1]}),
    "deconv": (one("Deconvolution", "convolution_param { num_output: 3 kernel_size: 4 stride: 2 pad: 1 }"),
               {"deconvolution": BACK}),
    "inner": (one("InnerProduct", "inner_product_param { num_output: 5 }"), {"innerproduct": draws((5, 252), (5,))}),
    "pool-max": (one("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 }"), {}),
    "pool-max-padded": (one("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 pad: 1 }"), {}),
    "pool-mean": (one("Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"), {}),
    "pool-global": (one("Pooling", "pooling_param { pool: AVE global_pooling: true }"), {}),
    "relu": (one("ReLU"), {}), "relu-leaky": (one("ReLU", "relu_param { negative_slope: 0.1 }"), {}),
    "prelu": (one("PReLU"), {"prelu": draws((4,))}), "elu": (one("ELU", "elu_param { alpha: 0.7 }"), {}),
    "sigmoid": (one("Sigmoid"), {}), "tanh": (one("TanH"), {}), "abs": (one("AbsVal"), {}), "bnll": (one("BNLL"), {}),
    "lrn": (one("LRN", "lrn_param { local_size: 3 alpha: 0.4 beta: 0.6 }"), {}),
    "lrn-within": (one("LRN", "lrn_param { local_size: 3 alpha: 0.4 beta: 0.6 norm_region: WITHIN_CHANNEL }"), {}),
    "dropout": (one("Dropout"), {}),
    "concat": (one("ReLU", tops=["a"]) + one("Concat", bottoms=["data", "a"]), {}),
    "slice": (one("Slice", "slice_param { axis: 1 slice_point: 1 }", tops=["a", "b"]) +
              one("Concat", bottoms=["b", "a"]), {}),
    "split": (one("Split", tops=["a", "b"]) + one("Eltwise", bottoms=["a", "b"]), {}),
    "eltwise-max": (one("ReLU", tops=["a"]) + one("Eltwise", "eltwise_param { operation: MAX }", ["data", "a"]), {}),
    "eltwise-sum": (one("TanH", tops=["a"]) +
                    one("Eltwise", "eltwise_param { coeff: 0.5 coeff: -2 }", ["data", "a"]), {}),
    "eltwise-product": (one("TanH", tops=["a"]) +
                        one("Eltwise", "eltwise_param { operation: 0 }", ["data", "a"]), {}),
    "scale": (one("Scale", "scale_param { bias_term: true }"), {"scale": draws((4,), (4,))}),
    "batch-norm": (one("BatchNorm"), {"batchnorm": [*POSITIVE, np.float32([2.0])]}),
    "softmax": (one("Softmax"), {}),
    "reshape": (one("Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: 21 } }"), {}),
    "flatten": (one("Flatten"), {}),
    "permute": (one("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }"), {}),
    "power": (one("Power", "power_param { power: 2 scale: 0.5 shift: 1 }"), {}),
    "net": (one("Convolution", "convolution_param { num_output: 6 kernel_size: 3 pad: 1 }", tops=["c"]) +
            one("ReLU", bottoms=["c"], tops=["c"]) + one("Pooling", "pooling_param { kernel_size: 2 stride: 2 }", ["c"],
                                                        ["p"]) +
            one("InnerProduct", "inner_product_param { num_output: 5 }", ["p"], ["f"]) + one("Softmax", bottoms=["f"]),
            {"convolution": CONV, "innerproduct": [x / 10 for x in draws((5, 120), (5,))]}),
}


OLD_NET = """
input: "data" input_dim: 2 input_dim: 4 input_dim: 9 input_dim: 7   # a comment
layers { name: "convolution" type: CONVOLUTION bottom: "data" top: "c" blobs_lr: 1 convolution_param <num_output: 6
  kernel_size: [3], pad: 1; stride: 2> }
layers { name: 'r' type: RELU bottom: "c" top: "c" }
layers { name: "loss" type: SOFTMAX_LOSS bottom: "c" top: "l" include { phase: TRAIN } }
layers { name: "d" type: DROPOUT bottom: "c" top: "d" exclude: { phase: TRAIN } }
"""


def given() -> Array:
    """What every net is given."""
    return np.random.default_rng(7).normal(size=(2, 4, 9, 7)).astype("f4")


def write(folder: Path, name: str, old: bool = False) -> tuple[Path, Path]:
    """The two files of a net."""
    layers, weights = NETS[name]
    text, binary = folder / f"{name}.prototxt", folder / f"{name}.caffemodel"
    text.write_text(HEAD + layers)
    binary.write_bytes(caffemodel(weights or {"none": draws((1,))}, old))
    return text, binary


def main() -> None:
    """Asks OpenCV, and keeps what it says."""
    cv2, answers = import_module("cv2"), dict[str, Array]()
    with tempfile.TemporaryDirectory() as folder:
        for name in NETS:
            net = cv2.dnn.readNetFromCaffe(*map(str, write(Path(folder), name)))
            net.setInput(given())
            answers[name] = net.forward()
    np.savez_compressed(KEPT, **answers)


if __name__ == "__main__":
    main()
