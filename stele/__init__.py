"""Stele: a deep-learning framework that compiles itself."""
import importlib
import sys
from typing import TYPE_CHECKING, Any

from stele.arrays import creation, functions, namespace
from stele.arrays.creation import *  # noqa: F403
from stele.arrays.functions import *  # noqa: F403
from stele.arrays.namespace import *  # noqa: F403
from stele.arrays.namespace import namespace_info as __array_namespace_info__  # noqa: F401
from stele.arrays.spellings import ALIASES, FUNCTIONS, METHODS, is_none, unknown
from stele.arrays.tensor import Tensor, tensor
from stele.backend.devices import device
from stele.eager.handle import eager, enable_grad, no_grad
from stele.interop.introduce import introduce
from stele.interop.missing import answer
from stele.interop.names import FRAMEWORKS
from stele.ir.types import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from stele.ir.types import bool_ as bool

if TYPE_CHECKING:
    from stele import data, debug, errors, fft, io, linalg, metrics, nn, optim, random, train
    from stele.arrays.everyday import *  # noqa: F403
    from stele.arrays.families import *  # noqa: F403
    from stele.arrays.generator import default_generator, default_rng
    from stele.arrays.grids import *  # noqa: F403
    from stele.arrays.lines import *  # noqa: F403
    from stele.arrays.random import *  # noqa: F403
    from stele.arrays.sets import *  # noqa: F403
    from stele.arrays.sized import *  # noqa: F403
    from stele.call.compiled import compile
    from stele.call.symbolic import function, placeholder
    from stele.higher.called import op
    from stele.higher.checkpoint import checkpoint
    from stele.higher.collective import all_gather, axis_index, axis_size, pmax, pmean, pmin, psum
    from stele.higher.control import associative_scan, cond, fori_loop, map, switch, while_loop
    from stele.higher.custom import custom_gradient, custom_jvp
    from stele.higher.fixed import fixed_point
    from stele.higher.foreign import foreign
    from stele.higher.gradient import grad, gradients, jvp, value_and_grad, vjp
    from stele.higher.jacobian import hessian, hvp, jacobian
    from stele.higher.scan import scan
    from stele.higher.vmap import vmap
    from stele.inspect.lint.function import lint
    from stele.inspect.profile.function import profile
    from stele.pipeline import Options, get_threads, set_threads
    from stele.saving import load, save

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

