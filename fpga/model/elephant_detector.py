# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/nf_elephant_detector."""

from __future__ import annotations

from dataclasses import dataclass, field

from model.flow_table import FlowTable
from model.packet import parse
from model.verdict import FORWARD, Verdict, flow_key

UNKNOWN, MOUSE, ELEPHANT = range(3)
BYTES_MAX = 0xFFFFFFFF


@dataclass(frozen=True)
class Flow:
    bytes: int
    start_ms: int
    elephant: bool


@dataclass(frozen=True)
class Found:
    """The event of a flow that became an elephant."""

    key: bytes
    bytes: int
    age_ms: int


@dataclass
class ElephantDetector:
    threshold_bytes: int = 1 << 20
    window_ms: int = 1000
    idle_timeout_s: int = 60
    flows: FlowTable[Flow] = field(default_factory=lambda: FlowTable(replace=True))
    events: list[Found] = field(default_factory=list)

    def process(self, frame: bytes, direction: int = FORWARD, now_ms: int = 0, now_s: int = 0) -> Verdict:
        headers = parse(frame)
        if headers.malformed or not headers.is_ipv4:
            return Verdict(frame=frame)
        self.flows.idle_timeout_s = self.idle_timeout_s
        key = flow_key(headers, direction)
        entry = self.flows.find(key, now_s)
        flow = entry.value if entry is not None else None
        was_elephant = flow is not None and flow.elephant
        if flow is None or (now_ms - flow.start_ms >= self.window_ms and not was_elephant):
            flow = Flow(0, now_ms, False)
        size = min(flow.bytes + headers.ip_bytes, BYTES_MAX)
        elephant = was_elephant or size >= self.threshold_bytes
        if elephant and not was_elephant:
            self.events.append(Found(key, size, now_ms - flow.start_ms))
        self.flows.put(key, Flow(size, flow.start_ms, elephant), now_s)
        return Verdict(frame=frame, frame_class=ELEPHANT if elephant else MOUSE)
