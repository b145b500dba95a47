# SPDX-License-Identifier: Apache-2.0
"""The captures and settings on which RTL, golden models and software are compared."""

from __future__ import annotations

import random
from ipaddress import IPv4Network

from model.ddos_detector import DdosDetector
from model.elephant_detector import ElephantDetector
from model.random_frames import frame, turned
from model.sqli_detector import SqliDetector
from model.stateful_firewall import Rule, StatefulFirewall

SEEDS = range(3)
FRAMES = 4000
RTL_FRAMES = 700  # simulated frames per capture
# Boards count idle time in whole seconds, the engine exactly: no flow is idle for close to the timeout.
IDLE_TIMEOUT_S = 100
PAUSE_MS = 120_000
WINDOW_MS = 200

Record = tuple[int, int, bytes]  # ms, direction, frame


def traffic(seed: int) -> list[Record]:
    rng = random.Random(seed)
    ms = 0
    records: list[Record] = []
    for _ in range(FRAMES):
        ms += rng.choice([1, 1, 1, 3, 7, 40]) if rng.random() > 0.003 else PAUSE_MS + rng.randrange(1000)
        back = int(rng.random() < 0.25)
        whole = frame(rng)
        records.append((ms, back, turned(whole) if back else whole))
    return records


def stateful_firewall() -> StatefulFirewall:
    rules = [
        Rule(False, source=IPv4Network("10.0.0.2/32")),
        Rule(False, protocol=17, ports=(80, 81)),
        Rule(True, destination=IPv4Network("192.168.0.0/27")),
        Rule(False, ports=(0, 80)),
    ]
    return StatefulFirewall(rules=rules, default_allow=True, idle_timeout_s=IDLE_TIMEOUT_S)


def sqli_detector() -> SqliDetector:
    return SqliDetector(ports=(80, 443), drop_attacks=True)


def ddos_detector(drops: bool) -> DdosDetector:
    return DdosDetector(minimum=3, quarters=7, drop_attacks=drops, window_ms=WINDOW_MS)


def elephant_detector() -> ElephantDetector:
    return ElephantDetector(threshold_bytes=900, window_ms=2000, idle_timeout_s=IDLE_TIMEOUT_S)
