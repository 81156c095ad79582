"""Stele: a deep-learning framework that compiles itself."""
from .compiled import compile
from .functions import (
    abs, add, all, any, arange, argmax, argmin, atan, avg_pool2d, binary_cross_entropy, broadcast_to, ceil, clip,
    concatenate, conv2d, cos, cosh, cross_entropy, divide, elu, embedding, equal, erf, eval, exp, expm1, eye, flatten,
    flip, floor, floor_divide, from_dlpack, from_numpy, full, full_like, gelu, greater, greater_equal, isfinite,
    isinf, isnan, layer_norm, leaky_relu, less, less_equal, linspace, log, log1p, log_sigmoid, log_softmax,
    logical_and, logical_not, logical_or, logical_xor, logsumexp, matmul, matrix_transpose, max, max_pool2d, maximum,
    mean, min, minimum, moveaxis, mse, multiply, negative, normalize, not_equal, one_hot, ones, ones_like, pad,
    permute, pick, pow, prod, reciprocal, relu, remainder, repeat, reshape, roll, round, rsqrt, sigmoid, sign, silu,
    sin, sinh, softmax, softplus, split, sqrt, square, squeeze, stack, std, stop_gradient, subtract, sum, swapaxes,
    take, tan, tanh, tril, triu, trunc, unsqueeze, var, where, zeros, zeros_like,
)
from .gradient import grad, gradients, hessian, jvp, value_and_grad, vjp
from .handle import enable_grad, no_grad
from .ir.types import bfloat16, bool_, float16, float32, float64, int32, int64, uint8, uint32
from .pipeline import Options, get_threads, set_threads
from .random import bernoulli, dropout, manual_seed, normal, rand, randint, randn, uniform
from .scan import scan
from .symbolic import function, placeholder
from .tensor import Tensor, tensor

__all__ = [
    "Options", "Tensor", "abs", "add", "all", "any", "arange", "argmax", "argmin", "atan", "avg_pool2d", "bernoulli",
    "bfloat16", "binary_cross_entropy", "bool_", "broadcast_to", "ceil", "clip", "compile", "concatenate", "conv2d",
    "cos", "cosh", "cross_entropy", "divide", "dropout", "elu", "embedding", "enable_grad", "equal", "erf", "eval",
    "exp", "expm1", "eye", "flatten", "flip", "float16", "float32", "float64", "floor", "floor_divide", "from_dlpack",
    "from_numpy", "full", "full_like", "function", "gelu", "get_threads", "grad", "gradients", "greater",
    "greater_equal", "hessian", "int32", "int64", "isfinite", "isinf", "isnan", "jvp", "layer_norm", "leaky_relu",
    "less", "less_equal", "linspace", "log", "log1p", "log_sigmoid", "log_softmax", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logsumexp", "manual_seed", "matmul", "matrix_transpose", "max", "max_pool2d",
    "maximum", "mean", "min", "minimum", "moveaxis", "mse", "multiply", "negative", "no_grad", "normal", "normalize",
    "not_equal", "one_hot", "ones", "ones_like", "pad", "permute", "pick", "placeholder", "pow", "prod", "rand",
    "randint", "randn", "reciprocal", "relu", "remainder", "repeat", "reshape", "roll", "round", "rsqrt", "scan",
    "set_threads", "sigmoid", "sign", "silu", "sin", "sinh", "softmax", "softplus", "split", "sqrt", "square",
    "squeeze", "stack", "std", "stop_gradient", "subtract", "sum", "swapaxes", "take", "tan", "tanh", "tensor",
    "tril", "triu", "trunc", "uint32", "uint8", "uniform", "unsqueeze", "value_and_grad", "var", "vjp", "where",
    "zeros", "zeros_like",
]
