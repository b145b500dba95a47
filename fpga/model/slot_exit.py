# SPDX-License-Identifier: Apache-2.0
"""What the shell does to a frame that leaves a slot or goes round it: metadata word, next hop, drop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TAG = b"\x02\x0e"
MAC_BYTES = 6
CLASSES = 4
LEFT_ALONE, NO_HOP = 0x0000, 0xFFFF


@dataclass
class SlotExit:
    """Values are those of the shell's registers; hops and values are by class."""

    metadata_mask: int = 0
    metadata_values: Sequence[int] = (0,) * CLASSES
    hops_forward: Sequence[int] = (LEFT_ALONE,) * CLASSES
    hops_return: Sequence[int] = (LEFT_ALONE,) * CLASSES
    no_hop: int = 0

    def leaves(self, frame: bytes, *, returns: bool, frame_class: int, to_host: bool = False) -> bytes | None:
        """The frame as it leaves the board, None if it is dropped; `returns`: its direction is return."""
        if frame[:2] != TAG or len(frame) < MAC_BYTES:
            return frame
        if frame_class < CLASSES:
            word = int.from_bytes(frame[4:6], "big") & ~self.metadata_mask | self.metadata_values[frame_class]
            frame = frame[:4] + word.to_bytes(2, "big") + frame[6:]
        return frame if to_host else self._goes_on(frame, returns, frame_class)

    def bypasses(self, frame: bytes, *, returns: bool) -> bytes | None:
        if frame[:2] != TAG or len(frame) < MAC_BYTES:
            return frame
        return self._goes_on(frame, returns, 0)

    def _goes_on(self, frame: bytes, returns: bool, frame_class: int) -> bytes | None:
        hops = self.hops_return if returns else self.hops_forward
        hop = hops[frame_class if frame_class < CLASSES else 0]
        if hop == NO_HOP:
            self.no_hop += 1
            return None
        return frame if hop == LEFT_ALONE else frame[:2] + hop.to_bytes(2, "big") + frame[4:]
