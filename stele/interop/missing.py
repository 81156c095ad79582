"""Modules that other frameworks have: who imports one of that name from here learns what to write."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from stele.errors import UnknownImport, UnknownName

IMPORTING = "_find_and_load_unlocked"     # what of Python's looks for a module that is imported, and not only asked for


class Missing:
    """The last of all finders: a module of this package that none of them has found is none."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """None; raises UnknownImport for a module that is imported from here.

        >>> try:
        ...     from stele.autograd import Variable
        ... except st.errors.UnknownImport as error:
        ...     print(error)
        stele has no 'autograd'. Write loss.backward(), st.gradients(y, x) or st.grad(f).
        """
        room, _, last = name.rpartition(".")
        if not name.startswith("stele.") or sys._getframe(2).f_code.co_name != IMPORTING:
            return
        try:
            getattr(sys.modules[room], last)
        except UnknownName as error:
            raise UnknownImport(f"{room} has no {last!r}", hint=error.hint) from None
        except AttributeError:      # of a room without answers
            return


def answer() -> None:
    """Answers for modules from now on."""
    sys.meta_path.append(Missing())     # type: ignore[arg-type]    # a finder by its method alone, as in introduce.py
