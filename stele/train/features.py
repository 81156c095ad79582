"""`stele features`: photographs in, the features of a residual network out."""
from __future__ import annotations

from typing import Any

import numpy as np

import stele as st
from stele.arrays.tensor import Tensor
from stele.commands.options import FeatureOptions
from stele.data.images import load_images
from stele.files import replacing
from stele.nn.module import read_safetensors
from stele.train.models import ResNet50


def features(options: FeatureOptions) -> None:
    """Writes an (images, 2048) float32 array as .npy, in the order of the images."""
    if options.threads:
        st.set_threads(options.threads)
    st.manual_seed(0)
    images = load_images(options.images)
    model = ResNet50().eval()
    if options.weights:
        optional = {name: x for name, x in model.state_dict().items() if name.startswith("fc.")}
        model.load_state_dict(optional | read_safetensors(options.weights))

    def extract(x: Any) -> Tensor:
        with st.no_grad():
            return model.features(x)

    run = st.compile(extract, dims={"x": {0: "batch"}})
    parts = [run(images[k:k + options.batch]).numpy() for k in range(0, len(images), options.batch)]
    with replacing(options.out) as out:
        np.save(out, np.concatenate(parts))
    print(f"{options.out}: {len(images)} x 2048 features"
          + ("" if options.weights else "; random weights, since none were given with --weights"))