# Loaded when they are first named: rooms of the public interface, and functions by their module.
ROOMS = ("data", "debug", "errors", "fft", "io", "linalg", "metrics", "nn", "optim", "random", "train")
ELSEWHERE = "errors", "metrics", "data", "optim", "nn", "nn.functional", "fft", "linalg"    # the last that has it
FAMILIES = {
    "arrays.families": """
addmm argsort avg_pool2d bucketize conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
convolve corrcoef count_nonzero cov cummax cummin cumprod cumsum cumulative_prod cumulative_sum diff digamma
einsum entr erfcx erfinv histogram i0 i0e i1 i1e index_add inner interp isin kron kthvalue lgamma log_ndtr
logaddexp2 logcumsumexp logit max_pool2d median nanmax nanmean nanmedian nanmin nanpercentile nanprod
nanquantile nanstd nansum nanvar ndtr ndtri norm outer percentile polygamma quantile scatter searchsorted
segment_max segment_min segment_prod segment_sum sinc sort take_along_axis tensordot top_k topk trapezoid vecdot
xlog1py xlogy zeta""",
    "arrays.sized": """
argwhere bincount broadcast_shapes masked_select nonzero repeat tril_indices triu_indices unique unique_all
unique_counts unique_inverse unique_values where""",
    "arrays.random": """
bernoulli dropout manual_seed multinomial normal permutation poisson rand rand_like randint randint_like randn
randn_like uniform""",
    "arrays.everyday": """
argpartition array_equal array_equiv average bitwise_count choose correlate cumulative_trapezoid diagflat
digitize divmod dot ediff1d gcd gradient histogram2d histogram_bin_edges histogramdd iscomplex isreal lcm lexsort
matvec modf nanargmax nanargmin nancumprod nancumsum packbits partition poly polyadd polyder polydiv polyfit
polyint polymul polysub polyval ptp resize rollaxis roots trace unpackbits unwrap vander vdot vecmat""",
    "arrays.grids": """
bartlett blackman c_ diag_indices fromfunction hamming hanning identity indices ix_ kaiser
mgrid ogrid r_ ravel_multi_index s_ tri unravel_index""",
    "arrays.lines": "geomspace linspace logspace",
    "arrays.sets": """
apply_along_axis block compress copy copyto extract fill_diagonal flatnonzero intersect1d ndim piecewise place
put put_along_axis putmask setdiff1d setxor1d shape size trim_zeros union1d""",
}
MODULES = {
    **{module: tuple(names.split()) for module, names in FAMILIES.items()},
    "arrays.generator": ("default_generator", "default_rng"),
    "call.compiled": ("compile",), "call.symbolic": ("function", "placeholder"), "higher.scan": ("scan",),
    "higher.checkpoint": ("checkpoint",), "higher.vmap": ("vmap",),
    "higher.control": ("associative_scan", "cond", "fori_loop", "map", "switch", "while_loop"),
    "higher.collective": ("all_gather", "axis_index", "axis_size", "pmax", "pmean", "pmin", "psum"),
    "higher.gradient": ("grad", "gradients", "jvp", "value_and_grad", "vjp"),
    "higher.called": ("op",), "higher.custom": ("custom_gradient", "custom_jvp"), "higher.fixed": ("fixed_point",),
    "higher.foreign": ("foreign",), "higher.jacobian": ("hessian", "hvp", "jacobian"),
    "inspect.lint.function": ("lint",), "inspect.profile.function": ("profile",),
    "pipeline": ("Options", "get_threads", "set_threads"),
    "linalg": ("cross",), "saving": ("load", "save"),
}
LATER = {name: f"stele.{module}" for module, names in MODULES.items() for name in names}

__all__ = [
    "Options", "Tensor", "all_gather", "associative_scan", "axis_index", "axis_size", "bfloat16", "bool", "bool_",
    "checkpoint", "compile", "complex64", "complex128", "cond", "custom_gradient", "custom_jvp", "data", "debug",
    "default_generator", "default_rng", "device", "eager", "enable_grad", "errors", "fft", "fixed_point", "float16",
    "float32", "float64", "foreign", "fori_loop", "function", "get_threads", "grad", "gradients", "hessian", "hvp",
    "int8", "int16", "int32", "int64", "io", "jacobian", "jvp", "linalg", "lint", "load", "map", "metrics", "nn",
    "no_grad", "op", "optim", "placeholder", "pmax", "pmean", "pmin", "profile", "psum", "random", "save", "scan",
    "set_threads", "switch", "tensor", "train", "uint8", "uint16", "uint32", "uint64", "value_and_grad", "vjp",
    "vmap", "while_loop",
]
__all__ += [name for names in FAMILIES.values() for name in names.split()]
__all__ += functions.__all__
__all__ += creation.__all__
__all__ += namespace.__all__


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """A part of the public interface, loaded now; or the error that says which name there is."""
        if name in ROOMS:
            return importlib.import_module(f"stele.{name}")
        if name in LATER:
            return globals().setdefault(name, getattr(importlib.import_module(LATER[name]), name))
        if name in ALIASES:
            return globals().setdefault(name, getattr(sys.modules[__name__], ALIASES[name]))
        if name.startswith("__"):
            raise AttributeError(name)
        others = ELSEWHERE if is_none("stele", name) else ()    # no module that is about to be imported
        rooms = [room for room in others if name in importlib.import_module(f"stele.{room}").__all__]
        there = {name: f"st.{rooms[-1]}.{name}"} if rooms else {}
        method = {name: f"x.{name}(...)"} if hasattr(Tensor, name) else {}
        raise unknown("stele", name, __all__, {**method, **METHODS, **there, **FRAMEWORKS, **FUNCTIONS})


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted([*__all__, "__version__"])


introduce()
answer()
