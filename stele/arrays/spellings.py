"""How other frameworks spell what there is here: arguments that are accepted, and names that are answered."""
from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from types import MethodType
from typing import Any, NoReturn

from stele.errors import UnknownImport, UnknownName, nearest

# An argument by a name of PyTorch's or NumPy's, and what it is called here; of several names the function has one.
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "dim":            ("axis", "axes"),
    "dims":           ("axis", "axes", "repetitions"),
    "dim1":           ("axis1",),
    "dim2":           ("axis2",),
    "keepdim":        ("keepdims",),
    "rcond":          ("rtol",),
    "input":          ("x", "logits"),
    "sorted_sequence": ("x",),
    "elements":       ("x",),
    "a":              ("x",),
    "other":          ("z", "w"),
    "exponent":       ("z",),
    "test_elements":  ("z",),
    "mat1":           ("y",),
    "mat2":           ("z",),
    "batch1":         ("y",),
    "batch2":         ("z",),
    "src":            ("v",),
    "source":         ("v",),
    "weight":         ("w", "table"),
    "indices":        ("i",),
    "target":         ("labels", "targets"),
    "num_classes":    ("classes",),
    "kernel_size":    ("size",),
    "low":            ("min",),
    "high":           ("max",),
    "a_min":          ("min",),
    "a_max":          ("max",),
    "negative_slope": ("slope",),
    "diagonal":       ("k",),
    "shifts":         ("shift",),
    "times":          ("repeats",),
    "reps":           ("repetitions",),
    "pad_width":      ("widths",),
    "constant_values": ("value",),
    "destination":    ("target",),
    "index":          ("i",),
    "obj":            ("i",),
    "ddof":           ("correction",),
    "unbiased":       ("correction",),
    "interpolation":  ("method",),
    "steps":          ("num",),
    "size":           ("shape",),
    "n":              ("n_rows",),
    "m":              ("n_cols",),
    "N":              ("n_rows", "n"),
    "M":              ("n_cols", "m"),
    "start_dim":      ("start",),
    "end_dim":        ("end",),
    "end":            ("stop",),
    "tensors":        ("xs",),
    "arrays":         ("xs",),
    "indices_or_sections": ("sections",),
    "tensor_indices_or_sections": ("sections",),
    "split_size_or_sections": ("size",),
    "split_size":     ("size",),
    "condlist":       ("conditions",),
    "choicelist":     ("choices",),
}

# An argument of NumPy's that functions here do not take, and what to write.
UNSAID: Mapping[str, str] = {
    "out": "y[...] = f(x), into a tensor that there is", "where": "st.where(mask, f(x), other)",
    "initial": "the number beside the result: st.maximum(st.max(x), initial)", "compute_uv": "st.linalg.svdvals(x)",
    "order": "x.T.reshape(sizes in reverse).T for the order 'F', nothing for 'C'",
    "casting": "x.astype(dtype)", "subok": "nothing: there are no subclasses of arrays", "like": "nothing",
}

# What to write of two arrays, where a function of one has its axis in the second place.
OF_TWO: Mapping[str, str] = {
    "max": "st.maximum(x, y)", "min": "st.minimum(x, y)", "sum": "x + y", "prod": "x * y",
    "any": "st.logical_or(x, y)", "all": "st.logical_and(x, y)",
}

# What the array API standard, NumPy and PyTorch call functions that there are: another name for the same one.
ALIASES: Mapping[str, str] = {
    "cat": "concatenate", "concat": "concatenate", "row_stack": "vstack", "permute_dims": "permute",
    "movedim": "moveaxis", "ravel": "flatten", "take_along_dim": "take_along_axis", "swapdims": "swapaxes",
    "expand_dims": "unsqueeze", "unbind": "unstack", "tensor_split": "array_split", "repeat_interleave": "repeat",
    "amax": "max", "amin": "min", "clamp": "clip", "mul": "multiply", "sub": "subtract", "div": "divide",
    "true_divide": "divide", "neg": "negative", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "mm": "matmul", "bmm": "matmul", "mv": "matmul", "baddbmm": "addmm",
    "addmv": "addmm", "absolute": "abs", "power": "pow",
    "mod": "remainder", "fix": "trunc", "arctan": "atan", "arctan2": "atan2", "arcsin": "asin", "arccos": "acos",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "gammaln": "lgamma", "psi": "digamma",
    "expit": "sigmoid", "degrees": "rad2deg", "radians": "deg2rad", "invert": "bitwise_invert",
    "bitwise_not": "bitwise_invert", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "randperm": "permutation", "array": "tensor", "asanyarray": "asarray", "ascontiguousarray": "asarray",
    "around": "round", "rint": "round", "fabs": "abs", "conjugate": "conj", "sgn": "sign", "trapz": "trapezoid",
    "promote_types": "result_type", "ger": "outer", "as_tensor": "asarray", "set_num_threads": "set_threads",
    "get_num_threads": "get_threads", "float": "float32", "double": "float64", "half": "float16", "long": "int64",
    "int": "int32", "short": "int16", "cfloat": "complex64", "cdouble": "complex128", "single": "float32",
    "intp": "int64",
}

