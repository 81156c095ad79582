"""Functions of the public interface on tensors, continued: families that are loaded when one of them is first named."""
from __future__ import annotations

from stele.arrays.spoken import publish
from stele.arrays.tensor import arithmetic, lift
from stele.ops import (
    convolution,
    counting,
    cumulative,
    norms,
    pooling,
    products,
    quantiles,
    scattering,
    sorting,
)
from stele.ops import einsum as einsums
from stele.ops.elementwise import special

# fmt: off
lgamma, digamma, polygamma  = lift(special.lgamma), lift(special.digamma), lift(special.polygamma)
zeta, sinc, logit, entr     = arithmetic(special.zeta), lift(special.sinc), lift(special.logit), lift(special.entr)
i0, i0e, i1, i1e            = lift(special.i0), lift(special.i0e), lift(special.i1), lift(special.i1e)
erfinv, erfcx               = lift(special.erfinv), lift(special.erfcx)
ndtr, ndtri, log_ndtr       = lift(special.ndtr), lift(special.ndtri), lift(special.log_ndtr)
xlogy, xlog1py              = arithmetic(special.xlogy), arithmetic(special.xlog1py)
logaddexp2                  = arithmetic(special.logaddexp2)
addmm                       = lift(products.addmm)
vecdot, tensordot           = lift(products.vecdot), lift(products.tensordot)
conv1d, conv_transpose1d    = lift(convolution.conv1d), lift(convolution.conv_transpose1d)
conv2d, conv_transpose2d    = lift(convolution.conv2d), lift(convolution.conv_transpose2d)
conv3d, conv_transpose3d    = lift(convolution.conv3d), lift(convolution.conv_transpose3d)
max_pool2d, avg_pool2d      = lift(pooling.max_pool2d), lift(pooling.avg_pool2d)
cummax, cummin              = lift(cumulative.cummax), lift(cumulative.cummin)
cumulative_sum              = lift(cumulative.cumulative_sum)
cumulative_prod             = lift(cumulative.cumulative_prod)
cumsum, cumprod             = lift(cumulative.cumsum), lift(cumulative.cumprod)
logcumsumexp, diff          = lift(cumulative.logcumsumexp), lift(cumulative.diff)
trapezoid                   = lift(cumulative.trapezoid)
sort, argsort, topk         = lift(sorting.sort), lift(sorting.argsort), lift(sorting.topk)
kthvalue, isin, top_k       = lift(sorting.kthvalue), lift(sorting.isin), lift(sorting.top_k)
searchsorted, bucketize     = lift(sorting.searchsorted), arithmetic(sorting.bucketize)
norm                        = lift(norms.entry_norm)
take_along_axis             = lift(sorting.take_along_axis)
scatter, index_add          = lift(scattering.scatter), lift(scattering.index_add)
segment_sum, segment_prod   = lift(scattering.segment_sum), lift(scattering.segment_prod)
segment_max, segment_min    = lift(scattering.segment_max), lift(scattering.segment_min)
count_nonzero, histogram    = lift(counting.count_nonzero), lift(counting.histogram)
median, nanmedian           = lift(quantiles.median), lift(quantiles.nanmedian)
quantile, nanquantile       = lift(quantiles.quantile), lift(quantiles.nanquantile)
percentile, nanpercentile   = lift(quantiles.percentile), lift(quantiles.nanpercentile)
nansum, nanprod, nanmean    = lift(quantiles.nansum), lift(quantiles.nanprod), lift(quantiles.nanmean)
nanmax, nanmin              = lift(quantiles.nanmax), lift(quantiles.nanmin)
nanvar, nanstd              = lift(quantiles.nanvar), lift(quantiles.nanstd)
cov, corrcoef               = lift(quantiles.cov), lift(quantiles.corrcoef)
interp, convolve            = lift(quantiles.interp), lift(quantiles.convolve)
einsum, kron, outer, inner  = lift(einsums.einsum), lift(products.kron), lift(einsums.outer), lift(einsums.inner)
# fmt: on

publish(list(globals().items()), __name__)
__all__ = [name for name, f in globals().items() if getattr(f, "__module__", "") == __name__]  # pyright: ignore[reportUnsupportedDunderAll]
