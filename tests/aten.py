"""One or more calls of every core op of PyTorch's: all arguments of its schema in order, but for those that say where."""
# ruff: noqa: E501
from __future__ import annotations

from typing import Any

import numpy as np

RNG = np.random.default_rng(7)
Case = tuple[Any, ...]


def f(*shape: int) -> Any:
    """Random floats."""
    return RNG.standard_normal(shape).astype("f4")


def u(*shape: int) -> Any:
    """Random floats between 0.1 and 0.9."""
    return RNG.uniform(0.1, 0.9, shape).astype("f4")


def i(high: int, *shape: int) -> Any:
    """Random integers."""
    return RNG.integers(0, high, shape)


def b(*shape: int) -> Any:
    """Random yes and no."""
    return RNG.random(shape) < 0.5


def z(*shape: int) -> Any:
    """Random complex numbers."""
    return (f(*shape) + 1j * f(*shape)).astype("c8")


def each(names: str, *cases: Case) -> dict[str, list[Case]]:
    """The same cases for several ops."""
    return {name: list(cases) for name in names.split()}


X, ROW, WHOLE, YES, EMPTY = f(2, 3), f(3), i(9, 2, 3) - 4, b(2, 3), f(0, 3)
IMAGE, VOLUME, SIGNAL = f(2, 3, 6, 5), f(2, 2, 4, 5, 4), f(2, 3, 7)
W, WT, BIAS = f(4, 3, 3, 2), f(3, 4, 3, 2), f(4)
ONES2, ZEROS2 = [1, 1], [0, 0]

# Random numbers, and numbers that nobody may use: shapes and dtypes alone are compared.
DRAWN = {"rand", "randn", "randperm", "native_dropout", "empty.memory_format", "empty_strided", "rand_like", "randn_like",
         "randint", "randint.low", "randint_like", "randint_like.low_dtype", "bernoulli", "bernoulli.p", "bernoulli.Tensor",
         "multinomial", "poisson", "binomial"}

