"""Protocol buffers as text (`.prototxt`): messages of fields by name, each with its line. No schema is needed."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

from stele.errors import DataError
from stele.ops.arguments import instance

DEEPEST = 64        # messages within each other
TOKEN = re.compile(r"""(?P<skip>[\s,;]+|\#[^\n]*)|(?P<name>[A-Za-z_][\w.]*)|(?P<number>-?(?:0[xX][0-9a-fA-F]+
    |(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)f?)|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<sign>[{}<>:\[\]])|(?P<strange>.)""", re.VERBOSE | re.DOTALL)
CLOSES = {"{": "}", "<": ">"}
T = TypeVar("T", bool, int, float, str)


class Token(NamedTuple):
    """A word of a text, what it is, and its line."""

    kind: str
    text: str
    line: int


class Name(str):
    """A word that is no string: of an enumeration, true or false."""


class Message:
    """Fields by name, each with all the values that it was given: numbers, strings, names, or messages."""

    def __init__(self, source: str, line: int) -> None:
        self.source, self.line = source, line
        self.fields: dict[str, list[Any]] = {}

    def message(self, name: str) -> Message:
        """A message in this one, an empty one where there is none."""
        found = self.messages(name)
        return found[-1] if found else Message(self.source, self.line)

    def messages(self, name: str) -> list[Message]:
        """All messages under a name. Raises DataError where something else stands there."""
        found = self.fields.get(name, [])
        if not all(isinstance(x, Message) for x in found):
            self.refuse(f"{name} needs braces, got {found[0]!r:.40}")
        return found

    def all(self, name: str, kind: type[T]) -> list[T]:
        """All values under a name, of one kind. Raises DataError for others."""
        return [self.checked(name, x, kind) for x in self.fields.get(name, [])]

    def get(self, name: str, default: T) -> T:
        """The last value under a name, of the kind of the default."""
        found = self.all(name, type(default))
        return found[-1] if found else default

    def word(self, name: str, words: tuple[str, ...], default: str | None = None, first: int = 0) -> str:
        """A word of an enumeration, by itself or by its number, from `first` on; the first one without a default."""
        x = (self.fields.get(name) or [default or words[0]])[-1]
        if isinstance(x, int) and first <= x < first + len(words):
            return words[x - first]
        if not isinstance(x, str) or x not in words:
            self.refuse(f"{name} needs to be {' or '.join(words)}, got {x!r:.40}")
        return str(x)

    def checked(self, name: str, x: Any, kind: type[T]) -> T:
        """A value as it should be."""
        if kind is bool and isinstance(x, str | int) and x in ("true", "false", "t", "f", 0, 1):
            return kind(x in ("true", "t", 1))
        if kind is float and type(x) is int:
            return kind(x)
        if type(x) is kind or (kind is str and isinstance(x, str)):
            return cast(T, x)
        return self.refuse(f"{name} needs a {kind.__name__}, got {'a message' if isinstance(x, Message) else repr(x)}")

    def refuse(self, why: str, hint: str | None = None) -> NoReturn:
        """Raises DataError at this message."""
        raise DataError(f"{self.source}:{self.line}: {why}", hint=hint)


def tokens(text: str, source: str) -> Iterator[Token]:
    """The words of a text. Raises DataError for what is none."""
    line, text = 1, instance(text, "a text of Caffe", str)
    for found in TOKEN.finditer(text):
        kind, word = str(found.lastgroup), found[0]
        if kind == "strange":
            raise DataError(f"{source}:{line}: {word!r} stands where a field should", hint="Is it a text at all?")
        if kind != "skip":
            yield Token(kind, word, line)
        line += word.count("\n")
    yield Token("end", "the end", line)


class Reader:
    """Words become messages."""

    def __init__(self, text: str, source: str) -> None:
        self.source, self.rest = source, tokens(text, source)
        self.now = next(self.rest)

    def take(self) -> Token:
        """This word; the next one is the one behind it."""
        token = self.now
        if token.kind != "end":
            self.now = next(self.rest)
        return token

    def message(self, end: str, depth: int = 0) -> Message:
        """The fields as far as the word that ends them."""
        made = Message(self.source, self.now.line)
        if depth > DEEPEST:
            made.refuse(f"messages lie more than {DEEPEST} deep")
        while self.now.text != end or self.now.kind == "string":
            name = self.take()
            if name.kind != "name":
                raise DataError(f"{self.source}:{name.line}: a field needs a name, got {name.text!r:.40}",
                                hint="Is a brace missing, or one too many?")
            values = made.fields.setdefault(name.text, [])
            colon = self.now.text == ":" and self.take()
            if self.now.text == "[" and colon:
                self.take()
                while str(self.now.text) != "]":
                    values.append(self.value(name, depth))
                self.take()
            elif colon or self.now.text in CLOSES:
                values.append(self.value(name, depth))
            else:
                raise DataError(f"{self.source}:{name.line}: {name.text!r:.40} needs a colon and a value, or braces")
        self.take()
        return made

    def value(self, name: Token, depth: int) -> Any:
        """One value."""
        token = self.take()
        match token.kind:
            case "string":
                said = string(token)
                while self.now.kind == "string":
                    said += string(self.take())
                return said
            case "number": return number(token, self.source)
            case "name" if token.text in ("inf", "nan"): return float(token.text)
            case "name": return Name(token.text)
            case "sign" if token.text in CLOSES: return self.message(CLOSES[token.text], depth + 1)
            case _: raise DataError(f"{self.source}:{token.line}: {name.text} needs a value, got {token.text!r}")


def number(token: Token, source: str) -> int | float:
    """A number as it is written. Raises DataError for one in base 16 that is too long."""
    text, hexadecimal = token.text, token.text.lower().lstrip("-").startswith("0x")
    if hexadecimal and len(text) >= 40:
        raise DataError(f"{source}:{token.line}: a number has less than 40 digits, got {text!r:.40}")
    try:
        return int(text, 16 if hexadecimal else 10) if len(text) < 40 else float(text)
    except ValueError:
        return float(text.rstrip("f") if not text.endswith("inf") else text)


def string(token: Token) -> str:
    """A string without its quotes."""
    try:
        return str(ast.literal_eval(token.text))
    except (ValueError, SyntaxError):
        return token.text[1:-1]


def parsed(text: str, source: str) -> Message:
    """The message of a text. Raises DataError with the line that cannot be read.

    >>> net = parsed('name: "n"  layer { name: "fc" inner_product_param { num_output: 3 } }', "net.prototxt")
    >>> net.get("name", ""), net.message("layer").message("inner_product_param").get("num_output", 0)
    ('n', 3)
    """
    return Reader(text, source).message("the end")
