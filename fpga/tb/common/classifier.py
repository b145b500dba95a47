# SPDX-License-Identifier: Apache-2.0
"""A module that classifies frames, and its golden model, side by side."""

from __future__ import annotations

from collections import Counter
from typing import Generic, Protocol, TypeVar

from model.packet import FRAME_BYTES_MAX
from model.verdict import FORWARD, Verdict
from tb.common.axis import Sent
from tb.common.slot_host import SlotHost


class ClassifierModel(Protocol):
    def process(self, frame: bytes, direction: int = FORWARD) -> Verdict: ...


Model = TypeVar("Model", bound=ClassifierModel)


class Classifier(Generic[Model]):
    """Send to the module and compare with the model."""

    def __init__(self, slot: SlotHost, model: Model) -> None:
        self.slot = slot
        self.model = model
        self.expected: list[Sent] = []
        self.drops: Counter[str] = Counter()
        self.sent = self.oversize = 0

    def send(self, frame: bytes, user: int = 0) -> int | None:
        """The class; None if the frame is dropped."""
        self.slot.source.send(frame, user)
        self.sent += 1
        if len(frame) > FRAME_BYTES_MAX:
            self.oversize += 1
            return None
        verdict = self.model.process(frame, user & 1)
        if verdict.drop_reason is not None:
            self.drops[verdict.drop_reason] += 1
            return None
        self.expected.append(Sent(frame, verdict.frame_class << 4 | user))
        return verdict.frame_class

    async def check(self) -> None:
        await self.slot.settle()
        assert self.slot.sink.frames == self.expected
        await self.slot.check_counters(self.sent, len(self.expected), self.drops, self.oversize)
