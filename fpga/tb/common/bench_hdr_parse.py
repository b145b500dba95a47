# SPDX-License-Identifier: Apache-2.0
"""The header parser against its golden model: every field of every frame, frames back to back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from model import compared
from model.packet import FRAME_BYTES_MAX, ICMP, parse
from model.random_frames import SERVICE_VLAN, with_tag
from tb.common.frames import ACK, OVERSIZE_BYTES, RandomFrames, tcp, udp


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(seed=[1, 2])
async def random_frames(dut: Any, seed: int) -> None:
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    frames = RandomFrames(seed)
    sent = [frames.next() for _ in range(700)]
    sent += [frame for _, _, frame in compared.traffic(seed)[: compared.RTL_FRAMES]]
    sent += [sent[0][:size] for size in range(1, 60)]
    whole = udp(1, 2, 3, 4, bytes(20), fragment=0x2000)
    for untagged in (whole, tcp(1, 2, 3, 4, ACK, options=b"\x01" * 4), sent[0]):
        behind = with_tag(untagged, frames.random.randrange(65536))
        sent += [behind[:size] for size in range(1, len(behind) + 1)]
        sent += [with_tag(behind), with_tag(behind, tpid=SERVICE_VLAN), with_tag(untagged, tpid=SERVICE_VLAN)]
    for size in OVERSIZE_BYTES:
        sent += [frames.random.randbytes(size), whole, whole[:12] + b"\x08\x00" + bytes(size - 14), frames.sound()]
    sent += [whole[:38] + size.to_bytes(2, "big") + whole[40:] for size in (7, 8, 28, 29, 4000)]
    seen = []

    async def watch() -> None:
        while True:
            await FallingEdge(dut.clk)
            if dut.valid.value == 1:
                oversize = int(dut.oversize.value)
                fields = {} if oversize else {name: int(getattr(dut, name).value) for name in names}
                seen.append((oversize, fields))

    names = list(asdict(parse(b"")))
    dut.rst.value = 1
    dut.beat.value = 0
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    cocotb.start_soon(watch())
    for frame in sent:
        for at in range(0, len(frame), 8):
            await FallingEdge(dut.clk)
            part = frame[at : at + 8]
            beyond = frames.random.randbytes(8 - len(part))  # unused bytes may be anything
            dut.tdata.value = int.from_bytes(part + beyond, "little")
            dut.tkeep.value = (1 << len(part)) - 1
            dut.tlast.value = at + 8 >= len(frame)
            dut.beat.value = 1
            while frames.random.random() < 0.05:
                dut.beat.value = 0
                await FallingEdge(dut.clk)
                dut.beat.value = 1
    await FallingEdge(dut.clk)
    dut.beat.value = 0
    for _ in range(4):
        await FallingEdge(dut.clk)

    assert len(seen) == len(sent)
    kinds = set()
    for frame, (oversize, fields) in zip(sent, seen, strict=True):
        assert oversize == (len(frame) > FRAME_BYTES_MAX), len(frame)
        if not oversize:
            headers = parse(frame)
            assert fields == {name: int(value) for name, value in asdict(headers).items()}, frame.hex()
            transport = headers.protocol in (ICMP, 6, 17)
            kinds.add((headers.vlan, headers.is_ipv4, headers.malformed, headers.later_fragment, transport))
    assert len(kinds) >= 12
