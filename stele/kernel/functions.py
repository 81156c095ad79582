"""All functions of the vocabulary: those that polynomials say at once, and those said in files of their own."""
from __future__ import annotations

from functools import partial

from stele.kernel import elementary, modulo, special
from stele.kernel.approx import Approximations
from stele.kernel.vocabulary import Element, Operand, V


class Functions(Approximations[V]):
    """What every builder of scalar code has beside its own few primitives."""

    # fmt: off
    def tan(self, x: Element[V]) -> Element[V]:                 return elementary.tan(self, *self.meet(x))
    def asin(self, x: Element[V]) -> Element[V]:                return elementary.asin(self, *self.meet(x))
    def acos(self, x: Element[V]) -> Element[V]:                return elementary.acos(self, *self.meet(x))
    def atan2(self, y: Element[V], x: Operand) -> Element[V]:   return elementary.atan2(self, *self.meet(y, x))
    def sinh(self, x: Element[V]) -> Element[V]:                return elementary.sinh(self, *self.meet(x))
    def cosh(self, x: Element[V]) -> Element[V]:                return elementary.cosh(self, *self.meet(x))
    def asinh(self, x: Element[V]) -> Element[V]:               return elementary.asinh(self, *self.meet(x))
    def acosh(self, x: Element[V]) -> Element[V]:               return elementary.acosh(self, *self.meet(x))
    def atanh(self, x: Element[V]) -> Element[V]:               return elementary.atanh(self, *self.meet(x))
    def hypot(self, x: Element[V], y: Operand) -> Element[V]:   return elementary.hypot(self, *self.meet(x, y))
    def exp2(self, x: Element[V]) -> Element[V]:                return elementary.exp2(self, *self.meet(x))
    def log2(self, x: Element[V]) -> Element[V]:                return elementary.log2(self, *self.meet(x))
    def log10(self, x: Element[V]) -> Element[V]:               return elementary.log10(self, *self.meet(x))
    def cbrt(self, x: Element[V]) -> Element[V]:                return elementary.cbrt(self, *self.meet(x))
    def fmod(self, x: Element[V], y: Operand) -> Element[V]:    return modulo.truncated(self, *self.meet(x, y))
    def sinc(self, x: Element[V]) -> Element[V]:                return special.wide(self, special.sinc, x)
    def lgamma(self, x: Element[V]) -> Element[V]:              return special.wide(self, special.lgamma, x)
    def digamma(self, x: Element[V]) -> Element[V]:             return special.wide(self, special.digamma, x)
    def zeta(self, x: Element[V], q: Operand) -> Element[V]:    return special.wide(self, special.zeta, x, q)
    def i0(self, x: Element[V]) -> Element[V]:                  return special.wide(self, special.i0, x)
    def i0e(self, x: Element[V]) -> Element[V]:                 return special.wide(self, special.i0e, x)
    def i1(self, x: Element[V]) -> Element[V]:                  return special.wide(self, special.i1, x)
    def i1e(self, x: Element[V]) -> Element[V]:                 return special.wide(self, special.i1e, x)
    def erfinv(self, x: Element[V]) -> Element[V]:              return special.wide(self, special.erfinv, x)
    def erfcx(self, x: Element[V]) -> Element[V]:               return special.wide(self, special.erfcx, x)
    def ndtri(self, x: Element[V]) -> Element[V]:               return special.wide(self, special.ndtri, x)
    def ndtr(self, x: Element[V]) -> Element[V]:                return special.wide(self, special.ndtr, x)
    def log_ndtr(self, x: Element[V]) -> Element[V]:            return special.wide(self, special.log_ndtr, x)
    # fmt: on

    def polygamma(self, x: Element[V], n: int) -> Element[V]:
        """The derivative number n of digamma."""
        return special.wide(self, partial(special.polygamma, n=n), x)
