"""How other frameworks spell what there is here: arguments that are accepted, and names that are answered."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn

from stele.errors import UnknownName, nearest

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
    "start_dim":      ("start",),
    "end_dim":        ("end",),
    "end":            ("stop",),
    "tensors":        ("xs",),
    "arrays":         ("xs",),
    "indices_or_sections": ("sections",),
    "tensor_indices_or_sections": ("sections",),
    "split_size_or_sections": ("size",),
    "condlist":       ("conditions",),
    "choicelist":     ("choices",),
}

# What the array API standard, NumPy and PyTorch call functions that there are: another name for the same one.
ALIASES: Mapping[str, str] = {
    "cat": "concatenate", "concat": "concatenate", "row_stack": "vstack", "permute_dims": "permute",
    "movedim": "moveaxis", "ravel": "flatten", "take_along_dim": "take_along_axis", "swapdims": "swapaxes",
    "expand_dims": "unsqueeze",
    "unbind": "unstack", "tensor_split": "array_split", "repeat_interleave": "repeat", "amax": "max", "amin": "min",
    "clamp": "clip", "mul": "multiply", "sub": "subtract", "div": "divide", "true_divide": "divide", "neg": "negative",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "mm": "matmul", "bmm": "matmul", "mv": "matmul", "baddbmm": "addmm", "addmv": "addmm", "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod", "absolute": "abs", "power": "pow", "mod": "remainder", "fix": "trunc",
    "arctan": "atan", "arctan2": "atan2", "arcsin": "asin", "arccos": "acos", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "gammaln": "lgamma", "psi": "digamma", "expit": "sigmoid", "degrees": "rad2deg",
    "radians": "deg2rad", "invert": "bitwise_invert", "bitwise_not": "bitwise_invert",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "randperm": "permutation",
}

# A name that a room does not have, and what to write.
FUNCTIONS: Mapping[str, str] = {
    "dot": "x @ y", "array": "st.tensor(data)", "as_tensor": "st.asarray(data)", "jit": "st.compile",
    "detach": "st.stop_gradient(x)", "manual_seed_all": "st.manual_seed(seed)", "seed": "st.manual_seed(seed)",
    "set_num_threads": "st.set_threads(n)", "get_num_threads": "st.get_threads()", "mse_loss": "st.mse(x, y)",
    "nll_loss": "st.cross_entropy(logits, labels)", "swish": "st.silu(x)", "item": "float(x)", "numel": "x.size",

    "cuda": "nothing: programs run on the CPU, as st.device('cpu') and st.device('cpu:1')",
}
METHODS: Mapping[str, str] = {
    "clamp": "x.clip(0, 1)", "mm": "x @ y", "bmm": "x @ y", "dot": "x @ y", "add": "x + y", "sub": "x - y",
    "mul": "x * y", "div": "x / y", "neg": "-x", "norm": "x.square().sum().sqrt()", "numel": "x.size",
    "dim": "x.ndim", "t": "x.T", "half": "x.astype('float16')", "type": "x.astype('float32')",
    "type_as": "x.astype(y.dtype)", "contiguous": "x", "cpu": "x.to('cpu')", "cuda": "x: programs run on the CPU",
    "softmax": "st.softmax(x)", "log_softmax": "st.log_softmax(x)",
    "repeat": "st.repeat(x, times, axis), or st.tile(x, times)",
    "expand_as": "x.expand(y.shape)", "view_as": "x.reshape(y.shape)", "add_": "x += y", "mul_": "x *= y",
    "fill_": "x.assign(st.full(x.shape, value))", "backward_": "x.backward()", "permute_dims": "x.permute(1, 0)",
    "flip": "st.flip(x, axis)", "logsumexp": "st.logsumexp(x, axis)", "square_": "x.square()", "amax": "x.max(axis)",
    "amin": "x.min(axis)", "data_ptr": "x.numpy().ctypes.data", "nbytes": "x.numpy().nbytes", "copy": "x.clone()",
}
LINALG: Mapping[str, str] = {
    "tensorinv": "st.linalg.inv(x.reshape(n, n))", "tensorsolve": "st.linalg.solve(x.reshape(n, n), b.flatten())",
    "matrix_exp": "st.linalg.expm(x)", "cholesky_solve": "st.linalg.cho_solve(factor, b)", "inner": "x @ y",
    "dot": "x @ y", "triangular_solve": "st.linalg.solve_triangular(x, b)",
}


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


def unknown(room: str, name: str, known: Collection[str], elsewhere: Mapping[str, str]) -> UnknownName:
    """The error for a name that a room does not have: what to write, or the nearest name there is.

    >>> print(unknown("stele", "jit", ["compile"], FUNCTIONS))
    stele has no 'jit'. Write st.compile.
    """
    if name in elsewhere:
        return UnknownName(f"{room} has no {name!r}", hint=f"Write {elsewhere[name]}.")
    lower = {own.lower(): own for own in known}
    near = nearest(name.lower(), lower, 0.7)
    return UnknownName(f"{room} has no {name!r}", hint=f"Did you mean {lower[near]!r}?" if near else None)
