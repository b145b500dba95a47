# SPDX-License-Identifier: Apache-2.0
"""Position automata (V. M. Glushkov, 1961) of several expressions combined, with one state per position.

A state is active after a byte if the byte is in its set and it is a start state or a predecessor was active before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .expression import Bytes, Choice, ExpressionError, Node, Repeat, Sequence


@dataclass
class State:
    members: frozenset[int]
    is_start: bool = False
    predecessors: frozenset[int] = frozenset()
    accepts: frozenset[int] = frozenset()  # numbers of the expressions that end here


@dataclass
class _Fragment:
    nullable: bool
    first: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)


class _Builder:
    def __init__(self) -> None:
        self.members: list[frozenset[int]] = []
        self.follows: list[set[int]] = []

    def add(self, node: Node) -> _Fragment:
        if isinstance(node, Bytes):
            self.members.append(node.members)
            self.follows.append(set())
            position = len(self.members) - 1
            return _Fragment(False, {position}, {position})
        if isinstance(node, Sequence):
            return self._sequence([self.add(part) for part in node.parts])
        if isinstance(node, Choice):
            options = [self.add(option) for option in node.options]
            return _Fragment(
                any(option.nullable for option in options),
                set().union(*(option.first for option in options)),
                set().union(*(option.last for option in options)),
            )
        return self._repeat(node)

    def _link(self, sources: set[int], targets: set[int]) -> None:
        for source in sources:
            self.follows[source] |= targets

    def _sequence(self, parts: list[_Fragment]) -> _Fragment:
        whole = _Fragment(True)
        for part in parts:
            self._link(whole.last, part.first)
            if whole.nullable:
                whole.first |= part.first
            whole.last = part.last | (whole.last if part.nullable else set())
            whole.nullable = whole.nullable and part.nullable
        return whole

    def _repeat(self, node: Repeat) -> _Fragment:
        if node.most is None:
            copies = [self.add(node.node) for _ in range(max(node.least, 1))]
            self._link(copies[-1].last, copies[-1].first)
        else:
            copies = [self.add(node.node) for _ in range(node.most)]
        for copy in copies[node.least :]:
            copy.nullable = True
        return self._sequence(copies)


def build(expressions: list[Node]) -> list[State]:
    """Expression n is accepted in states that have n in `accepts`."""
    builder = _Builder()
    states: list[State] = []
    for number, expression in enumerate(expressions):
        fragment = builder.add(expression)
        if fragment.nullable:
            raise ExpressionError(f"expression {number + 1} matches the empty string")
        for position in range(len(states), len(builder.members)):
            accepts = frozenset({number}) if position in fragment.last else frozenset()
            states.append(State(builder.members[position], position in fragment.first, frozenset(), accepts))
    for position, state in enumerate(states):
        state.predecessors = frozenset(source for source, to in enumerate(builder.follows) if position in to)
    return states


def merge(states: list[State]) -> list[State]:
    """Merge states that are active at the same times: the coarsest partition whose blocks have one byte set and
    predecessors in the same blocks. Common prefixes of expressions are thus built once.
    """
    blocks = _number([(state.members, state.is_start) for state in states])
    while True:
        refined = _number(
            [
                (blocks[position], frozenset(blocks[source] for source in state.predecessors))
                for position, state in enumerate(states)
            ]
        )
        if refined == blocks:
            break
        blocks = refined
    merged: list[State] = []
    for position, state in enumerate(states):
        if blocks[position] == len(merged):
            sources = frozenset(blocks[source] for source in state.predecessors)
            merged.append(State(state.members, state.is_start, sources, state.accepts))
        else:
            merged[blocks[position]].accepts |= state.accepts
    return merged


def _number(keys: list[tuple[object, object]]) -> list[int]:
    """Assign the same number to the same key, in order of first appearance."""
    numbers: dict[tuple[object, object], int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def search(states: list[State], text: bytes) -> set[int]:
    """Return the expressions that occur in the text: what the matcher finds, state by state."""
    found: set[int] = set()
    active: set[int] = set()
    for byte in text:
        active = {
            position
            for position, state in enumerate(states)
            if byte in state.members and (state.is_start or not active.isdisjoint(state.predecessors))
        }
        for position in active:
            found |= states[position].accepts
    return found
