"""The table of flags, and errors that teach."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from stele import config, errors

BAD = {"STELE_TARGET": "pentium", "STELE_THREADS": "0", "STELE_SPIN": "-1", "STELE_CACHE_SIZE": "1.5",
       "STELE_OFFLINE": "perhaps", "STELE_SHOW": "graph,everything", "STELE_CHECK": "2"}


@pytest.mark.parametrize("flag", config.ALL, ids=lambda flag: flag.name)
def test_a_flag_is_whole(flag: config.Flag[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(flag.name, raising=False)
    value = flag()
    monkeypatch.setenv(flag.name, "  ")
    assert flag() == value
    assert flag.doc.endswith(".") and flag.form
    assert getattr(config, flag.name.removeprefix("STELE_")) is flag


def test_the_table_is_complete() -> None:
    assert [flag for flag in vars(config).values() if isinstance(flag, config.Flag)] == list(config.ALL)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_teaches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = next(flag for flag in config.ALL if flag.name == name)
    monkeypatch.setenv(name, BAD[name])
    with pytest.raises(errors.ConfigError, match=f"{name} must be .*got '{BAD[name]}'.* Unset it for the default"):
        flag()


def test_values_are_read_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_THREADS", "3")
    monkeypatch.setenv("STELE_SHOW", "graph, llvm")
    monkeypatch.setenv("STELE_OFFLINE", "Yes")
    monkeypatch.setenv("STELE_CACHE", "~/x")
    assert (config.THREADS(), config.SHOW(), config.OFFLINE()) == (3, {"graph", "llvm"}, True)
    assert Path.home() / "x" == config.CACHE()
    monkeypatch.setenv("STELE_SHOW", "all")
    assert {"graph", "time"} < config.SHOW()


def test_strangers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_THRAEDS", "3")
    monkeypatch.setenv("STELE_0123456789", "3")
    found = config.unknown()
    assert (found["STELE_THRAEDS"], found["STELE_0123456789"]) == ("STELE_THREADS", None)


def test_an_error_says_where_and_what_instead() -> None:
    error = errors.ShapeError("matmul needs x.shape[-1] == w.shape[-2], got (8, 3) @ (4, 5)",
                              where="model.py:12", hint="Did you mean w.T?")
    says = "matmul needs x.shape[-1] == w.shape[-2], got (8, 3) @ (4, 5) at model.py:12. Did you mean w.T?"
    assert str(error) == says == str(pickle.loads(pickle.dumps(error)))
    assert str(errors.GraphError("broken")) == "broken"
    assert str(errors.GraphError("broken", where="a.py:1")) == "broken at a.py:1"
    assert str(errors.GraphError("Broken.", hint="Mend it.")) == "Broken. Mend it."


@pytest.mark.parametrize("kind, builtin", [(errors.ShapeError, ValueError), (errors.DTypeError, TypeError),
                                           (errors.IndexOutOfRange, IndexError), (errors.DeviceError, RuntimeError)])
def test_errors_are_also_what_python_calls_them(kind: type[errors.SteleError], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin) and issubclass(kind, errors.SteleError)
