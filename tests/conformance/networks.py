"""How Stele spells PyTorch's functions of networks: as it does, under `nn.functional`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele import nn
from tests.conformance.words import refuse

F = nn.functional
Call = Callable[..., Any]


def embedding(table: Any, i: Any, **rest: Any) -> Any:
    """The samples' order."""
    return F.embedding(i, table, **rest)


def attention(*args: Any, dropout_p: float = 0.0, **rest: Any) -> Any:
    refuse(dropout_p, "the numbers that PyTorch draws (dropout_p=)")
    return F.scaled_dot_product_attention(*args, **rest)


NAMES = """adaptive_avg_pool2d avg_pool1d avg_pool2d batch_norm bilinear binary_cross_entropy
binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_transpose1d conv_transpose2d cosine_embedding_loss
cosine_similarity cross_entropy ctc_loss elu gaussian_nll_loss gelu glu grid_sample group_norm hardshrink hardsigmoid
hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear
local_response_norm logsigmoid margin_ranking_loss max_pool1d max_pool2d mish mse_loss multilabel_soft_margin_loss
nll_loss normalize pad pairwise_distance pixel_shuffle poisson_nll_loss prelu relu relu6 rms_norm
selu silu smooth_l1_loss soft_margin_loss softmin softplus softshrink softsign tanhshrink
threshold triplet_margin_loss unfold"""
NETWORKS: dict[str, Call] = {
    **{f"nn.functional.{name}": getattr(F, name) for name in NAMES.split()},
    "nn.functional.embedding": embedding,
    "nn.functional.scaled_dot_product_attention": attention,
}
