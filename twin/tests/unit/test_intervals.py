# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from orrery_twin.domain.intervals import IntervalSet

BITS = 6
NUMBERS = range(1 << BITS)
bounds = st.tuples(st.integers(0, 63), st.integers(0, 63))


def members(numbers: IntervalSet) -> set[int]:
    return {number for number in NUMBERS if number in numbers}


@given(bounds)
def test_complement_is_everything_else(interval: tuple[int, int]) -> None:
    numbers = IntervalSet.of(BITS, *interval)
    assert members(numbers.complement()) == set(NUMBERS) - members(numbers)


@given(bounds, bounds, bounds)
def test_intersection_of_complements(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> None:
    first = IntervalSet.of(BITS, *a).complement()
    second = IntervalSet.of(BITS, *b).complement()
    both = first.intersect(second).intersect(IntervalSet.of(BITS, *c))
    assert members(both) == members(first) & members(second) & members(IntervalSet.of(BITS, *c))


@given(bounds, bounds)
def test_blocks_cover_exactly_and_do_not_overlap(a: tuple[int, int], b: tuple[int, int]) -> None:
    numbers = IntervalSet.of(BITS, *a).complement().intersect(IntervalSet.of(BITS, *b))
    blocks = list(numbers.blocks())
    hits = [sum(number & block.mask == block.value for block in blocks) for number in NUMBERS]
    assert hits == [int(number in numbers) for number in NUMBERS]


@given(bounds)
def test_an_interval_needs_few_blocks(interval: tuple[int, int]) -> None:
    assert len(list(IntervalSet.of(BITS, *interval).blocks())) <= 2 * BITS - 2


def test_full_is_one_block_without_mask() -> None:
    (block,) = IntervalSet.full(16).blocks()
    assert (block.value, block.mask) == (0, 0)
