"""Photographs in, features of a residual network out."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import stele as st
from stele.commands.options import FeatureOptions
from stele.errors import DataError
from stele.train.features import features
from stele.train.models import ResNet20, ResNet50

PIL = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.fixture
def images(tmp_path: Path) -> tuple[Path, ...]:
    random = np.random.default_rng(0)
    for name, size in (("a.png", (240, 300, 3)), ("b.jpg", (256, 256, 3)), ("c.png", (300, 230, 3))):
        PIL.fromarray(random.integers(0, 256, size, dtype=np.uint8)).save(tmp_path / name)
    return tuple(tmp_path / name for name in ("a.png", "b.jpg", "c.png"))


def asked(images: tuple[Path, ...], weights: Path | None = None, batch: int = 2) -> FeatureOptions:
    return FeatureOptions("resnet50", images, weights, images[0].parent / "features.npy", batch, None)


def test_a_row_for_each_image_whatever_the_batch(images: tuple[Path, ...], capsys: pytest.CaptureFixture[str]) -> None:
    features(asked(images))
    found = np.load(images[0].parent / "features.npy")
    assert found.shape == (3, 2048) and found.dtype == np.float32 and np.isfinite(found).all() and found.std() > 0
    assert "3 x 2048 features; random weights" in capsys.readouterr().out
    features(asked(images[1:], batch=1))
    one_by_one = np.load(images[0].parent / "features.npy")
    assert np.abs(one_by_one - found[1:]).max() <= 1e-5 * np.abs(found).max()


def test_who_reads_older_features_meanwhile_reads_them_whole(images: tuple[Path, ...]) -> None:
    out = images[0].parent / "features.npy"
    np.save(out, np.zeros(7))
    with out.open("rb") as older:
        features(asked(images[:1]))
        assert np.load(older).shape == (7,) and np.load(out).shape == (1, 2048)


def test_weights_of_a_file_are_used_and_may_lack_what_features_do_not_need(images: tuple[Path, ...]) -> None:
    path = images[0].parent / "weights.safetensors"
    st.manual_seed(3)
    state = {name: x.numpy().copy() for name, x in ResNet50().state_dict().items()
             if not name.startswith("fc.") and not name.endswith("num_batches_tracked")}
    state["layer4.2.bn3.bias"][:] = np.arange(2048)
    state["layer4.2.bn3.weight"][:] = 0
    state["layer4.1.bn3.weight"][:] = state["layer4.0.bn3.weight"][:] = state["layer4.0.downsample.1.weight"][:] = 0
    save_file(state, path)
    features(asked(images[:1], path))
    assert np.allclose(np.load(images[0].parent / "features.npy")[0], np.arange(2048), rtol=1e-5)


@pytest.mark.parametrize("state, message", [
    (lambda: {"transformer.wte": st.zeros((2, 2))}, "missing: bn1.bias.*unknown: transformer.wte"),
    (lambda: ResNet20().state_dict(), "the state does not fit ResNet50: missing:")])
def test_weights_of_another_network_are_refused(images: tuple[Path, ...], state: Callable[[], dict[str, st.Tensor]],
                                                message: str) -> None:
    path = images[0].parent / "weights.safetensors"
    save_file({name: np.ascontiguousarray(x.numpy()) for name, x in state().items()}, path)
    with pytest.raises(DataError, match=message):
        features(asked(images, path))
    assert not (images[0].parent / "features.npy").exists()
