# SPDX-License-Identifier: Apache-2.0
"""The subset of regular expressions that patterns.txt allows, as trees over sets of bytes."""

from __future__ import annotations

import string
from dataclasses import dataclass

MAX_REPEAT = 40
REPEATS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}

ANY = frozenset(range(256))
DIGITS = frozenset(string.digits.encode())
WORD = frozenset((string.ascii_letters + string.digits + "_").encode())
SPACE = frozenset(b" \t\n\v\f\r")
CLASS_ESCAPES = {"d": DIGITS, "s": SPACE, "w": WORD}


class ExpressionError(ValueError):
    """An expression outside the subset; the message says where."""


@dataclass(frozen=True)
class Bytes:
    """One byte of a set."""

    members: frozenset[int]


@dataclass(frozen=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    options: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """`node` repeated `least` to `most` times; `most` None: unbounded."""

    node: Node
    least: int
    most: int | None


Node = Bytes | Sequence | Choice | Repeat


def ignore_case(members: frozenset[int]) -> frozenset[int]:
    letters = bytes(members)
    return members | frozenset(letters.lower()) | frozenset(letters.upper())


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> Node:
        node = self._choice()
        if self._at < len(self._text):
            raise self._error("unbalanced ')'")
        return node

    def _error(self, message: str) -> ExpressionError:
        return ExpressionError(f"{message} at column {self._at + 1} of {self._text!r}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        if self._at >= len(self._text):
            raise self._error("unexpected end of the expression")
        self._at += 1
        return self._text[self._at - 1]

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self._peek() == "|":
            self._take()
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeat(self._atom()))
        if not parts:
            raise self._error("empty alternative")
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeat(self, node: Node) -> Node:
        sign = self._peek()
        if sign not in ("?", "*", "+", "{"):
            return node
        self._take()
        least, most = self._bounds() if sign == "{" else REPEATS[sign]
        if self._peek() in ("?", "*", "+", "{"):
            raise self._error("a repeat of a repeat is outside the subset")
        return Repeat(node, least, most)

    def _bounds(self) -> tuple[int, int]:
        end = self._text.find("}", self._at)
        fields = self._text[self._at : end].split(",") if end >= 0 else []
        if len(fields) not in (1, 2) or not all(field.isascii() and field.isdigit() for field in fields):
            raise self._error("bounds are not {m} or {m,n}")
        least, most = int(fields[0]), int(fields[-1])
        if not 0 < most <= MAX_REPEAT or least > most:
            raise self._error(f"bounds are not within 1 and {MAX_REPEAT}, or out of order")
        self._at = end + 1
        return least, most

    def _atom(self) -> Node:
        character = self._take()
        if character == "(":
            if self._peek() == "?":
                raise self._error("group options are outside the subset")
            node = self._choice()
            if self._peek() != ")":
                raise self._error("a group is not closed")
            self._take()
            return node
        if character == "[":
            return Bytes(self._class())
        if character == ".":
            return Bytes(ANY)
        if character in "?*+{}]^$":
            raise self._error(f"{character!r} is not a literal, or is outside the subset")
        return Bytes(ignore_case(self._member(character)))

    def _member(self, character: str) -> frozenset[int]:
        """Return the bytes that a literal or an escape matches."""
        if character == "\\":
            character = self._take()
            if character in CLASS_ESCAPES:
                return CLASS_ESCAPES[character]
            if character not in string.punctuation:
                raise self._error(f"the escape \\{character} is outside the subset")
        if not " " <= character <= "~":
            raise self._error(f"{character!r} is not printable ASCII")
        return frozenset({ord(character)})

    def _class(self) -> frozenset[int]:
        inverted = self._peek() == "^"
        if inverted:
            self._take()
        members: frozenset[int] = frozenset()
        while (character := self._take()) != "]" or not members:
            if character in "[]":
                raise self._error(f"{character!r} in a class needs a \\")
            low = self._member(character)
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._take()
                high = self._member(self._take())
                if len(low) != 1 or len(high) != 1 or min(low) > min(high):
                    raise self._error("a range of a class is out of order or has no single ends")
                low = frozenset(range(min(low), min(high) + 1))
            members |= low
        members = ignore_case(members)
        return ANY - members if inverted else members


def parse(text: str) -> Node:
    return _Parser(text).parse()
