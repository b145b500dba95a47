# SPDX-License-Identifier: Apache-2.0
"""The generator of the matcher against Python's re, and its committed output."""

import random
import re

import pytest

from model.sqli_detector import search as search_by_re
from rtl.nf_sqli_detector.generator.__main__ import OUTPUT, generate
from rtl.nf_sqli_detector.generator.automaton import build, merge, search
from rtl.nf_sqli_detector.generator.expression import ExpressionError, parse
from rtl.nf_sqli_detector.generator.patterns import read_patterns
from tb.sqli_detector.attacks import example, near

ALPHABET = b"aAbB1_ %("
ATOMS = ["a", "B", "1", "_", "%", r"\(", ".", r"\d", r"\w", r"\s", "[ab]", "[^a1]", "[A-B_]", r"[\s%]"]
REPEATS = ["?", "*", "+", "{2}", "{0,2}", "{1,3}"]


def test_committed_matcher_is_what_the_patterns_give() -> None:
    assert OUTPUT.read_text(encoding="ascii") == generate()


def random_expression(source: random.Random, depth: int = 3) -> str:
    if depth == 0 or source.random() < 0.3:
        return source.choice(ATOMS)
    kind = source.randrange(4)
    if kind == 0:
        parts = [random_expression(source, depth - 1) for _ in range(source.randint(2, 3))]
        return "(" + "|".join(parts) + ")"
    if kind == 1:
        return f"({random_expression(source, depth - 1)}){source.choice(REPEATS)}"
    return "".join(random_expression(source, depth - 1) for _ in range(2))


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_mean_what_they_mean_to_python(seed: int) -> None:
    source = random.Random(seed)
    texts = [bytes(source.choices(ALPHABET, k=source.randrange(12))) for _ in range(60)]
    expressions = []
    while len(expressions) < 6:
        expression = random_expression(source)
        if not re.search(f"^(?:{expression})$", "", re.DOTALL):
            expressions.append(expression)
    states = build([parse(expression) for expression in expressions])
    merged = merge(states)
    assert len(merged) <= len(states)
    for text in texts:
        expected = {n for n, e in enumerate(expressions) if re.search(e.encode(), text, re.IGNORECASE | re.DOTALL)}
        assert search(states, text) == expected, (expressions, text)
        assert search(merged, text) == expected, (expressions, text)


def test_patterns_find_their_own_texts_and_no_near_miss() -> None:
    source = random.Random(1)
    nodes = [parse(pattern.expression) for pattern in read_patterns()]
    merged = merge(build(nodes))
    misses = 0
    for n, node in enumerate(nodes):
        for _ in range(6):
            text = example(node, source)
            assert n in search(merged, text), text
            other = near(text, source)
            found = search(merged, other)
            assert sum(1 << hit for hit in found) == search_by_re(other), other
            misses += n not in found
    assert misses > 20


def test_common_beginnings_are_built_once() -> None:
    assert len(merge(build([parse("(;|%3b)drop"), parse("(;|%3b)delete")]))) == 4 + 1 + 3 + 5


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "empty alternative"),
        ("a||b", "empty alternative"),
        ("(ab", "not closed"),
        ("ab)", "unbalanced"),
        ("[ab", "unexpected end"),
        ("a**", "repeat of a repeat"),
        ("a+?", "repeat of a repeat"),
        ("*a", "not a literal"),
        ("a{41}", "bounds"),
        ("a{3,2}", "bounds"),
        ("a{,2}", "bounds"),
        ("a{0}", "bounds"),
        ("^a", "outside the subset"),
        ("a$", "outside the subset"),
        (r"a\b", "outside the subset"),
        ("(?:a)", "group options"),
        ("[z-a]", "out of order"),
        (r"[\d-z]", "no single ends"),
        ("é", "printable ASCII"),
    ],
)
def test_what_is_outside_the_subset_is_refused(expression: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)):
        parse(expression)


def test_an_expression_that_matches_nothing_is_refused() -> None:
    with pytest.raises(ExpressionError, match="expression 2 matches the empty string"):
        build([parse("a"), parse("(b|c?)*")])