# A name that a room does not have, and what to write.
FUNCTIONS: Mapping[str, str] = {
    "clone": "x.clone()", "range": "st.arange(start, stop, step)", "scalar_tensor": "st.tensor(x)",
    "use_deterministic_algorithms": "nothing: results are the same bits, on any number of threads",
    "set_default_device": "with st.device('cpu:1'):", "from_file": "st.tensor(numpy.fromfile(path))",
    "get_rng_state": "st.default_generator.state_dict()",
    "set_rng_state": "st.default_generator.load_state_dict(state)", "jacrev": "st.jacobian(f)", "jit": "st.compile",
    "real_if_close": "x.real",
    "jacfwd": "st.jacobian(f, mode='forward')", "detach": "st.stop_gradient(x)",
    "manual_seed_all": "st.manual_seed(seed)", "seed": "st.manual_seed(seed)", "mse_loss": "st.mse(x, y)",
    "nll_loss": "st.cross_entropy(logits, labels)", "swish": "st.silu(x)", "item": "float(x)", "numel": "x.size",
    "get_default_dtype": "st.float32, the dtype of numbers that say none",
    "set_default_dtype": "dtype='float64' where tensors are made", "inference_mode": "st.no_grad()",
    "set_grad_enabled": "with st.no_grad(): or with st.enable_grad():", "is_grad_enabled": "st.no_grad()",
    "is_tensor": "isinstance(x, st.Tensor)", "is_floating_point": "st.isdtype(x.dtype, 'real floating')",
    "is_complex": "st.isdtype(x.dtype, 'complex floating')", "iscomplexobj": "st.isdtype(x.dtype, 'complex floating')",
    "issubdtype": "st.isdtype(x.dtype, 'real floating'), or 'integral'", "ndarray": "st.Tensor",
    "isrealobj": "not st.isdtype(x.dtype, 'complex floating')", "isscalar": "st.ndim(x) == 0",
    "vectorize": "f(x) itself, st.vmap(f) or st.apply_along_axis(f, axis, x)",
    "errstate": "nothing: no number is warned of", "seterr": "nothing: no number is warned of",
    "set_printoptions": "numpy.set_printoptions(...): tensors are printed as NumPy prints arrays",
    "printoptions": "numpy.printoptions(...): tensors are printed as NumPy prints arrays", "array2string": "str(x)",
    "array_str": "str(x)", "array_repr": "repr(x)", "loadtxt": "st.tensor(numpy.loadtxt(path))",
    "genfromtxt": "st.tensor(numpy.genfromtxt(path))", "fromfile": "st.tensor(numpy.fromfile(path))",
    "frombuffer": "st.tensor(numpy.frombuffer(data))", "fromiter": "st.tensor([*values])",
    "fromstring": "st.tensor(numpy.fromstring(text, sep=' '))", "savetxt": "numpy.savetxt(path, x)",
    "savez": "st.save({name: x}, path)", "savez_compressed": "st.save({name: x}, path)",
    "tril_indices_from": "st.tril_indices(*x.shape)", "triu_indices_from": "st.triu_indices(*x.shape)",
    "diag_indices_from": "st.diag_indices(len(x), x.ndim)", "testing": "numpy.testing: its functions take tensors",
    "broadcast_tensors": "st.broadcast_arrays(x, y)", "msort": "st.sort(x, axis=0)", "histc": "st.histogram(x, bins)",
    "special": "the function itself: st.erfinv(x), st.zeta(x, z)", "svd": "st.linalg.svd(x)", "qr": "st.linalg.qr(x)",
    "cholesky": "st.linalg.cholesky(x)", "inverse": "st.linalg.inv(x)", "pinverse": "st.linalg.pinv(x)",
    "det": "st.linalg.det(x)", "logdet": "st.linalg.slogdet(x)", "slogdet": "st.linalg.slogdet(x)",
    "matrix_power": "st.linalg.matrix_power(x, n)", "chain_matmul": "st.linalg.multi_dot([x, y])",
    "cosine_similarity": "st.nn.functional.cosine_similarity(x, y)", "cdist": "st.norm(x[:, None] - y[None], axis=-1)",
    "polar": "st.complex(r * st.cos(angle), r * st.sin(angle))", "view_as_real": "st.stack([x.real, x.imag], axis=-1)",
    "view_as_complex": "st.complex(x[..., 0], x[..., 1])", "scatter_add": "st.scatter(x, i, v, axis, mode='add')",
    "autograd": "loss.backward(), st.gradients(y, x) or st.grad(f), and @st.custom_gradient for a Function",
    "mode": "st.unique(x, return_counts=True)",
    "cuda": "nothing: programs run on the CPU, as st.device('cpu') and st.device('cpu:1')", "in1d": "st.isin(x, z)",
    "poly1d": "st.polyval(p, x)", "dtype": "st.float32 or another, or its name: 'float32'",
    "ndenumerate": "numpy.ndenumerate(x)", "ndindex": "numpy.ndindex(x.shape)", "nditer": "for v in x.flatten():",
    "lib": "x.unfold(axis, size, 1) for sliding windows", "Generator": "st.default_rng(seed)",
}
METHODS: Mapping[str, str] = {
    "data_ptr": "x.numpy().ctypes.data", "stride": "x.numpy().strides", "strides": "x.numpy().strides",
    "cuda": "x: programs run on the CPU", "is_cuda": "x.device", "pin_memory": "x", "share_memory_": "x",
    "repeat": "st.repeat(x, times, axis), or st.tile(x, times)", "clamp_min": "x.clip(min=0)",
    "clamp_max": "x.clip(max=1)", "where": "st.where(condition, x, y)", "equal": "st.array_equal(x, y), or x == y",
    "sort": "st.sort(x, axis), with return_indices=True its places too",
    "values": "y, i = x.max(axis, return_indices=True)", "indices": "y, i = x.max(axis, return_indices=True)",
    "mode": "st.unique(x, return_counts=True)", "dist": "st.norm(x - y)", "inverse": "st.linalg.inv(x)",
    "det": "st.linalg.det(x)", "logdet": "st.linalg.slogdet(x)", "svd": "st.linalg.svd(x)", "qr": "st.linalg.qr(x)",
    "cholesky": "st.linalg.cholesky(x)", "at": "y = x.clone(), then y[i] = new", "backward_": "x.backward()",
    "grad_fn": "x.requires_grad", "adjoint": "x.mT.conj()",
    "angle": "st.atan2(x.imag, x.real)", "addbmm": "x + (y @ z).sum(0)", "aminmax": "x.min(axis), x.max(axis)",
    "byte": "x.astype('uint8')", "char": "x.astype('int8')", "cfloat": "x.astype('complex64')",
    "cdouble": "x.astype('complex128')", "chalf": "x.astype('complex64')", "is_nonzero": "bool(x)",
    "is_signed": "st.isdtype(x.dtype, 'signed integer')", "is_same_size": "x.shape == y.shape",
    "get_device": "x.device", "histc": "st.histogram(x, bins, (low, high))", "lu": "st.linalg.lu(x)",
    "lstsq": "st.linalg.lstsq(x, b)", "matrix_exp": "st.linalg.expm(x)", "matrix_power": "st.linalg.matrix_power(x, n)",
    "masked_scatter": "y = x.copy(), then y[mask] = values", "msort": "st.sort(x, axis=0)",
    "narrow_copy": "x.narrow(axis, start, length).copy()", "pinverse": "st.linalg.pinv(x)",
    "scatter_reduce": "st.scatter(x, i, v, axis, mode='max'), or 'min', 'add', 'mul'",
    "select_scatter": "y = x.copy(), then y[i] = new", "slice_scatter": "y = x.copy(), then y[start:stop] = new",
    "diagonal_scatter": "y = x.copy(), then y.diagonal().assign(new)", "resolve_conj": "x", "resolve_neg": "x",
    "slogdet": "st.linalg.slogdet(x)", "split_with_sizes": "x.split(sizes)", "storage": "x.numpy()",
    "untyped_storage": "x.numpy()", "solve": "st.linalg.solve(x, b)",
    "flat": "x.reshape(-1): what is written to it is written to x", "flags": "x.numpy().flags",
    "base": "x: what is written to a part of it is written to the whole", "tobytes": "x.numpy().tobytes()",
    "tofile": "x.numpy().tofile(path)", "dump": "st.save(x, path)", "dumps": "x.numpy().dumps()",
    "byteswap": "x.numpy().byteswap()", "put": "st.put(x, i, v)", "resize": "st.resize(x, shape)",
    "compress": "st.compress(condition, x, axis)", "setflags": "x: tensors may be written",
    "polygamma": "st.polygamma(n, x)", "partition": "x.assign(st.partition(x, k))", "apply_": "x.assign(f(x))",
    "map_": "x.assign(f(x, y))", "detach_": "x = x.detach()", "squeeze_": "x = x.squeeze(...): writing keeps the shape",
    "unsqueeze_": "x = x.unsqueeze(...): writing keeps the shape",
    "transpose_": "x = x.transpose(...): writing keeps the shape",
    "swapaxes_": "x = x.swapaxes(...): writing keeps the shape", "t_": "x = x.t(...): writing keeps the shape",
}
# Functions of the namespace that tensors have as methods too, beside those that `Tensor` says itself.
BORROWED = """
absolute acos acosh add addmm allclose amax amin arccos arccosh arcsin arcsinh arctan arctan2 arctanh argpartition
argsort argwhere asin asinh atan2 atanh baddbmm bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor bmm broadcast_to choose clamp copysign corrcoef cosh count_nonzero cov cross cummax
cummin cumprod cumsum cumulative_prod cumulative_sum deg2rad diag diag_embed diagflat diff digamma div divide dot
dsplit eq erfc erfinv exp2 expand_dims fix flip fliplr flipud float_power floor_divide fmax fmin fmod frac gcd ge ger
greater greater_equal gt heaviside histogram hsplit hypot i0 index_copy index_fill index_put inner isclose kron
kthvalue lcm le lerp less less_equal lgamma log10 log2 log_softmax logaddexp logaddexp2 logcumsumexp logical_and
logical_not logical_or logical_xor logit logsumexp lt masked_select median mm moveaxis movedim mul multinomial
multiply mv nan_to_num nanmean nanmedian nanquantile nansum ne neg negative nextafter nonzero norm not_equal outer
permute_dims positive quantile rad2deg reciprocal remainder repeat_interleave roll rot90 searchsorted sgn signbit sinc
sinh softmax sub subtract swapdims take_along_axis take_along_dim tensor_split tensordot tile topk trace tril triu
true_divide trunc unique unstack vdot vsplit xlogy"""
LINALG: Mapping[str, str] = {
    "tensorinv": "st.linalg.inv(x.reshape(n, n))", "tensorsolve": "st.linalg.solve(x.reshape(n, n), b.flatten())",
    "matrix_exp": "st.linalg.expm(x)", "cholesky_solve": "st.linalg.cho_solve(factor, b)", "inner": "x @ y",
    "dot": "x @ y", "triangular_solve": "st.linalg.solve_triangular(x, b)",
}


