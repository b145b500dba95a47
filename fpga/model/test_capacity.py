# SPDX-License-Identifier: Apache-2.0
"""How many flows do not fit into tables without replacement: the figures of fpga/README.md and docs/boards.md."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from statistics import mean

import pytest

from model import stateful_firewall
from model.nat import End, Nat
from model.packet import UDP
from model.stateful_firewall import ESTABLISHED

INSIDE, OUTSIDE = 0x0A000000, 0xC6120001
FLOWS = (1024, 2048, 4096)
PORTS = range(1024, 65_536)


def connections(rng: random.Random) -> Iterator[bool]:
    """For each of random connections, whether it fits into the firewall's table."""
    table = stateful_firewall.connections(hash_key=rng.getrandbits(128))
    while True:
        yield table.put(rng.randbytes(13), ESTABLISHED, 0)


def translations(rng: random.Random, ports: Iterable[int]) -> Iterator[bool]:
    """For each of random inside ends, whether it fits into NAT's tables with the next of these ports."""
    nat = Nat()
    insides = rng.sample(range(1 << 32), FLOWS[-1])
    for inside, port in zip(insides, ports, strict=False):
        yield nat.put(UDP, End(INSIDE | inside >> 16, inside & 0xFFFF), End(OUTSIDE, port))


def in_order(rng: random.Random) -> Iterator[bool]:
    """In the order in which the agent allocates ports."""
    return translations(rng, PORTS)


def in_no_order(rng: random.Random) -> Iterator[bool]:
    return translations(rng, rng.sample(PORTS, len(PORTS)))


@pytest.mark.parametrize(
    ("flows", "seeds", "first", "refused"),
    [
        (connections, 100, 690, (4, 78, 800)),
        (in_order, 10, 700, (3, 70, 1290)),
        (in_no_order, 10, 620, (8, 140, 1130)),
    ],
)
def test_refused_of_random_flows(
    flows: Callable[[random.Random], Iterator[bool]], seeds: int, first: int, refused: tuple[int, int, int]
) -> None:
    runs = []
    for seed in range(seeds):
        fits = flows(random.Random(seed))
        runs.append([next(fits) for _ in range(FLOWS[-1])])
    assert mean(run.index(False) + 1 for run in runs) == pytest.approx(first, rel=0.03)
    for n, about in zip(FLOWS, refused, strict=True):
        assert mean(run[:n].count(False) for run in runs) == pytest.approx(about, rel=0.03, abs=1)
