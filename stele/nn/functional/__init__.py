"""The functions of networks under PyTorch's names, arguments and defaults, and some that it lacks.

`inplace` says that the input is not needed any more: programs write over what nobody reads, so it changes nothing here.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.arrays.spoken import publish
from stele.arrays.tensor import lift
from stele.interop.names import FUNCTIONAL
from stele.nn.functional import (
    activations,
    adaptive,
    classes,
    convolution,
    ctc,
    distances,
    imbalanced,
    interpolation,
    losses,
    normalization,
    pooling,
    projected,
    sampling,
    shuffles,
)
from stele.nn.functional.attention import scaled_dot_product_attention
from stele.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    fractional_max_pool2d,
    fractional_max_pool3d,
    gumbel_softmax,
    rrelu,
)
from stele.nn.functional.normalization import batch_norm, instance_norm
from stele.nn.functional.sparse import embedding, embedding_bag, one_hot
from stele.nn.functional.triplets import triplet_margin_with_distance_loss

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "dice_loss", "dropout",
    "dropout1d", "dropout2d", "dropout3d", "elu", "embedding", "embedding_bag", "feature_alpha_dropout", "focal_loss",
    "fold", "fractional_max_pool2d", "fractional_max_pool3d", "gaussian_nll_loss", "gelu", "glu", "grid_sample",
    "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hinge_embedding_loss", "huber_loss", "info_nce", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "linear", "linear_cross_entropy", "local_response_norm", "log_softmax", "logsigmoid",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu",
    "relu6", "rms_norm", "rrelu", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss",
    "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
    "threshold", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample",
]

# fmt: off
relu, relu6                                = lift(activations.relu), lift(activations.relu6)
hardtanh, threshold                        = lift(activations.hardtanh), lift(activations.threshold)
leaky_relu, prelu                          = lift(activations.leaky_relu), lift(activations.prelu)
elu, selu                                  = lift(activations.elu), lift(activations.selu)
celu, gelu                                 = lift(activations.celu), lift(activations.gelu)
silu, mish                                 = lift(activations.silu), lift(activations.mish)
hardsigmoid, hardswish                     = lift(activations.hardsigmoid), lift(activations.hardswish)
hardshrink, softshrink                     = lift(activations.hardshrink), lift(activations.softshrink)
tanhshrink, softsign                       = lift(activations.tanhshrink), lift(activations.softsign)
softplus, logsigmoid                       = lift(activations.softplus), lift(activations.logsigmoid)
sigmoid, tanh                              = lift(activations.sigmoid), lift(activations.tanh)
glu, softmax                               = lift(activations.glu), lift(activations.softmax)
log_softmax, softmin                       = lift(activations.log_softmax), lift(activations.softmin)
adaptive_avg_pool1d, adaptive_avg_pool2d   = lift(adaptive.adaptive_avg_pool1d), lift(adaptive.adaptive_avg_pool2d)
adaptive_avg_pool3d, adaptive_max_pool1d   = lift(adaptive.adaptive_avg_pool3d), lift(adaptive.adaptive_max_pool1d)
adaptive_max_pool2d, adaptive_max_pool3d   = lift(adaptive.adaptive_max_pool2d), lift(adaptive.adaptive_max_pool3d)
nll_loss, cross_entropy                    = lift(classes.nll_loss), lift(classes.cross_entropy)
multi_margin_loss, multilabel_margin_loss  = lift(classes.multi_margin_loss), lift(classes.multilabel_margin_loss)
multilabel_soft_margin_loss                = lift(classes.multilabel_soft_margin_loss)
conv1d, conv2d                             = lift(convolution.conv1d), lift(convolution.conv2d)
conv3d, conv_transpose1d                   = lift(convolution.conv3d), lift(convolution.conv_transpose1d)
conv_transpose2d, conv_transpose3d         = lift(convolution.conv_transpose2d), lift(convolution.conv_transpose3d)
linear, bilinear                           = lift(convolution.linear), lift(convolution.bilinear)
ctc_loss                                   = lift(ctc.ctc_loss)
normalize, cosine_similarity               = lift(distances.normalize), lift(distances.cosine_similarity)
pairwise_distance, pdist                   = lift(distances.pairwise_distance), lift(distances.pdist)
focal_loss, dice_loss                      = lift(imbalanced.focal_loss), lift(imbalanced.dice_loss)
info_nce                                   = lift(imbalanced.info_nce)
interpolate, upsample                      = lift(interpolation.interpolate), lift(interpolation.upsample)
l1_loss, mse_loss                          = lift(losses.l1_loss), lift(losses.mse_loss)
smooth_l1_loss, huber_loss                 = lift(losses.smooth_l1_loss), lift(losses.huber_loss)
binary_cross_entropy                       = lift(losses.binary_cross_entropy)
binary_cross_entropy_with_logits, kl_div   = lift(losses.binary_cross_entropy_with_logits), lift(losses.kl_div)
poisson_nll_loss, gaussian_nll_loss        = lift(losses.poisson_nll_loss), lift(losses.gaussian_nll_loss)
soft_margin_loss, hinge_embedding_loss     = lift(losses.soft_margin_loss), lift(losses.hinge_embedding_loss)
margin_ranking_loss, cosine_embedding_loss = lift(losses.margin_ranking_loss), lift(losses.cosine_embedding_loss)
triplet_margin_loss                        = lift(losses.triplet_margin_loss)
layer_norm, rms_norm                       = lift(normalization.layer_norm), lift(normalization.rms_norm)
group_norm, local_response_norm            = lift(normalization.group_norm), lift(normalization.local_response_norm)
linear_cross_entropy                       = lift(projected.linear_cross_entropy)
max_pool1d, max_pool2d                     = lift(pooling.max_pool1d), lift(pooling.max_pool2d)
max_pool3d, avg_pool1d                     = lift(pooling.max_pool3d), lift(pooling.avg_pool1d)
avg_pool2d, avg_pool3d                     = lift(pooling.avg_pool2d), lift(pooling.avg_pool3d)
lp_pool1d, lp_pool2d                       = lift(pooling.lp_pool1d), lift(pooling.lp_pool2d)
lp_pool3d, max_unpool1d                    = lift(pooling.lp_pool3d), lift(pooling.max_unpool1d)
max_unpool2d, max_unpool3d                 = lift(pooling.max_unpool2d), lift(pooling.max_unpool3d)
affine_grid, grid_sample                   = lift(sampling.affine_grid), lift(sampling.grid_sample)
pad, pixel_shuffle                         = lift(shuffles.pad), lift(shuffles.pixel_shuffle)
pixel_unshuffle, channel_shuffle           = lift(shuffles.pixel_unshuffle), lift(shuffles.channel_shuffle)
unfold, fold                               = lift(shuffles.unfold), lift(shuffles.fold)
# fmt: on

publish(list(globals().items()), __name__)

if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.nn.functional", name, __all__, FUNCTIONAL)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