class Borrowed:
    """A function of the namespace as a method, looked for when it is asked for: its family may not be loaded yet."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: object, owner: type) -> Any:
        f = getattr(sys.modules["stele"], self.name)
        return f if x is None else MethodType(f, x)


def absent(room: str, name: str, elsewhere: Mapping[str, str]) -> property:
    """A name that an object does not have, for its class: who asks learns what to write. With `__getattr__` instead,
    all that is there would be slower to have.
    """
    def answer(_: object) -> NoReturn:
        raise unknown(room, name, (), elsewhere)

    return property(answer)


def argument(name: str, known: Collection[str], given: Collection[str] = ()) -> str | None:
    """What an argument is called here, if one of that meaning is known and not given yet.

    >>> argument("dim", ("x", "axis")), argument("dim", ("x",))
    ('axis', None)
    """
    return next((own for own in ARGUMENTS.get(name, ()) if own in known and own not in given), None)


def unknown(room: str, name: str, known: Collection[str], elsewhere: Mapping[str, str]) -> UnknownName | UnknownImport:
    """The error for a name that a room does not have: what to write, or the nearest name there is.

    >>> print(unknown("stele", "jit", ["compile"], FUNCTIONS))
    stele has no 'jit'. Write st.compile.
    """
    importing = sys._getframe(2).f_code.co_name == IMPORTING
    if importing and not is_none(room, name):
        return UnknownName(f"{room} has no {name!r}")       # yet: it is a module, which Python imports next
    kind = UnknownImport if importing else UnknownName
    if name in elsewhere:
        return kind(f"{room} has no {name!r}", hint=f"Write {elsewhere[name]}.")
    lower = {own.lower(): own for own in known}
    near = nearest(name.lower(), lower, 0.7)
    return kind(f"{room} has no {name!r}", hint=f"Did you mean {lower[near]!r}?" if near else None)


IMPORTING = "_handle_fromlist"      # what of Python's asks for the names of `from room import name`


def is_none(room: str, name: str) -> bool:
    """Whether a room is a package without a module of that name, which would be imported next."""
    return room in sys.modules and find_spec(f"{room}.{name}") is None
