# SPDX-License-Identifier: Apache-2.0
"""The crypto tunnel on Icarus: what comes out is defined, and the streams keep their rules with pauses."""

from __future__ import annotations

from typing import Any

import cocotb

from model.crypto_tunnel import CryptoTunnel
from model.tunnel_traffic import near_end, traffic
from tb.common.axis import Sent, seldom
from tb.common.frames import SYN, tcp
from tb.common.slot import Slot
from tb.crypto_tunnel.end import settings


@cocotb.test()
async def disabled(dut: Any) -> None:
    slot = Slot(dut)
    await slot.start()
    assert await slot.read("ID") == int.from_bytes(b"ESP1", "big")
    frames = [b"\x01" * 9, tcp(1, 2, 3, 4, SYN), tcp(1, 2, 3, 4, SYN)[:30], b"\x02" * 2048]
    for frame in frames:
        slot.source.send(frame, 1)
    await slot.settle()
    assert slot.sink.frames == [Sent(frame, 1) for frame in frames]
    assert await slot.read("ARP") == 0 and await slot.read("KEY", 0) == 0


@cocotb.test()
async def with_pauses(dut: Any) -> None:
    slot = Slot(dut, idle=seldom(1, 0.2), stall=seldom(2, 0.4))
    await slot.start()
    tunnel = near_end()
    for name, index, value in settings(tunnel, 7):
        await slot.write(name, value, index)
    for n in range(2):
        await slot.write("IV", 0, n)
    model = CryptoTunnel(tunnel, 7)
    expected = []
    for direction, frame in [record for record in traffic(tunnel, 4, 40) if len(record[1]) < 200][:14]:
        slot.source.send(frame, direction)
        verdict = model.process(frame, direction)
        if verdict.drop_reason is None:
            expected.append(Sent(verdict.frame, direction))
    await slot.settle()
    assert slot.sink.frames == expected and {item.user for item in expected} == {0, 1}
