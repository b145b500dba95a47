# SPDX-License-Identifier: Apache-2.0
"""The board's firewall under a SYN flood: what a bench compares with the RTL, at its whole length."""

from __future__ import annotations

import random

import pytest

from model.stateful_firewall import ACK, SYN, StatefulFirewall, connections
from tb.common.frames import tcp

CLIENT, SERVER = 0x0A000001, 0x0A000002
FLOOD, CONNECTIONS = 17_884, 500


@pytest.mark.parametrize("seed", range(2))
def test_a_flood_keeps_nearly_nobody_out(seed: int) -> None:
    """250 connections from before and 250 begun in it go on, but for those whose set of four was full of others."""
    rng = random.Random(seed)
    fw = StatefulFirewall(flows=connections(hash_key=rng.getrandbits(128)))
    cut: set[int] = set()

    def send(port: int, flags: int, *, back: bool = False) -> None:
        ends = (SERVER, CLIENT, 80, port) if back else (CLIENT, SERVER, port, 80)
        if fw.process(tcp(*ends, flags), int(back)).drop_reason is not None:
            cut.add(port)

    def flood(syns: int) -> None:
        for _ in range(syns):
            source, port = rng.getrandbits(32), rng.getrandbits(16)
            fw.process(tcp(source, SERVER, port, 80, SYN))
            fw.process(tcp(SERVER, source, 80, port, SYN | ACK), 1)

    ports = rng.sample(range(1024, 65_536), CONNECTIONS)
    before, during = ports[: CONNECTIONS // 2], ports[CONNECTIONS // 2 :]
    for port in before:
        send(port, SYN)
        send(port, ACK)
    pause = FLOOD // len(during) // 2
    for port in during:
        flood(pause)
        send(port, SYN)
        send(port, SYN | ACK, back=True)
        flood(pause // 4)
        send(port, ACK)
    flood(FLOOD - len(during) * (pause + pause // 4))
    for port in ports:
        send(port, ACK)
        send(port, ACK, back=True)
    assert len(cut) <= CONNECTIONS // 50, sorted(cut)
    assert not cut.intersection(before)
    assert fw.flows.evictions > FLOOD // 2