CASES: dict[str, list[Case]] = {
    **each("cos cosh erf exp expm1 isinf isnan sin sinh tan tanh sigmoid relu abs neg", (X,), (WHOLE,), (EMPTY,)),
    **each("acos asin atanh", (u(2, 3),)), **each("acosh", (u(2, 3) + 1,)), **each("asinh atan", (X,), (WHOLE,)),
    **each("log log10 log1p log2 sqrt rsqrt reciprocal", (u(2, 3),), (np.arange(1, 4),)),
    **each("ceil floor trunc round", (X * 3,), (np.array([0.5, 1.5, -0.5], "f4"),)),
    **each("sign", (X,), (WHOLE,), (YES,)), **each("logical_not", (YES,), (WHOLE,)),
    **each("bitwise_not", (WHOLE,), (YES,)),
    **each("add.Tensor sub.Tensor", (X, ROW, 1), (X, WHOLE, 2), (X, np.float32(2), 1), (WHOLE, i(5, 3), -3)),
    **each("add.Scalar sub.Scalar", (X, 2.5, 1), (WHOLE, 2, 3), (WHOLE, 1.5, 1)),
    **each("mul.Tensor", (X, ROW), (WHOLE, X), (YES, YES), (EMPTY, ROW)), **each("mul.Scalar", (X, 2), (WHOLE, 0.5)),
    **each("div.Tensor", (X, u(3)), (WHOLE, i(4, 3) + 1)), **each("div.Scalar", (X, 3), (WHOLE, 2)),
    **each("div.Tensor_mode", (X * 5, u(3), "floor"), (WHOLE, i(4, 3) + 1, "floor"), (WHOLE, i(4, 3) + 1, "trunc"),
           (X * 5, u(3), "trunc"), (WHOLE, i(4, 3) + 1, None)),
    **each("div.Scalar_mode", (WHOLE, 2, "floor"), (X, 0.3, "trunc")),
    **each("remainder.Tensor fmod.Tensor", (X * 5, u(3)), (WHOLE, i(4, 3) + 1)),
    **each("remainder.Scalar fmod.Scalar", (X * 5, -0.7), (WHOLE, 3)),
    **each("pow.Tensor_Tensor", (u(2, 3), ROW), (WHOLE, i(3, 3))), **each("pow.Scalar", (2, X), (2.5, WHOLE)),
    **each("pow.Tensor_Scalar", (X, 2), (WHOLE, 3), (u(3), -0.5), (WHOLE, 2.0)),
    **each("atan2 maximum minimum", (X, ROW)), **each("atan2.out", (X, ROW, f(2, 3))),
    **each("eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor", (WHOLE, i(3, 3)), (X, ROW)),
    **each("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", (WHOLE, 1), (X, 0.5)),
    **each("logical_and logical_or logical_xor", (YES, b(3)), (WHOLE, i(2, 3))),
    **each("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", (WHOLE, i(9, 3)), (YES, b(3))),
    **each("bitwise_and.Scalar bitwise_or.Scalar", (WHOLE, 6)),
    **each("clamp", (X, -0.5, None), (X, None, 0.5), (WHOLE, -1, 2)), **each("clamp.Tensor", (X, ROW, ROW + 1)),
    **each("where.self", (YES, X, ROW), (YES, WHOLE, X)), **each("elu", (X, 1.0, 1.0, 1.0), (X, 0.5, 2.0, 3.0)),
    **each("gelu", (X, "none"), (X, "tanh")), **each("leaky_relu", (X, 0.2)), **each("hardtanh", (X, -0.5, 0.7)),
    **each("fill.Scalar", (X, 3.5)), **each("full", ([2, 3], 1.5, None)), **each("full_like", (WHOLE, 2, None), (X, 2, "int64")),
    **each("scalar_tensor", (2.5, None), (3, "int64")), **each("empty.memory_format", ([2, 3], "float32")),
    **each("empty_strided", ([2, 3], [3, 1], "float32")), **each("arange.start_step", (1, 10, 3, None), (0.0, 1.0, 0.25, None)),
    **each("rand randn", ([2, 3], "float32")), **each("randperm", (5, "int64")),
    **each("rand_like randn_like", (X, None), (WHOLE, "float64")), **each("randint", (5, [2, 3], "int64"), (5, [0], "float32")),
    **each("randint.low", (-2, 5, [2, 3], "int64")), **each("randint_like", (X, 5, None), (X, 5, "int64")),
    **each("randint_like.low_dtype", (WHOLE, -2, 5, None)), **each("bernoulli", (abs(X) / 9,)),
    **each("bernoulli.p", (X, 0.3), (WHOLE, 0.3)), **each("bernoulli.Tensor", (X, abs(ROW) / 9)),
    **each("multinomial", (abs(X) + 1, 2, False), (abs(ROW) + 1, 7, True)), **each("poisson", (abs(X),)),
    **each("binomial", (abs(X) // 1, abs(X) / 9)),
    **each("_to_copy", (X, "int64"), (WHOLE, "float32"), (X, None)),

    **each("any", (YES,), (X,)), **each("any.dim", (YES, 1, False)), **each("any.dims", (YES, [0, 1], True), (X, None, False)),
    **each("sum.dim_IntList", (X, [0], False, None), (WHOLE, None, False, None), (X, [], True, "float64"), (YES, [1], False, None)),
    **each("mean", (X, None)), **each("mean.dim", (X, [1], True, None), (WHOLE, [0], False, "float32")),
    **each("prod", (X, None), (WHOLE, None)), **each("prod.dim_int", (X, 1, False, None)),
    **each("amax amin", (X, [1], False), (X, [], True), (WHOLE, [0], False)),
    **each("argmax argmin", (X, None, False), (X, 1, True)), **each("max.dim min.dim", (X, 1, False), (WHOLE, 0, True)),
    **each("var.correction", (X, [1], 1, False), (X, None, 0, True)), **each("var.dim", (X, [0], True, True)),
    **each("cumsum", (X, 1, None), (WHOLE, 0, None)), **each("sort", (X, 1, False), (X, 0, True)),
    **each("topk", (SIGNAL, 3, -1, True, True), (SIGNAL, 2, 1, False, True)),
    **each("_softmax _log_softmax", (X, 1, False), (SIGNAL, 1, False)), **each("nonzero", (YES,), (WHOLE,)),
    **each("_local_scalar_dense", (np.array(2.5, "f4"),)),

    **each("alias", (X,)), **each("clone", (X,)), **each("copy", (X, ROW), (WHOLE, X)),
    **each("cat", ([X, X], 0), ([X, WHOLE], 1), ([f(0), X], 1)), **each("expand", (ROW, [2, -1], False), (f(2, 1), [2, 4], False)),
    **each("view", (X, [3, 2]), (X, [-1])), **each("permute", (SIGNAL, [2, 0, 1])), **each("flip", (X, [0, 1])),
    **each("repeat", (ROW, [2, 3])), **each("unsqueeze", (X, 1), (X, -1)), **each("squeeze.dim", (f(2, 1, 3), 1), (X, 0)),
    **each("squeeze.dims", (f(2, 1, 1), [0, 1, 2])), **each("select.int", (SIGNAL, 1, -1)),
    **each("slice.Tensor", (SIGNAL, 2, 1, 2 ** 63 - 1, 2), (SIGNAL, 1, -2, -1, 1)),
    **each("select_scatter", (X, f(2), 1, -1)), **each("slice_scatter", (X, f(2, 2), 1, 1, 2 ** 63 - 1, 1)),
    **each("split_with_sizes", (SIGNAL, [3, 4], 2)), **each("diagonal", (SIGNAL, 1, 1, 2)),
    **each("as_strided", (X, [2, 2], [1, 3], 1), (ROW, [2, 2], [1, 1], 0)),
    **each("constant_pad_nd", (X, [1, 2, 0, -1], 1.5), (WHOLE, [1, 1], 7)),
    **each("reflection_pad1d", (SIGNAL, [2, 1])), **each("reflection_pad2d replication_pad2d", (IMAGE, [2, 1, 0, 3])),
    **each("reflection_pad3d replication_pad3d", (VOLUME, [1, 1, 2, 0, 1, 2])),

    **each("index.Tensor", (SIGNAL, [i(2, 4)]), (SIGNAL, [None, i(3, 2, 1), i(7, 4)]), (X, [YES])),
    **each("index_put", (X, [i(2, 1), i(3, 1)], f(1), False), (X, [i(2, 5)], f(5, 3), True),
           (SIGNAL, [None, i(3, 4)], f(2, 4, 7), True), (X, [YES], np.float32(0), False)),
    **each("index_select", (X, 1, i(3, 5))), **each("gather", (X, 1, i(3, 2, 4), False), (X, 0, i(2, 1, 2), False)),
    **each("scatter.value", (X, 1, i(3, 2, 1), 9.0)), **each("scatter.src", (X, 1, np.array([[2, 0], [1, 2]]), f(2, 3))),
    **each("scatter_add", (X, 0, i(2, 4, 3), f(4, 3))),
    **each("scatter_reduce.two", *((X, 1, i(3, 2, 4), f(2, 4), how, own) for how in ("sum", "prod", "mean", "amax", "amin")
                                   for own in (True, False))),
    **each("masked_scatter", (X, YES, f(6))), **each("embedding", (f(5, 3), i(5, 2, 4), -1, False, False)),
    **each("embedding_dense_backward", (f(2, 4, 3), i(5, 2, 4), 5, 1, False), (f(4, 3), i(5, 4), 5, -1, True)),
    **each("_embedding_bag", *((f(5, 3), i(5, 6), np.array([0, 2, 5]), False, mode, False, None, False, -1) for mode in (0, 1, 2))),

    **each("mm", (X, f(3, 4)), (EMPTY, f(3, 4))), **each("bmm", (SIGNAL, f(2, 7, 4))),
    **each("addmm", (f(4), X, f(3, 4), 1, 1), (f(2, 4), X, f(3, 4), 0.5, 2)),
    **each("convolution", (IMAGE, W, BIAS, ONES2, ZEROS2, ONES2, False, ZEROS2, 1),
           (IMAGE, f(6, 1, 2, 2), None, [2, 1], [1, 0], [1, 2], False, ZEROS2, 3),
           (IMAGE, WT, BIAS, [2, 1], [1, 0], ONES2, True, [1, 0], 1), (SIGNAL, f(4, 3, 3), None, [1], [1], [1], False, [0], 1),
           (VOLUME, f(3, 2, 2, 2, 2), f(3), [1], [0], [1], False, [0], 1)),
    **each("convolution_backward", (f(2, 4, 4, 4), IMAGE, W, [4], ONES2, ZEROS2, ONES2, False, ZEROS2, 1, [True, True, True])),
    **each("_cdist_forward", (X, f(4, 3), 2.0, None), (X, f(4, 3), 1.0, None)), **each("_pdist_forward", (f(4, 3), 2.0)),
    **each("_fft_r2c", (X, [1], 0, True), (X, [0, 1], 2, True), (X, [1], 1, False)),
    **each("_fft_c2r", (z(2, 3), [1], 2, 4), (z(2, 3), [0, 1], 0, 5)),

    **each("avg_pool2d", (IMAGE, [2, 3], [], [1, 1], True, True, None), (IMAGE, [2, 2], [2, 1], ZEROS2, False, False, 3)),
    **each("avg_pool3d", (VOLUME, [2], [1], [1], False, False, None)),
    **each("avg_pool2d_backward", (f(2, 3, 3, 2), IMAGE, [2, 2], [2, 2], ZEROS2, False, True, None)),
    **each("max_pool2d_with_indices", (IMAGE, [2, 3], [2, 1], [1, 1], ONES2, False), (IMAGE, [2, 2], [], ZEROS2, ONES2, True)),
    **each("max_pool3d_with_indices", (VOLUME, [2, 2, 2], [], [0], [1], False)),
    **each("max_pool2d_with_indices_backward", (f(2, 3, 3, 2), IMAGE, [2, 2], [2, 2], ZEROS2, ONES2, False, i(30, 2, 3, 3, 2))),
    **each("_adaptive_avg_pool2d", (IMAGE, [2, 3])), **each("_adaptive_avg_pool3d", (VOLUME, [2, 3, 2])),
    **each("_adaptive_avg_pool2d_backward", (f(2, 3, 2, 3), IMAGE)),
    **each("col2im", (f(2, 12, 9), [4, 4], [2, 2], ONES2, ZEROS2, ONES2)),

    **each("upsample_nearest2d.vec", (IMAGE, [9, 4], None), (IMAGE, None, [2.0, 1.5])),
    **each("upsample_bilinear2d.vec", (IMAGE, [9, 4], False, None), (IMAGE, None, True, [2.0, 1.5])),
    **each("grid_sampler_2d", *((IMAGE, f(2, 4, 3, 2), mode, outside, mode == 0) for mode, outside in ((0, 0), (1, 1), (0, 2)))),

    **each("native_layer_norm", (SIGNAL, [3, 7], f(3, 7), f(3, 7), 1e-5), (X, [3], None, None, 1e-3)),
    **each("native_layer_norm_backward", (f(2, 3), X, [3], f(2, 1), u(2, 1), ROW, f(3), [True, True, True])),
    **each("native_group_norm", (f(2, 4, 3), BIAS, f(4), 2, 4, 3, 2, 1e-5)),
    **each("native_group_norm_backward", (f(2, 4, 3), f(2, 4, 3), f(2, 2), u(2, 2), BIAS, 2, 4, 3, 2, [True, True, True])),
    **each("_native_batch_norm_legit", (IMAGE, ROW, f(3), f(3), u(3), True, 0.1, 1e-5)),
    **each("_native_batch_norm_legit.no_stats", (IMAGE, ROW, f(3), True, 0.1, 1e-5)),
    **each("_native_batch_norm_legit_no_training", (IMAGE, ROW, f(3), f(3), u(3), 0.1, 1e-5)),
    **each("native_dropout", (X, 0.4, True)),

    **each("sym_size.int", (X, 1)), **each("sym_numel", (X,)), **each("sym_stride.int", (SIGNAL, 1)),
    **each("sym_storage_offset", (X,)),
    **each("_trilinear", (f(4, 3), f(5, 3), f(4, 5), [1], [0], [2], [2], 1)),
    **each("linalg_matrix_exp", (f(2, 3, 3),)),
    **each("kthvalue", (f(3, 5), 2, 1, False), (f(3, 5), 1, 0, True)), **each("median nanmedian", (f(3, 4),)),
    **each("median.dim nanmedian.dim", (f(3, 4), 1, False), (f(3, 5), 0, True)),
    **each("cummax cummin", (f(3, 5), 1)), **each("cumprod", (X, 1, None)), **each("logcumsumexp", (X, 1)),
    **each("searchsorted.Tensor", (np.sort(f(2, 5)), f(2, 3), False, True, None, None),
           (np.sort(f(5)), X, True, False, None, None)),
    **each("bucketize.Tensor", (X, np.sort(f(4)), False, False), (X, np.sort(f(4)), True, True)),
    **each("i0 special_i0e special_i1 special_i1e special_erfcx", (X,)), **each("polygamma", (1, u(2, 3))),
    **each("special_zeta", (u(2, 3) + 2, u(3))), **each("unfold", (f(3, 7), 1, 3, 2)),
    **each("linalg_inv_ex", (np.eye(3, dtype="f4") * 2 + np.ones((2, 3, 3), "f4"), False)),
    **each("cholesky_solve", (X.T, np.eye(3, dtype="f4") + np.tri(3, dtype="f4"), False), (X.T, np.eye(3, dtype="f4") * 2, True)),
    **each("cholesky_inverse", (np.eye(3, dtype="f4") + np.tri(3, dtype="f4"), False)),
    **each("scatter.reduce", (X, 1, np.array([[2, 0], [1, 2]]), X + 1, "multiply"), (X, 1, np.array([[2, 2]]), X, "add")),
    **each("scatter.value_reduce", (X, 1, np.array([[2, 0], [1, 2]]), 3.0, "multiply")),
    **each("gcd lcm", (WHOLE, np.array([4, 6, 0]))),
    **each("linalg_cholesky_ex", (np.eye(3, dtype="f4") * 2 + np.ones((2, 3, 3), "f4"), True, False)),
    **each("linalg_solve_triangular", (np.eye(3, dtype="f4") + 2 * np.tri(3, dtype="f4").T, f(3, 2), True, True, False)),
    **each("_upsample_bilinear2d_aa _upsample_bicubic2d_aa", (IMAGE, [3, 4], False, None, None)),
    **each("fractional_max_pool2d", (IMAGE, [2, 2], [3, 2], u(2, 3, 2))),
    **each("rrelu_with_noise_functional", (X, f(2, 3), 0.1, 0.3, False)),
    **each("diagonal_scatter", (SIGNAL, f(2, 3), 1, 1, 2), (X, f(2), 0, 0, 1)),
    **each("as_strided_scatter", (X, f(2, 2), [2, 2], [1, 3], 1), (WHOLE, i(9, 2, 2), [2, 2], [3, 1], None)),
    **each("fake_quantize_per_tensor_affine_cachemask", (SIGNAL, 0.02, 3, -50, 50), (X, 0.5, 0, 0, 3)),
    **each("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", *(
        (X, np.float32(0.25), np.int32(1), np.int64(on), -3, 3) for on in (0, 1))),
    **each("fake_quantize_per_channel_affine_cachemask", (SIGNAL, u(3), np.array([1, 0, 2], "i4"), 1, -2, 2)),
}
"""By the op's name here. What a kernel leaves out for its own gradients is not compared."""
