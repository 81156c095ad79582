"""Calls of every function of `nn.functional`, in words that PyTorch understands too, and the arrays they name."""
from __future__ import annotations

import ast
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def drawn(n: int) -> dict[str, Array]:
    """What calls name, for batches of n: floats have derivatives, but for those in STILL."""
    rng = np.random.default_rng(n)

    def normal(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "x": normal(n, 4), "y": normal(n, 4), "z": normal(n, 4), "d": normal(n), "flat": normal(5),
        "p": rng.uniform(0.1, 0.9, (n, 4)).astype("f4"), "q": rng.uniform(0.1, 0.9, (n, 4)).astype("f4"),
        "t": rng.integers(0, 4, n), "s": np.where(rng.random(n) < 0.5, -1, 1).astype("f4"),
        "u": np.where(rng.random((n, 4)) < 0.5, -1, 1).astype("f4"), "bits": (rng.random((n, 4)) < 0.5).astype("f4"),
        "counts": rng.integers(0, 5, (n, 4)).astype("f4"), "some": np.where(rng.random((n, 4)) < 0.5, 1, -1),
        "per_class": rng.uniform(0.5, 2, 4).astype("f4"), "share": rng.uniform(0.5, 2, 4).astype("f4"),
        "even": rng.uniform(0.5, 2, (n, 4)).astype("f4"), "shift": normal(4), "slope": normal(4),
        "signal": normal(n, 4, 9), "image": normal(n, 4, 5, 6), "volume": normal(n, 2, 3, 4, 5), "one": normal(4, 5, 6),
        "positive": np.abs(normal(n, 2, 4, 5)) + np.float32(0.1),
        "grid": rng.uniform(-1.3, 1.3, (n, 3, 2, 2)).astype("f4"), "theta": normal(n, 2, 3), "theta3": normal(n, 3, 4),
        "grid3": rng.uniform(-1.3, 1.3, (n, 2, 2, 2, 3)).astype("f4"), "columns": normal(n, 8, 12),
        "pixels": rng.integers(0, 4, (n, 5, 6)), "pairs": rng.integers(0, 4, (n, 3)),
        "w1": normal(6, 2, 3), "w2": normal(6, 2, 3, 3), "w3": normal(3, 2, 2, 2, 2), "b": normal(6), "b3": normal(3),
        "v1": normal(4, 3, 3), "v2": normal(4, 3, 2, 3), "v3": normal(2, 3, 2, 2, 2),
        "w": normal(5, 4), "bi": normal(5, 4, 4), "table": normal(7, 3), "rows": rng.integers(0, 7, (n, 3)),
        "row": rng.integers(0, 7, 3 * n), "begins": np.arange(n) * 3, "weights": normal(n, 3), "again": normal(3 * n),
        "k": normal(n, 2, 4, 3), "v": normal(n, 2, 4, 5), "heads": normal(n, 4, 6, 3), "sees": np.arange(24).reshape(
            6, 4) % 3 > 0, "adds": normal(6, 4), "queries": normal(n, 2, 6, 3),
        "mean": normal(4), "var": rng.uniform(0.5, 2, 4).astype("f4"), "samples": rng.random((n, 4, 2)).astype("f4"),
        "samples3": rng.random((n, 2, 3)).astype("f4"), "spread": rng.uniform(0.5, 2, (n, 1)).astype("f4"),
        "log_p": log_softmax(normal(9, n, 5)), "spoken": rng.integers(1, 5, (n, 3)), "words": rng.integers(1, 5, 3 * n),
        "steps": 9 - np.arange(n) % 2, "lengths": 3 - np.arange(n) % 2, "three": np.full(n, 3),
        "ends": np.arange(n + 1) * 3,
    }


def log_softmax(x: Array) -> Array:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


# Floats that PyTorch takes as numbers.
STILL = ("mean", "var", "share", "even", "s", "u", "bits", "counts", "samples", "samples3")


def named(call: str) -> list[str]:
    """The arrays that a call names, in the order of `drawn`."""
    names = {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}
    return [name for name in drawn(0) if name in names]


