# SPDX-License-Identifier: Apache-2.0
"""Benches that run modules as boards do: they end, whatever they wait for, and only then."""

from __future__ import annotations

import pytest

from tb.common import verilated
from tb.common.frames import udp
from tb.common.slot_host import ENABLE
from tb.common.verilated_bench import VerilatedBench, as_boards_run_it

FRAME = udp(1, 2, 3, 4, bytes(18))


def test_a_bench_that_waits_for_what_never_comes_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilated, "CYCLES_MAX", 2000)

    @as_boards_run_it
    async def awaits_an_event() -> None:
        slot = VerilatedBench("nf_nat")
        await slot.start()
        while await slot.read("EVENT_COUNT") == 0:
            pass

    with pytest.raises(AssertionError, match="no frame went in or came out for 2000 cycles") as failed:
        awaits_an_event()
    assert any(entry.name == "awaits_an_event" for entry in failed.traceback), "it says what was awaited"


def test_a_table_that_stays_busy_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilated, "CYCLES_MAX", 2000)
    module = verilated.VerilatedSlot("nf_crypto_tunnel")
    monkeypatch.setattr(module, "read", lambda name, index=0: module.cycle() or 1)
    with pytest.raises(AssertionError, match="no frame went in or came out"):
        module.table_command(1)


def test_a_long_capture_is_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for cycles in which nothing moves, not for all that a bench sent at once."""

    @as_boards_run_it
    async def sends() -> None:
        slot = VerilatedBench("nf_nat")
        await slot.start()
        monkeypatch.setattr(verilated, "CYCLES_MAX", 2000)
        for _ in range(500):
            slot.source.send(FRAME)
        before = slot.module.cycles
        await slot.settle()
        assert slot.module.cycles - before > 2 * 2000
        assert [out.frame for out in slot.sink.frames] == [FRAME] * 500

    sends()


def test_a_module_is_destroyed_with_its_bench() -> None:
    module = verilated.VerilatedSlot("nf_nat")
    module.write("CONTROL", ENABLE)
    close = module.close
    del module
    assert not close.alive
