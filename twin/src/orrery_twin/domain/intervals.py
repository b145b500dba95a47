# SPDX-License-Identifier: Apache-2.0
"""Sets of unsigned integers of a fixed width, and the ternary entries that a switch needs to match one."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """Integers whose bits under `mask` equal `value`; the mask is a prefix."""

    value: int
    mask: int


@dataclass(frozen=True)
class IntervalSet:
    """Closed intervals, ascending, disjoint and not adjacent, within [0, 2**bits)."""

    bits: int
    intervals: tuple[tuple[int, int], ...]

    @classmethod
    def full(cls, bits: int) -> "IntervalSet":
        return cls(bits, ((0, (1 << bits) - 1),))

    @classmethod
    def of(cls, bits: int, lo: int, hi: int) -> "IntervalSet":
        """Empty when lo > hi."""
        return cls(bits, ((lo, hi),) if lo <= hi else ())

    @property
    def is_full(self) -> bool:
        return self.intervals == ((0, (1 << self.bits) - 1),)

    @property
    def is_empty(self) -> bool:
        return not self.intervals

    def __contains__(self, number: int) -> bool:
        return any(lo <= number <= hi for lo, hi in self.intervals)

    def complement(self) -> "IntervalSet":
        gaps = []
        start = 0
        for lo, hi in self.intervals:
            if start < lo:
                gaps.append((start, lo - 1))
            start = hi + 1
        if start < 1 << self.bits:
            gaps.append((start, (1 << self.bits) - 1))
        return IntervalSet(self.bits, tuple(gaps))

    def intersect(self, other: "IntervalSet") -> "IntervalSet":
        parts = [
            (max(lo, other_lo), min(hi, other_hi))
            for lo, hi in self.intervals
            for other_lo, other_hi in other.intervals
            if max(lo, other_lo) <= min(hi, other_hi)
        ]
        return IntervalSet(self.bits, tuple(sorted(parts)))

    def blocks(self) -> Iterator[Block]:
        """Fewest prefix-masked entries that cover the set exactly, at most 2 * bits - 2 an interval."""
        full_mask = (1 << self.bits) - 1
        for lo, hi in self.intervals:
            start = lo
            while start <= hi:
                size = start & -start or 1 << self.bits
                while start + size - 1 > hi:
                    size >>= 1
                yield Block(start, full_mask & ~(size - 1))
                start += size
