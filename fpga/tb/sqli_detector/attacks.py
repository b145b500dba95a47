# SPDX-License-Identifier: Apache-2.0
"""Texts that an expression of patterns.txt matches, and texts near them."""

from __future__ import annotations

import random

from rtl.nf_sqli_detector.generator.expression import Bytes, Choice, Node, Repeat, Sequence


def example(node: Node, source: random.Random) -> bytes:
    """Return a random text that matches the expression."""
    if isinstance(node, Bytes):
        return bytes([source.choice(sorted(node.members))])
    if isinstance(node, Sequence):
        return b"".join(example(part, source) for part in node.parts)
    if isinstance(node, Choice):
        return example(source.choice(node.options), source)
    assert isinstance(node, Repeat)
    most = node.least + 3 if node.most is None else node.most
    return b"".join(example(node.node, source) for _ in range(source.randint(node.least, most)))


def near(text: bytes, source: random.Random) -> bytes:
    """Return the text with one byte lost, doubled or changed, or unchanged, between other bytes."""
    at = source.randrange(len(text))
    change = source.choice([b"", text[at : at + 1] * 2, bytes([source.randrange(256)]), text[at : at + 1]])
    before, after = (bytes(source.choices(b"aeiou '%20=;orin", k=source.randrange(5))) for _ in range(2))
    return before + text[:at] + change + text[at + 1 :] + after
