"""Options that are words: a signature that has one is found, each word it names is taken, and whatever else is given is
refused at that call in words that say which was meant.
"""
from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from test_examples import PUBLIC, ROOM, examples
from wrong_calls import Call, calls, raised

import stele as st
from stele import config, data, nn, train
from stele.commands import options as commands
from stele.commands.words import Choice, Known, Names, Option, UsageError, Word
from stele.errors import ArgumentError, ConfigError, OptionError, ShapeError, SteleError
from stele.nn.utils import parametrizations

# Text that is no word of a set, and why.
FREE = {
    **dict.fromkeys(("path", "folder", "source", "prototxt", "caffemodel", "uri", "like"), "a place"),
    **dict.fromkeys(("name", "axis_name", "unknown", "experiment", "project", "monitor", "x", "y"),
                    "named by its user"),
    **dict.fromkeys(("sep", "end", "message", "state", "again", "prefix", "text", "key"), "said as it is"),
    **dict.fromkeys(("target", "tensor_name", "path"), "the name of a tensor or layer"),
    **dict.fromkeys(("equation", "signature"), "a language of its own"),
    **dict.fromkeys(("dtype", "memory", "device"), "held by tests of their own"),
}
FREE_OF = {("stele.data.download", "name"): "a set; DataError lists them"}
FOREIGN = b"mean", ["mean"], ("mean",), {"mean"}, object()
NUMBERS = 3.5, 3, True
INNER = {"of_part", "of_all", "hooked", "move", "moved", "one", "read", "refuse_complex", "weights", "said", "strength",
         "counted", "says"}
WORD = re.compile(r"'([^']*)'")


def trainer(**options: Any) -> train.Trainer:
    return train.Trainer(nn.Linear(1, 1), [(st.ones(2, 1), st.ones(2, 1))], loss="mse", **options)


def multivariate_normal(method: Any) -> Any:
    return st.default_rng(0).multivariate_normal(np.zeros(2), np.eye(2), method=method)


def orthogonal(orthogonal_map: Any) -> Any:
    return parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map=orthogonal_map)


# How what no example calls by itself is called with an option, by where it stands.
CALLS: dict[str, Any] = {
    "stele.train.Trainer":                              trainer,
    "stele.train.Trainer.results":                      trainer().results,
    "stele.random.Generator.multivariate_normal":       multivariate_normal,
    "stele.nn.EmbeddingBag.from_pretrained":            partial(nn.EmbeddingBag.from_pretrained, st.ones(3, 3)),
    "stele.data.Tokenizer.train":                       partial(data.Tokenizer.train, ["a b a b"], 300),
    "stele.nn.utils.parametrizations.orthogonal":       orthogonal,
}


def bare(annotation: object) -> str:
    """An annotation without what stands in brackets."""
    said, before = str(annotation), ""
    while said != before:
        said, before = re.sub(r"\[[^\[\]]*\]", "", said), said
    return said


def is_word(p: inspect.Parameter) -> bool:
    """Whether a parameter takes text, as its annotation or its default says."""
    return isinstance(p.default, str) or "Literal" in str(p.annotation) \
        or bool(re.search(r"\b(str|Precision|Control|Activation)\b", bare(p.annotation)))


def callables() -> Iterator[tuple[str, Any]]:
    """All that is public, with the methods of its classes, each function once."""
    seen: set[int] = set()
    more = {f"stele.nn.utils.parametrizations.{name}": f for name, f in vars(parametrizations).items()
            if inspect.isfunction(f) and f.__module__ == "stele.nn.utils.parametrizations"}
    for name, f in (PUBLIC | more).items():
        if inspect.isclass(f) and issubclass(f, Exception):
            continue        # whose words are ours
        yield name, f
        seen.add(id(inspect.unwrap(f)))
    for name, kind in (PUBLIC | {"stele.random.Generator": st.random.Generator}).items():
        for method in dir(kind) if inspect.isclass(kind) else ():
            f = inspect.getattr_static(kind, method)
            f = getattr(f, "__func__", f)
            if method.startswith("_") or method in INNER or not inspect.isfunction(f) or id(inspect.unwrap(f)) in seen:
                continue
            seen.add(id(inspect.unwrap(f)))
            yield f"{name}.{method}", f


def asked() -> dict[tuple[str, str], Any]:
    """All parameters that take words: where they stand, and what takes them."""
    return {(name, p.name): f for name, f in callables() for p in inspect.signature(f).parameters.values()
            if is_word(p) and p.name not in FREE and (name, p.name) not in FREE_OF}


ASKED = asked()


def heard(name: str) -> list[Call]:
    """The calls that examples make of a public name, and the one that a table has for it."""
    f = PUBLIC.get(name)
    found = [Call(CALLS[name], (), {})] if name in CALLS else []
    return found + [c._replace(then=()) for c in calls(f, examples(name, f).examples, dict(ROOM))
                    if not inspect.isclass(f) or c.function is f] if f else found


