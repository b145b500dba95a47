# SPDX-License-Identifier: Apache-2.0
"""SQL injection detector and golden model side by side."""

from __future__ import annotations

from typing import Any

from model.sqli_detector import PATTERNS, SqliDetector
from tb.common.classifier import Classifier
from tb.common.frames import ACK, PSH, tcp
from tb.common.slot_host import ENABLE, SlotHost

A, B = 0x0A000001, 0x0A000002


class Detector(Classifier[SqliDetector]):
    def send_text(self, text: bytes, port: int = 80, user: int = 0, **ip: Any) -> int | None:
        return self.send(tcp(A, B, 5000, port, ACK | PSH, text, **ip), user)

    async def check(self) -> None:
        await super().check()
        for n, packets in enumerate(self.model.pattern_packets):
            assert await self.slot.read("PATTERN_PACKETS", n) == packets, PATTERNS[n].name


async def prepared(slot: SlotHost, model: SqliDetector) -> Detector:
    """Enabled, with the model's settings."""
    await slot.start()
    await slot.write("OPTIONS", int(model.drop_attacks))
    for n in range(4):
        await slot.write("PORT", model.ports[n] if n < len(model.ports) else 0, n)
    await slot.write("CONTROL", ENABLE)
    return Detector(slot, model)
