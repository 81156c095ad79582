"""Names that were not there when a function was traced: attributes, entries of classes and globals that come later."""
from __future__ import annotations

import pytest

import stele as st
from stele import nn


class Plain:
    """An object without attributes."""


def first_call_makes_it():
    a = Plain()

    def f(x):
        if not hasattr(a, "h"):
            a.h = x * 0
        a.h = a.h + x
        return a.h

    return f, lambda k: None


def a_default_of_getattr():
    a = Plain()
    return lambda x: x * getattr(a, "scale", 1.0), lambda k: setattr(a, "scale", 3.0) if k == 2 else None


def an_attribute_that_goes():
    a = Plain()
    a.scale = 2.0
    return lambda x: x * getattr(a, "scale", 1.0), lambda k: delattr(a, "scale") if k == 2 else None


def what_hides_a_class():
    class B:
        k = 1.0

        def w(self):
            return 2.0

    b = B()

    def change(k):
        if k == 1:
            b.k = 5.0
        if k == 2:
            b.w = lambda: 7.0
        if k == 3:
            B.w = lambda self: 9.0
            del b.w

    return lambda x: x * b.k * b.w(), change


def a_forward_of_its_own():
    class B(nn.Module):
        def forward(self, x):
            return x * 2

    b = B()

    def change(k):
        if k == 1:
            b.forward = lambda x: x * 3
        if k == 2:
            B.forward = lambda self, x: x * 4
            del b.forward

    return lambda x: b(x), change


def a_slot_that_was_empty():
    class S:
        __slots__ = ("k", "m")

    s = S()
    s.k = 1.0
    return lambda x: x * s.k * (s.m if hasattr(s, "m") else 1), lambda k: setattr(s, "m", 4.0) if k == 2 else None


def code_that_an_editor_replaced():
    def f(x, k=1):
        return x * k

    def other(x, k=1):
        return x + k

    def change(k):
        if k == 1:
            f.__defaults__ = (3,)
        if k == 2:
            f.__code__ = other.__code__

    return f, change


def what_getattr_of_a_class_gave():
    class C:
        def __getattr__(self, name):
            if name == "k":
                return 2.0
            raise AttributeError(name)

    c = C()
    return lambda x: x * c.k, lambda k: setattr(c, "k", 6.0) if k == 2 else None


def a_global():
    globals().pop("COMES_LATER", None)

    def f(x):
        try:
            return x * COMES_LATER
        except NameError:
            return x

    return f, lambda k: globals().update(COMES_LATER=4.0) if k == 2 else None


def what_hides_a_builtin():
    def change(k):
        globals().pop("len", None)
        if k == 2:
            globals()["len"] = lambda x: 5

    return lambda x: x * len([1, 2]), change


@pytest.mark.parametrize("make", [
    first_call_makes_it, a_default_of_getattr, an_attribute_that_goes, what_hides_a_class, a_forward_of_its_own,
    a_slot_that_was_empty, code_that_an_editor_replaced, what_getattr_of_a_class_gave, a_global, what_hides_a_builtin])
def test_calls_see_what_has_come(make):
    results = []
    for style in (lambda f: f, st.compile):
        f, change = make()
        call, found = style(f), []
        for k in range(4):
            change(k)
            found.append(float(call(st.tensor(float(k + 1)))))
        results.append(found)
    assert results[1] == results[0]


def test_names_that_nobody_looks_up_are_no_reason_to_trace_again():
    a = Plain()
    a.scale = 2.0
    f = st.compile(lambda x: x * a.scale)
    for k in range(3):
        f(st.ones(2))
        setattr(a, f"other{k}", k)
        globals()[f"OTHER{k}"] = k
    assert f.traces == 1


def test_an_attribute_that_is_only_set_is_no_reason_to_trace_again():
    class Model(nn.Module):
        def forward(self, x):
            self.last = x * 2
            return x

    model = Model()
    f = st.compile(model)
    for k in range(3):
        f(st.ones(2) * k)
    assert f.traces == 1 and model.last.tolist() == [4.0, 4.0]


def test_an_object_that_answers_for_its_slots_is_not_asked():
    class Answers:
        __slots__ = ("x",)

        def __getattr__(self, name):
            raise RuntimeError(name)

    held = Answers()
    assert st.compile(lambda x: x if held is not None else x * 2)(st.ones(())).item() == 1