def given(call: Call, option: str, word: Any) -> Call:
    """A call with an option that is this."""
    places = [p.name for p in inspect.signature(call.function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if option in places and (k := places.index(option)) < len(call.args):
        return call._replace(args=(*call.args[:k], word, *call.args[k + 1:]))
    return call._replace(kwargs=call.kwargs | {option: word})


def flipped(call: Call, option: str) -> Iterator[Call]:
    """The call, with every flag as it is not, and on operands of no elements: what takes other branches."""
    yield call
    for p in inspect.signature(call.function).parameters.values():
        if isinstance(p.default, bool) and p.name != option:
            yield given(call, p.name, not call.kwargs.get(p.name, p.default))
    yield call._replace(args=tuple(a[:0] if isinstance(a, st.Tensor) and a.ndim else a for a in call.args))


def words_of(call: Call, option: str) -> list[str]:
    """The words that an option may be, as the error for another lists them."""
    error = raised(given(call, option, "no such word").made)
    assert isinstance(error, OptionError) and option in str(error), f"{call}: {error!r}"
    return [word for word in WORD.findall(str(error).partition(" must be ")[2]) if word != "no such word"]


def misspelled(word: str) -> Iterator[str]:
    """A word in other letters, and with two of its letters in the other order."""
    yield from {word.upper(), word.lower(), word.capitalize()} - {word}
    if len(word) > 3:
        yield word[:1] + word[2] + word[1] + word[3:]
        yield word[:-1]


def faults(call: Call, option: str, parameter: inspect.Parameter) -> Iterator[str]:
    """What an option takes and should not, and what it refuses in no words."""
    words = words_of(call, option)
    if isinstance(parameter.default, str) and parameter.default not in words:
        yield f"{words} lacks {parameter.default!r}"
    for word in words:
        if isinstance(error := raised(given(call, option, word).made), OptionError) and "must be" in str(error):
            yield f"{word!r}: {error!r}"
        for wrong in {*misspelled(word)} - {*words}:
            error = raised(given(call, option, wrong).made)
            if not (isinstance(error, OptionError) and any(f"Did you mean {near!r}?" in str(error) for near in words)):
                yield f"{wrong!r}: {error!r}"
    said = bare(parameter.annotation)
    more = [*(() if re.search("int|float|Each|Any", said) else NUMBERS),
            *(() if parameter.default is None or "None" in said else (None,))]
    for wrong in ("", *FOREIGN, *more):
        error = raised(given(call, option, wrong).made)
        if not isinstance(error, OptionError | ArgumentError | ShapeError) or option not in str(error):
            yield f"{wrong!r}: {error!r}"
        elif isinstance(error, OptionError) and not all(repr(word) in str(error) for word in words):
            yield f"{wrong!r} without all words: {error!r}"
    for other in flipped(call, option):
        if not isinstance(error := raised(given(other, option, "no such word").made), SteleError):
            yield f"{other}: {error!r}"


@pytest.mark.parametrize("name, option", ASKED)
def test_words_are_looked_at_where_they_are_given(name: str, option: str, monkeypatch: pytest.MonkeyPatch,
                                                  tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    known = heard(name)
    assert known, f"no example calls {name}: add a row to CALLS"
    parameter = inspect.signature(ASKED[name, option]).parameters[option]
    found = [f"{call}: {fault}" for call in known[:4] for fault in faults(call, option, parameter)]
    assert not found, "\n".join(found)


FLAGS = {flag.name: flag for flag in config.ALL if flag.form.names}


@pytest.mark.parametrize("name", FLAGS)
def test_variables_that_are_words_are_looked_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = FLAGS[name]
    words = flag.form.names
    for word in words:
        monkeypatch.setenv(name, word)
        assert flag() in (word, frozenset({word}))
    for wrong in [w for word in words for w in misspelled(word) if w not in words]:
        monkeypatch.setenv(name, wrong)
        with pytest.raises(ConfigError, match="Did you mean") as caught:
            flag()
        assert all(word in str(caught.value) for word in words)


CHOICES = {f"{kind.__name__}.{field}": how.means for kind in vars(commands).values()
           if inspect.isclass(kind) and kind.__module__ == commands.__name__
           for field, said in get_type_hints(kind, include_extras=True).items() if get_origin(said) is Annotated
           for how in get_args(said)[1:] if isinstance(how, Option | Word)
           and isinstance(how.means, Choice | Known | Names)}


@pytest.mark.parametrize("name", CHOICES)
def test_words_of_the_command_line_are_looked_at(name: str) -> None:
    means = CHOICES[name]
    words = means.choices if isinstance(means, Choice) else means.known()
    for word in words:
        assert means(word) in (word, (word,))
        for wrong in {*misspelled(word)} - {*words}:
            with pytest.raises(UsageError, match=rf"Did you mean ({'|'.join(map(re.escape, words))})\?"):
                means(wrong)
    for wrong in ("no such word", " "):
        with pytest.raises(UsageError, match=re.escape(words[0])):
            means(wrong)
