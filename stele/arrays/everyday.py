"""Functions of NumPy that scripts use beside the standard's, loaded when one of them is named."""
from __future__ import annotations

from stele.arrays.spoken import publish
from stele.arrays.tensor import arithmetic, lift, seeing
from stele.ops import bits, differences, everyday, histograms, polynomials, products

# fmt: off
gcd, lcm, divmod            = arithmetic(everyday.gcd), arithmetic(everyday.lcm), arithmetic(everyday.divmod)
modf, bitwise_count         = lift(everyday.modf), lift(everyday.bitwise_count)
isreal, iscomplex           = lift(everyday.isreal), lift(everyday.iscomplex)
array_equal, array_equiv    = lift(everyday.array_equal), lift(everyday.array_equiv)
average, ptp, trace, vdot   = lift(everyday.average), lift(everyday.ptp), lift(everyday.trace), lift(everyday.vdot)
matvec, vecmat, dot         = lift(everyday.matvec), lift(everyday.vecmat), lift(products.dot)
nancumsum, nancumprod       = lift(everyday.nancumsum), lift(everyday.nancumprod)
nanargmax, nanargmin        = lift(everyday.nanargmax), lift(everyday.nanargmin)
partition, argpartition     = lift(everyday.partition), lift(everyday.argpartition)
lexsort, choose, diagflat   = lift(everyday.lexsort), lift(everyday.choose), lift(everyday.diagflat)
rollaxis, resize            = seeing(everyday.rollaxis), lift(everyday.resize)
gradient, ediff1d, unwrap   = lift(differences.gradient), lift(differences.ediff1d), lift(differences.unwrap)
cumulative_trapezoid        = lift(differences.cumulative_trapezoid)
correlate                   = lift(differences.correlate)
polyval, polyfit, polyadd   = lift(polynomials.polyval), lift(polynomials.polyfit), lift(polynomials.polyadd)
polysub, polymul, polyder   = lift(polynomials.polysub), lift(polynomials.polymul), lift(polynomials.polyder)
packbits, unpackbits        = lift(bits.packbits), lift(bits.unpackbits)
polydiv                     = lift(polynomials.polydiv)
polyint, poly, roots        = lift(polynomials.polyint), lift(polynomials.poly), lift(polynomials.roots)
vander, digitize            = lift(polynomials.vander), lift(histograms.digitize)
histogram_bin_edges         = lift(histograms.histogram_bin_edges)
histogram2d, histogramdd    = lift(histograms.histogram2d), lift(histograms.histogramdd)
# fmt: on

publish(list(globals().items()), __name__)
__all__ = [name for name, f in globals().items() if getattr(f, "__module__", "") == __name__]  # pyright: ignore[reportUnsupportedDunderAll]