CALLS: dict[str, tuple[str, ...]] = {
    "relu": ("F.relu(x)",), "relu6": ("F.relu6(4 * x)",), "elu": ("F.elu(x)", "F.elu(x, 0.5, inplace=False)"),
    "selu": ("F.selu(x)",), "celu": ("F.celu(x)", "F.celu(x, alpha=0.5)"), "gelu": (
        "F.gelu(x)", "F.gelu(x, approximate='tanh')"), "silu": ("F.silu(x)",), "mish": ("F.mish(x)",),
    "leaky_relu": ("F.leaky_relu(x)", "F.leaky_relu(x, 0.2)"), "prelu": ("F.prelu(x, slope)", "F.prelu(image, slope)"),
    "rrelu": ("F.rrelu(x)", "F.rrelu(x, 0.1, 0.4, training=False)"), "glu": ("F.glu(x)", "F.glu(image, 1)"),
    "hardtanh": ("F.hardtanh(x)", "F.hardtanh(x, -0.5, 0.7)"), "threshold": ("F.threshold(x, 0.1, 20.0)",),
    "hardsigmoid": ("F.hardsigmoid(3 * x)",), "hardswish": ("F.hardswish(3 * x)",), "hardshrink": (
        "F.hardshrink(x)", "F.hardshrink(x, 0.2)"), "softshrink": ("F.softshrink(x)", "F.softshrink(x, 0.2)"),
    "tanhshrink": ("F.tanhshrink(x)",), "softsign": ("F.softsign(x)",), "softplus": (
        "F.softplus(x)", "F.softplus(x, beta=3, threshold=2)"), "logsigmoid": ("F.logsigmoid(x)",),
    "sigmoid": ("F.sigmoid(x)",), "tanh": ("F.tanh(x)",), "softmax": ("F.softmax(x, dim=1)", "F.softmax(image, 1)"),
    "log_softmax": ("F.log_softmax(x, dim=-1)",), "softmin": ("F.softmin(x, dim=-1)",),
    "normalize": ("F.normalize(x)", "F.normalize(image, p=1.0, dim=2, eps=0.1)"),
    "cosine_similarity": ("F.cosine_similarity(x, y)", "F.cosine_similarity(x, y, dim=-1, eps=1.0)"),
    "pairwise_distance": ("F.pairwise_distance(x, y)", "F.pairwise_distance(x, y, p=1.0, keepdim=True)"),
    "pdist": ("F.pdist(x)", "F.pdist(x, p=1.0)"),
    "linear": ("F.linear(x, w, flat)", "F.linear(x, w)"), "bilinear": ("F.bilinear(x, y, bi, flat)",),
    "conv1d": ("F.conv1d(signal, w1, b, groups=2)", "F.conv1d(signal, w1, None, 2, 1, 2, 2)"),
    "conv2d": ("F.conv2d(image, w2, b, padding=1, groups=2)", "F.conv2d(one, w2, b, (2, 1), 'valid', 1, 2)",
               "F.conv2d(image, w2, padding='same', dilation=2, groups=2)"),
    "conv3d": ("F.conv3d(volume, w3, b3)", "F.conv3d(volume, w3, b3, stride=2, padding=(0, 1, 1))"),
    "conv_transpose1d": ("F.conv_transpose1d(signal, v1, b3)", "F.conv_transpose1d(signal, v1, b3, 2, 1, 1)"),
    "conv_transpose2d": ("F.conv_transpose2d(image, v2, b3)", "F.conv_transpose2d(one, v2, b3, 2, 1, 1)",
                         "F.conv_transpose2d(image, v2, groups=2, dilation=2)"),
    "conv_transpose3d": ("F.conv_transpose3d(volume, v3, b3)", "F.conv_transpose3d(volume, v3, b3, 2, 1, (1, 0, 1))"),
    "max_pool1d": ("F.max_pool1d(signal, 3)", "F.max_pool1d(signal, 3, 2, 1, 2, True, return_indices=True)"),
    "max_pool2d": ("F.max_pool2d(image, 2)", "F.max_pool2d(one, (3, 2), stride=2, padding=1, ceil_mode=True)",
                   "F.max_pool2d(image, 2, 1, 0, (2, 3), return_indices=True)"),
    "max_pool3d": ("F.max_pool3d(volume, 2)", "F.max_pool3d(volume, 3, 2, 1, ceil_mode=True, return_indices=True)"),
    "avg_pool1d": ("F.avg_pool1d(signal, 3)", "F.avg_pool1d(signal, 3, 2, 1, True, False)"),
    "avg_pool2d": ("F.avg_pool2d(image, 2)", "F.avg_pool2d(one, (3, 2), 2, 1, ceil_mode=True)",
                   "F.avg_pool2d(image, 3, 2, 1, True, False)", "F.avg_pool2d(image, 3, 2, 1, divisor_override=2)"),
    "avg_pool3d": ("F.avg_pool3d(volume, 2)", "F.avg_pool3d(volume, 3, 2, 1, True, False)",
                   "F.avg_pool3d(volume, 2, 2, divisor_override=3)"),
    "lp_pool1d": ("F.lp_pool1d(signal, 2, 3)", "F.lp_pool1d(signal, 1, 3)", "F.lp_pool1d(signal, 4.0, 2, 3, True)"),
    "lp_pool2d": ("F.lp_pool2d(positive, 1.5, 2)", "F.lp_pool2d(image, float('inf'), (2, 3), ceil_mode=True)"),
    "lp_pool3d": ("F.lp_pool3d(volume, 2, 2)",),
    "adaptive_avg_pool1d": ("F.adaptive_avg_pool1d(signal, 3)", "F.adaptive_avg_pool1d(signal, 4)"),
    "adaptive_avg_pool2d": ("F.adaptive_avg_pool2d(image, 1)", "F.adaptive_avg_pool2d(image, (3, None))",
                            "F.adaptive_avg_pool2d(one, (2, 7))"),
    "adaptive_avg_pool3d": ("F.adaptive_avg_pool3d(volume, (2, 2, 3))",),
    "adaptive_max_pool1d": ("F.adaptive_max_pool1d(signal, 3)", "F.adaptive_max_pool1d(signal, 4, True)"),
    "adaptive_max_pool2d": ("F.adaptive_max_pool2d(image, (5, 3))", "F.adaptive_max_pool2d(one, (3, None))",
                            "F.adaptive_max_pool2d(image, (2, 7), return_indices=True)"),
    "adaptive_max_pool3d": ("F.adaptive_max_pool3d(volume, (2, 2, 3), True)",),
    "max_unpool1d": ("F.max_unpool1d(*F.max_pool1d(signal, 3, return_indices=True), 3)",),
    "max_unpool2d": ("F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2, output_size=(5, 6))",),
    "max_unpool3d": ("F.max_unpool3d(*F.max_pool3d(volume, (1, 2, 2), return_indices=True), (1, 2, 2), "
                     "output_size=(3, 4, 5))",),
    "fractional_max_pool2d": ("F.fractional_max_pool2d(image, 2, (3, 4), _random_samples=samples)",
                              "F.fractional_max_pool2d(image, (2, 3), None, (0.7, 0.5), True, samples)"),
    "fractional_max_pool3d": ("F.fractional_max_pool3d(volume, 2, (1, 2, 3), _random_samples=samples3)",),
    "interpolate": (
        "F.interpolate(image, scale_factor=2)", "F.interpolate(signal, 4)", "F.interpolate(volume, (5, 2, 7))",
        "F.interpolate(image, (3, 8), mode='nearest-exact')", "F.interpolate(image, scale_factor=2, mode='bilinear')",
        "F.interpolate(signal, scale_factor=3, mode='linear')", "F.interpolate(image, (3, 8), mode='bilinear')",
        "F.interpolate(image, (3, 8), mode='bilinear', align_corners=True)", "F.interpolate(signal, 3, mode='linear')",
        "F.interpolate(image, scale_factor=2, mode='bicubic')", "F.interpolate(image, (3, 8), mode='bicubic')",
        "F.interpolate(image, scale_factor=1.7, mode='bicubic', align_corners=True)",
        "F.interpolate(volume, scale_factor=2, mode='trilinear')", "F.interpolate(image, (2, 4), mode='area')",
        "F.interpolate(image, scale_factor=(0.6, 1.5), mode='bilinear', recompute_scale_factor=True)",
        "F.interpolate(image, (3, 2), mode='bilinear', antialias=True)",
        "F.interpolate(image, (2, 9), mode='bicubic', antialias=True)"),
    "upsample": ("F.upsample(image, scale_factor=2)", "F.upsample(image, (3, 8), mode='bilinear', align_corners=True)"),
    "grid_sample": (
        *(f"F.grid_sample(image, grid, '{mode}', '{padding}', {corners})" for mode in ("bilinear", "nearest", "bicubic")
          for padding, corners in (("zeros", False), ("border", True), ("reflection", False), ("reflection", True))),
        "F.grid_sample(volume, grid3, align_corners=False)",
        "F.grid_sample(volume, grid3, 'nearest', 'border', align_corners=False)"),
    "affine_grid": tuple(f"F.affine_grid({theta}, (len({theta}), 3, {last}), {corners})" for theta, last in (
        ("theta", "4, 5"), ("theta3", "2, 4, 5")) for corners in (False, True)),
    "pad": ("F.pad(image, (1, 2))", "F.pad(image, (1, 2, -1, 1), value=3.0)", "F.pad(image, (1, 2, 2, 1), 'reflect')",
            "F.pad(image, (1, 2, 2, 0), mode='replicate')", "F.pad(signal, (3, 2), mode='circular')"),
    "pixel_shuffle": ("F.pixel_shuffle(image, 2)",), "pixel_unshuffle": ("F.pixel_unshuffle(image[:, :, 1:], 2)",),
    "channel_shuffle": ("F.channel_shuffle(image, 2)",),
    "unfold": ("F.unfold(image, 2)", "F.unfold(image, (2, 3), 2, (1, 0), (1, 2))"),
    "fold": ("F.fold(columns, (4, 5), 2)", "F.fold(columns, (5, 6), (2, 2), (2, 1), 1, (2, 2))"),
    "batch_norm": ("F.batch_norm(x, mean, var, per_class, shift)", "F.batch_norm(image, mean, var)",
                   "F.batch_norm(image, None, None, per_class, shift, True, eps=0.1)"),
    "instance_norm": ("F.instance_norm(image)", "F.instance_norm(signal, None, None, per_class, shift, eps=0.1)",
                      "F.instance_norm(image, mean, var, use_input_stats=False)"),
    "layer_norm": ("F.layer_norm(x, (4,), per_class, shift)", "F.layer_norm(image, [5, 6], eps=0.1)"),
    "rms_norm": ("F.rms_norm(x, (4,), per_class)", "F.rms_norm(image, [5, 6], eps=0.1)"),
    "group_norm": ("F.group_norm(image, 2)", "F.group_norm(signal, 4, per_class, shift, 0.1)"),
    "local_response_norm": ("F.local_response_norm(image, 3)", "F.local_response_norm(signal, 2, 0.5, 0.6, 2.0)"),
    "dropout": ("F.dropout(x, 0.5, False)", "F.dropout(x, 0.0)"), "dropout1d": ("F.dropout1d(signal, 0.5, False)",),
    "dropout2d": ("F.dropout2d(image, training=False)",), "dropout3d": ("F.dropout3d(volume, training=False)",),
    "alpha_dropout": ("F.alpha_dropout(x)",), "feature_alpha_dropout": ("F.feature_alpha_dropout(image)",),
    "gumbel_softmax": ("F.gumbel_softmax(x, 1e9)",),
    "embedding": ("F.embedding(rows, table)", "F.embedding(rows, table, padding_idx=2)",
                  "F.embedding(rows, table, -1, scale_grad_by_freq=True)"),
    "embedding_bag": ("F.embedding_bag(rows, table)", "F.embedding_bag(row, table, begins, mode='sum')",
                      "F.embedding_bag(rows, table, mode='max', padding_idx=2)",
                      "F.embedding_bag(rows, table, mode='sum', per_sample_weights=weights)",
                      "F.embedding_bag(row, table, begins, mode='mean', padding_idx=1)",
                      "F.embedding_bag(row, table, begins, mode='sum', per_sample_weights=again)"),
    "one_hot": ("F.one_hot(t, 5)", "F.one_hot(pixels, num_classes=4)"),
    "scaled_dot_product_attention": (
        "F.scaled_dot_product_attention(queries, k, v)",
        "F.scaled_dot_product_attention(queries, k, v, is_causal=True)",
        "F.scaled_dot_product_attention(queries, k, v, sees, scale=0.3)",
        "F.scaled_dot_product_attention(queries, k, v, adds)",
        "F.scaled_dot_product_attention(heads, k, v, enable_gqa=True)"),
    "l1_loss": ("F.l1_loss(x, y)", "F.l1_loss(x, y, reduction='none')", "F.l1_loss(x, y, weight=p)"),
    "mse_loss": ("F.mse_loss(x, y)", "F.mse_loss(x, y, reduction='sum')", "F.mse_loss(x, y, weight=p)"),
    "smooth_l1_loss": ("F.smooth_l1_loss(x, y)", "F.smooth_l1_loss(x, y, reduction='none', beta=0.3)"),
    "huber_loss": ("F.huber_loss(x, y)", "F.huber_loss(x, y, 'sum', 0.4, p)"),
    "binary_cross_entropy": ("F.binary_cross_entropy(p, bits)", "F.binary_cross_entropy(p, q, even, reduction='none')"),
    "binary_cross_entropy_with_logits": (
        "F.binary_cross_entropy_with_logits(x, bits)",
        "F.binary_cross_entropy_with_logits(x, p, even, reduction='sum', pos_weight=share)"),
    "kl_div": ("F.kl_div(x, p, reduction='batchmean')", "F.kl_div(x, y, reduction='none', log_target=True)"),
    "poisson_nll_loss": ("F.poisson_nll_loss(x, counts)", "F.poisson_nll_loss(p, counts, False, True, eps=1e-4, "
                         "reduction='none')"),
    "gaussian_nll_loss": ("F.gaussian_nll_loss(x, y, p)", "F.gaussian_nll_loss(x, y, spread, True, 0.9, 'none')"),
    "soft_margin_loss": ("F.soft_margin_loss(x, u)", "F.soft_margin_loss(x, u, reduction='none')"),
    "hinge_embedding_loss": ("F.hinge_embedding_loss(x, u)", "F.hinge_embedding_loss(p, u, 0.4, reduction='none')"),
    "margin_ranking_loss": ("F.margin_ranking_loss(d, 2 * d, s)",
                            "F.margin_ranking_loss(x, y, u, 0.5, reduction='none')"),
    "cosine_embedding_loss": ("F.cosine_embedding_loss(x, y, s)",
                              "F.cosine_embedding_loss(x, y, s, -0.5, reduction='none')"),
    "triplet_margin_loss": ("F.triplet_margin_loss(x, y, z)",
                            "F.triplet_margin_loss(x, y, z, 0.5, 1.0, swap=True, reduction='none')"),
    "triplet_margin_with_distance_loss": ("F.triplet_margin_with_distance_loss(x, y, z, swap=True)",
                                          "F.triplet_margin_with_distance_loss(x, y, z, margin=2.0, "
                                          "distance_function=lambda a, b: abs(a - b).sum(-1))"),
    "linear_cross_entropy": (
        "F.linear_cross_entropy(x, w, t)", "F.linear_cross_entropy(x, w, t, linear_bias=flat, ignore_index=1)",
        "F.linear_cross_entropy(x, bi[:4], pixels[:, 0, :4], reduction='sum')",
        "F.linear_cross_entropy(x, w, t, reduction='none', label_smoothing=0.3)"),
    "nll_loss": ("F.nll_loss(x, t)", "F.nll_loss(image, pixels, share)",
                 "F.nll_loss(x, t, share, ignore_index=1, reduction='none')", "F.nll_loss(x, t, ignore_index=1)"),
    "cross_entropy": ("F.cross_entropy(x, t)", "F.cross_entropy(image, pixels, share, ignore_index=2)",
                      "F.cross_entropy(x, p, share, label_smoothing=0.2)", "F.cross_entropy(x, t, reduction='none')",
                      "F.cross_entropy(x, t, share, ignore_index=1, label_smoothing=0.2)",
                      "F.cross_entropy(x, t, reduction='sum', ignore_index=1, label_smoothing=0.2)"),
    "multi_margin_loss": ("F.multi_margin_loss(x, t)",
                          "F.multi_margin_loss(x, t, 2, 0.7, share, reduction='none')"),
    "multilabel_margin_loss": ("F.multilabel_margin_loss(x, some)",
                               "F.multilabel_margin_loss(x, some, reduction='none')"),
    "multilabel_soft_margin_loss": ("F.multilabel_soft_margin_loss(x, bits)",
                                    "F.multilabel_soft_margin_loss(x, p, per_class, reduction='none')"),
    "ctc_loss": ("F.ctc_loss(log_p, spoken, steps, lengths)", "F.ctc_loss(log_p, words, steps, three, 0, 'none')",
                 "F.ctc_loss(log_p[:3], spoken, three, three, reduction='sum', zero_infinity=True)"),
}
